"""x86-64 kernel text: the function template, entry stubs, return to user mode, stack switch.

arch/x86/entry/entry_64.S, as far as the shape goes.  Hypercall: int 0x81 with the code in r10d.
"""

from __future__ import annotations

from collections.abc import Mapping

from arch.support import Resolve, Stub

HYPERCALL = bytes.fromhex("cd81")  # int $0x81
NOP5 = bytes.fromhex("0f1f440000")
OUTGOING_SLOTS = 4
ESPFIX = 0xFFFFFF00_00000000  # ESPFIX_BASE_ADDR: 4 GiB that are one page.  arch/x86/include/asm/pgtable_64_types.h
ESPFIX_FRAME = 0x800  # where in that page, which begins with the descriptor table


def _code(value: int) -> bytes:
    """mov $value, %r10d"""
    return b"\x41\xba" + (value & 0xFFFFFFFF).to_bytes(4, "little")


def function(index: int) -> bytes:
    """A kernel function: nop5, frame, hypercall loop, leave, ret."""
    head = NOP5 + bytes.fromhex("55 4889e5 4883ec20") + _code(index) + HYPERCALL
    call = bytes.fromhex("41ffd3") + _code(-1) + HYPERCALL  # call *%r11
    test = bytes.fromhex("4d85db") + b"\x74" + bytes([len(call) + 2])  # test %r11,%r11; je out
    back = b"\xeb" + ((-(len(test) + len(call) + 2)) & 0xFF).to_bytes(1, "little")
    return head + test + call + back + bytes.fromhex("c9 c3")


def jumping_function(index: int) -> bytes:
    """A kernel function that ends in a jump: nop5, frame, hypercall, leave; jump to the target, or return if there is none."""
    head = NOP5 + bytes.fromhex("55 4889e5 4883ec20") + _code(index) + HYPERCALL
    return head + bytes.fromhex("c9 4d85db 7403 41ffe3 c3")  # leave; test %r11,%r11; je 1f; jmp *%r11; 1: ret


def _rel32(opcode: bytes, address: int, target: int) -> bytes:
    """A call or jump with a 32-bit displacement."""
    return opcode + (target - (address + len(opcode) + 4) & 0xFFFFFFFF).to_bytes(4, "little")


AFTER_HWFRAME = "entry_SYSCALL_64_after_hwframe"
RETURN_TO_USER = "swapgs_restore_regs_and_return_to_usermode"


def _syscall_entry(address: int, resolve: Resolve) -> bytes:
    """entry_SYSCALL_64 up to where struct pt_regs stands."""
    code = bytes.fromhex("31ed")
    return code + _rel32(b"\xe9", address + len(code), resolve(AFTER_HWFRAME))


def _entry(handler: str) -> Stub:
    """Stub of a role: the CPU has set sp = regs and the C arguments."""

    def build(address: int, resolve: Resolve) -> bytes:
        code = bytes.fromhex("31ed")  # xor %ebp,%ebp: the frame chain ends here
        code += _rel32(b"\xe8", address + len(code), resolve(handler))
        return code + _rel32(b"\xe9", address + len(code), resolve(RETURN_TO_USER))

    return Stub("", build)


def _return_to_user(address: int, resolve: Resolve) -> bytes:
    """Pop struct pt_regs and iretq.

    iretq to a 16-bit stack leaves bits 31 to 16 of the stack pointer as the kernel has them.  So to a segment of the process's own
    (bit 2 of ss) it is done on a stack where these are the program's: the frame goes to a page that is seen at any such address.
    """
    pops = "415f 415e 415d 415c 5d 5b 415b 415a 4159 4158 58 59 5a 5e 5f"  # r15..r12 bp bx r11..r8 ax cx dx si di
    code = bytes.fromhex(pops) + bytes.fromhex("4883c408")  # skip orig_ax
    code += bytes.fromhex("f644242004 7502 48cf")  # testb $4,32(%rsp); jne 1f; iretq; 1:
    code += bytes.fromhex("50 57 8b442428 250000ffff")  # push %rax; push %rdi; mov 40(%rsp),%eax; and $0xffff0000,%eax
    code += (
        bytes.fromhex("48bf") + (ESPFIX + ESPFIX_FRAME).to_bytes(8, "little") + bytes.fromhex("4809c7")
    )  # movabs; or %rax,%rdi
    for at in range(0, 56, 8):  # rdi, rax, and the frame: ip, cs, flags, sp, ss
        code += (
            bytes.fromhex("488b4424") + bytes([at]) + bytes.fromhex("488947") + bytes([at])
        )  # mov %rsp[at],%rax; mov %rax,%rdi[at]
    return code + bytes.fromhex("4889fc 5f 58 48cf")  # mov %rdi,%rsp; pop %rdi; pop %rax; iretq


def _switch_to(address: int, resolve: Resolve) -> bytes:
    """__switch_to_asm(prev, next): callee-saved registers on the old stack, then off the new one; rax = prev."""
    code = bytes.fromhex("55 53 4154 4155 4156 4157 4889f8") + _code(-2) + HYPERCALL
    return code + bytes.fromhex("415f 415e 415d 415c 5b 5d c3")


def _fork(schedule_tail: str) -> Stub:
    """ret_from_fork: rax = prev; rbx = kernel thread function or 0, r12 = its argument."""

    def build(address: int, resolve: Resolve) -> bytes:
        code = bytes.fromhex("31ed 4889c7")  # xor %ebp,%ebp; mov %rax,%rdi
        code += _rel32(b"\xe8", address + len(code), resolve(schedule_tail))
        code += bytes.fromhex("4885db 7405 4c89e7 ffd3")  # test %rbx; je 1f; mov %r12,%rdi; call *%rbx
        return code + _rel32(b"\xe9", address + len(code), resolve(RETURN_TO_USER))

    return Stub("", build)


def stubs(names: Mapping[str, str], handlers: Mapping[str, str]) -> list[Stub]:
    """All hand-made text, in order of placement."""
    roles = [role for role in names if role not in ("fork", "syscall")]
    result = [
        Stub(names["syscall"], _syscall_entry, {"syscall": 0}),
        Stub(AFTER_HWFRAME, _entry(handlers["syscall"]).build),
    ]
    result += [Stub(names[role], _entry(handlers[role]).build, {role: 0}) for role in roles]
    result.append(Stub(RETURN_TO_USER, _return_to_user))
    result.append(Stub("__switch_to_asm", _switch_to))
    result.append(Stub(names["fork"], _fork(handlers["fork"]).build))
    # Never executed as such: a probe sits on the first instruction.  arch/x86/kernel/rethook.c
    result.append(Stub("arch_rethook_trampoline", lambda address, resolve: bytes.fromhex("90 0f0b")))
    return result


def vdso_call(number: int) -> bytes:
    """push %rbp; mov %rsp,%rbp; mov $number,%eax; syscall; pop %rbp; ret."""
    return b"\x55\x48\x89\xe5\xb8" + number.to_bytes(4, "little") + b"\x0f\x05\x5d\xc3"
