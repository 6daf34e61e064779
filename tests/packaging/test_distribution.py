"""The wheel, the source archive and the editable install all carry the package and its data."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.check

DATA_FOLDERS = ("models", "scenarios", "calibration", "notebooks")
SITE = "import sysconfig; print(sysconfig.get_path('purelib'))"


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Run a command away from the checkout and give its output."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    # Wheels are pure unless something else is asked for.
    environment |= {"HCASIM_COMPILE": ""} | variables
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command} gave {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def files_below(root: Path, folder: str) -> set[str]:
    return {
        path.relative_to(root).as_posix()
        for path in (root / folder).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and not path.name.startswith(".")
        and not path.is_relative_to(root / "calibration" / "probes" / "build")
    }


@dataclass(frozen=True)
class Environment:
    """A virtual environment with hcasim in it, and an empty folder to work in."""

    home: Path
    work: Path

    def python(self, code: str) -> str:
        return run(self.home / "bin" / "python", "-c", code, cwd=self.work).strip()

    def hcasim(self, *arguments: str, **variables: str) -> str:
        return run(self.home / "bin" / "hcasim", *arguments, cwd=self.work, **variables)


def install(home: Path, *what: str | Path) -> Environment:
    """Make a virtual environment and install hcasim alone; its dependencies are borrowed.

    The borrowed folder is named in a .pth file: Python then ignores the .pth files inside it, so
    an hcasim that is installed there in editable mode stays out of sight.
    """
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    work = home / "work"
    work.mkdir()
    site = Path(run(python, "-c", SITE, cwd=work).strip())
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "borrowed.pth").write_text("\n".join(sorted(borrowed)) + "\n")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    # pip must neither be content with an hcasim in the borrowed folder nor remove it.
    flags = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--ignore-installed"]
    run(*pip, "install", *flags, *what, cwd=work)
    return Environment(home, work)


@pytest.fixture(scope="module")
def archives(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, and the wheel that was built from that archive."""
    folder = tmp_path_factory.mktemp("archives")
    run(
        *(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, root),
        cwd=folder,
    )
    return folder


@pytest.fixture(scope="module")
def wheel(archives: Path) -> Path:
    (path,) = archives.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def from_wheel(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return install(tmp_path_factory.mktemp("from-wheel"), wheel)


@pytest.fixture(scope="module")
def editable(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return install(tmp_path_factory.mktemp("editable"), "--editable", root)


def test_the_wheel_serves_every_platform_and_holds_the_package_and_its_data_alone(
    root: Path, wheel: Path
) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    expected = files_below(root, "hcasim")
    assert "hcasim/py.typed" in expected
    for folder in DATA_FOLDERS:
        expected |= {f"hcasim/_data/{name}" for name in files_below(root, folder)}
    names = zipfile.ZipFile(wheel).namelist()
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_source_archive_can_build_test_and_explain_itself(root: Path, archives: Path) -> None:
    (path,) = archives.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        found = {name.split("/", 1)[1] for name in archive.getnames()}
    expected = {"pyproject.toml", "README.md", "CONTRIBUTING.md", "LICENSE", "Makefile", ".ci/run"}
    for folder in ("hcasim", *DATA_FOLDERS, "tests"):
        expected |= files_below(root, folder)
    assert expected - found == set()


PLACES = """
from importlib.metadata import version
import hcasim
from hcasim.catalog import data_path
assert version("hcasim") == hcasim.__version__
print(hcasim.__file__, data_path("models"), sep="\\n")
"""


def test_an_installed_wheel_uses_its_own_code_and_data_and_an_editable_install_the_checkout(
    root: Path, from_wheel: Environment, editable: Environment
) -> None:
    package, models = map(Path, from_wheel.python(PLACES).splitlines())
    assert package.is_relative_to(from_wheel.home)
    assert models == package.parent / "_data" / "models"
    expected = [root / "hcasim" / "__init__.py", root / "models"]
    assert editable.python(PLACES).splitlines() == list(map(str, expected))


def test_wheel_and_checkout_list_the_same_things(
    from_wheel: Environment, editable: Environment
) -> None:
    listed = json.loads(from_wheel.hcasim("list", "--json"))
    assert "liu2004" in json.dumps(listed)
    assert listed == json.loads(editable.hcasim("list", "--json"))


def test_an_installed_wheel_brings_its_plugin_to_pytest(from_wheel: Environment) -> None:
    project = from_wheel.work / "project"
    project.mkdir()
    scenarios = ("new", "scenario", "mine", "--based-on", "liu2004/fig03")
    from_wheel.hcasim(*scenarios)
    text = (from_wheel.work / "mine.toml").read_text()
    example = text[text.index("# [[claims]]") :]
    claim = "".join(f"{line.removeprefix('# ')}\n" for line in example.splitlines())
    claim = claim.replace("published = 1.0", "published = 3.8")
    (project / "mine.toml").write_text(f"{text}\n{claim}")
    (project / "test_it.py").write_text(
        "def test_it(hcasim):\n"
        "    hcasim.holds({8: 3.8}, 'liu2004', 'write_lat')\n\n"
        "def test_rooms(hcasim):\n"
        "    import hcasim.pytest.model as room\n"
        f"    assert room.__file__.startswith({str(from_wheel.home)!r})\n"
    )
    command = ("-m", "pytest", "-p", "no:cacheprovider", "--strict-markers", "-W", "error")
    found = run(from_wheel.home / "bin" / "python", *command, "--hcasim-scenarios=.", cwd=project)
    assert "3 passed" in found


def test_a_new_user_comes_from_nothing_to_a_fitted_adapter_in_ten_minutes(
    wheel: Path, tmp_path: Path
) -> None:
    new = install(tmp_path / "new", wheel)
    package = Path(new.python("import hcasim; print(hcasim.__file__)")).parent

    def state() -> dict[Path, int]:
        files = (path for path in package.rglob("*") if "__pycache__" not in path.parts)
        return {path: path.stat().st_mtime_ns for path in files if path.is_file()}

    before = state()
    # An adapter, from the nearest one that there is.
    new.hcasim("new", "adapter", "mine", "--based-on", "mt25208")
    file = new.work / "mine.toml"
    guess = 'value = 8, evidence = "assumed", source = "what if"'
    text = file.read_text()
    assert f"\n# bus.lanes = {{ {guess} }}" in text
    file.write_text(
        text.replace(f"# bus.lanes = {{ {guess}", "bus.lanes = { " + guess.replace("8", "4"))
    )
    machine = ("--testbed", "liu2004", "--adapter", "./mine.toml")
    assert "adapter.bus.lanes  4 " in new.hcasim("show", "./mine.toml", "--grep", "lanes")

    # How fast it is, how that depends on a parameter, and a graph.
    def bandwidth(lanes: int) -> float:
        sets = ("--set", f"adapter.bus.lanes={lanes}")
        found = new.hcasim("bench", "window_bw", *machine, "-s", "1M", *sets, "--json")
        return float(json.loads(found)["rows"][0]["bandwidth_MBps"])

    assert bandwidth(1) < bandwidth(2) < bandwidth(4)
    new.hcasim("bench", "write_lat", *machine, "-s", "4..4K", "--plot", "lat.png", "-o", "lat.csv")
    assert (new.work / "lat.png").read_bytes().startswith(b"\x89PNG")
    head, first, *_ = (new.work / "lat.csv").read_text().splitlines()
    assert {"testbed", "size", "latency_us"} <= {*head.split(",")}
    assert "liu2004" in first

    # What perftest printed on a machine whose adapter takes longer, and a fit to it.
    real = ("--set", "adapter.send.latency=1 us", "-s", "2..64", "--format", "perftest")
    printed = new.hcasim("bench", "ib_write_lat", *machine, *real)
    (new.work / "ib_write_lat.txt").write_text(printed)
    new.hcasim("import", "ib_write_lat.txt", "-o", "lat.jsonl")
    free = ("--free", "adapter.send.latency=0ns..2us", "--intervals", "linear")
    new.hcasim("calibrate", "lat.jsonl", *machine, *free, "-o", "fit.toml")
    shown = new.hcasim("show", "./mine.toml", "--calibration", "fit.toml", "--json")
    parameters = {one["path"]: one for one in json.loads(shown)["parameters"]}
    send = parameters["adapter.send.latency"]
    assert send["evidence"] == "fitted"
    assert send["value"] == pytest.approx(1000, rel=0.03)
    asked = ("-s", "8", "--calibration", "fit.toml", "--json")
    (row,) = json.loads(new.hcasim("bench", "write_lat", *machine, *asked))["rows"]
    measured = next(line.split()[5] for line in printed.splitlines() if line.startswith(" 8 "))
    assert row["latency_us"] == pytest.approx(float(measured), rel=0.01)
    assert state() == before
