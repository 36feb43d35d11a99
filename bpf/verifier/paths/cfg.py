"""The shape of the program before any path is walked: functions, jumps, reachability, loops, stack depth.

add_subprog_and_kfunc(), check_subprogs(), check_cfg(), check_max_stack_depth() of kernel/bpf/verifier.c.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from arch.abi.errno import E2BIG, EACCES, EFAULT, EINVAL, EPERM
from bpf import uapi
from bpf.isa.insn import (
    BPF_ABS,
    BPF_CALL,
    BPF_EXIT,
    BPF_GOTOX,
    BPF_IND,
    BPF_JA,
    BPF_JMP,
    BPF_JMP32,
    BPF_LD,
    BPF_LD_IMM64,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_FUNC,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_X,
    Insn,
)
from bpf.verifier.api import BRANCH, DISCOVERED, EXPLORED, FALLTHROUGH
from bpf.verifier.calls.exceptions import THROW, callback_start
from bpf.verifier.calls.kfunc import add_kfunc_call, asks_iterator
from bpf.verifier.domain.callbacks import calls_back_later, calls_back_now
from bpf.verifier.domain.state import MAX_BPF_STACK
from bpf.verifier.env import BPF_MAX_SUBPROGS, Env, SubprogInfo
from bpf.verifier.lines.source import verbose_linfo
from bpf.verifier.log.log import BPF_LOG_LEVEL2
from bpf.verifier.paths.may_goto import MAY_GOTO

_CALL: Final = BPF_JMP | BPF_CALL
NAMES: Final = (_CALL, BPF_LD_IMM64)  # what may name a function
_SHAPING: Final = frozenset({BPF_LD, BPF_JMP, BPF_JMP32})  # classes that say something of a function's shape
_PLAIN: Final = frozenset(
    code for code in range(256) if code & 7 not in _SHAPING
)  # each goes on to the next instruction
_EXPLORED: Final = bytes([EXPLORED])
_FALLEN_THROUGH: Final = bytes([DISCOVERED | FALLTHROUGH])
_LAST: Final = (BPF_JMP | BPF_EXIT, BPF_JMP32 | BPF_JA, BPF_JMP | BPF_JA)  # how a function may end


def is_pseudo_call(insn: Insn) -> bool:
    """A call of another function of the program."""
    return insn.code == _CALL and insn.src_reg == BPF_PSEUDO_CALL


def is_pseudo_func(insn: Insn) -> bool:
    """A load of the address of another function of the program."""
    return insn.code == BPF_LD_IMM64 and insn.src_reg == BPF_PSEUDO_FUNC


def is_pseudo_kfunc_call(insn: Insn) -> bool:
    """A call of a kernel function."""
    return insn.code == _CALL and insn.src_reg == BPF_PSEUDO_KFUNC_CALL


# ---- functions ----


def add_subprogs_and_kfuncs(env: Env) -> None:
    """Find all functions, and all kernel functions that are called."""
    starts = {0}
    for i, insn in enumerate(env.insns):
        if insn.code not in NAMES:
            continue
        calls_subprog = is_pseudo_call(insn) or (is_pseudo_func(insn) and env.rules.callbacks)
        if not calls_subprog and not (is_pseudo_kfunc_call(insn) and env.rules.kfunc):
            continue
        if not env.bpf_capable:
            what = "loading/calling other bpf or kernel functions are"
            if not env.rules.kfunc:
                what = "function calls to other bpf functions are"
            env.reject(EPERM, f"{what} allowed for CAP_BPF and CAP_SYS_ADMIN")
        if calls_subprog:
            _add_subprog(env, starts, i + insn.imm + 1)
        else:
            add_kfunc_call(env, insn.imm, insn.off)
    callback = callback_start(env) if env.rules.exceptions else 0
    if callback:
        _add_subprog(env, starts, callback)
    env.subprogs = [SubprogInfo(start) for start in sorted(starts)]
    env.subprogs.append(SubprogInfo(len(env.insns)))
    if callback:
        env.exception_callback = env.find_subprog(callback)
        info = env.subprogs[env.exception_callback]
        info.is_cb = info.is_async_cb = info.is_exception_cb = True
    if env.level & BPF_LOG_LEVEL2:
        for number, subprog in enumerate(env.subprogs[:-1]):
            env.verbose(f"func#{number} @{subprog.start}\n")


def _add_subprog(env: Env, starts: set[int], start: int) -> None:
    if start >= len(env.insns) or start < 0:
        env.reject(EINVAL, "call to invalid destination")
    if start not in starts and len(starts) >= BPF_MAX_SUBPROGS:
        env.reject(E2BIG, "too many subprograms")
    starts.add(start)


def check_subprogs(env: Env) -> None:
    """Functions are not left except by call and exit."""
    for number, subprog in enumerate(env.subprogs[:-1]):
        end = env.subprogs[number + 1].start
        shaping = [i for i, insn in enumerate(env.insns[subprog.start : end], subprog.start) if insn.cls in _SHAPING]
        for i in shaping:
            insn = env.insns[i]
            if insn.cls == BPF_LD:
                subprog.has_ld_abs |= insn.mode in (BPF_ABS, BPF_IND)
            else:
                _note_tail_call(subprog, insn)
                if insn.op == BPF_EXIT:
                    subprog.exit_idx = i
                elif insn.code != BPF_GOTOX or not env.rules.indirect_jumps_named:
                    _check_jump_inside(env, i, insn, subprog.start, end)
        last = env.insns[end - 1].code
        if last == BPF_GOTOX and env.rules.indirect_jumps_named:
            continue
        if last not in _LAST or (last == BPF_JMP32 | BPF_JA and not env.rules.jump_by_imm):
            env.reject(EINVAL, "last insn is not an exit or jmp")


def _note_tail_call(subprog: SubprogInfo, insn: Insn) -> None:
    if insn.code == _CALL and insn.imm == uapi.BPF_FUNC_tail_call and insn.src_reg != BPF_PSEUDO_CALL:
        subprog.has_tail_call = True


def _check_jump_inside(env: Env, i: int, insn: Insn, start: int, end: int) -> None:
    if insn.op in (BPF_EXIT, BPF_CALL):
        return
    distance = insn.imm if insn.code == BPF_JMP32 | BPF_JA and env.rules.jump_by_imm else insn.off
    target = i + distance + 1
    if target < start or target >= end:
        env.reject(EINVAL, f"jump out of range from insn {i} to {target}")


# ---- control flow ----


class _Walk:
    """A depth-first search without recursion; `state` has where each instruction stands in it.

    A stretch without jumps stands on the stack as its last instruction: whoever is back there is through with all of it.
    """

    def __init__(self, env: Env) -> None:
        self.env = env
        self.state = bytearray(len(env.insns))
        self.stack = [0]
        self.state[0] = DISCOVERED
        self.begins: dict[int, int] = {}  # of a stretch by its last instruction
        self.plain = bytes([insn.code in _PLAIN for insn in env.insns])

    def run(self) -> None:
        stack, state, plain, begins = self.stack, self.state, self.plain, self.begins
        while stack:
            here = stack[-1]
            if plain[here] and state[here] == DISCOVERED:
                here = stack[-1] = self._straight(here)
            if self._visit(here):
                continue
            begin = begins.pop(here, here)
            state[begin : here + 1] = _EXPLORED * (here + 1 - begin)
            stack.pop()

    def _straight(self, here: int) -> int:
        """Down a stretch without jumps, whose only edges _push() would follow; answers where it ends."""
        end = self.plain.find(0, here)
        new = self.state[here + 1 : end + 1 if end >= 0 else None]
        count = len(new) - len(new.lstrip(b"\0"))  # nobody was there yet
        if count:
            last = here + count
            self.state[here:last] = _FALLEN_THROUGH * count
            self.state[last] = DISCOVERED
            self.begins[last] = here
            return last
        return here

    def _push(self, here: int, there: int, edge: int, loop_ok: bool) -> bool:
        """Follow one edge; True if there is something new at its end."""
        env, state = self.env, self.state
        if state[here] >= DISCOVERED | edge:
            return False
        if there < 0 or there >= len(state):
            verbose_linfo(env, here, f"{here}: ")
            env.reject(EINVAL, f"jump out of range from insn {here} to {there}")
        if edge == BRANCH:
            env.aux[there].prune_point = True
            env.aux[there].jmp_point = True
        if state[there] == 0:
            state[here] = DISCOVERED | edge
            state[there] = DISCOVERED
            if len(self.stack) >= len(state):
                env.reject(E2BIG)
            self.stack.append(there)
            return True
        if state[there] & 0xF0 == DISCOVERED:
            if (loop_ok or env.rules.any_cycle) and env.allow_loops:
                return False
            verbose_linfo(env, here, f"{here}: ")
            verbose_linfo(env, there, f"{there}: ")
            env.reject(EINVAL, f"back-edge from insn {here} to {there}")
        if state[there] != EXPLORED:
            env.reject(EFAULT, "insn state internal bug")
        state[here] = DISCOVERED | edge
        return False

    def _visit(self, here: int) -> bool:
        env = self.env
        insn = env.insns[here]
        if is_pseudo_func(insn):
            return self._visit_call(here, insn, True)
        if insn.cls not in (BPF_JMP, BPF_JMP32):
            if insn.cls == BPF_LD and insn.mode in (BPF_ABS, BPF_IND):
                self._note_hidden_exit(here)
            size = 2 if insn.code == BPF_LD_IMM64 and env.rules.wide_imm64_in_cfg else 1
            return self._push(here, here + size, FALLTHROUGH, False)
        op = insn.op
        if op == BPF_EXIT:
            return False
        if op == BPF_CALL:
            if insn.imm == uapi.BPF_FUNC_tail_call and insn.src_reg == 0:
                self._note_hidden_exit(here)
            kfunc = env.kfunc_name(insn)
            if calls_back_later(insn, kfunc):
                # the callback is another path, which must find a checkpoint here
                env.aux[here].prune_point = True
            if env.rules.callbacks_are_loops and calls_back_now(insn, kfunc):
                aux = env.aux[here]
                aux.calls_callback = aux.force_checkpoint = aux.prune_point = aux.jmp_point = True
            if insn.src_reg == BPF_PSEUDO_KFUNC_CALL and env.rules.slot_objects and asks_iterator(env, insn):
                env.aux[here].prune_point = env.aux[here].force_checkpoint = True
            return self._visit_call(here, insn, insn.src_reg == BPF_PSEUDO_CALL)
        if op == BPF_JA:
            return self._visit_goto(here, insn)
        env.aux[here].prune_point = True
        if insn.code == MAY_GOTO:
            env.aux[here].force_checkpoint = True
        return self._push(here, here + 1, FALLTHROUGH, True) or self._push(here, here + insn.off + 1, BRANCH, True)

    def _visit_goto(self, here: int, insn: Insn) -> bool:
        if insn.src_kind == BPF_X:
            return self._visit_indirect(here)
        rules = self.env.rules
        target = here + (insn.imm if insn.cls == BPF_JMP32 and rules.jump_by_imm else insn.off) + 1
        if self._push(here, target, FALLTHROUGH, True):
            return True
        self.env.aux[target].prune_point = True
        self.env.aux[target].jmp_point = True
        if rules.prune_after_goto and here + 1 < len(self.env.insns):
            self.env.aux[here + 1].prune_point = True
        return False

    def _visit_indirect(self, here: int) -> bool:
        """visit_gotox_insn(): to any place of the function's tables."""
        env, state = self.env, self.state
        if not env.rules.indirect_jumps_named:
            env.reject(EINVAL)
        aux = env.aux[here]
        if aux.jumps is None:
            aux.jumps = self._jumps(here)
        aux.prune_point = True
        more = False
        for there in aux.jumps:
            env.aux[there].jmp_point = True
            if not state[there]:
                if len(self.stack) >= len(state):
                    env.reject(E2BIG)
                self.stack.append(there)
                state[there] = DISCOVERED
                more = True
        return more

    def _jumps(self, here: int) -> tuple[int, ...]:
        """create_jt(): tables whose first place is in the function must be in it as a whole."""
        env = self.env
        number = env.function_of(here)
        start, end = env.subprogs[number].start, env.subprogs[number + 1].start
        tables = [table.places for table in env.jump_tables if start <= min(table.places) < end]
        if not tables:
            env.reject(EINVAL, f"no jump tables found for subprog starting at {start}")
        places = sorted({place for table in tables for place in table})
        if places[-1] >= end:
            env.reject(EINVAL, f"jump table for insn {here} points outside of the subprog [{start},{end}]")
        return tuple(places)

    def _note_hidden_exit(self, here: int) -> None:
        """visit_abnormal_return_insn(): a tail call, or a load from a packet that is too short, leaves the function."""
        env = self.env
        if env.rules.static_liveness:
            env.aux[here].jumps = here + 1, env.subprogs[env.function_of(here)].exit_idx

    def _visit_call(self, here: int, insn: Insn, visit_callee: bool) -> bool:
        env = self.env
        size = 2 if insn.code == BPF_LD_IMM64 else 1
        if self._push(here, here + size, FALLTHROUGH, False):
            return True
        env.aux[here + size].prune_point = True
        env.aux[here + size].jmp_point = True
        if not visit_callee:
            return False
        env.aux[here].prune_point = True
        return self._push(here, here + insn.imm + 1, BRANCH, is_pseudo_func(insn))


def check_cfg(env: Env) -> None:
    """Every instruction is reachable, and there is no loop where none is allowed."""
    walk = _Walk(env)
    walk.run()
    if env.exception_callback:  # which nobody calls
        start = env.subprogs[env.exception_callback].start
        walk.state[start] = DISCOVERED
        walk.stack = [start]
        walk.run()
    high = -1  # second half of a wide instruction
    for i, (state, insn) in enumerate(zip(list(walk.state), env.insns)):
        if i == high:
            if state != 0:
                env.reject(EINVAL, f"jump into the middle of ldimm64 insn {i - 1}")
        elif state != EXPLORED:
            env.reject(EINVAL, f"unreachable insn {i}")
        elif insn.code == BPF_LD_IMM64 and env.rules.wide_imm64_in_cfg:
            high = i + 1
    if not env.rules.jump_points:
        for aux in env.aux:
            aux.jmp_point = aux.prune_point


# ---- stack depth ----


def _rounded_depth(env: Env, subprog: SubprogInfo) -> int:
    if env.rules.stack_in_16_bytes and env.request.jit_requested:
        return (subprog.stack_depth + 15) // 16 * 16
    return (max(subprog.stack_depth, 1) + 31) // 32 * 32


def check_max_stack_depth(env: Env) -> None:
    """No chain of calls uses more than 512 bytes of stack or 8 frames."""
    for number in range(env.subprog_cnt):
        if number == 0 or env.subprogs[number].is_async_cb:
            _check_depth_from(env, number)


def _check_depth_from(env: Env, root: int) -> None:
    subprogs = env.subprogs
    callers: list[tuple[int, int]] = []  # (instruction to go on at, function)
    depth, number, i = 0, root, subprogs[root].start
    tail_call_reachable = False
    depth = _enter_function(env, number, depth, len(callers))
    while True:
        callee, i = _next_callee(env, number, i, (caller for _, caller in callers))
        if callee < 0:
            if tail_call_reachable:
                for _, caller in callers:
                    if subprogs[caller].is_exception_cb:
                        env.reject(EINVAL, "cannot tail call within exception cb")
                    subprogs[caller].tail_call_reachable = True
            if subprogs[0].tail_call_reachable:
                env.facts.tail_call_reachable = True
            if not callers:
                return
            depth -= _rounded_depth(env, subprogs[number])
            i, number = callers.pop()
            continue
        callers.append((i, number))
        number = callee
        i = subprogs[number].start
        tail_call_reachable |= subprogs[number].has_tail_call
        if len(callers) >= env.call_frames:
            env.reject(E2BIG, f"the call stack of {len(callers)} frames is too deep !")
        depth = _enter_function(env, number, depth, len(callers))


def _enter_function(env: Env, number: int, depth: int, frame: int) -> int:
    """Depth with this function's frame on top."""
    if number and env.subprogs[number].has_tail_call and depth >= 256:
        env.reject(
            EACCES,
            f"tail_calls are not allowed when call stack of previous frames is {depth} bytes. Too large",
        )
    depth += _rounded_depth(env, env.subprogs[number])
    if depth > MAX_BPF_STACK:
        env.reject(EACCES, f"combined stack size of {frame + 1} calls is {depth}. Too large")
    return depth


def _next_callee(env: Env, number: int, i: int, callers: Iterable[int]) -> tuple[int, int]:
    """(next function called from instruction i on, instruction after the call); -1: none."""
    in_callback = env.throws and any(env.subprogs[each].is_cb for each in (number, *callers))
    end = env.subprogs[number + 1].start
    while i < end:
        insn = env.insns[i]
        i += 1
        if in_callback and env.kfunc_name(insn) == THROW:
            where = f"cannot be called from callback subprog {number}"
            env.reject(EINVAL, f"bpf_throw kfunc (insn {i - 1}) {where}")
        if insn.code not in NAMES or (not is_pseudo_call(insn) and not is_pseudo_func(insn)):
            continue
        callee = env.find_subprog(i + insn.imm)
        if callee < 0:
            env.reject(EFAULT)
        if env.subprogs[callee].is_async_cb:
            if env.subprogs[callee].has_tail_call:
                env.reject(EFAULT, "verifier bug. subprog has tail_call and async cb")
            if not is_pseudo_call(insn):
                continue  # it runs some time later, on a stack of its own
            if env.subprogs[callee].is_exception_cb:
                end_of_line = "" if env.rules.more_call_frames else "\n"  # lost in 7.2
                env.verbose(f"insn {i - 1} cannot call exception cb directly{end_of_line}")
                env.reject(EINVAL)
        return callee, i
    return -1, i
