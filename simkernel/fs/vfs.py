"""The virtual file system of one machine: mounts, file systems, the walk's entry points, open files by address.

fs/namespace.c, fs/filesystems.c, fs/file_table.c.  Everything here is plain Python that never sleeps; system calls and
kernel functions stand in open.py, read_write.py, namei_calls.py, namespace.py and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from arch.abi.errno import EBADF, EBUSY, EINVAL, ENODEV, ENOENT, ENXIO
from arch.abi.fcntl import (
    AT_EMPTY_PATH,
    AT_FDCWD,
    O_ACCMODE,
    O_CLOEXEC,
    O_LARGEFILE,
    O_NONBLOCK,
    O_RDONLY,
)
from arch.abi.files import FileAbi
from arch.abi.mount import (
    MS_NOSUID,
    MS_RDONLY,
    SB_FLAGS,
)
from arch.abi.stat import S_IFBLK, S_IFCHR, S_IFDIR, S_IFIFO, S_IFMT, S_IFREG, S_IFSOCK, makedev
from arch.abi.time import TICK_NSEC
from arch.byaddress import ByAddress
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.fs import constants as c
from simkernel.fs.accounting import Accounting
from simkernel.fs.cgroup import Cgroups
from simkernel.fs.dirty import DirtyInodes
from simkernel.fs.exec_file import lookup_flags, make_executed, may_execute, tell_opened
from simkernel.fs.fdtable import FilesStruct, FsStruct, files_if_any, files_of, fs_if_any, fs_of, publish_task_files
from simkernel.fs.features import Features
from simkernel.fs.fsnotify import FsNotify, Group, Mark
from simkernel.fs.hooks import FsPrograms
from simkernel.fs.inode import (
    EMPTY_FOPS,
    Cred,
    Dentry,
    File,
    FileLocks,
    FileOperations,
    Inode,
    Mount,
    Path,
    SuperBlock,
    d_path,
    to_str,
)
from simkernel.fs.lease_table import Leases
from simkernel.fs.mirror import Mirror
from simkernel.fs.mounts import MNT_FLAGS, Mounts
from simkernel.fs.namei import LOOKUP_FOLLOW, NameData
from simkernel.fs.nodes import Dir, TracefsRoot
from simkernel.fs.nsfs import Namespaces
from simkernel.fs.nsproxies import NsProxies
from simkernel.fs.pagecache import PagePool, xattr_room
from simkernel.fs.proc_sys import Sysctl
from simkernel.fs.root_cred import ROOT_CRED
from simkernel.fs.security import FsSecurity
from simkernel.fs.terminal import Terminal
from simkernel.fs.told import Told
from simkernel.fs.uevent import Uevents
from simkernel.fs.uio import UioStructs
from simkernel.kernel.areas import MappedFile
from simkernel.kernel.exec_state import ExecRights
from simkernel.kernel.face import KernelFace, Steps
from simkernel.kernel.task import Task, WaitQueue
from simkernel.kernel.user_namespace import is_mapped, ns_address, ns_capable, user_ns, user_ns_address


@dataclass(frozen=True)
class FsType:
    """struct file_system_type: how mount(2) makes a super block of this name."""

    name: str
    mount: Callable[[Vfs, str, int, str], SuperBlock]  # (vfs, device name, MS_* flags, data)
    nodev: bool = True
    user_mountable: bool = True  # False: SB_NOUSER (pipefs, sockfs)
    keys: tuple[str, ...] = ()  # options that check() knows, with what the kernel has to say of values
    check: Callable[[str, str | None], None] | None = None


T = TypeVar("T")
USER_NAMESPACE_BYTES = 1024  # the initial one: nothing of it is filled in


class TaskCred:
    """The credentials of a task, read when they are asked for."""

    __slots__ = ("fsgid", "fsuid", "groups", "k", "watched")

    def __init__(self, k: KernelFace) -> None:
        task = k.current
        self.k = k
        self.watched = k.security_hooks.watched
        cred = task.cred
        self.fsuid, self.fsgid, self.groups = cred.fsuid, cred.fsgid, cred.groups

    def capable(self, cap: int, inode: Inode | None = None) -> bool:
        """The current task's effective set."""
        task = self.k.current
        if inode is None or "user" not in task.namespaces:
            return self.k.capable(cap)
        space = user_ns(task)
        if not is_mapped(space, inode.i_uid, inode.i_gid) or not ns_capable(task, space, cap):
            return False
        return self.k.granted(user_ns_address(self.k), cap)

    def ask(self, hook: str, *about: int | Dentry | Inode) -> None:
        """A security hook that is watched.  KernelError."""
        vfs = self.k.vfs
        assert isinstance(vfs, Vfs)
        vfs.security.ask(hook, *about)


class Vfs:
    """`k.vfs`."""

    def __init__(self, k: KernelFace, pool: PagePool) -> None:
        self.k = k
        self.pool = pool
        self.abi: FileAbi = k.arch.files
        self.fs_types: dict[str, FsType] = {}
        self.unmounted: list[SuperBlock] = []  # which only open files, or working directories, still hold
        self.files: ByAddress[File] = ByAddress("struct file")
        # structs that travel through arguments, by their address: paths, timeouts in ns, and all others
        self.paths: ByAddress[Path] = ByAddress("struct path")
        self.timeouts: dict[int, int] = {}
        self.objects: dict[int, object] = {}
        self.key_queues: dict[Hashable, WaitQueue] = {"kmsg": k.log.wait}
        self.names = Features(k.version)
        self.mirror = Mirror(k, self.names)
        self.dirty = DirtyInodes(k.tracepoints, self.mirror)
        self.mounts = Mounts(self.now, k.mm.charge, self.put_super, self.dirty)
        self.security = FsSecurity(k, self.mirror, self.files)
        self.told = Told(k.objects, self.mirror)
        self.singletons: dict[str, SuperBlock] = {}  # proc, sysfs, ... of which there is one
        self.block_majors = {259: "blkext"}  # register_blkdev(): what /proc/devices shows
        self.eventfd_ids: set[int] = set()
        self.blocked_locks: list[tuple[int, File | int]] = []  # owners that sleep in F_SETLKW, and for whose lock
        self.locked: dict[FileLocks, Inode] = {}  # the inodes that have locks
        self._locks_made = 0
        self._next_anon_minor = 1
        # mounts that have no place in the tree; made at boot
        self.pipe_mnt: Mount
        self.sock_mnt: Mount
        self.anon_mnt: Mount
        self.shm_mnt: Mount | None = None  # of memfd_create(2): made when first needed
        self.secret_mnt: Mount | None = None  # of memfd_secret(2), likewise
        self.namespaces: Namespaces
        self.proxies = NsProxies()
        # the trees of generated files, where other parts of the kernel hang theirs
        self.proc_root: Dir
        self.proc_net = Dir()
        self.proc_net_of: Callable[[Task], Dir] = lambda task: self.proc_net  # of a task's network namespace
        self.sysfs_root: Dir
        self.sysfs_of_namespace: Callable[[SuperBlock], SuperBlock] = lambda first: first
        self.debugfs_root: Dir
        self.tracefs_root: TracefsRoot
        # what /proc/kallsyms lists behind the kernel's own symbols: (address, name, module)
        self.list_symbols: Callable[[], None] = lambda: None  # before it does: those that come when asked for
        self.more_symbols: list[Callable[[], Iterable[tuple[int, str, str]]]] = []
        self.uio = UioStructs(self.mirror)
        self.kiocbs, self.iters = self.uio.kiocbs, self.uio.iters
        self.scratch: list[int] = []  # free loff_t's
        self.kstats: list[int] = []  # free struct kstat's
        self.char_devices: dict[int, FileOperations] = {}
        self.fifo_fops: FileOperations = EMPTY_FOPS
        self.terminal = Terminal(k.mem.byteorder)
        self.word_mask = (1 << 8 * k.arch.model.word) - 1
        self.user_end = k.arch.map.user_end
        self.kernel_enum: Callable[[str], list[tuple[str, int]]] = lambda name: []  # by the kernel's BTF, if it has one
        self.init_user_ns = k.mem.alloc(USER_NAMESPACE_BYTES)
        k.mirror.user_ns_of = lambda task: ns_address(k, user_ns(task))
        k.symbols.add("init_user_ns", self.init_user_ns, USER_NAMESPACE_BYTES, "D")
        self.probed: dict[str, int] = k.text.probed  # kernel function -> how many probes it has
        self.cgroups = Cgroups(k, self.mirror)
        self.uevents = Uevents()
        self.acct, self.ptys = Accounting(), 0  # ...; pairs of pseudo-terminals: kernel.pty.nr
        self.watched_by: Callable[[MappedFile, int, int], int] = lambda epoll, fd, which: -EINVAL  # fs/eventpoll.py's
        self.aio_nr = 0  # requests that contexts have room for
        self.sysctl = Sysctl(k)
        self.sysctl.readers["kernel.pty.nr"] = lambda: self.ptys
        self.sysctl.on_write(
            "fs.protected_symlinks", lambda value: setattr(self.mounts, "protected_symlinks", bool(value))
        )
        self.programs = FsPrograms()
        self.fsnotify = FsNotify(k.version)
        self.dnotify: dict[File, Mark] = {}
        self.leases = Leases()
        self.inotify_groups: list[Group] = []

    def passed(self, addr: int, kind: type[T]) -> T:
        """What a caller left at this address for the function that it calls."""
        found = self.objects[addr]
        assert isinstance(found, kind)
        return found

    # --- time ---
    def now(self) -> int:
        """current_time(): wall-clock nanoseconds at the last tick."""
        now: int = self.k.clock.realtime_ns
        return now - now % TICK_NSEC

    def file_update_time(self, inode: Inode) -> None:
        """A file is written to now."""
        self.dirty.file_update_time(inode, self.now())

    # --- file systems ---
    def register(self, fs_type: FsType) -> None:
        """register_filesystem()."""
        self.fs_types[fs_type.name] = fs_type

    def anon_dev(self) -> int:
        """get_anon_bdev(): a dev_t with major 0."""
        minor = self._next_anon_minor
        self._next_anon_minor += 1
        return makedev(0, minor)

    def make_super(self, fs_name: str, devname: str = "none", flags: int = 0, data: str = "") -> SuperBlock:
        """vfs_get_tree(): ENODEV for an unknown file system."""
        fs_type = self.fs_types.get(fs_name)
        if fs_type is None:
            raise KernelError(ENODEV, f"no file system {fs_name}")
        return fs_type.mount(self, devname, flags, data)

    # --- mounts ---
    def internal_mount(self, fs_name: str, magic: int) -> Mount:
        """kern_mount(): a file system that has no place in the tree."""
        sb = SuperBlock(fs_name, magic, self.anon_dev(), self.now)
        sb.pseudo_mountable = False
        sb.s_root = Dentry(f"{fs_name}:", None, Inode(sb, S_IFDIR | 0o600))
        self.singletons[fs_name] = sb
        self.register(FsType(fs_name, lambda vfs, dev, flags, data: sb, user_mountable=False))
        return self.mounts.new(sb, "none")

    def mount_at(self, path: str, fs_name: str, devname: str = "none", flags: int = 0, data: str = "") -> Mount:
        """For boot: mount a new instance on an existing directory."""
        mnt = self.mounts.new(self.make_super(fs_name, devname, flags, data), devname, flags)
        self.mounts.attach(mnt, self.resolve(path))
        return mnt

    def is_busy(self, mnt: Mount) -> bool:
        """An open file, a working directory or a mount is on it (propagate_mount_busy)."""
        if self.mounts.children_of(mnt):
            return True
        if any(f.f_path.mnt is mnt for f in self.files.values()):
            return True
        for task in self.k.tasks.by_pid.values():
            fs = fs_if_any(task)
            if fs is not None and (fs.pwd.mnt is mnt or fs.root.mnt is mnt):
                return True
        return False

    # --- walking ---
    def cred(self) -> Cred:
        """The current task's credentials."""
        return TaskCred(self.k)

    def nameidata(self, dfd: int, name: str, flags: int = 0, cred: Cred | None = None) -> NameData:
        """set_nameidata() for a path of the current task; EBADF for a bad dfd with a relative name."""
        k = self.k
        fs = fs_of(k.current)
        if name.startswith("/") or dfd == AT_FDCWD:
            base = fs.pwd
        else:
            base = self.file_of(k, k.current, dfd).f_path
        return NameData(self.mounts, fs.root, base, cred or TaskCred(k), flags)

    def user_path(self, dfd: int, name: str, flags: int = LOOKUP_FOLLOW, empty: bool = False) -> Path:
        """user_path_at_empty() of the current task."""
        if not name:
            if not empty:
                raise KernelError(ENOENT, "empty path")
            if dfd == AT_FDCWD:
                pwd: Path = fs_of(self.k.current).pwd
                return pwd
            return self.file_of(self.k, self.k.current, dfd).f_path
        return self.nameidata(dfd, name, flags).lookup(name)

    def resolve(self, name: str, follow: bool = True) -> Path:
        """For the kernel itself: a path from the global root, with all rights."""
        nd = NameData(self.mounts, self.mounts.root, self.mounts.root, ROOT_CRED, LOOKUP_FOLLOW if follow else 0)
        return nd.lookup(name)

    def d_path(self, path: Path) -> str:
        """Text of the path as the current task sees it."""
        fs = fs_if_any(self.k.current)
        return d_path(path, fs.root if fs is not None else self.mounts.root)

    def userns_arg(self, path: Path) -> tuple[int, ...]:
        """The leading argument that vfs_ functions have from 5.12 on."""
        return (self.init_user_ns,) if self.names.user_ns_args else ()

    def is_error(self, ret: int) -> bool:
        """IS_ERR() or a negative int."""
        return ret < 0 or ret & self.word_mask > self.word_mask - 4095

    def error(self, ret: int) -> int:
        """PTR_ERR()."""
        return ret if ret < 0 else (ret & self.word_mask) - self.word_mask - 1

    def somebody_is_in(self, dentry: Dentry) -> bool:
        """Is it a task's working directory or root?"""
        for task in self.k.tasks.by_pid.values():
            fs = fs_if_any(task)
            if fs is not None and dentry in (fs.pwd.dentry, fs.root.dentry):
                return True
        return False

    def forget_tree(self, parent: Dentry, name: str) -> None:
        """A generated directory is gone (the process was reaped): let go of its dentries."""
        child = parent.children.get(name) if parent.children else None
        if child is not None:
            parent.drop(child)
            self.mirror.forget_tree(child)

    # --- open files ---
    def file(self, addr: int) -> File:
        """The File whose struct file is at this kernel address."""
        return self.files[addr]

    def new_file(self, path: Path, flags: int, f_op: FileOperations, cred: Cred | None = None) -> File:
        """alloc_file(): a File with its struct file in kernel memory."""
        file = File(path, flags, f_op, cred or TaskCred(self.k), self)
        addr = self.security.take_early_file()
        file.f_inode.i_count += 1
        path.mnt.expiry_mark = False
        self.mirror.file(file, addr)
        self.files[file.addr] = file
        self.told.file_made(file)
        return file

    def anon_file(self, name: str, f_op: FileOperations, private: object, flags: int, mode: int = 0o600) -> File:
        """anon_inode_getfile(): readlink shows `anon_inode:NAME`.  `name` has no brackets unless it wants them."""
        inode = self.anon_mnt.mnt_sb.anon_inode
        assert inode is not None
        dentry = Dentry(name, None, inode)
        dentry.d_dname = _anon_name
        file = self.new_file(Path(self.anon_mnt, dentry), flags & (O_ACCMODE | O_NONBLOCK), f_op)
        file.private_data = private
        mode_bits = file.f_mode
        if mode_bits & c.FMODE_READ and (f_op.read or f_op.read_iter):
            mode_bits |= c.FMODE_CAN_READ
        if mode_bits & c.FMODE_WRITE and (f_op.write or f_op.write_iter):
            mode_bits |= c.FMODE_CAN_WRITE
        if f_op.llseek != "no_llseek" and self.k.version.at_least("6.0"):
            mode_bits |= c.FMODE_LSEEK
        file.f_mode = mode_bits | c.FMODE_OPENED
        self.mirror.file_flags(file)
        return file

    def put_file(self, file: File) -> None:
        """fput() from plain code."""
        file.f_count -= 1
        if file.f_count <= 0:
            self.release_file(file)

    def next_lock_place(self) -> tuple[int, int]:
        """Where /proc/locks shows a new lock: CPU by CPU, the newest first."""
        self._locks_made += 1
        return self.k.current.cpu, -self._locks_made

    def release_file(self, file: File) -> None:
        """The body of __fput() from plain code: a release that is a coroutine has its calls skipped."""
        for _ in self.fput_steps(file):
            pass

    def fput_steps(self, file: File) -> Steps[None]:
        """The body of __fput(): release, forget, and evict an inode without names."""
        if self.fsnotify.active and file.f_mode & c.FMODE_OPENED:
            self.fsnotify.closed(file)
        if file.watchers:
            for watcher in list(file.watchers):
                watcher.file_closed()
        if file.f_inode.locks is not None:
            file.f_inode.locks.drop_file(self.k, file)
        if self.leases.held:
            self.leases.closed(self.k, file)
        if file.f_owner is not None:
            file.f_owner.forget()
        if file in self.dnotify:
            self.dnotify[file].inode_gone()
        if file.f_op.release is not None and file.f_mode & c.FMODE_OPENED and not file.f_mode & c.FMODE_PATH:
            running = file.f_op.release(self.k, file)
            if running is not None:
                yield from running
        if file.f_mode & c.FMODE_NEED_UNMOUNT:
            self.mounts.dissolve(file.f_path.mnt)
        inode = file.f_inode
        inode.i_count -= 1
        if file.f_mode & c.FMODE_WRITE and inode.i_writecount > 0:
            inode.i_writecount -= 1
        if file.f_mode & c.FMODE_EXEC:
            inode.i_writecount += 1  # allow_write_access()
        self.mirror.inode_writers(inode)
        self.told.file_gone(file)
        if not inode.i_nlink and not inode.i_count:
            if self.fsnotify.active:
                self.fsnotify.gone(inode)
            self._evict(inode)
        self.files.pop(file.addr, None)
        self.security.ask("file_free_security", file)
        self.mirror.free_file(file)
        if self.unmounted and inode.i_sb in self.unmounted:
            self.put_super(inode.i_sb)

    def _evict(self, inode: Inode) -> None:
        if inode.addr:
            self.security.ask("inode_free_security", inode)
        if inode.xattrs:
            self.k.mm.charge(-xattr_room(inode.xattrs))
            inode.i_sb.count_xattrs(inode.xattrs, -1)
            inode.xattrs = None
        self.told.evicted(inode)
        inode.evict()

    def put_super(self, sb: SuperBlock) -> None:
        """deactivate_super(): a file system whose mounts have all gone goes with its last user."""
        used = any(file.f_inode.i_sb is sb or file.f_path.mnt.mnt_sb is sb for file in self.files.values())
        places = [fs for task in self.k.tasks.by_pid.values() if (fs := fs_if_any(task)) is not None]
        used = used or any(sb in (fs.pwd.mnt.mnt_sb, fs.root.mnt.mnt_sb) for fs in places)
        if sb in self.unmounted:
            self.unmounted.remove(sb)
        if used or sb.mounts:
            self.unmounted.append(sb)
        else:
            self.security.super_gone(sb)
            self.fsnotify.unmounted(sb)
            sb.kill()

    def inode_address(self, inode: object) -> int:
        """Kernel address of an inode's struct inode."""
        assert isinstance(inode, Inode)
        return self.mirror.inode(inode)

    def epoll_target(self, epoll: MappedFile, fd: int, which: int) -> int:
        """get_epoll_tfile_raw_ptr().  EINVAL, ENOENT."""
        return self.watched_by(epoll, fd, which)

    def file_of(self, k: KernelFace, task: Task, fd: int) -> File:
        """fdget_raw(): the File behind a descriptor, also an O_PATH one; EBADF."""
        files = files_if_any(task)
        if files is not None:
            file = files.fds.get(fd)
            if file is not None:
                return file
        raise KernelError(EBADF, f"no descriptor {fd}")

    def fget(self, fd: int) -> File:
        """fdget() of the current task: EBADF for O_PATH descriptors too."""
        file: File | None = files_of(self.k.current).fds.get(fd)
        if file is None or file.f_mode & c.FMODE_PATH:
            raise KernelError(EBADF, f"no descriptor {fd}")
        return file

    # --- waiting on plain keys (tracing.face.WouldBlock) ---
    def key_queue(self, key: Hashable) -> WaitQueue:
        """The wait queue of a key that a lower floor names; `k.wake_up` of it lets readers repeat."""
        queue = self.key_queues.get(key)
        if queue is None:
            queue = self.key_queues[key] = WaitQueue(str(key))
        return queue

    # --- mount options shared by mount(2) and boot ---
    def remount(self, mnt: Mount, flags: int, data: str) -> None:
        """MS_REMOUNT: change flags of the mount and of its super block."""
        if flags & MS_RDONLY and not mnt.mnt_sb.read_only:
            for file in self.files.values():
                if file.f_path.mnt.mnt_sb is mnt.mnt_sb and file.f_mode & c.FMODE_WRITE and file.f_inode.is_reg:
                    raise KernelError(EBUSY, "open for writing")
        mnt.mnt_sb.reconfigure(flags, data)
        mnt.mnt_sb.s_flags = mnt.mnt_sb.s_flags & ~SB_FLAGS | flags & SB_FLAGS
        mnt.mnt_flags = flags & MNT_FLAGS
        self.mounts.touch(mnt)

    def evict_if_unused(self, inode: Inode) -> None:
        """After a name went away: free what nobody can reach."""
        if not inode.i_nlink and not inode.i_count:
            self._evict(inode)

    def socket_file(self, f_op: FileOperations, private: object, flags: int) -> File:
        """sock_alloc_file(): an open file on sockfs, shown as `socket:[INO]`."""
        mnt = self.sock_mnt
        inode = Inode(mnt.mnt_sb, S_IFSOCK | 0o777)
        dentry = Dentry("", None, inode)
        dentry.d_dname = _socket_name
        file = self.new_file(Path(mnt, dentry), flags, f_op)
        file.f_mode |= c.FMODE_CAN_READ | c.FMODE_CAN_WRITE | c.FMODE_OPENED | c.FMODE_STREAM
        file.private_data = private
        self.mirror.file_flags(file)
        return file

    # --- asked for by the core (simkernel/fs/face.py) ---
    def take_back(self, parent: Dentry, child: Dentry) -> None:
        """A name that was made and is refused goes again."""
        remove = parent.inode.rmdir if child.inode.is_dir else parent.inode.unlink
        remove(parent, child)
        self.mirror.inode_changed(parent.inode)
        self.evict_if_unused(child.inode)

    def fops_for(self, inode: Inode) -> FileOperations:
        """inode->i_fop: by file system, or by kind for special files."""
        if inode.i_fop is not None:
            return inode.i_fop
        kind = inode.i_mode & S_IFMT
        if kind == S_IFIFO:
            return self.fifo_fops
        if kind == S_IFCHR:
            found = self.char_devices.get(inode.i_rdev)
            if found is None:
                raise KernelError(ENXIO, "no such device")
            return found
        if kind in (S_IFBLK, S_IFSOCK, S_IFREG):  # no_open_fops; the disk is reached through its file system alone
            raise KernelError(ENXIO, "no such device")
        return EMPTY_FOPS

    def open_exec(self, k: KernelFace, path: bytes, dfd: int = AT_FDCWD, flags: int = 0) -> File:
        """do_open_execat() while nobody probes it or what it calls (exec_open.py): KernelError as may_execute() has it."""
        lookup = lookup_flags(flags)
        self.security.alloc_early_file()
        try:
            file = self.exec_file(dfd, to_str(path), lookup, bool(flags & AT_EMPTY_PATH))
        except KernelError:
            self.security.free_early_file()
            raise
        make_executed(k, file)
        self.mirror.file_flags(file)
        if self.security.watched:
            try:
                self.security.ask("file_open", file)
            except KernelError:
                file.put()
                raise
        tell_opened(k, file, self.fsnotify, bool(self.security.watched))
        return file

    def exec_file(self, dfd: int, name: str, lookup: int, empty: bool = False) -> File:
        """The walk to a file that is to be executed, and its struct file."""
        where, cred = self.user_path(dfd, name, lookup, empty), self.cred()
        may_execute(where, cred)
        return self.new_file(where, O_RDONLY | O_LARGEFILE, self.fops_for(where.dentry.inode), cred)

    def file_at(self, address: int) -> File:
        """The file whose struct file is there; KernelError for an ERR_PTR()."""
        if self.is_error(address):
            raise KernelError(-self.error(address))
        return self.files[address & self.word_mask]

    def secure_anon(self, name: str) -> None:
        """anon_inode_make_secure_inode(), as far as somebody watches it: here all files share one inode."""
        if self.security.watched:
            dentry = Dentry(name, None, Inode(self.anon_mnt.mnt_sb, 0o600))
            self.security.anonymous(dentry, name.encode())

    def anon_inode_getfd(self, k: KernelFace, name: str, ops: FileOperations, private: object, flags: int) -> int:
        """A new descriptor of the current task on an anonymous inode."""
        files: FilesStruct = files_of(k.current)
        with files.unused_fd(flags & O_CLOEXEC != 0) as fd:
            files.install(fd, self.anon_file(name, ops, private, flags))
        return fd

    def exec_rights(self, file: MappedFile) -> ExecRights:
        """What a file's inode and mount say about who runs it."""
        assert isinstance(file, File)
        inode = file.f_inode
        held = inode.xattrs.get(b"security.capability") if inode.xattrs is not None else None
        nosuid = bool(file.f_path.mnt.mnt_flags & MS_NOSUID)
        return ExecRights(inode.i_mode, inode.i_uid, inode.i_gid, nosuid, held)

    def setup_init_files(self, k: KernelFace, task: Task) -> None:
        """Root, working directory and an empty descriptor table for the first task."""
        root = self.mounts.root
        task.fs = FsStruct(self.mirror, root, root, 0o022)
        task.files = FilesStruct(self.mirror)
        publish_task_files(self.mirror, task)
        self.cgroups.put(task, self.cgroups.of(task))
        if self.proxies.structs:  # tasks of before the network get theirs with it
            self.proxies.publish(k, task)

    def set_cwd(self, k: KernelFace, task: Task, path: str) -> None:
        """Start a task in another directory."""
        fs_of(task).set_pwd(self.resolve(path))


def _socket_name(dentry: Dentry) -> str:
    return f"socket:[{dentry.inode.i_ino}]"


def _anon_name(dentry: Dentry) -> str:
    return f"anon_inode:{dentry.name}"
