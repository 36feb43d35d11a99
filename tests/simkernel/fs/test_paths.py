"""Path walk and names: the errno of each odd case is Linux's."""

import pytest

from arch.abi.errno import (  # fmt: skip
    EACCES,
    EBADF,
    EBUSY,
    EEXIST,
    EINVAL,
    EISDIR,
    ELOOP,
    ENAMETOOLONG,
    ENOENT,
    ENOTDIR,
    ENOTEMPTY,
    EPERM,
    EXDEV,
)
from arch.abi.fcntl import (  # fmt: skip
    AT_FDCWD,
    O_APPEND,
    O_CREAT,
    O_DIRECTORY,
    O_EXCL,
    O_NOFOLLOW,
    O_PATH,
    O_RDONLY,
    O_RDWR,
    O_TRUNC,
    O_WRONLY,
)


@pytest.fixture
def tree(libc):
    libc.mkdir("/tmp/d", 0o755)
    libc.put("/tmp/d/f", b"text")
    libc.symlink("f", "/tmp/d/link")
    libc.symlink("/tmp/d", "/tmp/dlink")
    libc.symlink("loop", "/tmp/loop")
    libc.symlink("nowhere", "/tmp/dangling")
    return libc


OPEN_CASES = (
    # path, flags, errno (0: opens)
    ("/tmp/d/f", O_RDONLY, 0),
    ("//tmp///d/./../d/f", O_RDONLY, 0),
    ("/tmp/d/link", O_RDONLY, 0),
    ("/tmp/dlink/link", O_RDONLY, 0),
    ("/tmp/d/link", O_RDONLY | O_NOFOLLOW, ELOOP),
    ("/tmp/d/link", O_PATH | O_NOFOLLOW, 0),
    ("/tmp/loop", O_RDONLY, ELOOP),
    ("/tmp/dangling", O_RDONLY, ENOENT),
    ("/tmp/dangling", O_CREAT | O_EXCL | O_WRONLY, EEXIST),
    ("/tmp/nothing", O_RDONLY, ENOENT),
    ("/tmp/nothing/more", O_RDONLY, ENOENT),
    ("/tmp/d/f/more", O_RDONLY, ENOTDIR),
    ("/tmp/d/f/", O_RDONLY, ENOTDIR),
    ("/tmp/d/link/", O_RDONLY, ENOTDIR),
    ("/tmp/d/f", O_RDONLY | O_DIRECTORY, ENOTDIR),
    ("/tmp/dlink/", O_RDONLY | O_NOFOLLOW, 0),
    ("/tmp/dlink", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, ENOTDIR),
    ("/tmp/d", O_WRONLY, EISDIR),
    ("/tmp/d", O_RDWR, EISDIR),
    ("/tmp/d", O_CREAT, EISDIR),
    ("/tmp/d", O_RDONLY | O_TRUNC, EISDIR),
    ("/tmp/new/", O_CREAT | O_WRONLY, EISDIR),
    ("/tmp/d/f", O_CREAT | O_EXCL | O_WRONLY, EEXIST),
    ("", O_RDONLY, ENOENT),
    ("/tmp/" + "x" * 255, O_CREAT | O_WRONLY, 0),
    ("/tmp/" + "x" * 256, O_CREAT | O_WRONLY, ENAMETOOLONG),
    ("/" * 4095, O_RDONLY, 0),
    ("/" * 4096, O_RDONLY, ENAMETOOLONG),
    ("/..", O_RDONLY, 0),
    ("/tmp/..", O_RDONLY, 0),
    ("/proc/self/fd/99", O_RDONLY, ENOENT),
    ("/proc/nothing", O_CREAT | O_WRONLY, ENOENT),
    ("/sys/nothing", O_CREAT | O_WRONLY, EACCES),
    ("/sys/kernel/debug/nothing", O_CREAT | O_WRONLY, EACCES),
)


@pytest.mark.parametrize(("path", "flags", "errno"), OPEN_CASES, ids=lambda v: str(v)[:30])
def test_open(tree, path, flags, errno):
    ret = tree.openat(path, flags)
    assert ret == -errno if errno else ret >= 0


REMOVE_CASES = (
    ("unlink", "/tmp/d", EISDIR),
    ("unlink", "/tmp/d/f/", ENOTDIR),
    ("unlink", "/tmp/d/", EISDIR),
    ("unlink", "/tmp/nothing", ENOENT),
    ("unlink", "/tmp/d/.", EISDIR),
    ("unlink", "/", EISDIR),
    ("unlink", "/proc/version", EPERM),
    ("unlink", "/sys/kernel/fscaps", EPERM),
    ("unlink", "/tmp/loop", 0),
    ("rmdir", "/tmp/d", ENOTEMPTY),
    ("rmdir", "/tmp/d/.", EINVAL),
    ("rmdir", "/tmp/d/..", ENOTEMPTY),
    ("rmdir", "/", EBUSY),
    ("rmdir", "/tmp/d/f", ENOTDIR),
    ("rmdir", "/tmp/nothing", ENOENT),
    ("rmdir", "/proc", EBUSY),
    ("rmdir", "/proc/1", EPERM),
)


@pytest.mark.parametrize(("call", "path", "errno"), REMOVE_CASES)
def test_remove(tree, call, path, errno):
    assert tree.call(call, path) == -errno


MAKE_CASES = (
    (("mkdir", "/tmp/e/", 0o755), 0),
    (("mkdir", "/tmp/d", 0o755), EEXIST),
    (("mkdir", "/", 0o755), EEXIST),
    (("mkdir", "/tmp/.", 0o755), EEXIST),
    (("mkdir", "/tmp/dangling", 0o755), EEXIST),
    (("mkdir", "/tmp/x/y", 0o755), ENOENT),
    (("mkdir", "/tmp/d/f/y", 0o755), ENOTDIR),
    (("mkdir", "/proc/x", 0o755), ENOENT),
    (("mkdir", "/sys/kernel/debug/x", 0o755), EPERM),
    (("symlink", "a", "/tmp/b/"), ENOENT),
    (("symlink", "a", "/tmp/d"), EEXIST),
    (("symlink", "", "/tmp/b"), ENOENT),
    (("link", "/tmp/d/f", "/tmp/hard"), 0),
    (("link", "/tmp/d", "/tmp/hard"), EPERM),
    (("link", "/tmp/d/f", "/tmp/d/f"), EEXIST),
    (("link", "/proc/version", "/tmp/hard"), EXDEV),
    (("mknod", "/tmp/p", 0o010644, 0), 0),
    (("mknod", "/tmp/p", 0o040755, 0), EPERM),
    (("rename", "/tmp/d", "/tmp/d/e"), EINVAL),
    (("rename", "/tmp/d/f", "/tmp/d"), ENOTEMPTY),
    (("rename", "/tmp/d", "/tmp/dangling"), ENOTDIR),
    (("rename", "/tmp/dangling", "/tmp/d"), EISDIR),
    (("rename", "/tmp/d/f", "/tmp/g/"), ENOTDIR),
    (("rename", "/tmp/nothing", "/tmp/g"), ENOENT),
    (("rename", "/tmp/d", "/dev/d"), EXDEV),
    (("rename", "/tmp/d/.", "/tmp/g"), EBUSY),
    (("rename", "/tmp/d", "/tmp/g/"), 0),
)


@pytest.mark.parametrize(("call", "errno"), MAKE_CASES)
def test_make_and_move(tree, call, errno):
    assert tree.call(*call) == -errno


def test_forty_links_are_followed_and_no_more(libc):
    libc.put("/tmp/l0", b"end")
    for i in range(1, 42):
        libc.symlink(f"l{i - 1}", f"/tmp/l{i}")
    assert libc.get("/tmp/l40") == b"end"
    assert libc.openat("/tmp/l41") == -ELOOP


def test_link_counts_sizes_and_newest_first(libc):
    libc.mkdir("/tmp/d", 0o755)
    assert (libc.stat("/tmp/d")["st_size"], libc.stat("/tmp/d")["st_nlink"]) == (40, 2)
    for name in "abc":
        libc.put(f"/tmp/d/{name}", b"")
    libc.mkdir("/tmp/d/sub", 0o700)
    assert (libc.stat("/tmp/d")["st_size"], libc.stat("/tmp/d")["st_nlink"]) == (120, 3)
    assert libc.listdir("/tmp/d") == [".", "..", "sub", "c", "b", "a"]
    libc.rename("/tmp/d/a", "/tmp/d/z")  # a moved entry becomes the newest, as on tmpfs of Linux 6.1
    assert libc.listdir("/tmp/d") == [".", "..", "z", "sub", "c", "b"]
    libc.link("/tmp/d/z", "/tmp/d/y")
    assert libc.stat("/tmp/d/z")["st_nlink"] == 2
    libc.unlink("/tmp/d/z")
    assert libc.stat("/tmp/d/y")["st_nlink"] == 1


def test_exchange_and_noreplace(tree):
    tree.put("/tmp/a", b"A")
    tree.put("/tmp/b", b"B")
    assert tree.renameat2(AT_FDCWD, "/tmp/a", AT_FDCWD, "/tmp/b", 1) == -EEXIST
    assert tree.renameat2(AT_FDCWD, "/tmp/a", AT_FDCWD, "/tmp/b", 2) == 0
    assert (tree.get("/tmp/a"), tree.get("/tmp/b")) == (b"B", b"A")
    assert tree.renameat2(AT_FDCWD, "/tmp/a", AT_FDCWD, "/tmp/c", 2) == -ENOENT
    assert tree.renameat2(AT_FDCWD, "/tmp/a", AT_FDCWD, "/tmp/c", 3) == -EINVAL


def test_dirfd_and_working_directory(tree):
    dfd = tree.openat("/tmp/d", O_RDONLY | O_DIRECTORY)
    assert tree.openat("f", dfd=dfd) >= 0
    assert tree.openat("f", dfd=77) == -EBADF
    file = tree.openat("/tmp/d/f")
    assert tree.openat("f", dfd=file) == -ENOTDIR
    assert tree.fchdir(dfd) == 0
    assert tree.get("f") == b"text"
    n = tree.getcwd(0x50000, 100)
    assert tree.k.usercopy.user.read(0x50000, n) == b"/tmp/d\0"
    assert tree.getcwd(0x50000, 4) == -34
    assert tree.chdir("/tmp/d/f") == -ENOTDIR


def test_dot_dot_crosses_mounts_and_stops_at_the_root(libc):
    assert libc.stat("/proc/..")["st_ino"] == libc.stat("/")["st_ino"]
    assert libc.stat("/../../..")["st_ino"] == libc.stat("/")["st_ino"]
    libc.mkdir("/tmp/jail", 0o755)
    libc.put("/tmp/jail/in", b"")
    assert libc.chroot("/tmp/jail") == 0
    libc.chdir("/")
    assert libc.openat("/../in") >= 0
    assert libc.openat("/tmp") == -ENOENT


def test_permissions_of_a_plain_user(tree):
    tree.put("/tmp/secret", b"x", 0o600)
    tree.mkdir("/tmp/closed", 0o700)
    tree.k.current.cred.fsuid = tree.k.current.cred.fsgid = 1000
    tree.k.capable = lambda cap: False
    assert tree.openat("/tmp/secret") == -EACCES
    assert tree.openat("/tmp/d/f") >= 0
    assert tree.openat("/tmp/d/f", O_WRONLY) == -EACCES
    assert tree.openat("/tmp/closed/x", O_CREAT | O_WRONLY) == -EACCES
    assert tree.openat("/etc/x", O_CREAT | O_WRONLY) == -EACCES
    assert tree.unlink("/tmp/secret") == -EPERM  # /tmp is sticky
    tree.put("/tmp/mine", b"x")
    assert tree.unlink("/tmp/mine") == 0
    assert tree.fchmodat(AT_FDCWD, "/tmp/d/f", 0o777) == -EPERM


def test_append_truncate_and_umask(libc):
    libc.k.current.fs.set_umask(0o027)
    fd = libc.openat("/tmp/f", O_CREAT | O_WRONLY | O_APPEND, 0o666)
    assert libc.fstat(fd)["st_mode"] == 0o100640
    libc.write_bytes(fd, b"one")
    other = libc.openat("/tmp/f", O_WRONLY | O_APPEND)
    libc.write_bytes(other, b"two")
    libc.write_bytes(fd, b"three")
    assert libc.get("/tmp/f") == b"onetwothree"
    assert libc.openat("/tmp/f", O_WRONLY | O_TRUNC) >= 0
    assert libc.get("/tmp/f") == b""


def test_deleted_files_live_while_open(libc):
    fd = libc.openat("/tmp/gone", O_CREAT | O_RDWR)
    libc.write_bytes(fd, b"still here")
    assert libc.unlink("/tmp/gone") == 0
    assert libc.readlink(f"/proc/self/fd/{fd}") == "/tmp/gone (deleted)"
    assert libc.lseek(fd, 0, 0) == 0
    assert libc.read_bytes(fd) == b"still here"
    used = libc.vfs.mounts.root.mnt.mnt_sb.used_blocks
    libc.close(fd)
    assert libc.vfs.mounts.root.mnt.mnt_sb.used_blocks == used - 1
