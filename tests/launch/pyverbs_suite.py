"""Run rdma-core's own tests of pyverbs, and write what came of each; a program to be launched.

Arguments: the folder of the tests, the device, the file to write, and names of some tests.
"""

import json
import random
import socket
import sys
import traceback
import unittest
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any


class Outcomes(unittest.TestResult):
    """What came of each test: "ok", "skipped" or "failed", and why."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.outcomes: dict[str, tuple[str, str]] = {}

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        random.seed(test.id())
        self._keep(test, "crashed", "it has not ended")

    def _keep(self, test: unittest.TestCase, outcome: str, why: str) -> None:
        self.outcomes[test.id().removeprefix("tests.")] = outcome, why
        self.path.write_text(json.dumps(self.outcomes))

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._keep(test, "ok", "")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._keep(test, "skipped", reason)

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        self._keep(test, "failed", "".join(traceback.format_exception(*err)))

    addFailure = addError


def main() -> None:
    folder, device, path, *names = sys.argv[1:]
    sys.path.insert(0, folder)
    sys.argv[1:] = ["--dev", device]
    import_module("args_parser").parser.parse_args()
    suite = SourceFileLoader("tests", f"{folder}/__init__.py").load_module()
    base: Any = sys.modules["tests.base"]

    def found(self: Any, dev: str, port: int, index: int) -> None:
        # They ask the system's files, which know nothing of simulated networks.
        address = socket.gethostbyname(socket.gethostname())
        self.args.append([dev, port, index, address, "02:00:00:00:00:01"])

    base.RDMATestCase._get_ip_mac = found
    loader = unittest.TestLoader()
    if names:
        tests = loader.loadTestsFromNames(names, suite)
    else:
        tests = loader.loadTestsFromModule(suite)
    tests.run(Outcomes(Path(path)))


if __name__ == "__main__":
    main()
