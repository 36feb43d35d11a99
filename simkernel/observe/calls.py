"""bpf(2) and perf_event_open(2) themselves."""

from __future__ import annotations

from arch.abi.errno import E2BIG, EINVAL, EMFILE
from arch.abi.fcntl import O_CLOEXEC, O_RDWR
from arch.abi.limits import U32_MAX
from arch.abi.perf_event import PERF_FLAG_ALL, PERF_FLAG_FD_CLOEXEC
from arch.errors import KernelError
from simkernel.kernel.body import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.sched import cond_resched
from simkernel.kernel.security import ask, hook_probed
from simkernel.observe.host import ObservedKernel
from simkernel.observe.perf_files import PERF_FOPS, SIZE_AT, read_attr
from tracing.perf import attr as perf_attr


@syscall("bpf", "int cmd, union bpf_attr *uattr, unsigned int size", source="kernel/bpf/syscall.c")
def bpf(k: ObservedKernel, cmd: int, uattr: int, size: int) -> Body:
    """The one door of BPF."""
    return (yield k.call("__sys_bpf", cmd, uattr, size))


@kernel_function(
    "int __sys_bpf(int cmd, union bpf_attr *uattr, unsigned int size)", source="kernel/bpf/syscall.c", since="5.14"
)
def __sys_bpf(k: ObservedKernel, cmd: int, uattr: int, size: int) -> Body:
    """Commands are bpf/syscall/sys_bpf.py's; the kernel's functions that one wants called are called here."""
    from bpf.syscall.sys_bpf import bpf_steps  # a machine without BPF starts without the verifier
    from bpf.syscall.test_functions import TimePassed

    if k.text.probed and hook_probed(k, "security_bpf"):
        refused = yield from _may_bpf(k, cmd, uattr, size & U32_MAX)
        if refused < 0:
            return int(refused)
    answer = bpf_steps(k.observer.bpf, cmd, uattr, size)
    if isinstance(answer, int):
        return answer
    try:
        step = next(answer)
        while True:
            if isinstance(step, TimePassed):
                k.clock.advance(step.ns)
                yield from cond_resched(k)
                step = answer.send(int(k.signals.pending()))
            else:
                step = answer.send((yield k.call(step.name, *step.args)))
    except StopIteration as end:
        return int(end.value)


# include/linux/perf_event.h
PERF_SECURITY_OPEN, PERF_SECURITY_CPU, PERF_SECURITY_KERNEL = range(3)
EXCLUDE_KERNEL_AT, EXCLUDE_KERNEL = 40, 1 << 5  # struct perf_event_attr: where the flags are


def _may_open(k: ObservedKernel, raw: bytes, pid: int) -> None:
    """security_perf_event_open() and security_perf_event_alloc(), with a struct perf_event of which nothing is filled in."""
    flags = int.from_bytes(raw[EXCLUDE_KERNEL_AT : EXCLUDE_KERNEL_AT + 8], k.mem.byteorder)
    attr, event = k.mem.alloc(max(len(raw), 8)), k.new("struct perf_event")
    k.mem.write(attr, raw)
    try:
        ask(k, "perf_event_open", attr, PERF_SECURITY_OPEN)
        if not flags & EXCLUDE_KERNEL:
            ask(k, "perf_event_open", attr, PERF_SECURITY_KERNEL)
        ask(k, "perf_event_alloc", event.addr)
        if pid == -1:
            ask(k, "perf_event_open", attr, PERF_SECURITY_CPU)
    finally:
        k.mem.free(attr)
        k.mem.free(event.addr)


def _may_bpf(k: ObservedKernel, cmd: int, uattr: int, size: int) -> Body:
    """`yield from`: security_bpf() of a copy of the attributes."""
    length = k.types.sizeof("union bpf_attr")
    try:
        raw = k.usercopy.copy_from_user(uattr, min(size, length))
    except KernelError:
        return 0  # the command says so itself
    attr = k.mem.alloc(length)
    try:
        k.mem.write(attr, raw)
        return (yield k.call("security_bpf", cmd, attr, size))
    finally:
        k.mem.free(attr)


@syscall(
    "perf_event_open",
    "struct perf_event_attr *attr_uptr, pid_t pid, int cpu, int group_fd, unsigned long flags",
    source="kernel/events/core.c",
)
def perf_event_open(k: ObservedKernel, attr_uptr: int, pid: int, cpu: int, group_fd: int, flags: int) -> int:
    """A descriptor for a new event, named anon_inode:[perf_event]."""
    if flags & ~PERF_FLAG_ALL:
        return -EINVAL
    core = k.observer.tracing.perf
    raw = read_attr(k, attr_uptr)
    if k.security_hooks.watched:
        _may_open(k, raw, pid)
    try:
        event = core.open(raw, pid, cpu, group_fd, flags)
    except KernelError as error:
        if error.errno == E2BIG and len(raw) > perf_attr.attr_size(k.version):
            k.usercopy.put_user(attr_uptr + SIZE_AT, 4, perf_attr.attr_size(k.version))
        raise
    try:
        cloexec = O_CLOEXEC if flags & PERF_FLAG_FD_CLOEXEC else 0
        return int(k.vfs.anon_inode_getfd(k, "[perf_event]", PERF_FOPS, event, O_RDWR | cloexec))
    except KernelError as error:
        if error.errno == EMFILE:
            event.release()
        raise
