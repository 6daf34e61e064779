"""The commands and examples of a document, run in this process as a reader would type them.

A ``console`` block holds commands after ``$`` with, optionally, their output; a ``python`` block
may be followed by a ``text`` block with its output. ``...`` stands for anything. A ``toml`` block
behind the name of a file, as in "This is `study.toml`:", is that file, and so are a ``python`` or
``text`` block behind that of such a file.
"""

import doctest
import os
import re
import runpy
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path

import pytest

from hcasim.cli import main

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`([\w.-]+\.(?:toml|py|txt))`:\n\n\Z")
SETTING = re.compile(r"[A-Z_]+=")
# These fetch or change what a test must leave alone; the tests in packaging/ install for real.
NOT_RUN = ("git", "cd", "pip", "jupyter", ".venv/bin/pip", "pytest")


@dataclass(frozen=True)
class Example:
    """A piece of a document that can be run, and what the document says it prints."""

    place: str
    language: str
    code: str
    expected: str


def examples(document: str) -> Iterator[Example]:
    """Yield what a document has, in its order."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found = list(FENCE.finditer(text))
    for number, block in enumerate(found):
        place = f"{document}:{text.count(chr(10), 0, block.start()) + 1}"
        language, body = block.groups()
        if language == "console":
            for part in re.split(r"^\$ ", body.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield Example(place, language, command, output)
        elif file := FILE.search(text, 0, block.start()):
            yield Example(f"{place} {file[1]}", "file", body, "")
        elif language == "python":
            following = found[number + 1 : number + 2]
            shown = next((one[2] for one in following if one[1] == "text"), "")
            yield Example(place, language, body, shown)


class Reader:
    """Does what a document says, in an empty folder and without further processes.

    Args:
        folder: where it is done; commands build on each other.
        fits: whether fits are made, which take long; otherwise only their help is asked for.
    """

    def __init__(
        self, folder: Path, capture: pytest.CaptureFixture[str], *, fits: bool = False
    ) -> None:
        self._folder, self._capture, self._fits = folder, capture, fits
        self.outputs: dict[str, str] = {}
        """What was printed, by command."""

    def follow(self, document: str) -> None:
        """Run everything, and then complain of all that does not do what the document says."""
        faults = [fault for one in examples(document) if (fault := self._fault(one))]
        assert faults == [], "\n\n".join(faults)

    def _fault(self, example: Example) -> str:
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(self._folder)
                # As many workers would have to start for a few points.
                patch.setattr(os, "cpu_count", lambda: 1)
                # What an example imports lies beside it.
                patch.syspath_prepend(self._folder)
                if example.language == "file":
                    _, _, name = example.place.rpartition(" ")
                    Path(name).write_text(example.code, encoding="utf-8")
                    return ""
                run = self._python if example.language == "python" else self._command
                output = run(example.code)
        except (Exception, SystemExit) as error:  # noqa: BLE001
            told = self._capture.readouterr()
            return f"{example.place}: {example.code}\n{error!r}\n{told.out}{told.err}"
        self.outputs[example.code.strip()] = output
        want, got = _stripped(example.expected), _stripped(output)
        if want.strip() and not doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS):
            return f"{example.place}: {example.code}\nprinted\n{got}"
        return ""

    def _python(self, code: str) -> str:
        file = Path("example.py")
        file.write_text(code, encoding="utf-8")
        self._capture.readouterr()
        runpy.run_path(str(file), run_name="__main__")
        file.unlink()
        return self._capture.readouterr().out

    def _command(self, line: str) -> str:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=">&")
        lexer.whitespace_split = True
        lexer.commenters = ""
        output = ""
        words: list[str] = []
        for word in [*lexer, "&&"]:
            if word != "&&":
                words.append(word)
                continue
            printed = self._program(words)
            if ">" in words:
                Path(words[words.index(">") + 1]).write_text(printed, encoding="utf-8")
            else:
                output += printed
            words = []
        return output

    def _program(self, words: list[str]) -> str:
        words = words[: words.index(">")] if ">" in words else words
        program, *arguments = dropwhile(SETTING.match, words)
        if program in NOT_RUN:
            return ""
        if program == "make":
            # Running it would run this test again.
            command = ["make", "--dry-run", *arguments]
            return subprocess.run(
                command, cwd=ROOT, capture_output=True, check=True, text=True
            ).stdout
        if program == ".ci/run":
            assert os.access(ROOT / program, os.X_OK)
            return ""
        assert program == "hcasim", f"{program} is a program that this test does not know"
        if "calibrate" in arguments and not self._fits:
            arguments.append("--help")
        self._capture.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        told = self._capture.readouterr()
        assert not ended.value.code, f"exit code {ended.value.code}\n{told.out}{told.err}"
        return told.out


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"
