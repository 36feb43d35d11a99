"""The last rewrites, which make the program simple to run.  kernel/bpf/verifier.c:do_misc_fixups().

Division that cannot trap, packet loads of classic BPF, pointer arithmetic masked against speculation, tail calls,
lookups and small helpers written out.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, EOPNOTSUPP
from arch.abi.internal import GFP_ATOMIC, GFP_KERNEL
from bpf import uapi
from bpf.isa.callees import CALLEE_NUMBERS
from bpf.isa.insn import (
    BPF_ABS,
    BPF_ADD,
    BPF_ALU,
    BPF_ALU64,
    BPF_AND,
    BPF_ARSH,
    BPF_CALL,
    BPF_DIV,
    BPF_IND,
    BPF_JEQ,
    BPF_JGE,
    BPF_JGT,
    BPF_JMP,
    BPF_JMP32,
    BPF_JNE,
    BPF_JSGE,
    BPF_K,
    BPF_LD,
    BPF_LSH,
    BPF_MOD,
    BPF_MOV,
    BPF_MUL,
    BPF_NEG,
    BPF_OR,
    BPF_PSEUDO_CALL,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_REG_AX,
    BPF_RSH,
    BPF_SIGNED,
    BPF_SUB,
    BPF_TAIL_CALL,
    BPF_X,
    BPF_XOR,
    SIZE_BYTES,
    Insn,
)
from bpf.verifier.api import MapInfo
from bpf.verifier.context.btf_walk import type_by_id
from bpf.verifier.domain.types import MAX_PACKET_OFF
from bpf.verifier.env import (
    BPF_ALU_IMMEDIATE,
    BPF_ALU_NEG_VALUE,
    BPF_ALU_NON_POINTER,
    BPF_ALU_SANITIZE_DST,
    BPF_ALU_SANITIZE_SRC,
    MAP_KEY_POISON,
    MAP_PTR_POISON,
    Env,
    InsnAux,
)
from bpf.verifier.rewrite import emit
from bpf.verifier.rewrite.arena import narrow_arena_pointers
from bpf.verifier.rewrite.map_lookup import index_mask, map_gen_lookup
from bpf.verifier.rewrite.may_goto import expand_may_goto
from bpf.verifier.rewrite.patch import patch_insns
from bpf.versions.attach_groups import BEHIND_FUNCTIONS, SESSIONS_OF_TRAMPOLINES

MAX_BPF_STACK = uapi.MAX_BPF_STACK

_DIV_MOD = {class_ | op | BPF_X for class_ in (BPF_ALU, BPF_ALU64) for op in (BPF_DIV, BPF_MOD)}
_CALL_OR_PACKET = {BPF_JMP | BPF_CALL} | {BPF_LD | mode | size for mode in (BPF_ABS, BPF_IND) for size in SIZE_BYTES}
_ADD_SUB = (BPF_ALU64 | BPF_ADD | BPF_X, BPF_ALU64 | BPF_SUB | BPF_X)
_LD_ABS_HELPER = {0x10: "bpf_skb_load_helper_8_no_cache", 0x08: "bpf_skb_load_helper_16_no_cache"}
_LOOKED_AT = frozenset(_DIV_MOD | {code ^ BPF_X for code in _DIV_MOD} | set(_ADD_SUB) | _CALL_OR_PACKET)
_STORAGE_GET = {
    uapi.BPF_FUNC_task_storage_get,
    uapi.BPF_FUNC_sk_storage_get,
    uapi.BPF_FUNC_inode_storage_get,
    uapi.BPF_FUNC_cgrp_storage_get,
}


def div_mod_by_minus_one(insn: Insn) -> list[Insn]:
    """Signed, by the constant -1: the CPU would trap at the least number."""
    if insn.op == BPF_DIV:
        return [Insn(insn.cls | BPF_NEG | BPF_K, insn.dst_reg)]
    return [emit.mov32_imm(insn.dst_reg, 0)]


def signed_div_mod(insn: Insn) -> list[Insn]:
    """x / 0 is 0, x % 0 is x; x / -1 is -x, x % -1 is 0."""
    wide, dst, src, ax = insn.cls == BPF_ALU64, insn.dst_reg, insn.src_reg, BPF_REG_AX
    jump = (BPF_JMP if wide else BPF_JMP32) | BPF_K
    head = [emit.mov64(ax, src), Insn(insn.cls | BPF_ADD | BPF_K, ax, 0, 0, 1)]
    if insn.op == BPF_DIV:
        return [
            *head,
            Insn(jump | BPF_JGT, ax, 0, 4, 1),
            Insn(jump | BPF_JEQ, ax, 0, 1, 0),
            Insn(insn.cls | BPF_MOV | BPF_K, dst, 0, 0, 0),
            Insn(insn.cls | BPF_NEG | BPF_K, dst),
            emit.ja(1),
            insn,
        ]
    rest = [] if wide else [emit.ja(1), emit.mov32(dst, dst)]
    return [
        *head,
        Insn(jump | BPF_JGT, ax, 0, 3, 1),
        Insn(jump | BPF_JEQ, ax, 0, 3 + (not wide), 1),
        emit.mov32_imm(dst, 0),
        emit.ja(1),
        insn,
        *rest,
    ]


def div_mod(insn: Insn) -> list[Insn]:
    """x / 0 is 0, x % 0 is x."""
    if insn.off == BPF_SIGNED:
        return signed_div_mod(insn)
    wide, dst, src = insn.cls == BPF_ALU64, insn.dst_reg, insn.src_reg
    jump = (BPF_JMP if wide else BPF_JMP32) | BPF_K
    if insn.op == BPF_DIV:
        return [Insn(jump | BPF_JNE, src, 0, 2, 0), emit.alu32(BPF_XOR, dst, dst), emit.ja(1), insn]
    if wide:
        return [Insn(jump | BPF_JEQ, src, 0, 1, 0), insn]
    return [Insn(jump | BPF_JEQ, src, 0, 2, 0), insn, emit.ja(1), emit.mov32(dst, dst)]


def ld_abs(insn: Insn) -> list[Insn]:
    """A packet load of classic BPF: call the kernel, and leave the program with 0 if it fails.  bpf_gen_ld_abs()."""
    if insn.mode == BPF_IND:
        insns = [emit.mov64(2, insn.src_reg)]
        if insn.imm:
            insns.append(emit.add_imm(2, insn.imm))
    else:
        insns = [emit.mov64_imm(2, insn.imm)]
    helper = _LD_ABS_HELPER.get(insn.size, "bpf_skb_load_helper_32_no_cache")
    return [
        *insns,
        emit.mov64(1, 6),
        emit.call(CALLEE_NUMBERS[helper]),
        emit.jmp_imm(BPF_JSGE, 0, 0, 2),
        emit.alu32(BPF_XOR, 0, 0),
        emit.EXIT,
    ]


def sanitize_alu(insn: Insn, aux: InsnAux) -> list[Insn]:
    """Pointer arithmetic whose offset becomes 0 when, in speculation, it is out of bounds."""
    negative = bool(aux.alu_state & BPF_ALU_NEG_VALUE)
    from_src = aux.alu_state & (BPF_ALU_SANITIZE_SRC | BPF_ALU_SANITIZE_DST) == BPF_ALU_SANITIZE_SRC
    constant = bool(aux.alu_state & BPF_ALU_IMMEDIATE)
    reg, ax = (insn.src_reg if from_src else insn.dst_reg), BPF_REG_AX
    limit = emit.mov32_imm(ax, aux.alu_limit)
    if constant:
        insns = [limit]
    else:
        insns = [emit.alu64_imm(BPF_MUL, reg, -1)] if negative else []
        insns += [
            limit,
            emit.alu64(BPF_SUB, ax, reg),
            emit.alu64(BPF_OR, ax, reg),
            emit.alu64_imm(BPF_NEG, ax, 0),
            emit.alu64_imm(BPF_ARSH, ax, 63),
            emit.alu64(BPF_AND, ax, reg),
        ]
    if not from_src:
        insns.append(emit.mov64(insn.dst_reg, insn.src_reg))
    code = insn.code
    if negative:
        code = _ADD_SUB[1] if code == _ADD_SUB[0] else _ADD_SUB[0]
    insns.append(insn.replace(code=code, src_reg=ax))
    if from_src and negative and not constant:
        insns.append(emit.alu64_imm(BPF_MUL, reg, -1))
    return insns


SESSION_IS_RETURN, SESSION_COOKIE = "bpf_session_is_return", "bpf_session_cookie"


class MiscFixups:
    """The pass over one program."""

    def __init__(self, env: Env) -> None:
        self.env = env
        self.patches: dict[int, list[Insn]] = {}
        self.poke_count = 0
        self.tracing = env.prog_type == uapi.BPF_PROG_TYPE_TRACING
        self.session = self.tracing and env.expected_attach_type in SESSIONS_OF_TRAMPOLINES

    def run(self) -> None:
        """Collect all patches, then apply them."""
        for i, insn in enumerate(self.env.insns):
            if insn.code not in _LOOKED_AT:
                continue
            patch = self.fix(insn, self.env.aux[i])
            if patch is not None:
                self.patches[i] = patch
        patch_insns(self.env, self.patches)

    def fix(self, insn: Insn, aux: InsnAux) -> list[Insn] | None:
        """What replaces an instruction; None: it stays."""
        code = insn.code
        if code in _DIV_MOD:
            return div_mod(insn)
        if code | BPF_X in _DIV_MOD and insn.off == BPF_SIGNED and insn.imm == -1:
            return div_mod_by_minus_one(insn)
        if insn.cls == BPF_LD and insn.mode in (BPF_ABS, BPF_IND):
            return ld_abs(insn)
        if code in _ADD_SUB:
            return sanitize_alu(insn, aux) if aux.alu_state not in (0, BPF_ALU_NON_POINTER) else None
        if code != BPF_JMP | BPF_CALL or insn.src_reg == BPF_PSEUDO_CALL:
            return None
        if insn.src_reg == BPF_PSEUDO_KFUNC_CALL:
            if not insn.imm:
                self.env.reject(EINVAL, "invalid kernel function call not eliminated in verifier pass")
            return self.session_function(insn) if self.session else None
        return self.helper(insn, aux)

    def helper(self, insn: Insn, aux: InsnAux) -> list[Insn] | None:
        """A helper call."""
        number = insn.imm
        if number == uapi.BPF_FUNC_tail_call:
            return self.tail_call(aux)
        if number == uapi.BPF_FUNC_timer_set_callback:
            return [*emit.ld_imm64(3, self.aux_address()), insn]
        if number in _STORAGE_GET:
            return [emit.mov64_imm(5, GFP_KERNEL if self.env.sleepable else GFP_ATOMIC), insn]
        if not self.env.request.jit_requested:
            return self.tracing_helper(number) if self.tracing else None
        if number == uapi.BPF_FUNC_map_lookup_elem and isinstance(aux.map_ptr, MapInfo):
            return map_gen_lookup(aux.map_ptr)
        if number == uapi.BPF_FUNC_jiffies64:
            return [*emit.ld_imm64(0, self.symbol("jiffies")), emit.ldx(8, 0, 0, 0)]
        return self.tracing_helper(number) if self.tracing else None

    def aux_address(self) -> int:
        """Of the program's struct bpf_prog_aux, which the timer's callback is known by."""
        make = self.env.request.prog_aux
        return make() if make else 0

    def symbol(self, name: str) -> int:
        """The address of a kernel object the program will read."""
        find = self.env.request.kernel_symbol
        return (find(name) if find else None) or 0

    def tail_call(self, aux: InsnAux) -> list[Insn]:
        """An opcode of its own; an unprivileged program's index is masked.

        With a constant index the call is remembered as patchable text, and its number is in `imm`.
        """
        env, facts, map_ = self.env, self.env.facts, aux.map_ptr
        if not env.request.jit_requested:
            facts.stack_depth = MAX_BPF_STACK
        facts.max_pkt_offset = MAX_PACKET_OFF
        insn = Insn(BPF_JMP | BPF_TAIL_CALL, 0, 0, 0, 0)
        known = isinstance(map_, MapInfo) and not aux.map_unpriv
        key_known = aux.map_key is not None and aux.map_key != MAP_KEY_POISON
        if env.bpf_capable and not env.request.jit_blinding and env.request.jit_requested and known and key_known:
            self.poke_count += 1
            return [insn.replace(imm=self.poke_count)]
        if not aux.map_unpriv:
            return [insn]
        if map_ == MAP_PTR_POISON or not isinstance(map_, MapInfo):
            env.reject(EINVAL, "tail_call abusing map_ptr")
        bound = emit.jmp_imm(BPF_JGE, 3, map_.max_entries, 2)
        return [bound, emit.alu32_imm(BPF_AND, 3, index_mask(map_)), insn]

    def session_function(self, insn: Insn) -> list[Insn] | None:
        """Where the trampoline keeps the number of arguments are also the place of the call's word, and whether this is the return."""
        t = type_by_id(self.env.vmlinux, insn.imm)
        if insn.off or t is None or t.name not in (SESSION_IS_RETURN, SESSION_COOKIE):
            return None
        head = emit.ldx(8, 0, 1, -8)
        if t.name == SESSION_IS_RETURN:
            return [head, emit.alu64_imm(BPF_RSH, 0, 63), emit.alu64_imm(BPF_AND, 0, 1)]
        return [
            head,
            emit.alu64_imm(BPF_RSH, 0, 8),
            emit.alu64_imm(BPF_AND, 0, 0xFF),
            emit.alu64_imm(BPF_LSH, 0, 3),
            emit.alu64(BPF_SUB, 0, 1),
            emit.alu64_imm(BPF_NEG, 0, 0),
        ]

    def count(self) -> list[Insn]:
        """How many arguments there are."""
        mask = [emit.alu64_imm(BPF_AND, 0, 0xFF)] if self.env.rules.fsession else []
        return [emit.ldx(8, 0, 1, -8), *mask]

    def tracing_helper(self, number: int) -> list[Insn] | None:
        """Helpers that read what the trampoline left before the context."""
        if number == uapi.BPF_FUNC_get_func_arg:
            return [
                *self.count(),
                emit.jmp32(BPF_JGE, 2, 0, 6),
                emit.alu64_imm(BPF_LSH, 2, 3),
                emit.alu64(BPF_ADD, 2, 1),
                emit.ldx(8, 0, 2, 0),
                emit.stx(8, 3, 0, 0),
                emit.mov64_imm(0, 0),
                emit.ja(1),
                emit.mov64_imm(0, -EINVAL),
            ]
        if number == uapi.BPF_FUNC_get_func_ret:
            return self.get_func_ret()
        if number == uapi.BPF_FUNC_get_func_arg_cnt:
            return self.count()
        if number == uapi.BPF_FUNC_get_func_ip:
            return [emit.ldx(8, 0, 1, -16)]
        return None

    def get_func_ret(self) -> list[Insn]:
        """The return value is behind the arguments, if the program runs after the function."""
        if self.env.expected_attach_type not in BEHIND_FUNCTIONS:
            return [emit.mov64_imm(0, -EOPNOTSUPP)]
        return [
            *self.count(),
            emit.alu64_imm(BPF_LSH, 0, 3),
            emit.alu64(BPF_ADD, 0, 1),
            emit.ldx(8, 3, 0, 0),
            emit.stx(8, 2, 3, 0),
            emit.mov64_imm(0, 0),
        ]


def do_misc_fixups(env: Env) -> None:
    """Rewrite what interpreter and JIT should not have to know."""
    narrow_arena_pointers(env)
    expand_may_goto(env)
    MiscFixups(env).run()
