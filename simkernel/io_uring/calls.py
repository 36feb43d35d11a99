"""io_uring_setup(2), io_uring_enter(2), io_uring_register(2).  io_uring/io_uring.c, rsrc.c."""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import pairwise

from arch.abi import io_uring as abi
from arch.abi.errno import (
    EBADF,
    EBADFD,
    EBUSY,
    ECANCELED,
    EFAULT,
    EINTR,
    EINVAL,
    EMFILE,
    ENXIO,
    EOPNOTSUPP,
    EOVERFLOW,
    ERESTARTSYS,
    ETIME,
)
from arch.abi.fcntl import O_CLOEXEC, O_RDWR
from arch.errors import KernelError
from simkernel.fs.eventfd import EventFd
from simkernel.fs.inode import File
from simkernel.fs.select import read_timespec, set_mask
from simkernel.fs.uio import import_iovec
from simkernel.io_uring.ops import OPS, begin, update_files
from simkernel.io_uring.request import Request
from simkernel.io_uring.ring import IO_URING_FOPS, Ring, ring_in
from simkernel.kernel.body import Body, Steps
from simkernel.kernel.entry import run_task_works
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.task import has_signal
from simkernel.net.face import NetKernel

IO_URING_C = "io_uring/io_uring.c"
SETUP_FLAGS = (
    abi.IORING_SETUP_CQSIZE | abi.IORING_SETUP_CLAMP | abi.IORING_SETUP_R_DISABLED | abi.IORING_SETUP_SUBMIT_ALL
    | abi.IORING_SETUP_COOP_TASKRUN | abi.IORING_SETUP_TASKRUN_FLAG | abi.IORING_SETUP_SINGLE_ISSUER
    | abi.IORING_SETUP_DEFER_TASKRUN
)  # fmt: skip
PARAMS_SIZE, OFFSETS_AT = 120, 40
UIO_MAXIOV, MAX_BUFFER, MAX_FILES = 1 << 14, 1 << 30, 1 << 15


# -- set-up --------------------------------------------------------------------------------------------------------


def _rounded(count: int) -> int:
    """roundup_pow_of_two()."""
    return 1 << (count - 1).bit_length()


@syscall("io_uring_setup", "u32 entries, struct io_uring_params *params", source=IO_URING_C, since="5.1")
def sys_io_uring_setup(k: NetKernel, entries: int, params: int) -> int:
    """A new instance; where its rings' words are is told in the parameters.  EINVAL, EFAULT, EMFILE."""
    raw = k.usercopy.copy_from_user(params, PARAMS_SIZE)
    order = "<" if k.mem.byteorder == "little" else ">"
    _, cq_entries, flags, cpu, idle, _, wq_fd, *reserved = struct.unpack(order + "10I", raw[:OFFSETS_AT])
    if any(reserved) or flags & ~SETUP_FLAGS or not entries:
        return -EINVAL
    if flags & abi.IORING_SETUP_DEFER_TASKRUN and not flags & abi.IORING_SETUP_SINGLE_ISSUER:
        return -EINVAL
    if flags & abi.IORING_SETUP_TASKRUN_FLAG and not flags & (
        abi.IORING_SETUP_COOP_TASKRUN | abi.IORING_SETUP_DEFER_TASKRUN
    ):
        return -EINVAL
    clamps = bool(flags & abi.IORING_SETUP_CLAMP)
    if entries > abi.IORING_MAX_ENTRIES:
        if not clamps:
            return -EINVAL
        entries = abi.IORING_MAX_ENTRIES
    entries = _rounded(entries)
    if flags & abi.IORING_SETUP_CQSIZE:
        if not cq_entries or (cq_entries > abi.IORING_MAX_CQ_ENTRIES and not clamps):
            return -EINVAL
        cq_entries = _rounded(min(cq_entries, abi.IORING_MAX_CQ_ENTRIES))
        if cq_entries < entries:
            return -EINVAL
    else:
        cq_entries = 2 * entries
    ring = Ring(k, entries, cq_entries, flags)
    features = sum(bits for since, bits in abi.FEATURES if k.version.at_least(since))
    answer = struct.pack(order + "7I12x", entries, cq_entries, flags, cpu, idle, features, wq_fd)
    answer += struct.pack(order + "8IQ", abi.SQ_HEAD, abi.SQ_TAIL, abi.SQ_RING_MASK, abi.SQ_RING_ENTRIES, abi.SQ_FLAGS, abi.SQ_DROPPED, ring.array, 0, 0)  # fmt: skip
    answer += struct.pack(order + "8IQ", abi.CQ_HEAD, abi.CQ_TAIL, abi.CQ_RING_MASK, abi.CQ_RING_ENTRIES, abi.CQ_OVERFLOW, abi.CQES, abi.CQ_FLAGS, 0, 0)  # fmt: skip
    try:
        k.usercopy.copy_to_user(params, answer)
        return k.vfs.anon_inode_getfd(k, "[io_uring]", IO_URING_FOPS, ring, O_RDWR | O_CLOEXEC)
    except KernelError:
        ring.release()
        raise


def _ring_of(k: NetKernel, fd: int) -> Ring:
    """EBADF, EOPNOTSUPP."""
    file = k.vfs.fget(fd)
    if file.f_op is not IO_URING_FOPS:
        raise KernelError(EOPNOTSUPP, "not an io_uring instance")
    return ring_in(file)


# -- submission ----------------------------------------------------------------------------------------------------


def _prepare(request: Request, chain: list[Request]) -> None:
    """io_init_req() and the operation's own preparation.  EINVAL, EOPNOTSUPP."""
    ring = request.ring
    op = OPS.get(request.opcode)
    if op is None or not request.k.version.at_least(op.since) or request.flags & ~abi.SQE_VALID_FLAGS:
        raise KernelError(EINVAL)
    if request.flags & abi.IOSQE_BUFFER_SELECT and not op.selects:
        raise KernelError(EOPNOTSUPP)
    if request.flags & abi.IOSQE_CQE_SKIP_SUCCESS:
        ring.drain_disabled = True
    if request.flags & abi.IOSQE_IO_DRAIN and ring.drain_disabled:
        raise KernelError(EOPNOTSUPP)
    if request.personality:
        raise KernelError(EINVAL)
    words = vars(request)
    if any(words[name] for name in op.zero):
        raise KernelError(EINVAL)
    op.check(request)
    if request.opcode == abi.IORING_OP_LINK_TIMEOUT and (not chain or chain[-1].opcode == abi.IORING_OP_LINK_TIMEOUT):
        raise KernelError(EINVAL)


def _tie(chain: list[Request]) -> Request:
    """Requests that were linked: each begins the next; a time-out watches the one in front of it."""
    failed = any(request.error is not None for request in chain)
    steps = [request for request in chain if request.opcode != abi.IORING_OP_LINK_TIMEOUT or request.error is not None]
    for before, request in pairwise(chain):
        if request not in steps:
            before.guard, request.watches = request, before
    for before, request in pairwise(steps):
        before.next = request
    if failed and steps[0].error is None:
        steps[0].error = -ECANCELED
    return steps[0]


def _queue(chain: list[Request]) -> Steps[None]:
    """io_queue_sqe(): begin a chain, or keep it until all before it are done (`yield from`)."""
    head = _tie(chain)
    ring = head.ring
    if ring.deferred or (ring.pending and any(request.flags & abi.IOSQE_IO_DRAIN for request in chain)):
        ring.deferred.append(head)
        return
    yield from head.run()


@kernel_function("int io_submit_sqes(struct io_ring_ctx *ctx, unsigned int nr)", source=IO_URING_C, since="5.1")
def io_submit_sqes(k: NetKernel, ctx: int, nr: int) -> Body:
    """Begin as many requests as there are, up to `nr`; how many were taken.  What cannot be begun ends the call."""
    ring = k.vfs.passed(ctx, Ring)
    chain: list[Request] = []
    done = 0
    for _ in range(min(nr, ring.waiting_sqes)):
        sqe = ring.next_sqe()
        if sqe is None:
            break
        done += 1
        request = Request(ring, sqe)
        request.begin = begin
        try:
            _prepare(request, chain)
        except KernelError as error:
            request.error = -error.errno
        chain.append(request)
        if request.linked:
            continue
        stops = request.error is not None and not ring.flags & abi.IORING_SETUP_SUBMIT_ALL
        ready, chain = chain, []
        yield from _queue(ready)
        if stops:
            break
    if chain:
        yield from _queue(chain)
    return done


# -- enter ---------------------------------------------------------------------------------------------------------


@kernel_function(
    "int io_cqring_wait(struct io_ring_ctx *ctx, int min_events, u64 until)", source=IO_URING_C, since="5.1"
)
def io_cqring_wait(k: NetKernel, ctx: int, min_events: int, until: int) -> Body:
    """Until so many completions are there, or (ns of the machine's clock, 0: never) it is later.  EINTR, ETIME."""
    ring, task = k.vfs.passed(ctx, Ring), k.current
    while True:
        yield from run_task_works(task)
        ring.flush_overflow()
        if ring.ready >= min_events:
            return 0
        ret = yield k.wait(ring.wait, timeout_ns=max(0, until - k.clock.now_ns) if until else None)
        if ret == -ETIME:
            return 0 if ring.ready else -ETIME
        if ret == -ERESTARTSYS:
            if task.task_works and not has_signal(task):
                continue
            if has_signal(task):
                return 0 if ring.ready else -EINTR


def _patience(k: NetKernel, flags: int, argp: int, argsz: int) -> tuple[int, int, int | None]:
    """io_get_ext_arg(): (signal mask, its size, ns to wait).  EINVAL, EFAULT."""
    if not flags & abi.IORING_ENTER_EXT_ARG:
        return argp, argsz, None
    if argsz != 24:
        raise KernelError(EINVAL)
    order = "<" if k.mem.byteorder == "little" else ">"
    sigmask, size, pad, ts = struct.unpack(order + "QIIQ", k.usercopy.copy_from_user(argp, 24))
    if pad:
        raise KernelError(EINVAL)
    return sigmask, size, read_timespec(k, ts, 8) if ts else None


@syscall(
    "io_uring_enter",
    "unsigned int fd, u32 to_submit, u32 min_complete, u32 flags, const void *argp, size_t argsz",
    source=IO_URING_C, since="5.1",
)  # fmt: skip
def sys_io_uring_enter(
    k: NetKernel, fd: int, to_submit: int, min_complete: int, flags: int, argp: int, argsz: int
) -> Body:
    """Submit, then wait; how many were submitted.  EINVAL, EBADF, EOPNOTSUPP, EBADFD, EINTR, ETIME."""
    known = (
        abi.IORING_ENTER_GETEVENTS | abi.IORING_ENTER_SQ_WAKEUP | abi.IORING_ENTER_SQ_WAIT | abi.IORING_ENTER_EXT_ARG
    )
    yield from run_task_works(k.current)
    if flags & ~known:
        return -EINVAL
    ring = _ring_of(k, fd)
    if ring.flags & abi.IORING_SETUP_R_DISABLED:
        return -EBADFD
    file: File = k.vfs.fget(fd).get()
    ctx = k.mem.alloc(64)
    k.vfs.objects[ctx] = ring
    try:
        done = 0
        if to_submit:
            done = yield k.call("io_submit_sqes", ctx, to_submit)
            if done != to_submit:
                return done
        if flags & abi.IORING_ENTER_GETEVENTS:
            ret = yield from _wait(k, ctx, ring, min_complete, _patience(k, flags, argp, argsz))
            return done or ret
        return done
    finally:
        del k.vfs.objects[ctx]
        k.mem.free(ctx)
        file.put()


def _wait(k: NetKernel, ctx: int, ring: Ring, min_complete: int, how: tuple[int, int, int | None]) -> Body:
    sigmask, size, patience = how
    restore = set_mask(k, sigmask, size)
    until = 0 if patience is None else k.clock.now_ns + max(patience, 1)
    ret: int = yield k.call("io_cqring_wait", ctx, min(min_complete, ring.cq_entries), until)
    if restore is not None:
        restore(ret == -EINTR)
    return ret


# -- register ------------------------------------------------------------------------------------------------------

Registering = Callable[[NetKernel, Ring, int, int], int]


def _buffers(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_sqe_buffers_register().  EBUSY, EINVAL, EFAULT."""
    if ring.buffers is not None:
        return -EBUSY
    if not 0 < count <= UIO_MAXIOV:
        return -EINVAL
    buffers = import_iovec(k, arg, count) if count <= 1024 else []
    for base, length in buffers:
        if not base and length:
            return -EFAULT
        if base and (not length or length > MAX_BUFFER):
            return -EFAULT
        if base + length > 1 << 64:
            return -EOVERFLOW
    ring.buffers = buffers
    return 0


def _no_buffers(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    if arg or count:
        return -EINVAL
    if ring.buffers is None:
        return -ENXIO
    ring.buffers = None
    return 0


def _files(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_sqe_files_register(): -1 leaves a place empty.  EBUSY, EINVAL, EMFILE, EBADF, EFAULT."""
    if ring.files is not None:
        return -EBUSY
    if not count:
        return -EINVAL
    if count > MAX_FILES:
        return -EMFILE
    files: list[File | None] = []
    try:
        for i in range(count):
            fd = k.usercopy.get_user(arg + 4 * i, 4, signed=True)
            file = k.vfs.fget(fd) if fd != -1 else None
            if file is not None and file.f_op is IO_URING_FOPS:
                raise KernelError(EBADF)
            files.append(file.get() if file is not None else None)
    except KernelError:
        for file in files:
            if file is not None:
                file.put()
        raise
    ring.files = files
    return 0


def _no_files(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    if arg or count:
        return -EINVAL
    if ring.files is None:
        return -ENXIO
    for file in ring.files:
        if file is not None:
            file.put()
    ring.files = None
    return 0


def _update(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """struct io_uring_files_update: from where, and the descriptors."""
    order = "<" if k.mem.byteorder == "little" else ">"
    offset, reserved, fds = struct.unpack(order + "IIQ", k.usercopy.copy_from_user(arg, 16))
    if not count or reserved:
        return -EINVAL
    return update_files(k, ring, offset, fds, count)


def _eventfd(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    if count != 1:
        return -EINVAL
    if ring.eventfd is not None:
        return -EBUSY
    file = k.vfs.fget(k.usercopy.get_user(arg, 4, signed=True))
    if not isinstance(file.private_data, EventFd):
        return -EINVAL
    ring.eventfd = file.get()
    return 0


def _no_eventfd(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    if arg or count:
        return -EINVAL
    if ring.eventfd is None:
        return -ENXIO
    ring.eventfd.put()
    ring.eventfd = None
    return 0


def _probe(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_probe(): which operations there are.  EINVAL, EFAULT."""
    if not arg or count > 256:
        return -EINVAL
    size = 16 + 8 * count
    if any(k.usercopy.copy_from_user(arg, size)):
        return -EINVAL
    known = [number for number, op in OPS.items() if k.version.at_least(op.since)]
    last = max(known)
    count = min(count, last + 1)
    order = "<" if k.mem.byteorder == "little" else ">"
    answer = struct.pack(order + "BBH12x", last, count, 0)
    for number in range(count):
        answer += struct.pack(order + "BBHI", number, 0, abi.IO_URING_OP_SUPPORTED if number in known else 0, 0)
    k.usercopy.copy_to_user(arg, answer)
    return 0


def _enable(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    if arg or count:
        return -EINVAL
    if not ring.flags & abi.IORING_SETUP_R_DISABLED:
        return -EBADFD
    ring.flags &= ~abi.IORING_SETUP_R_DISABLED
    return 0


REGISTER: dict[int, Registering] = {
    abi.IORING_REGISTER_BUFFERS: _buffers, abi.IORING_UNREGISTER_BUFFERS: _no_buffers, abi.IORING_REGISTER_FILES: _files,
    abi.IORING_UNREGISTER_FILES: _no_files, abi.IORING_REGISTER_EVENTFD: _eventfd, abi.IORING_REGISTER_EVENTFD_ASYNC: _eventfd,
    abi.IORING_UNREGISTER_EVENTFD: _no_eventfd, abi.IORING_REGISTER_FILES_UPDATE: _update, abi.IORING_REGISTER_PROBE: _probe,
    abi.IORING_REGISTER_ENABLE_RINGS: _enable,
}  # fmt: skip


@syscall(
    "io_uring_register",
    "unsigned int fd, unsigned int opcode, void *arg, unsigned int nr_args",
    source=IO_URING_C,
    since="5.1",
)
def sys_io_uring_register(k: NetKernel, fd: int, opcode: int, arg: int, nr_args: int) -> int:
    """Leave buffers, files or an eventfd with an instance.  EINVAL, EBADF, EOPNOTSUPP, EBUSY, ENXIO, EFAULT."""
    register = REGISTER.get(opcode)
    if register is None:
        return -EINVAL
    return register(k, _ring_of(k, fd), arg, nr_args)
