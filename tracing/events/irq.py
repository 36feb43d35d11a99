"""Interrupt and softirq events.  include/trace/events/irq.h."""

from __future__ import annotations

from tracing.events.declare import IRQS, NEVER, TraceEventDecl

irq_handler_entry = TraceEventDecl(
    "irq", "irq_handler_entry",
    held=(IRQS, 1),
    proto="int irq, struct irqaction *action",
    entry=(
        ("int irq", "irq"),
        ("__data_loc char[] name", "action->name"),
    ),
    print='"irq=%d name=%s", REC->irq, __get_str(name)',
)  # fmt: skip
irq_handler_exit = TraceEventDecl(
    "irq", "irq_handler_exit",
    held=(IRQS, 1),
    proto="int irq, struct irqaction *action, int ret",
    entry=(
        ("int irq", "irq"),
        ("int ret", "ret"),
    ),
    print='"irq=%d ret=%s", REC->irq, REC->ret ? "handled" : "unhandled"',
)  # fmt: skip
softirq_entry = TraceEventDecl(
    "irq", "softirq_entry",
    proto="unsigned int vec_nr",
    entry=(
        ("unsigned int vec", "vec_nr"),
    ),
    print='"vec=%u [action=%s]", REC->vec, show_softirq_name(REC->vec)',
)  # fmt: skip
softirq_exit = softirq_entry.like("softirq_exit")
softirq_raise = softirq_entry.like("softirq_raise", held=(IRQS, 0))
tasklet_entry = TraceEventDecl(
    "irq", "tasklet_entry",
    missing=NEVER,
    since="6.1",  # with the backports of its stable branch
    proto="struct tasklet_struct *t, void *func",
    entry=(
        ("void * tasklet", "t"),
        ("void * func", "func"),
    ),
    print='"tasklet=%ps function=%ps", REC->tasklet, REC->func',
)  # fmt: skip
tasklet_exit = tasklet_entry.like("tasklet_exit", since="6.1", missing=NEVER)
local_timer_entry = TraceEventDecl(
    "irq_vectors", "local_timer_entry",
    proto="int vector",
    entry=(
        ("int vector", "vector"),
    ),
    print='"vector=%d", REC->vector',
)  # fmt: skip
local_timer_exit = local_timer_entry.like("local_timer_exit")
