"""seccomp: which system calls a task may make.  kernel/seccomp.c, net/core/filter.c:bpf_check_classic().

A filter is classic BPF over struct seccomp_data (number, architecture, instruction pointer, six arguments).  It is checked once
and turned into rows of plain Python values; running one costs about a microsecond per ten instructions.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import EACCES, EINVAL, ENOSYS, EOPNOTSUPP, MAX_ERRNO
from arch.abi.limits import U32_MAX
from arch.abi.ptrace import PTRACE_EVENT_SECCOMP
from arch.abi.signal import SIGKILL, SIGSYS
from arch.errors import KernelError
from bpf.uapi import BPF_MAXINSNS
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.ptrace.stops import event_enabled, report_event
from simkernel.kernel.task import SigInfo, Task

# include/uapi/linux/seccomp.h
SECCOMP_MODE_STRICT, SECCOMP_MODE_FILTER = 1, 2
SECCOMP_SET_MODE_STRICT, SECCOMP_SET_MODE_FILTER, SECCOMP_GET_ACTION_AVAIL, SECCOMP_GET_NOTIF_SIZES = range(4)
FLAG_TSYNC, FLAG_LOG, FLAG_SPEC_ALLOW, FLAG_NEW_LISTENER, FLAG_TSYNC_ESRCH, FLAG_WAIT_KILLABLE = (
    1 << n for n in range(6)
)
RET_KILL_PROCESS, RET_KILL_THREAD, RET_TRAP, RET_ERRNO = 0x80000000, 0, 0x00030000, 0x00050000
RET_USER_NOTIF, RET_TRACE, RET_LOG, RET_ALLOW = 0x7FC00000, 0x7FF00000, 0x7FFC0000, 0x7FFF0000
ACTIONS = (RET_KILL_PROCESS, RET_KILL_THREAD, RET_TRAP, RET_ERRNO, RET_USER_NOTIF, RET_TRACE, RET_LOG, RET_ALLOW)
NOTIF, NOTIF_RESP, DATA_SIZE = 80, 24, 64
MAX_INSNS_PER_PATH = 32768
WORK_SECCOMP = 1  # SYSCALL_WORK_SECCOMP
SYS_SECCOMP = 1
STRICT_CALLS = ("read", "write", "exit", "rt_sigreturn", "sigreturn")

# include/uapi/linux/bpf_common.h
BPF_LD, BPF_LDX, BPF_ST, BPF_STX, BPF_ALU, BPF_JMP, BPF_RET, BPF_MISC = range(8)
LD_W_ABS, LD_W_LEN, LDX_W_LEN, LD_IMM, LDX_IMM, LD_MEM, LDX_MEM = 0x20, 0x80, 0x81, 0x00, 0x01, 0x60, 0x61
RET_K, RET_A, TAX, TXA, JA, ST, STX = 0x06, 0x16, 0x07, 0x87, 0x05, 0x02, 0x03
ALU: dict[int, Callable[[int, int], int]] = {
    0x00: lambda a, b: a + b, 0x10: lambda a, b: a - b, 0x20: lambda a, b: a * b, 0x30: lambda a, b: a // b,
    0x40: lambda a, b: a | b, 0x50: lambda a, b: a & b, 0x60: lambda a, b: a << b if b < 32 else 0,
    0x70: lambda a, b: a >> b if b < 32 else 0, 0x80: lambda a, b: -a, 0xA0: lambda a, b: a ^ b,
}  # fmt: skip
JUMPS: dict[int, Callable[[int, int], bool]] = {
    0x10: lambda a, b: a == b, 0x20: lambda a, b: a > b, 0x30: lambda a, b: a >= b, 0x40: lambda a, b: bool(a & b),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Insn:
    """struct sock_filter."""

    code: int
    jt: int
    jf: int
    k: int


class Filter:
    """struct seccomp_filter: one program, and the one that was there before it."""

    def __init__(self, insns: list[Insn], prev: Filter | None, log: bool) -> None:
        self.insns, self.prev, self.log = insns, prev, log
        self.total: int = len(insns) + (prev.total + 4 if prev is not None else 0)

    def run(self, data: bytes, order: str) -> int:
        """What this program says to one call."""
        words = struct.unpack(order + "16I", data)
        a = x = pc = 0
        memory = [0] * 16
        while True:
            insn = self.insns[pc]
            code, k = insn.code, insn.k
            pc += 1
            kind = code & 7
            if code == LD_W_ABS:
                a = words[k >> 2]
            elif kind == BPF_JMP:
                pc += k if code == JA else insn.jt if JUMPS[code & 0xF0](a, x if code & 8 else k) else insn.jf
            elif kind == BPF_RET:
                return a if code == RET_A else k
            elif kind == BPF_ALU:
                operand = x if code & 8 else k
                if code & 0xF0 == 0x30 and not operand:
                    return 0
                a = ALU[code & 0xF0](a, operand) & U32_MAX
            elif code in (LD_IMM, LD_MEM, LD_W_LEN):
                a = DATA_SIZE if code == LD_W_LEN else memory[k] if code == LD_MEM else k
            elif code in (LDX_IMM, LDX_MEM, LDX_W_LEN):
                x = DATA_SIZE if code == LDX_W_LEN else memory[k] if code == LDX_MEM else k
            elif code == TAX:
                x = a
            elif code == TXA:
                a = x
            else:
                memory[k] = a if code == ST else x


def _known(insn: Insn) -> bool:
    """seccomp_check_filter() of one instruction."""
    code, k = insn.code, insn.k
    if code == LD_W_ABS:
        return k < DATA_SIZE and not k & 3
    if code in (LD_W_LEN, LDX_W_LEN, LD_IMM, LDX_IMM, RET_K, RET_A, TAX, TXA, JA):
        return True
    if code in (LD_MEM, LDX_MEM, ST, STX):
        return k < 16
    if code & 7 == BPF_ALU:
        op = code & 0xF0
        shift = op in (0x60, 0x70) and not code & 8 and k >= 32
        return op in ALU and (op != 0x80 or not code & 8) and not (op == 0x30 and not code & 8 and not k) and not shift
    return code & 7 == BPF_JMP and code & 0xF0 in JUMPS and not code & ~0xFD


def check_classic(insns: list[Insn]) -> None:
    """bpf_check_classic() and check_load_and_stores().  EINVAL."""
    count = len(insns)
    written: list[int] = [0xFFFF] * (count + 1)  # slots of memory that every way to here has written
    valid = 0
    for pc, insn in enumerate(insns):
        valid &= written[pc]
        if not _known(insn):
            raise KernelError(EINVAL)
        if insn.code in (ST, STX):
            valid |= 1 << insn.k
        elif insn.code in (LD_MEM, LDX_MEM) and not valid >> insn.k & 1:
            raise KernelError(EINVAL)
        elif insn.code & 7 == BPF_JMP:
            steps = (insn.k,) if insn.code == JA else (insn.jt, insn.jf)
            if any(step >= count - pc - 1 for step in steps):
                raise KernelError(EINVAL)
            for step in steps:
                written[pc + 1 + step] &= valid
            valid = 0xFFFF
    if insns[-1].code not in (RET_K, RET_A):
        raise KernelError(EINVAL)


def _read_filter(k: KernelFace, address: int) -> list[Insn]:
    """struct sock_fprog and its instructions.  EFAULT, EINVAL."""
    word, order = k.arch.word, k.mem.byteorder
    count, where = k.usercopy.get_user(address, 2), k.usercopy.get_user(address + word, word)
    if not 0 < count <= BPF_MAXINSNS:
        raise KernelError(EINVAL)
    raw = k.usercopy.copy_from_user(where, 8 * count)
    return [Insn(*struct.unpack_from(("<" if order == "little" else ">") + "HBBI", raw, 8 * i)) for i in range(count)]


def seccomp_data(k: KernelFace, regs: int, nr: int) -> bytes:
    """struct seccomp_data of the call that is being made."""
    order = "<" if k.mem.byteorder == "little" else ">"
    args = [k.regs.get(regs, field) for field in k.abi.args]
    ip = k.regs.get(regs, k.arch.instruction_pointer)
    return struct.pack(order + "iIQ6Q", nr, k.arch.calls.audit_arch, ip, *args)


def run_filters(k: KernelFace, task: Task, data: bytes) -> int:
    """seccomp_run_filters(): the most severe of what all programs say."""
    order = "<" if k.mem.byteorder == "little" else ">"
    worst, severity = RET_ALLOW, _severity(RET_ALLOW)
    found = task.seccomp_filter
    while isinstance(found, Filter):
        value = found.run(data, order)
        if _severity(value) < severity:
            worst, severity = value, _severity(value)
        found = found.prev
    return worst


def _severity(value: int) -> int:
    """The action as a signed number: the smaller, the more severe."""
    action = value & 0xFFFF0000
    return action - (1 << 32) if action >> 31 else action


@kernel_function("int __seccomp_filter(int this_syscall, const struct seccomp_data *sd, const bool recheck)",
                 source="kernel/seccomp.c")  # fmt: skip
def __seccomp_filter(k: KernelFace, nr: int, sd: int, recheck: int) -> Body:
    """0: the call is made; -1: it is not, and its result register says what it gives."""
    task, regs = k.current, k.current.regs
    value = run_filters(k, task, seccomp_data(k, regs, nr))
    action, data = value & 0xFFFF0000, value & 0xFFFF
    if action in (RET_ALLOW, RET_LOG):
        return 0
    if action == RET_ERRNO:
        k.regs.set(regs, k.abi.result, -min(data, MAX_ERRNO))
        return -1
    if action == RET_TRAP:
        k.regs.set(regs, k.abi.result, nr)
        info = SigInfo(SIGSYS, SYS_SECCOMP)
        info.addr, info.errno, info.call = (
            k.regs.get(regs, k.arch.instruction_pointer),
            data,
            (nr, k.arch.calls.audit_arch),
        )
        k.signals.force_info(task, info)
        return -1
    if action == RET_TRACE:
        k.regs.set(regs, k.abi.result, -ENOSYS)
        if not event_enabled(task, PTRACE_EVENT_SECCOMP):
            return -1
        yield from report_event(k, PTRACE_EVENT_SECCOMP, data)
        number = k.regs.get(regs, k.regs.orig_field) & U32_MAX
        return -1 if k.regs.orig_field != k.abi.result and number == U32_MAX else 0
    if action == RET_USER_NOTIF:  # nobody listens
        k.regs.set(regs, k.abi.result, -ENOSYS)
        return -1
    alone = action != RET_KILL_THREAD or len(task.signal.threads) == 1
    yield k.call("do_group_exit" if alone else "do_exit", SIGSYS)
    return -1


@kernel_function("int __secure_computing(const struct seccomp_data *sd)", source="kernel/seccomp.c", since="4.8")
def __secure_computing(k: KernelFace, sd: int) -> Body:
    """0: go on; -1: the call is not made."""
    task = k.current
    if task.seccomp_mode == SECCOMP_MODE_STRICT:
        if k.syscalls.names.get(task.syscall_nr) not in STRICT_CALLS:
            yield k.call("do_exit", SIGKILL)
        return 0
    return (yield k.call("__seccomp_filter", task.syscall_nr, 0, 0))


def secure_computing(k: KernelFace) -> Steps[bool]:
    """At every system call of a task that has a mode: may it be made?"""
    if k.version.at_least("4.8"):
        return (yield k.call("__secure_computing", 0)) == 0
    return (yield from __secure_computing(k, 0)) == 0


# -- setting -----------------------------------------------------------------------------------------------------------


def _enter(task: Task, mode: int) -> None:
    task.seccomp_mode = mode
    task.syscall_work |= WORK_SECCOMP


def _strict(k: KernelFace) -> int:
    if k.current.seccomp_mode not in (0, SECCOMP_MODE_STRICT):
        raise KernelError(EINVAL)
    _enter(k.current, SECCOMP_MODE_STRICT)
    return 0


def _filter(k: KernelFace, flags: int, address: int) -> int:
    """seccomp_set_mode_filter().  EINVAL, EACCES, EFAULT, ENOMEM, ESRCH."""
    task = k.current
    known = FLAG_TSYNC | FLAG_LOG | FLAG_SPEC_ALLOW | FLAG_NEW_LISTENER | FLAG_TSYNC_ESRCH | FLAG_WAIT_KILLABLE
    if flags & ~known or (flags & FLAG_TSYNC and flags & FLAG_NEW_LISTENER and not flags & FLAG_TSYNC_ESRCH):
        raise KernelError(EINVAL)
    if flags & FLAG_WAIT_KILLABLE and not flags & FLAG_NEW_LISTENER:
        raise KernelError(EINVAL)
    insns = _read_filter(k, address)
    if not task.no_new_privs and not k.capable(CAP_SYS_ADMIN):
        raise KernelError(EACCES)
    check_classic(insns)
    if flags & FLAG_NEW_LISTENER:
        raise KernelError(EINVAL, "there are no listeners here")
    if task.seccomp_mode == SECCOMP_MODE_STRICT:
        raise KernelError(EINVAL)
    prev = task.seccomp_filter if isinstance(task.seccomp_filter, Filter) else None
    new = Filter(insns, prev, bool(flags & FLAG_LOG))
    for thread in list(task.signal.threads) if flags & FLAG_TSYNC else [task]:
        if thread is not task and thread.seccomp_filter not in (None, prev):
            return thread.pid  # one that went its own way
    for thread in list(task.signal.threads) if flags & FLAG_TSYNC else [task]:
        thread.seccomp_filter = new
        thread.seccomp_filters += 1
        thread.no_new_privs = thread.no_new_privs or task.no_new_privs
        _enter(thread, SECCOMP_MODE_FILTER)
    return 0


def do_seccomp(k: KernelFace, op: int, flags: int, address: int) -> int:
    """seccomp(2) and prctl(PR_SET_SECCOMP).  EINVAL, EFAULT, EOPNOTSUPP."""
    if op == SECCOMP_SET_MODE_STRICT:
        if flags or address:
            raise KernelError(EINVAL)
        return _strict(k)
    if op == SECCOMP_SET_MODE_FILTER:
        return _filter(k, flags, address)
    if op == SECCOMP_GET_ACTION_AVAIL:
        if flags:
            raise KernelError(EINVAL)
        if k.usercopy.get_user(address, 4) not in ACTIONS:
            raise KernelError(EOPNOTSUPP)
        return 0
    if op == SECCOMP_GET_NOTIF_SIZES:
        if flags:
            raise KernelError(EINVAL)
        order = "<" if k.mem.byteorder == "little" else ">"
        k.usercopy.copy_to_user(address, struct.pack(order + "HHH", NOTIF, NOTIF_RESP, DATA_SIZE))
        return 0
    raise KernelError(EINVAL)


@syscall("seccomp", "unsigned int op, unsigned int flags, void *uargs", source="kernel/seccomp.c", since="3.17")
def sys_seccomp(k: KernelFace, op: int, flags: int, uargs: int) -> int:
    """By operation."""
    return do_seccomp(k, op, flags, uargs)


def prctl_set_seccomp(k: KernelFace, mode: int, address: int) -> int:
    """PR_SET_SECCOMP.  EINVAL."""
    if mode == SECCOMP_MODE_STRICT:
        return do_seccomp(k, SECCOMP_SET_MODE_STRICT, 0, 0)
    if mode == SECCOMP_MODE_FILTER:
        return do_seccomp(k, SECCOMP_SET_MODE_FILTER, 0, address)
    raise KernelError(EINVAL)
