"""Contexts of tracing programs: registers, trace records, arguments.

The is_valid_access() functions of kernel/trace/bpf_trace.c of Linux 6.1, and the others that no table of fields describes.
"""

from __future__ import annotations

from arch.abi.internal import READ
from arch.abi.limits import U16_MAX
from bpf import uapi
from bpf.verifier.context.ctx_rule import AccessInfo, CtxUser
from bpf.verifier.domain import types as t

PERF_MAX_TRACE_SIZE = 8192


def kprobe(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """kprobe_prog_is_valid_access(): all of struct pt_regs, which since 6.18 may be written, too: in uprobes."""
    limit = prog.pt_regs_size
    if not 0 <= off < limit or off % size or off + size > limit:
        return False
    info.writes_registers = access != READ
    return access == READ or prog.rules.registers_written


def tracepoint(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """tp_prog_is_valid_access(): the record without its first word, which is hidden.

    The kernel compares with the word's size as unsigned numbers, so an offset below zero passes.
    """
    return access == READ and (off < 0 or off >= 8) and off < PERF_MAX_TRACE_SIZE and off % size == 0


def perf_event(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """pe_prog_is_valid_access(): struct bpf_perf_event_data, registers, then sample_period and addr."""
    regs, word = prog.user_regs_size, prog.word_size
    if access != READ or not 0 <= off < regs + 16:
        return False
    if off % size and not (word == 4 and size == 8 and off % size == 4):
        return False
    if off >= regs:
        info.ctx_field_size = 8
        return True
    return bool(size == word)


def raw_tp(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """bpf_tracing_ctx_access(): twelve arguments of eight bytes."""
    return access == READ and 0 <= off < 8 * uapi.MAX_BPF_FUNC_ARGS and off % size == 0


def raw_tp_writable(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """raw_tp_writable_prog_is_valid_access(): the first argument is a buffer that may be written."""
    if off == 0:
        if size != 8 or access != READ:
            return False
        info.reg_type = t.PTR_TO_TP_BUFFER
    return raw_tp(prog, off, size, access, info)


def tracing_btf(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """bpf_tracing_btf_ctx_access(): arguments with the types the kernel's BTF gives them."""
    return raw_tp(prog, off, size, access, info) and bool(prog.btf_ctx_access(off, size, access, info))


def lsm(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """bpf_lsm_verifier_ops: BTF alone decides."""
    return bool(prog.btf_ctx_access(off, size, access, info))


def syscall(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """syscall_prog_is_valid_access(): whatever user space passes to BPF_PROG_TEST_RUN."""
    return 0 <= off < U16_MAX and (prog.rules.unaligned_syscall_context or off % size == 0)


def lirc_mode2(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """lirc_mode2_is_valid_access(): one u32."""
    return access == READ and off == 0 and size == 4
