"""How each field of each context is really read and written: one table per context, one row per field.

The convert_ctx_access() member of each bpf_verifier_ops: net/core/filter.c (packets.py, sockets.py), and here
kernel/bpf/cgroup.c, kernel/trace/bpf_trace.c of Linux 6.1.
"""

from __future__ import annotations

from dataclasses import replace

from arch.records import dataclass
from bpf.verifier.context.ctx_layout import (
    BPF_SK_LOOKUP,
    BPF_SOCK,
    BPF_SOCK_ADDR,
    BPF_SOCK_OPS,
    BPF_SOCKOPT,
    BPF_SYSCTL,
    BPF_TCP_SOCK,
    BPF_XDP_SOCK,
    SK_BUFF,
    SK_MSG_MD,
    SK_REUSEPORT_MD,
    XDP_MD,
    CtxLayout,
)
from bpf.verifier.rewrite.emit import (
    ldx,
    stx,
)
from bpf.verifier.rewrite.fields import (
    Made,
    Row,
    Use,
    field,
    follow,
    sized,
    temp,
    through,
)
from bpf.verifier.rewrite.packets import FLOW_DISSECTOR, SKB, SKB_STREAM, SKB_TC, XDP
from bpf.verifier.rewrite.sockets import (
    SK_LOOKUP,
    SK_MSG,
    SK_REUSEPORT,
    SOCK,
    SOCK_ADDR,
    SOCK_OPS,
    TCP_SOCK,
    XDP_SOCK,
    zero,
)

# -- control groups ------------------------------------------------------------------------------------


def _file_pos(use: Use) -> Made:
    """*ppos, of which the program sees the low 32 bits."""
    ppos, word, *_ = use.kernel.place("bpf_sysctl_kern.ppos")
    temp_off = use.kernel.offset("bpf_sysctl_kern.tmp_reg")
    if not use.write:
        low = 0 if use.kernel.byteorder == "little" else 8 - use.size
        return [ldx(word, use.dst, use.src, ppos), ldx(use.size, use.dst, use.dst, low)], 4
    reg = temp(use)
    return [
        stx(8, use.dst, reg, temp_off),
        ldx(word, reg, use.dst, ppos),
        stx(4, reg, use.src, 0 if use.kernel.byteorder == "little" else 4),
        ldx(8, reg, use.dst, temp_off),
    ], 4


SYSCTL: dict[str, Row] = {"write": sized("bpf_sysctl_kern.write", target=4), "file_pos": _file_pos}


def _sockopt_retval(use: Use) -> Made:
    """current->bpf_ctx->retval; before 5.18 it is in the context itself."""
    if use.kernel.has("bpf_sockopt_kern.retval"):
        return field("bpf_sockopt_kern.retval", target=False)(use)
    task, word, *_ = use.kernel.place("bpf_sockopt_kern.current_task")
    temp_off = use.kernel.offset("bpf_sockopt_kern.tmp_reg")
    ctx, retval = use.kernel.offset("task_struct.bpf_ctx"), use.kernel.offset("bpf_cg_run_ctx.retval")
    if not use.write:
        loads = [ldx(word, use.dst, use.src, task), ldx(word, use.dst, use.dst, ctx)]
        return [*loads, ldx(4, use.dst, use.dst, retval)], 0
    reg = temp(use)
    return [
        stx(8, use.dst, reg, temp_off),
        ldx(word, reg, use.dst, task),
        ldx(word, reg, reg, ctx),
        stx(4, reg, use.src, retval),
        ldx(8, reg, use.dst, temp_off),
    ], 0


SOCKOPT: dict[str, Row] = {
    **{entry.name: field(f"bpf_sockopt_kern.{entry.name}", target=False) for entry in BPF_SOCKOPT.fields[:6]},
    "retval": _sockopt_retval,
}

# -- struct bpf_perf_event_data --------------------------------------------------------------------------


def perf_event(use: Use, regs_size: int) -> Made:
    """Registers first; then sample_period and addr, which are in struct perf_sample_data."""
    if use.off >= regs_size:
        path = "perf_sample_data.period" if use.off < regs_size + 8 else "perf_sample_data.addr"
        return through("bpf_perf_event_data_kern.data", path)(use)
    return [follow(use, "bpf_perf_event_data_kern.regs"), ldx(use.kernel.word, use.dst, use.dst, use.off)], 0


# -- finding the row --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Converter:
    """A context's layout and its rows, by byte offset."""

    layout: CtxLayout
    rows: dict[str, Row]

    def __call__(self, use: Use) -> Made:
        """The instructions for one access; nothing if no field starts there."""
        for entry in self.layout.fields:
            if use.off == entry.offset or (entry.count > 1 and entry.offset < use.off < entry.end):
                row = self.rows.get(entry.name)
                return row(replace(use, at=use.off - entry.offset)) if row else ([], 0)
        return [], 0


def convert_sk_lookup(use: Use) -> Made:
    """As the table says, but the padding after the port reads as zero."""
    if use.off == BPF_SK_LOOKUP["remote_port"].end:
        return zero(use)
    return _SK_LOOKUP(use)


_SK_LOOKUP = Converter(BPF_SK_LOOKUP, SK_LOOKUP)

CONVERT_SKB = Converter(SK_BUFF, SKB)
CONVERT_SKB_TC = Converter(SK_BUFF, SKB_TC)
CONVERT_SKB_STREAM = Converter(SK_BUFF, SKB_STREAM)
CONVERT_FLOW_DISSECTOR = Converter(SK_BUFF, FLOW_DISSECTOR)
CONVERT_XDP = Converter(XDP_MD, XDP)
CONVERT_SOCK = Converter(BPF_SOCK, SOCK)
CONVERT_TCP_SOCK = Converter(BPF_TCP_SOCK, TCP_SOCK)
CONVERT_XDP_SOCK = Converter(BPF_XDP_SOCK, XDP_SOCK)
CONVERT_SOCK_ADDR = Converter(BPF_SOCK_ADDR, SOCK_ADDR)
CONVERT_SOCK_OPS = Converter(BPF_SOCK_OPS, SOCK_OPS)
CONVERT_SK_MSG = Converter(SK_MSG_MD, SK_MSG)
CONVERT_SK_REUSEPORT = Converter(SK_REUSEPORT_MD, SK_REUSEPORT)
CONVERT_SYSCTL = Converter(BPF_SYSCTL, SYSCTL)
CONVERT_SOCKOPT = Converter(BPF_SOCKOPT, SOCKOPT)
