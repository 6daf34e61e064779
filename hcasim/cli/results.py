"""What every command does with its result: print it in a form, write it into files, draw it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from hcasim.cli.command import Decorated, flag, option, options
from hcasim.cli.naming import FILE
from hcasim.cli.output import note, print_lines, print_result
from hcasim.ground.errors import nearest, one_of, refuse
from hcasim.ground.text import command_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hcasim.pages.document import Document
    from hcasim.papers.scenario import Scenario
    from hcasim.runs.table import Table

_NONE: Mapping[str, Any] = MappingProxyType({})
TEXT = "text"
FORMS = {
    TEXT: ".txt",
    "json": ".json",
    "jsonl": ".jsonl",
    "csv": ".csv",
    "markdown": ".md",
    "latex": ".tex",
    "html": ".html",
}
"""Forms in which a result is printed, and the endings of files in these forms."""
_FILE = (
    "Also write the result, in the form that the ending says: .json, .jsonl, .csv, .parquet, .md,"
    " .tex, .html, .txt{}"
)


def result_options(
    *, forms: Collection[str] = FORMS, folder: str = "", more: str = "", plot: bool = True
) -> Decorated:
    """Give a command the options that say what becomes of its result, which it prints in `forms`.

    `folder` is the help of an --output that may name one, `more` says endings beside the usual.
    """
    drawn = option("--plot", "Also draw the result: .png, .svg, .pdf.", type=FILE)
    return options(
        option(
            "-o --output",
            folder or _FILE.format(f"{more}, or a figure." if plot else f"{more}."),
            type=FILE,
        ),
        *([drawn] if plot else []),
        option("--format form FORMAT", f"{', '.join(forms)} (default: {TEXT}).", default=TEXT),
        flag("--json as_json", "The same as --format json."),
        flag("--csv as_csv", "The same as --format csv."),
    )


report_option = option(
    "--report page",
    "Write a page of all of it with its figures, .html.",
    type=FILE,
)


class Output(NamedTuple):
    """A file that an option names, if it does; without endings any is allowed, as of a device."""

    option: str
    file: Path | None
    endings: Collection[str] = ()


def output_faults(outputs: Iterable[Output]) -> Iterator[str]:
    """Say why files cannot be written; from here on the command refuses to read them, too."""
    from hcasim.ground.opened import output_fault
    from hcasim.ground.writing import is_device, writing_fault

    for named, file, endings in outputs:
        if file is None:
            continue
        device = is_device(file)
        if not device and (same := output_fault(file, f"{named} {file}")):
            yield same
            continue
        ending = file.name.lower()
        if endings and not device and (ending in endings or not ending.endswith((*endings,))):
            yield f"{named}: found {str(file)!r}; allowed endings: {one_of([*endings])}"
        if fault := writing_fault(file):
            yield f"{named} {fault}"


class Wanted:
    """What becomes of a result: its form, and files for it, its figure and its report, if any.

    It takes what `result_options` and `report_option` gave out of the arguments of a command. With
    `folder` an output with an ending of no result is one.
    """

    def __init__(
        self, given: dict[str, Any], forms: Collection[str] = FORMS, *, folder: bool = False
    ) -> None:
        self.form: str = given.pop("form")
        self.output, self.plot, self.page = (
            given.pop(name, None) for name in ("output", "plot", "page")
        )
        short = [one for one in ("json", "csv") if given.pop(f"as_{one}")]
        self._faults = ["--csv: contradicts --json; choose one"] if len(short) > 1 else []
        if short and self.form not in (TEXT, *short):
            self._faults.append(f"--{short[0]}: contradicts --format {self.form}; leave one out")
        self.form = short[0] if short else self.form
        self._forms = forms
        if self.form not in forms:
            allowed = f"{one_of([*forms])}{nearest(self.form, forms)}"
            self._faults.append(f"format: found {self.form!r}; allowed: {allowed}")
        self.folder: Path | None = None
        if folder and self.output is not None:
            from hcasim.runs.table import ENDINGS

            if self.output.suffix.lower() not in ENDINGS:
                self.folder, self.output = self.output, None

    def faults(
        self, *more: Output, endings: Sequence[str] = (), extra: Mapping[str, bool] = _NONE
    ) -> list[str]:
        """Say what is wrong with the form and the files, of other options, too.

        `extra` says whether options were given whose answer only text and JSON hold.
        """
        from hcasim.runs.table import ENDINGS, FIGURES

        found = [*self._faults]
        if self.form in self._forms and self.form not in (TEXT, "json"):
            told = f"found with format {self.form}; allowed: text or json"
            found += [f"{name}: {told}" for name, there in extra.items() if there]
        own = [
            Output("--output", self.output, endings or ENDINGS),
            Output("--plot", self.plot, FIGURES),
        ]
        if self.page is not None:
            own.append(Output("--report", self.page, [".html", ".htm"]))
        return [*found, *output_faults((*more, *own))]

    def prepare_folder(
        self, scenarios: Iterable[Scenario], endings: Sequence[str], *more: str
    ) -> None:
        """Refuse a folder that cannot have its files; it is made when there is a result.

        Each scenario has a file of each of the endings, and there may be more by their names.
        """
        from hcasim.ground.reading import leads_to
        from hcasim.ground.writing import make_folder

        if self.folder is not None:
            new = [one for one in (self.folder, *self.folder.parents) if not leads_to(one)]
            make_folder(self.folder)
            files = [in_folder(self.folder, one, ending) for one in scenarios for ending in endings]
            files += [self.folder / name for name in more]
            try:
                refuse(*output_faults(Output("--output", file) for file in files))
            finally:
                for one in new:
                    with suppress(OSError):
                        one.rmdir()

    def deliver(
        self,
        found: Table,
        show: Callable[[], None] | None = None,
        *,
        write: Callable[[Path], None] | None = None,
        document: Callable[[], Document] | None = None,
        draw: Callable[[], Figure] | None = None,
        special: Mapping[str, Callable[[], str]] = _NONE,
    ) -> None:
        """Write, draw and print a result.

        It is shown, written into a folder and drawn in a way of its own, if one is given; `special`
        has what files and forms of this command alone hold, by ending or form.
        """
        from hcasim.ground.writing import make_folder, write_atomically
        from hcasim.runs.table import figure

        try:
            if self.folder is not None and write is not None:
                make_folder(self.folder)
                write(self.folder)
            if self.output is not None:
                ending = self.output.suffix.lower()
                if ending in special:
                    write_atomically(self.output, special[ending]())
                else:
                    found.save(self.output)
                note(f"Wrote {self.output}")
            if self.plot is not None:
                drawn = (draw or found.plot)()
                write_atomically(self.plot, figure(drawn, self.plot.suffix.lower()))
                note(f"Wrote {self.plot}")
            if self.page is not None and document is not None:
                from hcasim.pages.writing import write as as_page

                write_atomically(self.page, as_page(document()))
                note(f"Wrote {self.page}")
        finally:
            # What took long to simulate is shown even if a disk is full.
            ending = FORMS.get(self.form, self.form)
            if ending in special:
                print_lines(special[ending]())
            elif self.form != TEXT:
                print_lines(str(found.render(ending)))
            elif show is not None:
                show()
            else:
                print_result(found)


def told(words: Iterable[str]) -> str:
    """Return words of hcasim as a line that can be typed again."""
    return command_line(["hcasim", *words])


def in_folder(folder: Path, scenario: Scenario, ending: str) -> Path:
    """Return a file of a scenario in a folder of results, such as liu2004-fig03.png."""
    return folder / f"{scenario.id.replace('/', '-')}{ending}"
