"""AF_UNIX as user tasks see it.  The errno of each case is what Linux 6.1 gave the same calls."""

from __future__ import annotations

import pytest

import simkernel
from arch.abi.errno import (  # fmt: skip
    EADDRINUSE,
    EAGAIN,
    ECONNREFUSED,
    ECONNRESET,
    EINVAL,
    EISCONN,
    ENOTCONN,
    EOPNOTSUPP,
    EPIPE,
    EPROTOTYPE,
)
from arch.abi.poll import POLLHUP, POLLIN, POLLOUT

STREAM, DGRAM, SEQPACKET, NONBLOCK = 1, 2, 5, 0o4000
DONTWAIT, PEEK, NOSIGNAL = 0x40, 2, 0x4000


class User:
    """System calls of one driven task."""

    def __init__(self, machine):
        self.t = machine.user_task("unix")
        self.buf = self.t.alloc(4096)
        self.out = self.t.alloc(256)

    def __getattr__(self, name):
        return lambda *args: self.t.syscall(name, *args)

    def pair(self, type_=STREAM):
        assert self.t.syscall("socketpair", 1, type_, 0, self.out) == 0
        raw = self.t.read(self.out, 8)
        return int.from_bytes(raw[:4], "little"), int.from_bytes(raw[4:], "little")

    def socket(self, type_=STREAM):
        return self.t.syscall("socket", 1, type_, 0)

    def recv(self, fd, size=4096, flags=0):
        n = self.t.syscall("recvfrom", fd, self.buf, size, flags, 0, 0)
        return n if n < 0 else self.t.read(self.buf, n)

    def send(self, fd, data, flags=NOSIGNAL):
        return self.t.syscall("sendto", fd, bytes(data), len(data), flags, 0, 0)

    def named(self, call, fd, path):
        raw = (1).to_bytes(2, "little") + path
        return self.t.syscall(call, fd, raw, len(raw))

    def poll(self, fd, events=POLLIN | POLLOUT):
        self.t.write(self.out, fd.to_bytes(4, "little") + events.to_bytes(2, "little") + bytes(2))
        self.t.syscall("poll", self.out, 1, 0)
        return int.from_bytes(self.t.read(self.out + 6, 2), "little")


@pytest.fixture(scope="module")
def user():
    m = simkernel.boot()
    yield User(m)
    m.close()


def test_stream_pair(user):
    a, b = user.pair()
    assert (user.send(a, b"hello"), user.send(a, b"world")) == (5, 5)
    assert user.recv(b, 7) == b"hellowo"
    assert user.recv(b, flags=PEEK) == user.recv(b) == b"rld"
    assert user.recv(b, flags=DONTWAIT) == -EAGAIN
    assert user.poll(b) == POLLOUT
    assert user.shutdown(a, 1) == 0
    assert user.recv(b) == b""
    assert user.poll(b) == POLLIN | POLLOUT
    assert user.send(b, b"x") == 1
    user.close(a)
    assert user.poll(b) & (POLLHUP | POLLIN) == POLLHUP | POLLIN
    assert user.recv(b) == -ECONNRESET  # the peer had unread data
    assert user.recv(b) == b""
    assert user.send(b, b"x") == -EPIPE


def test_path_listener(user):
    listener, client, datagram = user.socket(), user.socket(), user.socket(DGRAM)
    path = b"/tmp/sock\0"
    assert user.named("connect", client, path) == -2
    assert user.listen(listener, 1) == -EINVAL
    assert user.named("bind", listener, path) == 0
    assert user.named("bind", listener, path) == -EADDRINUSE
    assert user.named("bind", listener, b"/tmp/other\0") == -EINVAL
    assert user.named("connect", client, path) == -ECONNREFUSED
    assert user.accept(listener, 0, 0) == -EINVAL
    assert user.listen(listener, 1) == 0
    assert user.named("connect", datagram, path) == -EPROTOTYPE
    assert user.named("connect", client, path) == 0
    assert user.named("connect", client, path) == -EISCONN
    served = user.accept(listener, 0, 0)
    user.t.write(user.out, (110).to_bytes(4, "little"))
    assert user.getpeername(client, user.buf, user.out) == 0
    assert user.t.read(user.buf, int.from_bytes(user.t.read(user.out, 4), "little")) == b"\1\0" + path
    user.send(client, b"request")
    assert user.recv(served) == b"request"
    user.close(listener)
    assert user.named("connect", user.socket(), path) == -ECONNREFUSED
    assert user.unlink("/tmp/sock") == 0


def test_passed_descriptors(user):
    a, b = user.pair()
    fd = user.openat(-100, "/proc/sys/kernel/ostype", 0, 0)
    t = user.t
    data, control = t.alloc(8), t.alloc(24)

    def message(words):
        t.write(user.out, b"".join(w.to_bytes(8, "little") for w in words))
        return user.out

    t.write(data, b"F")
    vector = t.alloc(16)
    t.write(vector, data.to_bytes(8, "little") + (1).to_bytes(8, "little"))
    t.write(control, (20).to_bytes(8, "little") + b"\1\0\0\0\1\0\0\0" + fd.to_bytes(4, "little") + bytes(4))
    assert user.sendmsg(a, message((0, 0, vector, 1, control, 24, 0)), 0) == 1
    user.close(fd)
    t.write(control, bytes(24))
    assert user.recvmsg(b, message((0, 0, vector, 1, control, 24, 0)), 0) == 1
    got = int.from_bytes(t.read(control + 16, 4), "little")
    n = user.read(got, user.buf, 100)
    assert t.read(user.buf, n) == b"Linux\n"
    assert user.poll(a) == POLLOUT


def test_datagrams(user):
    server, client = user.socket(DGRAM), user.socket(DGRAM)
    assert user.named("bind", server, b"\0abstract") == 0
    assert user.send(client, b"x") == -ENOTCONN
    assert user.named("connect", client, b"\0abstract") == 0
    user.send(client, b"datagram")
    user.send(client, b"two")
    assert user.recv(server, 4) == b"data"
    assert user.recv(server) == b"two"
    count = 0
    while user.send(client, b"y", DONTWAIT) == 1:
        count += 1
    assert count == 11
    user.close(server)
    assert user.send(client, b"x") == -ECONNREFUSED
    assert user.send(client, b"x") == -ENOTCONN
    a, b = user.pair(SEQPACKET)
    user.send(a, b"abc")
    user.send(a, b"de")
    assert user.recv(b, 2) == b"ab"
    assert user.recv(b) == b"de"
    user.t.alloc(8)
    assert user.socketpair(2, STREAM, 0, user.out) == -EOPNOTSUPP


def test_a_writer_waits_for_the_reader():
    m = simkernel.boot()
    t = m.user_task("reader")
    out = t.alloc(8)
    t.syscall("socketpair", 1, STREAM, 0, out)
    a = int.from_bytes(t.read(out, 4), "little")
    b = int.from_bytes(t.read(out + 4, 4), "little")
    assert t.syscall("fcntl", a, 4, NONBLOCK) == 0
    data = t.alloc(500_000)
    sent = t.syscall("write", a, data, 500_000)
    assert 0 < sent < 500_000
    assert t.syscall("write", a, data, 1) == -EAGAIN
    assert t.syscall("read", b, data, 500_000) == sent
    assert t.syscall("write", a, data, 1) == 1
    m.close()
