"""What a program may ask wrongly, and what Linux 6.1 says to it: answers, never a failure of ours."""

import random
import struct

import pytest

from arch.abi.errno import EACCES, EFAULT, EINVAL, ENOENT, ENOEXEC, ENOMEM
from arch.abi.limits import PAGE_SIZE
from arch.abi.signal import SIGILL, SIGSEGV
from arch.errors import KernelError
from simkernel.fs.rootfs import add_file
from simkernel.kernel.calls.signal import sys_rt_sigreturn
from simkernel.kernel.sigpending import SigAction, SigInfo
from simkernel.machine import boot

ARCHES = ("x86_64", "arm64", "riscv64", "s390x", "i386", "arm")
MAYMOVE, FIXED, DONTUNMAP = 1, 2, 4


def elf(code, interp=None, claimed=None):
    """A static x86-64 program of one segment, with a PT_INTERP if asked for; `claimed` is that one's size."""
    interp_at, code_at = 0x200, 0x300
    loads = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 0x1000, 0x1000, 0x1000)
    if interp is not None:
        size = len(interp) if claimed is None else claimed
        at = 0x400000 + interp_at
        loads = struct.pack("<IIQQQQQQ", 3, 4, interp_at, at, at, size, size, 1) + loads
    image = bytearray(0x1000)
    head = b"\x7fELF\2\1\1" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0x400000 + code_at, 64, 0, 0, 64, 56, len(loads) // 56, 0, 0, 0)
    for at, data in ((0, head), (64, loads), (interp_at, interp or b""), (code_at, code)):
        image[at : at + len(data)] = data
    return bytes(image)


EXIT_7 = bytes.fromhex("b83c000000 bf07000000 0f05")


def run(data):
    m = boot()
    add_file(m.kernel.vfs, "/tmp/program", data, 0o755)
    return m.run(["/tmp/program"])


# --- memory ---


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "i386"])
def test_mremap_onto_itself(arch):
    """As recorded from Linux 6.1."""
    task = boot(arch=arch).user_task()
    p = task.syscall("mmap" if arch != "i386" else "mmap2", 0, 17 * PAGE_SIZE, 3, 0x22, -1, 0)
    assert task.syscall("munmap", p + 16 * PAGE_SIZE, PAGE_SIZE) == 0

    def remap(at, old, new, flags, to=0):
        return task.syscall("mremap", p + at * PAGE_SIZE, old * PAGE_SIZE, new * PAGE_SIZE, flags, p + to * PAGE_SIZE)

    for at, old, new, to in ((0, 4, 4, 0), (0, 4, 4, 1), (4, 4, 8, 0), (0, 4, 1, 3), (2, 1, 4, 0), (0, 16, 1, 15)):
        assert remap(at, old, new, MAYMOVE | FIXED, to) == -EINVAL, (at, old, new, to)
    assert remap(0, 4, 4, MAYMOVE | FIXED, 4) == p + 4 * PAGE_SIZE  # they touch, and that is all
    assert remap(8, 1, 1, MAYMOVE) == p + 8 * PAGE_SIZE
    assert remap(8, 1, 0, MAYMOVE) == -EINVAL
    assert remap(8, 1, 1, FIXED) == -EINVAL
    assert remap(8, 0, 1, MAYMOVE) == -EINVAL
    assert remap(8, 1, 2, MAYMOVE | DONTUNMAP) == -EINVAL
    assert remap(15, 2, 4, MAYMOVE) == -EFAULT
    assert remap(0, 1, 1, MAYMOVE) == -EFAULT
    huge = 1 << 48 if arch != "i386" else 3 << 30
    assert task.syscall("mremap", p + 8 * PAGE_SIZE, PAGE_SIZE, huge, MAYMOVE, 0) == -ENOMEM
    assert task.syscall("mremap", p + 8 * PAGE_SIZE, PAGE_SIZE, PAGE_SIZE, MAYMOVE | FIXED, p + 1) == -EINVAL
    end = boot(arch=arch).kernel.mm.layout.task_size
    for to in (end, end - PAGE_SIZE + 1, end - PAGE_SIZE + PAGE_SIZE // 2, end + (PAGE_SIZE if arch != "i386" else 0)):
        assert task.syscall("mremap", p + 8 * PAGE_SIZE, PAGE_SIZE, PAGE_SIZE, MAYMOVE | FIXED, to) == -EINVAL


# --- processes ---

CLONE = bytes.fromhex(
    "b838000000 bf64000000 31f6 31d2 4531d2 4531c0 0f05"  # clone(100, 0, 0, 0, 0)
    "85c0 750c bf03000000 b83c000000 0f05"  # the child: exit(3)
    "4883ec10 48c7c7ffffffff 4889e6 ba00000040 4531d2 b83d000000 0f05"  # wait4(-1, &status, __WALL, 0)
    "8b3c24 c1ef08 b83c000000 0f05"  # exit(status >> 8)
)


def test_clone_takes_any_exit_signal():
    """There is no signal 100, so none is sent; clone3 is stricter."""
    assert run(elf(CLONE)).status == 3


@pytest.mark.parametrize("number", [65, 100, 128, 255, 256, 1 << 40])
def test_clone3_takes_only_signals(number):
    task = boot().user_task()
    args = task.alloc(64)
    task.write(args, struct.pack("<8Q", 0, 0, 0, 0, number, 0, 0, 0))
    assert task.syscall("clone3", args, 64) == -EINVAL


@pytest.mark.parametrize(
    ("interp", "claimed", "errno"),
    [
        (b"/bin/nul\0sh\0", None, ENOENT),  # the name ends at the first NUL
        (b"/nosuch", None, ENOEXEC),  # and has to have one
        (b"\0", None, ENOEXEC),
        (b"\0\0", None, EACCES),
        (b"", None, ENOEXEC),
        (b"/bin/sh\0", 5000, ENOEXEC),
    ],
)
def test_names_of_the_dynamic_linker(interp, claimed, errno):
    """As recorded from Linux 6.1 (whose shell then takes ENOEXEC for a script)."""
    with pytest.raises(KernelError) as refused:
        run(elf(EXIT_7, interp, claimed))
    assert refused.value.errno == errno
    assert run(elf(EXIT_7)).status == 7


# --- returning from signals ---


def return_with(arch, change):
    """A program whose third write ends in a signal frame that `change(k, frame)` has touched; its result."""
    m = boot(arch=arch)
    k = m.kernel
    guest = m.install(f"samples/bin/{arch}/writer")
    hits = []

    def hit(regs):
        hits.append(1)
        if len(hits) != 3:
            return
        task, old, x86 = k.current, k.signals.delivering, arch in ("i386", "x86_64")
        k.signals.delivering = info = SigInfo(10, 0)
        action = SigAction(0x1000, 0x04000004, restorer=0x1000)
        k.sigframes.abi.setup_rt_frame(k.sigframes, task.regs, info, action, 0)
        k.signals.delivering = old
        frame = k.regs.get(task.regs, k.arch.stack_pointer)
        change(k, frame)
        if x86:  # the handler's return has popped the address of the restorer
            k.regs.set(task.regs, "sp", frame + k.arch.word)
        sys_rt_sigreturn(k)

    k.cpu.add_probe(k.symbols.address("vfs_write"), hit)
    return m.run([guest], timeout_virtual_ns=2 * 10**6)


@pytest.mark.parametrize("selector", [0, 3, 4, 7, 0x63, 0x6B, 0x7F, 0x73 & ~3 | 4, 0x83, 0xFFFF])
@pytest.mark.parametrize(("name", "at"), [("cs", 15), ("ss", 18)])
def test_i386_selectors_that_iret_refuses(name, at, selector):
    """asm_iret_error(): SIGILL."""
    offset = 164 + 4 * at
    result = return_with("i386", lambda k, frame: k.current.mm.user.write(frame + offset, struct.pack("<I", selector)))
    assert (result.signal, result.timed_out) == (SIGILL, "")


@pytest.mark.parametrize("selector", [0, 3, 4, 0x60, 0x68, 0x6B, 0x7F, 0x83, 0xFFFF])
@pytest.mark.parametrize(("name", "at"), [("gs", 0), ("fs", 1)])
def test_i386_segments_that_cannot_be_loaded_are_null(name, at, selector):
    """The program does not use them, so it does not notice."""
    offset = 164 + 4 * at
    result = return_with("i386", lambda k, frame: k.current.mm.user.write(frame + offset, struct.pack("<I", selector)))
    assert (result.signal, result.status) == (0, 0)


@pytest.mark.parametrize(("name", "at"), [("es", 2), ("ds", 3)])
def test_i386_without_a_data_segment(name, at):
    """SIGSEGV at the first access, on a CPU that checks segments."""
    result = return_with(
        "i386", lambda k, frame: k.current.mm.user.write(frame + 164 + 4 * at, struct.pack("<I", 0x68))
    )
    assert result.signal in (0, SIGSEGV)


@pytest.mark.parametrize("arch", ARCHES)
def test_random_frames(arch):
    """Whatever stands in the frame: the program goes on or dies of a signal, and the machine lives."""
    for seed in range(8):
        rng = random.Random(f"{arch}{seed}")

        def change(k, frame, rng=rng):
            for _ in range(rng.choice([1, 2, 8, 64])):
                value = rng.choice([rng.getrandbits(64), 0, (1 << 64) - 1, 1 << rng.randrange(64), rng.randrange(256)])
                k.current.mm.user.write(frame + 4 * rng.randrange(200), value.to_bytes(8, k.arch.byteorder))

        result = return_with(arch, change)
        assert result.timed_out in ("", "virtual", "deadlock"), seed


def test_capabilities_of_keys_fill_no_more_than_there_is():
    """KEYCTL_CAPABILITIES into a buffer that the caller calls endless: zeros up to the first page that is not there."""
    m = boot()
    said = []

    def program(u):
        at = u.alloc(64)
        u.write_memory(at, b"x" * 64)
        said.append((yield u.keyctl(31, at, 0, 0, 0)))
        said.append((yield u.keyctl(31, at, 64, 0, 0)))
        said.append(u.read_memory(at, 64).rstrip(b"\0"))
        said.append((yield u.keyctl(31, at, (1 << 64) - 1, 0, 0)))

    m.wait(m.workload(program), timeout_host_s=60)
    assert said[0] == said[1] == len(said[2]) == 2 and said[3] == -EFAULT
