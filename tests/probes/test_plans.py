"""The probes are built, and read plans; no adapter is needed."""

import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from hcasim.workloads import WORKLOADS

# Options of the probes that a simulation has no use for.
OWN = {"fault", "mtu", "iters", "warmup"}
NOT_SIMULATED = {"post_cost"}


def run(probes: Path, *words: str, plan: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([probes, *words], input=plan, capture_output=True, text=True, timeout=60)


def check(probes: Path, plan: str, *words: str) -> list[str]:
    done = run(probes, "check", "-", *words, plan=plan)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def refuse(probes: Path, plan: str) -> str:
    done = run(probes, "check", "-", plan=plan)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


@pytest.mark.check
def test_cmake_builds_the_probes_too(sources: Path, tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("cmake is missing")
    for words in (["-S", sources, "-B", tmp_path], ["--build", tmp_path, "-j2"]):
        done = subprocess.run(["cmake", *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert run(tmp_path / "hcasim-probes", "list").returncode == 0


def test_workloads_and_their_options_are_those_of_the_simulator(probes: Path) -> None:
    lines = run(probes, "list").stdout.splitlines()
    for title, options in zip(lines[::2], lines[1::2], strict=True):
        name = title.split()[0]
        if name not in NOT_SIMULATED:
            assert set(options.split()) - OWN <= WORKLOADS[name].options, name


def test_defaults_are_those_of_the_simulator(probes: Path) -> None:
    for name, workload in WORKLOADS.items():
        done = run(probes, "check", "-", plan=name)
        if done.returncode:
            continue
        given = dict(word.split("=") for word in done.stdout.split()[1:])
        for option, value in given.items():
            if option in OWN and name == "reg_mr":
                continue
            default = getattr(workload.defaults, option)
            words = {True: "yes", False: "no"}
            expected = words[default] if isinstance(default, bool) else str(default)
            assert value == expected, (name, option)


def test_lists_and_ranges_become_every_combination(probes: Path) -> None:
    lines = check(probes, "write_lat size=8..32,1K inline=no,yes # and more\n\n", "--seed", "0")
    found = [(words[1], words[3]) for words in (line.split() for line in lines)]
    sizes = ("8", "16", "32", "1024")
    assert found == [(f"size={size}", f"inline={word}") for size in sizes for word in ("no", "yes")]


def test_a_seed_shuffles_all_points_in_the_same_way_each_time(probes: Path) -> None:
    plan = "write_lat size=1..1M\nread_lat size=1..1M\n"
    in_order = check(probes, plan, "--seed", "0")
    shuffled = check(probes, plan, "--seed", "7")
    assert shuffled == check(probes, plan, "--seed", "7")
    assert shuffled != in_order
    assert shuffled != check(probes, plan, "--seed", "8")
    assert Counter(shuffled) == Counter(in_order)


def test_all_faults_of_a_plan_are_reported_with_their_lines(probes: Path) -> None:
    faults = refuse(
        probes,
        "write_lat size=8 inlin=yes\n"
        "wrte_lat\n"
        "window_bw size=0 window=9X\n"
        "atomic_lat op=cmp size=\n"
        "window_bw mode=stripe ports=2 ports=1\n",
    )
    assert "-:1: write_lat: found inlin; allowed: size, qps, inline," in faults
    assert "did you mean inline?" in faults
    assert "-:2: workload: found wrte_lat;" in faults
    assert "did you mean write_lat?" in faults
    assert "-:3: size: found 0; allowed: 1 to 1073741824" in faults
    assert "-:3: window: found 9X; allowed: 1 to 8192" in faults
    assert "-:4: op: found cmp; allowed: fetch_add, cmp_swap" in faults
    assert "-:4: size: found no value" in faults
    assert "-:5: mode: found stripe; allowed: single, striping, binding" in faults
    assert "-:5: ports: found twice" in faults


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("window_bw reuse=50", "buffers: with reuse below 100"),
        ("window_bw ports=2", "mode: more than one port needs striping or binding"),
        ("window_bibw verb=read", "verb: only one side reads; allowed: write, send"),
        ("window_bw verb=read inline=yes", "inline: a read has no message to put there"),
        ("window_bw verb=send mode=striping ports=2", "mode: striping only with verb=write"),
        ("atomic_lat size=16", "size: atomic operations have 8 bytes"),
        ("write_lat mtu=1000", "mtu: allowed: 256, 512"),
        ("reg_mr page_size=5000", "page_size: allowed: powers of two"),
        ("write_lat size=64..8", "size: found 8; allowed:"),
        ("write_lat size=99999999999999999999", "size: found 99999999999999999999"),
        ("write_lat size=-8", "size: found -8"),
        ("write_lat size=8,,16", "size: found no value; allowed: 1 to"),
        ("write_lat size=8,", "size: found no value"),
        ("write_lat size=8..", "size: found no value"),
        ("write_lat inline=", "inline: found no value; allowed: no, yes\n"),
        ("# nothing", "found no point"),
        ("", "found no point"),
        ("write_lat\0", "found binary data"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    checked_probes: Path, line: str, fault: str
) -> None:
    assert fault in refuse(checked_probes, line)


def test_a_plan_may_have_so_many_points_and_no_more_over_all_its_lines(
    checked_probes: Path,
) -> None:
    # Two options of 64 and one of 25 values are 102400 points, of 50 and 40 and 25 are 50000.
    def line(first: int, second: int) -> str:
        lists = (",".join(["1"] * count) for count in (first, second, 25))
        names = ("size", "qps", "iters")
        values = (f"{name}={values}" for name, values in zip(names, lists, strict=True))
        return f"write_lat {' '.join(values)}\n"

    half = line(50, 40)
    assert len(check(checked_probes, 2 * half)) == 100000
    limit = "points: found too many; allowed: at most 100000 in all\n"
    assert refuse(checked_probes, line(64, 64)) == f"-:1: {limit}"
    faults = refuse(checked_probes, 2 * half + "reg_mr\nreg_mr\nreg_mr size=0\n")
    assert faults == f"-:3: {limit}-:5: size: found 0; allowed: 1 to 1073741824\n"


def test_a_plan_of_more_than_16_mib_is_refused(checked_probes: Path) -> None:
    comment = "#" * ((16 << 20) - len("reg_mr\n"))
    assert len(check(checked_probes, f"reg_mr\n{comment}")) == 1
    fault = "-: found more than 16 MiB; allowed: at most 16 MiB\n"
    assert refuse(checked_probes, f"reg_mr\n{comment}#") == fault
    endless = run(checked_probes, "check", "/dev/zero")
    assert (endless.returncode, endless.stdout) == (2, "")
    assert "found more than 16 MiB" in endless.stderr


def test_after_a_few_faults_of_a_line_the_others_are_counted(checked_probes: Path) -> None:
    faults = refuse(checked_probes, "write_lat" + 99999 * " sizes=8" + "\nreg_mr inline=yes\n")
    *said, rest, other = faults.splitlines()
    assert 0 < len(said) <= 10
    assert {line.partition(";")[0] for line in said} == {"-:1: write_lat: found sizes"}
    assert rest == f"-:1: and {99999 - len(said)} more"
    assert other.startswith("-:2: reg_mr: found inline;")


@pytest.mark.parametrize("line", ["{}", "write_lat {}", "write_lat size={}", "write_lat inline={}"])
@pytest.mark.parametrize("letter", ["x", "\u00e9", "\u20ac"])
def test_a_long_word_is_shortened_between_characters(
    checked_probes: Path, line: str, letter: str
) -> None:
    faults = refuse(checked_probes, line.format("a" + letter * 1000000))
    assert len(faults) < 300
    assert f"found a{letter * 15}" in faults
    assert f"{letter}...; allowed: " in faults


def test_a_missing_plan_and_a_wrong_option_end_with_code_2(probes: Path, tmp_path: Path) -> None:
    missing = run(probes, "check", str(tmp_path / "none"))
    assert missing.returncode == 2
    assert "cannot be read: No such file" in missing.stderr
    wrong = run(probes, "run", "x", "--deadline", "0", "--connect", "phone")
    assert wrong.returncode == 2
    assert "--deadline: found 0; allowed: 0.1 to 86400 s" in wrong.stderr
    assert "--connect: found phone; allowed: manager, hand" in wrong.stderr


@pytest.mark.parametrize(
    ("option", "values", "allowed"),
    [
        ("--gid-index", ("", "256", "-1", "4294967296", "+1", " 1", "1 "), "0 to 255"),
        ("--seed", ("", "-1", "9223372036854775808", "0x1", " 1"), "0 to 2^63 - 1"),
        ("--port", ("", "0", "65536", "84126", "http"), "1 to 65535"),
        ("--deadline", ("", ".", "0x10", " 5", "inf", "nan", "5s", "86401"), "0.1 to 86400 s"),
        ("--device", ("", "0", "256", "257", "1abc", "-1", " 1", "4294967297"), "1 to 255"),
    ],
)
def test_a_number_that_is_none_or_too_great_is_refused(
    checked_probes: Path, option: str, values: tuple[str, ...], allowed: str
) -> None:
    for value in values:
        found, given = value, value
        if option == "--device":
            found, given = f"port '{value}'", f"mlx5_0:{value}"
        done = run(checked_probes, "header", option, given)
        fault = f"{option}: found {found}; allowed: {allowed}\n"
        assert (done.returncode, done.stderr) == (2, fault)


def test_addresses_are_never_cut_short(checked_probes: Path) -> None:
    def bind(addresses: str) -> str:
        done = run(checked_probes, "header", "--bind", addresses)
        assert done.returncode == 2
        return done.stderr

    assert bind("," * 255) == "which port? name it with --bind or --device\n"
    assert bind("," * 256) == "--bind: found 256 characters; allowed: at most 255\n"
    fault = f"{'1' * 20}...: found 64 characters; allowed: at most 63\n"
    assert bind("1" * 64) == fault


@pytest.mark.parametrize("link", [None, "hardlink_to", "symlink_to"])
def test_a_trace_is_never_written_over_its_plan(
    checked_probes: Path, tmp_path: Path, link: str | None
) -> None:
    plan = tmp_path / "plan"
    plan.write_text("reg_mr\n")
    trace = tmp_path / "trace" if link else plan
    if link:
        getattr(trace, link)(plan)
    fault = f"-o {trace}: is the plan; name another file\n"
    words = [checked_probes, "run", "-o", trace, "--device", "none"]
    for name in (plan, "-"):
        with plan.open() as stdin:
            done = subprocess.run([*words, name], stdin=stdin, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (2, fault)
    assert plan.read_text() == "reg_mr\n"


@pytest.mark.parametrize("words", [("list",), ("check", "-"), ("--help",)])
def test_a_full_disk_ends_with_code_2(probes: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [probes, *words], input="reg_mr", stdout=full, stderr=subprocess.PIPE, text=True
        )
    fault = "standard output: cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, fault)


def test_nothing_is_written_where_there_is_no_adapter(probes: Path, tmp_path: Path) -> None:
    plan, trace = tmp_path / "plan", tmp_path / "trace.jsonl"
    plan.write_text("reg_mr\n")
    done = run(probes, "run", str(plan), "--bind", "127.0.0.1", "-o", str(trace))
    assert done.returncode == 2
    assert done.stderr.strip()
    assert not trace.exists()


def test_the_plans_that_come_with_the_probes_can_be_read(root: Path, probes: Path) -> None:
    plans = sorted((root / "calibration" / "plans").glob("*.txt"))
    assert plans
    for plan in plans:
        done = run(probes, "check", str(plan))
        assert (done.returncode, done.stderr) == (0, ""), plan


def test_the_commands_of_the_readme_are_understood(
    root: Path, probes: Path, tmp_path: Path
) -> None:
    text = (root / "calibration" / "probes" / "README.md").read_text()
    words = [shlex.split(line[2:]) for line in text.splitlines() if line.startswith("$ ")]
    measuring = [one[1:] for one in words if one[0] == "hcasim-probes"]
    assert [one[0] for one in measuring] == ["serve", "run"]
    (tmp_path / "probes").mkdir()
    shutil.copytree(root / "calibration" / "plans", tmp_path / "plans")
    named = ["127.0.0.1" if word == "HOST" else word for word in measuring[1]]
    done = subprocess.run([probes, *named], cwd=tmp_path / "probes", capture_output=True, text=True)
    # Here is no adapter, or nobody answers: neither is the fault of the words.
    assert done.returncode in (1, 2)
    assert not any(word in done.stderr for word in ("unknown", "allowed", "usage", "plan"))
