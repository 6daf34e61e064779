"""How far off the model is and whose numbers it rests on: python -m tests.docs.site.accuracy FILE.

Run as a program it predicts each source without what only it determined, and writes what came of
that into a file; a site that is made with a reproduction beside it shows it.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, get_args

from hcasim.ground.writing import write_atomically
from hcasim.papers.plan import Plan, plan_papers
from hcasim.papers.roles import Role
from hcasim.papers.verdict import Verdict, errors_of
from tests.docs.site import bands
from tests.docs.site.free import FreeValue, free_values
from tests.docs.site.kinds import Kind, kinds_of
from tests.docs.site.left_out import LeftOut, leave_out
from tests.docs.site.markdown import code, page, plain, table

LEFT_OUT = "left-out.json"
"""What the program writes, beside the `reproduce.json` that the site is made with."""
REPORT = "HCASIM_REPORT"
"""Variable of the environment with the `reproduce.json` of which the page has numbers."""
SHOWN = 3
"""Claims that are named of those that determined a value."""
KINDS: tuple[Kind, ...] = get_args(Kind)


def pages() -> Iterator[tuple[str, str]]:
    """Yield each page by its name."""
    plans = plan_papers()
    values = free_values(plans)
    report = Path(os.environ.get(REPORT) or os.devnull)
    found = [Verdict.model_validate(one, strict=False) for one in _read(report, "claims")]
    left_out = _read(report.with_name(LEFT_OUT))
    parts = [
        _medians(found, plans, left_out) if found else "",
        _ends(found, plans) if found else "",
        _left_out(left_out) if left_out else "",
        _free(values),
        _parts(values),
        _numbers(found, plans) if found else "",
    ]
    told = (
        "What the model gives beside what was published, by the kind of what was measured; and "
        "the values that no document gives, with who determined each. A value that one source "
        "alone determined may be right for its machine only."
    )
    yield "reference/accuracy", page("Accuracy and free values", told, *parts)


def _read(file: Path, key: str = "") -> Any:
    """Return what a file of JSON holds, or of that what is below a key; nothing of no file."""
    if not file.is_file():
        return []
    read = json.loads(file.read_text(encoding="utf-8"))
    return read[key] if key else read


def _medians(
    found: Sequence[Verdict], plans: Sequence[Plan], left_out: Sequence[Mapping[str, Any]]
) -> str:
    kinds = kinds_of(plans)
    without = {claim["id"]: claim["without"] for one in left_out for claim in one["claims"]}
    rows = []
    for kind in KINDS:
        own = [one for one in found if kinds.get(one.id) == kind]
        sides = [[one for one in own if one.role == role] for role in get_args(Role)]
        if left_out:
            known = (one for one in own if one.id in without)
            sides.append([one.model_copy(update={"error": without[one.id]}) for one in known])
        errors = map(errors_of, sides)
        cells = [f"{_percent(median(one))} of {len(one)}" if one else "" for one in errors]
        rows.append((kind, *cells))
    told = "Median absolute error, and of how many numbers: each once, however often it is stated."
    columns = ("kind", *get_args(Role), *["all, without the source's own values"] * bool(left_out))
    return page("## By kind", told, table(columns, rows))


def _ends(found: Sequence[Verdict], plans: Sequence[Plan]) -> str:
    told = (
        "How many published numbers lie between the ends that are printed with each result, which "
        "is to be nine of ten, and how far these lie apart: the upper over the lower one."
    )
    rows = bands.rows_of(bands.Coverage.of(found), kinds_of(plans))
    return page("## Between the ends", told, table(bands.COLUMNS, rows))


def _numbers(found: Sequence[Verdict], plans: Sequence[Plan]) -> str:
    """Each claim that is no order, those of a source together."""
    kinds = kinds_of(plans)
    sources = {c.id: one.scenario.publication for one in plans for c in one.scenario.claims}
    columns = ("claim", "what", "published", "simulated", "error", "kind", "role")
    parts = []
    for source in sorted({*sources.values()}):
        own = (one for one in found if sources.get(one.id) == source and one.error is not None)
        rows = [
            (code(one.id), *map(plain, (one.statement, *one.texts, kinds[one.id], one.role)))
            for one in sorted(own, key=lambda one: one.id)
        ]
        if rows:
            parts.append(page(f"### {plain(source)}", table(columns, rows)))
    return page("## Each number", *parts)


def _free(values: Sequence[FreeValue]) -> str:
    rows = []
    for kind in dict.fromkeys(one.kind for one in values):
        own = [one for one in values if one.kind == kind]
        determined = [one for one in own if one.sources]
        counts = (
            len(own),
            len(determined),
            sum(bool(one.determined_by) for one in determined),
            sum(bool(one.serves) for one in determined),
            sum(bool(one.serves) for one in own if not one.sources),
        )
        rows.append((kind, *map(str, counts)))
    totals = (sum(int(row[column]) for row in rows) for column in range(1, len(rows[0])))
    columns = (
        "descriptions",
        "free values",
        "fitted or chosen",
        "by one source alone",
        "of these used by one source alone",
        "assumed and used by one source alone",
    )
    return page("## Free values", table(columns, [*rows, ("all", *map(str, totals))]))


def _parts(values: Sequence[FreeValue]) -> str:
    """Each value that one source determined, those of a description together."""
    rows = [
        (
            f"[{code(one.part)}](/reference/models/{one.kind}/{one.part}.md)",
            code(one.parameter.path),
            code(one.parameter.text),
            plain(one.determined_by),
            plain(_few(one.parameter.claims)),
            "itself alone" if one.serves == one.determined_by else f"{len(one.users)} sources",
            str(len(one.claims)),
        )
        for one in values
        if one.determined_by
    ]
    columns = ("model", "value", "", "determined by", "from", "used by", "claims it can touch")
    return page("## Values that one source alone determined", table(columns, rows))


def _left_out(found: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for one in found:
        own, based = one["medians"] or (None, None)
        back = [value for value in one["values"] if value["base"] is not None]
        ratio = f"{based / own:.1f}" if own and based is not None else ""
        errors = ("", "") if own is None else (_percent(own), _percent(based))
        counts = f"{len(back)} of {len(one['values'])}"
        rows.append((plain(one["source"]), str(one["numbers"]), *errors, ratio, counts))
    told = (
        "Each source predicted as if it had measured nothing: the values that it alone determined "
        "are put back to those of what their description is based on. Those without such a base "
        "stay as they are."
    )
    columns = ("source", "numbers", "median error", "without its values", "ratio", "put back")
    return page("## Each source without its own values", told, table(columns, rows))


def _few(claims: Sequence[str]) -> str:
    more = f" and {len(claims) - SHOWN} more" if len(claims) > SHOWN else ""
    return f"{', '.join(claims[:SHOWN])}{more}"


def _percent(error: float) -> str:
    return f"{100 * error:.1f} %"


def document(found: Sequence[LeftOut]) -> list[dict[str, Any]]:
    """Return what leaving out each source gave, for JSON."""
    return [
        {
            "source": one.source,
            "numbers": len(errors_of(one.own)),
            "medians": one.medians,
            "values": [
                {
                    "place": back.value.place,
                    "value": back.value.parameter.text,
                    "base": None if back.base is None else back.base.text,
                    "of": None if back.base is None else back.base.inherited_from,
                }
                for back in one.values
            ],
            "claims": [
                {"id": own.id, "own": own.error, "without": based.error}
                for own, based in zip(one.own, one.based, strict=True)
            ],
        }
        for one in found
    ]


if __name__ == "__main__":
    text = json.dumps(document(leave_out()), indent=1)
    write_atomically(Path(sys.argv[1]), f"{text}\n")
