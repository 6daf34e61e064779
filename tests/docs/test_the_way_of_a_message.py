"""A message goes the way that CONTRIBUTING.md describes."""

import importlib
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hcasim
from tests.rig import SEND, WRITE, Rig, succeeded

TEXT = (Path(__file__).resolve().parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
WAY = TEXT.split("### The way of a message\n")[1].split("\n#")[0]
NAMES = [name for name in re.findall(r"`([\w.]+)`", WAY) if name[0].isupper()]
CLASSES = {
    name: value
    for module in pkgutil.walk_packages(hcasim.__path__, "hcasim.")
    if module.name.split(".")[1] in ("engine", "fabric", "hca", "verbs")
    for name, value in vars(importlib.import_module(module.name)).items()
    if isinstance(value, type)
}


@pytest.mark.parametrize("name", NAMES)
def test_each_name_on_the_way_exists(name: str) -> None:
    owner, _, method = name.partition(".")
    assert not method or callable(getattr(CLASSES[owner], method))


def test_the_way_has_ten_lines() -> None:
    assert re.findall(r"^(\d+)\. ", WAY, re.MULTILINE) == [str(n) for n in range(1, 11)]


def noted(method: Callable[..., Any], name: str, calls: list[str]) -> Callable[..., Any]:
    def call(*arguments: Any, **more: Any) -> Any:
        if name not in calls:
            calls.append(name)
        return method(*arguments, **more)

    return call


@pytest.mark.parametrize("opcode", [WRITE, SEND])
def test_a_message_passes_the_methods_in_the_order_of_the_description(
    opcode: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    described = [name for name in NAMES if "." in name]
    for name in described:
        owner, _, method = name.partition(".")
        monkeypatch.setattr(
            CLASSES[owner], method, noted(getattr(CLASSES[owner], method), name, calls)
        )
    rig = Rig()
    a, b = rig.peers
    qp, remote = rig.connect(a, b)
    if opcode is SEND:
        rig.run(b.post_receives(remote, b.receive(1000)))
        described = described[: described.index("Egress.acknowledge")]
    calls.clear()
    assert succeeded(rig.exchange(qp, a, a.request(opcode, b, 1000)))
    expected = [name for name in described if opcode is SEND or name != "ReceiveQueue.take"]
    # The receive's own WQE is fetched and completed the same way.
    assert [name for name in calls if name in expected] == expected
