"""The machine from outside: results, crashes, time limits, programs that cannot run, tasks driven from Python."""

import contextlib
import struct

import pytest

from arch.abi.errno import EBADF, ENOENT, ENOEXEC, ENOMEM
from arch.errors import KernelError
from arch.memory import OutOfMemory
from simkernel.fs.rootfs import add_file
from simkernel.machine import boot, describe_crash

ARCHES = ("x86_64", "arm64", "riscv64", "s390x")
EM_X86_64 = 62


@pytest.fixture(scope="module", params=ARCHES)
def m(request):
    booted = boot(arch=request.param, cpus=2)
    yield booted
    booted.close()


def elf(m, code, interp=b"", truncate=None):
    """A small ELF program of the machine's architecture: `code` at its entry."""
    a = m.kernel.arch
    order = "<" if a.byteorder == "little" else ">"
    base, entry = 0x10000000, 0x10000000 + 0x200
    data = bytearray(0x200) + code
    head = b"\x7fELF" + bytes((2, 1 if order == "<" else 2, 1)) + bytes(9)
    head += struct.pack(order + "HHIQQQIHHHHHH", 2, a.elf_machine, 1, entry, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack(order + "IIQQQQQQ", 1, 7, 0, base, base, len(data), len(data) + 0x3000, 0x1000)
    other = struct.pack(order + "IIQQQQQQ", 3 if interp else 0, 4, 0x180, base + 0x180, 0, len(interp), 0, 1)
    data[: len(head) + 112] = head + load + other
    data[0x180 : 0x180 + len(interp)] = interp
    return bytes(data)[:truncate]


LOOP = {"x86_64": "ebfe", "arm64": "00000014", "riscv64": "6f000000", "s390x": "a7f40000"}
ILLEGAL = {"x86_64": "0f0b", "arm64": "00000000", "riscv64": "00000000", "s390x": "00000000"}
LOAD_FROM_64 = {
    "x86_64": "48c7c340000000488b03",
    "arm64": "010880d2200040f9",  # mov x1, #64; ldr x0, [x1]
    "riscv64": "9305000403b50500",  # li a1, 64; ld a0, 0(a1)
    "s390x": "a7190040e32010000004",  # lghi %r1,64; lg %r2,0(%r1)
}


def run(m, code, **kw):
    add_file(m.kernel.vfs, "/bin/prog", elf(m, bytes.fromhex(code[m.kernel.arch.name])), 0o755)
    return m.run(["/bin/prog"], **kw)


def test_endless_loop_ends_at_the_virtual_limit(m):
    result = run(m, LOOP, timeout_virtual_ns=3_000_000)
    assert result.timed_out == "virtual"
    assert result.signal == 9


def test_endless_loop_ends_at_the_host_limit(m):
    result = run(m, LOOP, timeout_host_s=0.2)
    assert result.timed_out == "host"


def test_crash_report_has_signal_address_and_registers(m):
    result = run(m, LOAD_FROM_64)
    assert result.status == 128 + 11
    assert result.crash is not None
    told = 0 if m.kernel.arch.name == "s390x" else 64  # that CPU tells the page
    assert (result.crash.signal, result.crash.address) == (11, told)
    text = describe_crash(result.crash)
    assert "prog[" in text and f"SIGSEGV at address {told:#x}" in text
    assert f"{m.kernel.arch.crash_registers[0][0]}: " in text


def test_illegal_instruction_is_sigill(m):
    result = run(m, ILLEGAL)
    assert result.signal == 4


@pytest.mark.parametrize(
    ("content", "errno"),
    [
        (b"", ENOEXEC),
        (b"no program\n", ENOEXEC),
        (b"\x7fELF", ENOEXEC),
        (b"\x7fELF" + bytes(100), ENOEXEC),
        (b"#!/no/such/interpreter\n", ENOENT),
        (b"#!", ENOEXEC),
    ],
)
def test_what_cannot_be_run_says_so(m, content, errno):
    add_file(m.kernel.vfs, "/bin/bad", content, 0o755)
    with pytest.raises(KernelError) as error:
        m.run(["/bin/bad"])
    assert error.value.errno == errno


def test_missing_program_and_missing_dynamic_linker(m):
    with pytest.raises(KernelError) as error:
        m.run(["/bin/nothing"])
    assert error.value.errno == ENOENT
    code = bytes.fromhex(LOOP[m.kernel.arch.name])
    add_file(m.kernel.vfs, "/bin/dynamic", elf(m, code, b"/lib/ld.so\0"), 0o755)
    with pytest.raises(KernelError) as error:
        m.run(["/bin/dynamic"])
    assert error.value.errno == ENOENT


def test_truncated_elf_does_not_start(m):
    code = bytes.fromhex(LOOP[m.kernel.arch.name])
    for size in (20, 60, 100, 170):
        add_file(m.kernel.vfs, "/bin/short", elf(m, code, truncate=size), 0o755)
        with pytest.raises(KernelError):
            m.run(["/bin/short"])


def test_every_truncation_of_an_elf_header_is_an_errno_or_a_result(m):
    """No byte of the headers leads to a Python exception other than the kernel's refusal."""
    whole = bytearray(elf(m, bytes.fromhex(LOOP[m.kernel.arch.name])))
    for at in range(16, 176, 5):
        broken = bytearray(whole)
        broken[at] ^= 0xFF
        add_file(m.kernel.vfs, "/bin/broken", bytes(broken), 0o755)
        with contextlib.suppress(KernelError):
            m.run(["/bin/broken"], timeout_virtual_ns=1_000_000)


def test_driven_task_makes_real_system_calls(m):
    task = m.user_task("driver")
    assert task.syscall("getpid") == task.task.pid
    assert task.syscall("getppid") == 1
    fd = task.syscall("openat", -100, "/tmp/driven", 0o102, 0o600)
    assert fd >= 0
    assert task.syscall("write", fd, b"some bytes", 10) == 10
    assert task.syscall("close", fd) == 0
    assert task.syscall("close", fd) == -EBADF
    buf = task.alloc(400)
    assert task.syscall("uname", buf) == 0
    assert task.read(buf, 5) == b"Linux"
    with pytest.raises(ValueError, match="no system call is named 'no_such_call'"):
        task.syscall("no_such_call")
    task.exit(3)
    assert task.task.exit_state


def test_workloads_run_side_by_side(m):
    seen = []

    def program(name):
        def main(u):
            pid = yield u.getpid()
            for round_ in range(3):
                request = u.alloc(16)
                word = m.kernel.arch.byteorder
                u.write_memory(request, (0).to_bytes(8, word) + (1_000_000).to_bytes(8, word))
                assert (yield u.nanosleep(request, 0)) == 0
                seen.append((name, round_))
            return pid & 0x7F

        return main

    first = m.workload(program("a"), "a")
    second = m.workload(program("b"), "b")
    m.kernel.cpus.run(lambda: first.exit_state and second.exit_state)
    assert sorted(seen) == [(n, r) for n in "ab" for r in range(3)]
    assert first.exit_code == (first.pid & 0x7F) << 8


def test_tasks_are_in_kernel_memory(m):
    """A walk over real_parent, comm and tgid in memory gives what the kernel says."""
    k = m.kernel
    task = m.user_task("inmemory")
    view = k.view(task.task.addr, "struct task_struct")
    assert (view.pid, view.tgid) == (task.task.pid, task.task.tgid)
    assert view.comm.string() == "inmemory"
    parent = view.follow("real_parent")
    assert (parent.pid, parent.comm.string()) == (1, "init")
    assert view.follow("cred").uid.val == 0
    task.exit()


def test_strace_lines_look_like_strace(m):
    lines = []
    from simkernel.kernel.strace import Strace

    k = m.kernel
    task = m.user_task("traced")
    k.syscalls.strace = Strace(k, lines.append)
    task.syscall("openat", -100, "/etc/hostname", 0, 0)
    task.syscall("openat", -100, "/nowhere", 0o2101, 0o644)
    task.syscall("kill", 30000, 15)
    k.syscalls.strace = None
    assert [" ".join(line.split()) for line in lines] == [
        'openat(AT_FDCWD, "/etc/hostname", O_RDONLY) = 0',
        'openat(AT_FDCWD, "/nowhere", O_WRONLY|O_CREAT|O_APPEND, 0644) = 1',
        "kill(30000, SIGTERM) = -1 ESRCH (No such process)",
    ]
    task.exit()


def test_lists_of_children_follow_who_adopts_them():
    """task->children and sibling: an orphan's neighbours are its new parent's, and nothing points to a task that is gone."""
    with boot() as machine:
        k = machine.kernel
        script = "(sleep 1000 & sleep 1000 &); sh -c 'sleep 1000 & sleep 0.1 & exec sleep 0.2'; sleep 0.5"
        assert machine.run([machine.install("busybox"), "sh", "-c", script]).status == 0
        children = k.mirror.offset_of("struct task_struct", "children")
        sibling = k.mirror.offset_of("struct task_struct", "sibling")
        tasks = list(k.tasks.by_pid.values())
        assert sum(task.comm == "sleep" for task in tasks) >= 3
        for task in tasks:
            found, at = [], k.mem.read_uint(task.addr + children, 8)
            while at != task.addr + children and len(found) < 100:
                found.append(at - sibling)
                assert k.mem.read_uint(k.mem.read_uint(at, 8) + 8, 8) == at
                at = k.mem.read_uint(at, 8)
            assert sorted(found) == sorted(child.addr for child in task.children)


def test_a_program_whose_name_finds_no_memory_is_not_begun(monkeypatch):
    """It went to user mode as it was, with all registers 0."""

    def nothing(self, name, uptr=0):
        raise OutOfMemory

    machine = boot()
    monkeypatch.setattr(type(machine.kernel.mirror), "filename_memory", nothing)
    with pytest.raises(KernelError) as caught:
        machine.run(["/bin/true"])
    assert caught.value.errno == ENOMEM
    monkeypatch.undo()
    assert machine.run([machine.install("busybox"), "true"]).status == 0
