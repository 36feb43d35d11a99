"""32-bit ARM kernel text (A32): the function template, entry stubs, return to user mode, stack switch.

arch/arm/kernel/entry-common.S, as far as the shape goes.  Hypercall: svc #0x53 in supervisor mode with the code in ip,
which gets the target.
"""

from __future__ import annotations

from collections.abc import Mapping

from arch.support import Resolve, Stub

NOP = 0xE320F000
SVC = 0xEF000053
OUTGOING_SLOTS = 6


def _words(*words: int) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)


def function(index: int) -> bytes:
    """A kernel function: nop, frame, hypercall loop, return."""
    movw = 0xE300C000 | ((index >> 12) << 16) | (index & 0xFFF)
    return _words(
        NOP,
        0xE92D4800,  # push {fp, lr}
        0xE28DB004,  # add fp, sp, #4
        0xE24DD018,  # sub sp, sp, #24
        movw,  # movw ip, #index
        SVC,
        0xE35C0000,  # 1: cmp ip, #0
        0x0A000003,  # beq 2f
        0xE12FFF3C,  # blx ip
        0xE3E0C000,  # mvn ip, #0
        SVC,
        0xEAFFFFF9,  # b 1b
        0xE24BD004,  # 2: sub sp, fp, #4
        0xE8BD8800,  # pop {fp, pc}
    )


def _branch(opcode: int, address: int, code: bytes, target: int) -> bytes:
    """b (0xea000000) or bl (0xeb000000)."""
    offset = target - (address + len(code) + 8)
    return code + _words(opcode | ((offset >> 2) & 0xFFFFFF))


_END_OF_FRAMES = _words(0xE3A0B000, 0xE3A0E000)  # mov fp, #0; mov lr, #0
_ENTRY_SIZE = 16


def _entry(name: str, roles: Mapping[str, str]) -> Stub:
    """One vector: an entry for each of its roles, 16 bytes apart."""

    def build(address: int, resolve: Resolve) -> bytes:
        code = b""
        for handler in roles.values():
            code = _branch(0xEB000000, address, code + _END_OF_FRAMES, resolve(handler))
            code = _branch(0xEA000000, address, code, resolve("ret_to_user"))
        return code

    return Stub(name, build, {role: i * _ENTRY_SIZE for i, role in enumerate(roles)})


def _return_to_user(address: int, resolve: Resolve) -> bytes:
    """Load struct pt_regs: spsr, the user bank of registers, pc."""
    return _words(
        0xE59D1040,  # ldr r1, [sp, #64]
        0xE59DE03C,  # ldr lr, [sp, #60]
        0xE16FF001,  # msr spsr_fsxc, r1
        0xE8DD7FFF,  # ldm sp, {r0-lr}^
        NOP,
        0xE1B0F00E,  # movs pc, lr
    )


def _switch_to(address: int, resolve: Resolve) -> bytes:
    """__switch_to(prev, next): callee-saved registers on the old stack, then off the new one; r0 = prev."""
    return _words(
        0xE92D4FF0,  # push {r4-fp, lr}
        0xE24DD004,  # sub sp, sp, #4
        0xE3E0C001,  # mvn ip, #1
        SVC,
        0xE28DD004,  # add sp, sp, #4
        0xE8BD8FF0,  # pop {r4-fp, pc}
    )


SWITCH_FRAME = (0, "fn", "arg", 0, 0, 0, 0, 0, "fp", "pc")  # pad, r4 r5 r6..fp, return address


def _fork(schedule_tail: str) -> Stub:
    """ret_from_fork: r0 = prev; r4 = kernel thread function or 0, r5 = its argument."""

    def build(address: int, resolve: Resolve) -> bytes:
        code = _branch(0xEB000000, address, _END_OF_FRAMES, resolve(schedule_tail))
        code += _words(0xE3540000, 0x0A000001, 0xE1A00005, 0xE12FFF34)  # cmp r4, #0; beq 1f; mov r0, r5; blx r4
        return _branch(0xEA000000, address, code, resolve("ret_to_user"))

    return Stub("ret_from_fork", build)


def stubs(names: Mapping[str, str], handlers: Mapping[str, str]) -> list[Stub]:
    """All hand-made text, in order of placement."""
    vectors: dict[str, dict[str, str]] = {}
    for role, name in names.items():
        if role != "fork":
            vectors.setdefault(name, {})[role] = handlers[role]
    result = [_entry(name, roles) for name, roles in vectors.items()]
    result.append(Stub("ret_to_user", _return_to_user))
    result.append(Stub("__switch_to", _switch_to))
    result.append(_fork(handlers["fork"]))
    result.append(Stub("__kretprobe_trampoline", lambda address, resolve: _words(NOP, 0xE7F000F0)))
    return result


# rt_sigreturn: mov r7, #173; svc #0.  arch/arm/kernel/sigreturn_codes.S
VDSO = _words(0xE3A070AD, 0xEF000000)
