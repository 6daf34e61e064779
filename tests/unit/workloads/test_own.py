"""Workloads of users, in files and in packages that they have installed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import hcasim as hc
from hcasim.cli import main
from hcasim.workloads import find_workload, own

PING = '''
"""Sends there and back."""

import hcasim as hc
from hcasim.verbs import CQ, PD, QP, SGE, RecvWR, SendWR, WROpcode


@hc.workload("latency_us", defaults={"iters": 10})
def ping(run):
    """Half a round trip of sends."""
    ends = []
    for context in run.contexts:
        pd, cq = PD(context), CQ(context, 16)
        mr = pd.reg_mr(run.options.size)
        ends.append((QP(pd, cq, cq), cq, [SGE(mr.addr, mr.length, mr.lkey)]))
    (client, _, _), (server, _, _) = ends
    client.connect(server)
    server.connect(client)

    def play(qp, cq, piece, turn):
        qp.prepost_recv(RecvWR(piece))
        for _ in range(run.options.iters):
            for step in (turn, 1 - turn):
                if step == 0:
                    yield from qp.post_send(SendWR(WROpcode.SEND, piece))
                    yield from cq.wait()
                else:
                    yield from cq.wait()
                    yield from qp.post_recv(RecvWR(piece))

    begin = run.sim.now
    run.together(client=play(*ends[0], 0), server=play(*ends[1], 1))
    return {"latency_us": (run.sim.now - begin) / 2e6 / run.options.iters}
'''
WAITING = """
import hcasim as hc
from hcasim.verbs import CQ, PD, QP, SendWR, WROpcode

@hc.workload("latency_us")
def stuck(run):
    near, far = (CQ(context, 16) for context in run.contexts)
    def wait(cq):
        yield from cq.wait()
    def done():
        yield from ()
    run.together(near=wait(near), far=wait(far), other=done())

@hc.workload("latency_us")
def forgotten(run):
    near, _ = (CQ(context, 16) for context in run.contexts)
    def wait():
        near.wait()
        yield run.sim.event()
    run.together(near=wait())

@hc.workload("latency_us")
def endless(run):
    cqs = [CQ(context, 16) for context in run.contexts]
    near, far = (QP(PD(one), cq, cq) for one, cq in zip(run.contexts, cqs))
    near.connect(far)
    far.connect(near)
    def send():
        yield from near.post_send(SendWR(WROpcode.SEND))
        yield from cqs[0].wait()
    run.together(seconds=1e-3, sender=send())

@hc.workload("latency_us", "rate_Mps")
def lacking(run):
    return {"latency_us": 1.0}

@hc.workload("latency_us")
def wrong(run):
    CQ(run.contexts[0], 0)
"""
LONG = """
import hcasim as hc
from hcasim.verbs import CQ, PD, QP, SGE, Access, SendWR, WROpcode

@hc.workload("left_out_percent")
def long(run):
    pds, cqs = [PD(one) for one in run.contexts], [CQ(one, 16) for one in run.contexts]
    near, far = (QP(pd, cq, cq) for pd, cq in zip(pds, cqs))
    near.connect(far)
    far.connect(near)
    mrs = [pd.reg_mr(1 << 24, Access.LOCAL_WRITE | Access.REMOTE_WRITE) for pd in pds]
    def write():
        piece = [SGE(mrs[0].addr, mrs[0].length, mrs[0].lkey)]
        there = {"remote_addr": mrs[1].addr, "rkey": mrs[1].rkey}
        yield from near.post_send(SendWR(WROpcode.RDMA_WRITE, piece, **there))
        yield from cqs[0].wait()
    for _ in range(2):
        run.together(writer=write())
    return {"left_out_percent": 100 * run.sim.forward.skipped_ps / run.sim.now}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(PING)
    (tmp_path / "waiting.py").write_text(WAITING)
    return tmp_path


def faults(workload: str) -> str:
    with pytest.raises(hc.CatalogError) as caught:
        hc.bench(workload, "liu2004")
    (fault,) = caught.value.faults
    return fault


def test_a_file_of_ones_own_is_measured_as_a_benchmark(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "mine.py:ping", "--testbed", "liu2004", "--size", "8,64", "-j", "1"])
    assert not ended.value.code
    shown = capsys.readouterr().out
    assert shown.startswith("mine.py:ping on liu2004, mt25208\nSize  Latency (us)")
    own_lat = hc.bench("mine.py:ping", "liu2004").curve.latency_us[0]
    # It does the same but for its order of posts and polls.
    assert own_lat == pytest.approx(hc.bench("send_lat", "liu2004").curve.latency_us[0], rel=0.3)
    found = find_workload("mine.py:ping")
    assert found is not None
    assert found.title == "Half a round trip of sends"
    assert found.options == {"size", "iters", "exact", "explain"}


def test_a_limit_of_time_hides_no_period(folder: Path) -> None:
    (folder / "long.py").write_text(LONG)
    assert hc.bench("long.py:long", "liu2004").rows[0]["left_out_percent"] > 80


def test_a_file_that_was_changed_is_read_and_simulated_again(folder: Path) -> None:
    before = hc.bench("mine.py:ping", "liu2004").curve.latency_us[0]
    (folder / "mine.py").write_text(PING.replace("/ 2e6", "/ 1e6"))
    assert hc.bench("mine.py:ping", "liu2004").curve.latency_us[0] == pytest.approx(
        2 * before, rel=1e-9
    )


def test_a_worker_in_another_folder_finds_the_file(folder: Path) -> None:
    found = hc.Experiment.of("mine.py:ping", "liu2004").benchmark()[0]
    assert found.bare().workload == f"{folder / 'mine.py'}:ping"
    assert found.reads


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package that has been installed, with a workload and names that are none."""
    about = tmp_path / "site" / "pings-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: pings\nVersion: 1.0\n")
    names = "own_ping = pings:ping\nnothing = pings:CQ\nabsent = pings:pong\n"
    (about / "entry_points.txt").write_text(f"[{own.GROUP}]\n{names}")
    (about.parent / "pings.py").write_text(PING)
    monkeypatch.syspath_prepend(about.parent)
    own.installed.cache_clear()
    yield
    own.installed.cache_clear()


@pytest.mark.usefixtures("package")
def test_a_package_that_was_installed_has_workloads_by_name() -> None:
    assert hc.bench("own_ping", "liu2004").curve.latency_us[0] > 1
    assert "did you mean 'own_ping'?" in faults("own_pong")
    assert "pings:CQ is no workload; needed: @hc.workload" in faults("nothing")
    assert "pings:pong cannot be imported" in faults("absent")


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        ("mine.py:pin", "mine.py: found no workload 'pin'; it has ping; did you mean 'ping'?"),
        ("mine.py:", "mine.py: found no name of a workload; it has ping"),
        ("absent.py:ping", "absent.py: cannot be read"),
        (
            "waiting.py:stuck",
            (
                "waiting.py:stuck: no process can go on: near waits at waiting.py:9: yield from "
                "cq.wait(); far waits at waiting.py:9: yield from cq.wait(); other has ended"
            ),
        ),
        (
            "waiting.py:forgotten",
            (
                "waiting.py:forgotten: no process can go on: near waits at waiting.py:19: yield "
                "run.sim.event(); node0.cpu0: wait: it has not been run; needed: `yield from` "
                "before cq.wait(...)"
            ),
        ),
        (
            "waiting.py:endless",
            (
                "waiting.py:endless: no end within 0.001 s: sender waits at waiting.py:30: "
                "yield from cqs[0].wait()"
            ),
        ),
        (
            "waiting.py:lacking",
            (
                "waiting.py:lacking: has returned no 'rate_Mps'; needed: numbers by name, "
                "'latency_us' or 'rate_Mps'"
            ),
        ),
        (
            "waiting.py:wrong",
            "waiting.py:39: VerbsError: EINVAL: cqe is 0; allowed: 1 to 131071",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_wrong_is_told_with_its_place(workload: str, expected: str) -> None:
    assert expected in faults(workload)


def test_a_program_of_mpi_is_told_how_a_workload_is_named(folder: Path) -> None:
    assert faults("mine.py").endswith("of a file of your own: mine.py:NAME")


@pytest.mark.parametrize(
    ("fields", "options", "defaults", "expected"),
    [
        ((), "size", {}, "f: fields: found none"),
        (("run_s",), "sise", {}, "f: options: found 'sise'; allowed: size,"),
        (("run_s",), "size", {"iters": 1}, "f: defaults: found 'iters'; allowed: size"),
    ],
)
def test_what_cannot_be_a_workload_says_why(
    fields: tuple[str, ...], options: str, defaults: dict[str, int], expected: str
) -> None:
    def f(run: object) -> dict[str, float]:
        return {}

    with pytest.raises(hc.CatalogError, match=expected):
        hc.workload(*fields, options=options, defaults=defaults)(f)


def test_a_generator_is_no_workload() -> None:
    def f(run: object) -> Iterator[int]:
        yield 1

    with pytest.raises(hc.CatalogError, match=r"f: found a generator; needed: .*run\.together"):
        hc.workload("run_s")(f)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("float('nan')", "latency_us: found nan; allowed: finite numbers"),
        ("float('inf')", "latency_us: found inf; allowed: finite numbers"),
        ("10 ** 400", "has returned numbers beyond those of 64 bits"),
        ("-1.5", "latency_us: found -1.5; allowed: more than 0"),
        ("0", "latency_us: found 0; allowed: more than 0"),
    ],
)
def test_what_is_no_measurement_is_not_printed(
    value: str, found: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "odd.py"
    lines = ["import hcasim as hc", '@hc.workload("latency_us", "waits_count")', "def odd(run):"]
    lines.append(f"    return {{'latency_us': {value}, 'waits_count': 0}}")
    file.write_text("\n".join(lines))
    with pytest.raises(SystemExit) as ended:
        main(["bench", f"{file}:odd", "--testbed", "liu2004"])
    out = capsys.readouterr()
    assert ended.value.code == 2
    assert found in out.err
    assert out.out == ""
