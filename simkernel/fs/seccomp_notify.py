"""seccomp's listeners: a descriptor on which another process hears of calls, and answers in the kernel's place.  kernel/seccomp.c.

The task that made the call sleeps in seccomp_do_user_notification(); the listener takes the request (RECV), may put a
descriptor into the task (ADDFD), and answers (SEND).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from arch.abi.errno import EBADF, EBUSY, EFAULT, EINPROGRESS, EINTR, EINVAL, ENOENT, ENOSYS, ENOTTY, ESRCH
from arch.abi.fcntl import O_CLOEXEC, O_RDWR
from arch.abi.poll import POLLHUP, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM
from arch.errors import KernelError
from arch.records import dataclass, field
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import File, FileOperations
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.seccomp import NOTIF, NOTIF_RESP
from simkernel.kernel.seccomp_filter import Filter
from simkernel.kernel.task import Task, WaitQueue

# include/uapi/linux/seccomp.h
SECCOMP_IOCTL_NOTIF_RECV, SECCOMP_IOCTL_NOTIF_SEND, SECCOMP_IOCTL_NOTIF_ID_VALID = 0xC0502100, 0xC0182101, 0x40082102
SECCOMP_IOCTL_NOTIF_ID_VALID_WRONG_DIR = 0x80082102
ADDFD_COMMAND, IOC_SIZE_SHIFT, IOC_SIZE_MASK = 0x40002103, 16, 0x3FFF
SECCOMP_USER_NOTIF_FLAG_CONTINUE = 1
SECCOMP_ADDFD_FLAG_SETFD, SECCOMP_ADDFD_FLAG_SEND = 1, 2
ADDFD_SIZE_VER0, PAGE = 24, 4096
INIT, SENT, REPLIED = range(3)  # enum notify_state


@dataclass(eq=False, slots=True)
class Addition:
    """struct seccomp_kaddfd: a descriptor that the task shall take, which it does itself before it waits on."""

    file: File
    fd: int
    cloexec: bool
    setfd: bool
    ends: bool  # SECCOMP_ADDFD_FLAG_SEND: its number is the call's result
    ret: int | None = None  # the number or -errno, when it is done
    completion: WaitQueue = field(default_factory=lambda: WaitQueue("seccomp_kaddfd"))


@dataclass(eq=False, slots=True)
class Notification:
    """struct seccomp_knotif: one call that waits for its answer."""

    task: Task
    id: int
    data: bytes
    state: int = INIT
    error: int = 0
    value: int = 0
    flags: int = 0
    addfd: list[Addition] = field(default_factory=list)
    ready: WaitQueue = field(default_factory=lambda: WaitQueue("seccomp_knotif"))


class Listener:
    """struct notification: what hangs on a filter that was installed with a listener."""

    def __init__(self, owner: Filter, first_id: int) -> None:
        self.filter = owner
        self.next_id = first_id
        self.waiting: list[Notification] = []
        self.wqh = WaitQueue("seccomp_notify")  # of poll and of RECV
        self.closed = False
        # A semaphore, which a call that was interrupted before anybody received it does not take back: the next RECV finds nothing.
        self.requests = 0

    def find(self, number: int) -> Notification:
        """find_notification().  ENOENT."""
        for found in self.waiting:
            if found.id == number:
                return found
        raise KernelError(ENOENT)

    def used(self, k: KernelFace) -> bool:
        """A task is still under the filter."""
        return any(_under(task, self.filter) for task in k.tasks.by_pid.values())


class Question(NamedTuple):
    """What seccomp_do_user_notification() is called for."""

    listener: Listener | None
    data: bytes


def _under(task: Task, wanted: Filter) -> bool:
    step = task.seccomp_filter
    while step is not None:
        if step is wanted:
            return True
        step = step.prev
    return False


@kernel_function("int seccomp_do_user_notification(int this_syscall, struct seccomp_filter *match, "
                 "const struct seccomp_data *sd)", source="kernel/seccomp.c", since="5.0",
                 names={None: "seccomp_do_user_notification.constprop.0", "7.0": "seccomp_do_user_notification.isra.0"})  # fmt: skip
def seccomp_do_user_notification(k: FsKernel, nr: int, match: int, sd: int) -> Body:
    """Wait for the listener's word.  0: the call is made; -1: it is not, and its result is set."""
    question, k.current.seccomp_question = k.current.seccomp_question, None
    assert isinstance(question, Question)
    listener, data = question.listener, question.data
    if listener is None or listener.closed:
        k.regs.set(k.current.regs, k.abi.result, -ENOSYS)
        return -1
    call = Notification(k.current, listener.next_id, data)
    listener.next_id += 1
    listener.waiting.append(call)
    listener.requests += 1
    k.wake_up(listener.wqh, 0)
    while call.state != REPLIED or call.addfd:
        if call.addfd:
            _handle_addfd(k, call, call.addfd.pop(0))
            continue
        killable = listener.filter.wait_killable and call.state >= SENT
        ret = yield k.wait(call.ready, interruptible=not killable, killable=killable)
        if ret < 0 and call.state != REPLIED:
            if not killable and listener.filter.wait_killable and call.state >= SENT:
                continue
            listener.waiting.remove(call)
            for addition in call.addfd:
                _added(k, addition, -ESRCH)
            k.regs.set(k.current.regs, k.abi.result, ret)
            return -1
    if call in listener.waiting:
        listener.waiting.remove(call)
    if call.flags & SECCOMP_USER_NOTIF_FLAG_CONTINUE:
        return 0
    k.regs.set(k.current.regs, k.abi.result, call.error or call.value)
    return -1


def _recv(k: FsKernel, listener: Listener, arg: int) -> Body:
    """seccomp_notify_recv().  EINVAL, EFAULT, EINTR, ENOENT."""
    if any(k.usercopy.copy_from_user(arg, NOTIF)):
        raise KernelError(EINVAL, "the request has to be zero")
    while not listener.requests:
        if (yield k.wait(listener.wqh)) < 0:
            raise KernelError(EINTR)
    listener.requests -= 1
    found = next((call for call in listener.waiting if call.state == INIT), None)
    if found is None:
        raise KernelError(ENOENT)
    order = "<" if k.mem.byteorder == "little" else ">"
    found.state = SENT
    k.wake_up(listener.wqh, 0)
    try:
        head = struct.pack(order + "QII", found.id, k.tasks.vnr(found.task.pid), 0)
        k.usercopy.copy_to_user(arg, head + found.data)
    except KernelError:
        if found.state == SENT:
            found.state = INIT
            listener.requests += 1
            k.wake_up(listener.wqh, 0)
        raise KernelError(EFAULT) from None
    return 0


def _send(k: FsKernel, listener: Listener, arg: int) -> int:
    """seccomp_notify_send().  EFAULT, EINVAL, ENOENT, EINPROGRESS."""
    order = "<" if k.mem.byteorder == "little" else ">"
    number, value, error, flags = struct.unpack(order + "QqiI", k.usercopy.copy_from_user(arg, NOTIF_RESP))
    if flags & ~SECCOMP_USER_NOTIF_FLAG_CONTINUE or (flags and (error or value)):
        raise KernelError(EINVAL)
    call = listener.find(number)
    if call.state != SENT:
        raise KernelError(EINPROGRESS)
    call.state, call.value, call.error, call.flags = REPLIED, value, error, flags
    k.wake_up(call.ready, 0)
    return 0


def _id_valid(k: FsKernel, listener: Listener, arg: int) -> int:
    """seccomp_notify_id_valid(): does the call still wait?  ENOENT, EFAULT."""
    if listener.find(k.usercopy.get_user(arg, 8)).state != SENT:
        raise KernelError(ENOENT)
    return 0


def _addfd(k: FsKernel, listener: Listener, arg: int, size: int) -> Body:
    """seccomp_notify_addfd(): a descriptor of the listener's becomes one of the task's; its number there.  EINVAL, EBADF, ENOENT..."""
    if not ADDFD_SIZE_VER0 <= size < PAGE:
        raise KernelError(EINVAL)
    order = "<" if k.mem.byteorder == "little" else ">"
    raw = k.usercopy.copy_struct_from_user(arg, size, ADDFD_SIZE_VER0)
    number, flags, source, wanted, fd_flags = struct.unpack_from(order + "QIIII", raw)
    if fd_flags & ~O_CLOEXEC:
        raise KernelError(EINVAL)
    setfd, ends = bool(flags & SECCOMP_ADDFD_FLAG_SETFD), bool(flags & SECCOMP_ADDFD_FLAG_SEND)
    if flags & ~(SECCOMP_ADDFD_FLAG_SETFD | SECCOMP_ADDFD_FLAG_SEND) or (wanted and not setfd):
        raise KernelError(EINVAL)
    if source not in files_of(k.current).fds:
        raise KernelError(EBADF)
    file = k.vfs.fget(source)
    call = listener.find(number)
    if call.state != SENT:
        raise KernelError(EINPROGRESS)
    if ends:
        if call.addfd:
            raise KernelError(EBUSY)
        call.state = REPLIED
    addition = Addition(file.get(), wanted, bool(fd_flags & O_CLOEXEC), setfd, ends)
    call.addfd.append(addition)
    k.wake_up(call.ready, 0)
    while addition.ret is None:
        if (yield k.wait(addition.completion)) < 0:
            # It was taken between the interrupt and here, or it is taken back.
            if addition.ret is not None:
                break
            call.addfd.remove(addition)
            _added(k, addition, -EINTR)
    assert addition.ret is not None
    return addition.ret


def _handle_addfd(k: FsKernel, call: Notification, addition: Addition) -> None:
    """seccomp_handle_addfd(), in the task that made the call."""
    try:
        ret = _receive_fd(k, addition)
    except KernelError as error:
        ret = -error.errno
    if addition.ends:
        if ret < 0:
            call.state = SENT
        else:
            call.value, call.error, call.flags = ret, 0, 0
    _added(k, addition, ret)


def _added(k: FsKernel, addition: Addition, ret: int) -> None:
    """The listener learns what became of it."""
    addition.ret = ret
    k.vfs.put_file(addition.file)
    k.wake_up(addition.completion, 0)


def _receive_fd(k: FsKernel, addition: Addition) -> int:
    """receive_fd(), receive_fd_replace(): the number.  EMFILE, EBADF."""
    files = files_of(k.current)
    if not addition.setfd:
        fd = files.get_unused_fd(addition.cloexec)
        files.install(fd, addition.file.get())
        return fd
    if addition.fd >= files.limit():
        raise KernelError(EBADF)
    old = files.remove(addition.fd)
    files.install(addition.fd, addition.file.get())
    files.set_cloexec(addition.fd, addition.cloexec)
    if old is not None:
        k.vfs.put_file(old)
    return addition.fd


def _ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int | Body:
    """seccomp_notify_ioctl()."""
    listener: Listener = file.private_data
    if cmd == SECCOMP_IOCTL_NOTIF_RECV:
        return _recv(k, listener, arg)
    if cmd == SECCOMP_IOCTL_NOTIF_SEND:
        return _send(k, listener, arg)
    if cmd in (SECCOMP_IOCTL_NOTIF_ID_VALID, SECCOMP_IOCTL_NOTIF_ID_VALID_WRONG_DIR):
        return _id_valid(k, listener, arg)
    if cmd & 0xFFFF == ADDFD_COMMAND & 0xFFFF and cmd >> 30 and k.version.at_least("5.9"):
        return _addfd(k, listener, arg, cmd >> IOC_SIZE_SHIFT & IOC_SIZE_MASK)
    raise KernelError(ENOTTY if k.version.before("5.0") else EINVAL)


def _poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    """seccomp_notify_poll()."""
    listener: Listener = file.private_data
    if queues is not None:
        queues.append(listener.wqh)
    mask = 0
    for call in listener.waiting:
        mask |= (POLLIN | POLLRDNORM) if call.state == INIT else (POLLOUT | POLLWRNORM) if call.state == SENT else 0
    return mask if listener.used(k) else mask | POLLHUP


def _release(k: FsKernel, file: File) -> None:
    """seccomp_notify_detach(): nobody answers any more."""
    listener: Listener = file.private_data
    listener.closed = True
    for call in listener.waiting:
        if call.state != REPLIED:
            call.state, call.error, call.value, call.flags = REPLIED, -ENOSYS, 0, 0
            k.wake_up(call.ready, 0)
    listener.filter.listener = None


SECCOMP_NOTIFY_OPS = FileOperations(
    "seccomp_notify_ops", llseek="no_llseek", poll=_poll, ioctl=_ioctl, release=_release
)


class SeccompListeners:
    """`k.seccomp_listeners`: what the kernel core asks for."""

    def __init__(self, k: FsKernel) -> None:
        self.k = k

    def open(self, owner: Filter) -> int:
        """init_listener(): a new descriptor of the current task."""
        k = self.k
        listener = owner.listener = Listener(owner, k.random.getrandbits(64))
        return k.vfs.anon_inode_getfd(k, "seccomp notify", SECCOMP_NOTIFY_OPS, listener, O_RDWR | O_CLOEXEC)

    def ask(self, owner: Filter, data: bytes) -> None:
        """What seccomp_do_user_notification() is about to wait for."""
        listener = owner.listener
        assert listener is None or isinstance(listener, Listener)
        self.k.current.seccomp_question = Question(listener, data)

    def released(self, task: Task) -> None:
        """seccomp_filter_release(): whoever polls learns that the last task is gone."""
        step = task.seccomp_filter
        while step is not None:
            if isinstance(step.listener, Listener):
                self.k.wake_up(step.listener.wqh, 0)
            step = step.prev
