"""i386 kernel text: the function template, entry stubs, return to user mode, stack switch.

arch/x86/entry/entry_32.S, as far as the shape goes.  Hypercall: int 0x81 with the code in ebx, the target in esi.
"""

from __future__ import annotations

from collections.abc import Mapping

from arch.support import Resolve, Stub

HYPERCALL = bytes.fromhex("cd81")  # int $0x81
OUTGOING_SLOTS = 8
FRAME = 12 + 4 * OUTGOING_SLOTS  # ebp, ebx, esi and outgoing arguments


def _code(value: int) -> bytes:
    """mov $value, %ebx"""
    return b"\xbb" + (value & 0xFFFFFFFF).to_bytes(4, "little")


def function(index: int) -> bytes:
    """A kernel function: nop5, frame, hypercall loop, return."""
    head = bytes.fromhex("0f1f440000 55 89e5 53 56 83ec20") + _code(index) + HYPERCALL
    loop = bytes.fromhex("85f6 740b ffd6") + _code(-1) + HYPERCALL + bytes.fromhex("ebf1")
    return head + loop + bytes.fromhex("83c420 5e 5b 5d c3")


def _rel32(opcode: bytes, address: int, target: int) -> bytes:
    """A call or jump with a 32-bit displacement."""
    return opcode + (target - (address + len(opcode) + 4) & 0xFFFFFFFF).to_bytes(4, "little")


RETURN_TO_USER = "restore_all_switch_stack"


def _entry(handler: str) -> Stub:
    def build(address: int, resolve: Resolve) -> bytes:
        code = bytes.fromhex("31ed")  # xor %ebp,%ebp: the frame chain ends here
        code += _rel32(b"\xe8", address + len(code), resolve(handler))
        return code + _rel32(b"\xe9", address + len(code), resolve(RETURN_TO_USER))

    return Stub("", build)


def _return_to_user(address: int, resolve: Resolve) -> bytes:
    """Pop struct pt_regs and iret."""
    return bytes.fromhex("5b 59 5a 5e 5f 5d 58 1f 07 0fa1 0fa9 83c404 cf")


def _switch_to(address: int, resolve: Resolve) -> bytes:
    """__switch_to_asm(prev, next): callee-saved registers on the old stack, then off the new one; eax = prev."""
    return bytes.fromhex("55 53 57 56") + _code(-2) + HYPERCALL + bytes.fromhex("5e 5f 5b 5d c3")


SWITCH_FRAME = (0, "arg", "fn", "fp", "pc")  # esi edi ebx ebp, return address


def _fork(schedule_tail: str) -> Stub:
    """ret_from_fork: eax = prev; ebx = kernel thread function or 0, edi = its argument."""

    def build(address: int, resolve: Resolve) -> bytes:
        code = bytes.fromhex("31ed")
        code += _rel32(b"\xe8", address + len(code), resolve(schedule_tail))
        code += bytes.fromhex("85db 7404 89f8 ffd3")  # test %ebx; je 1f; mov %edi,%eax; call *%ebx
        return code + _rel32(b"\xe9", address + len(code), resolve(RETURN_TO_USER))

    return Stub("", build)


def stubs(names: Mapping[str, str], handlers: Mapping[str, str]) -> list[Stub]:
    """All hand-made text, in order of placement."""
    result = [Stub(name, _entry(handlers[role]).build, {role: 0}) for role, name in names.items() if role != "fork"]
    result.append(Stub(RETURN_TO_USER, _return_to_user))
    result.append(Stub("__switch_to_asm", _switch_to))
    result.append(Stub(names["fork"], _fork(handlers["fork"]).build))
    result.append(Stub("arch_rethook_trampoline", lambda address, resolve: bytes.fromhex("90 0f0b")))
    return result


# __kernel_rt_sigreturn: mov $173,%eax; int $0x80.  arch/x86/entry/vdso/vdso32/sigreturn.S
VDSO = bytes.fromhex("b8ad000000 cd80")
