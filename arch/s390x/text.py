"""s390x kernel text: the function template, entry stubs, return to user mode, stack switch.

arch/s390/kernel/entry.S, as far as the shape goes.  Hypercall: svc 83 in supervisor state with the code in r1, the
target in r0.  A function's frame: the caller's save area holds r6..r15 at 48(%r15), the back chain is at 0(%r15).
"""

from __future__ import annotations

from collections.abc import Mapping

from arch.support import Resolve, Stub

HYPERCALL = bytes.fromhex("0a53")  # svc 83
OVERHEAD = 160  # STACK_FRAME_OVERHEAD
OUTGOING_SLOTS = 4
FRAME = OVERHEAD + 8 * OUTGOING_SLOTS


def _code(value: int) -> bytes:
    """llilf %r1, value or lhi %r1, value"""
    if value < 0:
        return bytes.fromhex("a718") + (value & 0xFFFF).to_bytes(2, "big")
    return bytes.fromhex("c01f") + value.to_bytes(4, "big")


def function(index: int) -> bytes:
    """A kernel function: 6-byte nop, save area and back chain, hypercall loop, return."""
    head = bytes.fromhex("c00400000000")  # brcl 0,0
    head += bytes.fromhex("eb6ff0300024")  # stmg %r6,%r15,48(%r15)
    head += bytes.fromhex("b904000f")  # lgr %r0,%r15
    head += bytes.fromhex("a7fb") + (-FRAME & 0xFFFF).to_bytes(2, "big")  # aghi %r15,-FRAME
    head += bytes.fromhex("e300f0000024")  # stg %r0,0(%r15)
    head += _code(index) + HYPERCALL
    loop = bytes.fromhex("b9020000 a784000a b9040010 0de1")  # 1: ltgr %r0,%r0; je 2f; lgr %r1,%r0; basr %r14,%r1
    loop += _code(-1) + HYPERCALL + bytes.fromhex("a7f4fff6")  # j 1b
    tail = bytes.fromhex("eb6ff0f00004")  # 2: lmg %r6,%r15,FRAME+48(%r15)
    return head + loop + tail + bytes.fromhex("07fe")  # br %r14


def jumping_function(index: int) -> bytes:
    """A kernel function that ends in a jump; it takes and passes on at most four arguments, for the fifth is restored."""
    head = function(index)[: 6 + 6 + 4 + 4 + 6] + _code(index) + HYPERCALL
    head += bytes.fromhex("eb6ff0f00004")  # lmg %r6,%r15,FRAME+48(%r15)
    return head + bytes.fromhex(
        "b9020000 a7840005 b9040010 07f1 07fe"
    )  # ltgr %r0,%r0; je 1f; lgr %r1,%r0; br %r1; 1: br %r14


def _relative(opcode: str, address: int, code: bytes, target: int) -> bytes:
    """brasl %r14 (c0e5) or jg (c0f4)."""
    offset = (target - address - len(code)) // 2
    return code + bytes.fromhex(opcode) + (offset & 0xFFFFFFFF).to_bytes(4, "big")


_END_OF_FRAMES = bytes.fromhex("d707f000f000")  # xc 0(8,%r15),0(%r15): no back chain
_ENTRY_SIZE = 18


def _entry(name: str, roles: Mapping[str, str]) -> Stub:
    """One new-PSW entry: an entry for each of its roles."""

    def build(address: int, resolve: Resolve) -> bytes:
        code = b""
        for handler in roles.values():
            code = _relative("c0e5", address, code + _END_OF_FRAMES, resolve(handler))
            code = _relative("c0f4", address, code, resolve("__ret_to_user"))
        return code

    return Stub(name, build, {role: i * _ENTRY_SIZE for i, role in enumerate(roles)})


def _return_to_user(address: int, resolve: Resolve) -> bytes:
    """PSW to the lowcore, registers, lpswe.  sp is OVERHEAD below struct pt_regs."""
    code = bytes.fromhex("d20f0200f0a8")  # mvc 0x200(16,%r0),168(%r15)
    return code + bytes.fromhex("eb0ff0b80004 b2b20200")  # lmg %r0,%r15,184(%r15); lpswe 0x200


def _switch_to(address: int, resolve: Resolve) -> bytes:
    """__switch_to_asm(prev, next): callee-saved registers on the old stack, then off the new one; r2 = prev."""
    code = bytes.fromhex("eb6ff0300024 b904000f a7fbff60 e300f0000024")  # as a function, frame of 160 bytes
    return code + _code(-2) + HYPERCALL + bytes.fromhex("eb6ff0d00004 07fe")  # lmg %r6,%r15,208(%r15); br %r14


# A frame of 160 bytes and above it the save area that _switch_to loads; r9 = fn, r10 = arg, r14 = pc, r15 = caller's sp.
SWITCH_FRAME: tuple[str | int, ...] = (*([0] * 29), "fn", "arg", 0, 0, 0, "pc", "sp", *([0] * 4))


def _fork(schedule_tail: str) -> Stub:
    """ret_from_fork: r2 = prev; r9 = kernel thread function or 0, r10 = its argument."""

    def build(address: int, resolve: Resolve) -> bytes:
        code = _relative("c0e5", address, _END_OF_FRAMES, resolve(schedule_tail))
        code += bytes.fromhex("b9020099 a7840005 b904002a 0de9")  # ltgr %r9,%r9; je 1f; lgr %r2,%r10; basr %r14,%r9
        return _relative("c0f4", address, code, resolve("__ret_to_user"))

    return Stub("ret_from_fork", build)


def stubs(names: Mapping[str, str], handlers: Mapping[str, str]) -> list[Stub]:
    """All hand-made text, in order of placement."""
    vectors: dict[str, dict[str, str]] = {}
    for role, name in names.items():
        if role != "fork":
            vectors.setdefault(name, {})[role] = handlers[role]
    result = [_entry(name, roles) for name, roles in vectors.items()]
    result.append(Stub("__ret_to_user", _return_to_user))
    result.append(Stub("__switch_to_asm", _switch_to))
    result.append(_fork(handlers["fork"]))
    result.append(Stub("__kretprobe_trampoline", lambda address, resolve: bytes.fromhex("0700 0001")))
    return result


# __kernel_rt_sigreturn: svc 173; __kernel_sigreturn: svc 119.  arch/s390/kernel/vdso64/vdso_user_wrapper.S
VDSO = bytes.fromhex("0aad 0a77")
VDSO_SIGRETURN = 2  # bytes into the page


def vdso_call(number: int) -> bytes:
    """svc number, or lghi %r1,number and svc 0; br %r14."""
    call = bytes((0x0A, number)) if number < 256 else b"\xa7\x19" + number.to_bytes(2, "big") + b"\x0a\x00"
    return call + b"\x07\xfe"
