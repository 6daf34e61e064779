"""Every model with where its values come from, and every scenario with what its paper states."""

from collections import Counter
from collections.abc import Iterator, Mapping

from hcasim.catalog import MODELS, list_ids, load
from hcasim.papers.claim import Claim
from hcasim.papers.loader import list_papers, list_scenarios, load_context, load_scenario
from hcasim.papers.plan import Line, plan_papers
from hcasim.papers.roles import Standing, standings
from hcasim.papers.scenario import Scenario
from hcasim.workloads.options import AXES
from tests.docs.site.covered import Read, Sentence, lines_of, read_by, read_sentences
from tests.docs.site.evidence import counts
from tests.docs.site.markdown import beside, code, contents, page, plain, prose, table

_COLUMNS = ("claim", "what is stated", "published", "role", "the sentence covers", "tested")
_SHOWN = 3
"""Values of x that are listed where all are read."""


def pages() -> Iterator[tuple[str, str]]:
    """Yield each page by its name."""
    yield from _models()
    scenarios = [load_scenario(name) for name in list_scenarios()]
    plans = list(plan_papers(scenarios))
    standing = standings(plans)
    curves, sentences = lines_of(plans), read_sentences()
    for paper in list_papers():
        parts = [
            _scenario(one, standing, curves, sentences) for one in scenarios if one.paper == paper
        ]
        if context := load_context(paper):
            rows = [(code(one.id), plain(one.statement), plain(one.reason)) for one in context]
            lines = table(("statement", "what is stated", "why it is not replayed"), rows)
            parts.append(page("## Not replayed", lines))
        yield f"reference/scenarios/{paper}", page(paper, *parts)
    told = "The published experiments that are replayed, each with what its authors state."
    index = page("Scenarios and claims", told, contents(list_papers()))
    yield "reference/scenarios/index", index
    missed = _missed(scenarios)
    yield (
        "included/validity",
        page(
            *("## In numbers", counts(scenarios, standing, on_site=True)),
            *("## What is missed", missed, "## Causes that sentences name", _causes(scenarios)),
        ),
    )


def _causes(scenarios: list[Scenario]) -> str:
    """The sentences of the four papers that name a cause, and what becomes of it."""
    claims = {one.id: one for own in scenarios for one in own.claims}
    rows, kinds = [], Counter[str]()
    for one in read_sentences().values():
        if not one.cause:
            continue
        kind, _, why = one.cause.partition(": ")
        tested = kind
        if claim := claims.get(kind):
            kind, tested = "refuted" if claim.deviation else "holds", code(claim.id)
            told = f"deviates: {claim.deviation.reason}" if claim.deviation else "holds"
            why = f"{claim.statement}: {told}"
        kinds[kind] += 1
        rows.append((code(one.id), tested, plain(why)))
    told = (
        f"{len(rows)} sentences name a cause. Taken away by a claim it holds in {kinds['holds']}, "
        f"in {kinds['itself']} the claim of the sentence itself compares with and without, "
        f"{kinds['refuted']} the model does not show, {kinds['untested']} are not tested."
    )
    return f"{told}\n\n" + table(("sentence", "tested by", "what comes out"), rows)


def _models() -> Iterator[tuple[str, str]]:
    for kind in MODELS:
        listed = []
        for name in list_ids(kind):
            found = load(name, kind)
            evidence = Counter(one.evidence for one in found.parameters)
            parts = ", ".join(f"{count} {word}" for word, count in evidence.most_common())
            rows = []
            for one in found.parameters:
                origin = f"from {code(one.inherited_from)}: " if one.inherited_from else ""
                source = origin + plain(one.source)
                rows.append((code(one.path), code(one.text), one.evidence, source))
            text = page(
                name,
                f"[{kind.title()}](index.md): {plain(found.model.title)}.",
                prose(str(getattr(found.model, "notes", ""))),
                f"{len(rows)} values: {parts}.",
                table(("path", "value", "evidence", "source"), rows),
            )
            yield f"reference/models/{kind}/{name}", beside(text)
            listed.append((f"[{code(name)}]({name}.md)", plain(found.model.title)))
        index = page(kind.title(), table(("id", "what it is"), listed))
        yield f"reference/models/{kind}/index", index
    told = (
        "Each piece of hardware and software has one file, and each value in it says where it "
        "comes from: `spec`, `datasheet`, `driver`, `fitted`, `chosen` or `assumed`, as "
        "[the evidence](/contributing.md) is. `hcasim show ID` prints the same."
    )
    names = [f"{kind}/index" for kind in MODELS]
    yield "reference/models/index", page("Models", told, contents(names))


def _scenario(
    scenario: Scenario,
    standing: Mapping[str, Standing],
    lines: Mapping[str, Line],
    sentences: Mapping[str, Sentence],
) -> str:
    axis = scenario.options.axis
    points = ", ".join(map(axis.label, scenario.options.points or ()))
    machines = dict.fromkeys(
        f"{_linked('testbeds', scenario.testbed_of(key))} with {_linked('adapters', one.adapter)}"
        for key, one in scenario.series.items()
    )
    place = filter(None, (scenario.place, scenario.source))
    rows = [
        (*_claim(one, standing[one.id]), _covered(sentences.get(one.id)), _tested(scenario, read))
        for one in scenario.claims
        for read in [read_by(scenario, one, lines)]
    ]
    missed = [
        f"- {code(one.id)}: {plain(one.deviation.reason)}; {plain(one.deviation.mechanism)}"
        for one in scenario.claims
        if one.deviation
    ]
    return page(
        f"## {scenario.id.partition('/')[2]}",
        f"{plain(scenario.title)} ({plain(', '.join(place))}, section {plain(scenario.section)}). "
        f"{code(scenario.workload)} on {'; '.join(machines)}. "
        f"{plain(scenario.axes.y)} over {code(axis.name)}"
        + (f": {plain(points)}." if points else "."),
        f"Series: {', '.join(plain(one.label) for one in scenario.series.values())}.",
        table(_COLUMNS, rows) if rows else "",
        "\n".join(missed),
    )


def _covered(sentence: Sentence | None) -> str:
    """What a sentence is about; nothing of what is no sentence of the four papers."""
    if sentence is None:
        return ""
    sizes = " to ".join(
        AXES["size"].label(int(one)) if one.isdigit() else one for one in sentence.sizes.split("..")
    )
    return plain("; ".join(filter(None, (sentence.series, f"sizes: {sizes.strip()}"))))


def _tested(scenario: Scenario, read: Read) -> str:
    label = scenario.options.axis.label
    every = "all" if len(read.x) > _SHOWN and {*read.every} <= {*read.x} else ""
    return plain(f"{', '.join(read.series)}; {every or ', '.join(map(label, read.x))}")


def _linked(kind: str, name: str) -> str:
    return f"[{code(name)}](/reference/models/{kind}/{name}.md)"


def _claim(claim: Claim, standing: Standing) -> tuple[str, ...]:
    published: object = claim.published
    if isinstance(published, tuple):
        published = f"{published[0]:g} to {published[1]:g}"
    elif isinstance(published, float):
        sign = {"=": "", "~": "~ "}.get(claim.relation, f"{claim.relation} ")
        published = f"{sign}{published:g}"
    role = standing.label
    if claim.deviation is not None:
        role += f", missed by {100 * claim.deviation.error:+.0f} %"
    stated = f"{plain(claim.statement)} ({plain(claim.system)})"
    return code(claim.id), stated, plain(f"{published} {claim.unit}"), role


def _missed(scenarios: list[Scenario]) -> str:
    """Each deviation once, with the claims that share its reason."""
    found: dict[str, list[str]] = {}
    for claim in (claim for one in scenarios for claim in one.claims):
        if claim.deviation:
            why = f"{plain(claim.deviation.reason)}; {plain(claim.deviation.mechanism)}"
            error = f"{code(claim.id)} ({100 * claim.deviation.error:+.0f} %)"
            found.setdefault(why, []).append(error)
    rows = ((", ".join(claims), why) for why, claims in found.items())
    return table(("claims", "what is missed, and the likely mechanism"), rows)
