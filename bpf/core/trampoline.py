"""BPF trampolines: what runs before, after and instead of a function.  kernel/bpf/trampoline.c.

The function is the kernel's (simkernel/observe/trampoline.py) or another program's (attach_prog.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from arch.abi.errno import E2BIG, EBUSY
from arch.errors import KernelError
from bpf.face import Prog

BPF_MAX_TRAMP_LINKS = 38
FENTRY, FEXIT, MODIFY_RETURN = "fentry", "fexit", "fmod_ret"
P = TypeVar("P", bound=Prog)

# (program, values, cookie, address of the function, how many of the values are no arguments) -> R0
RunProgram = Callable[[P, tuple[int, ...], int, int, int], int]


class Chain(Generic[P]):
    """struct bpf_tramp_links of one function: the programs of each kind, in the order they came."""

    def __init__(self) -> None:
        self.links: dict[str, list[tuple[P, int]]] = {FENTRY: [], MODIFY_RETURN: [], FEXIT: []}
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
        self.links[kind].append((prog, cookie))

    def replace(self, prog: P) -> None:
        """The same for an extension: EBUSY where anything is attached."""
        if self:
            raise KernelError(EBUSY, "programs are attached to the function")
        self.extension = prog

    def remove(self, kind: str, prog: P) -> None:
        """bpf_trampoline_unlink_prog()."""
        self.links[kind] = [row for row in self.links[kind] if row[0] is not prog]

    def call(
        self, run: RunProgram[P], arguments: Sequence[int], entry: int, body: Callable[[], int] | None
    ) -> int | None:
        """The whole trampoline around `body`; without one only what comes before it: None if the function is to run."""
        args = tuple(arguments)
        for prog, cookie in self.links[FENTRY]:
            run(prog, args, cookie, entry, 0)
        value = 0
        for prog, cookie in self.links[MODIFY_RETURN]:
            value = run(prog, (*args, value), cookie, entry, 1)
            if value:
                break
        if not value:
            if body is None:
                return None
            value = body()
        self.after(run, args, entry, value)
        return value

    def after(self, run: RunProgram[P], args: tuple[int, ...], entry: int, value: int) -> None:
        """The fexit programs."""
        for prog, cookie in self.links[FEXIT]:
            run(prog, (*args, value), cookie, entry, 1)
