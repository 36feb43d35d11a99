"""Descriptor tables, fcntl, positions, vectors, locks: one task, or two that share."""

import pytest

from arch.abi.errno import (  # fmt: skip
    EAGAIN,
    EBADF,
    EDEADLK,
    EFBIG,
    EINVAL,
    EISDIR,
    EMFILE,
    ENOSPC,
    ENOTDIR,
    ENOTTY,
    ENXIO,
    EPERM,
    ESPIPE,
    ETXTBSY,
)
from arch.abi.fcntl import (  # fmt: skip
    F_DUPFD,
    F_DUPFD_CLOEXEC,
    F_GETFD,
    F_GETFL,
    F_GETLK,
    F_RDLCK,
    F_SETFD,
    F_SETFL,
    F_SETLK,
    F_SETLKW,
    F_UNLCK,
    F_WRLCK,
    O_APPEND,
    O_CLOEXEC,
    O_CREAT,
    O_NONBLOCK,
    O_PATH,
    O_RDONLY,
    O_RDWR,
    O_WRONLY,
    SEEK_DATA,
    SEEK_END,
    SEEK_HOLE,
)
from simkernel.kernel.testing import Blocked


@pytest.fixture
def fd(libc):
    libc.put("/tmp/f", b"0123456789")
    return libc.openat("/tmp/f", O_RDWR)


def test_lowest_number_first(libc):
    fds = [libc.openat("/dev/null") for _ in range(5)]
    assert fds == [0, 1, 2, 3, 4]
    libc.close(1)
    libc.close(3)
    assert [libc.openat("/dev/null") for _ in range(3)] == [1, 3, 5]
    assert libc.fcntl(0, F_DUPFD, 4) == 6
    assert libc.dup2(0, 9) == 9
    assert libc.dup(0) == 7
    assert libc.close(42) == -EBADF


def test_limits(libc):
    libc.k.current.signal.rlimits = {7: (4, 4)}
    for _ in range(4):
        libc.openat("/dev/null")
    assert libc.openat("/dev/null") == -EMFILE
    assert libc.dup2(0, 4) == -EBADF
    assert libc.fcntl(0, F_DUPFD, 4) == -EINVAL
    assert libc.pipe2(0x50000, 0) == -EMFILE


def test_dup_shares_the_position_and_not_the_flag(libc, fd):
    other = libc.fcntl(fd, F_DUPFD_CLOEXEC, 0)
    assert libc.read_bytes(fd, 3) == b"012"
    assert libc.read_bytes(other, 3) == b"345"
    assert (libc.fcntl(fd, F_GETFD, 0), libc.fcntl(other, F_GETFD, 0)) == (0, 1)
    libc.fcntl(fd, F_SETFD, 1)
    assert libc.fcntl(fd, F_GETFD, 0) == 1
    assert libc.dup3(fd, fd, 0) == -EINVAL
    assert libc.dup2(fd, fd) == fd
    assert libc.dup3(fd, 20, O_CLOEXEC) == 20


def test_setfl_changes_only_some_flags(libc, fd):
    assert libc.fcntl(fd, F_GETFL, 0) & 0o3777 == O_RDWR
    assert libc.fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK | O_WRONLY) == 0
    assert libc.fcntl(fd, F_GETFL, 0) & 0o7777 == O_RDWR | O_APPEND | O_NONBLOCK
    libc.write_bytes(fd, b"end")
    assert libc.get("/tmp/f") == b"0123456789end"


def test_close_on_exec_and_close_range(libc):
    a, b, c = libc.openat("/dev/null", O_CLOEXEC), libc.openat("/dev/null"), libc.openat("/dev/null", O_CLOEXEC)
    libc.body("do_close_on_exec", libc.k.current.files.addr)
    assert sorted(libc.k.current.files.fds) == [b]
    for _ in range(5):
        libc.openat("/dev/null")
    assert libc.close_range(2, 3, 0) == 0
    assert sorted(libc.k.current.files.fds) == [0, 1, 4, 5]
    assert libc.close_range(5, 4, 0) == -EINVAL
    assert {a, c} == {0, 2}


def test_path_descriptors(libc):
    fd = libc.openat("/etc/passwd", O_PATH)
    assert libc.read_bytes(fd) == -EBADF
    assert libc.fstat(fd)["st_size"] > 0
    assert libc.fcntl(fd, F_SETFL, 0) == -EBADF
    assert libc.fcntl(fd, F_GETFL, 0) & O_PATH
    assert libc.openat(f"/proc/self/fd/{fd}") >= 0
    assert libc.ioctl(fd, 0x5401, 0x50000) == -EBADF


def test_positions(libc, fd):
    assert libc.lseek(fd, -3, SEEK_END) == 7
    assert libc.read_bytes(fd) == b"789"
    assert libc.lseek(fd, -1, 0) == -EINVAL
    assert libc.lseek(fd, 0, 7) == -EINVAL
    assert libc.pread64(fd, 0x40000, 4, 2) == 4
    assert libc.k.usercopy.user.read(0x40000, 4) == b"2345"
    assert libc.lseek(fd, 0, 1) == 10
    assert libc.pread64(fd, 0x40000, 4, -1) == -EINVAL
    r, w = libc.pipe()
    assert libc.lseek(r, 0, 0) == -ESPIPE
    assert libc.pread64(r, 0x40000, 4, 0) == -ESPIPE
    assert libc.pwrite64(w, 0x40000, 4, 0) == -ESPIPE


def test_holes(libc):
    fd = libc.openat("/tmp/h", O_CREAT | O_RDWR)
    libc.lseek(fd, 20000, 0)
    libc.write_bytes(fd, b"x")
    assert (libc.fstat(fd)["st_size"], libc.fstat(fd)["st_blocks"]) == (20001, 8)
    assert libc.lseek(fd, 0, SEEK_DATA) == 16384
    assert libc.lseek(fd, 16384, SEEK_HOLE) == 20001
    assert libc.lseek(fd, 30000, SEEK_DATA) == -ENXIO
    assert libc.fallocate(fd, 3, 16384, 4096) == 0
    assert libc.fstat(fd)["st_blocks"] == 0
    assert libc.fallocate(fd, 0, 0, 8192) == 0
    assert libc.fstat(fd)["st_blocks"] == 16
    assert libc.ftruncate(fd, 5) == 0
    assert libc.fstat(fd)["st_blocks"] == 8
    assert libc.ftruncate(fd, -1) == -EINVAL


def test_read_and_write_refusals(libc, fd):
    out = libc.openat("/tmp/f", O_WRONLY)
    inn = libc.openat("/tmp/f", O_RDONLY)
    assert libc.read_bytes(out) == -EBADF
    assert libc.write_bytes(inn, b"x") == -EBADF
    assert libc.read_bytes(libc.openat("/tmp")) == -EISDIR
    assert libc.read(fd, 0x40000, 0) == 0
    assert libc.read(fd, 0xDEAD0000, 4) == -14
    assert libc.write(fd, 0xDEAD0000, 4) == -14
    assert libc.write_bytes(libc.openat("/dev/full", O_WRONLY), b"x") == -ENOSPC
    assert libc.getdents64(fd, 0x50000, 100) == -ENOTDIR
    assert libc.getdents64(libc.openat("/"), 0x50000, 10) == -EINVAL
    assert libc.ioctl(fd, 0x5401, 0x50000) == -ENOTTY
    libc.vfs.files[libc.k.current.files.fds[fd].addr].f_inode.i_writecount = -1
    assert libc.openat("/tmp/f", O_WRONLY) == -ETXTBSY


def test_file_size_limit(libc, fd):
    libc.k.current.signal.rlimits = {1: (12, 12)}
    libc.lseek(fd, 8, 0)
    assert libc.write_bytes(fd, b"abcdefgh") == 4
    assert libc.write_bytes(fd, b"z") == -EFBIG
    assert libc.k.current.signals == [25]


def test_vectors(libc, fd):
    user = libc.k.usercopy.user
    user.write(0x30000, b"AABBBCCCC")
    word = (0x30000, 2, 0x30002, 3, 0x30005, 4)
    user.write(0x31000, b"".join(v.to_bytes(8, "little") for v in word))
    assert libc.writev(fd, 0x31000, 3) == 9
    assert libc.get("/tmp/f") == b"AABBBCCCC9"
    assert libc.preadv(fd, 0x31000, 2, 1, 0) == 5
    assert user.read(0x30000, 5) == b"ABBBC"
    assert libc.readv(fd, 0x31000, 1025) == -EINVAL
    assert libc.writev(fd, 0x31000, 0) == 0
    null = libc.openat("/dev/null", O_WRONLY)
    assert libc.writev(null, 0x31000, 3) == 9


def test_copies_inside_the_kernel(libc, fd):
    out = libc.openat("/tmp/out", O_CREAT | O_RDWR)
    assert libc.sendfile(out, fd, 0, 4) == 4
    assert libc.copy_file_range(fd, 0, out, 0, 100, 0) == 6
    assert libc.get("/tmp/out") == b"0123456789"
    r, w = libc.pipe()
    libc.k.usercopy.put_user(0x50000, 8, 2)
    assert libc.splice(fd, 0x50000, w, 0, 5, 0) == 5
    assert libc.k.usercopy.get_user(0x50000, 8) == 7
    assert libc.read_bytes(r) == b"23456"
    assert libc.splice(fd, 0, out, 0, 5, 0) == -EINVAL
    version = libc.openat("/proc/version")
    assert libc.sendfile(out, version, 0, 5) == 5
    assert libc.get("/tmp/out").endswith(b"Linux")


def test_memfd_and_seals(libc):
    fd = libc.memfd_create("name", 2)
    assert libc.readlink(f"/proc/self/fd/{fd}") == "/memfd:name (deleted)"
    libc.write_bytes(fd, b"data")
    assert libc.fcntl(fd, 1033, 8 | 4) == 0  # F_SEAL_WRITE | F_SEAL_GROW
    assert libc.write_bytes(fd, b"more") == -EPERM
    assert libc.ftruncate(fd, 100) == -EPERM
    assert libc.ftruncate(fd, 1) == 0
    assert libc.fcntl(fd, 1034, 0) == 12


def flock_struct(libc, kind, start=0, length=0):
    order = "little"
    raw = kind.to_bytes(2, order) + bytes(6) + start.to_bytes(8, order) + length.to_bytes(8, order) + bytes(8)
    libc.k.usercopy.user.write(0x50000, raw)
    return 0x50000


def test_record_locks_of_two_tasks(libc, fd):
    k = libc.k
    first = k.current
    assert libc.fcntl(fd, F_SETLK, flock_struct(libc, F_WRLCK, 2, 3)) == 0
    k.current = libc.new_task(50)
    assert libc.fcntl(fd, F_SETLK, flock_struct(libc, F_WRLCK, 4, 1)) == -EAGAIN
    assert libc.fcntl(fd, F_GETLK, flock_struct(libc, F_WRLCK, 0, 0)) == 0
    assert (k.usercopy.get_user(0x50000, 2), k.usercopy.get_user(0x50008, 8), k.usercopy.get_user(0x50010, 8)) == (
        F_WRLCK,
        2,
        3,
    )
    assert k.usercopy.get_user(0x50018, 4) == first.tgid
    assert libc.fcntl(fd, F_SETLK, flock_struct(libc, F_WRLCK, 5, 1)) == 0
    k.current = first
    assert libc.fcntl(fd, F_SETLK, flock_struct(libc, F_UNLCK, 3, 1)) == 0  # splits the lock
    k.current = k.tasks.by_pid[50]
    assert libc.fcntl(fd, F_SETLK, flock_struct(libc, F_WRLCK, 3, 1)) == 0
    assert libc.fcntl(fd, F_SETLK, flock_struct(libc, F_WRLCK, 4, 1)) == -EAGAIN
    k.current = first
    libc.close(fd)  # any close drops the owner's locks
    k.current = k.tasks.by_pid[50]
    assert libc.fcntl(fd, F_SETLK, flock_struct(libc, F_WRLCK, 4, 1)) == 0


def locked_by(libc, fd, kind=F_WRLCK):
    """F_GETLK over the whole file: (kind, start, length, pid)."""
    at = flock_struct(libc, kind)
    assert libc.fcntl(fd, F_GETLK, at) == 0
    get = libc.k.usercopy.get_user
    return get(at, 2), get(at + 8, 8), get(at + 16, 8), get(at + 24, 4)


def test_record_locks_are_sorted_and_merged(libc, fd):
    k = libc.k
    first, other = k.current, libc.new_task(50)

    def lock(kind, start, length):
        assert libc.fcntl(fd, F_SETLK, flock_struct(libc, kind, start, length)) == 0

    lock(F_RDLCK, 20, 10)
    lock(F_RDLCK, 0, 10)
    lock(F_RDLCK, 5, 2)
    k.current = other
    assert locked_by(libc, fd) == (F_RDLCK, 0, 10, first.tgid)
    k.current = first
    lock(F_RDLCK, 10, 10)  # fills the gap: one lock
    k.current = other
    assert locked_by(libc, fd) == (F_RDLCK, 0, 30, first.tgid)
    k.current = first
    lock(F_WRLCK, 10, 5)
    k.current = other
    assert locked_by(libc, fd, F_RDLCK) == (F_WRLCK, 10, 5, first.tgid)
    k.current = first
    lock(F_UNLCK, 0, 12)
    k.current = other
    assert locked_by(libc, fd) == (F_WRLCK, 12, 3, first.tgid)
    lock(F_RDLCK, 0, 4)  # another owner's lock stands behind, whatever its position
    k.current = libc.new_task(51)
    assert locked_by(libc, fd) == (F_WRLCK, 12, 3, first.tgid)


def test_record_locks_to_the_end_of_the_file_merge(libc, fd):
    k = libc.k
    assert libc.fcntl(fd, F_SETLK, flock_struct(libc, F_WRLCK, 10, 0)) == 0
    assert libc.fcntl(fd, F_SETLK, flock_struct(libc, F_WRLCK, 0, 10)) == 0
    first, k.current = k.current, libc.new_task(50)
    assert locked_by(libc, fd) == (F_WRLCK, 0, 0, first.tgid)


def test_record_locks_and_deadlock(libc, fd):
    """Each has a byte, and waits for that of the next: the last of them is told."""
    k = libc.k
    tasks = [k.current, libc.new_task(50), libc.new_task(51)]
    for at, k.current in enumerate(tasks):
        assert libc.fcntl(fd, F_SETLK, flock_struct(libc, F_WRLCK, at, 1)) == 0
    results = []

    def wait_for(number):
        k.current = tasks[number]
        results.append(libc.fcntl(fd, F_SETLKW, flock_struct(libc, F_WRLCK, (number + 1) % 3, 1)))

    def blocked():
        if len(k.vfs.blocked_locks) < 3 and not results:
            wait_for(len(k.vfs.blocked_locks))
        k.current = tasks[len(k.vfs.blocked_locks)]
        assert libc.fcntl(fd, F_SETLK, flock_struct(libc, F_UNLCK, len(k.vfs.blocked_locks), 1)) == 0
        k.current = tasks[len(k.vfs.blocked_locks) - 1]

    k.on_block = blocked
    wait_for(0)
    assert results == [-EDEADLK, 0, 0]
    assert not k.vfs.blocked_locks


def test_flock_belongs_to_the_open_file(libc, fd):
    other = libc.openat("/tmp/f")
    assert libc.flock(fd, 2) == 0
    assert libc.flock(libc.dup(fd), 2 | 4) == 0
    assert libc.flock(other, 1 | 4) == -EAGAIN
    with pytest.raises(Blocked):
        libc.flock(other, 1)
    assert libc.flock(fd, 1) == 0
    assert libc.flock(other, 1 | 4) == 0
    assert libc.flock(other, 3) == -EINVAL


def test_tables_are_copied_or_shared(libc, fd):
    k = libc.k
    copied = libc.new_task(60)
    shared = libc.new_task(61, share_files=True)
    assert shared.files is k.current.files and copied.files is not k.current.files
    libc.close(fd)
    k.current = copied
    assert libc.read_bytes(fd) == b"0123456789"
    k.current = shared
    assert libc.read_bytes(fd) == -EBADF
    assert libc.body("exit_files", copied.addr) == 0
    assert not libc.vfs.files


def test_bpf_programs_find_the_truth_in_memory(libc):
    """task->files->fdt->fd[n]->f_path.dentry->d_name.name, and up d_parent."""
    k = libc.k
    libc.mkdir("/tmp/dir", 0o755)
    name = "x" * 43
    libc.put(f"/tmp/dir/{name}", b"12345")
    fd = libc.openat(f"/tmp/dir/{name}", O_RDWR)
    libc.read_bytes(fd, 2)
    types, mem = k.types, k.mem
    task = types.view(mem, k.current.addr, "struct task_struct")
    files = types.view(mem, task.files, "struct files_struct")
    pointer = mem.read_uint(types.view(mem, files.fdt, "struct fdtable").fd + 8 * fd, 8)
    file = types.view(mem, pointer, "struct file")
    assert (file.f_pos, file.f_flags & 3) == (2, O_RDWR)
    dentry = types.view(mem, file["f_path.dentry"], "struct dentry")
    assert dentry["d_name.len"] == len(name)
    assert mem.read(dentry["d_name.name"], len(name) + 1) == name.encode() + b"\0"
    names = []
    while dentry.d_parent != dentry.addr:
        dentry = types.view(mem, dentry.d_parent, "struct dentry")
        names.append(dentry.d_iname.string())
    assert names == ["dir", "tmp", "/"]
    inode = types.view(mem, file.f_inode, "struct inode")
    assert (inode.i_mode, inode.i_size, inode.i_nlink) == (0o100644, 5, 1)
    assert inode.i_ino == libc.fstat(fd)["st_ino"]
    block = types.view(mem, inode.i_sb, "struct super_block")
    assert block.s_magic == 0x01021994
    libc.write_bytes(fd, b"678901234")
    assert inode.i_size == 11
    assert libc.rename(f"/tmp/dir/{name}", "/tmp/short") == 0
    dentry = types.view(mem, file["f_path.dentry"], "struct dentry")
    assert dentry.d_iname.string() == "short"
    fs = types.view(mem, task.fs, "struct fs_struct")
    libc.chdir("/tmp/dir")
    assert types.view(mem, fs["pwd.dentry"], "struct dentry").d_iname.string() == "dir"


def test_nothing_is_left_in_kernel_memory(libc):
    def churn():
        for i in range(20):
            libc.put(f"/tmp/t{i}", b"data")
            libc.get(f"/tmp/t{i}")
            libc.unlink(f"/tmp/t{i}")
            r, w = libc.pipe()
            libc.close(r)
            libc.close(w)
            libc.get("/proc/uptime")

    churn()
    before = libc.k.mem.live_objects
    churn()
    assert libc.k.mem.live_objects - before <= 2


SENDFILE_6_1 = (  # what sendfile(2) from these files answered on Linux 6.1
    ("/proc/version", True), ("/proc/meminfo", True), ("/proc/mounts", True), ("/proc/sys/kernel/ostype", True),
    ("/sys/kernel/fscaps", True), ("/sys/fs/cgroup/cgroup.procs", True), ("/dev/urandom", True),
    ("/proc/kallsyms", False), ("/proc/self/cmdline", False), ("/dev/zero", False), ("/dev/null", False),
    ("/dev/kmsg", False),
)  # fmt: skip


@pytest.mark.parametrize(("path", "works"), SENDFILE_6_1)
def test_sendfile_needs_splice_read(libc, path, works):
    out = libc.openat("/tmp/out", O_CREAT | O_WRONLY)
    ret = libc.sendfile(out, libc.openat(path), 0, 100)
    assert ret > 0 if works else ret == -EINVAL


def test_sendfile_does_not_read_pipes(libc):
    r, w = libc.pipe()
    libc.write_bytes(w, b"data")
    assert libc.sendfile(libc.openat("/dev/null", O_WRONLY), r, 0, 4) == -EINVAL
