"""simfs is the disk's: what was written is there at the next mount, and the pages go with the last one."""

from __future__ import annotations

import simkernel
from simkernel.usertask import UserTask

SIZE, PIECE = 1 << 20, 1 << 16
buffers: dict[UserTask, int] = {}


def fill(task: UserTask, path: str, byte: bytes) -> None:
    fd = task.syscall("openat", -100, path, 0o102, 0o644)
    data = buffers.setdefault(task, 0) or task.alloc(PIECE)
    buffers[task] = data
    task.write(data, byte * PIECE)
    for _ in range(SIZE // PIECE):
        assert task.syscall("write", fd, data, PIECE) == PIECE
    task.syscall("close", fd)


def test_an_unmounted_disk_keeps_its_files_and_no_pages() -> None:
    with simkernel.boot() as m:
        task = m.user_task()
        assert task.syscall("mknodat", -100, "/dev/vda", 0o60600, 254 << 8) == 0
        fill(task, "/mnt/warm", b"w")
        assert task.syscall("umount2", "/mnt", 0) == 0
        free = m.kernel.physical.free_pages
        for number in range(20):
            assert task.syscall("mount", "/dev/vda", "/mnt", "simfs", 0, 0) == 0
            fill(task, "/mnt/again", bytes([97 + number]))
            assert task.syscall("umount2", "/mnt", 0) == 0
        assert m.kernel.physical.free_pages >= free - 30
        assert task.syscall("mount", "/dev/vda", "/mnt", "simfs", 0, 0) == 0
        assert m.session.read_file("/mnt/again") == b"t" * SIZE
        assert m.session.read_file("/mnt/warm") == b"w" * SIZE


def test_two_mounts_show_the_same() -> None:
    with simkernel.boot() as m:
        task = m.user_task()
        assert task.syscall("mknodat", -100, "/dev/vda", 0o60600, 254 << 8) == 0
        task.syscall("mkdirat", -100, "/two", 0o755)
        fill(task, "/mnt/file", b"x")
        assert task.syscall("mount", "/dev/vda", "/two", "simfs", 0, 0) == 0
        assert task.syscall("umount2", "/mnt", 0) == 0
        assert m.session.read_file("/two/file")[:4] == b"xxxx"


def test_an_open_file_keeps_its_pages() -> None:
    with simkernel.boot() as m:
        task = m.user_task()
        assert task.syscall("mknodat", -100, "/dev/vda", 0o60600, 254 << 8) == 0
        fill(task, "/mnt/file", b"x")
        fd = task.syscall("openat", -100, "/mnt/file", 0, 0)
        assert task.syscall("umount2", "/mnt", 2) == 0  # MNT_DETACH
        buffer = task.alloc(8)
        assert task.syscall("read", fd, buffer, 8) == 8 and task.read(buffer, 8) == b"xxxxxxxx"
        assert task.syscall("close", fd) == 0
