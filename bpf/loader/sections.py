"""What an ELF section's name says about the program in it.  tools/lib/bpf/libbpf.c: section_defs[] of libbpf 1.1.

A name ending in "+" also takes something after a slash (`kprobe+` is `kprobe` or `kprobe/vfs_write`), one ending in
"/" must have it, others are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from bpf import uapi as u

TRACING_FILTER_2015, KPROBE_FILTER_2015 = 2, 3
ATTACHABLE = 1  # takes part in BPF_PROG_ATTACH: expected_attach_type is given
ATTACHABLE_OPT = 3  # ... if the kernel knows expected_attach_type
ATTACH_BTF = 4  # attaches to a BTF id
SLEEPABLE = 8
XDP_FRAGS = 16


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    prog_type: int
    attach_type: int = 0
    flags: int = 0
    attach: str = ""  # method of bpf.loader.attach that auto-attach uses


_K, _T = u.BPF_PROG_TYPE_KPROBE, u.BPF_PROG_TYPE_TRACING
_SK, _SA = u.BPF_PROG_TYPE_CGROUP_SOCK, u.BPF_PROG_TYPE_CGROUP_SOCK_ADDR

SECTIONS = (
    #       name                     program type                       attach type                     flags  attach
    Section("socket", u.BPF_PROG_TYPE_SOCKET_FILTER),
    Section("sk_reuseport/migrate", u.BPF_PROG_TYPE_SK_REUSEPORT, u.BPF_SK_REUSEPORT_SELECT_OR_MIGRATE, ATTACHABLE),
    Section("sk_reuseport", u.BPF_PROG_TYPE_SK_REUSEPORT, u.BPF_SK_REUSEPORT_SELECT, ATTACHABLE),
    Section("kprobe+", _K, attach="kprobe"),
    Section("uprobe+", _K, attach="uprobe"),
    Section("uprobe.s+", _K, 0, SLEEPABLE, "uprobe"),
    Section("kretprobe+", _K, attach="kprobe"),
    Section("uretprobe+", _K, attach="uprobe"),
    Section("uretprobe.s+", _K, 0, SLEEPABLE, "uprobe"),
    Section("kprobe.multi+", _K, u.BPF_TRACE_KPROBE_MULTI, 0, "kprobe_multi"),
    Section("kretprobe.multi+", _K, u.BPF_TRACE_KPROBE_MULTI, 0, "kprobe_multi"),
    Section("ksyscall+", _K, attach="ksyscall"),
    Section("kretsyscall+", _K, attach="ksyscall"),
    Section("usdt+", _K, attach="usdt"),
    Section("tc", u.BPF_PROG_TYPE_SCHED_CLS),
    Section("classifier", u.BPF_PROG_TYPE_SCHED_CLS),
    Section("action", u.BPF_PROG_TYPE_SCHED_ACT),
    Section("tracepoint+", u.BPF_PROG_TYPE_TRACEPOINT, attach="tracepoint"),
    Section("tp+", u.BPF_PROG_TYPE_TRACEPOINT, attach="tracepoint"),
    Section("raw_tracepoint+", u.BPF_PROG_TYPE_RAW_TRACEPOINT, attach="raw_tracepoint"),
    Section("raw_tp+", u.BPF_PROG_TYPE_RAW_TRACEPOINT, attach="raw_tracepoint"),
    Section("raw_tracepoint.w+", u.BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE, attach="raw_tracepoint"),
    Section("raw_tp.w+", u.BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE, attach="raw_tracepoint"),
    Section("tp_btf+", _T, u.BPF_TRACE_RAW_TP, ATTACH_BTF, "trace"),
    Section("fentry+", _T, u.BPF_TRACE_FENTRY, ATTACH_BTF, "trace"),
    Section("fmod_ret+", _T, u.BPF_MODIFY_RETURN, ATTACH_BTF, "trace"),
    Section("fexit+", _T, u.BPF_TRACE_FEXIT, ATTACH_BTF, "trace"),
    Section("fentry.s+", _T, u.BPF_TRACE_FENTRY, ATTACH_BTF | SLEEPABLE, "trace"),
    Section("fmod_ret.s+", _T, u.BPF_MODIFY_RETURN, ATTACH_BTF | SLEEPABLE, "trace"),
    Section("fexit.s+", _T, u.BPF_TRACE_FEXIT, ATTACH_BTF | SLEEPABLE, "trace"),
    Section("freplace+", u.BPF_PROG_TYPE_EXT, 0, ATTACH_BTF, "trace"),
    Section("lsm+", u.BPF_PROG_TYPE_LSM, u.BPF_LSM_MAC, ATTACH_BTF, "lsm"),
    Section("lsm.s+", u.BPF_PROG_TYPE_LSM, u.BPF_LSM_MAC, ATTACH_BTF | SLEEPABLE, "lsm"),
    Section("lsm_cgroup+", u.BPF_PROG_TYPE_LSM, u.BPF_LSM_CGROUP, ATTACH_BTF),
    Section("iter+", _T, u.BPF_TRACE_ITER, ATTACH_BTF, "iter"),
    Section("iter.s+", _T, u.BPF_TRACE_ITER, ATTACH_BTF | SLEEPABLE, "iter"),
    Section("syscall", u.BPF_PROG_TYPE_SYSCALL, 0, SLEEPABLE),
    Section("xdp.frags/devmap", u.BPF_PROG_TYPE_XDP, u.BPF_XDP_DEVMAP, XDP_FRAGS),
    Section("xdp/devmap", u.BPF_PROG_TYPE_XDP, u.BPF_XDP_DEVMAP, ATTACHABLE),
    Section("xdp.frags/cpumap", u.BPF_PROG_TYPE_XDP, u.BPF_XDP_CPUMAP, XDP_FRAGS),
    Section("xdp/cpumap", u.BPF_PROG_TYPE_XDP, u.BPF_XDP_CPUMAP, ATTACHABLE),
    Section("xdp.frags", u.BPF_PROG_TYPE_XDP, u.BPF_XDP, XDP_FRAGS),
    Section("xdp", u.BPF_PROG_TYPE_XDP, u.BPF_XDP, ATTACHABLE_OPT),
    Section("perf_event", u.BPF_PROG_TYPE_PERF_EVENT),
    Section("lwt_in", u.BPF_PROG_TYPE_LWT_IN),
    Section("lwt_out", u.BPF_PROG_TYPE_LWT_OUT),
    Section("lwt_xmit", u.BPF_PROG_TYPE_LWT_XMIT),
    Section("lwt_seg6local", u.BPF_PROG_TYPE_LWT_SEG6LOCAL),
    Section("sockops", u.BPF_PROG_TYPE_SOCK_OPS, u.BPF_CGROUP_SOCK_OPS, ATTACHABLE_OPT),
    Section("sk_skb/stream_parser", u.BPF_PROG_TYPE_SK_SKB, u.BPF_SK_SKB_STREAM_PARSER, ATTACHABLE_OPT),
    Section("sk_skb/stream_verdict", u.BPF_PROG_TYPE_SK_SKB, u.BPF_SK_SKB_STREAM_VERDICT, ATTACHABLE_OPT),
    Section("sk_skb", u.BPF_PROG_TYPE_SK_SKB),
    Section("sk_msg", u.BPF_PROG_TYPE_SK_MSG, u.BPF_SK_MSG_VERDICT, ATTACHABLE_OPT),
    Section("lirc_mode2", u.BPF_PROG_TYPE_LIRC_MODE2, u.BPF_LIRC_MODE2, ATTACHABLE_OPT),
    Section("flow_dissector", u.BPF_PROG_TYPE_FLOW_DISSECTOR, u.BPF_FLOW_DISSECTOR, ATTACHABLE_OPT),
    Section("cgroup_skb/ingress", u.BPF_PROG_TYPE_CGROUP_SKB, u.BPF_CGROUP_INET_INGRESS, ATTACHABLE_OPT),
    Section("cgroup_skb/egress", u.BPF_PROG_TYPE_CGROUP_SKB, u.BPF_CGROUP_INET_EGRESS, ATTACHABLE_OPT),
    Section("cgroup/skb", u.BPF_PROG_TYPE_CGROUP_SKB),
    Section("cgroup/sock_create", _SK, u.BPF_CGROUP_INET_SOCK_CREATE, ATTACHABLE),
    Section("cgroup/sock_release", _SK, u.BPF_CGROUP_INET_SOCK_RELEASE, ATTACHABLE),
    Section("cgroup/sock", _SK, u.BPF_CGROUP_INET_SOCK_CREATE, ATTACHABLE_OPT),
    Section("cgroup/post_bind4", _SK, u.BPF_CGROUP_INET4_POST_BIND, ATTACHABLE),
    Section("cgroup/post_bind6", _SK, u.BPF_CGROUP_INET6_POST_BIND, ATTACHABLE),
    Section("cgroup/bind4", _SA, u.BPF_CGROUP_INET4_BIND, ATTACHABLE),
    Section("cgroup/bind6", _SA, u.BPF_CGROUP_INET6_BIND, ATTACHABLE),
    Section("cgroup/connect4", _SA, u.BPF_CGROUP_INET4_CONNECT, ATTACHABLE),
    Section("cgroup/connect6", _SA, u.BPF_CGROUP_INET6_CONNECT, ATTACHABLE),
    Section("cgroup/sendmsg4", _SA, u.BPF_CGROUP_UDP4_SENDMSG, ATTACHABLE),
    Section("cgroup/sendmsg6", _SA, u.BPF_CGROUP_UDP6_SENDMSG, ATTACHABLE),
    Section("cgroup/recvmsg4", _SA, u.BPF_CGROUP_UDP4_RECVMSG, ATTACHABLE),
    Section("cgroup/recvmsg6", _SA, u.BPF_CGROUP_UDP6_RECVMSG, ATTACHABLE),
    Section("cgroup/getpeername4", _SA, u.BPF_CGROUP_INET4_GETPEERNAME, ATTACHABLE),
    Section("cgroup/getpeername6", _SA, u.BPF_CGROUP_INET6_GETPEERNAME, ATTACHABLE),
    Section("cgroup/getsockname4", _SA, u.BPF_CGROUP_INET4_GETSOCKNAME, ATTACHABLE),
    Section("cgroup/getsockname6", _SA, u.BPF_CGROUP_INET6_GETSOCKNAME, ATTACHABLE),
    Section("cgroup/sysctl", u.BPF_PROG_TYPE_CGROUP_SYSCTL, u.BPF_CGROUP_SYSCTL, ATTACHABLE),
    Section("cgroup/getsockopt", u.BPF_PROG_TYPE_CGROUP_SOCKOPT, u.BPF_CGROUP_GETSOCKOPT, ATTACHABLE),
    Section("cgroup/setsockopt", u.BPF_PROG_TYPE_CGROUP_SOCKOPT, u.BPF_CGROUP_SETSOCKOPT, ATTACHABLE),
    Section("cgroup/dev", u.BPF_PROG_TYPE_CGROUP_DEVICE, u.BPF_CGROUP_DEVICE, ATTACHABLE_OPT),
    Section("struct_ops+", u.BPF_PROG_TYPE_STRUCT_OPS),
    Section("sk_lookup", u.BPF_PROG_TYPE_SK_LOOKUP, u.BPF_SK_LOOKUP, ATTACHABLE),
    # The tree of January 2015 (3.20-rfc), whose program types have numbers of their own; bpf/loader/bpf_load.py.
    Section("events/kprobes+", KPROBE_FILTER_2015, attach="filter_file"),
    Section("events+", TRACING_FILTER_2015, attach="filter_file"),
)


def matches(section: Section, name: str) -> bool:
    """libbpf.c: sec_def_matches()."""
    if section.name.endswith("/"):
        return name.startswith(section.name)
    if section.name.endswith("+"):
        stem = section.name[:-1]
        return name == stem or name.startswith(stem + "/")
    return name == section.name


def find(name: str) -> Section | None:
    """The rule for a section name, or None.  A leading "?" (do not load by default) is not part of the name."""
    return next((section for section in SECTIONS if matches(section, name.lstrip("?"))), None)


def target(name: str) -> str:
    """What comes after the slash: `kprobe/vfs_write` -> `vfs_write`."""
    return name.lstrip("?").partition("/")[2]
