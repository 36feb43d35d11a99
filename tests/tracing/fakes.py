"""A machine without a CPU for tests of tracing/: FlatMemory, a few symbols, a clock that tests move."""

from __future__ import annotations

import heapq
from functools import cache

import arch.architecture as architecture
from arch.abi.errno import EAGAIN, EBADF, EINVAL, ENOENT
from arch.abi.version import NEWEST, KernelVersion
from arch.errors import KernelError
from arch.memory import FlatMemory
from arch.native import Block
from arch.native.slots import slot_address
from arch.symbols import Symbols
from arch.typetable import kernel_types
from tracing.face import Mapping
from tracing.system import Tracing

TEXT = 0xFFFFFFFF81000000
DATA = 0xFFFFFFFF82000000
FUNCTIONS = (
    "vfs_read", "vfs_write", "vfs_open", "ksys_write", "schedule", "kfree_skb", "tracing_mark_write", "kernel_restart",
    "kernel_halt", "kernel_power_off",
)  # fmt: skip
SIGNATURES = {
    "vfs_read": "ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)",
    "vfs_open": "int vfs_open(const struct path *path, struct file *file)",
}
BLACKLISTED = ("exc_int3", "asm_exc_divide_error")
FUNCTION_SIZE = 0x400


@cache
def types_of(version, arch):
    """The kernel's types; nothing changes them, so machines of one kind share them."""
    types = kernel_types(architecture.get(arch), version)
    return types


class Timer:
    def __init__(self, callback):
        self.callback = callback

    def cancel(self):
        self.callback = None


class Program:
    """An attached program that is a function."""

    id = 1
    native = None

    def __init__(self, run=lambda ctx: 0):
        self.run = run
        self.when_native = []

    def missed(self):
        pass

    def release(self):
        pass


class Sleepers:
    """Who sleeps on a key: nobody ever."""

    __slots__ = ("on_wake", "waiters")

    def __init__(self):
        self.waiters, self.on_wake = [], {}


class FakeHost:
    """Implements tracing.face.TraceHost; tests set the attributes of the "current" task directly."""

    def __init__(self, version=NEWEST, arch="x86_64", cpus=2):
        self.version = version = KernelVersion.parse(version)
        self.release = str(version)
        self.arch = architecture.get(arch)
        self.mem = FlatMemory(size=1 << 22, byteorder=self.arch.byteorder)
        self.block = Block(self.mem.host_address, self.mem.base, self.mem.size)
        self.layout = self.arch.pt_regs_for(version)
        self.symbols = Symbols()
        self.types = types_of(version, arch)
        self.nr_cpus = cpus
        self.address = {}
        for index, name in enumerate((*FUNCTIONS, *BLACKLISTED)):
            self.address[name] = TEXT + 0x1000 + index * FUNCTION_SIZE
            self.symbols.add(name, self.address[name], FUNCTION_SIZE)
        self.symbols.add("_text", TEXT, 0x1000)  # not to be probed, as on the real machine
        self.symbols.add("far_away", TEXT + 0x10000, 0x10000)
        self.address["far_away"] = TEXT + 0x10000
        self.symbols.add("linux_banner", DATA, 64, "R")
        self.return_trampoline = TEXT + 0x100
        self.ns = 1_000_000_000
        self.cpu, self.pid, self.tgid, self.comm = 0, 81, 81, "sh"
        self.flags = self.preempt = 0
        self.user = None
        self.armed = {}
        self.return_handler = None
        self.woken = []
        self.queues = {}
        self.log = []
        self.timers = []
        self.caps = {"sys_admin", "perfmon"}
        self.tasks = {81: "task81", 82: "task82"}
        self.task = "task81"
        self.struct = 0

    # TraceHost
    def send_sigtrap(self, addr, data, kind):
        self.log.append(("SIGTRAP", addr, data, kind))

    def now_ns(self):
        return self.ns

    def cpu_id(self):
        return self.cpu

    def current_pid(self):
        return self.pid

    def current_tgid(self):
        return self.tgid

    def current_comm(self):
        return self.comm

    def current_uid(self):
        return 0

    def sock_cookie(self, sk):
        return 1

    def irq_flags(self):
        return self.flags

    native_flags = 0

    def preempt_count(self):
        return self.preempt

    def user_mem(self):
        return self.user

    def may_watch(self, task, change):
        return True

    def capable(self, capability):
        return capability in self.caps

    def arm(self, addr, handler, native=None):
        assert addr not in self.armed
        self.armed[addr] = handler

    def aim(self, addr, handler, native):
        assert self.armed[addr] is handler

    def disarm(self, addr, handler):
        assert self.armed.pop(addr) is handler

    def set_return_handler(self, handler, native=None):
        self.return_handler = handler

    def perf_cgroup(self, fd):
        raise KernelError(EBADF, "no control groups")

    def perf_cgroup_id(self):
        return 1

    def namespace_files(self, task):
        return [(4, 0xF0000000 + index) for index in range(7)]

    def task_number(self, task):
        return int(task.removeprefix("task"))

    def is_kernel_text(self, addr):
        return TEXT + 0x1000 <= addr < TEXT + 0x100000

    def signature(self, function):
        text = SIGNATURES.get(function)
        return self.types.prototype(text) if text else None

    def boundaries(self, name):
        """As the real vfs_write of x86-64 begins: 5, 4, then every 4 bytes."""
        start = self.address[name]
        return [start, start + 5, start + 9, *range(start + 12, start + FUNCTION_SIZE, 4)]

    def probe_blacklist(self):
        return [(self.address[n], self.address[n] + FUNCTION_SIZE, n) for n in BLACKLISTED]

    def wake(self, key):
        self.woken.append(key)

    def sleepers(self, key):
        queue = self.queues.setdefault(key, Sleepers())
        return slot_address(queue, "waiters"), slot_address(queue, "on_wake")

    def forget_sleepers(self, key):
        self.queues.pop(key, None)

    def spend(self, ns):
        self.ns += ns

    def add_timer(self, delay_ns, callback):
        timer = Timer(callback)
        heapq.heappush(self.timers, (self.ns + delay_ns, id(timer), timer))
        return timer

    def pr(self, level, text):
        self.log.append(text)

    def find_task(self, pid):
        return self.tasks.get(pid)

    def current_task(self):
        return self.task

    def current_struct(self):
        return self.struct

    def constant_strings(self):
        return {}

    def constant_string(self, text):
        return id(text)

    def file_page(self):
        return (0, 0, 0)

    def mm_counter(self, mm, member):
        return 0

    def lru_page(self):
        return (0, 0)

    def caller_regs(self, unread=False):
        return 0

    def user_regs(self, regs):
        return regs

    def interrupt_regs(self):
        return 0

    def stack_trace(self, regs, point=""):
        return []

    def caller_of(self, function, parent, regs):
        return parent

    def frame(self, name):
        return self.symbols.address(name) or 0

    def callchains(self, regs, limit, point=""):
        return [], []

    # for tests
    def run_timers(self, until_ns):
        while self.timers and self.timers[0][0] <= until_ns:
            when, _, timer = heapq.heappop(self.timers)
            self.ns = when
            if timer.callback is not None:
                timer.callback()
        self.ns = until_ns

    def regs(self, **fields):
        """A struct pt_regs in kernel memory with these fields."""
        addr = self.mem.alloc(self.layout.size, 16)
        for name, value in fields.items():
            self.layout.set(self.mem, addr, name, value & ((1 << 64) - 1))
        return addr

    def task_struct(self, comm="sh", pid=81, prio=120, **fields):
        addr = self.mem.alloc(self.types.sizeof("struct task_struct"), 64)
        view = self.types.view(self.mem, addr, "struct task_struct")
        view.comm = comm
        view.pid = pid
        view.prio = prio
        for name, value in fields.items():
            view[name] = value
        return addr


class FakeSpaces:
    """Implements tracing.face.UserSpaces over a dict of files."""

    def __init__(self):
        self.files = {"/h": b"\x90" * 0x10000}
        self.maps = []  # (mm, start, end, offset, executable, inode)
        self.armed = {}
        self.mems = {}
        self.mm = "mm1"
        self.mm_of = {}  # task -> mm, where it is not the current one
        self.uret_handler = None
        self.listener = None

    def resolve_path(self, path):
        if path in ("/proc", "/dev/null"):
            raise KernelError(EINVAL)
        if path not in self.files:
            raise KernelError(ENOENT)
        return path

    def inode_size(self, inode):
        return len(self.files[inode])

    def has_pages(self, inode):
        return not inode.startswith("/proc/")

    def mappings(self, inode):
        return [(mm, start, end, offset, x) for mm, start, end, offset, x, known in self.maps if known == inode]

    def mapping(self, mm, start):
        for known, begin, end, offset, executable, inode in self.maps:
            if (known, begin) == (mm, start):
                return Mapping(start, end - start, offset, inode, 0, 2, 7, 5 if executable else 1, 2)
        return None

    def watch_mappings(self, listener):
        self.listener = listener

    def current_mm(self):
        return self.mm

    def mm_of_task(self, task):
        return self.mm_of.get(task, self.mm)

    def aim_user(self, mm, vaddr, native):
        assert (mm, vaddr) in self.armed

    def arm_user(self, mm, vaddr, handler, native=None):
        assert (mm, vaddr) not in self.armed
        self.armed[mm, vaddr] = handler

    def disarm_user(self, mm, vaddr):
        del self.armed[mm, vaddr]

    def user_mem_of(self, mm):
        return self.mems.setdefault(mm, FlatMemory(base=0x7F0000000000, size=1 << 16))

    def uretprobe_trampoline(self, mm):
        return 0x7FFFFFFFE000

    def set_uret_handler(self, handler, native=None):
        self.uret_handler = handler


def machine(version=NEWEST, arch="x86_64", cpus=2):
    host = FakeHost(version, arch, cpus)
    spaces = FakeSpaces()
    tracing = Tracing(host, spaces)
    tracing.host_spaces = spaces
    return tracing


def node(tracing, path):
    here = tracing.tracefs.root
    for part in path.split("/"):
        here = here.lookup(part)
    return here


def cat(tracing, path):
    file = node(tracing, path).open(0o4000)
    text, pos = b"", 0
    try:
        while chunk := file.read(65536, pos):
            text, pos = text + chunk, pos + len(chunk)
    except KernelError as error:
        if error.errno != EAGAIN:
            raise
    finally:
        file.release()
    return text.decode("latin-1")


def echo(tracing, path, text, append=False, once=False):
    file = node(tracing, path).open(0o1 | (0o2000 if append else 0o1000))
    try:
        data = text if isinstance(text, bytes) else text.encode("latin-1")
        taken = file.write(data, 0)
        while taken < len(data) and not once:
            taken += file.write(data[taken:], 0)
        return taken
    finally:
        file.release()
