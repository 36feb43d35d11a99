"""Sequences of system calls whose arguments are of the kind that each parameter asks for.

What a parameter asks for is in its prototype: a name that means a descriptor, a path, a task, a length, or a pointer to a structure.
Descriptors and identifiers that earlier calls gave are used again, so that sequences get far: a socket is bound, listened on, put into an
epoll, which is closed while it waits.  One in fifteen arguments is wrong on purpose.
"""

from __future__ import annotations

import random
import struct
from typing import Any

from arch.errors import Fault
from simkernel.machine import Machine

# These end the task, replace its program, or make a task that nobody drives.
NOT_CALLED = {
    "exit", "exit_group", "reboot", "vfork", "fork", "clone", "clone3", "rt_sigreturn", "sigreturn", "execve",
    "execveat",
}  # fmt: skip
DESCRIPTORS = {
    "fd", "dfd", "fildes", "oldfd", "newfd", "olddfd", "newdfd", "fd_in", "fd_out", "in_fd", "out_fd", "epfd", "ufd", "pidfd",
    "fdin", "fdout", "mqdes", "group_fd", "dirfd", "fromfd", "tofd", "mount_fd", "mountdirfd",
}  # fmt: skip
IDENTIFIERS = {"msqid", "semid", "shmid", "timer_id", "wd", "sem_id"}
TASKS = {"pid", "tgid", "tid", "upid", "pid1", "pid2", "pgid", "which"}
PATHS = (
    "/tmp", "/tmp/d", "/tmp/f0", "/tmp/f1", "/tmp/new", "/tmp/link", "/tmp/d/deep", "f2", ".", "..", "/", "", "/proc/self/maps",
    "/proc/self/fd/3", "/proc/self/mem", "/proc/self/ns/mnt", "/proc/self/cwd", "/proc/sys/kernel/hostname", "/dev/null", "/dev/zero",
    "/dev/full", "/dev/ptmx", "/dev/tty", "/dev/shm/x", "/sys", "/sys/kernel/tracing/kprobe_events", "/sys/kernel/tracing/trace_pipe",
    "/sys/kernel/tracing/set_event", "/sys/fs/cgroup", "/sys/fs/bpf/x", "/tmp/fifo", "/tmp/" + "n" * 255, "/tmp/" + "p/" * 2100,
    "tmpfs", "proc", "bpf", "cgroup2", "user.x", "security.capability", "trusted.y", "/queue", "nosuch/deep/path",
)  # fmt: skip
NUMBERS = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    10,
    16,
    17,
    24,
    32,
    41,
    63,
    64,
    65,
    100,
    128,
    255,
    256,
    1000,
    4095,
    4096,
    4097,
    65535,
    65536,
)
EDGES = (
    -1,
    -100,
    1 << 31,
    (1 << 31) - 1,
    (1 << 32) - 1,
    1 << 32,
    1 << 40,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
    -4096,
)
COMMANDS = (
    0x5401, 0x5402, 0x5413, 0x541B, 0x5421, 0x5450, 0x5452, 0x80045430, 0x5441, 0x540E, 0x540F, 0x5410, 0x2400, 0x2401, 0x2402, 0x2403,
    0x40082404, 0x2405, 0x40082406, 0x40042408, 0x40042409, 0xC008240A, 0x8912, 0x8913, 0x8915, 0x8927, 0x8933, 0xB701, 0xB702,
)  # fmt: skip
FLAGS = tuple(1 << n for n in range(32)) + (
    0o102,
    0o1102,
    0o2001,
    0o200000,
    0o4000,
    0o2000000,
    0x1000,
    0x2000,
    0x800,
    0x80000,
)
# parameter, or call.parameter: what is mostly given
GIVEN: dict[str, tuple[int, ...]] = {
    "family": (1, 1, 2, 2, 2, 10, 16, 17), "type": (1, 1, 2, 2, 3, 5, 0x801, 0x80002), "protocol": (0, 0, 0, 1, 6, 17, 15, 3, 768),
    "prot": (0, 1, 3, 3, 3, 5, 7), "mmap.flags": (0x22, 0x22, 0x21, 0x2, 0x1, 0x4022, 0x8022, 0x32, 0x100022),
    "openat.flags": (0, 1, 2, 0o102, 0o102, 0o1102, 0o302, 0o2002, 0o200000, 0o10000000, 0o20200002),
    "open.flags": (0, 1, 2, 0o102, 0o1102, 0o302), "pipe2.flags": (0, 0, 0o4000, 0o2000000, 0o40000), "mode": (0, 0o600, 0o755, 0o20000, 0o10600, 0o140777),
    "op": (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 128, 129), "whence": (0, 1, 2, 3, 4), "sig": tuple(range(1, 33)), "how": (0, 1, 2), "level": (0, 1, 1, 6, 17, 41, 255, 263, 270),
    "optname": tuple(range(40)), "which_clock": (0, 1, 2, 3, 4, 5, 7, 11), "advice": (0, 1, 2, 3, 4, 8, 9, 10, 12, 14, 21), "behavior": (0, 1, 2, 3, 4, 8, 9, 10, 14, 15, 21, 23),
    "fcntl.cmd": (*range(17), 36, 37, 38, 1024, 1025, 1026, 1030, 1031, 1032, 1033, 1034), "msgctl.cmd": (0, 1, 2, 3, 11, 12), "shmctl.cmd": (0, 1, 2, 3, 11, 12, 13, 14),
    "semctl.cmd": tuple(range(20)), "bpf.cmd": tuple(range(37)), "option": (*range(60), 0x59616D61), "policy": (0, 1, 2, 3, 5, 6), "seccomp.op": (0, 1, 2, 3), "request": (0, 2, 3, 7, 16, 0x4200, 0x4206, 0x4209),
    "off": (0, 0, 0, 4096), "pgoff": (0, 0, 1), "offset": (0, 0, 8, 4096), "backlog": (0, 1, 5, 128), "key": (0, 1, 2, 3), "msgflg": (0o600, 0o1600, 0o2600, 0o4000), "semflg": (0o600, 0o1600, 0o4000), "shmflg": (0o600, 0o1600, 0o10000), "nsems": (1, 2, 4, 250),
    "unshare_flags": (0x20000, 0x10000000, 0x4000000, 0x8000000, 0x2000000, 0x200, 0x400), "options": (0, 1, 2, 3, 0x40000000), "mount.flags": (0, 1, 0x20, 0x1000, 0x1021, 0x2000, 0x4000, 0x40000, 0x44000),
    "resource": tuple(range(17)), "dev": (0x103, 0x105, 0x501, 0x800), "count": (0, 1, 16, 128, 4096, 65536), "len": (0, 1, 16, 128, 4096, 65536), "epoll_ctl.op": (1, 2, 3),
}  # fmt: skip
# calls that want a descriptor which one of these has made
MAKERS = {
    "sock": ("socket", "accept", "accept4"), "bind": ("socket",), "listen": ("socket",), "connect": ("socket",), "accept": ("socket",),
    "send": ("socket", "accept"), "recv": ("socket", "accept"), "get": ("socket", "accept"), "shutdown": ("socket",),
    "epoll": ("epoll_create1", "epoll_create"), "timerfd": ("timerfd_create",), "inotify": ("inotify_init1", "inotify_init"),
    "mq_": ("mq_open",), "perf": ("perf_event_open",), "pidfd": ("pidfd_open",), "ioctl": ("perf_event_open", "socket", "openat"),
}  # fmt: skip
TEXTS = (
    b"p:x vfs_read\n",
    b"sched:sched_switch\n",
    b"1\n",
    b"0\n",
    b"-1",
    b"deny\n",
    b"0 0 4294967295\n",
    b"x" * 100,
    b"\0" * 40,
)
STRING_POINTERS = {"char *", "const char *"}
NOT_PATHS = ("buf", "msg_ptr", "optval", "list", "addr")


class Sequence:
    """Calls of one task after the other; `step()` makes the next."""

    def __init__(self, machine: Machine, rng: random.Random) -> None:
        self.machine, self.rng = machine, rng
        self.kernel: Any = machine.kernel
        self.calls = {name: call for name, call in self.kernel.syscalls.declared.items() if name not in NOT_CALLED}
        self.names = sorted(self.calls)
        self.word = self.kernel.arch.word
        self.order = "<" if self.kernel.arch.byteorder == "little" else ">"
        self.last: list[str] = []
        self.begin()

    def begin(self) -> None:
        """A task with a few files of its own."""
        self.task = self.machine.user_task("sequence")
        self.descriptors, self.identifiers, self.areas = [0, 1, 2], [0, 1], [self.task.heap]
        self.made: dict[str, list[int]] = {}
        for number in range(3):
            self.descriptors.append(self.task.syscall("openat", -100, f"/tmp/f{number}", 0o102, 0o600))
        self.task.syscall("mkdirat", -100, "/tmp/d", 0o755)

    # -- one call ----------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """The next call; what it gives is remembered."""
        task, kernel, rng = self.task, self.kernel, self.rng
        name = rng.choice(self.last) if self.last and rng.random() < 0.2 else rng.choice(self.names)
        self.last = [*self.last[-5:], name]
        if task.top > task.heap + (16 << 20):
            task.free_all()
        if task.task.exit_state:  # after the answer to its last call
            self.begin()
            task = self.task
        try:
            args = [self.argument(name, parameter) for parameter in self.calls[name].prototype.params]
        except Fault:  # an earlier call has unmapped the task's memory
            self.replace()
            return
        task.result, task.request = None, (name, tuple(args))
        kernel.wake_up(task.queue)
        kernel.cpus.run(lambda: task.result is not None or task.task.exit_state != 0, kernel.clock.now_ns + 10**8)
        if task.result is None:
            self.replace()
        elif task.result > 0:
            self.remember(name, task.result)

    def replace(self) -> None:
        """The task waits for ever, or has ended: another one."""
        kernel, task = self.kernel, self.task.task
        if not task.exit_state:
            kernel.signals.send(task, 9)
            kernel.cpus.run(lambda: task.exit_state != 0, kernel.clock.now_ns + 10**9)
        assert task.exit_state, "SIGKILL does not end the task"
        self.begin()

    def remember(self, name: str, result: int) -> None:
        """A descriptor, an identifier or an area."""
        if result > 1 << 16:
            self.areas = [*self.areas[-7:], result]
        elif name.startswith(("msgget", "semget", "shmget", "timer_create", "inotify_add")):
            self.identifiers = [*self.identifiers[-7:], result]
        else:
            self.descriptors = [*self.descriptors[-11:], result]
            self.made[name] = [*self.made.get(name, [])[-3:], result]

    # -- arguments ---------------------------------------------------------------------------------------------------------

    def argument(self, call: str, parameter: Any) -> int:
        """What a parameter asks for, mostly."""
        rng, name, kind = self.rng, parameter.name, parameter.ctype
        if rng.random() < 0.1:
            return rng.choice(
                (rng.choice(EDGES), rng.choice(NUMBERS), self.task.heap + rng.randrange(1 << 25), rng.getrandbits(64))
            )
        if name in DESCRIPTORS or ("sock" in name and not parameter.pointer):
            return -100 if "dfd" in name and rng.random() < 0.6 else self.descriptor(call)
        given = GIVEN.get(f"{call}.{name}") or GIVEN.get(name)
        if given and not parameter.pointer and rng.random() < 0.9:
            return rng.choice(given)
        if name in IDENTIFIERS:
            return rng.choice(self.identifiers)
        if name in TASKS and not parameter.pointer:
            return rng.choice((0, 0, 1, self.task.task.pid, self.task.task.pid, rng.randrange(1, 20), -1))
        if kind in STRING_POINTERS and not any(part in name for part in NOT_PATHS):
            return int(self.task.string(rng.choice(PATHS)))
        if parameter.pointer or (name in ("arg", "arg2", "arg3") and rng.random() < 0.4):
            return self.memory(kind)
        if name in ("addr", "start", "new_addr", "old_addr", "brk"):
            return rng.choice((0, *self.areas)) + 4096 * rng.randrange(4)
        if name == "cmd" and call == "ioctl":
            return rng.choice(COMMANDS)
        if "flag" in name or name in ("prot", "mode", "mask", "option", "options", "events"):
            return sum(rng.sample(FLAGS, max(rng.randrange(-2, 3), 0))) if rng.random() < 0.8 else rng.choice(NUMBERS)
        if "size" in name and rng.random() < 0.7:
            return 8 if "sigset" in name else rng.choice((8, 16, 64, 128, 4096, 8192))
        return rng.choice(NUMBERS)

    def descriptor(self, call: str) -> int:
        """An open one, of the kind that the call works on where there is one."""
        made = [
            fd
            for prefix, makers in MAKERS.items()
            if call.startswith(prefix)
            for maker in makers
            for fd in self.made.get(maker, ())
        ]
        return self.rng.choice(made if made and self.rng.random() < 0.8 else self.descriptors)

    def memory(self, kind: str) -> int:
        """A pointer to something like what is asked for; sometimes NULL, or the last bytes of a page."""
        rng, task = self.rng, self.task
        if rng.random() < 0.15:
            return 0
        size = rng.choice((64, 128, 256, 4096))
        address = int(task.alloc(size))
        if kind in STRING_POINTERS or kind.endswith("void *"):
            data = rng.choice(TEXTS)
        elif "iovec" in kind:
            data = b"".join(self.words(self.buffer(), rng.choice(NUMBERS)) for _ in range(4))
        elif "msghdr" in kind:
            vector = self.memory("struct iovec *")
            data = self.words(
                self.buffer(), rng.choice((0, 16, 128)), vector, rng.randrange(5), self.buffer(), rng.choice(NUMBERS), 0
            )
        elif "sockaddr" in kind:
            data = struct.pack(self.order + "H", rng.choice((1, 2, 10, 16, 17, 40))) + rng.choice(
                (b"\x1f\x90\x7f\0\0\1" + bytes(8), b"/tmp/sock\0", b"\0abstract", rng.randbytes(26))
            )
        elif "pollfd" in kind or "epoll_event" in kind:
            data = b"".join(
                struct.pack(self.order + "iHH", rng.choice(self.descriptors), rng.getrandbits(8), 0) for _ in range(6)
            )
        elif "sigset" in kind:
            data = self.words(rng.choice((0, 0xFFFFFFFFFFFFFFFF, 1 << rng.randrange(64), rng.getrandbits(64))), 0)
        elif kind.endswith(("int *", "u32 *")):
            data = struct.pack(self.order + "II", rng.choice(NUMBERS), rng.choice(NUMBERS))
        elif "time" in kind:
            data = self.words(0, rng.choice((0, 1, 1000, 10**6, 10**9)), 0, rng.choice((0, 1, 999_999)))
        else:
            data = self.words(*(self.word_of_a_structure() for _ in range(rng.choice((4, 8, 16)))))
        task.write(address, data[:size])
        return address

    def buffer(self) -> int:
        """Memory without a meaning, or none."""
        return self.rng.choice((0, int(self.task.alloc(128)), self.task.heap + (1 << 30)))

    def word_of_a_structure(self) -> int:
        """A small number, a descriptor, a flag, a pointer, two halves, or nonsense."""
        rng = self.rng
        pick = rng.randrange(8)
        if pick < 3:
            return rng.choice(NUMBERS)
        if pick == 3:
            return rng.choice(self.descriptors)
        if pick == 4:
            return rng.choice(FLAGS)
        if pick == 5:
            return int(self.task.alloc(64))
        return rng.choice(NUMBERS) << 32 | rng.choice(NUMBERS) if pick == 6 else rng.getrandbits(64)

    def words(self, *values: int) -> bytes:
        """Numbers of the machine's word size."""
        letter, mask = ("Q", (1 << 64) - 1) if self.word == 8 else ("I", (1 << 32) - 1)
        return struct.pack(f"{self.order}{len(values)}{letter}", *(value & mask for value in values))
