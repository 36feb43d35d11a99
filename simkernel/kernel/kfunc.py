"""How a kernel function or a system call is declared: once, by its C prototype.

    @kernel_function("ssize_t vfs_write(struct file *file, const char *buf, size_t count, loff_t *pos)",
                     source="fs/read_write.c")
    def vfs_write(k, file, buf, count, pos):
        ret = yield k.call("rw_verify_area", WRITE, file, pos, count)
        ...
        return ret

    @syscall("openat", "int dfd, const char *filename, int flags, umode_t mode", source="fs/open.c")
    def openat(k, dfd, filename, flags, mode):
        return (yield k.call("do_sys_open", dfd, filename, flags, mode))

The body is a generator function, or a plain function when it calls nothing and never blocks.  Its first argument
is the Kernel.  Integer arguments arrive sign- or zero-extended by their C type, pointers as unsigned addresses.
It returns an int (None counts as 0); KernelError(errno) raised in it makes the function return -errno.

`since`/`until` are kernel versions ("5.10"): the function exists from `since` on and before `until`.  `names` maps the
version that introduced a name to that name; the key None is the name before all of these:
`names={None: "do_fork", "4.2": "_do_fork", "5.10": "kernel_clone"}`.  Bodies always use the canonical (declared) name
in `k.call`; symbols carry the version's name.  The same canonical name may be declared several times with disjoint
version ranges.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from arch.abi.version import KernelVersion
from arch.records import dataclass, field

# Any callable whose first parameter is some narrowing of KernelFace (face.py says how bodies are typed).
Function = Callable[..., Any]
B = TypeVar("B", bound=Function)

_PROTOTYPE = re.compile(r"^(?P<ret>.*?[\s*])(?P<name>\w+)\s*\((?P<params>.*)\)\s*;?\s*$", re.S)
_QUALIFIERS = re.compile(r"\b(const|volatile|__user|__iomem|__rcu|asmlinkage|static|__init|noinline|register|inline)\b")

# Scalar C types by name -> (size in bytes or None for a machine word, signed).  include/linux/types.h.
_SCALARS: dict[str, tuple[int | None, bool]] = {
    "void": (0, False), "bool": (1, False), "_Bool": (1, False), "char": (1, True),
    "signed char": (1, True), "unsigned char": (1, False), "u8": (1, False), "s8": (1, True), "__u8": (1, False),
    "short": (2, True), "unsigned short": (2, False), "u16": (2, False), "__u16": (2, False), "s16": (2, True),
    "umode_t": (2, False), "int": (4, True), "unsigned int": (4, False), "unsigned": (4, False),
    "u32": (4, False), "__u32": (4, False), "uint32_t": (4, False), "s32": (4, True), "__s32": (4, True),
    "__be32": (4, False), "__be16": (2, False), "pid_t": (4, True), "uid_t": (4, False), "gid_t": (4, False), "fmode_t": (4, False), "gfp_t": (4, False),
    "key_t": (4, True), "mqd_t": (4, True), "timer_t": (4, True), "clockid_t": (4, True), "dev_t": (4, False),
    "qid_t": (4, True), "key_serial_t": (4, True), "rwf_t": (4, True), "__poll_t": (4, False), "vm_fault_t": (4, False),
    "long": (None, True), "unsigned long": (None, False), "size_t": (None, False), "ssize_t": (None, True),
    "uintptr_t": (None, False), "pgoff_t": (None, False), "off_t": (None, True), "aio_context_t": (None, False),
    "cputime_t": (None, False), "old_sigset_t": (None, False), "vm_flags_t": (None, False),
    "long long": (8, True), "unsigned long long": (8, False), "loff_t": (8, True), "u64": (8, False),
    "__u64": (8, False), "uint64_t": (8, False), "s64": (8, True), "__s64": (8, True), "sector_t": (8, False),
    "ktime_t": (8, True), "time64_t": (8, True), "netdev_tx_t": (4, True), "irqreturn_t": (4, True),
    "blk_status_t": (1, False),
}  # fmt: skip

# Typedefs of pointers and function pointers: a machine word.
_POINTERS = {"fl_owner_t", "filldir_t", "read_actor_t", "work_func_t", "irq_handler_t", "poll_queue_proc", "va_list",
             "wait_queue_func_t", "sk_read_actor_t", "netdev_tx_func", "bpf_func_t"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter or result: its C type text, and how the register value becomes an int."""

    name: str
    ctype: str
    size: int | None  # bytes; None is a machine word, 0 is void
    signed: bool
    pointer: bool


@cache
def _param(text: str, position: int) -> Param:
    text = " ".join(text.split())
    bare = _QUALIFIERS.sub(" ", text)
    if "*" in bare or "[" in bare or "(" in bare:
        names = re.findall(r"\w+", bare.split("[")[0].split(")")[0])
        name = names[-1] if bare.rstrip(" ]")[-1:] != "*" and len(names) > 1 else f"arg{position}"
        return Param(name, text.rsplit(name, 1)[0].strip() or text, None, False, True)
    words = bare.split()
    whole = " ".join(words)
    if whole in _SCALARS or (words[0] in ("enum", "struct") and len(words) == 2):
        name, base, ctype = f"arg{position}", whole, text
    else:
        name, base, ctype = words[-1], " ".join(words[:-1]), text[: -len(words[-1])].strip()
    base = base.removesuffix(" int") if base not in ("unsigned int",) and base.endswith(" int") else base
    if base.startswith("enum "):
        return Param(name, ctype, 4, False, False)
    if base in _POINTERS:
        return Param(name, ctype, None, False, True)
    if base not in _SCALARS:
        raise ValueError(f"parameter {text!r}: unknown scalar type {base!r}")
    size, signed = _SCALARS[base]
    return Param(name, ctype, size, signed, False)


def _split(params: str) -> list[str]:
    """Split at top-level commas: `int (*fn)(int, int), void *p` has two."""
    if "(" not in params and "[" not in params:
        return [p for part in params.split(",") if (p := part.strip()) and p != "void"]
    out, depth, start = [], 0, 0
    for index, char in enumerate(params):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            out.append(params[start:index])
            start = index + 1
    out.append(params[start:])
    return [p.strip() for p in out if p.strip() and p.strip() != "void"]


@dataclass(frozen=True, slots=True)
class Prototype:
    """A parsed C prototype."""

    text: str
    name: str
    ret: Param
    params: tuple[Param, ...]

    @staticmethod
    def parse(text: str) -> Prototype:
        """Parse one declaration; ValueError says what was not understood."""
        match = _PROTOTYPE.match(text.strip())
        if match is None:
            raise ValueError(f"not a C prototype: {text!r}")
        params = tuple(_param(p, i) for i, p in enumerate(_split(match["params"])))
        ret_text = match["ret"].strip()
        ret = _param(ret_text, 0) if ret_text != "void" else Param("", "void", 0, False, False)
        return Prototype(" ".join(text.split()).rstrip(";"), match["name"], ret, params)


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """One declared kernel function (or one version's form of it)."""

    name: str
    prototype: Prototype
    body: Function
    source: str
    since: str | None = None
    until: str | None = None
    names: Mapping[str | None, str] = field(default_factory=dict)
    notrace: bool = False  # on the kprobe blacklist (NOKPROBE_SYMBOL, entry code)
    is_generator: bool = True
    jumps: bool = False  # its one call is its end: where the compiler does so, a jump
    inlined: bool = False  # compilers make it part of its caller: no symbol, no frame

    def exists_in(self, version: KernelVersion) -> bool:
        """True when this version has the function."""
        return not self.inlined and version.at_least(self.since) and version.before(self.until)

    def name_in(self, version: KernelVersion) -> str:
        """The symbol's name in this version."""
        return name_in(self.name, self.names, version)


@dataclass(frozen=True, slots=True)
class Syscall:
    """One declared system call: number by name in arch's tables, wrappers and events from the prototype."""

    name: str
    prototype: Prototype  # long sys_NAME(params)
    body: Function
    source: str
    since: str | None = None
    until: str | None = None
    is_generator: bool = True
    jumps: bool = False  # as of KernelFunction

    def exists_in(self, version: KernelVersion) -> bool:
        """True when this version has the call."""
        return version.at_least(self.since) and version.before(self.until)


def name_in(name: str, names: Mapping[str | None, str], version: KernelVersion) -> str:
    """Pick the name for a version from a `names` map (see the module's docstring)."""
    known = [
        (KernelVersion.parse(since or "0.0"), candidate)
        for since, candidate in names.items()
        if version.at_least(since)
    ]
    return max(known)[1] if known else name


KERNEL_FUNCTIONS: list[KernelFunction] = []
SYSCALLS: list[Syscall] = []


def kernel_function(
    prototype: str,
    source: str,
    since: str | None = None,
    until: str | None = None,
    names: Mapping[str | None, str] | None = None,
    notrace: bool = False,
    jumps: bool = False,
    inlined: bool = False,
) -> Callable[[B], B]:
    """Declare a kernel function; the decorated body stays callable as it is.

    `jumps`: its body is `return (yield k.call(...))`, with the result as it is; that call can be a jump.
    """
    parsed = Prototype.parse(prototype)

    def declare(body: B) -> B:
        generator = inspect.isgeneratorfunction(body)
        assert generator or not jumps, prototype
        KERNEL_FUNCTIONS.append(
            KernelFunction(
                parsed.name, parsed, body, source, since, until, names or {}, notrace, generator, jumps, inlined
            )
        )
        return body

    return declare


def syscall(
    name: str, params: str, source: str = "", since: str | None = None, until: str | None = None, jumps: bool = False
) -> Callable[[B], B]:
    """Declare a system call by its name and C parameters (the table of numbers is the architecture's); `jumps` as above."""
    parsed = Prototype.parse(f"long sys_{name}({params or 'void'})")

    def declare(body: B) -> B:
        generator = inspect.isgeneratorfunction(body)
        assert generator or not jumps, name
        SYSCALLS.append(Syscall(name, parsed, body, source, since, until, generator, jumps))
        return body

    return declare
