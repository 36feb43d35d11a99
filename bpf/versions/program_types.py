"""All program types: a row each, with everything about a type that is not code.  Linux 3.18 to 7.2.

include/linux/bpf_types.h, the bpf_verifier_ops and bpf_prog_ops of each type, the rules of kernel/bpf/syscall.c about
loading and attaching, and section_defs[] of tools/lib/bpf/libbpf.c (libbpf 1.1).  What implements a row is found by the words
in it: `helpers` names the rule of bpf/verifier/protos/choose.py, `convert` the converter of
bpf/verifier/rewrite/ctx_access.py, `test_run` the runner of bpf/syscall/test_run.py, `kfuncs` the sets of
bpf/verifier/calls/kfuncs.py.  Everything else that knows program types is derived from here.

The patch set of January 2015 ("3.20-rfc") has a numbering of its own: RFC_PROGRAM_TYPES.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.version import KernelVersion
from arch.records import dataclass
from bpf import uapi

PACKETS = ("", "read", "write")
SECTION_FLAGS = ("exp", "opt", "btf", "sleep", "frags")
TRAITS = ("cgroup", "checked", "btf_target", "ld_abs", "perf", "no_prologue", "not_configured", "jit")


@dataclass(frozen=True, slots=True)
class AttachType:
    """One member of enum bpf_attach_type, as a row of the program type that is attached by it."""

    number: int
    name: str  # "CGROUP_INET_INGRESS"
    since: str
    named: bool  # attach_type_to_prog_type() leads from it to the program type


@dataclass(frozen=True, slots=True)
class SectionName:
    """A name of an ELF section that stands for the program type; bpf/loader/sections.py reads the words."""

    name: str  # "kprobe+"
    attach_type: int
    flags: tuple[str, ...]  # of SECTION_FLAGS
    attach: str  # method of bpf.loader.attach that auto-attach uses


@dataclass(frozen=True, slots=True)
class ProgramType:
    """One member of enum bpf_prog_type."""

    number: int
    name: str  # "SOCKET_FILTER"
    since: str
    commit: str
    context: tuple[str, ...]  # names of the struct that programs see; empty: arguments typed by BTF
    kernel_context: str  # the struct behind it
    helpers: str  # *_func_proto() that answers which helpers it may call
    kfuncs: str  # hook of its kfunc sets; empty: it may call none but the common ones
    kfuncs_since: str
    convert: str  # *_convert_ctx_access(); empty: the context is what the program sees
    test_run: str  # bpf_prog_test_run_*(); empty: ENOTSUPP
    needs: tuple[str, ...]  # capabilities that loading takes
    packets: str  # of PACKETS: may_access_direct_pkt_data()
    unclone: str  # what a program answers if the packet that it writes cannot be made its own
    attach_types: tuple[AttachType, ...]
    default_attach: str  # what zero stands for at load
    probe_attach: str  # what a probe of the type has to say it is for, where zero will not do
    sections: tuple[SectionName, ...]
    traits: frozenset[str]  # of TRAITS
    missing: str  # what of it is not simulated


PROGRAM_TYPES: dict[int, ProgramType] = {}
RFC_PROGRAM_TYPES: dict[int, ProgramType] = {}


def attach_number(name: str) -> int:
    """The number of an attach type: BPF_CGROUP_INET_INGRESS; 0 for no name."""
    return int(vars(uapi)[f"BPF_{name}"]) if name else 0


def _attach_types(text: str, named: bool) -> list[AttachType]:
    words = (word.partition("@") for word in text.split())
    return [AttachType(attach_number(name), name, since, named) for name, _, since in words]


def _section(line: str) -> SectionName:
    name, attach_type, flags, attach = (*line.split(), "-", "-", "-")[:4]
    words = () if flags == "-" else tuple(flags.split(","))
    assert set(words) <= set(SECTION_FLAGS), line
    return SectionName(name, attach_number(attach_type.strip("-")), words, attach.strip("-"))


def declare(
    number: int,
    name: str,
    since: str,
    commit: str = "",
    *,
    context: str = "",
    kernel_context: str = "",
    helpers: str = "",
    kfuncs: str = "",
    convert: str = "",
    test_run: str = "",
    needs: str = "bpf",
    packets: str = "",
    unclone: str = "",
    attach: str = "",
    load_as: str = "",
    default_attach: str = "",
    probe_attach: str = "",
    sections: str = "",
    traits: str = "",
    missing: str = "",
    table: dict[int, ProgramType] = PROGRAM_TYPES,
) -> ProgramType:
    """Enter a row.

    `kfuncs` is `HOOK@since`, without a version if the type always had one.  `attach` are attach types that name the program type, `load_as` such that are only said at load or in a link; both
    `NAME@since`.  `sections` are lines `name attach-type flags method`, "-" for none.
    """
    assert number not in table, f"two program types {number}"
    assert packets in PACKETS and set(traits.split()) <= set(TRAITS), f"{name}: {packets} {traits}"
    hook, _, hook_since = kfuncs.partition("@")
    row = ProgramType(
        number,
        name,
        since,
        commit,
        tuple(context.split()),
        kernel_context,
        helpers,
        hook,
        hook_since or since,
        convert,
        test_run,
        tuple(needs.split()),
        packets,
        unclone,
        (*_attach_types(attach, True), *_attach_types(load_as, False)),
        default_attach,
        probe_attach,
        tuple(_section(line) for line in sections.strip().split("\n") if line.strip()),
        frozenset(traits.split()),
        missing,
    )
    table[number] = row
    return row


def program_types() -> list[ProgramType]:
    """All rows by number."""
    return [row for _, row in sorted(PROGRAM_TYPES.items())]


def types_where(holds: Callable[[ProgramType], object]) -> frozenset[int]:
    """Numbers of the program types for which this is so."""
    return frozenset(row.number for row in PROGRAM_TYPES.values() if holds(row))


def attach_types() -> list[tuple[AttachType, ProgramType]]:
    """All attach types by number, each with the program type that it belongs to."""
    rows = [(attach, row) for row in program_types() for attach in row.attach_types]
    return sorted(rows, key=lambda pair: pair[0].number)


def program_type(version: KernelVersion, number: int) -> ProgramType | None:
    """The row of a number that this version can load; None if it knows none or is not configured for it."""
    if version.is_rfc:
        return RFC_PROGRAM_TYPES.get(number)
    row = PROGRAM_TYPES.get(number)
    if row is None or "not_configured" in row.traits or not version.at_least(row.since):
        return None
    return row


# -- the rows: numbers of include/uapi/linux/bpf.h, each with what libbpf makes of section names ------------------

declare(
    1,
    "SOCKET_FILTER",
    "3.19",
    "ddd872bc3098",
    context="__sk_buff",
    kernel_context="sk_buff",
    helpers="sk_filter",
    kfuncs="socket_filter@6.4",
    convert="bpf",
    test_run="skb",
    needs="",
    traits="ld_abs",
    sections="socket",
)
declare(
    2,
    "KPROBE",
    "4.1",
    "2541517c32be",
    context="bpf_user_pt_regs_t pt_regs",
    kernel_context="pt_regs",
    helpers="kprobe_prog",
    kfuncs="kprobe@6.9",
    needs="bpf perfmon",
    traits="perf",
    load_as="TRACE_KPROBE_MULTI@5.18 TRACE_UPROBE_MULTI@6.6 TRACE_KPROBE_SESSION@6.10 TRACE_UPROBE_SESSION@6.13",
    sections="""
        kprobe+          -                  -     kprobe
        uprobe+          -                  -     uprobe
        uprobe.s+        -                  sleep uprobe
        kretprobe+       -                  -     kprobe
        uretprobe+       -                  -     uprobe
        uretprobe.s+     -                  sleep uprobe
        kprobe.multi+    TRACE_KPROBE_MULTI -     kprobe_multi
        kretprobe.multi+ TRACE_KPROBE_MULTI -     kprobe_multi
        kprobe.session+  TRACE_KPROBE_SESSION -   kprobe_multi
        uprobe.multi+    TRACE_UPROBE_MULTI -     uprobe_multi
        uretprobe.multi+ TRACE_UPROBE_MULTI -     uprobe_multi
        uprobe.session+  TRACE_UPROBE_SESSION -   uprobe_multi
        uprobe.multi.s+  TRACE_UPROBE_MULTI sleep uprobe_multi
        uretprobe.multi.s+ TRACE_UPROBE_MULTI sleep uprobe_multi
        uprobe.session.s+ TRACE_UPROBE_SESSION sleep uprobe_multi
        ksyscall+        -                  -     ksyscall
        kretsyscall+     -                  -     ksyscall
        usdt+            -                  -     usdt
        usdt.s+          -                  sleep usdt
    """,
)
declare(
    3,
    "SCHED_CLS",
    "4.1",
    "96be4325f443",
    context="__sk_buff",
    kernel_context="sk_buff",
    helpers="tc_cls_act",
    kfuncs="tc",
    convert="tc_cls_act",
    test_run="skb",
    needs="bpf net_admin",
    packets="write",
    unclone="TC_ACT_SHOT",
    traits="ld_abs",
    attach="TCX_INGRESS@6.6 TCX_EGRESS@6.6 NETKIT_PRIMARY@6.7 NETKIT_PEER@6.7",
    sections="""
        tc/ingress     TCX_INGRESS
        tc/egress      TCX_EGRESS
        tcx/ingress    TCX_INGRESS
        tcx/egress     TCX_EGRESS
        tc
        classifier
        netkit/primary NETKIT_PRIMARY
        netkit/peer    NETKIT_PEER
    """,
    missing="bpf_clone_redirect of real packets, other queueing disciplines",
)
declare(
    4,
    "SCHED_ACT",
    "4.1",
    "94caee8c312d",
    context="__sk_buff",
    kernel_context="sk_buff",
    helpers="tc_cls_act",
    kfuncs="sched_act@6.4",
    convert="tc_cls_act",
    test_run="skb",
    needs="bpf net_admin",
    packets="write",
    unclone="TC_ACT_SHOT",
    traits="ld_abs",
    sections="action",
    missing="attaching to a queueing discipline: test runs only",
)
declare(
    5,
    "TRACEPOINT",
    "4.7",
    "98b5c2c65c29",
    context="__u64",
    kernel_context="u64",
    helpers="tp_prog",
    kfuncs="tracing@6.12",
    needs="bpf perfmon",
    traits="perf",
    sections="""
        tracepoint+   - -     tracepoint
        tp+           - -     tracepoint
        tracepoint.s+ - sleep tracepoint
        tp.s+         - sleep tracepoint
    """,
)
declare(
    6,
    "XDP",
    "4.8",
    "6a773a15a1e8",
    context="xdp_md",
    kernel_context="xdp_buff",
    helpers="xdp",
    kfuncs="xdp",
    convert="xdp",
    test_run="xdp",
    needs="bpf net_admin",
    packets="write",
    traits="no_prologue",
    attach="XDP@5.9",
    load_as="XDP_DEVMAP@5.8 XDP_CPUMAP@5.9",
    sections="""
        xdp.frags/devmap XDP_DEVMAP frags
        xdp/devmap       XDP_DEVMAP exp
        xdp.frags/cpumap XDP_CPUMAP frags
        xdp/cpumap       XDP_CPUMAP exp
        xdp.frags        XDP        frags
        xdp              XDP        exp,opt
    """,
    missing="native mode, fragments",
)
declare(
    7,
    "PERF_EVENT",
    "4.9",
    "0515e5999a46",
    context="bpf_perf_event_data",
    kernel_context="bpf_perf_event_data_kern",
    helpers="pe_prog",
    kfuncs="tracing@6.12",
    convert="pe_prog",
    needs="bpf perfmon",
    traits="perf",
    load_as="PERF_EVENT@5.15",
    sections="perf_event",
)
declare(
    8,
    "CGROUP_SKB",
    "4.10",
    "0e33661de493",
    context="__sk_buff",
    kernel_context="sk_buff",
    helpers="cg_skb",
    kfuncs="cgroup@6.4",
    convert="bpf",
    test_run="skb",
    needs="",
    packets="read",
    traits="cgroup checked ld_abs",
    attach="CGROUP_INET_INGRESS@4.10 CGROUP_INET_EGRESS@4.10",
    sections="""
        cgroup_skb/ingress CGROUP_INET_INGRESS exp,opt
        cgroup_skb/egress  CGROUP_INET_EGRESS  exp,opt
        cgroup/skb
    """,
)
declare(
    9,
    "CGROUP_SOCK",
    "4.10",
    "610236587600",
    context="bpf_sock",
    kernel_context="sock",
    helpers="sock_filter",
    kfuncs="cgroup@6.9",
    convert="bpf_sock",
    needs="bpf net_admin",
    traits="cgroup checked",
    attach="""
        CGROUP_INET_SOCK_CREATE@4.10 CGROUP_INET_SOCK_RELEASE@5.9 CGROUP_INET4_POST_BIND@4.17 CGROUP_INET6_POST_BIND@4.17
    """,
    default_attach="CGROUP_INET_SOCK_CREATE",
    sections="""
        cgroup/sock_create  CGROUP_INET_SOCK_CREATE  exp
        cgroup/sock_release CGROUP_INET_SOCK_RELEASE exp
        cgroup/sock         CGROUP_INET_SOCK_CREATE  exp,opt
        cgroup/post_bind4   CGROUP_INET4_POST_BIND   exp
        cgroup/post_bind6   CGROUP_INET6_POST_BIND   exp
    """,
)
declare(
    10,
    "LWT_IN",
    "4.10",
    "3a0af8fd61f9",
    context="__sk_buff",
    kernel_context="sk_buff",
    helpers="lwt_in",
    kfuncs="lwt@6.4",
    convert="bpf",
    test_run="skb",
    needs="bpf net_admin",
    packets="read",
    sections="lwt_in",
)
declare(
    11,
    "LWT_OUT",
    "4.10",
    "3a0af8fd61f9",
    context="__sk_buff",
    kernel_context="sk_buff",
    helpers="lwt_out",
    kfuncs="lwt@6.4",
    convert="bpf",
    test_run="skb",
    needs="bpf net_admin",
    packets="read",
    sections="lwt_out",
)
declare(
    12,
    "LWT_XMIT",
    "4.10",
    "3a0af8fd61f9",
    context="__sk_buff",
    kernel_context="sk_buff",
    helpers="lwt_xmit",
    kfuncs="lwt@6.4",
    convert="bpf",
    test_run="skb",
    needs="bpf net_admin",
    packets="write",
    unclone="TC_ACT_SHOT",
    sections="lwt_xmit",
)
declare(
    13,
    "SOCK_OPS",
    "4.13",
    "40304b2a1567",
    context="bpf_sock_ops",
    kernel_context="bpf_sock_ops_kern",
    helpers="sock_ops",
    kfuncs="cgroup@6.15",
    convert="sock_ops",
    needs="bpf net_admin",
    traits="cgroup",
    attach="CGROUP_SOCK_OPS@4.13",
    sections="sockops CGROUP_SOCK_OPS exp,opt",
    missing="timeouts, retransmissions, round trips and headers",
)
declare(
    14,
    "SK_SKB",
    "4.14",
    "b005fd189cec",
    context="__sk_buff",
    kernel_context="sk_buff",
    helpers="sk_skb",
    kfuncs="sk_skb@6.4",
    convert="sk_skb",
    needs="bpf net_admin",
    packets="write",
    unclone="SK_DROP",
    attach="SK_SKB_STREAM_PARSER@4.14 SK_SKB_STREAM_VERDICT@4.14 SK_SKB_VERDICT@5.13",
    sections="""
        sk_skb/stream_parser  SK_SKB_STREAM_PARSER  exp,opt
        sk_skb/stream_verdict SK_SKB_STREAM_VERDICT exp,opt
        sk_skb/verdict        SK_SKB_VERDICT        exp,opt
        sk_skb
    """,
    missing="attaching to a map of sockets: verified only",
)
declare(
    15,
    "CGROUP_DEVICE",
    "4.15",
    "ebc614f68736",
    context="bpf_cgroup_dev_ctx",
    kernel_context="bpf_cgroup_dev_ctx",
    helpers="cgroup_dev",
    kfuncs="cgroup@6.9",
    needs="bpf net_admin",
    traits="cgroup",
    attach="CGROUP_DEVICE@4.15",
    sections="cgroup/dev CGROUP_DEVICE exp,opt",
)
declare(
    16,
    "SK_MSG",
    "4.17",
    "4f738adba30a",
    context="sk_msg_md",
    kernel_context="sk_msg",
    helpers="sk_msg",
    convert="sk_msg",
    needs="bpf net_admin",
    packets="write",
    traits="no_prologue",
    attach="SK_MSG_VERDICT@4.17",
    sections="sk_msg SK_MSG_VERDICT exp,opt",
    missing="attaching to a map of sockets: verified only",
)
declare(
    17,
    "RAW_TRACEPOINT",
    "4.17",
    "c4f6699dfcb8",
    context="bpf_raw_tracepoint_args",
    kernel_context="u64",
    helpers="raw_tp_prog",
    kfuncs="tracing@6.16",
    test_run="raw_tp",
    needs="bpf perfmon",
    traits="perf",
    sections="""
        raw_tracepoint+   - -     raw_tracepoint
        raw_tp+           - -     raw_tracepoint
        raw_tracepoint.s+ - sleep raw_tracepoint
        raw_tp.s+         - sleep raw_tracepoint
    """,
)
declare(
    18,
    "CGROUP_SOCK_ADDR",
    "4.17",
    "4fbac77d2d09",
    context="bpf_sock_addr",
    kernel_context="bpf_sock_addr_kern",
    helpers="sock_addr",
    kfuncs="cgroup@6.7",
    convert="sock_addr",
    needs="bpf net_admin",
    traits="cgroup checked",
    attach="""
        CGROUP_INET4_BIND@4.17 CGROUP_INET6_BIND@4.17 CGROUP_INET4_CONNECT@4.17 CGROUP_INET6_CONNECT@4.17
        CGROUP_INET4_GETPEERNAME@5.8 CGROUP_INET6_GETPEERNAME@5.8 CGROUP_INET4_GETSOCKNAME@5.8
        CGROUP_INET6_GETSOCKNAME@5.8 CGROUP_UDP4_SENDMSG@4.18 CGROUP_UDP6_SENDMSG@4.18 CGROUP_UDP4_RECVMSG@5.2
        CGROUP_UDP6_RECVMSG@5.2 CGROUP_UNIX_CONNECT@6.7 CGROUP_UNIX_SENDMSG@6.7 CGROUP_UNIX_RECVMSG@6.7
        CGROUP_UNIX_GETPEERNAME@6.7 CGROUP_UNIX_GETSOCKNAME@6.7
    """,
    probe_attach="CGROUP_INET4_CONNECT",
    sections="""
        cgroup/bind4        CGROUP_INET4_BIND        exp
        cgroup/bind6        CGROUP_INET6_BIND        exp
        cgroup/connect4     CGROUP_INET4_CONNECT     exp
        cgroup/connect6     CGROUP_INET6_CONNECT     exp
        cgroup/sendmsg4     CGROUP_UDP4_SENDMSG      exp
        cgroup/sendmsg6     CGROUP_UDP6_SENDMSG      exp
        cgroup/recvmsg4     CGROUP_UDP4_RECVMSG      exp
        cgroup/recvmsg6     CGROUP_UDP6_RECVMSG      exp
        cgroup/getpeername4 CGROUP_INET4_GETPEERNAME exp
        cgroup/getpeername6 CGROUP_INET6_GETPEERNAME exp
        cgroup/getsockname4 CGROUP_INET4_GETSOCKNAME exp
        cgroup/getsockname6 CGROUP_INET6_GETSOCKNAME exp
        cgroup/connect_unix     CGROUP_UNIX_CONNECT     exp
        cgroup/sendmsg_unix     CGROUP_UNIX_SENDMSG     exp
        cgroup/recvmsg_unix     CGROUP_UNIX_RECVMSG     exp
        cgroup/getpeername_unix CGROUP_UNIX_GETPEERNAME exp
        cgroup/getsockname_unix CGROUP_UNIX_GETSOCKNAME exp
    """,
)
declare(
    19,
    "LWT_SEG6LOCAL",
    "4.18",
    "004d4b274e2a",
    context="__sk_buff",
    kernel_context="sk_buff",
    helpers="lwt_seg6local",
    kfuncs="lwt@6.4",
    convert="bpf",
    needs="bpf net_admin",
    packets="read",
    sections="lwt_seg6local",
    missing="routes with programs: verified only",
)
declare(
    20,
    "LIRC_MODE2",
    "4.18",
    "f4364dcfc86d",
    context="__u32",
    kernel_context="u32",
    helpers="lirc_mode2",
    needs="bpf net_admin",
    traits="not_configured",
    attach="LIRC_MODE2@4.18",
    probe_attach="LIRC_MODE2",
    sections="lirc_mode2 LIRC_MODE2 exp,opt",
    missing="Debian's kernel has no CONFIG_BPF_LIRC_MODE2: verified, never loaded",
)
declare(
    21,
    "SK_REUSEPORT",
    "4.19",
    "2dbb9b9e6df6",
    context="sk_reuseport_md",
    kernel_context="sk_reuseport_kern",
    helpers="sk_reuseport",
    convert="sk_reuseport",
    packets="read",
    traits="checked",
    load_as="SK_REUSEPORT_SELECT@5.14 SK_REUSEPORT_SELECT_OR_MIGRATE@5.14",
    default_attach="SK_REUSEPORT_SELECT",
    sections="""
        sk_reuseport/migrate SK_REUSEPORT_SELECT_OR_MIGRATE exp
        sk_reuseport         SK_REUSEPORT_SELECT            exp
    """,
    missing="attaching to a socket: verified only",
)
declare(
    22,
    "FLOW_DISSECTOR",
    "4.20",
    "d58e468b1112",
    context="__sk_buff",
    kernel_context="bpf_flow_dissector",
    helpers="flow_dissector",
    convert="flow_dissector",
    test_run="flow_dissector",
    needs="bpf net_admin",
    packets="read",
    attach="FLOW_DISSECTOR@4.20",
    sections="flow_dissector FLOW_DISSECTOR exp,opt",
)
declare(
    23,
    "CGROUP_SYSCTL",
    "5.2",
    "7b146cebe30c",
    context="bpf_sysctl",
    kernel_context="bpf_sysctl_kern",
    helpers="sysctl",
    kfuncs="cgroup@6.9",
    convert="sysctl",
    needs="bpf net_admin",
    traits="cgroup",
    attach="CGROUP_SYSCTL@5.2",
    sections="cgroup/sysctl CGROUP_SYSCTL exp",
)
declare(
    24,
    "RAW_TRACEPOINT_WRITABLE",
    "5.2",
    "9df1c28bb752",
    context="bpf_raw_tracepoint_args",
    kernel_context="u64",
    helpers="raw_tp_prog",
    needs="bpf perfmon",
    traits="perf",
    sections="""
        raw_tracepoint.w+ - - raw_tracepoint
        raw_tp.w+         - - raw_tracepoint
    """,
)
declare(
    25,
    "CGROUP_SOCKOPT",
    "5.3",
    "0d01da6afc54",
    context="bpf_sockopt",
    kernel_context="bpf_sockopt_kern",
    helpers="cg_sockopt",
    kfuncs="cgroup@6.9",
    convert="cg_sockopt",
    needs="bpf net_admin",
    traits="cgroup checked no_prologue",
    attach="CGROUP_GETSOCKOPT@5.3 CGROUP_SETSOCKOPT@5.3",
    probe_attach="CGROUP_GETSOCKOPT",
    sections="""
        cgroup/getsockopt CGROUP_GETSOCKOPT exp
        cgroup/setsockopt CGROUP_SETSOCKOPT exp
    """,
)
declare(
    26,
    "TRACING",
    "5.5",
    "f1b9509c2fb0",
    helpers="tracing_prog",
    kfuncs="tracing",
    test_run="tracing",
    needs="bpf perfmon",
    traits="btf_target",
    attach="""TRACE_RAW_TP@5.5 TRACE_FENTRY@5.5 TRACE_FEXIT@5.5 MODIFY_RETURN@5.7 TRACE_ITER@5.8 TRACE_FSESSION@7.0
        TRACE_FENTRY_MULTI@7.2 TRACE_FEXIT_MULTI@7.2 TRACE_FSESSION_MULTI@7.2""",
    probe_attach="TRACE_FENTRY",
    sections="""
        tp_btf+     TRACE_RAW_TP  btf       trace
        tp_btf.s+   TRACE_RAW_TP  btf,sleep trace
        fentry+     TRACE_FENTRY  btf       trace
        fmod_ret+   MODIFY_RETURN btf       trace
        fexit+      TRACE_FEXIT   btf       trace
        fentry.s+   TRACE_FENTRY  btf,sleep trace
        fmod_ret.s+ MODIFY_RETURN btf,sleep trace
        fexit.s+    TRACE_FEXIT   btf,sleep trace
        fsession+   TRACE_FSESSION btf      trace
        fsession.s+ TRACE_FSESSION btf,sleep trace
        fentry.multi+     TRACE_FENTRY_MULTI   -     trace_multi
        fexit.multi+      TRACE_FEXIT_MULTI    -     trace_multi
        fsession.multi+   TRACE_FSESSION_MULTI -     trace_multi
        fentry.multi.s+   TRACE_FENTRY_MULTI   sleep trace_multi
        fexit.multi.s+    TRACE_FEXIT_MULTI    sleep trace_multi
        fsession.multi.s+ TRACE_FSESSION_MULTI sleep trace_multi
        iter+       TRACE_ITER    btf       iter
        iter.s+     TRACE_ITER    btf,sleep iter
    """,
)
declare(
    27,
    "STRUCT_OPS",
    "5.6",
    "27ae7997a661",
    helpers="bpf_tcp_ca_get",
    kfuncs="struct_ops",
    needs="bpf perfmon",
    traits="jit btf_target",
    load_as="STRUCT_OPS@6.4",
    sections="""
        struct_ops+
        struct_ops.s+ - sleep
    """,
    missing="registered as congestion control, which no connection uses; test runs of bpf_dummy_ops",
)
declare(
    28,
    "EXT",
    "5.6",
    "be8704ff07d2",
    needs="bpf net_admin perfmon",
    traits="jit btf_target checked",
    sections="freplace+ - btf trace",
)
declare(
    29,
    "LSM",
    "5.7",
    "fc611f47f218",
    helpers="bpf_lsm",
    kfuncs="tracing",
    needs="bpf perfmon",
    traits="jit btf_target",
    attach="LSM_MAC@5.7 LSM_CGROUP@6.0",
    probe_attach="LSM_MAC",
    sections="""
        lsm+        LSM_MAC    btf       lsm
        lsm.s+      LSM_MAC    btf,sleep lsm
        lsm_cgroup+ LSM_CGROUP btf
    """,
    missing="of the hooks that Linux has, those that docs/differences.md names are called; control groups' programs on hooks",
)
declare(
    30,
    "SK_LOOKUP",
    "5.9",
    "e9ddbb7707ff",
    context="bpf_sk_lookup",
    kernel_context="bpf_sk_lookup_kern",
    helpers="sk_lookup",
    convert="sk_lookup",
    test_run="sk_lookup",
    traits="checked",
    attach="SK_LOOKUP@5.9",
    probe_attach="SK_LOOKUP",
    sections="sk_lookup SK_LOOKUP exp",
)
declare(
    31,
    "SYSCALL",
    "5.14",
    "79a7f8bdb159",
    helpers="syscall_prog",
    kfuncs="syscall",
    test_run="syscall",
    traits="checked",
    sections="syscall - sleep",
)
declare(
    32,
    "NETFILTER",
    "6.4",
    "fd9c663b9ad6",
    context="bpf_nf_ctx",
    kernel_context="bpf_nf_ctx",
    helpers="nf",
    kfuncs="netfilter",
    needs="bpf net_admin",
    traits="checked",
    attach="NETFILTER@6.4",
    probe_attach="NETFILTER",
    sections="netfilter NETFILTER",
    missing="attaching to a hook, test runs: verified only",
)

# The tree of January 2015.  Its helpers and contexts are in bpf/verifier/classic/types.py.
RFC_PROGRAM_TYPES[1] = PROGRAM_TYPES[1]
declare(2, "TRACING_FILTER", "3.20-rfc", sections="events+ - - filter_file", table=RFC_PROGRAM_TYPES)
declare(3, "KPROBE_FILTER", "3.20-rfc", sections="events/kprobes+ - - filter_file", table=RFC_PROGRAM_TYPES)
