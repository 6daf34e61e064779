"""What commands share that ask for an experiment: a benchmark with its options, on a machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from hcasim.cli.command import (
    Command,
    Decorated,
    flag,
    option,
    options,
    read_pairs,
    read_settings,
    running_options,
    settings_option,
)
from hcasim.cli.naming import ADAPTER, HOST, STACK, SWITCH, TESTBED
from hcasim.cli.output import note
from hcasim.ground.errors import one_of
from hcasim.workloads.option import Option
from hcasim.workloads.options import OPTIONS


class ExperimentCommand(Command):
    """Benchmarks have most of perftest's letters; of its other options it says what they are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = [*args]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            lines = [error.format_message(), *counterparts(words)]
            if (before := lines[0].partition("(")[0]) in _EXTRA:
                lines += self._with_commas(words, lines[0].removeprefix(before)[1:-1].split())
            raise click.UsageError("\n".join(lines), ctx) from None

    def _with_commas(self, words: Sequence[str], extra: Sequence[str]) -> Iterator[str]:
        """Say how several values of an option are written, if extra words stand behind one."""
        options = [one for one in self.params if isinstance(one, click.Option) and not one.is_flag]
        known = {name for one in options for name in one.opts}
        for name, value, more in zip(words, words[1:], words[2:], strict=False):
            if name in known and more in extra:
                yield f"Several values have commas between them: {name} {value},{more}"


_EXTRA = ("Got unexpected extra argument ", "Got unexpected extra arguments ")
_POLLED = "has no counterpart: completions are polled"
_CONNECTED = "has no counterpart: both ends are in the testbed, and connected"
INVALIDATE = "-I is NetPIPE's here (--invalidate); perftest's -I is --inline-size"
_PERFTEST = {
    ("-a", "--all"): "is --size 2..8M",
    ("-b", "--bidirectional"): "is a benchmark of its own: write_bibw, send_bibw or read_bibw",
    ("-d", "--ib-dev"): "is --adapter",
    ("-D", "--duration"): "is --iters, a number of iterations",
    ("-e", "--events"): _POLLED,
    ("-F", "--CPU-freq"): "has no counterpart: clocks do not vary",
    ("-i", "--ib-port"): "is --ports, the number of ports in use",
    ("--post_list",): "is --post-list",
    ("-m",): "is --mtu; OSU's -m MIN:MAX is --size MIN..MAX",
    ("-o", "--outs"): "is --set adapter.requester.outstanding=N; -o is --output here",
    ("-p", "--port"): _CONNECTED,
    ("-Q",): "is --cq-mod",
    ("-R", "--rdma_cm"): _CONNECTED,
    ("-x", "--gid-index"): _CONNECTED,
    ("--inline_size",): "is --inline-size",
    ("--report_gbits",): "has no counterpart: bandwidths are in 10^6 bytes per second",
}
"""Options of perftest that are not ours, and what does the same."""


def counterparts(words: Iterable[str]) -> list[str]:
    """Say of words what they would be here, if they are options of perftest."""
    known = {one: f"perftest's {one} {told}" for names, told in _PERFTEST.items() for one in names}
    known["-I"] = INVALIDATE
    written = (word.partition("=")[0] if word[:2] == "--" else word[:2] for word in words)
    return list(dict.fromkeys(known[name] for name in written if name in known))


def _of_benchmark(one: Option) -> Decorated:
    name = f"--{one.name.replace('_', '-')}"
    if one.is_flag:
        return flag(f"{one.short} {name}/--no-{name[2:]}", f"{one.help}.", default=None)
    metavar = "WORD" if one.words else "GROUP" if one.is_name else "N"
    if one.title:
        metavar = "N,N..M" if one.doubling else "N,N"
    elif one.is_size:
        metavar = "BYTES"
    default = f"default: {one.varies}, by workload"
    if not one.varies:
        default = f"default: {one.label(one.usual) if one.is_size else one.usual}"
    words = f"{one_of(one.words)}; " if one.words else ""
    text = one.help + ("." if one.is_name else f" ({words}{default}).")
    return option(f"{one.short} {name} {metavar}", text)


_BENCHMARK = options(*map(_of_benchmark, OPTIONS.values()))
_PERTURBATION = option(
    "--perturbation BYTES", "Also NetPIPE's sizes so many bytes above and below (default: 3)."
)
switch_options = options(
    flag("--no-switch", "Two hosts back to back, without a switch.", default=None),
    option(
        "--switch [ID]",
        "Switch instead of the testbed's, or between two hosts; without an ID the testbed's.",
        is_flag=False,
        flag_value="",
        type=SWITCH,
    ),
)
_MACHINE = options(
    option("--adapter", "Adapter of every node instead of its own: id or file.", type=ADAPTER),
    option("--host", "Host of every node instead of its own: id or file.", type=HOST),
    option("--stack", "Software of every node instead of its own: id or file.", type=STACK),
    option(
        "--firmware-mode MODE", "Firmware of the adapter: tavor, mem or memfree (default: its own)."
    ),
    option(
        "--mtu BYTES",
        "InfiniBand: 256, 512, 1K, 2K or 4K; Ethernet: 576 to 9216 (default: the testbed's).",
    ),
    switch_options,
)


def machine_options(*, testbed: bool | None = True) -> Decorated:
    """Give a command the options of a machine; with None its arguments name the testbed."""
    text = "The machine: id, such as liu2004, or file."
    named = option("--testbed", text, required=testbed, type=TESTBED)
    return _MACHINE if testbed is None else options(named, _MACHINE)


def experiment_options(*, testbed: bool | None = True) -> Decorated:
    """Return what gives a command the options of a benchmark beside those of a machine."""
    return options(machine_options(testbed=testbed), _BENCHMARK, settings_option, _PERTURBATION)


def read_experiment(given: dict[str, Any], faults: list[str]) -> dict[str, Any]:
    """Return the settings of an experiment that were given, as `hcasim.bench` takes them."""
    faults += switch_faults(given)
    names = ("adapter", "host", "stack", "firmware_mode", "mtu", "perturbation", *OPTIONS)
    found = {name: given[name] for name in names if given.get(name) is not None}
    found |= read_switch(given)
    return found | {"overrides": read_settings(given["settings"], faults)}


def read_switch(given: dict[str, Any]) -> dict[str, Any]:
    """Return what `switch_options` say of the switch, as `hcasim.bench` takes it."""
    if not given["no_switch"] and given["switch"] is None:
        return {}
    return {"switch": not given["no_switch"] and (given["switch"] or True)}


def switch_faults(given: dict[str, Any]) -> list[str]:
    """Say what is wrong with --switch beside --no-switch; without that there is a switch then."""
    if given["switch"] is None:
        return []
    both, given["no_switch"] = given["no_switch"], False
    return ["--no-switch: contradicts --switch; leave one out"] if both else []


side_options = options(
    # The machines are arguments.
    experiment_options(testbed=None),
    running_options,
    *(
        option(
            f"--{letter} with_{letter} NAME=VALUE",
            f"Of {letter.upper()} only: an option such as adapter=mt23108, or a path of --set."
            " Repeatable.",
            multiple=True,
        )
        for letter in ("a", "b")
    ),
)


def read_sides(given: dict[str, Any], faults: list[str]) -> dict[str, Any]:
    """Return arguments of `hcasim.compare` and `hcasim.why`, as `read_experiment` does."""
    found = read_experiment(given, faults) | {"jobs": given["jobs"], "cache": not given["no_cache"]}
    for name in ("adapter", "host", "stack"):
        both = str(found.get(name) or "")
        if len(names := both.replace(",", " ").split()) > 1 and not Path(both).exists():
            a, b = names[:2]
            allowed = f"one of both, or --a {name}={a} --b {name}={b}"
            faults.append(f"--{name}: found {both!r}; allowed: {allowed}")
    for letter in ("a", "b"):
        own: dict[str, Any] = {**read_pairs(f"--{letter}", given[f"with_{letter}"], faults)}
        if own.get("switch") in ("no", "off", "false", "none"):
            own["switch"] = False
        found[f"with_{letter}"] = own
    return found


uncertainty_option = option(
    "--uncertainty [N]",
    "Also the 5 and 95 % quantiles over N samples (50 without a number): of a calibration, or "
    "else of all that nobody has published.",
    is_flag=False,
    flag_value="",
)


def read_samples(text: str | None, faults: list[str]) -> int | None:
    """Return how many samples `uncertainty_option` asks for, if it does."""
    from hcasim.study.bands import USUAL, samples_fault

    if not text:
        return None if text is None else USUAL
    if fault := samples_fault(int(text) if text.isdecimal() else text):
        faults.append(f"--{fault}")
        return None
    return int(text)


def tell_bands(samples: int, asked: int | None, values: int) -> None:
    """Say of how many samples of how many values bands are made, if `asked` were asked for."""
    if asked:
        of = "" if samples == asked else f" ({asked} were drawn, and the others can be no machine)"
        over = f"{samples} samples{of} of {values} values that nobody has published"
        note(f"Bands: 5 to 95 % over {over}")
