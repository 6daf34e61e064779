# `make reproduce` and `make test` need only python3 (3.11 or later), git and make.
# Another interpreter: make test PYTHON=python3.13

PYTHON       ?= python3
PYTEST_FLAGS ?= -n auto --dist loadfile

VENV      := .venv
TEST_VENV := .venv-test
OUT       := out
DIST      := dist
CHECKED   := .checked
# Where the compiled build is installed, beside a checkout without the sources of the package.
COMPILED  := .venv-compiled

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The tests start processes; each would compile all that it imports.
export PYTHONDONTWRITEBYTECODE :=
# What was compiled of the last few states of the simulator.
export HCASIM_COMPILED ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/hcasim-compiled

# What `make check` is made of, the quickest to fail first.
PARTS := test laws claims world fuzz
# Simulations of claims and laws run on the compiled build, if that can be made.
FASTER := $(if $(shell command -v $${CC:-cc}),test-compiled,test)
EVERYTHING := $(shell find * .ci -type f -not -path '*/__pycache__/*' -not -path 'build/*' \
  -not -path 'dist/*' -not -path 'out/*' -not -name '*.so' -not -name '* *')

.DEFAULT_GOAL := help
.PHONY: help reproduce test check $(PARTS:%=check-%) lint compiled test-compiled bench speed fuzz pairs evidence calibrations docs notebooks clean

help:
	@echo 'make reproduce  replay the four papers; a page, figures and the table of claims in $(OUT)/;'
	@echo '                with what was published of newer machines: make reproduce PAPERS=all'
	@echo 'make test       run the tests that guard a change'
	@echo 'make check      run these and all others, in parts that can be resumed: every claim, notebook'
	@echo '                and page, the virtual machine, packaging, fuzzing, the compiled build'
	@echo 'make lint       check style, types and layers'
	@echo 'make compiled   build the wheel of this platform with the simulator compiled, in $(DIST)/'
	@echo 'make test-compiled  run the tests on what that wheel installs, in $(COMPILED)'
	@echo 'make bench      measure the speed of the simulator'
	@echo 'make speed      measure it in both builds, beside a bare event loop, for the table of the site'
	@echo 'make fuzz       damage files and options, and see whether anything but a refusal comes of it'
	@echo 'make pairs      run 1,500 drawn benchmarks by default and whole, and compare; goes on where it ended'
	@echo 'make evidence   vary what nobody has published and keep what could overturn each claim: hours;'
	@echo '                what has not changed since is not made again; others: make evidence PAPERS=lossy'
	@echo 'make calibrations  make all fits again, and hold one that is made from a trace to the rest of it'
	@echo 'make docs       make the site: tutorial, how-to, reference, explanation, in $(OUT)/docs'
	@echo 'make notebooks  run the notebooks and store them with what they show'
	@echo 'make clean      remove everything that the above have made'

# Others, or single figures: make reproduce PAPERS='modern liu2004/fig03'; PAPERS=all for all there are.
PAPERS ?= benjegerdes2004 liu2004 rashti2007 sur2005
reproduce: $(VENV)/.ready
	$(VENV)/bin/hcasim reproduce $(filter-out all,$(PAPERS)) -o $(OUT)

# A part of them, or others: make test TESTS=tests/unit/hca MARKED=check
MARKED ?= not check
test: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/python -m pytest $(PYTEST_FLAGS) -m '$(MARKED)' $(TESTS)

# A part that has passed is not run again until a file of the checkout changes, so an interrupted
# check goes on where it was; make -k check runs the other parts as well if one fails.
check: $(PARTS:%=$(CHECKED)/%)

$(PARTS:%=$(CHECKED)/%): $(CHECKED)/%: $(EVERYTHING)
	$(MAKE) --no-print-directory check-$*
	@mkdir -p $(@D)
	@touch $@

check-test:
	$(MAKE) --no-print-directory test

check-laws:
	$(MAKE) --no-print-directory $(FASTER) MARKED='not pure' \
	  TESTS='tests/builds tests/golden tests/properties tests/launch' \
	  PYTEST_FLAGS='$(PYTEST_FLAGS) --hypothesis-profile=thorough'

check-claims:
	$(MAKE) --no-print-directory $(FASTER) MARKED=check TESTS='tests/published tests/unit'

check-world:
	$(MAKE) --no-print-directory test MARKED='check and not pure' \
	  TESTS='tests/docs tests/notebooks tests/packaging tests/probes'

check-fuzz:
	$(MAKE) --no-print-directory fuzz SEED=1

lint: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/ruff check
	$(TEST_VENV)/bin/ruff format --check
	$(TEST_VENV)/bin/mypy
	$(TEST_VENV)/bin/lint-imports

compiled: $(DIST)/.compiled

# Likewise a part of them: make test-compiled TESTS='tests/golden tests/unit/hca'
COMPILED_TESTS := tests/builds tests/golden tests/properties tests/published tests/unit
test-compiled: $(COMPILED)/.ready
	rm -rf $(COMPILED)/checkout
	mkdir $(COMPILED)/checkout
	cp -R $(CHECKOUT) $(COMPILED)/checkout
	cd $(COMPILED)/checkout && ../bin/python -m pytest $(PYTEST_FLAGS) -m '($(MARKED)) and not pure' \
	  $(or $(TESTS),$(COMPILED_TESTS))

bench: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/python -m pytest tests/benchmarks

# Without a compiler the pure build alone; the table then stays as it is.
speed: $(TEST_VENV)/.ready
	if command -v $${CC:-cc} > /dev/null; then $(MAKE) --no-print-directory $(COMPILED)/.ready; fi
	$(TEST_VENV)/bin/python -m tests.benchmarks.speed $(COMPILED)/bin/python

# Longer, or again from a seed: make fuzz SECONDS=3600 SEED=1
SECONDS ?= 300
fuzz: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/python -m tests.fuzz $(SECONDS) $(SEED)

# Fewer, or on other processors than all: make pairs SEEDS=100 PROCESSES=1
SEEDS ?= 1500
pairs: $(COMPILED)/.ready
	rm -rf $(COMPILED)/checkout
	mkdir $(COMPILED)/checkout
	cp -R $(CHECKOUT) $(COMPILED)/checkout
	cd $(COMPILED)/checkout && ../bin/python -m tests.fuzz.pairs ../pairs.jsonl $(SEEDS) $(PROCESSES)

# In place, from the sources: scenarios/evidence.json is written beside the scenarios.
evidence: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/python -m hcasim.study.evidence $(PAPERS)

# A fit is the same each time. `check` ends with 1 where a point that was held out is missed.
calibrations: $(VENV)/.ready
	for fit in calibration/fits/*.toml; do \
	  $(VENV)/bin/hcasim calibrate "$$(basename "$$fit" .toml)" -o "$$fit" || exit; done
	mkdir -p $(OUT)
	$(VENV)/bin/hcasim calibrate calibration/traces/connectx3-fitted.jsonl --testbed qdr-containers \
	  --free adapter.doorbell.latency --free adapter.responder.read_interval=150ns..300ns -o $(OUT)/connectx3.toml
	$(VENV)/bin/hcasim check calibration/traces/connectx3-held-out.jsonl --testbed qdr-containers \
	  --calibration $(OUT)/connectx3.toml || test $$? = 1

docs: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/python -m tests.docs.site $(OUT)/docs

notebooks: $(TEST_VENV)/.ready
	$(TEST_VENV)/bin/python -m tests.notebooks.running

clean:
	rm -rf $(VENV) $(TEST_VENV) $(COMPILED) $(CHECKED) $(OUT) $(DIST) build
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

# All that a wheel is made of.
SOURCES := pyproject.toml README.md LICENSE .ci/compile.py \
  $(shell find hcasim models scenarios calibration notebooks -type f -not -path '*/__pycache__/*' -not -name '* *')

# Everything of a checkout but the package, which would hide the one that is installed.
CHECKOUT := .ci .gitignore CHANGELOG.md CONTRIBUTING.md LICENSE Makefile README.md pyproject.toml \
  calibration models notebooks scenarios tests

$(DIST)/.compiled: $(SOURCES) | $(TEST_VENV)/.ready
	rm -f $(DIST)/hcasim-*-cp*.whl
	HCASIM_COMPILE=1 $(TEST_VENV)/bin/python -m build --wheel --no-isolation --outdir $(DIST)
	@touch $@

# Its libraries are those of the other environment; .pth files that lie there count for nothing, so that
# hcasim is not the one that is installed there.
SITE := import sysconfig; print(sysconfig.get_path("purelib"))
$(COMPILED)/.ready: $(DIST)/.compiled
	rm -rf $(@D)
	$(TEST_VENV)/bin/python -m venv --without-pip $(@D)
	$(TEST_VENV)/bin/python -c '$(SITE)' > "$$($(@D)/bin/python -c '$(SITE)')/borrowed.pth"
	$(TEST_VENV)/bin/python -m pip --python $(@D)/bin/python install --quiet --no-index --no-deps \
	  --ignore-installed $(DIST)/hcasim-*-cp*.whl
	@touch $@
