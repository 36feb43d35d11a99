"""The verifier of Linux 4.9 and later, with the rules of 6.1: bpf_check() of kernel/bpf/verifier.c.

prepare, cfg, attach     what can be checked without walking
do_check                 the walk: alu, jump, memory, stack, calls, subprog, kfunc; prune cuts paths short
rewrite                  from what was verified to what runs
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EINVAL, ENOSPC, ENOTSUPP
from arch.garbage import without_search
from bpf import uapi
from bpf.verifier import older
from bpf.verifier.access.fastcall import mark_patterns, remove_pairs
from bpf.verifier.access.regs import mark_unknown
from bpf.verifier.api import Verdict, VerifyRequest
from bpf.verifier.calls.arg_match import check_main_args, prepare_func_args
from bpf.verifier.calls.exceptions import check_callback_arguments
from bpf.verifier.context.attach import check_attach_btf_id
from bpf.verifier.context.btf_walk import btf_ctx_access
from bpf.verifier.context.ctx_rule import AccessInfo
from bpf.verifier.context.struct_ops import adjust_argument
from bpf.verifier.domain.state import Reg, VerifierState, known_zero
from bpf.verifier.domain.types import PTR_TO_CTX, PTR_TO_MEM, SCALAR_VALUE, base_type
from bpf.verifier.env import Env, Rejected, SubprogInfo, no_access
from bpf.verifier.log.log import BPF_LOG_LEVEL2, BPF_LOG_STATS, log_is_valid
from bpf.verifier.paths.cfg import (
    add_subprogs_and_kfuncs,
    check_cfg,
    check_max_stack_depth,
    check_subprogs,
)
from bpf.verifier.paths.do_check import do_check
from bpf.verifier.paths.known_before import analyse
from bpf.verifier.paths.prepare import check_btf_info, resolve_pseudo_ldimm64
from bpf.verifier.rewrite import rewrite
from bpf.verifier.rewrite.map_calls import int_calls, map_calls


def _start(env: Env, subprog: int) -> None:
    """Walk one function from its beginning: do_check_common()."""
    env.prev_linfo = -1
    env.pass_cnt += 1
    state = VerifierState([env.new_frame(-1, 0, subprog)])
    state.branches = 1
    state.first_insn_idx = env.subprogs[subprog].start
    state.last_insn_idx = -1
    env.enter(state)
    env.insn_idx = state.first_insn_idx
    if subprog or env.request.prog_type == uapi.BPF_PROG_TYPE_EXT:
        prepare_func_args(env, subprog, env.regs)
        check_callback_arguments(env, subprog)
        if not env.rules.arguments_prepared:
            for reg in env.regs[1:6]:
                _settle_argument(env, reg)
    else:
        env.regs[1].value = known_zero(PTR_TO_CTX)
        check_main_args(env, subprog, env.regs)
    do_check(env)
    if not env.level & BPF_LOG_LEVEL2:
        env.log.reset(0)
    env.explored.clear()


def _settle_argument(env: Env, reg: Reg) -> None:
    """Bounds of an argument of a global function, whose type is known by now."""
    v = reg.value
    if v.type == PTR_TO_CTX:
        reg.value = known_zero(PTR_TO_CTX)
    elif v.type == SCALAR_VALUE:
        mark_unknown(env, reg)
    elif base_type(v.type) == PTR_TO_MEM:
        reg.value = known_zero(v.type, v.raw1, number=env.new_id())


def _check_paths(env: Env) -> None:
    """Every global function on its own, before the main function; or after it those that are called."""
    if env.rules.globals_when_called:
        _start(env, 0)
        env.subprogs[env.exception_callback].called = True
        while _check_globals(env, lambda subprog: subprog.called):
            pass  # they have called others
    else:
        _check_globals(env, lambda subprog: True)
        _start(env, 0)
    env.facts.stack_depth = env.subprogs[0].stack_depth


def _check_globals(env: Env, wanted: Callable[[SubprogInfo], bool]) -> int:
    """Walk those wanted and not walked yet; how many."""
    count = 0
    for number, subprog in enumerate(env.subprogs[:-1]):
        if not number or not env.is_global(number) or subprog.verified or not wanted(subprog):
            continue
        _start(env, number)
        subprog.verified = True
        count += 1
        if env.level:
            name = f" ('{env.subprog_name(number)}')" if env.rules.globals_when_called else ""
            env.verbose(f"Func#{number}{name} is safe for any args that match its prototype\n")
    return count


def _check(env: Env) -> None:
    older.narrow(env)
    older.check_insns(env)
    add_subprogs_and_kfuncs(env)
    check_subprogs(env)
    check_btf_info(env)
    older.forget_linkage(env)
    if env.rules.attached_after_cfg:
        resolve_pseudo_ldimm64(env)
        check_cfg(env)
        check_attach_btf_id(env)
    else:
        check_attach_btf_id(env)
        resolve_pseudo_ldimm64(env)
        check_cfg(env)
    if env.rules.static_liveness:
        analyse(env)
    if env.rules.calls_keep_registers:
        mark_patterns(env)
    env.decode()
    _check_paths(env)
    if env.fastcalls:
        remove_pairs(env)
    check_max_stack_depth(env)


def _print_stats(env: Env) -> None:
    """The last lines of every log: print_verification_stats()."""
    if env.log.level & BPF_LOG_STATS:
        env.verbose("verification time 0 usec\n")
        depths = "+".join(str(subprog.stack_depth) for subprog in env.subprogs[:-1])
        env.verbose(f"stack depth {depths}\n")
    env.verbose(
        f"processed {env.insn_processed} insns (limit {env.insn_limit}) "
        f"max_states_per_insn {env.max_states_per_insn} total_states {env.total_states} "
        f"peak_states {env.peak_states} mark_read {env.longest_mark_read_walk if env.rules.liveness_shown else 0}\n"
    )


def _check_and_rewrite(env: Env) -> int:
    try:
        _check(env)
        rewrite(env)
        if env.jump_tables and not env.request.jit_requested:
            env.reject(ENOTSUPP)
    except Rejected as refused:
        for table in env.jump_tables:
            table.give_up()
        return -refused.errno
    return 0


def verify(request: VerifyRequest) -> Verdict:
    """Whether the program may run, why not, and what it becomes."""
    if not log_is_valid(request.version, request.log_level, request.log_size, request.log_buf):
        return Verdict(-EINVAL, log_valid=False)
    return without_search(_verify, request)  # states make a growing tree without cycles: a search would go in vain


def _verify(request: VerifyRequest) -> Verdict:
    env = Env(request)

    def ctx_access(off: int, size: int, access: int, info: AccessInfo) -> bool:
        valid = btf_ctx_access(env, off, size, info)
        if valid:
            adjust_argument(env, info)
        return valid

    env.btf_ctx_access = ctx_access
    ret = _check_and_rewrite(env)
    env.forget_states()
    _print_stats(env)
    if env.log.level and env.log.truncated:
        ret = -ENOSPC
    verdict = _verdict(env, ret)
    env.btf_ctx_access = no_access  # it holds the environment, which goes at once without it
    return verdict


def check_attach_target(request: VerifyRequest) -> int:
    """bpf_check_attach_target() of a loaded program for another target than that of its load: 0 or -errno."""
    env = Env(request)
    try:
        add_subprogs_and_kfuncs(env)
        check_subprogs(env)
        check_btf_info(env)
        check_attach_btf_id(env)
    except Rejected as refused:
        return -refused.errno
    return 0


def _verdict(env: Env, ret: int) -> Verdict:
    facts = env.facts
    calls = map_calls(env) if ret == 0 else {}
    return Verdict(
        ret,
        log=env.log.text,
        log_true_size=env.log.true_size,
        insns=env.insns if ret == 0 else [],
        used_maps=env.used_maps,
        insn_processed=env.insn_processed,
        stats={
            "max_states_per_insn": env.max_states_per_insn,
            "total_states": env.total_states,
            "peak_states": env.peak_states,
            "longest_mark_read_walk": env.longest_mark_read_walk,
            "max_ctx_offset": facts.max_ctx_offset,
            "max_pkt_offset": facts.max_pkt_offset,
            "max_tp_access": facts.max_tp_access,
            "max_rdonly_access": facts.max_rdonly_access,
            "max_rdwr_access": facts.max_rdwr_access,
            "enforce_expected_attach_type": int(facts.enforce_expected_attach_type),
            "writes_registers": int(facts.writes_registers),
        },
        subprog_starts=tuple(subprog.start for subprog in env.subprogs[:-1]) or (0,),
        stack_depths=tuple(subprog.stack_depth for subprog in env.subprogs[:-1]),
        tail_calls=tuple(subprog.tail_call_reachable for subprog in env.subprogs[:-1]),
        func_info=tuple((subprog.start, subprog.type_id) for subprog in env.subprogs[:-1]) if env.has_func_info else (),
        line_info=env.line_info,
        map_calls=calls,
        int_calls=int_calls(env, calls),
        sleepable=env.sleepable,
        throws=env.throws,
        exception_callback=env.subprogs[env.exception_callback].start if env.exception_callback else 0,
        attach_info=facts.attach_info
        | {
            "attach_func_name": facts.attach_func_name,
            "attach_func_proto": facts.attach_func_proto,
            "member": env.attach_member,
            # functions whose BTF does not fit their arguments: nobody may rely on it
            "unreliable": tuple(i for i, subprog in enumerate(env.subprogs[:-1]) if subprog.unreliable),
        },
    )
