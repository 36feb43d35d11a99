"""Timer events.  include/trace/events/timer.h."""

from __future__ import annotations

from tracing.events.declare import IRQS, TraceEventDecl

timer_init = TraceEventDecl(
    "timer", "timer_init",
    proto="struct timer_list *timer",
    entry=(
        ("void * timer", "timer"),
    ),
    print='"timer=%p", REC->timer',
)  # fmt: skip
timer_start = TraceEventDecl(
    "timer", "timer_start",
    held=(IRQS, 1),
    proto="struct timer_list *timer, unsigned long expires, unsigned int flags",
    entry=(
        ("void * timer", "timer"),
        ("void * function", "timer->function"),
        ("unsigned long expires", "expires"),
        ("unsigned long now", "jiffies"),
        ("unsigned int flags", "flags"),
    ),
    print=(
        '"timer=%p function=%ps expires=%lu [timeout=%ld] cpu=%u idx=%u flags=%s", REC->timer, REC->function, '
        "REC->expires, (long)REC->expires - REC->now, REC->flags & 0x0003FFFF, REC->flags >> 22, "
        '__print_flags(REC->flags & (0x00040000 | 0x00080000 | 0x00100000 | 0x00200000), "|", { 0x00040000, "M" }, '
        '{ 0x00080000, "D" }, { 0x00100000, "P" }, { 0x00200000, "I" })'
    ),
)  # fmt: skip
timer_expire_entry = TraceEventDecl(
    "timer", "timer_expire_entry",
    proto="struct timer_list *timer, unsigned long baseclk",
    entry=(
        ("void * timer", "timer"),
        ("unsigned long now", "jiffies"),
        ("void * function", "timer->function"),
        ("unsigned long baseclk", "baseclk"),
    ),
    print='"timer=%p function=%ps now=%lu baseclk=%lu", REC->timer, REC->function, REC->now, REC->baseclk',
)  # fmt: skip
timer_expire_exit = timer_init.like("timer_expire_exit")
timer_cancel = timer_init.like("timer_cancel", held=(IRQS, 1))
tick_stop = TraceEventDecl(
    "timer", "tick_stop",
    held=(IRQS, 1),
    proto="int success, int dependency",
    entry=(
        ("int success", "success"),
        ("int dependency", "dependency"),
    ),
    print=(
        '"success=%d dependency=%s", REC->success, __print_symbolic(REC->dependency, { 0, "NONE" }, { (1 << 0), "POSIX_TIMER" }, '
        '{ (1 << 1), "PERF_EVENTS" }, { (1 << 2), "SCHED" }, { (1 << 3), "CLOCK_UNSTABLE" }, { (1 << 4), "RCU" }, '
        '{ (1 << 5), "RCU_EXP" })'
    ),
)  # fmt: skip
hrtimer_init = TraceEventDecl(
    "timer", "hrtimer_init",
    until="6.15",
    proto="struct hrtimer *hrtimer, clockid_t clockid, enum hrtimer_mode mode",
    entry=(
        ("void * hrtimer", "hrtimer"),
        ("clockid_t clockid", "clockid"),
        ("enum hrtimer_mode mode", "mode"),
    ),
    print=(
        '"hrtimer=%p clockid=%s mode=%s", REC->hrtimer, decode_clockid(REC->clockid), '
        "decode_hrtimer_mode(REC->mode)"
    ),
)  # fmt: skip
hrtimer_setup = hrtimer_init.like("hrtimer_setup", since="6.15")
hrtimer_start = TraceEventDecl(
    "timer", "hrtimer_start",
    held=(IRQS, 2),
    proto="struct hrtimer *hrtimer, enum hrtimer_mode mode, bool was_armed",
    entry=(
        ("void * hrtimer", "hrtimer"),
        ("void * function", "hrtimer->function"),
        ("s64 expires", "hrtimer->node.expires"),
        ("s64 softexpires", "hrtimer->_softexpires"),
        ("enum hrtimer_mode mode", "mode"),
        ("bool was_armed", "was_armed"),
    ),
    print=(
        '"hrtimer=%p function=%ps expires=%llu softexpires=%llu mode=%s was_armed=%d", REC->hrtimer, REC->function,'
        " (unsigned long long) REC->expires, (unsigned long long) REC->softexpires, decode_hrtimer_mode(REC->mode),"
        " REC->was_armed"
    ),
)  # fmt: skip
hrtimer_expire_entry = TraceEventDecl(
    "timer", "hrtimer_expire_entry",
    held=(IRQS, 1),
    proto="struct hrtimer *hrtimer, ktime_t *now",
    entry=(
        ("void * hrtimer", "hrtimer"),
        ("s64 now", "*now"),
        ("void * function", "hrtimer->function"),
    ),
    print='"hrtimer=%p function=%ps now=%llu", REC->hrtimer, REC->function, (unsigned long long) REC->now',
)  # fmt: skip
hrtimer_expire_exit = TraceEventDecl(
    "timer", "hrtimer_expire_exit",
    held=(IRQS, 1),
    proto="struct hrtimer *hrtimer",
    entry=(
        ("void * hrtimer", "hrtimer"),
    ),
    print='"hrtimer=%p", REC->hrtimer',
)  # fmt: skip
hrtimer_cancel = hrtimer_expire_exit.like("hrtimer_cancel", held=(IRQS, 1))
itimer_state = TraceEventDecl(
    "timer", "itimer_state",
    held=(IRQS, 1),
    proto="int which, const struct itimerspec64 *value, unsigned long long expires",
    entry=(
        ("int which", "which"),
        ("unsigned long long expires", "expires"),
        ("long value_sec", "value->it_value.tv_sec"),
        ("long value_nsec", "value->it_value.tv_nsec"),
        ("long interval_sec", "value->it_interval.tv_sec"),
        ("long interval_nsec", "value->it_interval.tv_nsec"),
    ),
    print=(
        '"which=%d expires=%llu it_value=%ld.%06ld it_interval=%ld.%06ld", REC->which, REC->expires, '
        "REC->value_sec, REC->value_nsec / 1000L, REC->interval_sec, REC->interval_nsec / 1000L"
    ),
)  # fmt: skip
itimer_expire = TraceEventDecl(
    "timer", "itimer_expire",
    held=(IRQS, 1),
    proto="int which, struct pid *pid, unsigned long long now",
    entry=(
        ("int which", "which"),
        ("pid_t pid", "pid_nr(pid)"),
        ("unsigned long long now", "now"),
    ),
    print='"which=%d pid=%d now=%llu", REC->which, (int) REC->pid, REC->now',
)  # fmt: skip
