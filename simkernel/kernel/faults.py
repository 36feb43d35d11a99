"""Page faults of user code without kernel text, while nobody can tell the difference.

The emulator asks before it enters the kernel. What is done here is what page_fault() of entry.py and handle_mm_fault() do,
with the same counts and the same time; any function with a probe, a listener to faults or pages, a deadline or work before user
mode has the kernel entered, and so have faults that end in a signal.
"""

from __future__ import annotations

from typing import Protocol

from arch.abi.errno import EACCES, ENOMEM
from arch.cpu import FAULT_EXEC, FAULT_WRITE, Cpu
from arch.errors import KernelError, Poisoned
from arch.native.block import Word
from arch.native.handler import Tier, chosen_tier
from simkernel.kernel.address_spaces import AddressSpaces
from simkernel.kernel.cpus import NS_PER_WORK, Cpus
from simkernel.kernel.engine import HYPERCALL_NS
from simkernel.kernel.task import CurrentTask
from simkernel.kernel.text import Text
from simkernel.kernel.tracepoints import Tracepoints

WORK, WORK_SEEN = int(Word.WORK), int(Word.WORK_SEEN)
FAULT_EVENT, TAKES, TOOK, GIVES = EVENTS = (
    "page_fault_user",
    "mmap_lock_start_locking",
    "mmap_lock_acquire_returned",
    "mmap_lock_released",
)
FAULT_NS = 250
COST = FAULT_NS + 2 * HYPERCALL_NS  # the entry code's body, and handle_mm_fault() as its leaf
ACCESS = {code: "write" if code & FAULT_WRITE else "exec" if code & FAULT_EXEC else "read" for code in range(32)}


VM_FAULT_HWPOISON = 0x10


def failure_of(error: KernelError) -> int:
    """VM_FAULT_* of what went wrong."""
    if error.errno == ENOMEM:
        return 1
    if isinstance(error, Poisoned):
        return VM_FAULT_HWPOISON
    return 64 if error.errno == EACCES else 2


class CompiledFaults(Protocol):
    """What takes most of them without Python (simkernel/fs/native_faults.py)."""

    after: int  # by so many faults its code is paid

    def load(self) -> tuple[int, int]:
        """Host addresses of the function and of its words."""


class FaultsInPlace:
    """Who takes the page faults of one machine."""

    def __init__(
        self, board: CurrentTask, cpu: Cpu, cpus: Cpus, mm: AddressSpaces, text: Text, tracepoints: Tracepoints
    ) -> None:
        self.board, self.cpu, self.cpus, self.mm, self.text, self.tracepoints = board, cpu, cpus, mm, text, tracepoints
        self.words, self.clock = cpu.words, cpus.clock
        self.points = tracepoints.points
        self.native: CompiledFaults | None = None
        self._seen = 0  # faults that came here
        self.places = [tracepoints.slot(name) for name in EVENTS]  # before tracing is there
        if chosen_tier() is not Tier.PYTHON and not cpus.kernel_works:
            text.when_probed.append(self.changed)
            self.changed()

    def use(self, native: CompiledFaults | None) -> None:
        """What is to be asked first."""
        self.native, self._seen = native, 0

    def changed(self) -> None:
        """Probes came or went."""
        self.cpu.take_faults(None if self.text.probed else self.take)

    def take(self, code: int, address: int) -> int:
        """1 when the page is there now; 0 leaves the fault, or its end, to the entry code."""
        if self.native is not None:
            if self._seen == self.native.after:
                self.cpu.take_faults_first(*self.native.load())
            self._seen += 1
        task, cpus, clock, words = self.board.current, self.cpus, self.clock, self.words
        mm, points = task.mm, self.points
        if mm is None or task.work or points[FAULT_EVENT].active or self.mm.events is not None:
            return 0
        if points[TAKES].active or points[TOOK].active or points[GIVES].active:
            return 0
        pending = (words[WORK] - words[WORK_SEEN]) * NS_PER_WORK // cpus.busy_cpus
        if clock._now + COST + pending >= cpus.deadline:
            return 0
        vma, access = mm.find(address), ACCESS[code]
        if vma is None or vma.userfault or not mm.may(vma, access):
            return 0
        clock._now += COST
        cpus.charge_user()
        try:
            done = mm.bring(vma, address, access)
        except KernelError as error:
            done, left = False, failure_of(error)
        else:
            left = 0 if done else 64
        if done and not task.work:
            return 1
        self.mm.left = left
        clock._now -= HYPERCALL_NS  # which the entry code's body costs now
        return 0
