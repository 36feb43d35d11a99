"""What sleeps and what wakes: pipes, fifos, poll, select, epoll, eventfd, timerfd."""

import pytest

from arch.abi.errno import EAGAIN, EBUSY, EEXIST, EINVAL, ELOOP, ENOENT, ENXIO, EPERM, EPIPE, ERESTARTSYS
from arch.abi.fcntl import F_SETFL, O_NONBLOCK, O_RDONLY, O_WRONLY
from arch.abi.poll import (  # fmt: skip
    EPOLL_CTL_ADD,
    EPOLL_CTL_DEL,
    EPOLL_CTL_MOD,
    EPOLLET,
    EPOLLONESHOT,
    POLLERR,
    POLLHUP,
    POLLIN,
    POLLNVAL,
    POLLOUT,
)
from simkernel.fs.pipe import PipeBuffer
from simkernel.kernel.testing import Blocked

PIPE_SIZE = 65536


def test_pipe_moves_bytes_and_ends(libc):
    r, w = libc.pipe()
    with pytest.raises(Blocked):
        libc.read_bytes(r)
    libc.write_bytes(w, b"one")
    libc.write_bytes(w, b"two")
    assert libc.read_bytes(r, 4) == b"onet"
    assert libc.read_bytes(r) == b"wo"
    libc.close(w)
    assert libc.read_bytes(r) == b""
    assert libc.readlink(f"/proc/self/fd/{r}").startswith("pipe:[")


def test_pipe_without_readers(libc):
    r, w = libc.pipe()
    libc.close(r)
    assert libc.write_bytes(w, b"x") == -EPIPE
    assert libc.k.current.signals == [13]


def test_full_pipe(libc):
    r, w = libc.pipe(O_NONBLOCK)
    assert libc.write_bytes(w, bytes(70000)) == PIPE_SIZE
    assert libc.write_bytes(w, b"x") == -EAGAIN
    libc.read_bytes(r, 100)
    assert libc.write_bytes(w, bytes(4096)) == -EAGAIN  # a write of up to PIPE_BUF goes in whole or not at all
    libc.read_bytes(r, 4096)
    assert libc.write_bytes(w, bytes(4096)) == 4096
    assert libc.fcntl(w, 1031, 4096) == -EBUSY
    assert libc.fcntl(w, 1031, 100000) == 131072
    assert libc.fcntl(r, 1032, 0) == 131072
    assert libc.ioctl(r, 0x541B, 0x50000) == 0
    assert libc.k.usercopy.get_user(0x50000, 4) == 65436


def test_writer_sleeps_until_there_is_room(libc):
    r, w = libc.pipe()
    pipe = libc.k.current.files.fds[r].f_inode.i_pipe
    drained = []

    def drain():
        drained.append(pipe.held)
        pipe.bufs.clear()

    libc.k.on_block = drain
    assert libc.write_bytes(w, b"z" * 200000) == 200000
    assert drained == [65536, 65536, 65536]


def test_a_signal_interrupts(libc):
    r, _ = libc.pipe()
    libc.k.current.signals.append(10)
    assert libc.read_bytes(r) == -ERESTARTSYS


def test_fifo(libc):
    assert libc.mknod("/tmp/p", 0o010600, 0) == 0
    assert libc.openat("/tmp/p", O_WRONLY | O_NONBLOCK) == -ENXIO
    r = libc.openat("/tmp/p", O_RDONLY | O_NONBLOCK)
    assert r >= 0
    assert libc.read_bytes(r) == b""
    w = libc.openat("/tmp/p", O_WRONLY)
    assert libc.read_bytes(r) == -EAGAIN
    libc.write_bytes(w, b"data")
    assert libc.read_bytes(r) == b"data"
    libc.close(r)
    libc.close(w)
    with pytest.raises(Blocked):
        libc.openat("/tmp/p", O_RDONLY)


def poll(libc, *rows, timeout=0):
    raw = b"".join(
        fd.to_bytes(4, "little", signed=True) + events.to_bytes(2, "little") + bytes(2) for fd, events in rows
    )
    libc.k.usercopy.user.write(0x52000, raw)
    count = libc.call("poll", 0x52000, len(rows), timeout)
    return count, [libc.k.usercopy.get_user(0x52000 + 8 * i + 6, 2) for i in range(len(rows))]


def test_poll(libc):
    r, w = libc.pipe()
    file = libc.openat("/tmp")
    assert poll(libc, (r, POLLIN), (w, POLLOUT), (file, POLLIN)) == (2, [0, POLLOUT, POLLIN])
    libc.write_bytes(w, b"x")
    assert poll(libc, (r, POLLIN), (99, POLLIN), (-1, POLLIN)) == (2, [POLLIN, POLLNVAL, 0])
    libc.close(w)
    libc.read_bytes(r)
    assert poll(libc, (r, POLLIN)) == (1, [POLLHUP])
    r, w = libc.pipe()
    libc.close(r)
    assert poll(libc, (w, POLLOUT)) == (1, [POLLOUT | POLLERR])
    r, w = libc.pipe()
    before = libc.k.clock.now_ns
    assert poll(libc, (r, POLLIN), timeout=20) == (0, [0])
    assert libc.k.clock.now_ns - before == 20_000_000
    with pytest.raises(Blocked):
        poll(libc, (r, POLLIN), timeout=-1)
    libc.k.on_block = lambda: libc.k.current.files.fds[r].f_inode.i_pipe.bufs.append(PipeBuffer(bytearray(b"late")))
    assert poll(libc, (r, POLLIN), timeout=-1) == (1, [POLLIN])


def test_select(libc):
    r, w = libc.pipe()
    k = libc.k
    k.usercopy.put_user(0x52000, 8, 1 << r)
    k.usercopy.put_user(0x52100, 8, 1 << w)
    k.usercopy.put_user(0x52200, 8, 0)
    k.usercopy.put_user(0x52208, 8, 5000)
    assert libc.select(w + 1, 0x52000, 0x52100, 0, 0x52200) == 1
    assert (k.usercopy.get_user(0x52000, 8), k.usercopy.get_user(0x52100, 8)) == (0, 1 << w)
    k.usercopy.put_user(0x52000, 8, 1 << r)
    assert libc.select(w + 1, 0x52000, 0, 0, 0x52200) == 0
    assert k.usercopy.get_user(0x52208, 8) == 0
    k.usercopy.put_user(0x52000, 8, 1 << 60)
    assert libc.select(61, 0x52000, 0, 0, 0x52200) == -9
    assert libc.select(-1, 0, 0, 0, 0) == -EINVAL


def epoll_event(libc, events, data):
    libc.k.usercopy.put_user(0x53000, 4, events)
    libc.k.usercopy.put_user(0x53004, 8, data)
    return 0x53000


def wait(libc, ep, limit=8):
    n = libc.epoll_wait(ep, 0x54000, limit, 0)
    return [
        (libc.k.usercopy.get_user(0x54000 + 12 * i, 4), libc.k.usercopy.get_user(0x54004 + 12 * i, 8)) for i in range(n)
    ]


def test_epoll_levels_edges_and_oneshots(libc):
    r, w = libc.pipe()
    level, edge = libc.epoll_create1(0), libc.epoll_create1(0)
    assert libc.epoll_ctl(level, EPOLL_CTL_ADD, r, epoll_event(libc, POLLIN, 7)) == 0
    assert libc.epoll_ctl(edge, EPOLL_CTL_ADD, r, epoll_event(libc, POLLIN | EPOLLET, 8)) == 0
    assert wait(libc, level) == []
    libc.write_bytes(w, b"x")
    assert wait(libc, level) == wait(libc, level) == [(POLLIN, 7)]
    assert wait(libc, edge) == [(POLLIN, 8)]
    assert wait(libc, edge) == []
    libc.write_bytes(w, b"y")
    assert wait(libc, edge) == [(POLLIN, 8)]
    assert libc.epoll_ctl(level, EPOLL_CTL_MOD, r, epoll_event(libc, POLLIN | EPOLLONESHOT, 9)) == 0
    assert wait(libc, level) == [(POLLIN, 9)]
    assert wait(libc, level) == []
    libc.read_bytes(r)
    assert wait(libc, level) == []


def test_epoll_refusals(libc):
    r, _ = libc.pipe()
    ep = libc.epoll_create1(0)
    event = epoll_event(libc, POLLIN, 0)
    assert libc.epoll_ctl(ep, EPOLL_CTL_ADD, r, event) == 0
    assert libc.epoll_ctl(ep, EPOLL_CTL_ADD, r, event) == -EEXIST
    assert libc.epoll_ctl(ep, EPOLL_CTL_DEL, r, 0) == 0
    assert libc.epoll_ctl(ep, EPOLL_CTL_DEL, r, 0) == -ENOENT
    assert libc.epoll_ctl(ep, EPOLL_CTL_ADD, ep, event) == -EINVAL
    assert libc.epoll_ctl(ep, EPOLL_CTL_ADD, libc.openat("/etc/passwd"), event) == -EPERM
    assert libc.epoll_wait(ep, 0x54000, 0, 0) == -EINVAL
    inner = libc.epoll_create1(0)
    assert libc.epoll_ctl(ep, EPOLL_CTL_ADD, inner, event) == 0
    assert libc.epoll_ctl(inner, EPOLL_CTL_ADD, ep, event) == -ELOOP


def test_epoll_forgets_closed_files(libc):
    r, w = libc.pipe()
    ep = libc.epoll_create1(0)
    libc.epoll_ctl(ep, EPOLL_CTL_ADD, r, epoll_event(libc, POLLIN, 1))
    libc.write_bytes(w, b"x")
    libc.close(r)
    assert wait(libc, ep) == []
    assert poll(libc, (ep, POLLIN)) == (0, [0])


def test_eventfd(libc):
    fd = libc.eventfd2(3, O_NONBLOCK)
    assert libc.readlink(f"/proc/self/fd/{fd}") == "anon_inode:[eventfd]"
    assert libc.read_bytes(fd) == (3).to_bytes(8, "little")
    assert libc.read_bytes(fd) == -EAGAIN
    assert poll(libc, (fd, POLLIN | POLLOUT)) == (1, [POLLOUT])
    libc.write_bytes(fd, (5).to_bytes(8, "little"))
    libc.write_bytes(fd, (6).to_bytes(8, "little"))
    assert libc.read_bytes(fd) == (11).to_bytes(8, "little")
    assert libc.write_bytes(fd, bytes(4)) == -EINVAL
    assert libc.write_bytes(fd, b"\xff" * 8) == -EINVAL
    semaphore = libc.eventfd2(2, 1 | O_NONBLOCK)
    assert [libc.read_bytes(semaphore) for _ in range(3)] == [(1).to_bytes(8, "little")] * 2 + [-EAGAIN]


def test_timerfd(libc):
    k = libc.k
    fd = libc.timerfd_create(1, 0)
    for at, value in ((0, 0), (8, 10_000_000), (16, 0), (24, 30_000_000)):
        k.usercopy.put_user(0x52000 + at, 8, value)
    assert libc.timerfd_settime(fd, 0, 0x52000, 0) == 0
    assert libc.timerfd_gettime(fd, 0x52100) == 0
    assert k.usercopy.get_user(0x52118, 8) == 30_000_000
    start = k.clock.now_ns
    assert libc.read_bytes(fd) == (1).to_bytes(8, "little")
    assert k.clock.now_ns - start == 30_000_000
    k.clock.advance(35_000_000)
    k.clock.run_due()
    assert libc.read_bytes(fd) == (3).to_bytes(8, "little")
    for at in (0, 8, 16, 24):
        k.usercopy.put_user(0x52000 + at, 8, 0)
    assert libc.timerfd_settime(fd, 0, 0x52000, 0) == 0
    libc.fcntl(fd, F_SETFL, O_NONBLOCK)
    assert libc.read_bytes(fd) == -EAGAIN
    assert libc.timerfd_settime(libc.eventfd2(0, 0), 0, 0x52000, 0) == -EINVAL
