"""Every parameter of every description, out of its model."""

from collections.abc import Iterator

from pydantic import BaseModel

from hcasim.catalog import Adapter, Host, Switch
from hcasim.catalog.adapter import DmaDevice
from hcasim.catalog.fields import Key, Leaf, PlainKey, Table, keys_of
from hcasim.catalog.stack import Stack
from hcasim.catalog.testbed import Testbed
from tests.docs.site.markdown import code, contents, page, plain, prose, table

Rows = Iterator[tuple[str, str, str]]
MODELS: dict[str, tuple[type[BaseModel], ...]] = {
    "adapter": (Adapter, DmaDevice),
    "host": (Host,),
    "switch": (Switch,),
    "stack": (Stack,),
    "testbed": (Testbed,),
}
KINDS = tuple(MODELS)


def pages() -> Iterator[tuple[str, str]]:
    """Yield each page by its name."""
    for kind in KINDS:
        yield f"reference/parameters/{kind}", _description(kind)
    told = (
        "A description is a TOML file, and these are its keys. A value is written as "
        '`{ value = "25 ns", evidence = "assumed", source = "..." }`; times, sizes and rates bear '
        "their units. `--set` takes the same paths behind the kind: `--set adapter.bus.lanes=4`. "
        '`hc.schema("adapter")` returns the same as a JSON Schema.'
    )
    index = page("Parameters of descriptions", told, contents(KINDS))
    yield "reference/parameters/index", index


def _description(kind: str) -> str:
    every = {name: (key, one) for one in MODELS[kind] for name, key in keys_of(one).items()}
    single: list[tuple[str, str, str]] = []
    parts = []
    for name, (key, model) in sorted(every.items()):
        told = model.model_fields[name].description or ""
        rows = list(_rows(name, key, told))
        if isinstance(key, Leaf | PlainKey):
            single += rows
        else:
            own = key.models.get("")
            told = told or (own.__doc__ if own else "") or ""
            parts.append(page(f"## {name}", prose(told), _table(rows)))
    return page(kind.title(), prose(MODELS[kind][0].__doc__ or ""), _table(single), *parts)


def _table(rows: list[tuple[str, str, str]]) -> str:
    cells = ((code(path), plain(allowed), plain(told)) for path, allowed, told in rows)
    return table(("path", "value", "meaning"), cells)


def _rows(
    path: str, key: Key, told: str, kinds: str = "", above: tuple[type[BaseModel], ...] = ()
) -> Rows:
    """Yield path, what is allowed and what it means of each value below a place.

    Args:
        told: what the key itself means.
        kinds: of sections that it is in.
    """
    if not isinstance(key, Table):
        many = isinstance(key, PlainKey) and key.many
        allowed = key.allowed if isinstance(key, Leaf) else "text"
        yield path + "[]" * many, allowed, told and kinds + told
        return
    for kind, model in key.models.items():
        if model in above:
            yield path, "the same again", ""
            continue
        inside = f"{kinds}{kind}: " if kind else kinds
        for place in (path, f"{path}.NAME") if key.named else (path,):
            for name, one in keys_of(model).items():
                said = model.model_fields[name].description or ""
                if name != "kind":
                    yield from _rows(f"{place}.{name}", one, said, inside, (*above, model))
    if len(key.models) > 1:
        yield f"{path}.kind", ", ".join(key.models), "which of them it is"
