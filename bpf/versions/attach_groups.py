"""Attach types that rules name together.  include/uapi/linux/bpf.h; kernel/bpf/verifier.c, kernel/trace/bpf_trace.c."""

from __future__ import annotations

from arch.abi.version import KernelVersion
from bpf import uapi

SESSIONS_OF_PROBES = (uapi.BPF_TRACE_KPROBE_SESSION, uapi.BPF_TRACE_UPROBE_SESSION)
SESSIONS_OF_TRAMPOLINES = (uapi.BPF_TRACE_FSESSION, uapi.BPF_TRACE_FSESSION_MULTI)
ONE_FUNCTION = (uapi.BPF_TRACE_FENTRY, uapi.BPF_TRACE_FEXIT, uapi.BPF_TRACE_FSESSION)
MANY_FUNCTIONS = (uapi.BPF_TRACE_FENTRY_MULTI, uapi.BPF_TRACE_FEXIT_MULTI, uapi.BPF_TRACE_FSESSION_MULTI)
AROUND_FUNCTIONS = (*ONE_FUNCTION, *MANY_FUNCTIONS)  # of tracing programs that change no result
# such as see the result
BEHIND_FUNCTIONS = (
    uapi.BPF_TRACE_FEXIT, uapi.BPF_MODIFY_RETURN, uapi.BPF_TRACE_FEXIT_MULTI, *SESSIONS_OF_TRAMPOLINES,
)  # fmt: skip
# Attach types of control groups whose programs cannot refuse: they return 1, and there is no result of the call that they could ask for.
ALWAYS_ONE = frozenset((
    uapi.BPF_CGROUP_UDP4_RECVMSG, uapi.BPF_CGROUP_UDP6_RECVMSG, uapi.BPF_CGROUP_INET4_GETPEERNAME,
    uapi.BPF_CGROUP_INET6_GETPEERNAME, uapi.BPF_CGROUP_INET4_GETSOCKNAME, uapi.BPF_CGROUP_INET6_GETSOCKNAME,
    uapi.BPF_CGROUP_UNIX_RECVMSG, uapi.BPF_CGROUP_UNIX_GETPEERNAME, uapi.BPF_CGROUP_UNIX_GETSOCKNAME,
))  # fmt: skip
# Since when programs of control groups are put before or after others, and when their hooks have revisions; before all others.
# 6.12 has both by its stable releases: Debian's 6.12.117 was asked.
GROUPS_ORDERED = (("6.12", "6.13"), ("6.17", None))  # 120933984460
GROUPS_PREORDERED = (("6.12", "6.13"), ("6.15", None))  # 4b82b181a26c


def within(version: KernelVersion, spans: tuple[tuple[str, str | None], ...]) -> bool:
    """In any of these spans of versions: (since, until)."""
    return any(version.within(*span) for span in spans)


def is_session(attach_type: int) -> bool:
    """Programs of probes that run at a function's entry and at its return."""
    return attach_type in SESSIONS_OF_PROBES
