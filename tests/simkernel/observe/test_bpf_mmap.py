"""Maps in user memory: what may be mapped, changed and grown, and when a map can be frozen.  Answers of Linux 6.1."""

from __future__ import annotations

import simkernel
from arch.abi.errno import EACCES, EBUSY, EFAULT, EINVAL, ENOTSUPP, EPERM
from bpf import uapi
from simkernel.usertask import UserTask

R, RW, RWX, PAGE = 1, 3, 7, 4096
SHARED, PRIVATE, MAYMOVE, FIXED = 1, 2, 1, 2


class Maps:
    """A task that makes maps and maps them."""

    def __init__(self) -> None:
        self.task: UserTask = simkernel.boot().user_task()

    def bpf(self, command: int, *words: int) -> int:
        return self.task.syscall("bpf", command, b"".join(w.to_bytes(4, "little") for w in words).ljust(72, b"\0"), 72)

    def new(self, kind: int, flags: int, entries: int = 1024, key: int = 4, value: int = 8) -> int:
        fd = self.bpf(uapi.BPF_MAP_CREATE, kind, key, value, entries, flags)
        assert fd >= 0
        return fd

    def freeze(self, fd: int) -> int:
        return self.bpf(uapi.BPF_MAP_FREEZE, fd)

    def mmap(self, fd: int, prot: int, size: int = PAGE, offset: int = 0, flags: int = SHARED) -> int:
        return self.task.syscall("mmap", 0, size, prot, flags, fd, offset)

    def mremap(self, at: int, new_size: int, flags: int = MAYMOVE, to: int = 0) -> int:
        return self.task.syscall("mremap", at, PAGE, new_size, flags, to)

    def mprotect(self, at: int, prot: int) -> int:
        return self.task.syscall("mprotect", at, PAGE, prot)


def test_a_map_that_programs_only_read_is_not_written_through_memory() -> None:
    m = Maps()
    fd = m.new(uapi.BPF_MAP_TYPE_ARRAY, uapi.BPF_F_MMAPABLE | uapi.BPF_F_RDONLY_PROG)
    assert m.mmap(fd, RW) == -EACCES
    at = m.mmap(fd, R, 2 * PAGE)
    assert at > 0
    assert [m.mprotect(at, prot) for prot in (RW, 5, 0)] == [-EACCES, -EACCES, 0]


def test_what_cannot_be_mapped() -> None:
    m = Maps()
    array = m.new(uapi.BPF_MAP_TYPE_ARRAY, uapi.BPF_F_MMAPABLE)
    plain, table = m.new(uapi.BPF_MAP_TYPE_ARRAY, 0), m.new(uapi.BPF_MAP_TYPE_HASH, 0)
    assert m.mmap(array, R, flags=PRIVATE) == m.mmap(plain, R) == m.mmap(plain, R, flags=PRIVATE) == -EINVAL
    assert m.mmap(table, R) == m.mmap(table, R, flags=PRIVATE) == -ENOTSUPP
    assert m.mmap(array, RWX) > 0


def test_a_map_that_memory_can_write_cannot_be_frozen() -> None:
    m = Maps()
    fd = m.new(uapi.BPF_MAP_TYPE_ARRAY, uapi.BPF_F_MMAPABLE)
    at = m.mmap(fd, RW, 2 * PAGE)
    assert m.freeze(fd) == -EBUSY
    assert m.task.syscall("munmap", at, PAGE) == 0
    assert m.freeze(fd) == -EBUSY
    assert m.mprotect(at + PAGE, R) == 0  # it may become writable again
    assert m.freeze(fd) == -EBUSY
    assert m.mremap(at + PAGE, 2 * PAGE) == -EFAULT
    assert m.mremap(at + PAGE, PAGE, MAYMOVE | FIXED, at) == at
    assert m.freeze(fd) == -EBUSY
    assert m.task.syscall("munmap", at, PAGE) == 0
    assert [m.freeze(fd), m.freeze(fd)] == [0, -EBUSY]
    assert m.mmap(fd, RW) == -EPERM
    at = m.mmap(fd, R)
    assert at > 0
    assert m.mprotect(at, RW) == -EACCES


def test_a_ring_buffers_consumer_writes_its_page_alone() -> None:
    m = Maps()
    fd = m.new(uapi.BPF_MAP_TYPE_RINGBUF, 0, 8192, 0, 0)
    at = m.mmap(fd, RW)
    assert at > 0
    assert m.mremap(at, 2 * PAGE) == -EFAULT
    assert m.mmap(fd, RW, 2 * PAGE) == m.mmap(fd, RW, PAGE, PAGE) == -EPERM
    producer = m.mmap(fd, R, 5 * PAGE, PAGE)
    assert producer > 0
    assert m.mprotect(producer, RW) == -EACCES
    assert m.mmap(fd, R, 10 * PAGE, PAGE) == -EINVAL
    assert m.freeze(fd) == -EBUSY


def test_a_ring_that_user_space_fills_is_the_other_way_round() -> None:
    m = Maps()
    fd = m.new(uapi.BPF_MAP_TYPE_USER_RINGBUF, 0, 8192, 0, 0)
    assert m.mmap(fd, RW) == -EPERM
    at = m.mmap(fd, R)
    assert at > 0
    assert m.mprotect(at, RW) == -EACCES
    assert m.mmap(fd, RW, 5 * PAGE, PAGE) > 0
