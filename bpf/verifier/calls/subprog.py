"""Calls between functions of the program, callbacks, and coming back from them.

__check_func_call(), set_*_callback_state() and prepare_func_exit() of kernel/bpf/verifier.c.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import E2BIG, EACCES, EFAULT, EINVAL, ENOTSUPP
from arch.abi.limits import S64_MAX, U64_MAX
from bpf.btf.codec import GLOBAL, Kind
from bpf.isa.insn import BPF_REG_0, Insn
from bpf.maps.types import row_of
from bpf.uapi import HELPER_NAMES
from bpf.verifier.access.precision import mark_chain_precision
from bpf.verifier.access.regs import clear_caller_saved_regs, mark_not_init, mark_reg_read, mark_unknown
from bpf.verifier.access.slot_objects import DYNPTR_LOCAL
from bpf.verifier.access.trust import in_sleepable
from bpf.verifier.calls.arg_match import check_subprog_call
from bpf.verifier.calls.moved_packets import (
    forget_packet_pointers,
    function_may_sleep,
    function_may_throw,
    function_moves_packet,
)
from bpf.verifier.domain.callbacks import CALLBACK_CALLING_HELPERS, calls_back_later
from bpf.verifier.domain.state import (
    DEF_NOT_SUBREG,
    REG_LIVE_READ64,
    S64_MIN,
    FuncState,
    Reg,
    Value,
    VerifierState,
    known_zero,
)
from bpf.verifier.domain.tnum import Tnum, tnum_in, tnum_range, tnum_text
from bpf.verifier.domain.types import (
    CONST_PTR_TO_MAP,
    DYNPTR_TYPE_LOCAL,
    PTR_TO_BTF_ID,
    PTR_TO_DYNPTR,
    PTR_TO_MAP_KEY,
    PTR_TO_MAP_VALUE,
    PTR_TO_STACK,
    SCALAR_VALUE,
)
from bpf.verifier.env import MAP_PTR_POISON, Env, Rejected
from bpf.verifier.lines.state import print_verifier_state
from bpf.verifier.paths.loops import widen_since_last_turn

# (env, caller, callee, instruction): fills the callee's arguments
SetCalleeState = Callable[[Env, FuncState, FuncState, int], None]


def check_func_call(env: Env, insn: Insn) -> bool:
    """A call of another function of the program.  True: it may throw, and this path is the one on which it does."""
    target = env.insn_idx + insn.imm + 1
    subprog = env.find_subprog(target)
    if subprog < 0:
        env.reject(EFAULT, f"verifier bug. No program starts at insn {target}")
    call_subprog(env, insn, subprog, _set_callee_state)
    if not env.rules.global_throws or not env.is_global(subprog) or not function_may_throw(env, subprog):
        return False
    env.push_stack(env.insn_idx + 1, env.insn_idx, False)
    return True


def call_subprog(env: Env, insn: Insn, subprog: int, set_callee_state: SetCalleeState) -> None:
    """Enter a function, or skip it if it is global: __check_func_call()."""
    state = env.cur
    entered_first = not env.rules.globals_when_called
    if entered_first:
        _check_depth(env, state)
    caller = env.frame
    if _is_global(env, subprog, caller):
        _skip_global(env, subprog, caller)
        return
    if set_callee_state is not _set_callee_state:
        env.subprogs[subprog].is_cb = True
        kfunc = env.kfunc_name(insn)
        if not kfunc and insn.imm not in CALLBACK_CALLING_HELPERS:
            name = f"bpf_{HELPER_NAMES[insn.imm]}#{insn.imm}"
            env.reject(EFAULT, f"verifier bug: helper {name} is not marked as callback-calling")
        if calls_back_later(insn, kfunc):
            _push_later_callback(env, subprog, caller, set_callee_state, kfunc)
            return
        if env.rules.callbacks_are_loops:
            _push_callback(env, subprog, caller, set_callee_state)
            return
    if not entered_first:
        _check_depth(env, state)
    here = env.insn_idx
    callee = env.new_frame(here, state.curframe + 1, subprog)
    callee.refs = caller.refs
    set_callee_state(env, caller, callee, here)
    clear_caller_saved_regs(env, caller.regs)
    state.frames.append(callee)
    env.sync_frame()
    env.insn_idx = env.subprogs[subprog].start - 1
    if env.level:
        env.verbose("caller:\n")
        print_verifier_state(env, caller, True)
        env.verbose("callee:\n")
        print_verifier_state(env, callee, True)


def _check_depth(env: Env, state: VerifierState) -> None:
    if state.curframe + 1 >= env.call_frames:
        env.reject(E2BIG, f"the call stack of {state.curframe + 2} frames is too deep")


def _is_global(env: Env, subprog: int, caller: FuncState) -> bool:
    """A global function is verified on its own; its arguments must fit its prototype."""
    is_global = env.has_func_info and env.subprogs[subprog].linkage == GLOBAL
    try:
        check_subprog_call(env, subprog, caller.regs)
    except Rejected as refused:
        if refused.errno == EFAULT:
            raise
        if is_global:
            _check_held(env, subprog)
            name = f" ('{env.subprog_name(subprog)}')" if env.rules.globals_when_called else ""
            env.reject(refused.errno, f"Caller passes invalid args into func#{subprog}{name}")
    if is_global:
        _check_held(env, subprog)
    return is_global


def _check_held(env: Env, subprog: int) -> None:
    """What a global function does is not known to who calls it with a lock, or where nothing may sleep."""
    held = env.cur.held
    if held.lock is not None and env.rules.locks_across_functions:
        env.verbose("global function calls are not allowed while holding a lock,\n")
        env.reject(EINVAL, "use static function instead")
    if env.rules.sleeping_functions_known:
        if (held.preempt or held.rcu or held.irq or not in_sleepable(env)) and function_may_sleep(env, subprog):
            if env.rules.sleepable_place_named:
                places = (
                    (held.rcu, "rcu_read_lock region"),
                    (held.preempt, "non-preemptible region"),
                    (held.irq, "IRQ-disabled region"),
                    (True, "non-sleepable prog"),
                )
                place = next(words for there, words in places if there)
                env.reject(EINVAL, f"sleepable global function {env.subprog_name(subprog)}() called in {place}")
            env.verbose("global functions that may sleep are not allowed in non-sleepable context,\n")
            env.verbose("i.e., in a RCU/IRQ/preempt-disabled section, or in\n")
            env.reject(EINVAL, "a non-sleepable BPF program context")
    elif held.preempt:
        env.verbose("global function calls are not allowed with preemption disabled,\n")
        env.reject(EINVAL, "use static function instead")


def _skip_global(env: Env, subprog: int, caller: FuncState) -> None:
    if env.rules.globals_when_called:
        env.verbose(f"Func#{subprog} ('{env.subprog_name(subprog)}') is global and assumed valid.\n")
        env.subprogs[subprog].called = True
    elif env.level:
        env.verbose(f"Func#{subprog} is global and valid. Skipping.\n")
    if env.rules.globals_move_packets and function_moves_packet(env, subprog):
        forget_packet_pointers(env)
    _forget_caller_saved(env, caller)


def _forget_caller_saved(env: Env, caller: FuncState) -> None:
    clear_caller_saved_regs(env, caller.regs)
    mark_unknown(env, caller.regs[BPF_REG_0])
    caller.regs[BPF_REG_0].subreg_def = DEF_NOT_SUBREG


def _push_callback(env: Env, subprog: int, caller: FuncState, set_callee_state: SetCalleeState) -> None:
    """The callback is a path of its own, which comes back to this call; here nothing was called: push_callback_call()."""
    here = env.insn_idx
    state = env.push_stack(env.subprogs[subprog].start, here, False)
    _check_depth(env, state)
    copied = state.frame
    callee = env.new_frame(here, state.curframe + 1, subprog)
    callee.refs = copied.refs
    set_callee_state(env, copied, callee, here)
    state.frames.append(callee)
    state.callback_unroll_depth += 1
    copied.callback_depth += 1
    caller.callback_depth = 0


def _push_later_callback(
    env: Env, subprog: int, caller: FuncState, set_callee_state: SetCalleeState, kfunc: str
) -> None:
    """The callback runs later, so it is a path of its own; the caller just goes on.  That of a work queue may sleep."""
    env.subprogs[subprog].is_async_cb = True
    state = env.push_async_cb(env.subprogs[subprog].start, env.insn_idx, subprog)
    if kfunc:
        state.held = state.held._replace(sleepable=True)
    callee = state.frames[0]
    callee.async_entry_cnt = caller.async_entry_cnt + 1
    set_callee_state(env, caller, callee, env.insn_idx)
    _forget_caller_saved(env, caller)


# ---- arguments ----


def _set_callee_state(env: Env, caller: FuncState, callee: FuncState, insn_idx: int) -> None:
    """r1 to r5 of the caller, liveness chain and all."""
    for regno in range(1, 6):
        callee.regs[regno].assign(caller.regs[regno])


def _set_pointer(reg: Reg, value: Value) -> None:
    frameno = reg.value.frameno
    reg.value = value
    value.frameno = frameno


def _set_unreadable(env: Env, callee: FuncState, *regnos: int) -> None:
    for regno in regnos:
        mark_not_init(env, callee.regs[regno])


def _is_callback(callee: FuncState) -> None:
    callee.in_callback_fn = True
    callee.callback_ret_range = tnum_range(0, 1)


def set_map_elem_callback_state(env: Env, caller: FuncState, callee: FuncState, insn_idx: int) -> None:
    """bpf_for_each_map_elem(map, callback_fn, callback_ctx, flags): callback(map, key, value, ctx)."""
    found = env.aux[insn_idx].map_ptr
    if found == MAP_PTR_POISON:
        env.reject(EINVAL, "tail_call abusing map_ptr")
    assert found is not None and not isinstance(found, str)
    if not row_of(found.map_type).for_each:
        env.reject(ENOTSUPP, "callback function not allowed for map")
    m = caller.regs[1].value.map
    callee.regs[1].assign(caller.regs[1])
    _set_pointer(callee.regs[2], known_zero(PTR_TO_MAP_KEY, m))
    _set_pointer(callee.regs[3], known_zero(PTR_TO_MAP_VALUE, m))
    callee.regs[4].assign(caller.regs[3])
    _set_unreadable(env, callee, 5)
    _is_callback(callee)


def set_loop_callback_state(env: Env, caller: FuncState, callee: FuncState, insn_idx: int) -> None:
    """bpf_loop(nr_loops, callback_fn, callback_ctx, flags): callback(index, ctx)."""
    callee.regs[1].value = callee.regs[1].value.with_type(SCALAR_VALUE)
    callee.regs[2].assign(caller.regs[3])
    _set_unreadable(env, callee, 3, 4, 5)
    _is_callback(callee)


def set_timer_callback_state(env: Env, caller: FuncState, callee: FuncState, insn_idx: int) -> None:
    """bpf_timer_set_callback(timer, callback_fn): callback(map, key, value)."""
    m = caller.regs[1].value.map
    _set_pointer(callee.regs[1], known_zero(CONST_PTR_TO_MAP, m))
    _set_pointer(callee.regs[2], known_zero(PTR_TO_MAP_KEY, m))
    _set_pointer(callee.regs[3], known_zero(PTR_TO_MAP_VALUE, m))
    _set_unreadable(env, callee, 4, 5)
    callee.in_async_callback_fn = True
    callee.callback_ret_range = tnum_range(0, 1)


def set_find_vma_callback_state(env: Env, caller: FuncState, callee: FuncState, insn_idx: int) -> None:
    """bpf_find_vma(task, addr, callback_fn, callback_ctx, flags): callback(task, vma, ctx)."""
    callee.regs[1].assign(caller.regs[1])
    vma = env.vmlinux.find("vm_area_struct", Kind.STRUCT)
    _set_pointer(callee.regs[2], known_zero(PTR_TO_BTF_ID, env.vmlinux, vma))
    callee.regs[3].assign(caller.regs[4])
    _set_unreadable(env, callee, 4, 5)
    _is_callback(callee)


def set_user_ringbuf_callback_state(env: Env, caller: FuncState, callee: FuncState, insn_idx: int) -> None:
    """bpf_user_ringbuf_drain(map, callback_fn, ctx, flags): callback(dynptr, ctx)."""
    _set_unreadable(env, callee, 0)
    if env.rules.slot_objects:
        _set_pointer(callee.regs[1], known_zero(PTR_TO_DYNPTR, DYNPTR_LOCAL, 1, number=env.new_id()))
    else:
        _set_pointer(callee.regs[1], known_zero(PTR_TO_DYNPTR | DYNPTR_TYPE_LOCAL))
    callee.regs[2].assign(caller.regs[3])
    _set_unreadable(env, callee, 3, 4, 5)
    _is_callback(callee)


# ---- coming back ----


def verbose_invalid_scalar(env: Env, v: Value, wanted: Tnum, place: str, reg_name: str) -> None:
    """A return value outside its range."""
    if env.rules.return_ranges:
        verbose_range(env, v, (wanted[0], wanted[0] | wanted[1]), place, reg_name)
        return
    if v.var_off[1] != U64_MAX:
        has = f"has value {tnum_text(v.var_off)}"
    else:
        has = "has unknown scalar value"
    env.verbose(f"At {place} the register {reg_name} {has} should have been in {tnum_text(wanted)}\n")


def verbose_range(env: Env, v: Value, wanted: tuple[int, int], place: str, reg_name: str) -> None:
    """A signed number outside its range."""
    known = (f" smin={v.smin}" if v.smin > S64_MIN else "") + (f" smax={v.smax}" if v.smax < S64_MAX else "")
    known = known or " unknown scalar value"
    env.verbose(f"At {place} the register {reg_name} has{known} should have been in [{wanted[0]}, {wanted[1]}]\n")


def prepare_func_exit(env: Env) -> None:
    """The innermost function returns."""
    state = env.cur
    callee = env.frame
    r0 = callee.regs[BPF_REG_0]
    if r0.value.type == PTR_TO_STACK:
        env.reject(EINVAL, "cannot return stack pointer to the caller")
    caller = state.frames[-2]
    if callee.in_callback_fn:
        if r0.value.type != SCALAR_VALUE:
            env.reject(EACCES, "R0 not a scalar value")
        mark_reg_read(env, r0, r0.parent, REG_LIVE_READ64)
        mark_chain_precision(env, BPF_REG_0)
        if not tnum_in(callee.callback_ret_range, r0.value.var_off):
            verbose_invalid_scalar(env, r0.value, callee.callback_ret_range, "callback return", "R0")
            env.reject(EINVAL)
    else:
        caller.regs[BPF_REG_0].assign(r0)
        caller.refs = callee.refs
    loops = callee.in_callback_fn and env.rules.callbacks_are_loops
    if loops and not env.aux[callee.callsite].calls_callback:
        env.reject(EFAULT, f"BUG: in callback at {env.insn_idx}, callsite {callee.callsite} !calls_callback")
    env.insn_idx = callee.callsite if loops else callee.callsite + 1
    if env.level:
        env.verbose("returning from callee:\n")
        print_verifier_state(env, callee, True)
        env.verbose(f"to caller at {env.insn_idx}:\n")
        print_verifier_state(env, caller, True)
    state.frames.pop()
    env.sync_frame()
    if loops:
        widen_since_last_turn(env)
