"""Walking every path of one function: do_check() of kernel/bpf/verifier.c, and the instructions it handles itself."""

from __future__ import annotations

from typing import Final

from arch.abi.errno import E2BIG, EACCES, EFAULT, EINVAL, EPERM, ERANGE
from arch.abi.internal import READ, WRITE
from arch.abi.limits import U32_MAX, U64_MAX
from bpf import uapi
from bpf.isa.insn import (
    BPF_ABS,
    BPF_ALU,
    BPF_ALU64,
    BPF_ATOMIC,
    BPF_CALL,
    BPF_DW,
    BPF_EXIT,
    BPF_IMM,
    BPF_IND,
    BPF_JA,
    BPF_JMP,
    BPF_JMP32,
    BPF_LDX,
    BPF_MEM,
    BPF_MEMSX,
    BPF_PSEUDO_BTF_ID,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_FUNC,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_PSEUDO_MAP_FD,
    BPF_PSEUDO_MAP_IDX,
    BPF_PSEUDO_MAP_IDX_VALUE,
    BPF_PSEUDO_MAP_VALUE,
    BPF_REG_0,
    BPF_REG_1,
    BPF_REG_6,
    BPF_ST,
    BPF_STX,
    BPF_X,
    Insn,
)
from bpf.maps.info import JUMP_SIZE
from bpf.verifier.access.atomic import check_atomic
from bpf.verifier.access.map_access import check_ptr_off_reg
from bpf.verifier.access.memory import check_mem_access
from bpf.verifier.access.precision_by_frame import propagate
from bpf.verifier.access.regs import (
    check_dst,
    check_src,
    clear_caller_saved_regs,
    mark_unknown,
    settle_bounds,
)
from bpf.verifier.access.rewritten import note_pointer_type
from bpf.verifier.calls import graph
from bpf.verifier.calls.calls import check_helper_call, check_reference_leak
from bpf.verifier.calls.exceptions import THROW
from bpf.verifier.calls.kfunc import check_kfunc_call
from bpf.verifier.calls.sections import check_sections_in, check_sections_left
from bpf.verifier.calls.subprog import check_func_call, prepare_func_exit
from bpf.verifier.context.ctx import HAS_GEN_LD_ABS
from bpf.verifier.domain.state import UNKNOWN, Reg, Value, VerifierState, known_scalar, known_zero
from bpf.verifier.domain.types import (
    CONST_PTR_TO_MAP,
    PTR_TO_BTF_ID,
    PTR_TO_CTX,
    PTR_TO_FUNC,
    PTR_TO_INSN,
    PTR_TO_MAP_VALUE,
    PTR_TO_MEM,
    base_type,
)
from bpf.verifier.env import Env, Rejected
from bpf.verifier.lines.insn_text import insn_text
from bpf.verifier.lines.source import verbose_linfo
from bpf.verifier.lines.state import print_insn_state, print_verifier_state
from bpf.verifier.log.log import BPF_LOG_LEVEL2
from bpf.verifier.paths.alu import check_alu_op
from bpf.verifier.paths.jump import check_cond_jmp_op
from bpf.verifier.paths.loops import update_loop_entry
from bpf.verifier.paths.prune import is_state_visited
from bpf.verifier.paths.returned import check_return_code

_MAY_ACCESS_SKB: Final = (
    uapi.BPF_PROG_TYPE_SOCKET_FILTER,
    uapi.BPF_PROG_TYPE_SCHED_CLS,
    uapi.BPF_PROG_TYPE_SCHED_ACT,
)


# ---- loads and stores ----


def _check_ldx(env: Env, insn: Insn) -> None:
    signed = insn.mode == BPF_MEMSX and env.rules.sign_extension
    if insn.mode != BPF_MEM and not signed:
        env.reject(EINVAL, "BPF_LDX uses reserved fields")
    check_src(env, insn.src_reg)
    check_dst(env, insn.dst_reg)
    word = env.regs[insn.src_reg].value.type
    check_mem_access(env, env.insn_idx, insn.src_reg, insn.off, insn.size, READ, insn.dst_reg, signed=signed)
    note_pointer_type(env, word, env.rules.trust_may_differ)
    if env.rules.more_operators_tracked:
        settle_bounds(env, env.regs[insn.dst_reg], "ldx")
    env.insn_idx += 1


def _check_stx(env: Env, insn: Insn) -> None:
    mode = insn.mode
    if mode == BPF_ATOMIC:
        check_atomic(env, insn)
        env.insn_idx += 1
        return
    if mode != BPF_MEM or insn.imm:
        env.reject(EINVAL, "BPF_STX uses reserved fields")
    check_src(env, insn.src_reg)
    check_src(env, insn.dst_reg)
    word = env.regs[insn.dst_reg].value.type
    check_mem_access(env, env.insn_idx, insn.dst_reg, insn.off, insn.size, WRITE, insn.src_reg)
    note_pointer_type(env, word)
    env.insn_idx += 1


def _check_st(env: Env, insn: Insn) -> None:
    if insn.mode != BPF_MEM or insn.src_reg:
        env.reject(EINVAL, "BPF_ST uses reserved fields")
    check_src(env, insn.dst_reg)
    word = env.regs[insn.dst_reg].value.type
    if word == PTR_TO_CTX and not env.rules.ctx_stores_of_numbers:
        env.reject(EACCES, f"BPF_ST stores into R{insn.dst_reg} {env.type_name(word)} is not allowed")
    check_mem_access(env, env.insn_idx, insn.dst_reg, insn.off, insn.size, WRITE, -1)
    if env.rules.ctx_stores_of_numbers:
        note_pointer_type(env, word)
    env.insn_idx += 1


def _check_ld(env: Env, insn: Insn) -> None:
    mode = insn.mode
    if mode in (BPF_ABS, BPF_IND):
        _check_ld_abs(env, insn, mode)
    elif mode == BPF_IMM:
        _check_ld_imm(env, insn)
        env.insn_idx += 1
        _mark_seen(env)
    else:
        env.reject(EINVAL, "invalid BPF_LD mode")
    env.insn_idx += 1


def _check_ld_imm(env: Env, insn: Insn) -> None:
    """check_ld_imm(): a 64-bit number, or what its pseudo type says."""
    if insn.size != BPF_DW:
        env.reject(EINVAL, "invalid BPF_LD_IMM insn")
    if insn.off:
        env.reject(EINVAL, "BPF_LD_IMM64 uses reserved fields")
    dst = check_dst(env, insn.dst_reg)
    mark_unknown(env, dst)
    kind = insn.src_reg
    if kind == 0:
        high = env.insns[env.insn_idx + 1].imm
        dst.value = known_scalar(((high << 32) | (insn.imm & 0xFFFFFFFF)) & U64_MAX)
    elif kind == BPF_PSEUDO_BTF_ID:
        dst.value = _btf_variable(env)
    elif kind == BPF_PSEUDO_FUNC:
        dst.value = _function_pointer(env, insn)
    else:
        dst.value = _map_pointer(env, kind)


def _btf_variable(env: Env) -> Value:
    aux = env.aux[env.insn_idx]
    base = base_type(aux.btf_var_type)
    if base == PTR_TO_MEM:
        return known_zero(aux.btf_var_type, aux.btf_var_size)
    if base == PTR_TO_BTF_ID:
        return known_zero(aux.btf_var_type, aux.btf_var_btf, aux.btf_var_id)
    env.reject(EFAULT, "bpf verifier is misconfigured")


def _function_pointer(env: Env, insn: Insn) -> Value:
    number = env.find_subprog(env.insn_idx + insn.imm + 1)
    if not env.has_func_info:
        env.reject(EINVAL, "missing btf func_info")
    if env.subprogs[number].linkage != 0:
        env.reject(EINVAL, "callback function not static")
    if number == 0:
        env.reject(EINVAL, "callback function cannot be the main program")
    return known_zero(PTR_TO_FUNC, number)


def _map_pointer(env: Env, kind: int) -> Value:
    aux = env.aux[env.insn_idx]
    m = env.used_maps[aux.map_index]
    if kind in (BPF_PSEUDO_MAP_VALUE, BPF_PSEUDO_MAP_IDX_VALUE):
        if m.area is not None:
            return UNKNOWN
        locked = m.spin_lock_off >= 0 and not env.rules.fields_recorded  # since 6.2 it is one value (d0d78c1df9b1)
        number = env.new_id() if locked else 0
        return known_zero(PTR_TO_MAP_VALUE, m, off=aux.map_off, number=number)
    if kind in (BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_IDX):
        return known_zero(CONST_PTR_TO_MAP, m)
    env.reject(EINVAL, "bpf verifier is misconfigured")


def _check_ld_abs(env: Env, insn: Insn, mode: int) -> None:
    """check_ld_abs(): a load from the packet in the manner of classic BPF; it can end the program."""
    if env.prog_type not in _MAY_ACCESS_SKB:
        env.reject(EINVAL, "BPF_LD_[ABS|IND] instructions not allowed for this program type")
    if env.prog_type not in HAS_GEN_LD_ABS:
        env.reject(EINVAL, "bpf verifier is misconfigured")
    if insn.dst_reg or insn.off or insn.size == BPF_DW or (mode == BPF_ABS and insn.src_reg):
        env.reject(EINVAL, "BPF_LD_[ABS|IND] uses reserved fields")
    check_src(env, BPF_REG_6)
    if check_reference_leak(env):
        mixed = (
            "would lead to reference leak" if env.rules.leaks_explained else "cannot be mixed with socket references"
        )
        env.reject(EINVAL, f"BPF_LD_[ABS|IND] {mixed}")
    if env.cur.held.lock is not None:
        env.reject(EINVAL, "BPF_LD_[ABS|IND] cannot be used inside bpf_spin_lock-ed region")
    check_sections_in(env, "BPF_LD_[ABS|IND]")
    v = env.regs[BPF_REG_6].value
    if v.type != PTR_TO_CTX:
        env.reject(EINVAL, "at the time of BPF_LD_ABS|IND R6 != pointer to skb")
    if mode == BPF_IND:
        check_src(env, insn.src_reg)
    check_ptr_off_reg(env, v, BPF_REG_6)
    clear_caller_saved_regs(env, env.regs)
    r0 = env.regs[BPF_REG_0]
    mark_unknown(env, r0)
    r0.subreg_def = env.insn_idx + 1
    if env.cur.curframe and env.rules.ld_abs_ends_function:
        # beyond the packet's end the function returns 0
        env.scratched_regs |= 1 << BPF_REG_0
        env.push_stack(env.insn_idx + 1, env.insn_idx, False)
        r0.value = known_scalar(0)
        prepare_func_exit(env)
        env.insn_idx -= 1


# ---- jumps ----


def _allowed_under_lock(env: Env, insn: Insn) -> bool:
    if insn.src_reg == BPF_PSEUDO_KFUNC_CALL:
        return graph.callable_under_lock(env, insn)
    func_id = insn.imm
    return func_id == uapi.BPF_FUNC_spin_unlock or (
        func_id == uapi.BPF_FUNC_kptr_xchg and env.rules.exchange_under_lock
    )


def _check_call(env: Env, insn: Insn) -> bool:
    """True: what is called ends the path."""
    kind = insn.src_reg
    if (
        insn.src_kind == BPF_X
        or (kind != BPF_PSEUDO_KFUNC_CALL and insn.off)
        or kind not in env.call_kinds
        or insn.dst_reg
        or insn.cls == BPF_JMP32
    ):
        env.reject(EINVAL, "BPF_CALL uses reserved fields")
    own = kind == BPF_PSEUDO_CALL and not env.rules.locks_across_functions
    other = kind != BPF_PSEUDO_CALL
    if env.cur.held.lock is not None and (own or (other and not _allowed_under_lock(env, insn))):
        env.reject(EINVAL, "function calls are not allowed while holding a lock")
    if kind == BPF_PSEUDO_CALL:
        if check_func_call(env, insn):
            _check_nothing_held(env)
            return True
    elif kind == BPF_PSEUDO_KFUNC_CALL:
        thrown = env.regs[BPF_REG_1].clone()
        check_kfunc_call(env, insn)
        if env.kfunc_name(insn) == THROW:
            _check_throw(env, thrown)
            return True
    else:
        check_helper_call(env, insn)
    env.insn_idx += 1
    return False


def _check_throw(env: Env, thrown: Reg) -> None:
    """Everything has been given back, by all functions; without a callback, what is thrown is the program's result."""
    env.throws = True
    if not env.exception_callback:
        env.regs[BPF_REG_1] = thrown
        check_return_code(env, BPF_REG_1)
    _check_nothing_held(env)


def _check_nothing_held(env: Env) -> None:
    """Where all functions are left at once."""
    if env.cur.held.lock is not None:
        env.reject(EINVAL, "bpf_throw cannot be used inside bpf_spin_lock-ed region")
    if not env.rules.sections_end_with_program:
        check_sections_in(env, "bpf_throw")
    if check_reference_leak(env, throws=True):
        env.reject(EINVAL, "bpf_throw would lead to reference leak" if env.rules.leaks_explained else "")
    check_sections_in(env, "bpf_throw")


def _check_goto(env: Env, insn: Insn) -> None:
    wide = insn.cls == BPF_JMP or not env.rules.jump_by_imm
    if not env.rules.jump_by_imm and insn.cls == BPF_JMP32:
        env.reject(EINVAL, "BPF_JA uses reserved fields")
    if insn.src_kind == BPF_X and env.rules.indirect_jumps_named:
        _check_indirect_jump(env, insn)
        return
    if insn.src_kind == BPF_X or insn.src_reg or insn.dst_reg or (insn.imm if wide else insn.off):
        env.reject(EINVAL, "BPF_JA uses reserved fields")
    env.insn_idx += (insn.off if wide else insn.imm) + 1


def _check_indirect_jump(env: Env, insn: Insn) -> None:
    """check_indirect_jump(): a path to each place that the register may lead to."""
    regno, v = insn.dst_reg, env.regs[insn.dst_reg].value
    if v.type != PTR_TO_INSN:
        env.reject(EINVAL, f"R{regno} has type {env.type_name(v.type)}, expected PTR_TO_INSN")
    table = v.map.jumps
    assert table is not None
    least, most = v.umin + v.off, v.umax + v.off
    for name, number in (("umin", least), ("umax", most)):
        if number > U32_MAX * JUMP_SIZE:
            env.reject(ERANGE, f"the sum of R{regno} {name}_value {number} is too big")
    first, last = least // JUMP_SIZE, most // JUMP_SIZE
    if last >= v.map.max_entries:
        where = f"[{first},{last}] max_entries {v.map.max_entries}"
        env.reject(EINVAL, f"R{regno} points to outside of jump table: {where}")
    *others, furthest = sorted(set(table.places[first : last + 1]))
    for there in others:
        env.push_stack(there, env.insn_idx, env.cur.speculative)
    env.insn_idx = furthest


# ---- the end of a path ----


def _check_exit(env: Env, insn: Insn) -> bool:
    """True: the path is at its end; False: back in the caller."""
    if insn.src_kind == BPF_X or insn.imm or insn.src_reg or insn.dst_reg or insn.cls == BPF_JMP32:
        env.reject(EINVAL, "BPF_EXIT uses reserved fields")
    returns = len(env.cur.frames) > 1 and env.rules.locks_across_functions
    if env.cur.held.lock is not None and not returns and not graph.in_order_callback(env):
        last = "BPF_EXIT instruction in main prog cannot be used inside bpf_spin_lock-ed region"
        env.reject(EINVAL, last if env.rules.sections_end_with_program else "bpf_spin_unlock is missing")
    if not env.rules.sections_end_with_program:
        check_sections_left(env, "")
    if check_reference_leak(env):
        leak = "BPF_EXIT instruction in main prog would lead to reference leak"
        env.reject(EINVAL, leak if env.rules.leaks_explained else "")
    if env.rules.sections_end_with_program:
        check_sections_left(env, "BPF_EXIT instruction in main prog")
    if env.cur.curframe:
        prepare_func_exit(env)
        return False
    check_return_code(env)
    return True


def _update_branch_counts(env: Env, state: VerifierState | None) -> None:
    """This path is done; so are the checkpoints that only waited for it."""
    while state is not None:
        state.branches -= 1
        if not state.branches and state.parent is not None and state.loop_entry is not None:
            update_loop_entry(state.parent, state.loop_entry)
        if state.branches:
            break
        if env.flow is not None:
            env.flow.loops.leave(state, lambda old, path: propagate(env, old, path))
            env.flow.walked(state)
        state = state.parent


def _mark_seen(env: Env) -> None:
    """Not dead code, unless only a mispredicting CPU comes here."""
    if not env.cur.speculative:
        env.aux[env.insn_idx].seen = env.pass_cnt


# ---- the walk ----

_ALU_CLASSES: Final = frozenset({BPF_ALU, BPF_ALU64})  # a tuple of names would be made anew at each step
_JMP_CLASSES: Final = frozenset({BPF_JMP, BPF_JMP32})
_HANDLERS: Final = {
    BPF_ALU: None,
    BPF_ALU64: None,
    BPF_LDX: _check_ldx,
    BPF_STX: _check_stx,
    BPF_ST: _check_st,
    0: _check_ld,
}


def _print_whole_state_and_insn(env: Env, print_state: bool) -> None:
    """Before 5.17: all that is known before an instruction, where paths meet or (at level 2) always."""
    if env.level & BPF_LOG_LEVEL2:
        env.log.write(f"{env.insn_idx}:")
        print_verifier_state(env, env.frame, True)
    elif print_state:
        _print_from(env, ":")
        print_verifier_state(env, env.frame, True)
    verbose_linfo(env, env.insn_idx, "; ")
    env.log.write(f"{env.insn_idx}: {insn_text(env, env.insn_idx)}\n")


def _print_changes_and_insn(env: Env, print_state: bool) -> None:
    """What the instruction before changed, behind it."""
    if print_state and env.level & BPF_LOG_LEVEL2:
        _print_from(env, ":")
        print_verifier_state(env, env.frame, True)
    log = env.log
    if env.scratched_regs or env.scratched_stack_slots:
        print_insn_state(env, env.frame)
    if env.line_info:
        verbose_linfo(env, env.insn_idx, "; ")
    before = log.used
    log.write(f"{env.insn_idx}: {insn_text(env, env.insn_idx)}\n")
    env.prev_insn_print_len = log.used - before
    env.prev_log_len = log.used


def do_check(env: Env) -> None:
    """Walk until no path is left."""
    level2 = bool(env.level & BPF_LOG_LEVEL2)
    print_state = False
    step = _step_or_fence if env.rules.fences_for_speculation and not env.bypass_spec_v1 else _step
    print_insn = _print_changes_and_insn if env.rules.state_after_insn else _print_whole_state_and_insn
    stays = env.rules.state_after_insn and not level2  # at level 1 the flag outlives an instruction
    prev_insn_idx = -1
    insns, aux = env.insns, env.aux
    count, limit, level = len(insns), env.insn_limit, env.level
    end_of_function = BPF_JMP | BPF_EXIT
    while True:
        env.prev_insn_idx = prev_insn_idx
        here = env.insn_idx
        if here >= count:
            env.reject(EFAULT, f"invalid insn idx {here} insn_cnt {count}")
        insn = insns[here]
        env.insn_processed = processed = env.insn_processed + 1
        if processed > limit:
            env.reject(E2BIG, f"BPF program is too large. Processed {processed} insn")
        cur, known = env.cur, aux[here]
        if (known.prune_point or known.jmp_point) and is_state_visited(env, here):
            if level:
                _print_safe(env, print_state)
            done = True
        else:
            cur.last_insn_idx = prev_insn_idx
            if level:
                print_insn(env, print_state)
                print_state = print_state and stays
            if not cur.speculative:  # not dead code, unless only a mispredicting CPU comes here
                known.seen = env.pass_cnt
            prev_insn_idx = here
            done = step(env, insn)
        if done:
            env.scratch_everything()
            env.cur.insn_idx = env.insn_idx
            _update_branch_counts(env, env.cur)
            branch = env.pop_stack(not level2)
            if branch is None:
                return
            prev_insn_idx, env.insn_idx = branch.prev_insn_idx, branch.insn_idx
            print_state = True
        elif insn.code == end_of_function:
            print_state = True


def _print_from(env: Env, end: str) -> None:
    speculative = " (speculative execution)" if env.cur.speculative else ""
    env.log.write(f"\nfrom {env.prev_insn_idx} to {env.insn_idx}{speculative}{end}")


def _print_safe(env: Env, print_state: bool) -> None:
    if print_state:
        _print_from(env, ": safe\n")
    else:
        env.log.write(f"{env.insn_idx}: safe\n")


def _step_or_fence(env: Env, insn: Insn) -> bool:
    """The same; what is refused on a path that is only predicted gets a fence, and the path ends before it."""
    if not env.cur.speculative:
        return _step(env, insn)
    aux = env.aux[env.insn_idx]
    if aux.nospec:
        return True
    try:
        return _step(env, insn)
    except Rejected as refused:
        if refused.errno not in (EPERM, EACCES, EINVAL):
            raise
        aux.nospec, aux.alu_state = True, 0
        return True


def _step(env: Env, insn: Insn) -> bool:
    """One instruction; moves on env.insn_idx.  True: the path ends here."""
    class_ = insn.cls
    if class_ in _ALU_CLASSES:
        check_alu_op(env, insn)
        env.insn_idx += 1
    elif class_ in _JMP_CLASSES:
        env.jmps_processed += 1
        op = insn.op
        if op == BPF_CALL:
            return _check_call(env, insn)
        elif op == BPF_JA:
            _check_goto(env, insn)
        elif op == BPF_EXIT:
            return _check_exit(env, insn)
        else:
            check_cond_jmp_op(env, insn)
            env.insn_idx += 1
    else:
        handler = _HANDLERS[class_]
        assert handler is not None
        handler(env, insn)
    return False
