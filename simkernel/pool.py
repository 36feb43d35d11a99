"""Independent pieces of work over several processes or a Dask cluster, with a journal of what is done.

A piece (`Piece`) can be pickled and has a key that changes when the work would; `work(piece)` is a module's function, and gives an
object of plain values.  `matrix` and `sweep` are made of it.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Protocol, TypeVar

from simkernel.copies import end_with_parent

ENDING_S = 2.0  # for workers that are asked to end


class Piece(Protocol):
    """What is asked."""

    @property
    def key(self) -> str:
        """Its name in a journal."""
        ...


P = TypeVar("P", bound=Piece)
R = TypeVar("R")
Plain = Mapping[str, object]


class NoCluster(Exception):
    """The Dask cluster cannot be used: a sentence for a person."""


class Journal:
    """A file with a line for each piece that is done; a piece that is in it is not asked again."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.done: dict[str, Plain] = {}
        if path is not None and path.exists():
            text = path.read_text(errors="replace")
            if text and not text.endswith("\n"):  # an interrupted run left half a line
                path.write_text(text + "\n")
            for line in text.splitlines():
                try:
                    row = json.loads(line)
                    self.done[row["key"]] = dict(row["outcome"])
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue  # such a half, or no line of ours

    def add(self, key: str, outcome: Plain) -> None:
        """Written at once."""
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps({"key": key, "outcome": outcome}) + "\n")


def run_pieces(
    asked: Sequence[P],
    work: Callable[[P], R],
    plain: Callable[[R], Plain],
    again: Callable[[Plain], R],
    journal: Journal,
    jobs: int = 1,
    dask: str = "",
) -> Iterator[R]:
    """The outcomes, as they come.  `plain` makes one ready for the journal, `again` makes it from there.  NoCluster."""
    rest: list[P] = []
    for piece in asked:
        known = journal.done.get(piece.key)
        outcome = None
        if known is not None:
            try:
                outcome = again(known)
            except (TypeError, KeyError, ValueError):  # of another version of this program
                outcome = None
        if outcome is None:
            rest.append(piece)
        else:
            yield outcome
    for piece, outcome in on_cluster(rest, work, dask) if dask else here(rest, work, jobs):
        journal.add(piece.key, plain(outcome))
        yield outcome


def here(asked: Sequence[P], work: Callable[[P], R], jobs: int) -> Iterator[tuple[P, R]]:
    """In this process, or several of this host."""
    if jobs == 1:
        for piece in asked:
            yield piece, work(piece)
        return
    with ProcessPoolExecutor(jobs, initializer=end_with_parent) as pool:
        futures: dict[Future[R], P] = {pool.submit(work, piece): piece for piece in asked}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise NoCluster("a worker process died: no memory of the host is left?") from None
        except BaseException:  # Ctrl-C, a signal to this process alone: what is under way is of no use any more
            for future in futures:
                future.cancel()
            end_children()  # then the pool's thread ends, and is waited for: at the process's end it would meet closed pipes
            raise


def end_children() -> None:
    """Workers are asked to end, so that they end their own children, and then ended."""
    workers = multiprocessing.active_children()
    for worker in workers:
        worker.terminate()
    until = time.monotonic() + ENDING_S
    for worker in workers:
        worker.join(max(until - time.monotonic(), 0.0))
        worker.kill()


def on_cluster(asked: Sequence[P], work: Callable[[P], R], address: str) -> Iterator[tuple[P, R]]:
    """On a Dask cluster that is there; `local` starts one on this host.  Its workers need simkernel and the files' paths."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise NoCluster("--dask needs the package distributed (pip install simkernel[dask])") from None
    try:
        client = Client(timeout="20s", dashboard_address=None) if address == "local" else Client(address, timeout="20s")
    except (OSError, ValueError) as error:
        raise NoCluster(f"no Dask cluster at {address}: {error}") from None
    with client:
        futures = {client.submit(work, piece, pure=False): piece for piece in asked}
        for future in as_completed(futures):
            yield futures[future], future.result()
