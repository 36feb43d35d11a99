"""What the signal frames of all architectures share.  kernel/signal.c, include/linux/signal.h.

`k` is the kernel's side of it (FrameHost).
"""

from __future__ import annotations

from typing import Protocol

from arch.abi.errno import EFAULT
from arch.abi.signal import SA_RESTORER, SS_AUTODISARM, SS_DISABLE
from arch.architecture import Architecture
from arch.cpu import Cpu
from arch.errors import KernelError

LARGEST_FRAME = 8192  # bytes; every architecture's, with what aligning takes, is smaller


class Action(Protocol):
    """struct k_sigaction, which does not change."""

    @property
    def handler(self) -> int: ...
    @property
    def flags(self) -> int: ...
    @property
    def restorer(self) -> int: ...


class SignalInfo(Protocol):
    """One signal."""

    sig: int
    addr: int


class Stack(Protocol):
    """A task's alternate signal stack."""

    sas_sp: int
    sas_size: int
    sas_flags: int


class FrameHost(Protocol):
    """What the writing and reading of a frame needs.  User memory raises KernelError(EFAULT)."""

    arch: Architecture
    cpu: Cpu

    def regs_get(self, regs: int, field: str) -> int:
        """One field of the user's struct pt_regs."""
        ...

    def regs_set(self, regs: int, field: str, value: int) -> None:
        """Store one."""

    def copy_from_user(self, addr: int, size: int) -> bytes: ...
    def copy_to_user(self, addr: int, data: bytes) -> None: ...

    def siginfo(self) -> bytes:
        """siginfo_t of the signal that is delivered, 128 bytes."""
        ...

    def altstack_bytes(self) -> bytes:
        """stack_t of the alternate stack."""
        ...

    @property
    def stack(self) -> Stack:
        """The alternate stack."""
        ...

    def save_fp(self, address: int) -> None:
        """The CPU's FP image to a user address."""

    def restore_fp(self, address: int) -> None:
        """And back."""

    @property
    def trap(self) -> tuple[int, int, int]:
        """Number, error code and address of the last trap of who gets the signal."""
        ...

    def trapped(self, number: int, error: int) -> None:
        """The CPU would refuse to return to that: its trap is the last one."""

    def vdso_address(self) -> int:
        """Address of the signal trampoline page."""
        ...


def choose_stack(task: Stack, sp: int, on_altstack: bool) -> int:
    """sigsp(): the alternate stack if asked for and not already on it.  EFAULT where no frame fits below."""
    on_it = task.sas_sp < sp <= task.sas_sp + task.sas_size and not task.sas_flags & SS_AUTODISARM
    if on_altstack and task.sas_size and not on_it:
        sp = task.sas_sp + task.sas_size
    if not LARGEST_FRAME <= sp < 1 << 63:
        raise KernelError(EFAULT, "stack pointer")
    return sp


def restore_altstack(k: FrameHost, raw: bytes) -> None:
    """restore_altstack(): the stack_t in the handler's frame."""
    word, order = k.arch.word, k.arch.byteorder
    flags = int.from_bytes(raw[word : word + 4], order)
    if not flags & SS_DISABLE:
        k.stack.sas_flags = flags & SS_AUTODISARM
        k.stack.sas_sp = int.from_bytes(raw[:word], order)
        k.stack.sas_size = int.from_bytes(raw[2 * word : 3 * word], order)


def return_fault(k: FrameHost, regs: int) -> tuple[int, int] | None:
    """Signal and si_code where the registers of a frame cannot be loaded on the way to user mode.  Here they can."""
    return None


def restorer(k: FrameHost, action: Action) -> int:
    """Where the handler returns to: libc's SA_RESTORER, else the kernel's trampoline."""
    return action.restorer if action.flags & SA_RESTORER else k.vdso_address()
