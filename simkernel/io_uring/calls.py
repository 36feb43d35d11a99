"""io_uring_setup(2), io_uring_enter(2), io_uring_register(2).  io_uring/io_uring.c, rsrc.c."""

from __future__ import annotations

import struct
from itertools import pairwise

from arch.abi import io_uring as abi
from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import (
    EACCES,
    EBADFD,
    ECANCELED,
    EEXIST,
    EINTR,
    EINVAL,
    EOPNOTSUPP,
    EOWNERDEAD,
    EPERM,
    ERESTARTSYS,
    ETIME,
)
from arch.abi.fcntl import O_CLOEXEC, O_RDWR
from arch.errors import KernelError
from simkernel.fs.posix_acl import in_group
from simkernel.fs.select import read_timespec, set_mask
from simkernel.io_uring.op import known, there
from simkernel.io_uring.ops import OPS, begin
from simkernel.io_uring.register import entered_ring
from simkernel.io_uring.request import Request
from simkernel.io_uring.ring import IO_URING_FOPS, Polls, Ring, passed
from simkernel.io_uring.sqpoll import io_sq_offload_create
from simkernel.kernel.body import Body, Steps
from simkernel.kernel.entry import run_task_works
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.task import has_signal
from simkernel.net.face import NetKernel

IO_URING_C = "io_uring/io_uring.c"
PARAMS_SIZE, OFFSETS_AT = 120, 40


# -- set-up --------------------------------------------------------------------------------------------------------


def _rounded(count: int) -> int:
    """roundup_pow_of_two()."""
    return 1 << (count - 1).bit_length()


def _allowed(k: NetKernel) -> bool:
    """io_uring_allowed(): who may, as kernel.io_uring_disabled (1: the administrator and a group; 2: nobody) says."""
    disabled, group = int(k.vfs.sysctl["kernel.io_uring_disabled"]), int(k.vfs.sysctl["kernel.io_uring_group"])
    if disabled in (0, 2):
        return not disabled
    return k.capable(CAP_SYS_ADMIN) or (group >= 0 and in_group(k.current.cred, group))


@syscall("io_uring_setup", "u32 entries, struct io_uring_params *params", source=IO_URING_C, since="5.1")
def sys_io_uring_setup(k: NetKernel, entries: int, params: int) -> int:
    """A new instance; where its rings' words are is told in the parameters.  EINVAL, EFAULT, EMFILE, EPERM."""
    if not _allowed(k):
        return -EPERM
    raw = k.usercopy.copy_from_user(params, PARAMS_SIZE)
    order = "<" if k.mem.byteorder == "little" else ">"
    _, cq_entries, flags, cpu, idle_ms, _, wq_fd, *reserved = struct.unpack(order + "10I", raw[:OFFSETS_AT])
    if any(reserved) or flags & ~known(k, abi.SETUP_FLAGS) or not entries:
        return -EINVAL
    if flags & abi.IORING_SETUP_DEFER_TASKRUN and not flags & abi.IORING_SETUP_SINGLE_ISSUER:
        return -EINVAL
    if flags & abi.IORING_SETUP_SQPOLL and flags & (
        abi.IORING_SETUP_COOP_TASKRUN | abi.IORING_SETUP_TASKRUN_FLAG | abi.IORING_SETUP_DEFER_TASKRUN
    ):
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
    features = known(k, abi.FEATURES)
    answer = struct.pack(order + "7I12x", entries, cq_entries, flags, cpu, idle_ms, features, wq_fd)
    answer += struct.pack(order + "8IQ", abi.SQ_HEAD, abi.SQ_TAIL, abi.SQ_RING_MASK, abi.SQ_RING_ENTRIES, abi.SQ_FLAGS, abi.SQ_DROPPED, ring.array, 0, 0)  # fmt: skip
    answer += struct.pack(order + "8IQ", abi.CQ_HEAD, abi.CQ_TAIL, abi.CQ_RING_MASK, abi.CQ_RING_ENTRIES, abi.CQ_OVERFLOW, abi.CQES, abi.CQ_FLAGS, 0, 0)  # fmt: skip
    try:
        io_sq_offload_create(k, ring, cpu, idle_ms, wq_fd)
        k.usercopy.copy_to_user(params, answer)
        return k.vfs.anon_inode_getfd(k, "[io_uring]", IO_URING_FOPS, ring, O_RDWR | O_CLOEXEC)
    except KernelError:
        ring.release()
        raise


# -- submission ----------------------------------------------------------------------------------------------------


def _prepare(request: Request, chain: list[Request]) -> None:
    """io_init_req() and the operation's own preparation.  EINVAL, EOPNOTSUPP."""
    ring = request.ring
    op = OPS.get(request.opcode)
    if op is None or not there(request.k, op.since) or request.flags & ~abi.SQE_VALID_FLAGS:
        raise KernelError(EINVAL)
    if request.flags & abi.IOSQE_BUFFER_SELECT and not op.selects:
        raise KernelError(EOPNOTSUPP)
    if request.flags & abi.IOSQE_CQE_SKIP_SUCCESS:
        ring.drain_disabled = True
    if request.flags & abi.IOSQE_IO_DRAIN and ring.drain_disabled:
        raise KernelError(EOPNOTSUPP)
    if ring.restricted and ring.restrictions is not None and not ring.restrictions.allow(request.opcode, request.flags):
        raise KernelError(EACCES)
    if request.ioprio and not op.ioprio:
        raise KernelError(EINVAL)
    if ring.flags & abi.IORING_SETUP_IOPOLL and not op.polls:
        raise KernelError(EINVAL)
    if request.personality:
        request.creds = ring.personalities.get(request.personality)
        if request.creds is None:
            raise KernelError(EINVAL)
    if op.has_file and not there(request.k, abi.FILES_TAKEN_LATE):
        request.take_file()
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
    if failed:  # io_queue_sqe_fallback(): hard links are links then
        steps[0].error = steps[0].error or -ECANCELED
        steps[0].flags = steps[0].flags & ~abi.IOSQE_IO_HARDLINK | abi.IOSQE_IO_LINK
    return steps[0]


def _queue(chain: list[Request]) -> Steps[None]:
    """io_queue_sqe(): begin a chain, or keep it until all before it are done (`yield from`)."""
    head = _tie(chain)
    ring = head.ring
    drains = [request for request in chain if request.flags & abi.IOSQE_IO_DRAIN]
    head.drains = bool(drains) or ring.drain_next
    # io_init_req_drain(): then what follows the chain, too
    ring.drain_next = any(request is not chain[0] for request in drains)
    if ring.deferred or ring.need_defer(head):
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
            if chain or ring.deferred:  # io_req_prep_async()
                OPS[request.opcode].keeps(k, request)
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
        yield from ring.run_local_work()
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


def _extended(k: NetKernel, flags: int, argp: int, argsz: int) -> tuple[int, int, int]:
    """io_get_ext_arg(): (signal mask, its size, where the time to wait stands or 0).  EINVAL, EFAULT."""
    if not flags & abi.IORING_ENTER_EXT_ARG:
        return argp, argsz, 0
    if argsz != 24:
        raise KernelError(EINVAL)
    order = "<" if k.mem.byteorder == "little" else ">"
    sigmask, size, pad, ts = struct.unpack(order + "QIIQ", k.usercopy.copy_from_user(argp, 24))
    if pad:
        raise KernelError(EINVAL)
    return sigmask, size, ts


@syscall(
    "io_uring_enter",
    "unsigned int fd, u32 to_submit, u32 min_complete, u32 flags, const void *argp, size_t argsz",
    source=IO_URING_C, since="5.1",
)  # fmt: skip
def sys_io_uring_enter(
    k: NetKernel, fd: int, to_submit: int, min_complete: int, flags: int, argp: int, argsz: int
) -> Body:
    """Submit, then wait; how many were submitted.  EINVAL, EBADF, EOPNOTSUPP, EBADFD, EEXIST, EOWNERDEAD, EINTR, ETIME."""
    known = (
        abi.IORING_ENTER_GETEVENTS
        | abi.IORING_ENTER_SQ_WAKEUP
        | abi.IORING_ENTER_SQ_WAIT
        | abi.IORING_ENTER_EXT_ARG
        | abi.IORING_ENTER_REGISTERED_RING
    )
    yield from run_task_works(k.current)
    if flags & ~known:
        return -EINVAL
    file, ring = entered_ring(k, fd, bool(flags & abi.IORING_ENTER_REGISTERED_RING))
    if ring.flags & abi.IORING_SETUP_R_DISABLED:
        return -EBADFD
    polled = ring.sq_data
    looks = ring.defers and flags & abi.IORING_ENTER_GETEVENTS  # io_allowed_run_tw()
    if ring.submitter is not None and ring.submitter is not k.current and (looks or (to_submit and not polled)):
        return -EEXIST
    file.get()
    try:
        with passed(k, ring) as ctx:
            if polled is not None:
                done = yield from _polled(k, ring, polled, to_submit, flags)
            else:
                done = (yield k.call("io_submit_sqes", ctx, to_submit)) if to_submit else 0
            if done != to_submit:
                return done
            if flags & abi.IORING_ENTER_GETEVENTS and not ring.flags & abi.IORING_SETUP_IOPOLL:  # io_iopoll_check()
                ret = yield from _wait(k, ctx, ring, min_complete, _extended(k, flags, argp, argsz))
                return done or ret
        return done
    finally:
        file.put()


def _polled(k: NetKernel, ring: Ring, polled: Polls, to_submit: int, flags: int) -> Body:
    """A thread takes the requests: wake it, or wait until it has made room.  EOWNERDEAD."""
    ring.flush_overflow()
    if polled.stopped:
        return -EOWNERDEAD
    if flags & abi.IORING_ENTER_SQ_WAKEUP:
        polled.wake()
    while flags & abi.IORING_ENTER_SQ_WAIT and ring.waiting_sqes == ring.sq_entries:  # io_sqpoll_wait_sq()
        if (yield k.wait(ring.sq_wait)) < 0:
            break
    return to_submit


def _wait(k: NetKernel, ctx: int, ring: Ring, min_complete: int, how: tuple[int, int, int]) -> Body:
    """Who finds enough completions waits for none, and neither mask nor time is looked at."""
    sigmask, size, ts = how
    wanted = min(min_complete, ring.cq_entries)
    yield from run_task_works(k.current)
    yield from ring.run_local_work()
    ring.flush_overflow()
    if ring.ready >= wanted:
        return 0
    patience = read_timespec(k, ts, 8) if ts else None
    restore = set_mask(k, sigmask, size)
    until = 0 if patience is None else k.clock.now_ns + max(patience, 1)
    ret: int = yield k.call("io_cqring_wait", ctx, wanted, until)
    if restore is not None:
        restore(ret == -EINTR)
    return ret
