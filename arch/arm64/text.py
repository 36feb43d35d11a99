"""arm64 kernel text: the function template, entry stubs, return to user mode, stack switch.

arch/arm64/kernel/entry.S, as far as the shape goes.  Hypercall: svc #0x53 at EL1 with the code in w16.
"""

from __future__ import annotations

from collections.abc import Mapping

from arch.support import Resolve, Stub

SVC = 0xD4000A61  # svc #0x53
NOP = 0xD503201F
RET = 0xD65F03C0


def _words(*words: int) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)


def _branch(opcode: int, offset: int) -> int:
    """b (0x14000000) or bl (0x94000000) over `offset` bytes."""
    return opcode | ((offset >> 2) & 0x3FFFFFF)


def function(index: int) -> bytes:
    """A kernel function: nops, frame record, hypercall loop, return."""
    return _words(
        NOP,
        NOP,
        0xA9BE7BFD,  # stp x29, x30, [sp, #-32]!
        0x910003FD,  # mov x29, sp
        0x52800010 | (index << 5),  # mov w16, #index
        SVC,
        0xB40000B1,  # 1: cbz x17, 2f
        0xD63F0220,  # blr x17
        0x12800010,  # mov w16, #-1
        SVC,
        _branch(0x14000000, -16),  # b 1b
        0xA8C27BFD,  # 2: ldp x29, x30, [sp], #32
        RET,
    )


def _call(address: int, code: bytes, target: int) -> bytes:
    return code + _words(_branch(0x94000000, target - address - len(code)))


def _jump(address: int, code: bytes, target: int) -> bytes:
    return code + _words(_branch(0x14000000, target - address - len(code)))


# mov x29, xzr; mov x30, xzr: the frame chain ends here.
_END_OF_FRAMES = _words(0xAA1F03FD, 0xAA1F03FE)
_ENTRY_SIZE = 16


def _entry(name: str, roles: Mapping[str, str]) -> Stub:
    """One vector: an entry for each of its roles, 16 bytes apart."""

    def build(address: int, resolve: Resolve) -> bytes:
        code = b""
        for handler in roles.values():
            code = _call(address, code + _END_OF_FRAMES, resolve(handler))
            code = _jump(address, code, resolve("ret_to_user"))
        return code

    return Stub(name, build, {role: i * _ENTRY_SIZE for i, role in enumerate(roles)})


def _return_to_user(address: int, resolve: Resolve) -> bytes:
    """Load struct pt_regs and eret."""
    code = _words(
        0xA9505BF5,  # ldp x21, x22, [sp, #256]       pc, pstate
        0xF9407FF7,  # ldr x23, [sp, #248]            sp
        0xD5184117,  # msr sp_el0, x23
        0xD5184035,  # msr elr_el1, x21
        0xD5184016,  # msr spsr_el1, x22
    )
    for n in range(0, 30, 2):  # ldp xn, xn+1, [sp, #8n]
        code += _words(0xA9400000 | (n << 15) | ((n + 1) << 10) | (31 << 5) | n)
    return code + _words(0xF9407BFE, 0xD69F03E0)  # ldr x30, [sp, #240]; eret


def _switch_to(address: int, resolve: Resolve) -> bytes:
    """cpu_switch_to(prev, next): callee-saved registers on the old stack, then off the new one; x0 = prev."""
    return _words(
        0xA9BA7BFD,  # stp x29, x30, [sp, #-96]!
        0xA90173FB,  # stp x27, x28, [sp, #16]
        0xA9026BF9,  # stp x25, x26, [sp, #32]
        0xA90363F7,  # stp x23, x24, [sp, #48]
        0xA9045BF5,  # stp x21, x22, [sp, #64]
        0xA90553F3,  # stp x19, x20, [sp, #80]
        0x12800030,  # mov w16, #-2
        SVC,
        0xA94553F3,  # ldp x19, x20, [sp, #80]
        0xA9445BF5,  # ldp x21, x22, [sp, #64]
        0xA94363F7,  # ldp x23, x24, [sp, #48]
        0xA9426BF9,  # ldp x25, x26, [sp, #32]
        0xA94173FB,  # ldp x27, x28, [sp, #16]
        0xA8C67BFD,  # ldp x29, x30, [sp], #96
        RET,
    )


# x29 x30 x27 x28 x25 x26 x23 x24 x21 x22 x19 x20
SWITCH_FRAME = ("fp", "pc", 0, 0, 0, 0, 0, 0, 0, 0, "fn", "arg")


def _fork(schedule_tail: str) -> Stub:
    """ret_from_fork: x0 = prev; x19 = kernel thread function or 0, x20 = its argument."""

    def build(address: int, resolve: Resolve) -> bytes:
        code = _call(address, _END_OF_FRAMES, resolve(schedule_tail))
        code += _words(0xB4000073, 0xAA1403E0, 0xD63F0260)  # cbz x19, 1f; mov x0, x20; blr x19
        return _jump(address, code, resolve("ret_to_user"))

    return Stub("ret_from_fork", build)


def stubs(names: Mapping[str, str], handlers: Mapping[str, str]) -> list[Stub]:
    """All hand-made text, in order of placement."""
    vectors: dict[str, dict[str, str]] = {}
    for role, name in names.items():
        if role != "fork":
            vectors.setdefault(name, {})[role] = handlers[role]
    result = [_entry(name, roles) for name, roles in vectors.items()]
    result.append(Stub("ret_to_user", _return_to_user))
    result.append(Stub("cpu_switch_to", _switch_to))
    result.append(_fork(handlers["fork"]))
    result.append(Stub("__kretprobe_trampoline", lambda address, resolve: _words(NOP, 0xD4200000)))
    return result


# __kernel_rt_sigreturn: mov x8, #139; svc #0.  arch/arm64/kernel/vdso/sigreturn.S
VDSO = _words(0xD2801168, 0xD4000001)


def vdso_call(number: int) -> bytes:
    """mov x8, #number; svc #0; ret."""
    return _words(0xD2800008 | number << 5, 0xD4000001, 0xD65F03C0)
