"""Ready workloads: traffic for probes and programs to watch, written in Python, executed system call by system call.

    simkernel run --workload udp --event skb:kfree_skb
    simkernel run --workload list

A workload is a function that says which tasks it consists of: names and generator functions as `machine.workload` takes them
(simkernel/usertask.py).  Sizes, pauses and places come from a random generator of its own, seeded with the machine's seed and
the workload's name, so the same seed gives the same system calls; nothing else in the machine is disturbed.

    tasks = workloads.start(machine, "disk")       runs whenever the machine runs
    workloads.wait(machine, tasks)                 until all of them have ended
    workloads.run(machine, "disk")                 both
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING

from arch.abi.fcntl import AT_FDCWD, O_CREAT, O_RDWR, O_TRUNC, O_WRONLY
from arch.abi.inet import ICMP_ECHOREPLY, IPPROTO_ICMP
from arch.abi.limits import PAGE_SIZE
from arch.abi.socket import AF_INET, SOCK_DGRAM, SOCK_RAW, SOCK_STREAM
from arch.abi.time import NSEC_PER_MSEC
from arch.records import dataclass

if TYPE_CHECKING:
    from simkernel.kernel.task import Task
    from simkernel.machine import Machine, Result
    from simkernel.usertask import Calls, Program, Request

LOCALHOST = bytes((127, 0, 0, 1))

Steps = Generator["Request", int, None]
Programs = Sequence[tuple[str, "Program"]]


@dataclass(frozen=True)
class Scene:
    """What a workload needs to know about its machine, and its random numbers."""

    byteorder: str
    word: int  # bytes of a long
    random: random.Random

    def pack(self, form: str, *values: int) -> bytes:
        """struct.pack() in the machine's byte order."""
        return struct.pack((">" if self.byteorder == "big" else "<") + form, *values)

    def address(self, port: int, host: bytes = LOCALHOST) -> bytes:
        """A struct sockaddr_in."""
        return self.pack("H", AF_INET) + port.to_bytes(2, "big") + host + bytes(8)

    def timespec(self, ns: int) -> bytes:
        """A struct timespec of longs."""
        return self.pack("QQ" if self.word == 8 else "II", ns // 10**9, ns % 10**9)


class Failed(Exception):
    """A system call of a workload was refused: the workload does not fit the machine."""


def need(result: int, what: str) -> int:
    """The result of a call that must succeed."""
    if result < 0:
        raise Failed(f"{what}: error {-result}")
    return result


# ------------------------------------------------------------------------------------------------------------- network


def udp(scene: Scene) -> Programs:
    """Datagrams over loopback: 60 to a receiver, every fifth also to a port where nobody listens (dropped)."""
    datagrams, port, nobody = 60, 5001, 5002

    def receiver(u: Calls) -> Steps:
        sock = need((yield u.socket(AF_INET, SOCK_DGRAM, 0)), "socket")
        need((yield u.bind(sock, scene.address(port), 16)), "bind")
        buffer = u.alloc(2048)
        for _ in range(datagrams):
            need((yield u.recvfrom(sock, buffer, 2048, 0, 0, 0)), "recvfrom")

    def sender(u: Calls) -> Steps:
        sock = need((yield u.socket(AF_INET, SOCK_DGRAM, 0)), "socket")
        yield from sleep(u, scene, 2 * NSEC_PER_MSEC)
        to, nowhere, data = (u.string(x) for x in (scene.address(port), scene.address(nobody), bytes(1500)))
        for number in range(datagrams):
            size = scene.random.randint(1, 1400)
            need((yield u.sendto(sock, data, size, 0, to, 16)), "sendto")
            if number % 5 == 4:
                yield u.sendto(sock, data, size, 0, nowhere, 16)
            yield from sleep(u, scene, scene.random.randint(0, NSEC_PER_MSEC))

    return ("receiver", receiver), ("sender", sender)


def tcp(scene: Scene) -> Programs:
    """A client sends 64 KiB in pieces over a TCP connection on loopback; the server reads it to its end and answers."""
    total, port = 64 << 10, 5003

    def server(u: Calls) -> Steps:
        sock = need((yield u.socket(AF_INET, SOCK_STREAM, 0)), "socket")
        need((yield u.bind(sock, scene.address(port), 16)), "bind")
        need((yield u.listen(sock, 4)), "listen")
        conn = need((yield u.accept4(sock, 0, 0, 0)), "accept")
        buffer, received = u.alloc(8192), 0
        while received < total:
            count = need((yield u.read(conn, buffer, 8192)), "read")
            if not count:
                break
            received += count
        need((yield u.write(conn, b"%7d\n" % received, 8)), "write")
        yield u.close(conn)

    def client(u: Calls) -> Steps:
        yield from sleep(u, scene, 2 * NSEC_PER_MSEC)
        sock = need((yield u.socket(AF_INET, SOCK_STREAM, 0)), "socket")
        need((yield u.connect(sock, scene.address(port), 16)), "connect")
        data, left = u.alloc(4096), total
        while left:
            left -= need((yield u.write(sock, data, min(left, scene.random.randint(1, 4096)))), "write")
        assert need((yield u.read(sock, data, 8)), "read") == 8
        assert int(u.read_memory(data, 8)) == total, "the server did not get everything"

    return ("server", server), ("client", client)


def ping(scene: Scene) -> Programs:
    """Five echo requests to localhost, one a second, as ping -c5 sends them."""

    def pinger(u: Calls) -> Steps:
        sock = need((yield u.socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)), "socket")
        for sequence in range(1, 6):
            to, buffer = u.string(scene.address(0)), u.alloc(256)
            request = echo_request(u.pid & 0xFFFF, sequence)
            need((yield u.sendto(sock, request, len(request), 0, to, 16)), "sendto")
            reply = b""
            while not reply or reply[20] != ICMP_ECHOREPLY:  # a raw socket on loopback sees the request, too
                reply = u.read_memory(buffer, need((yield u.recvfrom(sock, buffer, 256, 0, 0, 0)), "recvfrom"))
            assert reply[24:] == request[4:], "not an answer to this request"
            yield from sleep(u, scene, 1000 * NSEC_PER_MSEC)
            u.free_all()

    return (("ping", pinger),)


def echo_request(identifier: int, sequence: int) -> bytes:
    """An ICMP echo request with 56 bytes of data and its checksum."""
    body = identifier.to_bytes(2, "big") + sequence.to_bytes(2, "big") + bytes(range(56))
    words = sum(int.from_bytes(body[at : at + 2], "big") for at in range(0, len(body), 2)) + (8 << 8)
    while words >> 16:
        words = (words & 0xFFFF) + (words >> 16)
    return bytes((8, 0)) + (0xFFFF - words).to_bytes(2, "big") + body


# ---------------------------------------------------------------------------------------------------------------- disk


def disk(scene: Scene) -> Programs:
    """A file on /mnt is written and synced in pieces, the cache dropped, then it is read in order and at random places."""
    pages = 256

    def program(u: Calls) -> Steps:
        fd = need((yield u.openat(AT_FDCWD, "/mnt/workload", O_RDWR | O_CREAT | O_TRUNC, 0o644)), "open")
        buffer, written = u.alloc(16 * PAGE_SIZE), 0
        while written < pages * PAGE_SIZE:
            size = scene.random.randint(1, 16) * PAGE_SIZE
            written += need((yield u.write(fd, buffer, size)), "write")
            need((yield u.fsync(fd)), "fsync")
        yield from drop_caches(u)
        need((yield u.lseek(fd, 0, 0)), "lseek")
        while need((yield u.read(fd, buffer, 16 * PAGE_SIZE)), "read"):
            pass
        for _ in range(150):
            yield from drop_caches(u)
            place = scene.random.randrange(pages) * PAGE_SIZE
            need((yield u.lseek(fd, place, 0)), "lseek")
            need((yield u.read(fd, buffer, PAGE_SIZE)), "read")
        yield u.close(fd)

    return (("disk", program),)


def drop_caches(u: Calls) -> Steps:
    """echo 1 > /proc/sys/vm/drop_caches (`yield from`)."""
    control = need((yield u.openat(AT_FDCWD, "/proc/sys/vm/drop_caches", O_WRONLY, 0)), "open drop_caches")
    need((yield u.write(control, b"1\n", 2)), "drop_caches")
    yield u.close(control)


def writer(scene: Scene) -> Programs:
    """As dd if=/dev/zero of=/dev/null: 300 writes of sizes from 1 byte to 64 KiB."""

    def program(u: Calls) -> Steps:
        fd = need((yield u.openat(AT_FDCWD, "/dev/null", O_WRONLY, 0)), "open")
        buffer = u.alloc(1 << 16)
        for _ in range(300):
            size = 1 << scene.random.randint(0, 16)
            need((yield u.write(fd, buffer, scene.random.randint((size + 1) // 2, size))), "write")

    return (("dd", program),)


# --------------------------------------------------------------------------------------------------------------- tasks


def forker(scene: Scene) -> Programs:
    """Twenty children, one after the other and in pairs; each works for a while and ends with a status of its own."""

    def child(number: int) -> Program:
        def program(u: Calls) -> Generator[Request, int, int]:
            for _ in range(scene.random.randint(1, 8)):
                yield u.getppid()
            yield from sleep(u, scene, scene.random.randint(0, 3) * NSEC_PER_MSEC)
            return number & 0x7F

        return program

    def parent(u: Calls) -> Steps:
        for number in range(0, 20, 2):
            for each in (number, number + 1):
                need((yield u.fork(child(each))), "fork")
                if scene.random.random() < 0.5:
                    need((yield u.wait4(-1, 0, 0, 0)), "wait4")
            while (yield u.wait4(-1, 0, 0, 0)) > 0:
                pass

    return (("forker", parent),)


def sleeper(scene: Scene) -> Programs:
    """Three tasks that sleep for 1 to 50 milliseconds, thirty times each, and yield the CPU in between."""

    def program(u: Calls) -> Steps:
        for _ in range(30):
            yield from sleep(u, scene, scene.random.randint(1, 50) * NSEC_PER_MSEC)
            yield u.sched_yield()

    return tuple((f"sleeper/{number}", program) for number in range(3))


def sleep(u: Calls, scene: Scene, ns: int) -> Steps:
    """nanosleep(2) (`yield from`)."""
    request = u.alloc(16)
    u.write_memory(request, scene.timespec(ns))
    yield u.nanosleep(request, 0)


WORKLOADS: dict[str, Callable[[Scene], Programs]] = {
    "udp": udp,
    "tcp": tcp,
    "ping": ping,
    "disk": disk,
    "writer": writer,
    "forker": forker,
    "sleeper": sleeper,
}


def scene(machine: Machine, name: str) -> Scene:
    """A machine's facts, and random numbers for a workload of this name."""
    k = machine.kernel
    return Scene(k.arch.byteorder, k.arch.word, random.Random(f"{k.seed} {name}"))


def start(machine: Machine, name: str) -> list[Task]:
    """The tasks of a workload; they run when the machine runs."""
    return [machine.workload(program, comm) for comm, program in WORKLOADS[name](scene(machine, name))]


def wait(machine: Machine, tasks: Sequence[Task]) -> None:
    """Run the machine until all these tasks have ended; Failed when they cannot."""
    if not machine.kernel.cpus.run(lambda: all(task.exit_state for task in tasks)):
        raise Failed("the workload waits for something that can never happen")


def run(machine: Machine, what: str | Program) -> Result:
    """Start a workload, a ready one by its name or a generator function, and wait for its end."""
    from simkernel.machine import Result

    begin = machine.kernel.clock.now_ns
    tasks = start(machine, what) if isinstance(what, str) else [machine.workload(what)]
    wait(machine, tasks)
    status = max(task.exit_code >> 8 & 0xFF for task in tasks)
    return Result(status, virtual_ns=machine.kernel.clock.now_ns - begin, counters=machine.counters())
