"""cgroup2 directories and the processes in them."""

from arch.abi.errno import EACCES, EBUSY, EEXIST, EINVAL, ENOTDIR, EPERM, ESRCH
from arch.abi.fcntl import O_CREAT, O_WRONLY
from simkernel.fs.testing import Libc

ROOT = "/sys/fs/cgroup"


def write(libc, path, text):
    fd = libc.openat(path, O_WRONLY)
    assert fd >= 0, fd
    ret = libc.write_bytes(fd, text.encode())
    libc.close(fd)
    return ret


def test_directories(libc):
    assert libc.mkdir(f"{ROOT}/a", 0o755) == 0
    assert libc.mkdir(f"{ROOT}/a", 0o755) == -EEXIST
    assert libc.mkdir(f"{ROOT}/a/b", 0o755) == 0
    assert libc.mkdir(f"{ROOT}/a\nb", 0o755) == -EINVAL
    assert libc.rmdir(f"{ROOT}/a") == -EBUSY
    assert libc.openat(f"{ROOT}/a/x", O_CREAT | O_WRONLY) == -EACCES
    assert libc.unlink(f"{ROOT}/a/cgroup.procs") == -EPERM
    assert libc.rmdir(f"{ROOT}/a/cgroup.procs") == -ENOTDIR
    assert libc.rename(f"{ROOT}/a", f"{ROOT}/c") == -EPERM
    assert libc.get(f"{ROOT}/cgroup.stat") == b"nr_descendants 2\nnr_dying_descendants 0\n"
    assert libc.rmdir(f"{ROOT}/a/b") == libc.rmdir(f"{ROOT}/a") == 0
    assert libc.stat(ROOT)["st_ino"] == 1


def test_processes_move_and_children_follow(libc):
    k = libc.k
    libc.mkdir(f"{ROOT}/job", 0o755)
    assert libc.get("/proc/self/cgroup") == b"0::/\n"
    assert write(libc, f"{ROOT}/job/cgroup.procs", "0\n") == 2
    assert libc.get("/proc/self/cgroup") == b"0::/job\n"
    child = libc.new_task(70)
    assert libc.get(f"{ROOT}/job/cgroup.procs") == b"1\n70\n"
    assert libc.get(f"{ROOT}/job/cgroup.events") == b"populated 1\nfrozen 0\n"
    assert libc.rmdir(f"{ROOT}/job") == -EBUSY
    assert write(libc, f"{ROOT}/cgroup.procs", "1\n") == 2
    assert libc.get(f"{ROOT}/job/cgroup.procs") == b"70\n"
    assert write(libc, f"{ROOT}/cgroup.procs", "999\n") == -ESRCH
    assert write(libc, f"{ROOT}/cgroup.procs", "x\n") == -EINVAL
    assert write(libc, f"{ROOT}/job/cgroup.kill", "1\n") == 2
    assert child.signals == [9]
    groups = libc.vfs.cgroups
    inode = libc.stat(f"{ROOT}/job")["st_ino"]
    assert (groups.id_of(child), groups.id_of(child, 0), groups.id_of(child, 1), groups.id_of(child, 2)) == (
        inode,
        1,
        inode,
        0,
    )
    task = k.types.view(k.mem, child.addr, "struct task_struct")
    group = k.types.view(k.mem, k.types.view(k.mem, task.cgroups, "struct css_set").dfl_cgrp, "struct cgroup")
    node = k.types.view(k.mem, group.kn, "struct kernfs_node")
    assert (group.level, node.id) == (1, inode)
    assert k.mem.read(node.name, 4) == b"job\0"


def test_a_group_is_killed_by_a_file_since_5_14():
    for version, there in (("5.10", False), ("6.1", True)):
        libc = Libc(version=version)
        assert libc.mkdir(f"{ROOT}/a", 0o755) == 0
        assert ("cgroup.kill" in libc.listdir(f"{ROOT}/a")) is there
