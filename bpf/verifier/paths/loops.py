"""Loops through callbacks, which the verifier walks until nothing new is learnt, since 6.7.

find_prev_entry(), widen_imprecise_scalars(), update_loop_entry() and get_loop_entry() of kernel/bpf/verifier.c, Linux 6.12.
"""

from __future__ import annotations

from bpf.verifier.domain.state import UNKNOWN, Reg, VerifierState, same_bounds, same_head
from bpf.verifier.domain.types import SCALAR_VALUE
from bpf.verifier.env import Env


def same_callsites(a: VerifierState, b: VerifierState) -> bool:
    """Both are in the same functions, called from the same places."""
    return len(a.frames) == len(b.frames) and all(x.callsite == y.callsite for x, y in zip(a.frames, b.frames))


def previous_turn(env: Env, cur: VerifierState) -> VerifierState | None:
    """The checkpoint of this path's last visit here, before `cur`: find_prev_entry()."""
    for state in reversed(env.explored_here(env.insn_idx)):
        on_this_path = state.insn_idx == env.insn_idx and state.branches
        if on_this_path and same_callsites(state, cur) and state.dfs_depth < cur.dfs_depth:
            return state
    return None


def widen_since_last_turn(env: Env) -> None:
    """Numbers that nobody relies on and that changed in this turn can be anything: the next turn may then be the last."""
    old = previous_turn(env, env.cur)
    if old is not None:
        widen(old, env.cur)


def widen(old: VerifierState, state: VerifierState) -> None:
    """The same between a checkpoint and a state of the next turn: widen_imprecise_scalars()."""
    for before, now in zip(old.frames, state.frames):
        for old_reg, reg in zip(before.regs, now.regs):
            _widen(old_reg, reg)
        for old_slot, slot in zip(before.stack, now.stack):
            if old_slot.is_spilled_reg and slot.is_spilled_reg:
                _widen(old_slot, slot)


def _widen(old: Reg, reg: Reg) -> None:
    a, b = old.value, reg.value
    if a.type != SCALAR_VALUE or b.type != SCALAR_VALUE or old.precise or reg.precise:
        return
    if not (same_head(a, b) and same_bounds(a, b) and bool(a.id) == bool(b.id)):
        reg.value = UNKNOWN


# ---- which loop a checkpoint is in ----


def loop_entry_of(state: VerifierState) -> VerifierState | None:
    """Where the outermost loop around this checkpoint begins, as far as is known: get_loop_entry()."""
    top = state.loop_entry
    while top is not None and top.loop_entry is not None and top is not top.loop_entry:
        top = top.loop_entry
    at: VerifierState | None = state
    while at is not None and at.loop_entry is not top:
        at.loop_entry, at = top, at.loop_entry
    return top


def update_loop_entry(cur: VerifierState, head: VerifierState) -> None:
    """`cur` has come back to `head`."""
    of_cur, of_head = loop_entry_of(cur) or cur, loop_entry_of(head) or head
    if of_head.branches and of_head.dfs_depth <= of_cur.dfs_depth:
        cur.loop_entry = head
        head.used_as_loop_entry = True
