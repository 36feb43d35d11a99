"""userfaultfd: a process brings the missing pages of an address space itself, and hears of writes to protected ones.  fs/userfaultfd.c.

Watched are areas of private anonymous memory.  A task whose fault nobody has answered sleeps in handle_userfault().
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from arch.abi.capability import CAP_SYS_PTRACE
from arch.abi.errno import EAGAIN, EBUSY, EEXIST, EINVAL, ENOENT, ENOMEM, EPERM, ESRCH
from arch.abi.fcntl import O_CLOEXEC, O_NONBLOCK, O_RDONLY
from arch.abi.limits import PAGE_SIZE
from arch.abi.poll import POLLERR, POLLIN
from arch.abi.userfaultfd import (
    FEATURES,
    IOCTLS_OF_API,
    IOCTLS_OF_RANGE,
    UFFD_API,
    UFFD_EVENT_FORK,
    UFFD_EVENT_PAGEFAULT,
    UFFD_EVENT_REMAP,
    UFFD_EVENT_REMOVE,
    UFFD_EVENT_UNMAP,
    UFFD_FEATURE_EVENT_FORK,
    UFFD_FEATURE_EVENT_REMAP,
    UFFD_FEATURE_EVENT_REMOVE,
    UFFD_FEATURE_EVENT_UNMAP,
    UFFD_FEATURE_EXACT_ADDRESS,
    UFFD_FEATURE_SIGBUS,
    UFFD_FEATURE_THREAD_ID,
    UFFD_MSG_SIZE,
    UFFD_PAGEFAULT_FLAG_WP,
    UFFD_PAGEFAULT_FLAG_WRITE,
    UFFD_USER_MODE_ONLY,
    UFFDIO_API,
    UFFDIO_CONTINUE,
    UFFDIO_CONTINUE_MODE_DONTWAKE,
    UFFDIO_COPY,
    UFFDIO_COPY_MODE_DONTWAKE,
    UFFDIO_COPY_MODE_WP,
    UFFDIO_REGISTER,
    UFFDIO_REGISTER_MODE_MISSING,
    UFFDIO_REGISTER_MODE_WP,
    UFFDIO_UNREGISTER,
    UFFDIO_WAKE,
    UFFDIO_WRITEPROTECT,
    UFFDIO_WRITEPROTECT_MODE_DONTWAKE,
    UFFDIO_WRITEPROTECT_MODE_WP,
    UFFDIO_ZEROPAGE,
    UFFDIO_ZEROPAGE_MODE_DONTWAKE,
    USERFAULTFD_IOC_NEW,
)
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File, FileOperations
from simkernel.kernel.areas import Vma
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.mm import Mm
from simkernel.kernel.task import WaitQueue
from simkernel.kernel.userfault import VM_UFFD_MISSING, VM_UFFD_WP

VM_FAULT_SIGBUS = 2


class Fault:
    """struct userfaultfd_wait_queue: a task that waits for a page."""

    def __init__(self, address: int, flags: int, ptid: int) -> None:
        self.address, self.flags, self.ptid = address, flags, ptid
        self.queue = WaitQueue("fault_wqh")
        self.over = False


class Event:
    """struct userfaultfd_wait_queue of something that has become of an area."""

    def __init__(self, context: Context, kind: int, words: tuple[int, int, int], child: Context | None = None) -> None:
        self.context, self.kind, self.words, self.child = context, kind, words, child
        self.queue = WaitQueue("event_wqh")
        self.over = False

    def wait(self) -> Steps[None]:
        """userfaultfd_event_wait_completion(); who is killed tells nothing more, and of a child nobody hears."""
        while not self.over:
            if (yield self.context.k.wait(self.queue, killable=True, interruptible=False)) < 0:
                self.read()
                if self.child is not None:
                    self.child.release()

    def read(self) -> None:
        """userfaultfd_event_complete(): who brought it about goes on."""
        self.context.events.remove(self)
        self.over = True
        self.context.k.wake_up(self.queue, 0)


class Context:
    """struct userfaultfd_ctx."""

    def __init__(self, k: FsKernel, mm: Mm, flags: int) -> None:
        self.k, self.mm, self.flags = k, mm, flags
        self.features: int | None = None  # None before UFFDIO_API
        self.pending: list[Fault] = []  # that nobody has read
        self.told: list[Fault] = []
        self.wait = WaitQueue("fd_wqh")
        self.events: list[Event] = []  # that nobody has read: who did that waits
        self.released = False

    @property
    def changing(self) -> bool:
        """mmap_changing."""
        return bool(self.events)

    def _tell(self, feature: int, kind: int, *words: int, child: Context | None = None) -> Event | None:
        if not (self.features or 0) & feature or self.released:
            return None
        first, second, third = (*words, 0, 0, 0)[:3]
        event = Event(self, kind, (first, second, third), child)
        self.events.append(event)
        self.k.wake_up(self.wait, 0)
        return event

    def dup_userfaultfd(self, mm: object) -> tuple[Context, Event] | None:
        """A child's areas get a watcher of their own."""
        assert isinstance(mm, Mm)
        child = Context(self.k, mm, self.flags)
        child.features = self.features
        event = self._tell(UFFD_FEATURE_EVENT_FORK, UFFD_EVENT_FORK, child=child)
        return (child, event) if event is not None else None

    def mremap_userfaultfd(self, start: int, to: int, length: int) -> Event | None:
        """An area has moved."""
        return self._tell(UFFD_FEATURE_EVENT_REMAP, UFFD_EVENT_REMAP, start, to, length)

    def userfaultfd_remove(self, start: int, end: int) -> Event | None:
        """Pages will be dropped."""
        return self._tell(UFFD_FEATURE_EVENT_REMOVE, UFFD_EVENT_REMOVE, start, end)

    def userfaultfd_unmap(self, start: int, end: int) -> Event | None:
        """Areas in this range are gone."""
        return self._tell(UFFD_FEATURE_EVENT_UNMAP, UFFD_EVENT_UNMAP, start, end)

    def event_message(self, event: Event, fd: int) -> bytes:
        """struct uffd_msg."""
        order = "<" if self.k.mem.byteorder == "little" else ">"
        words = (
            struct.pack(order + "I20x", fd)
            if event.kind == UFFD_EVENT_FORK
            else struct.pack(order + "3Q", *event.words)
        )
        return struct.pack(order + "B7x", event.kind) + words

    def release(self) -> None:
        """userfaultfd_release(), and of children that nobody has heard of: they may have such children, too."""
        going = [self]
        while going:
            going += going.pop()._let_go()

    def _let_go(self) -> list[Context]:
        """Nobody brings pages any more, whoever waits goes on; the children that were not heard of."""
        self.released = True
        for vma in self.areas():
            vma.userfault, vma.watcher = 0, None
            protect(self.mm, vma.start, vma.end, False)
        self.wake(0, 1 << 64)
        unread = list(self.events)
        for event in unread:
            event.read()
        return [event.child for event in unread if event.child is not None]

    def closed(self) -> None:
        """An area went."""

    def message(self, fault: Fault) -> bytes:
        """struct uffd_msg."""
        order = "<" if self.k.mem.byteorder == "little" else ">"
        return struct.pack(order + "B7xQQIi", UFFD_EVENT_PAGEFAULT, fault.flags, fault.address, fault.ptid, 0)

    def wake(self, start: int, length: int) -> None:
        """wake_userfault(): who waits for a page in there looks again."""
        for faults in (self.pending, self.told):
            for fault in [f for f in faults if start <= f.address < start + length]:
                faults.remove(fault)
                fault.over = True
                self.k.wake_up(fault.queue, 0)

    def areas(self) -> list[Vma]:
        """What it watches."""
        return [vma for vma in self.mm.vmas if vma.watcher is self]


def unwatch(mm: Mm, vma: Vma, start: int, end: int) -> None:
    """From now on the pages in there are the kernel's again."""
    mm.split_at(start)
    mm.split_at(end)
    part = mm.find(start)
    assert part is not None
    part.userfault, part.watcher = 0, None
    protect(mm, start, end, False)
    mm.merge_anonymous(part)


def protect(mm: Mm, start: int, end: int, on: bool) -> None:
    """change_protection(): a write of these pages is a fault, or is none any more."""
    for page in mm.present(start, end):
        vma = mm.find(page)
        assert vma is not None
        if on:
            mm.userfault_wp.add(page)
        else:
            mm.userfault_wp.discard(page)
        mm.show(vma, page)


@kernel_function(
    "vm_fault_t handle_userfault(struct vm_fault *vmf, unsigned long reason)", source="fs/userfaultfd.c", since="4.3"
)
def handle_userfault(k: FsKernel, address: int, reason: int) -> Body:
    """Tell the watcher and sleep until it has looked after the page; 0, or VM_FAULT_SIGBUS if it wants that."""
    task = k.current
    vma = task.mm.find(address) if task.mm is not None else None
    if vma is None or not isinstance(vma.watcher, Context) or vma.watcher.released:
        return 0
    context = vma.watcher
    features = context.features or 0
    if features & UFFD_FEATURE_SIGBUS:
        return VM_FAULT_SIGBUS
    flags = (UFFD_PAGEFAULT_FLAG_WP if reason & VM_UFFD_WP else 0) | (UFFD_PAGEFAULT_FLAG_WRITE if reason & 1 else 0)
    where = address if features & UFFD_FEATURE_EXACT_ADDRESS else address & -PAGE_SIZE
    fault = Fault(where, flags, k.tasks.vnr(task.pid) if features & UFFD_FEATURE_THREAD_ID else 0)
    context.pending.append(fault)
    k.wake_up(context.wait, 0)
    while not fault.over and not context.released:
        if (yield k.wait(fault.queue)) < 0:
            break
    for faults in (context.pending, context.told):
        if fault in faults:
            faults.remove(fault)
    return 0


# -- the file ------------------------------------------------------------------------------------------------------


@kernel_function(
    "ssize_t userfaultfd_read(struct file *file, char *buf, size_t count, loff_t *ppos)", source="fs/userfaultfd.c",
    since="4.3",
)  # fmt: skip
def userfaultfd_read(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """struct uffd_msg of faults that nobody has read.  EINVAL, EAGAIN."""
    file = k.vfs.files[file_addr]
    context: Context = file.private_data
    if context.features is None:
        return -EINVAL
    done = 0
    while count - done >= UFFD_MSG_SIZE:
        if not context.pending and context.events:
            event, fd = context.events[0], -1
            if event.child is not None:  # resolve_userfault_fork()
                fd = k.vfs.anon_inode_getfd(
                    k,
                    "[userfaultfd]",
                    USERFAULTFD_FOPS,
                    event.child,
                    O_RDONLY | context.flags & (O_CLOEXEC | O_NONBLOCK),
                )
            k.usercopy.copy_to_user(buf + done, context.event_message(event, fd))
            event.read()
            done += UFFD_MSG_SIZE
            continue
        if not context.pending:
            if done:
                return done
            if file.f_flags & O_NONBLOCK:
                return -EAGAIN
            ret = yield k.wait(context.wait)
            if ret < 0:
                return ret
            continue
        fault = context.pending.pop(0)
        context.told.append(fault)
        k.usercopy.copy_to_user(buf + done, context.message(fault))
        done += UFFD_MSG_SIZE
    return done or -EINVAL


def _poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    """userfaultfd_poll(): a file that blocks cannot be polled."""
    context: Context = file.private_data
    if queues is not None:
        queues.append(context.wait)
    if context.features is None or not file.f_flags & O_NONBLOCK:
        return POLLERR
    return POLLIN if context.pending or context.events else 0


def _release(k: FsKernel, file: File) -> None:
    """Nobody brings pages any more: whoever waits goes on."""
    context: Context = file.private_data
    context.release()


def _fdinfo(k: FsKernel, file: File) -> str:
    """userfaultfd_show_fdinfo()."""
    context: Context = file.private_data
    waiting = len(context.pending)
    return f"pending:\t{waiting}\ntotal:\t{waiting + len(context.told)}\nAPI:\t{UFFD_API:x}:{FEATURES:x}:{IOCTLS_OF_API | IOCTLS_OF_RANGE:x}\n"


# -- ioctl(2) ------------------------------------------------------------------------------------------------------


def _words(k: FsKernel, arg: int, count: int) -> tuple[int, ...]:
    order = "<" if k.mem.byteorder == "little" else ">"
    return struct.unpack(f"{order}{count}Q", k.usercopy.copy_from_user(arg, 8 * count))


def _api(k: FsKernel, context: Context, arg: int) -> int:
    """struct uffdio_api: which features there are, and which are wanted.  EINVAL."""
    api, features, _ = _words(k, arg, 3)
    if context.features is not None or api != UFFD_API or features & ~FEATURES:
        k.usercopy.copy_to_user(arg, bytes(24))
        return -EINVAL
    if features & UFFD_FEATURE_EVENT_FORK and not k.capable(CAP_SYS_PTRACE):
        k.usercopy.copy_to_user(arg, bytes(24))
        return -EPERM
    order = "<" if k.mem.byteorder == "little" else ">"
    k.usercopy.copy_to_user(arg, struct.pack(order + "3Q", UFFD_API, FEATURES, IOCTLS_OF_API))
    context.features = features
    return 0


def _check_range(k: FsKernel, start: int, length: int) -> None:
    """validate_range().  EINVAL."""
    if (
        start % PAGE_SIZE
        or length % PAGE_SIZE
        or not length
        or start < k.vfs.sysctl["vm.mmap_min_addr"]
        or start + length > k.vfs.user_end
    ):
        raise KernelError(EINVAL)


def _areas_in(mm: Mm, start: int, end: int) -> list[Vma]:
    """What lies in a range.  ENOMEM for one behind everything, EINVAL for a hole at its start."""
    first = mm.find_next(start)
    if first is None:
        raise KernelError(ENOMEM)
    if first.start >= end:
        raise KernelError(EINVAL)
    return mm.overlaps(start, end)


def _register(k: FsKernel, context: Context, arg: int) -> int:
    """struct uffdio_register.  EINVAL, ENOMEM, EBUSY."""
    start, length, mode = _words(k, arg, 3)
    if not mode or mode & ~(UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP):
        return -EINVAL
    _check_range(k, start, length)
    mm, end = context.mm, start + length
    bits = (VM_UFFD_MISSING if mode & UFFDIO_REGISTER_MODE_MISSING else 0) | (
        VM_UFFD_WP if mode & UFFDIO_REGISTER_MODE_WP else 0
    )
    areas = _areas_in(mm, start, end)
    for vma in areas:
        if vma.file is not None or vma.shared or vma.fault is not None:
            return -EINVAL
        if not vma.may & 2:
            return -EPERM
        if vma.watcher is not None and vma.watcher is not context:
            return -EBUSY
    mm.split_at(start)
    mm.split_at(end)
    for vma in mm.overlaps(start, end):
        vma.userfault, vma.watcher = bits, context
    for vma in mm.overlaps(start, end):
        if mm.find(vma.start) is vma:
            mm.merge_anonymous(vma)
    if not bits & VM_UFFD_WP:
        protect(mm, start, end, False)
    ioctls = IOCTLS_OF_RANGE if bits & VM_UFFD_WP else IOCTLS_OF_RANGE & ~(1 << (UFFDIO_WRITEPROTECT & 0xFF))
    k.usercopy.put_user(arg + 24, 8, ioctls)
    return 0


def _unregister(k: FsKernel, context: Context, arg: int) -> int:
    """struct uffdio_range.  EINVAL, ENOMEM."""
    start, length = _words(k, arg, 2)
    _check_range(k, start, length)
    mm, end = context.mm, start + length
    for vma in _areas_in(mm, start, end):
        if vma.file is not None or vma.shared or vma.fault is not None:
            return -EINVAL
    for vma in mm.overlaps(start, end):
        if vma.watcher is not None:
            watcher, low, high = vma.watcher, max(start, vma.start), min(end, vma.end)
            unwatch(mm, vma, low, high)
            assert isinstance(watcher, Context)
            watcher.wake(low, high - low)
    return 0


def _wake(k: FsKernel, context: Context, arg: int) -> int:
    start, length = _words(k, arg, 2)
    _check_range(k, start, length)
    context.wake(start, length)
    return 0


def _fill(context: Context, dst: int, length: int, data: Callable[[int], bytes | None], wp: bool) -> int:
    """mcopy_atomic(): bring pages; bytes that were, or why the first was not.  ENOENT, EEXIST, EFAULT."""
    mm, k = context.mm, context.k
    if context.changing:
        return -EAGAIN
    vma = mm.find(dst)
    if vma is None or dst + length > vma.end or vma.watcher is None:
        return -ENOENT
    if wp and not vma.userfault & VM_UFFD_WP:
        return -EINVAL
    for done in range(0, length, PAGE_SIZE):
        page = dst + done
        if page in mm.pages:
            return done or -EEXIST
        try:
            raw = data(done)
        except KernelError as error:
            return done or -error.errno
        phys = k.mm.frames.alloc_page()
        if raw is not None:
            k.mm.frames.write(phys, raw)
        mm.pages[page] = phys
        if wp:
            mm.userfault_wp.add(page)
        mm.show(vma, page)
    return length


def _answer(k: FsKernel, context: Context, start: int, length: int, done: int, at: int, quiet: bool) -> int:
    """How much was brought, told and given; whoever waits for that goes on."""
    k.usercopy.put_user(at, 8, done & (1 << 64) - 1)
    if done < 0:
        return done
    if not quiet:
        context.wake(start, done)
    return 0 if done == length else -EAGAIN


def _copy(k: FsKernel, context: Context, arg: int) -> int:
    """struct uffdio_copy.  EINVAL, ENOENT, EEXIST, EFAULT, EAGAIN, ESRCH."""
    dst, src, length, mode, _ = _words(k, arg, 5)
    _check_range(k, dst, length)
    if src + length > k.vfs.user_end or mode & ~(UFFDIO_COPY_MODE_DONTWAKE | UFFDIO_COPY_MODE_WP):
        return -EINVAL
    if not context.mm.users:
        return -ESRCH
    done = _fill(
        context,
        dst,
        length,
        lambda at: k.usercopy.copy_from_user(src + at, PAGE_SIZE),
        bool(mode & UFFDIO_COPY_MODE_WP),
    )
    return _answer(k, context, dst, length, done, arg + 32, bool(mode & UFFDIO_COPY_MODE_DONTWAKE))


def _zeropage(k: FsKernel, context: Context, arg: int) -> int:
    """struct uffdio_zeropage."""
    start, length, mode, _ = _words(k, arg, 4)
    _check_range(k, start, length)
    if mode & ~UFFDIO_ZEROPAGE_MODE_DONTWAKE:
        return -EINVAL
    done = _fill(context, start, length, lambda at: None, False)
    return _answer(k, context, start, length, done, arg + 24, bool(mode & UFFDIO_ZEROPAGE_MODE_DONTWAKE))


def _continue(k: FsKernel, context: Context, arg: int) -> int:
    """struct uffdio_continue: of memory whose pages are elsewhere already, which no watched area is.  EINVAL, ENOENT, EAGAIN."""
    start, length, mode, _ = _words(k, arg, 4)
    if context.changing:
        return -EAGAIN
    _check_range(k, start, length)
    if mode & ~UFFDIO_CONTINUE_MODE_DONTWAKE:
        return -EINVAL
    vma = context.mm.find(start)
    return -ENOENT if vma is None or start + length > vma.end or vma.watcher is None else -EINVAL


def _writeprotect(k: FsKernel, context: Context, arg: int) -> int:
    """struct uffdio_writeprotect.  EINVAL, ENOENT."""
    start, length, mode = _words(k, arg, 3)
    _check_range(k, start, length)
    on, quiet = bool(mode & UFFDIO_WRITEPROTECT_MODE_WP), bool(mode & UFFDIO_WRITEPROTECT_MODE_DONTWAKE)
    if mode & ~(UFFDIO_WRITEPROTECT_MODE_WP | UFFDIO_WRITEPROTECT_MODE_DONTWAKE) or (on and quiet):
        return -EINVAL
    if context.changing:
        return -EAGAIN
    vma = context.mm.find(start)
    if vma is None or start + length > vma.end or vma.watcher is None or not vma.userfault & VM_UFFD_WP:
        return -ENOENT
    protect(context.mm, start, start + length, on)
    if not on and not quiet:
        context.wake(start, length)
    return 0


COMMANDS: dict[int, Callable[[FsKernel, Context, int], int]] = {
    UFFDIO_API: _api, UFFDIO_REGISTER: _register, UFFDIO_UNREGISTER: _unregister, UFFDIO_WAKE: _wake, UFFDIO_COPY: _copy,
    UFFDIO_ZEROPAGE: _zeropage, UFFDIO_WRITEPROTECT: _writeprotect, UFFDIO_CONTINUE: _continue,
}  # fmt: skip


def _ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int:
    context: Context = file.private_data
    if cmd != UFFDIO_API and context.features is None:
        raise KernelError(EINVAL, "UFFDIO_API comes first")
    if cmd not in COMMANDS or (cmd == UFFDIO_CONTINUE and not k.vfs.names.uffdio_continue):
        raise KernelError(EINVAL, "no such ioctl of userfaultfd")
    return COMMANDS[cmd](k, context, arg)


USERFAULTFD_FOPS = FileOperations(
    "userfaultfd_fops", read="userfaultfd_read", llseek="noop_llseek", poll=_poll, ioctl=_ioctl, release=_release,
    show_fdinfo=_fdinfo,
)  # fmt: skip


def new_userfaultfd(k: FsKernel, flags: int) -> int:
    """A new watcher.  EINVAL."""
    mm = k.current.mm
    if flags & ~(O_CLOEXEC | O_NONBLOCK | (UFFD_USER_MODE_ONLY if k.version.at_least("5.11") else 0)) or mm is None:
        return -EINVAL
    k.vfs.secure_anon("[userfaultfd]")
    return k.vfs.anon_inode_getfd(
        k, "[userfaultfd]", USERFAULTFD_FOPS, Context(k, mm, flags), O_RDONLY | flags & (O_CLOEXEC | O_NONBLOCK)
    )


@syscall("userfaultfd", "int flags", source="fs/userfaultfd.c", since="4.3")
def sys_userfaultfd(k: FsKernel, flags: int) -> int:
    """A new watcher.  EPERM, EINVAL."""
    own = flags & UFFD_USER_MODE_ONLY if k.version.at_least("5.11") else 0
    if (
        not own
        and k.version.at_least("5.2")
        and not k.vfs.sysctl["vm.unprivileged_userfaultfd"]
        and not k.capable(CAP_SYS_PTRACE)
    ):
        return -EPERM
    return new_userfaultfd(k, flags)


def _dev_ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int:
    """userfaultfd_dev_ioctl(): who may open the device may watch.  EINVAL."""
    if cmd != USERFAULTFD_IOC_NEW:
        return -EINVAL
    return new_userfaultfd(k, arg & 0xFFFFFFFF)


USERFAULTFD_DEV_FOPS = FileOperations("userfaultfd_dev_fops", llseek="noop_llseek", ioctl=_dev_ioctl)
