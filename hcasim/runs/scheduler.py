"""The workers of a Dask scheduler, on other machines."""

from __future__ import annotations

import json
import pickle
import re
import socket
import sys
import threading
import warnings
from concurrent.futures import CancelledError, Future
from typing import Any
from urllib.parse import urlsplit

from hcasim.ground.errors import CatalogError, words_of
from hcasim.ground.reading import NoSuchFile, read_file
from hcasim.runs.store import code_digest

ANSWER = 5
"""Seconds in which a scheduler has to answer."""
COMING = 5.0
"""Seconds for workers to come before it is said that a scheduler has none."""
ADDRESS = "tcp://HOST:PORT, or the file that `dask scheduler --scheduler-file` writes"
_ALONE = threading.Lock()


class Scheduler:
    """A Dask scheduler with its workers, to which this process connects at the first call.

    Dask decides how many calls are done at a time, and tries one again on other workers if one
    dies. The address is such as "tcp://node1:8786", or the path of the file that it has written.
    """

    workers = sys.maxsize
    ready = True

    def __init__(self, address: str) -> None:
        self._address = address
        self._client: Any = None
        self._executor: Any = None

    def submit(self, *call: Any) -> Future[Any]:
        """Have a worker call a function with arguments; CatalogError if no scheduler is there."""
        if self._client is None:
            self._client = self._connected()
            self._executor = self._client.get_executor(pure=False)
        # Dask takes its time over what it sees inside of.
        future: Future[Any] = self._executor.submit(_called, pickle.dumps(call), code_digest())
        return future

    def explain(self, error: Exception) -> None:
        """Raise what a call ended with in better words, if there are any."""
        if isinstance(error, CancelledError):
            raise CatalogError([f"scheduler {self._address}: the connection was lost"]) from error
        # Dask makes a plain exception of what happens before a call begins.
        words = words_of(error)
        if re.search("ModuleNotFoundError|ImportError", words):
            found = f"found a worker that cannot import hcasim ({words})"
            needed = "allowed: workers that have this version of it"
            raise CatalogError([f"scheduler {self._address}: {found}; {needed}"]) from error

    def end(self) -> None:
        """End the connection; what workers are doing has no reader any more."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def leave(self) -> None:
        """Stay connected for the next points."""

    def _connected(self) -> Any:
        address, at = _found(self._address)
        where = f"scheduler: found {self._address!r}, where no scheduler answers"
        try:
            import distributed as dask
        except ImportError:
            needs = "needs distributed; allowed: pip install 'hcasim[cluster]'"
            raise CatalogError([f"scheduler: {needs}"]) from None
        try:
            # Dask itself would wait for ever for one that says nothing, or something else.
            with socket.create_connection(at, ANSWER) as probe:
                greeting = b""
                while address.startswith("tcp:") and b"pickle-protocol" not in greeting:
                    piece = probe.recv(4096)
                    if not piece:
                        raise OSError
                    greeting += piece
            connect: Any = dask.Client
            client = connect(address, timeout=ANSWER, set_as_default=False)
        except OSError as error:
            why = error.strerror or f"no greeting of Dask within {ANSWER} s"
            raise CatalogError([f"{where}: {why}"]) from None
        try:
            client.wait_for_workers(1, timeout=COMING)
        except dask.TimeoutError:
            warnings.warn(f"scheduler {self._address} has no workers yet; waiting", stacklevel=2)
        return client


def _found(named: str) -> tuple[str, tuple[str, int]]:
    """Return the address of a scheduler, or that in its file, with its host and port."""
    where, address, is_file = f"scheduler: found {named!r}", named, "://" not in named
    try:
        if is_file:
            address = json.loads(read_file(named, else_allowed=ADDRESS))["address"]
        parts = urlsplit(address)
        if parts.scheme in ("tcp", "tls") and parts.hostname and parts.port:
            return address, (parts.hostname, parts.port)
    except NoSuchFile:
        raise CatalogError([f"{where}, which is no file; allowed: {ADDRESS}"]) from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        pass
    unlike = ", which no scheduler has written" if is_file else ""
    raise CatalogError([f"{where}{unlike}; allowed: {ADDRESS}"])


def _called(packed: bytes, digest: str) -> Any:
    if digest != code_digest():
        found = f"a worker on {socket.gethostname()} runs other code, {code_digest()[:8]}"
        raise CatalogError([f"scheduler: {found}; allowed: that of this process, {digest[:8]}"])
    # Threads of a worker would only take turns.
    with _ALONE:
        function, *given = pickle.loads(packed)
        return function(*given)
