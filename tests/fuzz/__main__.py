"""Fuzz for as long as you like: python -m tests.fuzz [SECONDS [FIRST_SEED]]; also `make fuzz`."""

import random
import sys
import tempfile
import time
import traceback
from functools import partial
from pathlib import Path

from tests.fuzz import pairs
from tests.fuzz.targets import TARGETS, attempt


def main(seconds: float = 60, first: int | None = None) -> int:
    """Try each target for its share of the time, and say what crashed it with which seed."""
    first = random.randrange(10**9) if first is None else first
    tried = crashed = 0
    print(f"first seed {first}")
    tries = {name: partial(attempt, target) for name, target in TARGETS.items()}
    tries["default and exact runs"] = pairs.attempt
    for name, try_one in tries.items():
        end, seed, read = time.monotonic() + seconds / len(tries), first, 0
        while time.monotonic() < end:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    read += try_one(seed, Path(folder))
                # Whatever comes is what is looked for.
                except Exception:  # noqa: BLE001
                    crashed += 1
                    print(f"{name}: crash with seed {seed}")
                    traceback.print_exc(limit=-4)
            seed += 1
        tried += seed - first
        print(
            f"{name}: {seed - first} cases, {read} read, {seed - first - read} refused or crashed"
        )
    print(f"{tried} cases, {crashed} crashes")
    return int(crashed > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
