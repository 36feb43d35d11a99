"""Loops as strongly connected parts of the program, since 6.17: what a path relies on that came back into its loop is
settled when all paths of the loop are walked.

compute_scc(), bpf_scc_visit, propagate_backedges() of kernel/bpf/cfg.c and states.c, Linux 7.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from arch.abi.errno import EFAULT
from bpf.verifier.domain.state import VerifierState
from bpf.verifier.env import Env
from bpf.verifier.log.log import BPF_LOG_LEVEL2
from bpf.verifier.paths.flow import Graph

_ROUNDS: Final = 64


def components(env: Env, graph: Graph) -> list[int]:
    """For each instruction the number of its loop; 0: it is in none.  A call that calls back is a loop by itself."""
    insns, successors = env.insns, graph.following
    if not graph.comes_back and not any([aux.calls_callback for aux in env.aux]):
        return [0] * len(insns)
    before = [0] * len(insns)
    low = [0] * len(insns)
    scc = [0] * len(insns)
    outside = len(insns) + 1
    next_number, next_scc = 1, 1
    for first in range(len(insns)):
        if before[first]:
            continue
        stack: list[int] = []
        todo = [first]
        while todo:
            here = todo[-1]
            if not before[here]:
                low[here] = before[here] = next_number
                next_number += 1
                stack.append(here)
            following = [there for there in successors[here] if there < len(insns)]
            fresh = None
            for there in following:
                if not before[there]:
                    fresh = there
                    break
                low[here] = min(low[here], low[there])
            if fresh is not None:
                todo.append(fresh)
                continue
            todo.pop()
            if low[here] < before[here]:
                continue
            loops = stack[-1] != here or here in following or env.aux[here].calls_callback
            while True:
                member = stack.pop()
                low[member] = outside
                scc[member] = next_scc if loops else 0
                if member == here:
                    break
            next_scc += loops
    return scc


Callchain = tuple[int, ...]


@dataclass(slots=True)
class _Visit:
    """One way into a loop: where it was entered, and the paths that came back and wait."""

    entry: VerifierState | None = None
    backedges: list[tuple[VerifierState, VerifierState]] = field(default_factory=list)  # (path, the checkpoint it met)


class Loops:
    """The loops of one program, and who is in them."""

    def __init__(self, env: Env, graph: Graph) -> None:
        self.env = env
        self.scc = components(env, graph)
        self._none = not any(self.scc)
        self.tell = env.verbose if env.level & BPF_LOG_LEVEL2 else None
        self.visits: dict[Callchain, _Visit] = {}
        self.waiting = 0  # backedges

    def _callchain(self, state: VerifierState) -> Callchain | None:
        """The calls that lead into the outermost loop, and the loop."""
        if self._none:
            return None
        calls: list[int] = []
        for number in range(len(state.frames)):
            last = number == len(state.frames) - 1
            insn_idx = state.insn_idx if last else state.frames[number + 1].callsite
            if self.scc[insn_idx]:
                return (*calls, -self.scc[insn_idx])
            calls.append(insn_idx)
        return None

    def _told(self, what: str, chain: Callchain) -> None:
        if self.tell is not None:
            self.tell(f"SCC {what} ({','.join(str(abs(number)) for number in chain)})\n")

    def _visit(self, state: VerifierState) -> _Visit | None:
        chain = self._callchain(state)
        return self.visits.get(chain) if chain is not None else None

    def enter(self, checkpoint: VerifierState) -> None:
        """A new checkpoint may be the first of its loop: maybe_enter_scc()."""
        chain = self._callchain(checkpoint)
        if chain is not None:
            visit = self.visits.setdefault(chain, _Visit())
            if visit.entry is None:
                visit.entry = checkpoint
                self._told("enter", chain)

    def came_back(self, path: VerifierState, met: VerifierState) -> None:
        """A path ends at a checkpoint whose own paths are not all walked: add_scc_backedge()."""
        chain = self._callchain(met)
        assert chain is not None
        visit = self.visits[chain]
        self._told("backedge", chain)
        visit.backedges.append((path, met))
        self.waiting += 1

    def is_unsettled(self, state: VerifierState) -> bool:
        """What this checkpoint's paths rely on is not all known: incomplete_read_marks()."""
        visit = self._visit(state)
        return visit is not None and bool(visit.backedges)

    def leave(self, state: VerifierState, propagate: Callable[[VerifierState, VerifierState], bool]) -> None:
        """All paths from a checkpoint are walked; if it was its loop's first, the loop is settled: maybe_exit_scc()."""
        if self._none:
            return
        chain = self._callchain(state)
        visit = self.visits.get(chain) if chain is not None else None
        if (
            chain is not None and visit is None and not state.speculative
        ):  # bpf_throw() in a loop that has no checkpoint yet
            words = ",".join(str(abs(number)) for number in chain)
            self.env.reject(EFAULT, f"verifier bug: scc exit: no visit info for call chain ({words})")
        if chain is None or visit is None or visit.entry is not state:
            return
        self._told("exit", chain)
        visit.entry = None
        self.waiting -= len(visit.backedges)
        for _ in range(_ROUNDS):
            changed = False
            for path, met in reversed(visit.backedges):  # the newest first
                changed |= propagate(met, path)
            if not changed:
                break
        visit.backedges = []
