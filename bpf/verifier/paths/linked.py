"""What is learnt about a number holds for its copies, and since 6.11 for copies plus a constant."""

from __future__ import annotations

from arch.abi.limits import U64_MAX
from bpf.isa.insn import BPF_ADD
from bpf.verifier.domain import scalar
from bpf.verifier.domain.bounds import reg_bounds_sync, zext_32_to_64
from bpf.verifier.domain.state import ADD_CONST, ADD_CONST32, LinkedReg, Reg, Value, VerifierState, known_scalar
from bpf.verifier.domain.tnum import tnum_add
from bpf.verifier.domain.types import SCALAR_VALUE
from bpf.verifier.env import Env


def sync_linked(env: Env, state: VerifierState, known: Reg, linked: tuple[LinkedReg, ...]) -> None:
    """Copies, and copies plus a constant, share what was learnt: sync_linked_regs()."""
    v = known.value
    for frameno, is_reg, number in linked:
        frame = state.frames[frameno]
        reg = frame.regs[number] if is_reg else frame.stack[number]
        old = reg.value
        if reg is known or old.type != SCALAR_VALUE or old.base_id != v.base_id:
            continue
        if (old.id ^ v.id) & ADD_CONST == ADD_CONST and env.rules.differences_linked:
            continue  # one of 64 and one of 32 bits
        subreg_def = reg.subreg_def
        reg.copy_register_state(known)
        reg.subreg_def = subreg_def
        if old.off != v.off and (old.id | v.id) & ADD_CONST:
            reg.value = _at_distance(env, v, old)
        if env.rules.linked_shown:
            if is_reg:
                env.scratched_regs |= 1 << number
            else:
                env.scratched_stack_slots |= 1 << number


def _at_distance(env: Env, known: Value, old: Value) -> Value:
    """The number that is `known` plus the difference of their constants."""
    new, difference = known.copy(), known_scalar((old.off - known.off) & U64_MAX)
    if not env.rules.differences_linked:
        scalar.add_bounds(new, difference)
        new.var_off = tnum_add(known.var_off, difference.var_off)  # bounds and bits teach each other nothing yet
        new.id, new.off = old.id, old.off
    else:
        scalar.apply_as(env.rules, BPF_ADD, new, difference, False)
        new.id, new.off = old.id, old.off
        if (old.id | known.id) & ADD_CONST32:
            zext_32_to_64(new)
        reg_bounds_sync(new)
    return new
