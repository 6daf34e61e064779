"""Workers on other machines: those of a Dask scheduler."""

from __future__ import annotations

import json
import pickle
import re
import socket
import threading
import warnings
from concurrent.futures import CancelledError, Future
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hcasim.ground.errors import CatalogError, words_of
from hcasim.ground.reading import NoSuchFile, read_file
from hcasim.runs.place import Task, WorkerDied, simulate
from hcasim.runs.store import code_digest

if TYPE_CHECKING:
    from hcasim.workloads import Result

ANSWER = 5
"""Seconds in which a scheduler has to answer."""
COMING = 5.0
"""Time in s for workers to come before it is said that there are none."""
_LONGEST_GREETING = 65536
"""Bytes of what a scheduler says first; some hundred are usual."""
ADDRESS = "tcp://HOST:PORT, or the file that `dask scheduler --scheduler-file` writes"
"""What names one."""


class Scheduler:
    """A Dask scheduler, to which this process connects when it has points to simulate.

    Parameters:
        address: such as "tcp://node1:8786", or the path of the file that it has written.
    """

    workers: int | None = None
    ready = True

    def __init__(self, address: str) -> None:
        self.address = address
        self._client: Any = None
        self._pool: Any = None

    def begin(self) -> None:
        """Connect, and compare the workers' code with ours.

        Raises:
            CatalogError: nobody answers, or the workers have other code.
        """
        if self._client is not None:
            return
        self._client = self._connected()
        self._pool = self._client.get_executor(pure=False)
        # A worker that died may be coming back.
        end = monotonic() + COMING
        while not self._has_workers():
            if monotonic() > end:
                warnings.warn(f"scheduler {self.address} has no workers yet; waiting", stacklevel=2)
                break
            sleep(0.1)
        try:
            found = self._client.run(_digest)
        except Exception as error:  # noqa: BLE001
            raise self._told(error) from None
        ours = code_digest()
        faults = [_other_code(f"worker {one}", code) for one, code in found.items() if code != ours]
        if faults:
            raise CatalogError(faults)

    def _has_workers(self) -> bool:
        """Whether it has any now.

        Raises:
            CatalogError: it does not say so in time.
        """
        client = self._client
        try:
            found = client.sync(client.scheduler.identity, callback_timeout=ANSWER)
        except TimeoutError:
            raise CatalogError(
                [f"scheduler: found {self.address!r}, which has fallen silent for {ANSWER} s"]
            ) from None
        return bool(found["workers"])

    def submit(self, task: Task, profile: bool) -> Future[list[Result]]:
        """Have points simulated; Dask tries it again on other workers if one dies."""
        # Dask takes its time over what it sees inside of.
        packed = pickle.dumps([point.bare() for point in task])
        future: Future[list[Result]] = self._pool.submit(_simulate, packed, profile, code_digest())
        return future

    def explain(self, error: Exception, task: Task) -> Exception:
        """Return what to raise of what a task ended with."""
        if isinstance(error, CancelledError):
            return CatalogError([f"scheduler {self.address}: the connection was lost"])
        if type(error).__name__ == "KilledWorker":
            return WorkerDied(task)
        return self._told(error)

    def _told(self, error: Exception) -> Exception:
        """Return what to raise of what a worker has raised."""
        # Dask makes a plain exception of what happens before a call begins.
        words = words_of(error)
        if not re.search("ModuleNotFoundError|ImportError", words):
            return error
        found = f"found a worker that cannot import hcasim ({words})"
        needed = "allowed: workers that have this version of it"
        return CatalogError([f"scheduler {self.address}: {found}; {needed}"])

    def end(self) -> None:
        """Let go of all points; those that workers are simulating have no reader any more."""
        self.close()

    def leave(self) -> None:
        """Stay connected for the next points."""

    def close(self) -> None:
        """End the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connected(self) -> Any:
        address = self.address if "://" in self.address else _written(self.address)
        where = f"scheduler: found {self.address!r}"
        parts = urlsplit(address)
        try:
            at = (parts.hostname or "", parts.port or 0)
        except ValueError:
            at = ("", 0)
        if parts.scheme not in ("tcp", "tls") or not all(at):
            raise CatalogError([f"{where}; allowed: {ADDRESS}"])
        try:
            from distributed import Client
        except ImportError:
            needs = "needs distributed; allowed: pip install 'hcasim[cluster]'"
            raise CatalogError([f"scheduler: {needs}"]) from None
        try:
            # Dask itself says less of what is wrong, and later or never.
            with socket.create_connection(at, ANSWER) as probe:
                if parts.scheme == "tcp" and not _greets(probe):
                    raise CatalogError(
                        [f"{where}, where another server answers; allowed: {ADDRESS}"]
                    )
            connect: Any = Client
            client = connect(address, timeout=ANSWER, set_as_default=False)
        except OSError as error:
            why = error.strerror or f"no greeting within {ANSWER} s"
            raise CatalogError([f"{where}, where no scheduler answers: {why}"]) from None
        return client


def _greets(probe: socket.socket) -> bool:
    """Whether a server greets as Dask does: with a length, and so many bytes of how it packs.

    Raises:
        TimeoutError: it has not done so in time.
    """
    end = monotonic() + ANSWER
    found, wanted = b"", 8
    while len(found) < wanted:
        probe.settimeout(max(0.001, end - monotonic()))
        piece = probe.recv(wanted - len(found))
        if not piece:
            return False
        found += piece
        if len(found) == 8:
            wanted += int.from_bytes(found, "little")
        if wanted > _LONGEST_GREETING:
            return False
    return b"pickle-protocol" in found


def _written(file: str) -> str:
    """Return the address in a file that a scheduler has written."""
    where = f"scheduler: found {file!r}"
    try:
        written = json.loads(read_file(file, else_allowed=ADDRESS))
    except NoSuchFile:
        raise CatalogError([f"{where}, which is no file; allowed: {ADDRESS}"]) from None
    except (ValueError, RecursionError):
        written = None
    address = written.get("address") if isinstance(written, dict) else None
    if not isinstance(address, str):
        raise CatalogError([f"{where}, which no scheduler has written; allowed: {ADDRESS}"])
    return address


_ALONE = threading.Lock()


def _digest() -> str:
    return code_digest()


def _other_code(worker: str, digest: str) -> str:
    ours = f"that of this process, {code_digest()[:8]}"
    return f"scheduler: {worker} runs other code, {digest[:8]}; allowed: {ours}"


def _simulate(packed: bytes, profile: bool, digest: str) -> list[Result]:
    if digest != code_digest():
        # It has come later than the others.
        ours = f"that of the command, {digest[:8]}"
        raise CatalogError([f"scheduler: a worker runs other code; allowed: {ours}"])
    # Threads of a worker would only take turns.
    with _ALONE:
        return simulate(pickle.loads(packed), profile)
