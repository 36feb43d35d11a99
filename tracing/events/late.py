"""Events that came after 6.1, of headers without a module of their own.  include/trace/events/{capability,coredump,ksm}.h."""

from __future__ import annotations

from tracing.events.declare import TraceEventDecl

cap_capable = TraceEventDecl(
    "capability", "cap_capable",
    since="6.14",
    proto=(
        "const struct cred *cred, struct user_namespace *target_ns, const struct user_namespace *capable_ns, int cap, int ret"
    ),
    entry=(
        ("const struct cred * cred", "cred"),
        ("struct user_namespace * target_ns", "target_ns"),
        ("const struct user_namespace * capable_ns", "ret ? 0 : capable_ns"),
        ("int cap", "cap"),
        ("int ret", "ret"),
    ),
    print=(
        '"cred %p, target_ns %p, capable_ns %p, cap %d, ret %d", REC->cred, REC->target_ns, REC->capable_ns, REC->cap, REC->ret'
    ),
)  # fmt: skip
coredump = TraceEventDecl(
    "coredump", "coredump",
    since="7.2",
    proto="int sig",
    entry=(
        ("int sig", "sig"),
        ("char comm[16]", "current->comm"),
    ),
    print='"sig=%d comm=%s", REC->sig, REC->comm',
)  # fmt: skip
ksm_enter = TraceEventDecl(
    "ksm", "ksm_enter",
    since="6.4",
    proto="void *mm",
    entry=(("void * mm", "mm"),),
    print='"mm %p", REC->mm',
)  # fmt: skip
ksm_exit = ksm_enter.like("ksm_exit", since="6.4")
