"""Helper functions.  Mirrors kernel/bpf/helpers.c, kernel/trace/bpf_trace.c and their like.

A body stands below its rows, `@prototype(...)` of rows.py: number, version, prototype, who may call it.  It is known under
the name of the kernel function that does the work, because one helper number can be different functions for different
program types; functions that are no helpers have only that name, `@kernel_name(...)`.  A body takes the runtime of the calling program and as many of R1 to R5
as it needs; it gives any integer (kept to 64 bits), and a KernelError becomes its negative errno.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import TypeVar

from arch.abi.errno import EFAULT, EINVAL, EOPNOTSUPP
from arch.errors import Fault, KernelError
from arch.records import dataclass
from bpf.board import Bpf
from bpf.face import Prog, Registers
from bpf.helpers.rows import declare
from bpf.maps.base import BpfMap

M = (1 << 64) - 1
Map = TypeVar("Map", bound=BpfMap)


@dataclass(frozen=True)
class Session:
    """What a program that runs at a function's entry and at its return knows of the call."""

    is_return: bool = False
    cookie: int = 0  # address of a word that the call keeps from one run to the other


class Runtime:
    """What a helper sees of the program that calls it and of the machine."""

    def __init__(self, bpf: Bpf, prog: Prog) -> None:
        self.bpf = bpf
        self.host = bpf.host
        self.mem = bpf.mem
        self.prog = prog
        self.regs: Registers = []  # of the run now on its way
        self.ctx = 0
        self.cookie = 0  # bpf_cookie of the attachment that started this run
        self.entry_ip = 0  # of the probed function, for bpf_get_func_ip() on kprobes
        self.session = Session()  # of a program at a function's entry and at its return
        # of a control group's hook: address of what it will answer, and its values by struct bpf_map
        self.cgroup_run: tuple[int, Mapping[int, int]] = (0, {})

    def map(self, address: int) -> BpfMap:
        """The map whose struct bpf_map is at this address."""
        found = self.bpf.map_at.get(address)
        if found is None:
            raise KernelError(EINVAL, f"no map at {address:#x}")
        return found

    def map_of(self, address: int, kind: type[Map]) -> Map:
        """The same for a helper that takes one kind of map only; the verifier has seen to it."""
        found = self.map(address)
        if not isinstance(found, kind):
            raise KernelError(EINVAL, f"no {kind.__name__} at {address:#x}")
        return found

    def call_back(self, r: Registers, function: int, *args: int) -> int:
        """Call a function of a BPF program by its address."""
        prog, start = self.bpf.functions[function]
        return prog.program.call_back(r, start, *args)

    def read_user(self, addr: int, size: int) -> bytes:
        """User memory of the current task; EFAULT."""
        user = self.host.user_mem()
        if user is None:
            raise KernelError(EFAULT)
        try:
            return bytes(user.read(addr, size))
        except Fault:
            raise KernelError(EFAULT) from None

    def read_kernel(self, addr: int, size: int) -> bytes:
        """copy_from_kernel_nofault(); EFAULT."""
        try:
            return bytes(self.mem.read(addr, size))
        except Fault:
            raise KernelError(EFAULT) from None


class Helper:
    """One implementation and how to call it."""

    def __init__(self, function: Callable[..., int], registers: bool) -> None:
        self.function = function
        self.registers = registers
        assert isinstance(function, FunctionType)
        self.arity = function.__code__.co_argcount - 1

    def bind(self, rt: Runtime) -> Callable[[Registers], int]:
        """For one program: registers in, R0 out."""
        f = self.function
        if self.registers:
            return _guard(lambda r: f(rt, r))
        return _guard(_BY_ARITY[self.arity](rt, f))


def _guard(call: Callable[[Registers], int]) -> Callable[[Registers], int]:
    def guarded(r: Registers) -> int:
        try:
            return call(r) & M
        except KernelError as error:
            return -error.errno & M

    return guarded


_BY_ARITY: tuple[Callable[[Runtime, Callable[..., int]], Callable[[Registers], int]], ...] = (
    lambda rt, f: lambda r: f(rt),
    lambda rt, f: lambda r: f(rt, r[1]),
    lambda rt, f: lambda r: f(rt, r[1], r[2]),
    lambda rt, f: lambda r: f(rt, r[1], r[2], r[3]),
    lambda rt, f: lambda r: f(rt, r[1], r[2], r[3], r[4]),
    lambda rt, f: lambda r: f(rt, r[1], r[2], r[3], r[4], r[5]),
)

HELPERS: dict[str, Helper] = {}


def kernel_name(*names: str, registers: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register an implementation under kernel function names."""

    def register(function: Callable[..., int]) -> Callable[..., int]:
        for name in names:
            HELPERS[name] = Helper(function, registers)
        return function

    return register


def prototype(
    name: str,
    number: int = 0,
    since: str = "",
    *,
    returns: str = "INTEGER",
    args: str = "",
    flags: str = "",
    func: str | None = None,
    proto: str | None = None,
    given: str = "",
    allowed: str | None = None,
    maps: str = "",
    missing: str = "",
    registers: bool = False,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A row of the helper whose body is below; rows.py says what the columns mean.

    `registers`: the body takes the list of registers, because it calls functions of the program.
    """
    row = declare(
        name,
        number,
        since,
        returns=returns,
        args=args,
        flags=flags,
        func=func,
        proto=proto,
        given=given,
        allowed=allowed,
        maps=maps,
        missing=missing,
    )
    return kernel_name(row.func, registers=registers)


MODULES = (
    "maps",
    "probe",
    "printk",
    "task",
    "stack",
    "dynptr",
    "packet_dynptr",
    "objects",
    "arena",
    "kernel_objects",
    "session",
    "walks",
    "ringbuf",
    "perf",
    "storage",
    "callbacks",
    "skb_bytes",
    "skb_csum",
    "skb_meta",
    "skb_room",
    "skb_vlan",
    "lwt",
    "skb_around",
    "fib",
    "tunnel",
    "syncookie",
    "sk_lookup",
    "redirect",
    "xdp",
    "sock",
    "sock_redirect",
    "tcp_header",
    "sockopt",
    "sysctl",
    "show_btf",
    "kfuncs",
    "rstat",
    "keys",
    "kfunc_table",
    "syscalls",
    "rfc",
    "absent",
)
_loaded = False


def load_all() -> None:
    """Import the modules of helpers, once."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    for name in MODULES:
        importlib.import_module(f"bpf.helpers.{name}")


def find(*names: str | None) -> Helper | None:
    """The first of these names that has an implementation."""
    load_all()
    for name in names:
        if name is not None and name in HELPERS:
            return HELPERS[name]
    return None


def not_here(name: str, result: int = -EOPNOTSUPP) -> Callable[[Registers], int]:
    """A helper that type-checks but does nothing here: it says so with EOPNOTSUPP, or with NULL where it gives pointers."""

    def refuse(r: Registers) -> int:
        return result & M

    refuse.__name__ = name
    return refuse


def signed(value: int, bits: int = 64) -> int:
    """A register as the signed number a C parameter of that width would be."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
