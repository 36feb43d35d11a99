"""The kernel's side of signal frames: what arch/<name>/signal.py asks for while it writes or reads one.

arch.sigframe.FrameHost says what that is.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

from arch.abi.signal import SS_AUTODISARM, SS_DISABLE, SS_ONSTACK
from arch.architecture import Architecture
from arch.cpu import Cpu
from arch.sigframe import Action, FrameHost, SignalInfo
from simkernel.kernel.address_spaces import AddressSpaces
from simkernel.kernel.registers import Registers
from simkernel.kernel.signals import Signals
from simkernel.kernel.task import CurrentTask, Task
from simkernel.kernel.usercopy import UserCopy


class SignalAbi(Protocol):
    """A module arch/<name>/signal.py."""

    HAS_RESTORER: bool  # struct sigaction has sa_restorer

    def setup_rt_frame(self, k: FrameHost, regs: int, info: SignalInfo, action: Action, blocked: int) -> None:
        """Write the frame below the user's stack pointer and aim the registers at the handler.  EFAULT."""

    def rt_sigreturn(self, k: FrameHost, regs: int) -> int:
        """Load the registers from the frame; the mask of blocked signals.  EFAULT."""
        ...

    def sigreturn(self, k: FrameHost, regs: int) -> int:
        """The same for the old frame of 32-bit machines."""
        ...

    def return_fault(self, k: FrameHost, regs: int) -> tuple[int, int] | None:
        """Signal and si_code where the CPU would refuse these registers; None where it loads them."""
        ...


class SignalFrames:
    """`k.sigframes`."""

    def __init__(
        self,
        board: CurrentTask,
        arch: Architecture,
        cpu: Cpu,
        regs: Registers,
        usercopy: UserCopy,
        signals: Signals,
        mm: AddressSpaces,
    ) -> None:
        self.abi: SignalAbi = import_module(f"arch.{arch.name}.signal")
        self.board, self.arch, self.cpu, self.usercopy = board, arch, cpu, usercopy
        self.regs_get, self.regs_set = regs.get, regs.set
        self.copy_to_user, self.copy_from_user = usercopy.copy_to_user, usercopy.copy_from_user
        self.signals = signals
        self.vdso_address = mm.vdso_address

    @property
    def stack(self) -> Task:
        """Who gets the signal, or returns from its handler: its alternate stack."""
        return self.board.current

    @property
    def trap(self) -> tuple[int, int, int]:
        """thread.trap_nr, thread.error_code, thread.cr2."""
        task = self.board.current
        return task.trap_nr, task.trap_error, task.trap_address

    def trapped(self, number: int, error: int) -> None:
        """The same, made by a return to registers that cannot be loaded."""
        task = self.board.current
        task.trap_nr, task.trap_error = number, error

    def siginfo(self) -> bytes:
        """siginfo_t of the signal that is delivered."""
        assert self.signals.delivering is not None
        return self.signals.siginfo(self.signals.delivering)

    def save_fp(self, address: int) -> None:
        """FP and vector registers into a signal frame.  EFAULT."""
        self.usercopy.copy_to_user(address, self.cpu.fp_state())

    def restore_fp(self, address: int) -> None:
        """And back, at rt_sigreturn.  EFAULT."""
        self.cpu.set_fp_state(self.usercopy.copy_from_user(address, self.cpu.fp_size))

    def altstack_bytes(self) -> bytes:
        """stack_t of the current task's alternate signal stack."""
        task = self.board.current
        word, order = self.arch.word, self.arch.byteorder
        sp = self.regs_get(task.regs, self.arch.stack_pointer)
        flags = task.sas_flags & SS_AUTODISARM
        if not task.sas_size:
            flags |= SS_DISABLE
        elif task.sas_sp < sp <= task.sas_sp + task.sas_size and not flags:
            flags |= SS_ONSTACK
        head = task.sas_sp.to_bytes(word, order) + flags.to_bytes(4, order) + bytes(word - 4)
        return head + task.sas_size.to_bytes(word, order)
