"""Any system call with any arguments gives a number: never an exception of ours."""

import random

import pytest

from simkernel.fs.testing import Libc
from simkernel.kernel import kfunc
from simkernel.kernel.testing import Blocked

CALLS = 2500
PATHS = (
    "/tmp/a", "/tmp/b", "/tmp/d", "/tmp/d/x", "/tmp/l", "/proc/self/fd/3", "/proc/self/exe", "/dev/null", "/dev/zero",
    "/sys/kernel/fscaps", "/proc/sys/vm/swappiness", "/tmp", "/", "/tmp/d/..", "", "/proc/self/maps", "/tmp/fifo",
    "/dev/tty", "/etc/mtab", "/proc/self/cwd", "/sys/fs/bpf/x", "/proc/1/mem", "/dev/kmsg", "/proc/kmsg", "x" * 300,
    "tmpfs", "proc", "/proc/mounts", "/proc/kallsyms", "/sys/kernel/tracing",
)  # fmt: skip
POINTERS = (0x40000, 0x50000, 0x52000, 0x60000, 0, 0x10FFF0)
RARE = {"chroot", "close_range", "close", "umask"}
OFTEN = ("openat", "read", "write", "getdents64", "pread64", "ioctl", "poll", "epoll_ctl")


def argument(r, param):
    name = param.name.lower()
    if r.random() < 0.06:
        return r.choice((0, -1, 1 << 31, (1 << 63) - 1, 0xDEAD0000, 5))
    if param.pointer:
        return r.choice(PATHS if any(word in name for word in ("name", "path", "type")) else POINTERS)
    if name in ("dfd", "newdfd", "olddfd"):
        return r.choice((-100, -100, -100, 3, 4, 5))
    if "fd" in name or name == "fildes":
        return r.randrange(14)
    if "flag" in name:
        return r.choice((0, 0, 0, 1, 2, 0o100, 0o102, 0o1102, 0o2002, 0o200000, 0o10000000, 0x100, 0x1000, 4, 0o4000))
    if "mode" in name:
        return r.choice((0o644, 0o755, 0o100644, 0o010644, 0o020666, 0o777))
    if name in ("cmd", "op", "whence", "which"):
        return r.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 36, 37, 1030, 1031, 1032, 1033, 1034, 0x5401, 0x541B))
    if any(word in name for word in ("size", "count", "len", "nbytes")):
        return r.choice((0, 1, 8, 24, 100, 4096, 65536, 20000, -1))
    return r.choice((0, 0, 1, 2, 3, 10, 100, 4096))


def fresh(version):
    libc = Libc(version=version)
    libc.k.current.blocked = 0
    libc.k.current.saved_blocked = None
    for path in ("/tmp/a", "/tmp/b"):
        libc.put(path, b"hello" * 100)
    libc.mkdir("/tmp/d", 0o755)
    libc.symlink("a", "/tmp/l")
    libc.mknod("/tmp/fifo", 0o10644, 0)
    return libc


@pytest.mark.parametrize("version", ["6.1", "4.1"])
def test_random_calls(version):
    r = random.Random(1)
    names = [s.name for s in kfunc.SYSCALLS if s.body.__module__.startswith("simkernel.fs")]
    libc = fresh(version)
    for index in range(CALLS):
        if index % 400 == 399:
            libc = fresh(version)
        name = r.choice(OFTEN) if r.random() < 0.15 else r.choice(names)
        call = libc.k.syscalls.declared.get(name)
        if call is None or (name in RARE and r.random() < 0.9):
            continue
        if r.random() < 0.1:
            for address in (0x40000, 0x50000, 0x52000, 0x60000):
                words = (r.choice((0, 1, 2, 8, 0x40000, 3, 100)) for _ in range(16))
                libc.k.usercopy.user.write(address, b"".join(w.to_bytes(8, "little") for w in words))
        libc.k.current.signals = []
        try:
            assert isinstance(libc.call(name, *(argument(r, p) for p in call.prototype.params)), int)
            if r.random() < 0.05:
                libc.openat(r.choice(PATHS), r.choice((0, 1, 2, 0o102, 0o200000)) | 0o4000)
        except Blocked:
            pass
