"""CO-RE: who is switched to on each CPU, and whose child is it?  samples/tasks.bpf.c, but for the state of kernels before 5.14."""

from simkernel import bpf
from simkernel.bpf import array, char, u32, u64


@bpf.struct
class Who:
    pid: u32
    parent: u32
    comm: array(char, 16)


@bpf.struct
class Counts:
    switches: u64
    preempted: u64


switches = bpf.Hash(Who, Counts, max_entries=1024)


@bpf.raw_tracepoint("sched_switch")
def switched(ctx, preempt, prev: bpf.ptr("task_struct"), next: bpf.ptr("task_struct")):
    who = Who(next.pid, next.real_parent.tgid)
    bpf.probe_read_kernel(who.comm, 16, next.comm)
    counts = switches.lookup(who)
    if not counts:
        switches.update(who, Counts(), bpf.BPF_NOEXIST)
        counts = switches.lookup(who)
        if not counts:
            return 0
    bpf.atomic_add(counts.switches, 1)
    if prev.__state == 0:
        bpf.atomic_add(counts.preempted, 1)
    return 0
