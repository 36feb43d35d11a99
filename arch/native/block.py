"""The block: 64-bit words that native code and Python share, one array per CPU."""

from __future__ import annotations

import ctypes
import enum

UC_PROT_READ, UC_PROT_WRITE, UC_PROT_EXEC = 1, 2, 4
UC_MEM_READ, UC_MEM_WRITE, UC_MEM_FETCH = 16, 17, 18
UC_ERR_EXCEPTION = 21

MAX_REGISTERS = 64
# Kernel mode is a few dozen blocks between two kernel functions and at most some hundred thousand in the quantum after
# which an emulation ends; this many take about a third of a second.
LOCKUP_BLOCKS = 1 << 25
WINDOW_SIZE = 1 << 16  # bytes of the window through which translated code is dropped


class Word(enum.IntEnum):
    """Words of a CPU's block."""

    UC = 0  # uc_engine *
    HOST = enum.auto()  # host address of physical address 0
    PHYS_SIZE = enum.auto()
    DIRECT = enum.auto()  # kernel map, see memory.KernelMap
    TEXT_BASE = enum.auto()
    TEXT_SIZE = enum.auto()
    TEXT_PHYS = enum.auto()
    VMALLOC_START = enum.auto()
    VMALLOC_SIZE = enum.auto()
    VMALLOC_ROOT = enum.auto()  # physical address of a page table root; 0: none
    USER_END = enum.auto()
    USER_ROOT = enum.auto()
    CODE_PAGES = enum.auto()  # host address of PhysicalMemory.code_pages
    WINDOW = enum.auto()  # virtual window for dropping translated code of any physical page
    WINDOW_PHYS = enum.auto()  # what the window shows; 0: window closed
    WORK = enum.auto()  # units executed in user mode
    DEADLINE = enum.auto()  # stop when WORK reaches it
    KERNEL_BLOCKS = enum.auto()  # translated blocks of kernel mode since the emulation began
    REASON = enum.auto()  # Reason: why the emulation stopped
    FAULT_ADDRESS = enum.auto()
    FAULT_CODE = enum.auto()  # error code; 0: no fault noted
    TRAP = enum.auto()  # trap number of the last trap
    GDT = enum.auto()  # page of the descriptor table: segment loads in user mode may read it; 0: none
    LDT = enum.auto()  # pages of the process's own descriptors, likewise; 0: none
    ZERO_PAGE = enum.auto()  # physical address of a page of zeros
    SPARE_CONTEXT = enum.auto()  # uc_context * to move the whole CPU out and in again (x86)
    TRAP_ERROR = enum.auto()  # error code of the last trap (x86)
    OLD_EXCEPTION = enum.auto()  # host address of the pending-exception field inside it
    KERNEL_STACK = enum.auto()  # top of the current task's kernel stack
    CONTEXT = enum.auto()  # uc_context * that carries kernel privilege (x86)
    ON_ENTER = enum.auto()  # PyObject *
    ON_RESUME = enum.auto()
    ON_SWITCH = enum.auto()
    ENTER_TABLE = enum.auto()  # host address of (PyObject *, number of arguments) by function index; 0: none
    ENTER_SIZE = enum.auto()  # entries in it
    UP_EXTRA = enum.auto()  # host address of constant values written on the way up
    READ_IDS = enum.auto()  # host addresses of the register tables
    READ_PTRS = enum.auto()
    HYPER_IDS = enum.auto()
    HYPER_PTRS = enum.auto()
    UP_IDS = enum.auto()
    UP_PTRS = enum.auto()
    BACK_IDS = enum.auto()
    BACK_PTRS = enum.auto()
    WRITE_IDS = enum.auto()  # scratch tables for writing changed registers
    WRITE_PTRS = enum.auto()
    SKIP_PROBE = enum.auto()  # address whose probe has run already, when the emulation goes on there; 0: none
    TLB_DIRTY = enum.auto()  # page tables lost rights: flush before user code runs again
    TRAPPED = enum.auto()  # a trap was turned into a kernel entry in this emulation
    NATIVE_STATUS = enum.auto()  # Native
    NATIVE_FAULT = enum.auto()  # that address
    CLOCK = enum.auto()  # host address of the reference to the clock's time, a Python int
    WORK_SEEN = enum.auto()  # units of WORK that the clock has been charged with
    WORK_SHARE = enum.auto()  # the clock's ns for one unit of WORK: 1; 0 where that takes a division
    CURRENT = enum.auto()  # the current task's struct task_struct
    TASK = enum.auto()  # PyObject *: the same task as Python knows it
    CPU = enum.auto()  # number of the simulated CPU
    BUSY_CPUS = enum.auto()  # among how many the time is divided
    SYSCALLS = enum.auto()  # host address of (native function, its data) by number of the system call; 0: none
    SYSCALLS_SIZE = enum.auto()  # how many there are
    SYSCALL_IDS = enum.auto()  # register tables of system calls: four arguments, then what else is read
    SYSCALL_PTRS = enum.auto()
    RESULT_IDS = enum.auto()  # the result, then what else is written
    RESULT_PTRS = enum.auto()
    VISITED = enum.auto()  # not 0: a system call that is answered in the hook has visited probes of its way
    SHOWN = enum.auto()  # not 0: the user's registers are put on the kernel stack for such a call, too
    FALLBACK = enum.auto()  # not 0: hits go to Python, which counts what native code does not
    COOKIE = enum.auto()  # of the attachment whose program runs now, started by native code
    ENTRY_IP = enum.auto()  # address of the function that its probe is on
    CONTEXT_TAKEN = enum.auto()  # 1: a program that native code started stands on the first array of arguments
    FIRING = enum.auto()  # host address of the words of the handler that runs it; 0: none does
    CYCLES = enum.auto()  # ns that the counter of user code last said
    BOOT_TIME = enum.auto()  # the wall clock's ns at the machine's time 0
    ON_COUNTER = enum.auto()  # PyObject *: hooks an instruction that stores the counter (s390x)
    FAST_FAULT = (
        enum.auto()
    )  # i64 f(block, data, error code, address): mends some of them before Python is asked; 0: none does
    FAST_FAULT_DATA = enum.auto()
    ON_FAULT = enum.auto()  # PyObject *: takes page faults of user mode before kernel text is entered; 0: none does
    REGISTER_FILE = enum.auto()  # host address of the emulator's registers (EmulatorFacts.places); 0: ask its interface
    ENTRY = enum.auto()  # first of 16 entry addresses, by Role
    END = 89
    VALUES = 89  # MAX_REGISTERS values read from registers
    SCRATCH = VALUES + MAX_REGISTERS  # values written to registers
    TOTAL = SCRATCH + MAX_REGISTERS


class Block:
    """The words, and where they are.  In the host's memory, not the machine's: they hold addresses of the host."""

    def __init__(self, host_address: int, direct_map: int, size: int) -> None:
        array = (ctypes.c_uint64 * Word.TOTAL)()
        self.address = ctypes.addressof(array)
        self.words = memoryview(array).cast("B").cast("Q")
        self.words[Word.HOST] = host_address
        self.words[Word.DIRECT] = direct_map
        self.words[Word.PHYS_SIZE] = size


class Role(enum.IntEnum):
    """Ways into the kernel.  Names as in architecture.EntryPoints."""

    SYSCALL = 0
    PAGE_FAULT = 1
    TIMER = 2
    UNDEFINED = 3
    DIVIDE = 4
    BREAKPOINT = 5
    DEBUG = 6
    PROTECTION = 7
    FP = 8
    ALIGNMENT = 9
    INTERRUPT = 10


class Native(enum.IntEnum):
    """Word.NATIVE_STATUS: what native functions say beside their result."""

    DONE = 0
    FAULT = 1  # an address outside of memory, in NATIVE_FAULT
    DECLINED = 2  # nothing was done: Python is to do it
    RAISED = 3  # an exception waits at the program that was run


class Reason(enum.IntEnum):
    """Why native run() came back."""

    NONE = 0
    BUDGET = 1
    STOPPED = 2
    EXCEPTION = 3  # a Python exception is pending
    KERNEL_FAULT = 4
    KERNEL_TRAP = 5
    LOCKUP = 8  # kernel mode went round for LOCKUP_BLOCKS
    RESTART = 7  # Python has to do something between translated blocks
    ERROR = 6  # unicorn error, number in the low bits: ERROR + 16 * err


if Word.ENTRY + len(Role) > Word.END:
    raise ValueError("the block has no room for all entry addresses")

# Codes in the hypercall register; what is not negative is the index of a kernel function.
HYPERCALL_RESUME = -1
HYPERCALL_SWITCH = -2
