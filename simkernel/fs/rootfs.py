"""What is in the root file system at boot, and putting files into it from the host's side.

The root is a tmpfs with the usual directories, a few files of /etc, and /proc, /sys and /dev mounted.  `add_file` and
`add_tree` are used by the machine to bring a program in; a program's bytes come from the host as pages are needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from arch.abi.errno import EROFS
from arch.abi.limits import PAGE_SHIFT, PAGE_SIZE
from arch.abi.stat import S_IFCHR, makedev
from arch.errors import KernelError
from simkernel.configs import KernelConfig
from simkernel.fs.inode import Dentry, to_bytes
from simkernel.fs.root_cred import ROOT_CRED
from simkernel.fs.tmpfs import TmpfsInode
from simkernel.fs.vfs import Vfs

# Directories of the root: (path, mode), in the order of `ls` reversed so that an unsorted listing looks natural.
DIRECTORIES = (
    ("/var", 0o755), ("/var/tmp", 0o1777), ("/var/log", 0o755), ("/usr", 0o755), ("/usr/bin", 0o755),
    ("/usr/sbin", 0o755), ("/tmp", 0o1777), ("/sys", 0o555), ("/sbin", 0o755), ("/run", 0o755), ("/root", 0o700),
    ("/proc", 0o555), ("/mnt", 0o755), ("/lib", 0o755), ("/home", 0o755), ("/etc", 0o755), ("/dev", 0o755),
    ("/bin", 0o755), ("/boot", 0o755),
)  # fmt: skip

ETC = (
    ("passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
    ("group", "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n"),
    ("shells", "/bin/sh\n"),
    ("profile", "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"),
    ("os-release", 'NAME="simkernel"\nID=simkernel\nPRETTY_NAME="simkernel"\n'),
)  # fmt: skip


def require_own(directory: Dentry, path: str) -> None:
    """What is put in from outside goes into the machine's own memory; a bound directory of the host is never changed."""
    if not isinstance(directory.inode, TmpfsInode):
        raise KernelError(EROFS, f"{path} is not in the machine's own file system")


def make_directory(vfs: Vfs, path: str, mode: int = 0o755) -> Dentry:
    """mkdir -p, with all rights; gives the directory."""
    parent: Dentry = vfs.mounts.root.dentry
    mnt = vfs.mounts.root.mnt
    parts = [p for p in path.split("/") if p]
    for index, part in enumerate(parts):
        mnt, parent = vfs.mounts.traverse(mnt, parent)
        child = parent.inode.lookup(parent, part)
        if child is None:
            last = index == len(parts) - 1
            require_own(parent, path)
            child = parent.inode.mkdir(parent, part, mode if last else 0o755, ROOT_CRED)
        parent = child
    return vfs.mounts.traverse(mnt, parent)[1]


def add_file(
    vfs: Vfs, path: str, content: bytes | str = b"", mode: int = 0o644, filler: Callable[[int], bytes] | None = None,
    size: int | None = None,
) -> TmpfsInode:  # fmt: skip
    """Make (or replace) a regular file; with `filler` its pages are asked for when needed, `size` says how long it is."""
    directory, _, name = path.rpartition("/")
    parent = make_directory(vfs, directory)
    require_own(parent, path)
    old = parent.inode.lookup(parent, name)
    if old is not None:
        parent.inode.unlink(parent, old)
        vfs.evict_if_unused(old.inode)
    child = parent.inode.create(parent, name, mode, ROOT_CRED)
    inode = child.inode
    assert isinstance(inode, TmpfsInode) and inode.i_mapping is not None
    data = to_bytes(content) if isinstance(content, str) else content
    if filler is not None:
        inode.i_mapping.filler = filler
        inode.i_size = size or 0
    elif data:
        inode.i_mapping.write(0, data)
        inode.i_size = len(data)
    return inode


def add_bytes_lazily(vfs: Vfs, path: str, data: bytes, mode: int = 0o755) -> TmpfsInode:
    """A file whose pages are copied into simulated memory when they are first used: for large programs."""

    def filler(index: int) -> bytes:
        return data[index << PAGE_SHIFT : (index + 1) << PAGE_SHIFT]

    return add_file(vfs, path, mode=mode, filler=filler, size=len(data))


def add_host_file(vfs: Vfs, host_path: str, guest_path: str, mode: int = 0o755) -> TmpfsInode:
    """A copy of a host file: its size is that of now, its pages are read when they are first used."""
    size = os.stat(host_path).st_size
    host = open(host_path, "rb")  # noqa: SIM115  # kept: a program that is replaced on the host keeps its bytes here

    def filler(index: int) -> bytes:
        return os.pread(host.fileno(), PAGE_SIZE, index << PAGE_SHIFT)

    return add_file(vfs, guest_path, mode=mode, filler=filler, size=size)


def add_link(vfs: Vfs, path: str, target: str) -> None:
    """A symbolic link; what has that name is replaced."""
    directory, _, name = path.rpartition("/")
    parent = make_directory(vfs, directory)
    require_own(parent, path)
    old = parent.inode.lookup(parent, name)
    if old is not None:
        parent.inode.unlink(parent, old)
    parent.inode.symlink(parent, name, target, ROOT_CRED)


def add_node(vfs: Vfs, path: str, kind: int, dev: int, mode: int) -> None:
    """A device node; kind is S_IFCHR or S_IFBLK."""
    directory, _, name = path.rpartition("/")
    parent = make_directory(vfs, directory)
    if parent.inode.lookup(parent, name) is None:
        parent.inode.mknod(parent, name, kind | mode, dev, ROOT_CRED)


def timezone_utc() -> bytes:
    """A TZif file (RFC 8536) that says UTC: libcs that do not find /etc/localtime look for it at every conversion."""
    counts = b"".join(number.to_bytes(4, "big") for number in (0, 0, 0, 0, 1, 4))  # one type, four characters
    block = b"TZif2" + bytes(15) + counts + bytes(6) + b"UTC\0"
    return block + block + b"\nUTC0\n"


def add_config(vfs: Vfs) -> None:
    """/boot/config-RELEASE, where it is known; its text is unpacked when somebody reads it."""
    k = vfs.k
    config = KernelConfig(k.version, k.arch.name, k.config)
    if config.known:

        def filler(index: int) -> bytes:
            return config.text[index << PAGE_SHIFT : (index + 1) << PAGE_SHIFT]

        add_file(vfs, f"/boot/config-{k.version.release}", filler=filler, size=config.size)


def populate_root(vfs: Vfs) -> None:
    """Directories and /etc."""
    for path, mode in DIRECTORIES:
        make_directory(vfs, path, mode)
    for name, text in ETC:
        add_file(vfs, f"/etc/{name}", text)
    add_config(vfs)
    add_file(vfs, "/etc/hostname", f"{vfs.k.hostname}\n")
    add_file(vfs, "/etc/hosts", f"127.0.0.1\tlocalhost\n127.0.1.1\t{vfs.k.hostname}\n")
    add_file(vfs, "/etc/localtime", timezone_utc())
    add_link(vfs, "/etc/mtab", "/proc/mounts")
    add_link(vfs, "/var/run", "/run")


def populate_dev(vfs: Vfs, nodes: Iterable[tuple[str, int, int, int]]) -> None:
    """Device nodes and the links of /dev."""
    for name, major, minor, mode in nodes:
        add_node(vfs, f"/dev/{name}", S_IFCHR, makedev(major, minor), mode)
    for name, target in (
        ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ):  # fmt: skip
        add_link(vfs, f"/dev/{name}", target)
