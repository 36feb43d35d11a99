"""Kernel functions of sessions: programs that run at a function's entry and at its return.  kernel/trace/bpf_trace.c, since 6.10."""

from __future__ import annotations

from bpf.helpers import Runtime, kernel_name


@kernel_name("bpf_session_is_return")
def bpf_session_is_return(rt: Runtime) -> int:
    """1 at the return."""
    return int(rt.session.is_return)


@kernel_name("bpf_session_cookie")
def bpf_session_cookie(rt: Runtime) -> int:
    """The call's own word."""
    return rt.session.cookie
