"""What the package imports is what pyproject.toml declares, and start-up stays light."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

# Needed only by .to_pandas(), for clusters, samples and some traces, which say so when they are
# absent; and pytest, by what only pytest loads.
OPTIONAL = {"distributed", "google", "otf2", "pandas", "pyarrow", "pytest", "xarray"}
# Documented parts of pydantic and Jinja, which require them themselves.
WITH_OTHERS = {"annotated_types", "markupsafe", "pydantic_core"}
HEAVY = {"distributed", "jinja2", "loky", "matplotlib", "numpy", "pandas", "rich", "scipy", "simpy"}


def imported_libraries(package: Path) -> set[str]:
    names: set[str] = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"hcasim"}


def test_every_imported_library_is_declared_and_every_declared_one_imported(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[^\w-]", line)[0].replace("-", "_") for line in project["dependencies"]}
    assert imported_libraries(root / "hcasim") - OPTIONAL - WITH_OTHERS == declared


@pytest.mark.parametrize("module", ["hcasim", "hcasim.catalog", "hcasim.cli"])
def test_start_up_imports_no_heavy_library(root: Path, module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert HEAVY & set(done.stdout.split()) == set()


def test_only_the_plugin_of_pytest_imports_it(root: Path) -> None:
    package = root / "hcasim"
    rooms = [one for one in package.iterdir() if one.is_dir()]
    assert [one.name for one in rooms if "pytest" in imported_libraries(one)] == ["pytest"]
