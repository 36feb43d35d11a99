"""A program inside tries to change what was bound read-only, or to reach what was not bound at all.

Every attack runs against a bind whose host side is photographed before and after.
"""

import os
import random
import stat

import pytest

from arch.abi.errno import EACCES, EBUSY, EEXIST, EINVAL, EIO, ELOOP, ENOENT, EOPNOTSUPP, EPERM, EROFS, ESTALE, EXDEV
from arch.abi.fcntl import (
    AT_EMPTY_PATH,
    AT_FDCWD,
    AT_SYMLINK_FOLLOW,
    O_APPEND,
    O_CREAT,
    O_DIRECTORY,
    O_EXCL,
    O_PATH,
    O_RDONLY,
    O_RDWR,
    O_TMPFILE_BIT,
    O_TRUNC,
    O_WRONLY,
)
from arch.abi.mount import MS_BIND, MS_MOVE, MS_NOSUID, MS_RDONLY, MS_REMOUNT
from simkernel.fs.hostfs import bind


def photograph(root):
    """Everything about a tree of the host that a program could have changed."""
    seen = {}
    for place, directories, files in os.walk(root):
        for name in [".", *directories, *files]:
            path = os.path.join(place, name)
            status = os.lstat(path)
            facts = (status.st_mode, status.st_uid, status.st_gid, status.st_nlink, status.st_mtime_ns, status.st_ino)
            content = os.readlink(path) if stat.S_ISLNK(status.st_mode) else None
            if stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            seen[os.path.normpath(path)] = facts, content
    return seen


@pytest.fixture
def given(libc, tmp_path):
    """A kernel with a read-only bind at /host, of a directory beside which lies a secret."""
    inside = tmp_path / "inside"
    (inside / "sub" / "deep").mkdir(parents=True)
    (inside / "a").write_bytes(b"original" * 1000)
    (inside / "sub" / "c").write_text("sea")
    (inside / "run").write_text("#!")
    (inside / "run").chmod(0o755)
    os.symlink("a", inside / "link")
    (tmp_path / "secret").write_text("secret")
    bind(libc.vfs, str(inside), "/host", False)
    bind(libc.vfs, str(inside / "a"), "/etc/one", False)
    libc.mkdir("/own", 0o755)
    libc.put("/own/file", b"of the guest")
    return libc, inside


def mount(libc, source, target, flags, data=""):
    return libc.call("mount", source, target, "none", flags, data)


REMOUNTS = {
    "nothing": lambda libc: None,
    "rw": lambda libc: mount(libc, "host", "/host", MS_REMOUNT),
    "rw, nosuid": lambda libc: mount(libc, "host", "/host", MS_REMOUNT | MS_NOSUID),
    "ro, then rw": lambda libc: (
        mount(libc, "host", "/host", MS_REMOUNT | MS_RDONLY),
        mount(libc, "host", "/host", MS_REMOUNT),
    ),
    "bind,rw": lambda libc: mount(libc, "host", "/host", MS_REMOUNT | MS_BIND),
    "both": lambda libc: (
        mount(libc, "host", "/host", MS_REMOUNT | MS_BIND),
        mount(libc, "host", "/host", MS_REMOUNT),
    ),
    "of a file": lambda libc: (
        mount(libc, "host", "/etc/one", MS_REMOUNT),
        mount(libc, "host", "/etc/one", MS_REMOUNT | MS_BIND),
    ),
    "data says rw": lambda libc: mount(libc, "host", "/host", MS_REMOUNT, "rw"),
    "magic": lambda libc: mount(libc, "host", "/host", MS_REMOUNT | 0xC0ED0000),
}


def ways_in(libc):
    """Other places where the bound tree can be seen: binds of it, of a part, moved mounts, a mount above and below."""
    libc.mkdir("/b1", 0o755), libc.mkdir("/b2", 0o755), libc.mkdir("/b3", 0o755), libc.mkdir("/b4", 0o755)
    mount(libc, "/host", "/b1", MS_BIND)
    mount(libc, "/host/sub", "/b2", MS_BIND)
    mount(libc, "/host", "/b3", MS_BIND)
    mount(libc, "/b3", "/b4", MS_MOVE)
    for place in ("/b1", "/b2", "/b4"):
        mount(libc, "host", place, MS_REMOUNT | MS_BIND)
        mount(libc, "host", place, MS_REMOUNT)
    return ("/host", "/b1", "/b4", "/proc/self/root/host", "/proc/1/root/b1")


def attempts(libc, place):
    """Every call that changes a file system, on one view of the tree: (what, result)."""
    p = place
    for how in (O_WRONLY, O_RDWR, O_WRONLY | O_TRUNC, O_RDWR | O_APPEND, O_RDONLY | O_TRUNC, O_WRONLY | O_CREAT):
        yield f"open {how:o}", libc.openat(f"{p}/a", how)
        yield f"open {how:o} by link", libc.openat(f"{p}/link", how)
    yield "create", libc.openat(f"{p}/new", O_CREAT | O_WRONLY)
    yield "create ro", libc.openat(f"{p}/new", O_CREAT | O_RDONLY)
    yield "create excl", libc.openat(f"{p}/new", O_CREAT | O_EXCL | O_RDWR)
    yield "tmpfile", libc.openat(f"{p}/sub", O_TMPFILE_BIT | O_DIRECTORY | O_RDWR)
    yield "mkdir", libc.mkdir(f"{p}/d", 0o755)
    yield "mknod file", libc.mknod(f"{p}/n", 0o100644, 0)
    yield "mknod fifo", libc.mknod(f"{p}/n", 0o010644, 0)
    yield "mknod socket", libc.mknod(f"{p}/n", 0o140644, 0)
    yield "mknod device", libc.mknod(f"{p}/n", 0o020644, 0x103)
    yield "symlink", libc.symlink("x", f"{p}/s")
    yield "link inside", libc.call("link", f"{p}/a", f"{p}/a2")
    yield "link in", libc.call("link", "/own/file", f"{p}/f")
    yield "link out", libc.call("link", f"{p}/a", "/own/a")
    yield "rename", libc.rename(f"{p}/a", f"{p}/z")
    yield "rename over", libc.rename(f"{p}/run", f"{p}/a")
    yield "rename dir", libc.rename(f"{p}/sub", f"{p}/sub2")
    yield "rename out", libc.rename(f"{p}/a", "/own/z")
    yield "rename in", libc.rename("/own/file", f"{p}/a")
    yield "exchange", libc.call("renameat2", AT_FDCWD, f"{p}/a", AT_FDCWD, f"{p}/run", 2)
    yield "unlink", libc.unlink(f"{p}/a")
    yield "unlink link", libc.unlink(f"{p}/link")
    yield "rmdir", libc.rmdir(f"{p}/sub/deep")
    yield "chmod", libc.chmod(f"{p}/a", 0o777)
    yield "chown", libc.chown(f"{p}/a", 1, 1)
    yield "lchown", libc.lchown(f"{p}/link", 1, 1)
    yield "utimensat", libc.utimensat(AT_FDCWD, f"{p}/a", 0, 0)
    yield "truncate", libc.truncate(f"{p}/a", 1)
    yield "truncate more", libc.truncate(f"{p}/a", 1 << 20)
    yield "setxattr", libc.setxattr(f"{p}/a", "user.x", "v", 1, 0)
    yield "lsetxattr", libc.lsetxattr(f"{p}/link", "trusted.x", "v", 1, 0)
    yield "removexattr", libc.removexattr(f"{p}/a", "user.x")
    yield "access w", libc.access(f"{p}/a", 2)
    fd = libc.openat(f"{p}/a", O_RDONLY)
    yield "write", libc.write_bytes(fd, b"changed")
    yield "pwrite", libc.call("pwrite64", fd, 0x40000, 7, 0)
    yield "ftruncate", libc.ftruncate(fd, 0)
    yield "fchmod", libc.fchmod(fd, 0o777)
    yield "fchown", libc.fchown(fd, 1, 1)
    yield "futimens", libc.utimensat(fd, 0, 0, 0)
    yield "fsetxattr", libc.fsetxattr(fd, "user.x", "v", 1, 0)
    yield "fallocate", libc.fallocate(fd, 0, 0, 1 << 20)
    yield "punch", libc.fallocate(fd, 3, 0, 4096)
    yield "reopen", libc.openat(f"/proc/self/fd/{fd}", O_RDWR)
    yield "reopen trunc", libc.openat(f"/proc/self/fd/{fd}", O_WRONLY | O_TRUNC)
    yield "fcntl append", min(libc.fcntl(fd, 4, O_APPEND | O_RDWR), -1 if libc.write_bytes(fd, b"x") < 0 else 0)
    own = libc.openat("/own/file", O_RDWR)
    yield "sendfile", libc.sendfile(fd, own, 0, 5)
    yield "copy_file_range", libc.call("copy_file_range", own, 0, fd, 0, 5, 0)
    held = libc.openat(f"{p}/a", O_PATH)
    yield "O_PATH reopen", libc.openat(f"/proc/self/fd/{held}", O_RDWR)
    yield "O_PATH chmod", libc.chmod(f"/proc/self/fd/{held}", 0o777)
    yield "O_PATH truncate", libc.truncate(f"/proc/self/fd/{held}", 0)
    yield "O_PATH link", libc.linkat(held, "", AT_FDCWD, f"{p}/a2", AT_EMPTY_PATH)
    yield "O_PATH link by /proc", libc.linkat(AT_FDCWD, f"/proc/self/fd/{held}", AT_FDCWD, f"{p}/a2", AT_SYMLINK_FOLLOW)
    directory = libc.openat(f"{p}/sub", O_PATH | O_DIRECTORY)
    yield "at a directory", libc.openat("new", O_CREAT | O_WRONLY, dfd=directory)
    yield "unlinkat", libc.unlinkat(directory, "c", 0)
    for number in (fd, own, held, directory):
        libc.close(number)


@pytest.mark.parametrize("remount", REMOUNTS)
def test_nothing_changes_a_read_only_bind(given, remount):
    libc, inside = given
    before = photograph(inside)
    REMOUNTS[remount](libc)
    for place in ways_in(libc):
        for what, result in attempts(libc, place):
            assert result < 0, (place, what)
    assert photograph(inside) == before
    assert libc.get("/host/a") == b"original" * 1000
    assert libc.get("/own/file") == b"of the guest"


@pytest.mark.parametrize("remount", ["nothing", "rw", "bind,rw"])
def test_refusals_are_those_of_a_read_only_file_system(given, remount):
    libc, _ = given
    REMOUNTS[remount](libc)
    results = dict(attempts(libc, "/host"))
    of_descriptors = (
        "write",
        "pwrite",
        "ftruncate",
        "fallocate",
        "punch",
        "fcntl append",
        "sendfile",
        "copy_file_range",
    )
    others = {"link out": EXDEV, "rename out": EXDEV, "rename in": EXDEV}
    for what, result in results.items():
        if what not in of_descriptors:
            assert result == -others.get(what, EROFS), what
    status = libc.call("statfs", "/host", 0x60000)
    assert status == 0


def test_remount_read_write_is_refused(given):
    """As Linux 6.1 says of an overlay without an upper layer; remount,bind changes the mount's own flag only."""
    libc, _ = given
    assert mount(libc, "host", "/host", MS_REMOUNT) == -EROFS
    assert mount(libc, "host", "/host", MS_REMOUNT | MS_RDONLY) == 0
    assert mount(libc, "host", "/host", MS_REMOUNT | MS_BIND) == 0
    assert mount(libc, "host", "/host", MS_REMOUNT) == -EROFS
    line = next(line for line in libc.get("/proc/self/mountinfo").decode().splitlines() if " /host " in line)
    assert line.split(" - ")[0].endswith("rw,relatime") and line.endswith("9p host ro,access=any,trans=virtio")
    assert " /host 9p ro," in libc.get("/proc/mounts").decode()


def test_a_writable_bind_can_be_made_read_only_and_writable_again(libc, tmp_path):
    (tmp_path / "f").write_text("1")
    bind(libc.vfs, str(tmp_path), "/rw", True)
    assert mount(libc, "host", "/rw", MS_REMOUNT | MS_RDONLY) == 0
    assert libc.openat("/rw/f", O_WRONLY) == -EROFS
    assert mount(libc, "host", "/rw", MS_REMOUNT) == 0
    libc.put("/rw/f", b"22")
    assert (tmp_path / "f").read_text() == "22"


def test_the_flag_of_the_super_block_decides_nothing(given):
    """Even a kernel that forgot everything about mounts cannot write: the check stands where the host is touched."""
    libc, inside = given
    before = photograph(inside)
    path = libc.vfs.resolve("/host")
    path.mnt.mnt_flags = path.mnt.mnt_sb.s_flags = 0
    root = path.dentry
    child = libc.vfs.resolve("/host/a").dentry
    sub = libc.vfs.resolve("/host/sub").dentry
    cred = libc.vfs.cred()
    for forbidden in (
        lambda: root.inode.create(root, "n", 0o644, cred),
        lambda: root.inode.mkdir(root, "n", 0o755, cred),
        lambda: root.inode.symlink(root, "n", "t", cred),
        lambda: root.inode.unlink(root, child),
        lambda: root.inode.rmdir(root, sub),
        lambda: root.inode.rename(root, child, root, "n", 0),
        lambda: child.inode.setattr_size(0),
        lambda: child.inode.attr_changed(),
        lambda: child.inode.i_mapping.write(0, b"changed"),
    ):
        with pytest.raises(Exception) as refused:
            forbidden()
        assert getattr(refused.value, "errno", 0) == EROFS
    assert photograph(inside) == before


def test_mounts_over_under_and_pivot(given):
    libc, inside = given
    before = photograph(inside)
    assert libc.call("mount", "t", "/host/sub", "tmpfs", 0, 0) == 0  # over: what is written is the tmpfs's
    libc.put("/host/sub/mine", b"1")
    mount(libc, "t", "/host/sub", MS_REMOUNT)
    assert libc.openat("/host/new", O_CREAT | O_WRONLY) == -EROFS
    assert libc.call("umount2", "/host/sub", 2) == 0
    assert libc.call("pivot_root", "/host", "/host/sub") < 0
    mount(libc, "host", "/host", MS_REMOUNT)
    assert libc.chroot("/host") == 0
    mount(libc, "host", "/", MS_REMOUNT)
    assert libc.openat("/a", O_WRONLY) == -EROFS
    assert libc.openat("/../../../secret") == -ENOENT
    assert photograph(inside) == before


def test_another_mount_of_it_cannot_be_asked_for(given):
    libc, inside = given
    libc.mkdir("/x", 0o755)
    for name in ("9p", "host", "virtiofs", str(inside)):
        assert libc.call("mount", "host", "/x", name, 0, 0) < 0
        assert libc.call("mount", str(inside), "/x", name, 0, "trans=virtio") < 0


def test_shared_mappings_do_not_write(given):
    libc, inside = given
    bind(libc.vfs, str(inside), "/rw", True)
    before = photograph(inside)

    class Area:
        shared, prot = True, 3

    for name, how in (("/host/a", O_RDONLY), ("/rw/a", O_RDWR)):
        file = libc.vfs.fget(libc.openat(name, how))
        if how == O_RDWR:  # generic_file_readonly_mmap(): it could become writable by mprotect
            for Area.prot in (1, 3):
                with pytest.raises(Exception) as refused:
                    file.f_op.mmap(libc.k, file, Area)
                assert refused.value.errno == EINVAL
        page = file.f_inode.get_page(0)
        libc.vfs.pool.write(page, b"stray")  # a poke into the page cache stays there
        libc.fsync(3)
        libc.call("sync")
        file.f_inode.evict()
    assert photograph(inside) == before


def test_a_descriptor_for_writing_ends_with_its_bind(given):
    """Open for writing when the guest makes its own bind read-only: EBUSY; never a way into the read-only one."""
    libc, inside = given
    bind(libc.vfs, str(inside), "/rw", True)
    fd = libc.openat("/rw/a", O_RDWR)
    assert mount(libc, "host", "/rw", MS_REMOUNT | MS_RDONLY) == -EBUSY
    assert libc.openat(f"/proc/self/fd/{fd}", O_RDWR) >= 0
    assert libc.write_bytes(fd, b"ORIGINAL") == 8
    assert (inside / "a").read_bytes()[:9] == b"ORIGINALo"


# --- what the host does meanwhile ---


def test_files_replaced_by_links_to_outside(given):
    libc, inside = given
    bind(libc.vfs, str(inside), "/rw", True)
    secret = inside.parent / "secret"
    reading, writing = libc.openat("/host/sub/c"), libc.openat("/rw/sub/c", O_RDWR)
    assert libc.vfs.resolve("/host/sub/c") and libc.vfs.resolve("/rw/a")
    (inside / "sub" / "c").unlink()
    os.symlink(secret, inside / "sub" / "c")
    assert libc.read_bytes(reading) in (-EIO, -ELOOP, -ESTALE)
    assert libc.write_bytes(writing, b"attack") in (-EIO, -ELOOP, -ESTALE)
    assert libc.ftruncate(writing, 0) in (-EIO, -ELOOP, -ESTALE)
    assert libc.fchmod(writing, 0o777) in (-EIO, -ELOOP, -ESTALE)
    assert libc.openat("/rw/sub/c", O_WRONLY | O_TRUNC) == -ENOENT
    assert libc.truncate("/rw/sub/c", 0) == -ENOENT
    assert secret.read_text() == "secret" and stat.S_IMODE(secret.stat().st_mode) != 0o777


def test_directories_replaced_by_links_to_outside(given):
    libc, inside = given
    bind(libc.vfs, str(inside), "/rw", True)
    outside = inside.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "c").write_text("outside")
    before = photograph(outside)
    directory, file = libc.openat("/rw/sub", O_DIRECTORY), libc.openat("/rw/sub/c", O_RDWR)
    os.rename(inside / "sub", inside / "was")
    os.symlink(outside, inside / "sub")
    assert libc.openat("c", O_RDWR, dfd=directory) < 0
    assert libc.openat("new", O_RDWR | O_CREAT, dfd=directory) < 0
    assert libc.unlinkat(directory, "c", 0) < 0
    assert libc.mkdirat(directory, "d", 0o755) < 0
    assert libc.symlinkat("x", directory, "s") < 0
    assert libc.renameat(directory, "c", AT_FDCWD, "/rw/stolen") < 0
    assert libc.renameat(AT_FDCWD, "/rw/a", directory, "dropped") < 0
    assert libc.write_bytes(file, b"attack") < 0
    assert libc.read_bytes(file) != b"outside"
    assert libc.call("getdents64", directory, 0x50000, 4096) < 0
    assert photograph(outside) == before


def test_the_bound_directory_itself_is_replaced(given, tmp_path):
    """The bind is of the directory that had the name, not of the name."""
    libc, inside = given
    bind(libc.vfs, str(inside), "/rw", True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("outside")
    before = photograph(outside)
    os.rename(inside, tmp_path / "moved")
    os.symlink(outside, inside)
    assert libc.get("/host/a") == b"original" * 1000
    libc.put("/rw/new", b"1")
    assert (tmp_path / "moved" / "new").read_bytes() == b"1"
    os.unlink(inside)
    os.rename(outside, inside)
    assert libc.get("/rw/new") == b"1" and libc.openat("/rw/link") >= 0
    assert photograph(inside) == {k.replace(str(outside), str(inside)): v for k, v in before.items()}


def test_a_directory_above_is_replaced(libc, tmp_path):
    (tmp_path / "up" / "bound").mkdir(parents=True)
    (tmp_path / "other" / "bound").mkdir(parents=True)
    (tmp_path / "up" / "bound" / "f").write_text("given")
    (tmp_path / "other" / "bound" / "f").write_text("not given")
    bind(libc.vfs, str(tmp_path / "up" / "bound"), "/host", True)
    os.rename(tmp_path / "up", tmp_path / "gone")
    os.symlink(tmp_path / "other", tmp_path / "up")
    assert libc.get("/host/f") == b"given"
    libc.put("/host/f", b"new")
    assert (tmp_path / "other" / "bound" / "f").read_text() == "not given"


def test_a_bound_file_is_replaced_by_a_link(libc, tmp_path):
    (tmp_path / "data").write_text("given")
    (tmp_path / "secret").write_text("secret")
    bind(libc.vfs, str(tmp_path / "data"), "/etc/data", True)
    fd = libc.openat("/etc/data", O_RDWR)
    os.unlink(tmp_path / "data")
    os.symlink("secret", tmp_path / "data")
    assert libc.write_bytes(fd, b"attack") < 0 and libc.read_bytes(fd) != b"secret"
    assert (tmp_path / "secret").read_text() == "secret"


@pytest.mark.parametrize("late", [False, True])
def test_special_files_are_never_opened(given, late):
    """Opening a fifo would wake whoever waits at its other end, opening a device may do anything."""
    libc, inside = given
    bind(libc.vfs, str(inside), "/rw", True)
    fds = [libc.openat("/host/a"), libc.openat("/rw/a", O_RDWR)] if late else []
    (inside / "a").unlink()
    os.mkfifo(inside / "a")
    reader = os.open(inside / "a", os.O_RDONLY | os.O_NONBLOCK)  # now a writer's open would succeed
    try:
        for place in ("/host/a", "/rw/a"):
            for how in (O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_TRUNC):
                assert libc.openat(place, how) in (-ENOENT, -EROFS)
            assert libc.truncate(place, 0) == -ENOENT
        assert libc.openat("/rw/a", O_CREAT | O_WRONLY) == -EEXIST
        assert libc.rename("/rw/run", "/rw/a") == -EBUSY  # the host's fifo is not the guest's to replace
        for fd in fds:
            assert libc.read_bytes(fd) in (-ESTALE, -EIO)
            assert libc.write_bytes(fd, b"into the fifo") < 0
        assert os.read(reader, 100) == b""
    finally:
        os.close(reader)
    assert stat.S_ISFIFO((inside / "a").lstat().st_mode)


def test_truncated_and_removed_meanwhile(given):
    libc, inside = given
    fd = libc.openat("/host/a")
    held = libc.openat("/host/sub/c")
    os.truncate(inside / "a", 10)
    data = libc.read_bytes(fd, 100)
    assert data == b"originalor" + bytes(90)  # the size is that of the first look, what is gone reads as zeros
    os.unlink(inside / "sub" / "c")
    assert libc.read_bytes(held) == -EIO
    assert libc.openat("/host/sub/c") == -ENOENT


def test_links_lead_nowhere_else(given):
    """Links made inside, also through a writable bind, are text: they are followed in the guest's tree."""
    libc, inside = given
    bind(libc.vfs, str(inside), "/rw", True)
    secret = inside.parent / "secret"
    for n, target in enumerate((str(secret), "../secret", "sub/../../secret", "/proc/self/root" + str(secret))):
        assert libc.symlink(target, f"/rw/l{n}") == 0
        for how in (O_RDONLY, O_WRONLY, O_RDWR | O_TRUNC):
            assert libc.openat(f"/rw/l{n}", how) == -ENOENT
        assert libc.call("link", f"/rw/l{n}", "/rw/hard") == -EPERM
    fd = libc.openat("/rw/l1", O_CREAT | O_WRONLY)  # makes a file, beside /rw in the guest
    assert libc.write_bytes(fd, b"guest") == 5 and libc.get("/secret") == b"guest"
    assert libc.symlink(str(inside.parent), "/rw/out") == 0
    assert libc.openat("/rw/out/secret") == -ENOENT
    assert libc.rename("/rw/a", "/rw/../a") == -EXDEV
    assert secret.read_text() == "secret" and sorted(os.listdir(inside.parent)) == ["inside", "secret"]


def test_devices_do_not_appear(given):
    """nodev is of the bind too: remount,dev changes nothing, for there are no devices in it."""
    libc, inside = given
    bind(libc.vfs, str(inside), "/rw", True)
    assert mount(libc, "host", "/rw", MS_REMOUNT) == 0
    for kind in (0o020666, 0o060666, 0o010666, 0o140666):
        assert libc.mknod("/rw/device", kind, 0x103) == -EPERM
    assert not (inside / "device").exists()


def test_two_tasks_race(given):
    """One remounts and moves, another writes: at every interleaving that a seed chooses."""
    libc, inside = given
    before = photograph(inside)
    k, first = libc.k, libc.k.current
    second = libc.new_task(77)
    libc.mkdir("/b", 0o755)
    chance = random.Random(1)
    attacks = [
        lambda: mount(libc, "host", "/host", MS_REMOUNT),
        lambda: mount(libc, "host", "/host", MS_REMOUNT | MS_BIND),
        lambda: mount(libc, "/host", "/b", MS_BIND),
        lambda: mount(libc, "host", "/b", MS_REMOUNT | MS_BIND),
        lambda: libc.call("umount2", "/b", 2),
        lambda: libc.openat("/host/a", O_RDWR),
        lambda: libc.openat("/b/a", O_WRONLY | O_TRUNC),
        lambda: libc.openat("/b/fresh", O_WRONLY | O_CREAT),
        lambda: libc.rename("/b/a", "/b/z"),
        lambda: libc.unlink("/host/link"),
        lambda: libc.chmod("/b/a", 0o700),
        lambda: libc.truncate("/host/a", 3),
    ]
    for _ in range(600):
        k.current = chance.choice((first, second))
        chance.choice(attacks)()
    assert photograph(inside) == before


def test_random_host_changes_under_random_calls(given):
    """The host swaps files, directories, links and fifos while the guest works: answers are errors or data of inside."""
    libc, inside = given
    bind(libc.vfs, str(inside), "/rw", True)
    outside = inside.parent / "outside"
    outside.mkdir()
    for name in ("a", "c", "deep"):
        (outside / name).write_text("outside")
    before = photograph(outside)
    chance = random.Random(7)

    def host_step():
        path = inside / chance.choice(("a", "sub", "sub/c", "sub/deep", "link", "new"))
        kind = chance.choice(("file", "file", "directory", "directory", "link", "fifo", "gone"))
        if path.parent.is_symlink():
            return  # it would be the host that writes outside
        try:
            if path.is_dir() and not path.is_symlink():
                os.rename(path, inside.parent / f"trash{chance.random()}")
            else:
                path.unlink(missing_ok=True)
            if kind == "file":
                path.write_text("inside")
            elif kind == "directory":
                path.mkdir()
            elif kind == "link":
                os.symlink(chance.choice((outside, outside / "a")), path)
            elif kind == "fifo":
                os.mkfifo(path)
        except OSError:
            pass

    fds = []
    for _ in range(1500):
        if chance.random() < 0.3:
            host_step()
        name = chance.choice(("/rw", "/host")) + "/" + chance.choice(("a", "sub", "sub/c", "sub/deep/x", "link", "new"))
        other = "/rw/" + chance.choice(("a", "sub/c", "new", "sub/deep"))
        fd = chance.choice(fds) if fds else 99
        call, *args = chance.choice((
            (libc.openat, name, chance.choice((O_RDONLY, O_RDWR, O_RDWR | O_CREAT, O_DIRECTORY))),
            (libc.unlink, name), (libc.rmdir, name), (libc.mkdir, name, 0o755), (libc.rename, name, other),
            (libc.truncate, name, 5), (libc.chmod, name, 0o755), (libc.write_bytes, fd, b"guest"),
            (libc.read_bytes, fd), (libc.ftruncate, fd, 3), (libc.symlink, str(outside), name),
            (libc.getdents64, fd, 0x50000, 4096),
        ))  # fmt: skip
        result = call(*args)
        if isinstance(result, bytes):
            assert b"outside" not in result
        elif result > 2 and result not in fds and result in libc.k.current.files.fds:
            fds.append(result)
    assert photograph(outside) == before
    assert len(fds) > 10


def test_execution_rights_stay(given):
    libc, _ = given
    assert libc.access("/host/run", 1) == 0 and libc.access("/host/a", 1) == -EACCES


def test_xattr_of_a_writable_bind(given):
    libc, inside = given
    bind(libc.vfs, str(inside), "/rw", True)
    assert libc.setxattr("/rw/a", "user.x", "v", 1, 0) == -EOPNOTSUPP
