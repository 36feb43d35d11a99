"""The analyses that are made before paths are walked, since 6.18, and what the walk makes of them.

clean_verifier_state(), update_peak_states() of kernel/bpf/states.c, Linux 7.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from arch.abi.errno import EINVAL
from bpf.isa.insn import BPF_REG_FP
from bpf.verifier.access.regs import mark_not_init
from bpf.verifier.domain.known_flow import LoopFace
from bpf.verifier.domain.stack_tracks import Instance
from bpf.verifier.domain.state import (
    STACK_DYNPTR,
    STACK_IRQ_FLAG,
    STACK_ITER,
    STACK_MISC,
    STACK_POISON,
    STACK_SPILL,
    UNREADABLE,
    Reg,
    StackSlot,
    VerifierState,
)
from bpf.verifier.domain.types import SCALAR_VALUE
from bpf.verifier.env import Env
from bpf.verifier.lines.liveness import LivenessLines, tell_order
from bpf.verifier.log.log import BPF_LOG_LEVEL2
from bpf.verifier.paths.backedges import Loops
from bpf.verifier.paths.cfg import NAMES, is_pseudo_call, is_pseudo_func
from bpf.verifier.paths.flow import (
    Constants,
    Graph,
    live_registers,
    prune_dead_branches,
    used_and_written,
)
from bpf.verifier.paths.stack_liveness import StackLiveness

_POISON = bytes([STACK_POISON]) * 4
_POISONED = _POISON * 2


def callers_last(env: Env, orders: list[list[int]]) -> list[int]:
    """All functions, each behind those it calls in code that can be reached: sort_subprogs_topo()."""
    order: list[int] = []
    under_way: list[int] = []
    todo: list[Iterator[tuple[int, bool]]] = []
    met: set[int] = set()
    for first in range(env.subprog_cnt):
        called: int | None = first if first not in met else None
        while called is not None or todo:
            if called is not None:
                met.add(called)
                under_way.append(called)
                todo.append(_callees(env, orders[called]))
            called = None
            for callee, is_name in todo[-1]:
                if callee not in met:
                    called = callee
                    break
                if callee in under_way and not is_name and env.rules.recursion_named:
                    names = f"{env.subprog_name(under_way[-1])}() to {env.subprog_name(callee)}()"
                    env.reject(EINVAL, f"recursive call from {names}")
            if called is None:
                order.append(under_way.pop())
                todo.pop()
    if env.rules.recursion_named and env.level & BPF_LOG_LEVEL2:
        tell_order(env, order)
    return order


def _callees(env: Env, order: list[int]) -> Iterator[tuple[int, bool]]:
    """The functions that one calls or names, and whether it only names them."""
    for idx in order:
        insn = env.insns[idx]
        if insn.code in NAMES and (is_pseudo_call(insn) or is_pseudo_func(insn)):
            yield env.find_subprog(idx + insn.imm + 1), is_pseudo_func(insn)


def analyse(env: Env) -> None:
    """Before the walk."""
    graph = Graph(env)
    known = Constants(env, graph)
    if prune_dead_branches(env, known):
        graph = Graph(env)
    order = callers_last(env, graph.orders)
    loops = Loops(env, graph)
    effects = used_and_written(env)
    stack = StackLiveness(env, known, order, graph, effects)
    live = live_registers(graph, effects)
    if env.level & BPF_LOG_LEVEL2:
        LivenessLines(env).registers(live, loops.scc)
    env.flow = Flow(env, loops, stack, live)


@lru_cache(maxsize=1 << BPF_REG_FP)
def _dead(live: int) -> tuple[int, ...]:
    """The registers that nobody reads, where those as bits are read."""
    return tuple(regno for regno in range(BPF_REG_FP) if not live >> regno & 1)


class Flow:
    """What is alive where, and how many states there are."""

    def __init__(self, env: Env, loops: Loops, stack: StackLiveness, live: list[int]) -> None:
        self.env, self.stack, self.live = env, stack, live
        self.loops: LoopFace = loops
        self.explored = 0
        self._put_aside: set[int] = set()  # checkpoints that nothing is compared with but that paths come from

    def live_registers(self, insn_idx: int) -> int:
        """The registers that may be read from here on, as bits."""
        return self.live[insn_idx]

    def forget_dead(self, state: VerifierState, insn_idx: int) -> None:
        """Registers and stack that nothing reads from here on are as if never written: clean_verifier_state()."""
        state.insn_idx = insn_idx
        frames = state.frames
        instances: list[Instance | None] | None = None  # looked up for the first frame with a stack
        for number, frame in enumerate(frames):
            last = number == len(frames) - 1
            regs = frame.regs
            for regno in _dead(self.live[insn_idx if last else frames[number + 1].callsite]):
                if regs[regno].value is not UNREADABLE:
                    mark_not_init(self.env, regs[regno])
            if frame.stack:
                instances = instances or self.stack.prepare(state)
                alive = self.stack.alive(state, insn_idx, instances, number)
                for spi, slot in enumerate(frame.stack):
                    halves = alive >> 2 * spi & 3
                    if halves != 3 and (halves or slot.value is not UNREADABLE or slot.kinds != _POISONED):
                        _forget_slot(self.env, slot, bool(halves & 1), bool(halves & 2))

    # ---- how many states there are: update_peak_states() ----

    def note_peak(self) -> None:
        """The number of states has grown."""
        now = self.explored + len(self._put_aside) + self.loops.waiting
        self.env.peak_states = max(self.env.peak_states, now)

    def evicted(self, state: VerifierState) -> None:
        """A checkpoint is compared with no more; it goes at once if no path comes from it."""
        self.explored -= 1
        if state.branches or self.loops.is_unsettled(state):
            self._put_aside.add(id(state))

    def walked(self, state: VerifierState) -> None:
        """All paths below a checkpoint are walked."""
        if self._put_aside and not self.loops.is_unsettled(state):
            self._put_aside.discard(id(state))


def _forget_slot(env: Env, slot: StackSlot, low: bool, high: bool) -> None:
    """The halves of a slot that are not alive: `low` is the one nearer to the frame pointer."""
    kind = slot.kinds[7]
    if kind in (STACK_DYNPTR, STACK_ITER, STACK_IRQ_FLAG):
        return
    kinds = slot.kinds
    if not high:
        if low and kind == STACK_SPILL:
            if slot.value.type != SCALAR_VALUE or slot.value.is_null:
                return
            kinds = bytes(STACK_MISC if one == STACK_SPILL else one for one in kinds[:4]) + kinds[4:]
        mark_not_init(env, slot)
    slot.kinds = (kinds[:4] if low else _POISON) + (kinds[4:] if high else _POISON)


def clear_lone_ids(state: VerifierState) -> None:
    """Numbers that share their id with no other: bpf_clear_singular_ids()."""
    seen: dict[int, list[Reg]] = {}
    for frame in state.frames:
        # by now bpf_get_spilled_reg() asks for byte 7, so spilled halves count
        for reg in (*frame.regs, *(slot for slot in frame.stack if slot.kinds[7] == STACK_SPILL)):
            v = reg.value
            if v.type == SCALAR_VALUE and v.id:
                seen.setdefault(v.base_id, []).append(reg)
    for regs in seen.values():
        if len(regs) == 1:
            regs[0].value = regs[0].value.without_id()
