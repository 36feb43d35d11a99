"""BPF trampolines: what runs before, after and instead of a function.  kernel/bpf/trampoline.c.

The function is the kernel's (simkernel/observe/trampoline.py) or another program's (attach_prog.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from arch.abi.errno import E2BIG, EBUSY
from arch.errors import KernelError
from bpf.face import Prog

BPF_MAX_TRAMP_LINKS = 38
FENTRY, FEXIT, MODIFY_RETURN, FSESSION = "fentry", "fexit", "fmod_ret", "fsession"
P = TypeVar("P", bound=Prog)
R = TypeVar("R", bound=Prog, contravariant=True)


class Runs(Protocol[R]):
    """Who runs the programs."""

    def run_args(self, prog: R, args: tuple[int, ...], cookie: int, entry_ip: int, extra: int) -> int:
        """R0; `entry_ip`: the function's address, `extra`: how many of the values are no arguments."""

    def run_session(
        self, prog: R, args: tuple[int, ...], cookie: int, entry_ip: int, word: int, is_return: bool
    ) -> int:
        """One of a session; what it leaves in the call's word."""


class Chain(Generic[P]):
    """struct bpf_tramp_links of one function: the programs of each kind, the newest first."""

    def __init__(self) -> None:
        self.links: dict[str, list[tuple[P, int]]] = {FENTRY: [], FSESSION: [], MODIFY_RETURN: [], FEXIT: []}
        self.extension: P | None = None  # runs instead of the function: freplace

    def __bool__(self) -> bool:
        return self.extension is not None or any(self.links.values())

    def add(self, kind: str, prog: P, cookie: int) -> None:
        """__bpf_trampoline_link_prog().  E2BIG; EBUSY: it is linked, or the function is replaced."""
        if self.extension is not None:
            raise KernelError(EBUSY, "the function is replaced")
        if sum(len(links) for links in self.links.values()) >= BPF_MAX_TRAMP_LINKS:
            raise KernelError(E2BIG, "the function has as many programs as there can be")
        if any(known is prog for known, _ in self.links[kind]):
            raise KernelError(EBUSY, "the program is attached there")
        self.links[kind].insert(0, (prog, cookie))

    def replace(self, prog: P) -> None:
        """The same for an extension: EBUSY where anything is attached."""
        if self:
            raise KernelError(EBUSY, "programs are attached to the function")
        self.extension = prog

    def remove(self, kind: str, prog: P) -> None:
        """bpf_trampoline_unlink_prog()."""
        self.links[kind] = [row for row in self.links[kind] if row[0] is not prog]

    def call(self, runs: Runs[P], arguments: Sequence[int], entry: int, body: Callable[[], int] | None) -> int | None:
        """The whole trampoline around `body`; without one only what comes before it: None if the function is to run.

        Sessions only around a body: who has none keeps their words himself.
        """
        args = tuple(arguments)
        for prog, cookie in self.links[FENTRY]:
            runs.run_args(prog, args, cookie, entry, 0)
        words = self.begin_sessions(runs, args, entry) if body is not None else []
        value = 0
        for prog, cookie in self.links[MODIFY_RETURN]:
            value = runs.run_args(prog, (*args, value), cookie, entry, 1)
            if value:
                break
        if not value:
            if body is None:
                return None
            value = body()
        self.after(runs, args, entry, value)
        self.end_sessions(runs, args, entry, value, words)
        return value

    def after(self, runs: Runs[P], args: tuple[int, ...], entry: int, value: int) -> None:
        """The fexit programs."""
        for prog, cookie in self.links[FEXIT]:
            runs.run_args(prog, (*args, value), cookie, entry, 1)

    def begin_sessions(self, runs: Runs[P], args: tuple[int, ...], entry: int) -> list[tuple[P, int, int]]:
        """At the entry, where the result is 0 as yet: (program, cookie, word of this call) of each."""
        return [
            (prog, cookie, runs.run_session(prog, (*args, 0), cookie, entry, 0, False))
            for prog, cookie in self.links[FSESSION]
        ]

    def end_sessions(
        self, runs: Runs[P], args: tuple[int, ...], entry: int, value: int, words: Iterable[tuple[P, int, int]]
    ) -> None:
        """At the exit."""
        for prog, cookie, word in words:
            runs.run_session(prog, (*args, value), cookie, entry, word, True)
