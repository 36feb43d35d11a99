"""Stack frames as a real kernel of this CPU and version has them, where its compiler cut functions otherwise than ours.

The machine walks its own frames.  A wrapper of a system call that jumped to its body shows under the body's name, and
some functions always stand above another's calls; both are facts of the CPU (arch/tracefacts.py).  Functions that are on a real
kernel's stack only get a place in the text, so that they have a name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import CodeType, FrameType, FunctionType
from typing import NamedTuple

from simkernel.kernel.kfunc import KERNEL_FUNCTIONS, Prototype
from simkernel.observe.declared import VOID, do_nothing
from simkernel.observe.face import WatchedKernel

FRAME_OFFSET = 0x18  # where a frame's function goes on: somewhere behind its first instruction


class Body(NamedTuple):
    """A kernel function's, in Python, and what it closes over."""

    name: str
    closure: tuple[tuple[str, object], ...]

    def holds(self, frame: FrameType) -> bool:
        """Is it this one that runs there?"""
        return all(frame.f_locals.get(name) is value for name, value in self.closure)


def body_of(name: str, function: object) -> Body:
    """With the values of its free variables."""
    assert isinstance(function, FunctionType)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return Body(name, tuple(zip(function.__code__.co_freevars, cells)))


class Frames:
    """Names and addresses of one machine's frames."""

    def __init__(self, k: WatchedKernel) -> None:
        self.k = k
        facts = k.arch.traces
        jumps = facts.jumps(k.version)
        self.bodies = facts.sys_bodies if jumps else frozenset()
        self.inside = facts.inside
        recorded = facts.recorded(k.version)
        self.callers = facts.callers if recorded else {}
        self.inlined = facts.inlined if recorded else frozenset()
        self.prefix = k.abi.wrapper_prefix
        self._places: dict[str, int] = {}
        self._bodies: dict[CodeType, list[Body]] | None = None
        self._shown: dict[tuple[str, int], tuple[int, ...]] = {}

    def place(self, name: str) -> int:
        """An address in a function, given its name; a number is an address that has no name."""
        found = self._places.get(name)
        if found is None:
            found = self._places[name] = int(name, 16) if name.startswith("0x") else self._inside(self._function(name))
        return found

    def _inside(self, function: int) -> int:
        """Behind a function's first instructions, but still in it: pieces of the entry code are short."""
        symbol = self.k.symbols.find(function)
        return function + min(FRAME_OFFSET, symbol.size - 1) if symbol else function

    def _function(self, name: str) -> int:
        known = self.k.symbols.address(name)
        return known if known is not None else self.k.text.add_late(Prototype(name, name, VOID, ()), do_nothing)

    def running(self, function: int) -> list[int]:
        """Functions that run inside the machine's function at an address because nobody probes them, innermost first.

        They are calls between bodies in Python, so it is Python's stack that knows them.
        """
        if self._bodies is None:
            symbols = self.k.text.symbol_of
            known = (f for f in KERNEL_FUNCTIONS if f.name in symbols and f.name not in self.inlined)
            self._bodies = {}
            for f in known:
                self._bodies.setdefault(f.body.__code__, []).append(body_of(symbols[f.name], f.body))
        running: list[set[str]] = []  # the names that each may have: several functions can have one body
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != "<enter>":
            bodies = self._bodies.get(frame.f_code)
            if bodies is not None:
                running.append({body.name for body in bodies if len(bodies) == 1 or body.holds(frame)})
            frame = frame.f_back
        outer = self.k.symbols.lookup(function)
        if running and outer is not None and outer[0] in running[-1]:
            running.pop()
        return [self.place(next(iter(names))) for names in running if len(names) == 1]

    def shown(self, chain: Iterable[int], called: int) -> list[int]:
        """What a walk found, as it is on a real stack; `called`: the innermost function has called the one there, if any."""
        out: list[int] = []
        callee = self.name(called)
        for index, address in enumerate(chain):
            found = self.between(callee, address)
            out += found if index or called else found[-1:]
            callee = self.name(address)
        return out

    def fired(self, point: str, address: int) -> list[int]:
        """Where a tracepoint fires on a real stack that fires here in the function of an address."""
        name = self.name(address)
        for caller in (name, "*"):
            chain = self.callers.get((f"@{point}", caller))
            if chain is not None:
                own = self._alone(name, address)[-1:]
                return [frame for other in chain for frame in ((self.place(other),) if other else own)]
        return list(self.between("", address)[-1:])

    def between(self, callee: str, address: int) -> tuple[int, ...]:
        """What stands on a real stack for a return address of that function's."""
        found = self._shown.get((callee, address))
        if found is None:
            found = self._shown[callee, address] = self._look(callee, address)
        return found

    def name(self, address: int) -> str:
        """Of the function that an address is in; empty for none."""
        symbol = self.k.symbols.lookup(address)
        return symbol[0] if symbol is not None else ""

    def _look(self, callee: str, address: int) -> tuple[int, ...]:
        name = self.name(address)
        if not name:
            return (address,)
        chain = self.callers.get((callee, name))
        if chain is None and callee:
            chain = self.callers.get(("*", name))
        if chain is None:
            return self._alone(name, address)
        if chain[:1] == (callee,):
            chain = chain[1:]
        return tuple(
            frame for other in chain for frame in ((self.place(other),) if other else self._alone(name, address))
        )

    def _alone(self, name: str, address: int) -> tuple[int, ...]:
        """By whose address it is only."""
        if name in self.inside:
            return tuple(self.place(other) if other else address for other in self.inside[name])
        call = name.removeprefix(self.prefix)
        return (self.place(f"__do_sys_{call}"),) if call != name and call in self.bodies else (address,)
