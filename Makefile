# `make reproduce` and `make test` need only python3 (3.11 or later), git and make.
# Another interpreter: make test PYTHON=python3.13

PYTHON       ?= python3
PYTEST_FLAGS ?= -n auto --dist loadfile

VENV      := .venv
TEST_VENV := .venv-test
OUT       := out

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help reproduce test long lint bench fuzz docs schemas notebooks clean

help:
	@echo 'make reproduce  replay the papers; table here, figures and reproduce.json in $(OUT)/'
	@echo 'make test       run the test suite'
	@echo 'make long       run the checks that take long, statistical ones above all'
	@echo 'make lint       check style, types and layers'
	@echo 'make bench      measure the speed of the simulator'
	@echo 'make fuzz       damage files and options, and see whether anything but a refusal comes of it'
	@echo 'make schemas    make the JSON Schemas in hcasim/schemas from the classes'
	@echo 'make docs       make the reference of the Python interface, in $(OUT)/docs'
	@echo 'make notebooks  run the notebooks and store them with what they show'
	@echo 'make clean      remove everything that the above have made'

reproduce: $(VENV)/.ready
	$(VENV)/bin/hcasim reproduce -o $(OUT)

test: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/python -m pytest $(PYTEST_FLAGS) -m 'not long'

long: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/python -m pytest $(PYTEST_FLAGS) -m long

lint: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/ruff check
	$(TEST_VENV)/bin/ruff format --check
	$(TEST_VENV)/bin/mypy
	$(TEST_VENV)/bin/lint-imports

bench: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/python -m pytest tests/benchmarks

# Longer, or again from a seed: make fuzz SECONDS=3600 SEED=1
SECONDS ?= 300
fuzz: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/python -m tests.fuzz $(SECONDS) $(SEED)

docs: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/python -m sphinx -q -W tests/docs/reference $(OUT)/docs

notebooks: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/python -m tests.notebooks.running

schemas: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/python -m hcasim.schemas

clean:
	rm -rf $(VENV) $(TEST_VENV) $(OUT) build dist
	rm -rf .benchmarks .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find hcasim tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.ready: EXTRAS :=
$(TEST_VENV)/.ready: EXTRAS := [test,lint]

# Editable, so that only a change of pyproject.toml asks for a new installation. The stamp is
# written last: an interrupted installation starts afresh.
$(VENV)/.ready $(TEST_VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'hcasim needs Python 3.11 or later; name one with: make $(MAKECMDGOALS) PYTHON=python3.x' >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { \
	  echo '$(PYTHON) cannot make virtual environments; on Debian or Ubuntu: apt install python3-venv' >&2; \
	  exit 1; }
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --editable '.$(EXTRAS)'
	@touch $@
