"""The rooms of the package stand in an order, and each says what it is for."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import hcasim

ROOT = Path(hcasim.__file__).parent
FOLDERS = sorted(path.parent for path in ROOT.rglob("__init__.py"))


def name_of(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, ast.Module]:
    return {name_of(file): ast.parse(file.read_text()) for file in ROOT.rglob("*.py")}


def imported(module: str) -> Iterator[str]:
    """What a module names of others, also for types alone or inside a function."""
    every = modules()
    for one in ast.walk(every[module]):
        if isinstance(one, ast.Import):
            yield from (part.name for part in one.names if part.name in every)
        elif isinstance(one, ast.ImportFrom) and one.module in every:
            names = (f"{one.module}.{part.name}" for part in one.names)
            yield from (name if name in every else one.module for name in names)


@cache
def graph() -> dict[str, set[str]]:
    # The package itself names what stands in its rooms, and imports it when it is asked for.
    return {module: set(imported(module)) - {module} for module in modules()} | {"hcasim": set()}


def circle(needs: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_over_others() -> None:
    assert circle(graph()) == []


def folder_of(module: str) -> str:
    is_folder = (ROOT.parent / module.replace(".", "/") / "__init__.py").exists()
    return module if is_folder else module.rpartition(".")[0]


def test_no_folder_needs_another_that_needs_it() -> None:
    folders: dict[str, set[str]] = {name_of(folder / "__init__.py"): set() for folder in FOLDERS}
    for module, others in graph().items():
        here = folder_of(module)
        # What stands in a folder may use its rooms, and they what stands beside them.
        folders[here] |= {
            there
            for there in map(folder_of, others)
            if not f"{there}.".startswith(f"{here}.") and not f"{here}.".startswith(f"{there}.")
        }
    assert circle(folders) == []


def test_a_circle_would_be_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})


def test_each_folder_says_in_a_sentence_what_it_is_for() -> None:
    for folder in FOLDERS:
        said = ast.get_docstring(modules()[name_of(folder / "__init__.py")])
        assert said is not None
        assert said.split("\n\n")[0].endswith(".")


def assigned(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What is assigned as an attribute of what: (object, attribute)."""
    for one in ast.walk(tree):
        if isinstance(one, ast.Attribute) and not isinstance(one.ctx, ast.Load):
            yield ast.unparse(one.value), one.attr


def taken_from_owners(tree: ast.AST, owned: set[str]) -> list[tuple[str, str]]:
    return [(of, name) for of, name in assigned(tree) if of != "self" and name in owned]


def test_only_their_folder_assigns_attributes_of_queue_pairs() -> None:
    home, users = "hcasim.hca.qp", ("hcasim.hca.", "hcasim.verbs.")
    inside = [tree for name, tree in modules().items() if name.startswith(f"{home}.")]
    owned = {name for tree in inside for of, name in assigned(tree) if of == "self"}
    assert {"state", "current", "expected_psn", "path"} <= owned
    outside = {
        name: taken_from_owners(tree, owned)
        for name, tree in modules().items()
        if name.startswith(users) and not name.startswith(f"{home}.")
    }
    assert [(name, found) for name, found in outside.items() if found] == []
    assert taken_from_owners(ast.parse("self._qp.state, x = ERR, 1"), owned)


def untyped_calls(tree: ast.AST) -> list[str]:
    """What stands for functions of which a type checker does not know what they take."""
    return [
        ast.unparse(one)
        for one in ast.walk(tree)
        if isinstance(one, ast.arg | ast.AnnAssign)
        and one.annotation is not None
        and "Callable[..." in ast.unparse(one.annotation)
    ]


def test_a_type_checker_follows_every_call_that_is_made_later() -> None:
    rooms = ("engine", "bus", "fabric", "hca", "host", "verbs", "cluster")
    users = tuple(f"hcasim.{room}." for room in rooms)
    found = {n: untyped_calls(tree) for n, tree in modules().items() if n.startswith(users)}
    assert len(found) > 60
    calls = [(name, call) for name, calls in found.items() for call in calls]
    # The one place where they are kept; who makes it is followed.
    assert calls == [("hcasim.engine.clock", "self.function: Callable[..., None] = function")]
    assert untyped_calls(ast.parse("def later(do: Callable[..., None], *args: object): ..."))


def openings(tree: ast.AST) -> list[str]:
    """Calls that open a file for writing, but for the device that takes and keeps nothing."""
    calls = [ast.unparse(one) for one in ast.walk(tree) if isinstance(one, ast.Call)]
    writes = re.compile(
        r"(.*\.)?(write_text|write_bytes)\(|(.*\.)?open\(.*(['\"][rbt]*[wax+]|O_WRONLY|O_RDWR|O_CREAT)"
    )
    return [one for one in calls if writes.match(one) and "os.devnull" not in one]


def test_one_module_opens_files_for_writing() -> None:
    found = {name for name, tree in modules().items() if openings(tree)}
    # What is launched has memory and pipes, which are opened as files are, and a cache of its own.
    assert {name for name in found if not name.startswith("hcasim.launch.")} == {
        "hcasim.ground.writing"
    }
    assert openings(ast.parse("with Path('x').open('w') as f: Path('y').write_text('')"))
    assert not openings(ast.parse("Path('x').open('rb'), os.open('z', os.O_RDONLY)"))
