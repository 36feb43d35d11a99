"""fanotify_init(2), fanotify_mark(2), and reading, answering, polling of what they made.  fs/notify/fanotify/fanotify_user.c."""

from __future__ import annotations

from arch.abi import fanotify as fan
from arch.abi.capability import CAP_AUDIT_WRITE, CAP_SYS_ADMIN
from arch.abi.errno import (
    EAGAIN,
    EEXIST,
    EINVAL,
    EISDIR,
    EMFILE,
    ENODEV,
    ENOENT,
    ENOTDIR,
    ENOTTY,
    EOPNOTSUPP,
    EPERM,
)
from arch.abi.fcntl import (
    O_ACCMODE,
    O_APPEND,
    O_CLOEXEC,
    O_DSYNC,
    O_LARGEFILE,
    O_NOATIME,
    O_NONBLOCK,
    O_RDONLY,
    O_RDWR,
    O_SYNC,
    O_WRONLY,
)
from arch.abi.ioctl import FIONREAD
from arch.abi.poll import POLLIN, POLLRDNORM
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fanotify.group import Event, Group, Marked
from simkernel.fs.fanotify.records import METADATA_LEN, pack, size_of
from simkernel.fs.fdtable import files_of
from simkernel.fs.fhandle import encode_fh, fsid, shown_handle
from simkernel.fs.fsnotify import FMODE_NONOTIFY
from simkernel.fs.inode import EMPTY_FOPS, File, FileOperations, Inode, Mount, Path, SuperBlock, inode_permission
from simkernel.fs.namei import LOOKUP_DIRECTORY, LOOKUP_FOLLOW
from simkernel.fs.open_walk import get_path_name
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.task import WaitQueue

EVENT_F_FLAGS = O_ACCMODE | O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC | O_CLOEXEC | O_LARGEFILE | O_NOATIME
USER_SOURCE = "fs/notify/fanotify/fanotify_user.c"
DISALLOW_PERM = ("proc", "sysfs", "cgroup2", "tracefs", "debugfs")


# -- the file ------------------------------------------------------------------------------------------------------


def _group(file: File) -> Group:
    group: Group = file.private_data
    return group


def _open_event(k: FsKernel, group: Group, event: Event) -> Steps[tuple[int, File | None]]:
    """create_fd(): a descriptor of what the event is about, not installed yet; opened so that nobody hears of it."""
    if event.path is None:
        return fan.FAN_NOFD, None
    files = files_of(k.current)
    with files.unused_fd(bool(group.event_flags & O_CLOEXEC)) as fd:
        file = k.vfs.new_file(event.path, group.event_flags & ~O_CLOEXEC, EMPTY_FOPS)
    file.f_mode |= FMODE_NONOTIFY
    file.f_flags |= FMODE_NONOTIFY  # __FMODE_NONOTIFY, which F_GETFL shows
    ret = yield k.call("do_dentry_open", file.addr, file.f_inode.addr, 0)
    if ret < 0:
        files.put_unused_fd(fd)
        file.put()
        raise KernelError(-ret)
    return fd, file


@kernel_function("ssize_t fanotify_read(struct file *file, char *buf, size_t count, loff_t *pos)", source=USER_SOURCE)
def fanotify_read(k: FsKernel, file_addr: int, buf: int, count: int, pos: int) -> Body:
    """As many events as fit; EINVAL when not even the first does, EAGAIN."""
    file = k.vfs.files[file_addr]
    group, done = _group(file), 0
    while True:
        if group.events:
            event = group.events[0]
            if size_of(k, group, event) > count - done:
                return done or -EINVAL
            group.events.popleft()
            try:
                done += yield from _copy_event(k, group, event, buf + done)
            except KernelError as error:
                if event.asks:
                    group.answer(event, fan.FAN_DENY)
                if done:
                    return done
                raise KernelError(error.errno) from None
            continue
        if done:
            return done
        if file.f_flags & O_NONBLOCK:
            return -EAGAIN
        ret = yield k.wait(group.wait)
        if ret < 0:
            return ret


def _copy_event(k: FsKernel, group: Group, event: Event, at: int) -> Body:
    fd, opened = yield from _open_event(k, group, event)
    pidfd = None
    if group.flags & fan.FAN_REPORT_PIDFD:
        alive = not event.task.exit_state
        pidfd = k.pidfds.open(k, event.task.group_leader, 0) if alive else fan.FAN_NOPIDFD
    raw = pack(k, group, event, fd, pidfd)
    try:
        k.usercopy.copy_to_user(at, raw)
    except KernelError:
        if opened is not None:
            files_of(k.current).put_unused_fd(fd)
            opened.put()
        raise
    if opened is not None:
        files_of(k.current).install(fd, opened)
    if event.asks:
        event.fd = fd
        group.asking.append(event)
    return len(raw)


@kernel_function(
    "ssize_t fanotify_write(struct file *file, const char *buf, size_t count, loff_t *pos)", source=USER_SOURCE
)
def fanotify_write(k: FsKernel, file_addr: int, buf: int, count: int, pos: int) -> int:
    """struct fanotify_response: may it, by the descriptor that came with the question.  EINVAL, ENOENT."""
    group = _group(k.vfs.files[file_addr])
    if count < 8:
        return -EINVAL
    raw, order = k.usercopy.copy_from_user(buf, 8), k.mem.byteorder
    fd, response = int.from_bytes(raw[:4], order, signed=True), int.from_bytes(raw[4:], order)
    if response & ~fan.FAN_AUDIT not in (fan.FAN_ALLOW, fan.FAN_DENY) or fd < 0:
        return -EINVAL
    if response & fan.FAN_AUDIT and not group.flags & fan.FAN_ENABLE_AUDIT:
        return -EINVAL
    for event in group.asking:
        if event.fd == fd:
            group.asking.remove(event)
            group.answer(event, response)
            return 8
    return -ENOENT


def _poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    group = _group(file)
    if queues is not None:
        queues.append(group.wait)
    return POLLIN | POLLRDNORM if group.events else 0


def _ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int:
    if cmd != FIONREAD:
        raise KernelError(ENOTTY, "no such ioctl of fanotify")
    k.usercopy.put_user(arg, 4, METADATA_LEN * len(_group(file).events))
    return 0


def _release(k: FsKernel, file: File) -> None:
    group = _group(file)
    group.release()
    k.vfs.fsnotify.groups.remove(group)


def _fdinfo(k: FsKernel, file: File) -> str:
    """fanotify_fdinfo()."""
    group = _group(file)
    lines = [f"fanotify flags:{group.flags:x} event-flags:{group.event_flags:x}\n"]
    for on, mark in reversed(group.marks.items()):
        flags = fan.FAN_MARK_IGNORED_SURV_MODIFY * mark.survives
        flags |= fan.FAN_MARK_IGNORE * mark.flagged | fan.FAN_MARK_EVICTABLE * mark.evictable
        tail = f"mflags:{flags:x} mask:{mark.mask:x} ignored_mask:{mark.ignored:x} "
        if isinstance(on, Inode):
            lines.append(f"fanotify ino:{on.i_ino:x} sdev:{on.dev:x} {tail}{shown_handle(k, on)}\n")
        elif isinstance(on, SuperBlock):
            lines.append(f"fanotify sdev:{on.s_dev:x} {tail.rstrip()}\n")
        else:
            lines.append(f"fanotify mnt_id:{on.mnt_id:x} {tail.rstrip()}\n")
    return "".join(lines)


FANOTIFY_FOPS = FileOperations(
    "fanotify_fops", read="fanotify_read", write="fanotify_write", llseek="noop_llseek", poll=_poll, ioctl=_ioctl,
    release=_release, show_fdinfo=_fdinfo,
)  # fmt: skip


# -- fanotify_init(2) ----------------------------------------------------------------------------------------------


@syscall("fanotify_init", "unsigned int flags, unsigned int event_f_flags", source=USER_SOURCE)
def sys_fanotify_init(k: FsKernel, flags: int, event_f_flags: int) -> int:
    """A new group.  EPERM, EINVAL, EMFILE."""
    privileged = k.capable(CAP_SYS_ADMIN)
    fid, kind = flags & fan.FID_BITS, flags & fan.CLASS_BITS
    if not privileged and (flags & fan.ADMIN_INIT_FLAGS or not fid):
        return -EPERM
    unknown = flags & ~(fan.USER_INIT_FLAGS | fan.ADMIN_INIT_FLAGS)
    if unknown or (flags & fan.FAN_REPORT_PIDFD and flags & fan.FAN_REPORT_TID):
        return -EINVAL
    event_f_flags = k.vfs.abi.flags_from_user(event_f_flags)
    if event_f_flags & ~EVENT_F_FLAGS or event_f_flags & O_ACCMODE not in (O_RDONLY, O_RDWR, O_WRONLY):
        return -EINVAL
    if (fid and kind) or (fid & fan.FAN_REPORT_NAME and not fid & fan.FAN_REPORT_DIR_FID):
        return -EINVAL
    if fid & fan.FAN_REPORT_TARGET_FID and not (fid & fan.FAN_REPORT_NAME and fid & fan.FAN_REPORT_FID):
        return -EINVAL
    uid = k.current.cred.uid
    if sum(group.uid == uid for group in k.vfs.fsnotify.groups) >= k.vfs.sysctl["fs.fanotify.max_user_groups"]:
        return -EMFILE
    if kind == fan.CLASS_BITS:
        return -EINVAL
    if flags & fan.FAN_ENABLE_AUDIT and not k.capable(CAP_AUDIT_WRITE):
        return -EPERM
    limit = 1 << 32 if flags & fan.FAN_UNLIMITED_QUEUE else k.vfs.sysctl["fs.fanotify.max_queued_events"]
    if k.arch.model.word == 8:
        event_f_flags |= O_LARGEFILE
    group = Group(
        k,
        flags & (fan.USER_INIT_FLAGS | fan.ADMIN_INIT_FLAGS),
        event_f_flags,
        limit,
    )
    group.unprivileged = not privileged
    own = (O_CLOEXEC if flags & fan.FAN_CLOEXEC else 0) | (O_NONBLOCK if flags & fan.FAN_NONBLOCK else 0)
    fd = k.vfs.anon_inode_getfd(k, "[fanotify]", FANOTIFY_FOPS, group, O_RDWR | own)
    k.vfs.fsnotify.groups.append(group)
    return fd


# -- fanotify_mark(2) ----------------------------------------------------------------------------------------------


def _check_mark(group: Group, flags: int, mask: int) -> None:
    """What of a mark its group allows, before its object is looked up.  EPERM, EINVAL."""
    kind = flags & fan.MARK_TYPE_BITS
    if group.unprivileged and kind:
        raise KernelError(EPERM)
    if mask & fan.PERM_EVENTS and not group.flags & fan.CLASS_BITS:
        raise KernelError(EINVAL)
    if mask & fan.FAN_FS_ERROR and kind != fan.FAN_MARK_FILESYSTEM:
        raise KernelError(EINVAL)
    if flags & fan.FAN_MARK_EVICTABLE and kind:
        raise KernelError(EINVAL)
    told_by_handle = mask & ~(fan.FD_EVENTS | fan.EVENT_FLAGS)
    if told_by_handle and (not group.fid_mode or kind == fan.FAN_MARK_MOUNT):
        raise KernelError(EINVAL)
    if mask & fan.FAN_RENAME and not group.fid_mode & fan.FAN_REPORT_NAME:
        raise KernelError(EINVAL)


def _find_path(k: FsKernel, dfd: int, pathname: int, flags: int, mask: int) -> Path:
    """fanotify_find_path()."""
    if not pathname:
        path = k.vfs.fget(dfd).f_path
        if flags & fan.FAN_MARK_ONLYDIR and not path.dentry.inode.is_dir:
            raise KernelError(ENOTDIR)
    else:
        lookup = 0 if flags & fan.FAN_MARK_DONT_FOLLOW else LOOKUP_FOLLOW
        lookup |= LOOKUP_DIRECTORY if flags & fan.FAN_MARK_ONLYDIR else 0
        path = k.vfs.user_path(dfd, get_path_name(k, pathname), lookup)
    inode_permission(path.dentry.inode, c.MAY_READ, k.vfs.cred())
    kind = {fan.FAN_MARK_MOUNT: 1, fan.FAN_MARK_FILESYSTEM: 2}.get(flags & fan.MARK_TYPE_BITS, 0)
    k.vfs.security.ask("path_notify", path, mask, kind)
    return path


def _check_path(k: FsKernel, group: Group, path: Path, flags: int, mask: int) -> None:
    """fanotify_events_supported(), fanotify_test_fid().  EINVAL, ENOTDIR, EOPNOTSUPP, ENODEV."""
    inode = path.dentry.inode
    if flags & fan.FAN_MARK_ADD:
        if mask & fan.PERM_EVENTS and inode.i_sb.fs_name in DISALLOW_PERM:
            raise KernelError(EINVAL)
        strict = group.fid_mode & fan.FAN_REPORT_TARGET_FID or mask & fan.FAN_RENAME or flags & fan.FAN_MARK_IGNORE
        if (
            strict
            and not inode.is_dir
            and not flags & fan.MARK_TYPE_BITS
            and mask & (fan.DIRENT_EVENTS | fan.EVENT_FLAGS)
        ):
            raise KernelError(ENOTDIR)
    if group.fid_mode:
        known = encode_fh(k, inode) is not None or k.vfs.names.simple_fsid
        if not any(fsid(inode.i_sb)) or not known:
            raise KernelError(ENODEV)
        if encode_fh(k, inode) is None:
            raise KernelError(EOPNOTSUPP)


def _add(group: Group, on: Marked, mask: int, flags: int) -> int:
    """fanotify_add_mark()."""
    ignore = flags & fan.MARK_IGNORE_BITS
    known = group.marks.get(on)
    survives = bool(flags & fan.FAN_MARK_IGNORED_SURV_MODIFY)
    if known is not None:
        if flags & fan.FAN_MARK_EVICTABLE and not known.evictable:
            return -EEXIST
        if ignore == fan.FAN_MARK_IGNORED_MASK and known.flagged:
            return -EEXIST
        if ignore == fan.FAN_MARK_IGNORE and not survives and known.survives:
            return -EEXIST
    mark = group.add(on)
    if known is None:
        mark.evictable = bool(flags & fan.FAN_MARK_EVICTABLE)
    if ignore:
        mark.ignored |= mask
        mark.survives |= survives
        mark.flagged |= ignore == fan.FAN_MARK_IGNORE
    else:
        mark.mask |= mask
    return 0


def _remove(group: Group, on: Marked, mask: int, umask: int, flags: int) -> int:
    """fanotify_remove_mark(): ENOENT without one."""
    mark = group.marks.get(on)
    if mark is None:
        return -ENOENT
    if flags & fan.MARK_IGNORE_BITS:
        mark.ignored &= ~mask
    else:
        mark.mask &= ~mask
    if not (mark.mask | mark.ignored) & ~umask:
        group.drop(mark)
    return 0


def _flush(group: Group, flags: int) -> int:
    kinds: dict[int, type[Inode] | type[Mount] | type[SuperBlock]] = {
        0: Inode,
        fan.FAN_MARK_MOUNT: Mount,
        fan.FAN_MARK_FILESYSTEM: SuperBlock,
    }
    kind = kinds[flags & fan.MARK_TYPE_BITS]
    for mark in [mark for on, mark in group.marks.items() if isinstance(on, kind)]:
        group.drop(mark)
    return 0


def _object(path: Path, flags: int) -> Marked:
    if flags & fan.FAN_MARK_MOUNT:
        return path.mnt
    return path.mnt.mnt_sb if flags & fan.FAN_MARK_FILESYSTEM else path.dentry.inode


def _mark(k: FsKernel, fanotify_fd: int, flags: int, mask: int, dfd: int, pathname: int) -> int:
    if mask >> 32 or flags & ~fan.MARK_FLAGS or flags & fan.MARK_TYPE_BITS == fan.MARK_TYPE_BITS:
        return -EINVAL
    command = flags & fan.MARK_CMD_BITS
    if command == fan.FAN_MARK_FLUSH:
        if flags & ~(fan.MARK_TYPE_BITS | fan.FAN_MARK_FLUSH):
            return -EINVAL
    elif command not in (fan.FAN_MARK_ADD, fan.FAN_MARK_REMOVE) or not mask:
        return -EINVAL
    ignore = flags & fan.MARK_IGNORE_BITS
    if mask & ~(fan.ALL_EVENTS | fan.EVENT_FLAGS) or ignore == fan.MARK_IGNORE_BITS:
        return -EINVAL
    umask = 0
    if ignore == fan.FAN_MARK_IGNORED_MASK:
        mask &= ~fan.EVENT_FLAGS
        umask = fan.EVENT_FLAGS
    file = k.vfs.fget(fanotify_fd)
    if file.f_op is not FANOTIFY_FOPS:
        return -EINVAL
    group = _group(file)
    _check_mark(group, flags, mask)
    if command == fan.FAN_MARK_FLUSH:
        return _flush(group, flags)
    path = _find_path(k, dfd, pathname, flags, mask)
    _check_path(k, group, path, flags, mask)
    inode, whole = path.dentry.inode, bool(flags & fan.MARK_TYPE_BITS)
    adds = command == fan.FAN_MARK_ADD
    if (
        adds
        and ignore == fan.FAN_MARK_IGNORE
        and not flags & fan.FAN_MARK_IGNORED_SURV_MODIFY
        and (whole or inode.is_dir)
    ):
        return -EINVAL if whole else -EISDIR
    if whole or not inode.is_dir:
        mask &= ~fan.FAN_EVENT_ON_CHILD
        umask = fan.FAN_EVENT_ON_CHILD
        if group.fid_mode & fan.FAN_REPORT_DIR_FID and adds and not ignore:
            mask |= fan.FAN_EVENT_ON_CHILD
    on = _object(path, flags)
    if not adds:
        return _remove(group, on, mask, umask, flags)
    if ignore and not flags & fan.FAN_MARK_IGNORED_SURV_MODIFY and not whole and inode.i_writecount > 0:
        return 0
    return _add(group, on, mask, flags)


@syscall(
    "fanotify_mark",
    "int fanotify_fd, unsigned int flags, __u64 mask, int dfd, const char *pathname",
    source=USER_SOURCE,
)
def sys_fanotify_mark(k: FsKernel, fanotify_fd: int, flags: int, mask: int, dfd: int, pathname: int) -> int:
    """Add, change or remove a mark.  EINVAL, EBADF, EPERM, ENOENT, ENOTDIR, EISDIR, EEXIST, ENODEV, EOPNOTSUPP."""
    return _mark(k, fanotify_fd, flags, mask, dfd, pathname)
