"""The kernel functions that exist to be traced: what each returns when nothing is attached.  net/bpf/test_run.c.

A test run of a fentry, fexit or fmod_ret program calls them.  Only the kernel can make calls that programs see, so a
command that needs them is a generator of `KernelCall`s, which it is sent the results of.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

from arch.abi.limits import U32_MAX
from arch.records import dataclass
from bpf.isa.insn import signed32
from tracing.face import KernelMem


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A call of a function of the kernel's text, with the registers' values."""

    name: str
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TimePassed:
    """A program ran so long: others may run now.  Answered with 1 when a signal waits."""

    ns: int


Step = KernelCall | TimePassed
T = TypeVar("T")
Steps = Generator[Step, int, int]

# bpf_prog_test_run_tracing(): the calls and what they answer untouched; 0 stands for the address of an empty struct
FENTRY_CALLS: tuple[tuple[str, tuple[int, ...], int], ...] = (
    ("bpf_fentry_test1", (1,), 2),
    ("bpf_fentry_test2", (2, 3), 5),
    ("bpf_fentry_test3", (4, 5, 6), 15),
    ("bpf_fentry_test4", (7, 8, 9, 10), 34),
    ("bpf_fentry_test5", (11, 12, 13, 14, 15), 65),
    ("bpf_fentry_test6", (16, 17, 18, 19, 20, 21), 111),
    ("bpf_fentry_test7", (0,), 0),
    ("bpf_fentry_test8", (0,), 0),
)


def add(mem: KernelMem, *args: int) -> int:
    """bpf_fentry_test2() to 6(): the sum of all arguments."""
    return signed32(sum(args))


def bpf_fentry_test1(mem: KernelMem, a: int) -> int:
    """One more."""
    return signed32(a + 1)


def bpf_fentry_test7(mem: KernelMem, arg: int) -> int:
    """The pointer, cut to an int."""
    return signed32(arg)


def bpf_fentry_test8(mem: KernelMem, arg: int) -> int:
    """The member `a` of the struct."""
    return signed32(mem.read_uint(arg, 8))


def bpf_modify_return_test(mem: KernelMem, a: int, b: int) -> int:
    """Adds 1 to *b; a + *b."""
    value = (mem.read_uint(b, 4) + 1) & U32_MAX
    mem.write_uint(b, 4, value)
    return signed32(a + value)


BODIES: dict[str, Callable[..., int]] = {
    "bpf_fentry_test1": bpf_fentry_test1,
    **{f"bpf_fentry_test{n}": add for n in range(2, 7)},
    "bpf_fentry_test7": bpf_fentry_test7,
    "bpf_fentry_test8": bpf_fentry_test8,
    "bpf_modify_return_test": bpf_modify_return_test,
}


def drive(steps: Generator[Step, int, T], mem: KernelMem) -> T:
    """To the end, where no kernel is around: every function as if nothing were attached, and no signal waits."""
    try:
        step = next(steps)
        while True:
            step = steps.send(0 if isinstance(step, TimePassed) else BODIES[step.name](mem, *step.args))
    except StopIteration as end:
        result: T = end.value
        return result
