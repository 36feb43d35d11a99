"""Which bytes of its context a program may read and write, and what it gets there.

The is_valid_access() member of each bpf_verifier_ops: net/core/filter.c, kernel/bpf/cgroup.c,
kernel/trace/bpf_trace.c of Linux 6.1.  Each program type is a table: byte offset to what reading and what writing
there needs (ctx_net.py).  Contexts that are arrays of kernel arguments (tracing, LSM, struct_ops) ask BTF instead, through
`prog.btf_ctx_access`.
"""

from __future__ import annotations

from collections.abc import Callable

from bpf import uapi
from bpf.verifier.context.ctx_net import (
    CG_DEV,
    CG_SKB,
    CG_SOCKOPT,
    FLOW_DISSECTOR,
    LWT,
    SK_FILTER,
    SK_MSG,
    SK_REUSEPORT,
    SK_SKB,
    SOCK_ADDR,
    SOCK_OPS,
    SYSCTL,
    TC_CLS_ACT,
    XDP,
    netfilter,
    sk_lookup,
    sock_filter,
)
from bpf.verifier.context.ctx_rule import AccessInfo, CtxUser
from bpf.verifier.context.ctx_tracing import (
    kprobe,
    lirc_mode2,
    lsm,
    perf_event,
    raw_tp,
    raw_tp_writable,
    syscall,
    tracepoint,
    tracing_btf,
)
from bpf.versions.program_types import types_where

Check = Callable[[CtxUser, int, int, int, AccessInfo], bool]

CHECKS: dict[int, Check] = {
    uapi.BPF_PROG_TYPE_SOCKET_FILTER: SK_FILTER.check,
    uapi.BPF_PROG_TYPE_KPROBE: kprobe,
    uapi.BPF_PROG_TYPE_SCHED_CLS: TC_CLS_ACT.check,
    uapi.BPF_PROG_TYPE_SCHED_ACT: TC_CLS_ACT.check,
    uapi.BPF_PROG_TYPE_TRACEPOINT: tracepoint,
    uapi.BPF_PROG_TYPE_XDP: XDP.check,
    uapi.BPF_PROG_TYPE_PERF_EVENT: perf_event,
    uapi.BPF_PROG_TYPE_CGROUP_SKB: CG_SKB.check,
    uapi.BPF_PROG_TYPE_CGROUP_SOCK: sock_filter,
    uapi.BPF_PROG_TYPE_LWT_IN: LWT.check,
    uapi.BPF_PROG_TYPE_LWT_OUT: LWT.check,
    uapi.BPF_PROG_TYPE_LWT_XMIT: LWT.check,
    uapi.BPF_PROG_TYPE_SOCK_OPS: SOCK_OPS.check,
    uapi.BPF_PROG_TYPE_SK_SKB: SK_SKB.check,
    uapi.BPF_PROG_TYPE_CGROUP_DEVICE: CG_DEV.check,
    uapi.BPF_PROG_TYPE_SK_MSG: SK_MSG.check,
    uapi.BPF_PROG_TYPE_RAW_TRACEPOINT: raw_tp,
    uapi.BPF_PROG_TYPE_CGROUP_SOCK_ADDR: SOCK_ADDR.check,
    uapi.BPF_PROG_TYPE_LWT_SEG6LOCAL: LWT.check,
    uapi.BPF_PROG_TYPE_LIRC_MODE2: lirc_mode2,
    uapi.BPF_PROG_TYPE_SK_REUSEPORT: SK_REUSEPORT.check,
    uapi.BPF_PROG_TYPE_FLOW_DISSECTOR: FLOW_DISSECTOR.check,
    uapi.BPF_PROG_TYPE_CGROUP_SYSCTL: SYSCTL.check,
    uapi.BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE: raw_tp_writable,
    uapi.BPF_PROG_TYPE_CGROUP_SOCKOPT: CG_SOCKOPT.check,
    uapi.BPF_PROG_TYPE_TRACING: tracing_btf,
    uapi.BPF_PROG_TYPE_STRUCT_OPS: tracing_btf,
    uapi.BPF_PROG_TYPE_LSM: lsm,
    uapi.BPF_PROG_TYPE_SK_LOOKUP: sk_lookup,
    uapi.BPF_PROG_TYPE_SYSCALL: syscall,
    uapi.BPF_PROG_TYPE_NETFILTER: netfilter,
}


def is_valid_access(prog: CtxUser, off: int, size: int, access: int, info: AccessInfo) -> bool:
    """env->ops->is_valid_access(): whether the program may touch these bytes of its context.

    `access` is READ or WRITE; `info` an AccessInfo, filled in.  A program that replaces another's function
    (BPF_PROG_TYPE_EXT) has the other's context; `prog.attach_prog` is it.
    """
    prog_type = prog.prog_type
    if prog_type == uapi.BPF_PROG_TYPE_EXT:
        target = prog.attach_prog
        prog_type = target.prog_type if target is not None else prog_type
    check = CHECKS.get(prog_type)
    return check is not None and check(prog, off, size, access, info)


# Program types whose verifier operations have these members.
HAS_GEN_LD_ABS = types_where(lambda row: "ld_abs" in row.traits)
HAS_CONVERT_CTX_ACCESS = types_where(lambda row: row.convert)
