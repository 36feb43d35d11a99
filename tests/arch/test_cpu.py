"""The CPU on every architecture: calls, user mode, faults, probes, preemption, task switches."""

from __future__ import annotations

from typing import Any

import pytest

from arch import probespans, unwind
from arch.cpu import FAULT_EXEC, FAULT_PROT, FAULT_USER, FAULT_WRITE, KernelCrash, Stop
from arch.mmu import PTE_EXEC, PTE_READ, PTE_WRITE

CODE, DATA = 0x400000, 0x500000

# Five turns of: keep the counter in an FP register, getpid(), compare, store the counter at DATA, count; then
# exit(counter), or exit(99) if the FP register changed.  In C: see each architecture's comment-free assembler in
# its own ABI; made with clang -c.
LOOP = {
    "x86_64": "b82700000066480f6ecb0f0566480f7ec94839d9751b48891c250000500048ffc34883fb057cd94889dfb83c0000000f05"
    "bf63000000b83c0000000f05",
    "arm64": "090aa0d2881580d26802679e010000d40201669e5f0013eb21010054090aa0d2330100f9730600917f1600f1cbfeff54"
    "e00313aaa80b80d2010000d4600c80d2a80b80d2010000d4",
    "riscv64": "9308c00a538404f273000000530604e2631f9600370350002330930085049543e3c074fe26859308d00573000000"
    "130530069308d00573000000",
    "s390x": "b3c100870a14b3cd0038b9200037a7740012a54e0050e37040000024a77b0001a77f0005a744ffeeb9040027a7190001"
    "0a00a72900630a01",
    "i386": "b814000000660f6ecbcd80660f7ec939d97513891d000050004383fb057ce1b801000000cd80bb63000000b801000000cd80",
    "arm": "1470a0e3104a08ee000000ef102a18ee040052e10700001a0596a0e3004089e5014084e2050054e3f4ffffba0400a0e1"
    "0170a0e3000000ef6300a0e30170a0e3000000ef",
}
# add 1 to a; add a to b; if a is odd, xor b into c; for ever
SPIN = {
    "x86_64": "4883c0014801c3a80174034831d9ebf0",
    "arm64": "000400912100008b40000036420001cafcffff17",
    "riscv64": "13051500b385a50093761500638406003346b6006ff0dffe",
    "s390x": "a72b0001b9080032a7210001a7840004b9820043a7f4fff6",
    "i386": "83c00101c3a801740231d9ebf3",
    "arm": "010080e2001081e0010010e30000000a012022e0f9ffffea",
}
SPIN_REGISTERS = {
    "x86_64": ("ax", "bx", "cx"),
    "arm64": ("regs[0]", "regs[1]", "regs[2]"),
    "riscv64": ("a0", "a1", "a2"),
    "s390x": ("gprs[2]", "gprs[3]", "gprs[4]"),
    "i386": ("ax", "bx", "cx"),
    "arm": ("uregs[0]", "uregs[1]", "uregs[2]"),
}
# Load a word from the address in the first argument register.
PEEK = {
    "x86_64": "488b07",
    "arm64": "010040f9",
    "riscv64": "83350500",
    "s390x": "e33020000004",
    "i386": "8b00",
    "arm": "001090e5",
}
ILLEGAL = {
    "x86_64": "0f0b",
    "arm64": "00000000",
    "riscv64": "00000000",
    "s390x": "00020000",
    "i386": "0f0b",
    "arm": "f000f0e7",
}
NOPS = {name: bytes.fromhex(table[:8]) for name, table in SPIN.items()}
NOPS["i386"] = b"\x90" * 4
EXIT = {"x86_64": 60, "arm64": 93, "riscv64": 93, "s390x": 1, "i386": 1, "arm": 1}
GETPID = {"x86_64": 39, "arm64": 172, "riscv64": 172, "s390x": 20, "i386": 20, "arm": 20}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of probes run with hooks on addresses, as there are few of them, and on pages, as if there were many."""
    if "probe" in metafunc.function.__name__:
        metafunc.fixturenames.append("few")
        metafunc.parametrize("few", [probespans.FEW, 0], indirect=True, ids=["addresses", "pages"])


@pytest.fixture
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probespans, "FEW", request.param)


SECOND = {"i386": 3}  # offset of an instruction further on in SPIN


def code(table: dict[str, str], tiny: Any) -> bytes:
    return bytes.fromhex(table[tiny.arch.name])


def first_argument(tiny: Any) -> str:
    return tiny.arch.function_args[0]


def test_three_functions_deep(tiny: Any) -> None:
    """A chain of calls with results, negative numbers and more arguments than x86-64 has registers for."""

    def outer(*args: int) -> Any:
        return (yield ("middle", args[0], -2, 3)) + 1

    def middle(*args: int) -> Any:
        n = len(tiny.cpu.facts.argument_registers)
        return (yield ("inner", *range(10, 10 + min(n + 2, 8)))) * 2

    def inner(*args: int) -> int:
        seen.extend(args)
        seen.extend(tiny.cpu.stack_argument(i) for i in range(min(len(args) + 2, 8) - len(args)))
        return -7

    seen: list[int] = []
    tiny.build(outer=outer, middle=middle, inner=inner)
    assert tiny.call("outer", 5) == -13
    assert seen == list(range(10, 10 + len(seen)))
    assert len(seen) >= 5
    middle_args = next(args for name, args in tiny.calls if name == "middle")
    assert middle_args[:3] == (5, (1 << 8 * tiny.arch.word) - 2, 3)


def test_stack_walk_at_every_instruction(tiny: Any) -> None:
    """A probe on each instruction of a leaf function sees the same callers; registers arrive in pt_regs."""

    def outer(*args: int) -> Any:
        yield ("middle",)
        return 0

    def middle(*args: int) -> Any:
        return (yield ("leaf", 42))

    tiny.build(outer=outer, middle=middle, leaf=lambda *args: args[0] + 1)
    leaf = tiny.symbols["leaf"]
    walks: dict[int, list[str]] = {}

    def hit(regs: int) -> None:
        chain = list(unwind.walk_kernel(tiny.arch, tiny.mem, tiny.symbols, regs))
        walks[chain[0] - leaf.address] = [tiny.symbols.lookup(pc)[0] for pc in chain]
        if chain[0] == leaf.address:
            assert tiny.arch.argument(tiny.mem, regs, 0) == 42
            caller = tiny.arch.return_address(tiny.mem, regs)
            assert tiny.symbols.lookup(caller)[0] == "middle"

    boundaries = tiny.text.boundaries("leaf")
    for offset in boundaries:
        tiny.cpu.add_probe(leaf.address + offset, hit)
    tiny.call("outer")
    executed = [offset for offset in boundaries if offset in walks]
    assert len(executed) >= 8  # the call and the loop back are not reached by a leaf
    for offset in executed:
        hidden = tiny.arch.traces.entry_hides_caller and unwind.frameless(tiny.arch, offset, leaf.size) is not None
        assert walks[offset] == ["leaf", *(["middle"] if not hidden else []), "outer", "start_kernel"], hex(offset)


def test_user_loop(tiny: Any) -> None:
    """System calls, a store that faults and is retried, FP registers that survive both."""
    log: list[tuple[Any, ...]] = []

    def syscall(regs: int, nr: int, *rest: int) -> int:
        argument = tiny.reg(regs, tiny.arch.syscall_args[0])
        log.append(("syscall", nr, argument if nr == EXIT[tiny.arch.name] else None))
        if nr == EXIT[tiny.arch.name]:
            tiny.cpu.stop()
        tiny.layout.set(tiny.mem, regs, tiny.arch.return_value, 1234)
        return 0

    def page_fault(regs: int, error_code: int, address: int, *rest: int) -> int:
        log.append(("fault", error_code, address))
        tiny.data_page(space)
        return 0

    tiny.build(**{tiny.role("syscall"): syscall, tiny.role("page_fault"): page_fault, "schedule_tail": lambda *a: 0})
    space = tiny.user(code(LOOP, tiny))
    tiny.enter_user()
    assert tiny.cpu.run() is Stop.STOPPED
    getpid = ("syscall", GETPID[tiny.arch.name], None)
    fault = ("fault", FAULT_WRITE | FAULT_USER, DATA)
    assert log == [getpid, fault, *[getpid] * 4, ("syscall", EXIT[tiny.arch.name], 5)]


def fault_machine(tiny: Any, program: bytes, **registers: int) -> list[tuple[Any, ...]]:
    """Run a program that faults or traps; the role's handler stops the machine."""
    log: list[tuple[Any, ...]] = []

    def handler(role: str) -> Any:
        def body(regs: int, *args: int) -> int:
            log.append((role, tiny.reg(regs, tiny.arch.instruction_pointer), *args[:2]))
            tiny.cpu.stop()
            return 0

        return body

    tiny.build(**{name: handler(role) for role, name in tiny.arch.entry.handlers.items() if role != "fork"})
    tiny.bodies["schedule_tail"] = lambda *a: 0
    tiny.user(program, **registers)
    tiny.enter_user()
    assert tiny.cpu.run() is Stop.STOPPED
    assert tiny.cpu.in_kernel
    return log


def test_user_may_not_read_kernel_memory(tiny: Any) -> None:
    secret = tiny.mem.alloc(64)
    log = fault_machine(tiny, code(PEEK, tiny), **{first_argument(tiny): secret})
    assert log == [("page_fault", CODE, FAULT_USER, secret & ~0xFFF)]


def test_user_may_not_execute_kernel_text(tiny: Any) -> None:
    tiny.build(dummy=lambda *a: 0)
    target = tiny.text.address("dummy")
    seen: list[tuple[int, ...]] = []

    def page_fault(*args: int) -> int:
        seen.append(args[1:3])
        tiny.cpu.stop()
        return 0

    tiny.bodies[tiny.role("page_fault")] = page_fault
    tiny.bodies["schedule_tail"] = lambda *a: 0
    tiny.user(b"")
    tiny.set_user(tiny.cpu.user_regs, target, {})
    tiny.enter_user()
    assert tiny.cpu.run() is Stop.STOPPED
    assert seen == [(FAULT_USER | FAULT_EXEC, target & ~0xFFF)]


def test_illegal_instruction(tiny: Any) -> None:
    log = fault_machine(tiny, NOPS[tiny.arch.name] + code(ILLEGAL, tiny))
    assert log[0][:2] == ("undefined", CODE + 4)


def test_write_to_read_only_page_is_a_protection_fault(tiny: Any) -> None:
    """Copy on write: the handler puts a writable page there, and the store is done again."""
    log: list[tuple[int, ...]] = []

    def syscall(regs: int, nr: int, *rest: int) -> int:
        if nr == EXIT[tiny.arch.name]:
            tiny.cpu.stop()
        return 0

    def page_fault(regs: int, error_code: int, address: int, *rest: int) -> int:
        log.append((error_code, address))
        space.protect(DATA, PTE_READ | PTE_WRITE)
        return 0

    tiny.build(**{tiny.role("syscall"): syscall, tiny.role("page_fault"): page_fault, "schedule_tail": lambda *a: 0})
    space = tiny.user(code(LOOP, tiny))
    page = tiny.data_page(space, PTE_READ)
    tiny.enter_user()
    tiny.cpu.run()
    assert log == [(FAULT_PROT | FAULT_WRITE | FAULT_USER, DATA)]
    assert int.from_bytes(tiny.phys.read(page << 12, 8), tiny.arch.byteorder) == 4


def spin(tiny: Any) -> None:
    tiny.build(
        **{tiny.role("timer"): lambda regs, *rest: ticks(tiny, regs), "schedule_tail": lambda *a: 0},
    )
    tiny.ticks = []
    tiny.user(code(SPIN, tiny))
    tiny.enter_user()


def ticks(tiny: Any, regs: int) -> int:
    tiny.ticks.append((tiny.cpu.work, *(tiny.reg(regs, f) for f in SPIN_REGISTERS[tiny.arch.name])))
    return 0


def test_preemption_is_deterministic(tiny: Any) -> None:
    spin(tiny)
    for _ in range(5):
        assert tiny.cpu.run(10_000) is Stop.BUDGET
        assert not tiny.cpu.in_kernel
        tiny.cpu.enter_timer()
        assert tiny.cpu.in_kernel
    tiny.cpu.run(1)
    again = type(tiny)(tiny.arch.name)
    spin(again)
    for _ in range(5):
        again.cpu.run(10_000)
        again.cpu.enter_timer()
    again.cpu.run(1)
    assert tiny.ticks == again.ticks
    assert len(tiny.ticks) == 5
    works = [tick[0] for tick in tiny.ticks]
    assert all(10_000 <= b - a <= 10_020 for a, b in zip([0, *works], works))
    # The registers are what the program computes after that many turns: nothing was lost at the interruptions.
    turns = tiny.ticks[-1][1]
    b = c = 0
    for a in range(1, turns + 1):
        b = (b + a) & (1 << 8 * tiny.arch.word) - 1
        if a & 1:
            c ^= b
    assert tiny.ticks[-1][2] == b
    assert tiny.ticks[-1][3] in (c, c ^ b)  # interrupted before or after the xor
    again.cpu.close()


def test_probe_changes_registers_and_skips(tiny: Any) -> None:
    """override_return: at a function's entry set the result and the pc to the return address."""
    tiny.build(outer=lambda *a: iter_call(), victim=lambda *a: 5)

    def iter_call() -> Any:
        return (yield ("victim", 1))

    def hit(regs: int) -> None:
        back = tiny.arch.return_address(tiny.mem, regs)
        tiny.layout.set(tiny.mem, regs, tiny.arch.instruction_pointer, back)
        tiny.layout.set(tiny.mem, regs, tiny.arch.return_value, (1 << (8 * tiny.arch.word)) - 12)
        if tiny.arch.link_register is None:
            sp = tiny.reg(regs, tiny.arch.stack_pointer)
            tiny.layout.set(tiny.mem, regs, tiny.arch.stack_pointer, sp + tiny.arch.word)

    probe = tiny.cpu.add_probe(tiny.text.address("victim"), hit)
    assert tiny.call("outer") == -12
    assert "victim" not in [name for name, _ in tiny.calls]
    tiny.cpu.remove_probe(probe)
    assert tiny.call("outer") == 5


def test_registers_may_be_copied_inside_a_probe(tiny: Any) -> None:
    """write_pt_regs() to another place shows the CPU as it is; the hit's own frame keeps the ip offset."""
    tiny.build(outer=lambda *a: iter_call(), victim=lambda *a: 5)
    other = tiny.mem.alloc(tiny.layout.size)
    seen: list[tuple[int, int]] = []
    ip = tiny.arch.instruction_pointer

    def iter_call() -> Any:
        return (yield ("victim", 1))

    def hit(regs: int) -> None:
        tiny.cpu.write_pt_regs(other)
        seen.append((tiny.reg(regs, ip), tiny.reg(other, ip)))

    address = tiny.text.address("victim")
    tiny.cpu.add_probe(address, hit, ip_offset=1)
    assert tiny.call("outer") == 5
    assert seen == [(address + 1, address)]


def test_return_probe(tiny: Any) -> None:
    """The return address is replaced by the trampoline's; a probe there sends the function home."""
    tiny.build(outer=lambda *a: iter_call(), victim=lambda *a: 5)
    saved: list[int] = []
    results: list[int] = []

    def iter_call() -> Any:
        return (yield ("victim", 1))

    def entry(regs: int) -> None:
        saved.append(tiny.arch.return_address(tiny.mem, regs))
        tiny.arch.set_return_address(tiny.mem, regs, tiny.text.kretprobe_trampoline)

    def leave(regs: int) -> None:
        assert tiny.reg(regs, tiny.arch.instruction_pointer) == tiny.text.kretprobe_trampoline
        results.append(tiny.reg(regs, tiny.arch.return_value))
        tiny.layout.set(tiny.mem, regs, tiny.arch.instruction_pointer, saved.pop())

    tiny.cpu.add_probe(tiny.text.address("victim"), entry)
    tiny.cpu.add_probe(tiny.text.kretprobe_trampoline, leave)
    assert tiny.call("outer") == 5
    assert tiny.call("outer") == 5
    assert results == [5, 5]


def test_two_probes_share_an_address(tiny: Any) -> None:
    tiny.build(outer=lambda *a: iter_call(), victim=lambda *a: 5)
    log: list[str] = []

    def iter_call() -> Any:
        return (yield ("victim", 1))

    address = tiny.text.address("victim")
    first = tiny.cpu.add_probe(address, lambda regs: log.append("first"))
    second = tiny.cpu.add_probe(address, lambda regs: log.append("second"))
    tiny.call("outer")
    tiny.cpu.remove_probe(first)
    tiny.call("outer")
    tiny.cpu.remove_probe(second)
    tiny.call("outer")
    assert log == ["first", "second", "second"]


def test_many_probes(tiny: Any) -> None:
    """Each hit once, before and after hooks go over to pages, and none of those removed."""
    names = [f"f{i}" for i in range(40)]

    def all_of_them(*args: int) -> Any:
        for name in names:
            yield (name,)
        return 0

    tiny.build(outer=all_of_them, **{name: lambda *args: 0 for name in names})
    hits: list[int] = []
    probes = []
    for number, name in enumerate(names):
        probes.append(tiny.cpu.add_probe(tiny.text.address(name), lambda regs, number=number: hits.append(number)))
    for probe in probes[::3]:
        tiny.cpu.remove_probe(probe)
    again = tiny.cpu.add_probe(tiny.text.address("f0"), lambda regs: hits.append(100))
    tiny.call("outer")
    assert hits == [100] + [number for number in range(40) if number % 3]
    for probe in (again, *(p for number, p in enumerate(probes) if number % 3)):
        tiny.cpu.remove_probe(probe)
    assert not tiny.cpu._spans and not tiny.cpu._hooked and not tiny.cpu._hooks_to_delete


def test_user_probe(tiny: Any) -> None:
    """A probe on user text, added after that text ran; its pt_regs is the task's, with the user's registers."""
    spin(tiny)
    tiny.cpu.run(100)
    hits: list[tuple[int, int]] = []

    def hit(regs: int) -> None:
        assert regs == tiny.cpu.user_regs
        hits.append((tiny.reg(regs, tiny.arch.instruction_pointer), tiny.reg(regs, SPIN_REGISTERS[tiny.arch.name][0])))

    probe = tiny.cpu.add_probe(CODE, hit, user=True)
    tiny.cpu.run(100)
    assert len(hits) > 5
    assert all(pc == CODE for pc, _ in hits)
    counters = [counter for _, counter in hits]
    assert counters == list(range(counters[0], counters[0] + len(counters)))
    tiny.cpu.remove_probe(probe)
    before = len(hits)
    tiny.cpu.run(100)
    assert len(hits) == before


def test_user_probe_removes_itself_and_sets_another(tiny: Any) -> None:
    """From inside a handler, while translated code is live."""
    spin(tiny)
    tiny.cpu.run(100)
    first: list[int] = []
    second: list[int] = []

    def once(regs: int) -> None:
        first.append(regs)
        tiny.cpu.remove_probe(probe)
        tiny.cpu.add_probe(CODE + SECOND.get(tiny.arch.name, 4), second.append, user=True)

    probe = tiny.cpu.add_probe(CODE, once, user=True)
    assert tiny.cpu.run(200) is Stop.BUDGET
    assert len(first) == 1
    assert len(second) > 5


def test_stop_in_a_probe_hits_once(tiny: Any) -> None:
    spin(tiny)
    counters: list[int] = []

    def hit(regs: int) -> None:
        counters.append(tiny.reg(regs, SPIN_REGISTERS[tiny.arch.name][0]))
        tiny.cpu.stop()

    tiny.cpu.add_probe(CODE, hit, user=True)
    for _ in range(5):
        assert tiny.cpu.run() is Stop.STOPPED
    assert counters == [0, 1, 2, 3, 4]


def test_exception_in_a_body_comes_out_of_run(tiny: Any) -> None:
    def broken(*args: int) -> int:
        raise LookupError("our bug")

    tiny.build(broken=broken)
    with pytest.raises(LookupError, match="our bug"):
        tiny.call("broken")


def test_exception_in_a_probe_comes_out_of_run(tiny: Any) -> None:
    tiny.build(fine=lambda *a: 0)

    def hit(regs: int) -> None:
        raise LookupError("our bug")

    tiny.cpu.add_probe(tiny.text.address("fine"), hit)
    with pytest.raises(LookupError, match="our bug"):
        tiny.call("fine")


def test_kernel_fault_is_a_crash(tiny: Any) -> None:
    def wild(*args: int) -> Any:
        tiny.cpu.sp = 0x10  # the next push goes nowhere
        return (yield ("wild",))

    tiny.build(wild=wild)
    if tiny.arch.map.direct_map == 0:
        pytest.skip("address 16 is ordinary memory here")
    with pytest.raises(KernelCrash):
        tiny.call("wild")


# A branch to itself, as it lies in memory.
TO_ITSELF = {
    "x86_64": "ebfe",
    "i386": "ebfe",
    "arm64": "00000014",
    "arm": "feffffea",
    "riscv64": "6f000000",
    "s390x": "a7f40000",
}


def test_kernel_code_that_goes_round_for_good_is_a_crash(tiny: Any) -> None:
    """Written over a kernel function: no hypercall and no page fault ever leads back to Python."""

    def lost(*args: int) -> Any:
        return (yield ("fine",))

    tiny.build(lost=lost, fine=lambda *args: 0)
    tiny.mem.write(tiny.text.address("fine"), bytes.fromhex(TO_ITSELF[tiny.arch.name]))
    with pytest.raises(KernelCrash, match="LOCKUP"):
        tiny.call("lost", budget=1000)  # as every machine runs


def test_task_switch(tiny: Any) -> None:
    """Two user tasks that spin; a timer switches stacks, address spaces and user contexts."""
    tiny.cpu_tasks = tasks = {}
    a, b, _ = SPIN_REGISTERS[tiny.arch.name]
    seen: list[tuple[int, int, int]] = []

    def timer(regs: int, *rest: int) -> Any:
        seen.append((tiny.task, tiny.reg(regs, a), tiny.reg(regs, b)))
        if len(seen) == 7:
            tiny.cpu.stop()
        yield ("schedule",)
        return 0

    def schedule(*args: int) -> Any:
        yield (tiny.text.facts.switch_symbol, tiny.task, 1 - tiny.task)
        return 0

    def on_switch() -> None:
        old, new = tasks[tiny.task], tasks[1 - tiny.task]
        tiny.task = 1 - tiny.task
        old["sp"] = tiny.cpu.switch_stack(new["sp"])
        tiny.cpu.save_user(old["context"])
        tiny.cpu.load_user(new["context"])
        tiny.cpu.kernel_stack = new["top"]
        tiny.cpu.set_address_space(new["space"])

    tiny.build(**{tiny.role("timer"): timer, "schedule": schedule, "schedule_tail": lambda *args: 0})
    tiny.cpu.on_switch = on_switch
    tiny.stacks = {0: [], 1: []}
    for n in (1, 0):
        top = tiny.top if n == 0 else tiny.new_stack()
        tiny.cpu.kernel_stack = top
        space = tiny.user(code(SPIN, tiny), **{a: 1000 * n})
        context = tiny.cpu.new_context()
        tasks[n] = {"top": top, "space": space, "context": context, "sp": tiny.text.new_stack(top)}
    tiny.enter_user()
    while len(seen) < 7:
        if tiny.cpu.run(200) is Stop.BUDGET:
            tiny.cpu.enter_timer()
    assert [task for task, _, _ in seen] == [0, 1, 0, 1, 0, 1, 0]
    for task in (0, 1):
        counters = [value for who, value, _ in seen if who == task]
        assert counters == sorted(counters)
        start = 1000 * task
        assert all(value > start for value in counters)
        last = [(value, total) for who, value, total in seen if who == task][-1]
        assert last[1] in (sum(range(start + 1, last[0] + 1)), sum(range(start + 1, last[0])))


def test_contexts_of_simulated_cpus(tiny: Any) -> None:
    """Between runs, whole CPUs are exchanged."""
    spin(tiny)
    tiny.cpu.run(500)
    one = tiny.cpu.new_context()
    tiny.cpu.save_context(one)
    pc, work = tiny.cpu.pc, tiny.cpu.work
    tiny.cpu.run(1000)
    tiny.cpu.load_context(one)
    assert tiny.cpu.pc == pc
    assert not tiny.cpu.in_kernel
    assert tiny.cpu.work > work
    tiny.cpu.run(500)


def test_rewritten_user_code_is_seen(tiny: Any) -> None:
    """poke() drops translated code: the loop's jump becomes an illegal instruction."""
    from arch.mmu import UserMemory

    tiny.build(
        **{
            tiny.role("timer"): lambda regs, *rest: 0,
            tiny.role("undefined"): lambda regs, *rest: tiny.cpu.stop() or 0,
            "schedule_tail": lambda *a: 0,
        }
    )
    space = tiny.user(code(SPIN, tiny))
    tiny.enter_user()
    assert tiny.cpu.run(500) is Stop.BUDGET
    user = UserMemory(space)
    user.on_code_change = tiny.cpu.code_page_changed
    user.poke(CODE, code(ILLEGAL, tiny))
    assert tiny.cpu.run(500) is Stop.STOPPED


FP_PATTERN_AT = {"x86_64": 160, "arm64": 8, "riscv64": 0, "s390x": 8, "i386": 160, "arm": 0}


def test_fp_state_round_trip(tiny: Any) -> None:
    """Signal frames: the image is read, changed and loaded; user code sees the new registers."""
    tiny.build(dummy=lambda *a: 0)
    at = FP_PATTERN_AT[tiny.arch.name]
    fresh = tiny.cpu.fp_state()
    changed = bytearray(fresh)
    changed[at : at + 8] = bytes(range(1, 9))
    tiny.cpu.set_fp_state(bytes(changed))
    assert tiny.cpu.fp_state() == bytes(changed)
    context = tiny.cpu.new_context()
    tiny.cpu.save_user(context)
    tiny.cpu.load_user(None)
    assert tiny.cpu.fp_state() == fresh
    tiny.cpu.load_user(context)
    assert tiny.cpu.fp_state() == bytes(changed)


def test_thread_pointer_of_a_saved_context(tiny: Any) -> None:
    tiny.build(dummy=lambda *a: 0)
    child = tiny.cpu.new_context()
    tiny.cpu.save_user(child)
    if tiny.arch.name == "i386":  # a descriptor of the global table
        child.descriptors = bytes.fromhex("ffff785634f3cf12") + bytes(16)
        tiny.cpu.load_user(child)
        assert tiny.cpu.mem.read(tiny.cpu.gdt + 48, 24) == child.descriptors == tiny.cpu.thread_descriptors
        return
    child.tls = 0x12345678
    assert child.tls == 0x12345678
    tiny.cpu.load_user(child)
    if tiny.arch.name != "riscv64":  # there tp is an ordinary register, held by pt_regs
        assert tiny.cpu.tls == 0x12345678


@pytest.mark.parametrize("tiny", ["x86_64"], indirect=True)
def test_fp_state_of_x87_is_an_fxsave_image(tiny: Any) -> None:
    image = bytearray(tiny.cpu.fp_state())
    assert image[0:2] == (0x37F).to_bytes(2, "little")
    assert image[4] == 0  # all empty
    assert image[24:28] == (0x1F80).to_bytes(4, "little")
    image[4] = 0x80  # one register in use
    image[32:42] = (0x3FFF8000000000000000).to_bytes(10, "little")  # st(0) = 1.0
    image[2:4] = (7 << 11).to_bytes(2, "little")
    tiny.cpu.set_fp_state(bytes(image))
    assert tiny.cpu.fp_state() == bytes(image)


def test_user_probe_removed_from_the_kernel_while_its_page_is_gone(tiny: Any) -> None:
    """As when a process exits or a file's mapping goes away; then the machine runs on."""
    log: list[int] = []
    seen: list[int] = []

    def timer(regs: int, *rest: int) -> int:
        if not log:
            page = space.unmap(CODE)
            tiny.cpu.remove_probe(probe)
            log.append(page)
        return 0

    def page_fault(regs: int, error_code: int, address: int, *rest: int) -> int:
        seen.append(address)
        space.map(CODE, log[0] >> 12, log[0] & 0xFFF)
        return 0

    tiny.build(**{tiny.role("timer"): timer, tiny.role("page_fault"): page_fault, "schedule_tail": lambda *a: 0})
    space = tiny.user(code(SPIN, tiny))
    hits: list[int] = []
    probe = tiny.cpu.add_probe(CODE, hits.append, user=True)
    tiny.enter_user()
    for _ in range(4):
        assert tiny.cpu.run(200) is Stop.BUDGET
        tiny.cpu.enter_timer()
    assert seen == [CODE]
    first = len(hits)
    assert first > 5
    tiny.cpu.run(200)
    assert len(hits) == first


DIVIDE = {"x86_64": "31d231c9f7f1", "i386": "31d231c9f7f1", "s390x": "a7380000b9970023"}  # by zero


@pytest.mark.parametrize("tiny", list(DIVIDE), indirect=True)
def test_divide_by_zero(tiny: Any) -> None:
    log = fault_machine(tiny, code(DIVIDE, tiny))
    assert log[0][:2] == ("divide", CODE + 4)


BREAKPOINT = {
    "x86_64": "cc", "i386": "cc", "arm64": "000020d4", "riscv64": "73001000", "s390x": "0001", "arm": "700020e1",
}  # fmt: skip


def test_breakpoint_instruction(tiny: Any) -> None:
    log = fault_machine(tiny, code(BREAKPOINT, tiny))
    after = 1 if tiny.arch.name in ("x86_64", "i386") else 0
    assert log[0][:2] == ("breakpoint", CODE + after)


# A hundred times: write a number into the instruction "result = number" of two functions at 0x600000 and 0x700000, call
# both, add up; then exit(sum).
SELF_MODIFYING = {
    "x86_64": "31db31d2ffc3b900006000895901ffd101c2b900007000895901ffd101c283fb647ce189d7b83c0000000f05",
    "arm64": "13008052160080521750aa52140ca0d2150ea0d273060011e116132a810200b9df3f03d580023fd6d602000ba10200b9df3f03d5"
    "a0023fd6d602000b7f920171abfeff54e003162aa80b80d2010000d4",
    "riscv64": "930400001309000093093051370a6000b70a70009384140093954401b3e535012320ba000f100000e7000a003309a9002"
    "3a0ba000f100000e7800a003309a90093024006e3c854fc130509009308d00573000000",
    "s390x": "a7790000a7890000a59e0060a5ae0070a77b0001407090020de91a824070a0020dea1a82a77f0064a744fff4b90400280a01",
    "i386": "31db31d243b900006000895901ffd101c2b900007000895901ffd101c283fb647ce289d3b801000000cd80",
    "arm": "0040a0e30050a0e30666a0e30786a0e3014084e20040c6e56ff07ff536ff2fe1005085e00040c8e56ff07ff538ff2fe1005085e0"
    "640054e3f4ffffba0500a0e10170a0e3000000ef",
}
RETURN_NUMBER = {
    "x86_64": "b800000000c3",
    "arm64": "00008052c0035fd6",
    "riscv64": "1305000067800000",
    "s390x": "a728000007fe",
    "i386": "b800000000c3",
    "arm": "0000a0e31eff2fe1",
}


def test_pages_that_are_written_and_executed(tiny: Any) -> None:
    """As a just-in-time compiler does: what was written last is what runs."""
    sums: list[int] = []

    def syscall(regs: int, nr: int, *rest: int) -> int:
        sums.append(tiny.reg(regs, tiny.arch.syscall_args[0]))
        tiny.cpu.stop()
        return 0

    tiny.build(**{tiny.role("syscall"): syscall, "schedule_tail": lambda *a: 0})
    space = tiny.user(code(SELF_MODIFYING, tiny), **{tiny.arch.stack_pointer: DATA + 2048})
    tiny.data_page(space)
    for address in (0x600000, 0x700000):
        page = tiny.phys.alloc_page()
        tiny.phys.write(page << 12, code(RETURN_NUMBER, tiny))
        space.map(address, page, PTE_READ | PTE_WRITE | PTE_EXEC)
    tiny.enter_user()
    assert tiny.cpu.run() is Stop.STOPPED
    assert sums == [2 * 5050]


def test_run_inside_a_handler_is_refused(tiny: Any) -> None:
    tiny.build(nested=lambda *a: tiny.cpu.run())
    with pytest.raises(RuntimeError, match="called from a handler"):
        tiny.call("nested")


# wfi; b back to it (thumb code needs the mode bit, which a fresh user task has not)
WAITS = {"arm": "03f020e3 fdffffea", "arm64": "7f2003d5 ffffff17"}


def test_waiting_for_an_interrupt_is_user_codes_right(tiny: Any) -> None:
    """Linux lets it wait; here an interrupt is always just coming."""
    if tiny.arch.name not in WAITS:
        pytest.skip("refused, or another way of waiting")
    tiny.build(**{tiny.role("timer"): lambda regs, *rest: 0, "schedule_tail": lambda *a: 0})
    tiny.user(bytes.fromhex(WAITS[tiny.arch.name]))
    tiny.enter_user()
    for _ in range(3):
        assert tiny.cpu.run(1000) is Stop.BUDGET
        assert 0x400000 <= tiny.cpu.pc < 0x400008
        tiny.cpu.enter_timer()


def test_a_probe_at_a_pages_first_address_and_many_others(tiny: Any) -> None:
    """Its own hook begins where the page's would: it goes before that one is looked for."""
    probes = [tiny.cpu.add_probe(CODE + 4 * number, lambda regs: None, user=True) for number in range(20)]
    for probe in probes:
        tiny.cpu.remove_probe(probe)
