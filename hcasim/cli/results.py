"""What every command does with its result: print it in a form, write it into a file, draw it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import Decorated, options
from hcasim.cli.naming import FILE
from hcasim.cli.output import note, print_lines
from hcasim.cli.outputs import Output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hcasim.pages import Document
    from hcasim.papers.scenario import Scenario
    from hcasim.runs.table import Table

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


def result_options(
    *, forms: Collection[str] = FORMS, folder: str = "", more: str = "", figures: bool = True
) -> Decorated:
    """Return what gives a command the options that say what becomes of its result.

    Parameters:
        forms: those in which it prints.
        folder: what --output writes into a folder, if it names one.
        more: which endings of --output there are beside those of all results.
        figures: the result can be drawn.
    """
    drawn = [click.option("--plot", type=FILE, help="Also draw the result: .png, .svg, .pdf.")]
    return options(
        click.option(
            "-o",
            "--output",
            type=FILE,
            help=folder
            or "Also write the result, in the form that the ending says: .json, .jsonl,"
            f" .csv, .parquet, .md, .tex, .html, .txt{more}{', or a figure' if figures else ''}.",
        ),
        *(drawn if figures else []),
        click.option(
            "--format",
            "form",
            metavar="FORMAT",
            default=TEXT,
            help=f"{', '.join(forms)} (default: {TEXT}).",
        ),
        click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
        click.option("--csv", "as_csv", is_flag=True, help="The same as --format csv."),
    )


@dataclass
class Wanted:
    """What becomes of a result.

    Parameters:
        form: in which it is printed.
        output: file that it is written into, if any.
        plot: file that it is drawn into, if any.
        shorthands: --json and --csv, if they were given.
        forms: those that the command has.
    """

    form: str
    output: Path | None
    plot: Path | None
    shorthands: Sequence[str]
    forms: Collection[str]

    @classmethod
    def take(cls, given: dict[str, Any], forms: Collection[str] = FORMS) -> Wanted:
        """Take from the arguments of a command what `result_options` gave it."""
        shorthands = [one for one in ("json", "csv") if given.pop(f"as_{one}")]
        form = given.pop("form")
        return cls(form, given.pop("output"), given.pop("plot", None), shorthands, forms)

    def faults(self) -> Iterator[str]:
        """Say what is wrong with the forms; the shorthand that was given becomes the form."""
        from hcasim.ground.errors import nearest, one_of

        if len(self.shorthands) > 1:
            yield "--csv: contradicts --json; choose one"
        for one in self.shorthands:
            if self.form not in (TEXT, one, *self.shorthands):
                yield f"--{one}: contradicts --format {self.form}; leave one out"
            self.form = one
        if self.form not in self.forms:
            hint = nearest(self.form, self.forms)
            yield f"format: found {self.form!r}; allowed: {one_of([*self.forms])}{hint}"

    def outputs(self, endings: Sequence[str] = ()) -> list[Output]:
        """Return the files that will be written.

        Parameters:
            endings: of --output; those of any result without them.
        """
        from hcasim.runs.table import ENDINGS, FIGURES

        return [
            Output("--output", self.output, endings or ENDINGS),
            Output("--plot", self.plot, FIGURES),
        ]

    def deliver(
        self,
        found: Table,
        show: Callable[[], None],
        draw: Callable[[], Figure] | None = None,
        special: Mapping[str, Callable[[], str]] = MappingProxyType({}),
    ) -> None:
        """Write, draw and print a result.

        Parameters:
            found: the result.
            show: prints it as text.
            draw: draws it, if not as the result does.
            special: what files and forms hold that others do not have, by ending or form.
        """
        from hcasim.ground.writing import write_atomically
        from hcasim.runs.table import figure

        try:
            if self.output is not None:
                ending = self.output.suffix.lower()
                if ending in special:
                    write_atomically(self.output, special[ending]())
                else:
                    found.save(self.output)
                note(f"Wrote {self.output}")
            if self.plot is not None:
                drawn = found.plot() if draw is None else draw()
                write_atomically(self.plot, figure(drawn, self.plot.suffix.lower()))
                note(f"Wrote {self.plot}")
        finally:
            # What took long to simulate is shown even if a disk is full.
            if self.form == TEXT:
                show()
            else:
                ending = FORMS.get(self.form, self.form)
                text = special[ending]() if ending in special else found.render(ending)
                assert isinstance(text, str)
                if self.form == "json":
                    click.echo(text, nl=False)
                else:
                    print_lines(text)


report_option: Decorated = click.option(
    "--report",
    "page",
    type=FILE,
    help="Write a page of all of it with its figures, .html, or its tables, .md.",
)


def report_output(file: Path | None) -> Output:
    """Return what --report names."""
    from hcasim.pages.writing import ENDINGS

    return Output("--report", file, ENDINGS)


def told(words: Sequence[str]) -> str:
    """Return words of hcasim as a line that can be typed again."""
    from hcasim.ground.text import command_line

    return command_line(["hcasim", *words])


def write_page(document: Document, file: Path) -> None:
    """Write a document in the form that the ending of a file says."""
    from hcasim.ground.writing import write_atomically
    from hcasim.pages.writing import write

    write_atomically(file, write(document, file.suffix))
    note(f"Wrote {file}")


def in_folder(folder: Path, scenario: Scenario, ending: str) -> Path:
    """Return a file of a scenario in a folder of results, such as liu2004-fig03.png."""
    return folder / f"{scenario.id.replace('/', '-')}{ending}"
