"""The file system of pseudo-terminals, and the files that lead to them.  fs/devpts/inode.c, drivers/tty/pty.c.

This is what a machine has from its boot on; what a pair does is loaded when somebody opens /dev/ptmx.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EINVAL, EIO, ENODEV, ENOSPC
from arch.abi.stat import DEVPTS_SUPER_MAGIC, S_IFCHR, S_IFDIR, makedev
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import Dentry, File, FileOperations, Inode, Path, SuperBlock
from simkernel.fs.terminal import PtyEnd
from simkernel.fs.vfs import FsType, Vfs
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import WaitQueue

PTY_LIMIT = 4096  # /proc/sys/kernel/pty/max
PTMX_DEV = makedev(5, 2)
OCTAL = ("mode", "ptmxmode")
NUMBERS = ("uid", "gid", "max")


class DevptsInode(Inode):
    """The directory, ptmx in it, or one terminal."""

    __slots__ = ("slave",)

    def __init__(self, sb: SuperBlock, mode: int, ino: int, slave: PtyEnd | None = None) -> None:
        super().__init__(sb, mode, ino)
        self.slave = slave


class DevptsSuper(SuperBlock):
    """One instance: terminals are numbered within it."""

    def __init__(self, vfs: Vfs, data: str) -> None:
        super().__init__("devpts", DEVPTS_SUPER_MAGIC, vfs.anon_dev(), vfs.now)
        self.vfs = vfs
        self.set: dict[str, int] = {"mode": 0o600, "ptmxmode": 0}
        self.parse(data)
        self.used: set[int] = set()
        self.s_root = Dentry("/", None, DevptsInode(self, S_IFDIR | 0o755, 1))
        self.s_root.inode.i_fop = DEVPTS_DIR
        ptmx = DevptsInode(self, S_IFCHR | self.set["ptmxmode"], 2)
        ptmx.i_rdev = PTMX_DEV
        self.s_root.add("ptmx", ptmx)

    def parse(self, data: str) -> None:
        """parse_mount_options().  EINVAL."""
        for option in filter(None, data.split(",")):
            key, _, value = option.partition("=")
            if key == "newinstance":
                continue
            try:
                if key not in OCTAL + NUMBERS:
                    raise ValueError(key)
                self.set[key] = int(value, 8) & 0o7777 if key in OCTAL else int(value)
            except ValueError:
                raise KernelError(EINVAL, f"devpts: bad option {option}") from None
        names = [name for name in ("uid", "gid", "mode", "ptmxmode", "max") if name in self.set]
        self.options = ",".join(f"{n}={self.set[n]:03o}" if n in OCTAL else f"{n}={self.set[n]}" for n in names)

    def reconfigure(self, flags: int, data: str) -> None:
        """devpts_remount()."""
        self.parse(data)
        ptmx = self.s_root.inode.lookup(self.s_root, "ptmx")
        assert ptmx is not None
        ptmx.inode.i_mode = S_IFCHR | self.set["ptmxmode"]

    def new_index(self) -> int:
        """devpts_new_index(): the lowest free number.  ENOSPC."""
        index = 0
        while index in self.used:
            index += 1
        if index >= self.set.get("max", PTY_LIMIT) or self.vfs.ptys >= self.vfs.sysctl["kernel.pty.max"]:
            raise KernelError(ENOSPC, "no pseudo-terminal is free")
        self.vfs.ptys += 1
        self.used.add(index)
        return index

    def add(self, k: FsKernel, index: int, slave: PtyEnd) -> Dentry:
        """devpts_pty_new(): the terminal's file."""
        inode = DevptsInode(self, S_IFCHR | self.set["mode"], index + 3, slave)
        cred = k.current.cred
        inode.i_uid, inode.i_gid = self.set.get("uid", cred.fsuid), self.set.get("gid", cred.fsgid)
        inode.i_rdev, inode.i_fop = slave.dev, PTS_FOPS[k.vfs.names.tty_iter]
        return self.s_root.add(str(index), inode)

    def remove(self, index: int) -> None:
        """devpts_pty_kill(), devpts_kill_index()."""
        self.used.discard(index)
        self.vfs.ptys -= 1
        child = self.s_root.inode.lookup(self.s_root, str(index))
        if child is not None:
            child.inode.i_nlink = 0
            self.s_root.drop(child)


DEVPTS_DIR = FileOperations("simple_dir_operations", read="generic_read_dir", llseek="dcache_dir_lseek", iterate=True)


# -- files -----------------------------------------------------------------------------------------------------------------


def _instance(k: FsKernel, file: File) -> tuple[DevptsSuper, Path]:
    """devpts_mntget(): the instance that ptmx is in, or the one mounted on `pts` beside it; and its root."""
    mnt, dentry = file.f_path
    if isinstance(mnt.mnt_sb, DevptsSuper):
        return mnt.mnt_sb, Path(mnt, mnt.mnt_root)
    beside = dentry.parent.inode.lookup(dentry.parent, "pts")
    if beside is not None:
        mnt, root = k.vfs.mounts.traverse(mnt, beside)
        if isinstance(mnt.mnt_sb, DevptsSuper):
            return mnt.mnt_sb, Path(mnt, root)
    raise KernelError(ENODEV, "no devpts beside it")


def _ptmx_open(k: FsKernel, inode: Inode, file: File) -> int:
    """ptmx_open(): a new pair; the file is its master."""
    from simkernel.fs.tty.tty import TtyEnd  # with the discipline: a machine without terminals starts without it

    sb, root = _instance(k, file)
    index = sb.new_index()
    master, slave = TtyEnd(k, index, True), TtyEnd(k, index, False)
    master.link, slave.link = slave, master
    master.peer_path = Path(root.mnt, sb.add(k, index, slave))
    master.on_close = lambda: sb.remove(index)
    file.private_data = master
    return master.opened(file)


def _pts_open(k: FsKernel, inode: Inode, file: File) -> int:
    """tty_open() of a slave: EIO while it is locked, or without its master."""
    assert isinstance(inode, DevptsInode) and inode.slave is not None
    ret = inode.slave.open_slave()
    if ret:
        return ret
    file.private_data = inode.slave
    return inode.slave.opened(file)


def _ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int | Body:
    from simkernel.fs.tty.ioctl import tty_ioctl

    return tty_ioctl(k, file, cmd, arg)


def _poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    end: PtyEnd = file.private_data
    return end.poll(file, queues)


def _release(k: FsKernel, file: File) -> None:
    end: PtyEnd = file.private_data
    end.closed(file)


def open_controlling(k: FsKernel, file: File) -> int:
    """/dev/tty of a task whose terminal this is."""
    end = k.current.signal.tty
    assert isinstance(end, PtyEnd)
    file.private_data, file.f_op = end, PTS_FOPS[k.vfs.names.tty_iter]
    return end.opened(file)


def _nonseekable(opened: Callable[[FsKernel, Inode, File], int]) -> Callable[[FsKernel, Inode, File], int]:
    """nonseekable_open()."""

    def both(k: FsKernel, inode: Inode, file: File) -> int:
        file.f_mode &= ~(c.FMODE_LSEEK | c.FMODE_PREAD | c.FMODE_PWRITE)
        return opened(k, inode, file)

    return both


def _operations(name: str, opened: Callable[[FsKernel, Inode, File], int]) -> tuple[FileOperations, FileOperations]:
    """(before 5.12, since then)."""
    return (
        FileOperations(
            name, read="tty_read", write="tty_write", llseek="no_llseek", poll=_poll, ioctl=_ioctl, open=opened,
            release=_release, fasync=True,
        ),
        FileOperations(
            name, read_iter="tty_read", write_iter="tty_write", llseek="no_llseek", poll=_poll, ioctl=_ioctl,
            open=opened, release=_release, fasync=True, splice=True,
        ),
    )  # fmt: skip


PTMX_FOPS = _operations("ptmx_fops", _nonseekable(_ptmx_open))
PTS_FOPS = _operations("tty_fops", _nonseekable(_pts_open))


# -- kernel functions ------------------------------------------------------------------------------------------------------


@kernel_function("int pty_write(struct tty_struct *tty, const unsigned char *buf, int c)", source="drivers/tty/pty.c")
def pty_write(k: FsKernel, tty: int, buf: int, count: int) -> int:
    """Bytes for the other end: how many it has room for."""
    return k.vfs.passed(tty, PtyEnd).send(k.mem.read(buf, count))


@kernel_function("ssize_t hung_up_tty_read(struct kiocb *iocb, struct iov_iter *to)", source="drivers/tty/tty_io.c")
def hung_up_tty_read(k: FsKernel, iocb: int, to: int) -> int:
    """The end."""
    return 0


@kernel_function("ssize_t hung_up_tty_write(struct kiocb *iocb, struct iov_iter *from)", source="drivers/tty/tty_io.c")
def hung_up_tty_write(k: FsKernel, iocb: int, from_: int) -> int:
    """EIO."""
    return -EIO


def register_devpts(vfs: Vfs) -> None:
    """The file system type."""
    vfs.register(FsType("devpts", lambda v, devname, flags, data: DevptsSuper(v, data)))
