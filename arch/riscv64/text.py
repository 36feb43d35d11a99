"""riscv64 kernel text: the function template, entry stubs, return to user mode, stack switch.

arch/riscv/kernel/entry.S, as far as the shape goes.  Hypercall: ecall in supervisor mode with the code in t0.
"""

from __future__ import annotations

from collections.abc import Mapping

from arch.riscv64.registers import ABI_NAMES
from arch.support import Resolve, Stub

NOP = 0x00000013
ECALL = 0x00000073
RET = 0x00008067
SP, T0, T1, S0, S1, A0, S2 = 2, 5, 6, 8, 9, 10, 18
RA = 1


def _words(*words: int) -> bytes:
    return b"".join((word & 0xFFFFFFFF).to_bytes(4, "little") for word in words)


def _ld(rd: int, offset: int, base: int = SP) -> int:
    return (offset << 20) | (base << 15) | 0x3003 | (rd << 7)


def _sd(rs: int, offset: int, base: int = SP) -> int:
    return ((offset >> 5) << 25) | (rs << 20) | (base << 15) | 0x3023 | ((offset & 31) << 7)


def _addi(rd: int, rs: int, value: int) -> int:
    return ((value & 0xFFF) << 20) | (rs << 15) | (rd << 7) | 0x13


def _jal(rd: int, offset: int) -> int:
    u = offset & 0x1FFFFF
    imm = ((u >> 20) << 31) | (((u >> 1) & 0x3FF) << 21) | (((u >> 11) & 1) << 20) | (((u >> 12) & 0xFF) << 12)
    return imm | (rd << 7) | 0x6F


def function(index: int) -> bytes:
    """A kernel function: nops, frame, hypercall loop, return."""
    high = (index + 0x800) & 0xFFFFF000
    return _words(
        NOP,
        NOP,
        _addi(SP, SP, -32),
        _sd(RA, 24),
        _sd(S0, 16),
        _addi(S0, SP, 32),
        high | (T0 << 7) | 0x37,  # lui t0, high
        _addi(T0, T0, index - high),
        ECALL,
        0x00030A63,  # 1: beqz t1, 2f
        0x000300E7,  # jalr t1
        _addi(T0, 0, -1),
        ECALL,
        _jal(0, -16),  # j 1b
        _ld(RA, 24),  # 2:
        _ld(S0, 16),
        _addi(SP, SP, 32),
        RET,
    )


def _call(address: int, code: bytes, target: int) -> bytes:
    return code + _words(_jal(RA, target - address - len(code)))


def _jump(address: int, code: bytes, target: int) -> bytes:
    return code + _words(_jal(0, target - address - len(code)))


_END_OF_FRAMES = _words(_addi(S0, 0, 0), _addi(RA, 0, 0))
_ENTRY_SIZE = 16


def _entry(name: str, roles: Mapping[str, str]) -> Stub:
    """The trap vector: an entry for each role, 16 bytes apart."""

    def build(address: int, resolve: Resolve) -> bytes:
        code = b""
        for handler in roles.values():
            code = _call(address, code + _END_OF_FRAMES, resolve(handler))
            code = _jump(address, code, resolve("ret_from_exception"))
        return code

    return Stub(name, build, {role: i * _ENTRY_SIZE for i, role in enumerate(roles)})


def _return_to_user(address: int, resolve: Resolve) -> bytes:
    """Load struct pt_regs and sret."""
    code = _words(_ld(T0, 0), 0x14129073, _ld(T0, 256), 0x10029073)  # csrw sepc, t0; csrw sstatus, t0
    for i in range(1, 32):
        if i != SP:
            code += _words(_ld(i, 8 * i))
    return code + _words(_ld(SP, 16), 0x10200073)  # sret


_SAVED = ("s11", "s10", "s9", "s8", "s7", "s6", "s5", "s4", "s3", "s2", "s1", "s0", "ra")  # from sp + 8 up
SWITCH_FRAME = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "arg", "fn", "fp", "pc")


def _switch_to(address: int, resolve: Resolve) -> bytes:
    """__switch_to(prev, next): callee-saved registers on the old stack, then off the new one; a0 = prev."""
    numbers = [ABI_NAMES.index(name) + 1 for name in _SAVED]
    code = _words(_addi(SP, SP, -112), *(_sd(n, 8 + 8 * i) for i, n in enumerate(numbers)))
    code += _words(_addi(T0, 0, -2), ECALL)
    return code + _words(*(_ld(n, 8 + 8 * i) for i, n in enumerate(numbers)), _addi(SP, SP, 112), RET)


def _fork(schedule_tail: str) -> Stub:
    """ret_from_fork: a0 = prev; s1 = kernel thread function or 0, s2 = its argument."""

    def build(address: int, resolve: Resolve) -> bytes:
        code = _call(address, _END_OF_FRAMES, resolve(schedule_tail))
        code += _words(0x00048663, _addi(A0, S2, 0), 0x000480E7)  # beqz s1, 1f; mv a0, s2; jalr s1
        return _jump(address, code, resolve("ret_from_exception"))

    return Stub("ret_from_fork", build)


def stubs(names: Mapping[str, str], handlers: Mapping[str, str]) -> list[Stub]:
    """All hand-made text, in order of placement."""
    vectors: dict[str, dict[str, str]] = {}
    for role, name in names.items():
        if role != "fork":
            vectors.setdefault(name, {})[role] = handlers[role]
    result = [_entry(name, roles) for name, roles in vectors.items()]
    result.append(Stub("ret_from_exception", _return_to_user))
    result.append(Stub("__switch_to", _switch_to))
    result.append(_fork(handlers["fork"]))
    result.append(Stub("__kretprobe_trampoline", lambda address, resolve: _words(NOP, NOP)))
    return result


# __vdso_rt_sigreturn: li a7, 139; ecall.  arch/riscv/kernel/vdso/rt_sigreturn.S
VDSO = _words(0x08B00893, ECALL)


def vdso_call(number: int) -> bytes:
    """li a7, number; ecall; ret."""
    return _words(number << 20 | 0x893, ECALL, 0x8067)
