"""Context accesses become accesses of what is behind the context.  kernel/bpf/verifier.c:convert_ctx_accesses().

Also here: the prologue of programs that write packet bytes (net/core/filter.c:bpf_unclone_prologue()), speculation
barriers after stack spills, and loads through BTF pointers, which may fault and then give 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from arch.abi.errno import EINVAL, EOPNOTSUPP
from arch.abi.inet import TC_ACT_SHOT
from bpf import uapi
from bpf.isa.insn import (
    BPF_AND,
    BPF_ATOMIC,
    BPF_JEQ,
    BPF_LDX,
    BPF_MEM,
    BPF_MEMSX,
    BPF_PROBE_ATOMIC,
    BPF_PROBE_MEM,
    BPF_PROBE_MEM32,
    BPF_PROBE_MEM32SX,
    BPF_RSH,
    BPF_ST,
    BPF_STX,
    BPF_XOR,
    Insn,
)
from bpf.layout import KernelLayout
from bpf.verifier.context.ctx_layout import SK_BUFF
from bpf.verifier.domain import types as t
from bpf.verifier.env import Env, InsnAux
from bpf.verifier.rewrite import ctx_fields as fields
from bpf.verifier.rewrite import emit
from bpf.verifier.rewrite.fields import Made, Use
from bpf.verifier.rewrite.patch import patch_insns
from bpf.versions.program_types import program_types, types_where

Convert = Callable[[Use], Made]

# By the *_convert_ctx_access() function of the kernel that a program type's row names.  That of perf events needs the size
# of the registers: Rewrite.converter().
_CONVERT: dict[str, Convert] = {
    "bpf": fields.CONVERT_SKB,
    "tc_cls_act": fields.CONVERT_SKB_TC,
    "xdp": fields.CONVERT_XDP,
    "bpf_sock": fields.CONVERT_SOCK,
    "sock_ops": fields.CONVERT_SOCK_OPS,
    "sk_skb": fields.CONVERT_SKB_STREAM,
    "sk_msg": fields.CONVERT_SK_MSG,
    "sock_addr": fields.CONVERT_SOCK_ADDR,
    "sk_reuseport": fields.CONVERT_SK_REUSEPORT,
    "flow_dissector": fields.CONVERT_FLOW_DISSECTOR,
    "sysctl": fields.CONVERT_SYSCTL,
    "cg_sockopt": fields.CONVERT_SOCKOPT,
    "sk_lookup": fields.convert_sk_lookup,
}
CONVERTERS = {row.number: _CONVERT[row.convert] for row in program_types() if row.convert in _CONVERT}

BEHIND_POINTER: dict[int, Convert] = {
    t.PTR_TO_SOCKET: fields.CONVERT_SOCK,
    t.PTR_TO_SOCK_COMMON: fields.CONVERT_SOCK,
    t.PTR_TO_TCP_SOCK: fields.CONVERT_TCP_SOCK,
    t.PTR_TO_XDP_SOCK: fields.CONVERT_XDP_SOCK,
}

# What a program that may write the packet returns when the packet cannot be made writable.
_VERDICTS = {"TC_ACT_SHOT": TC_ACT_SHOT, "SK_DROP": uapi.SK_DROP}
UNCLONE_VERDICT = {row.number: _VERDICTS[row.unclone] for row in program_types() if row.unclone}

# bpf_noop_prologue(), cg_sockopt_get_prologue(): direct writes need no preparation
NO_PROLOGUE = types_where(lambda row: "no_prologue" in row.traits)

BPF_FUNC_SKB_PULL_DATA = 39


def ops_prog_type(env: Env) -> int:
    """The program type whose operations are used: a replacement has those of what it replaces."""
    if env.prog_type == uapi.BPF_PROG_TYPE_EXT and env.request.attach_prog is not None:
        return int(env.request.attach_prog.prog_type)
    return env.prog_type


def unclone_prologue(kernel: KernelLayout, verdict: int, first: Insn) -> list[Insn]:
    """Make the packet the program's own: if (skb->cloned && bpf_skb_pull_data(skb, 0)) return verdict."""
    cloned = kernel.place("sk_buff.cloned")
    return [
        emit.ldx(1, 6, 1, cloned.offset),
        emit.alu32_imm(BPF_AND, 6, cloned.mask),
        emit.jmp_imm(BPF_JEQ, 6, 0, 7),
        emit.mov64(6, 1),
        emit.alu64(BPF_XOR, 2, 2),
        emit.call(BPF_FUNC_SKB_PULL_DATA),
        emit.jmp_imm(BPF_JEQ, 0, 0, 2),
        emit.mov32_imm(0, verdict),
        emit.EXIT,
        emit.mov64(1, 6),
        first,
    ]


def _add_prologue(env: Env, prog_type: int) -> int:
    """Put the prologue first; how many instructions it has."""
    if not env.seen_direct_write or prog_type in NO_PROLOGUE:
        return 0
    verdict = UNCLONE_VERDICT.get(prog_type)
    if verdict is None:
        env.reject(EINVAL, "bpf verifier is misconfigured")
    prologue = unclone_prologue(env.kernel, verdict, env.insns[0])
    patch_insns(env, {0: prologue})
    return len(prologue) - 1


_ACCESSES: Final = frozenset({BPF_LDX, BPF_STX, BPF_ST})


def _is_mem(insn: Insn, class_: int) -> bool:
    return insn.cls == class_ and insn.mode == BPF_MEM


def _reads_tstamp_type(env: Env) -> bool:
    off = SK_BUFF.offsetof("tstamp_type")
    loads = [i for i, insn in enumerate(env.insns) if insn.off == off and _is_mem(insn, BPF_LDX)]
    return any(env.aux[i].ptr_type == t.PTR_TO_CTX and env.aux[i].seen for i in loads)


class CtxAccesses:
    """The pass over one program."""

    def __init__(self, env: Env) -> None:
        self.env = env
        self.prog_type = ops_prog_type(env)
        self.tstamp_type_access = _reads_tstamp_type(env)
        self.regs_size = env.user_regs_size
        self.patches: dict[int, list[Insn]] = {}

    def run(self) -> None:
        """Add fences and the prologue, then convert every access."""
        aux = self.env.aux
        fenced = [] if self.env.bypass_spec_v1 else [i for i, each in enumerate(aux) if each.nospec]
        patch_insns(self.env, {i: [emit.NOSPEC, self.env.insns[i]] for i in fenced})
        first = _add_prologue(self.env, self.prog_type)
        accesses = [i for i, insn in enumerate(self.env.insns) if insn.cls in _ACCESSES]
        for i in accesses:
            if i < first:
                continue
            insn, known = self.env.insns[i], self.env.aux[i]
            if known.ptr_type == t.PTR_TO_ARENA:
                self.visit_arena(i, insn)
            elif insn.mode == BPF_MEM:
                self.visit(i, insn, known)
        patch_insns(self.env, self.patches)

    def visit(self, i: int, insn: Insn, aux: InsnAux) -> None:
        """Convert one instruction if it needs it."""
        load, store_reg, store_imm = insn.cls == BPF_LDX, insn.cls == BPF_STX, insn.cls == BPF_ST
        if (store_reg or store_imm) and aux.sanitize_stack_spill:
            self.patches[i] = [insn, emit.NOSPEC]
        elif load or store_reg:
            convert = self.converter(aux.ptr_type)
            if convert is not None:
                self.patches[i] = self.convert(convert, insn, aux)
            elif load and aux.ptr_type in (t.PTR_TO_BTF_ID, t.PTR_TO_BTF_ID | t.PTR_UNTRUSTED):
                self.env.insns[i] = insn.replace(code=BPF_LDX | BPF_PROBE_MEM | insn.size)

    def visit_arena(self, i: int, insn: Insn) -> None:
        """Accesses by the low half of an address, which may fault."""
        if insn.cls == BPF_STX and insn.mode == BPF_ATOMIC:
            mode = BPF_PROBE_ATOMIC
        elif insn.mode == BPF_MEMSX and insn.cls == BPF_LDX:
            if not self.env.rules.arena_signed_loads:
                self.env.reject(EOPNOTSUPP, "sign extending loads from arena are not supported yet")
            mode = BPF_PROBE_MEM32SX
        else:
            mode = BPF_PROBE_MEM32
        self.env.insns[i] = insn.replace(code=insn.cls | mode | insn.size)

    def converter(self, ptr_type: int) -> Convert | None:
        """What turns accesses through such a pointer into others; None: they stay."""
        if ptr_type != t.PTR_TO_CTX:
            return BEHIND_POINTER.get(ptr_type)
        if self.prog_type == uapi.BPF_PROG_TYPE_PERF_EVENT:
            return lambda use: fields.perf_event(use, self.regs_size)
        return CONVERTERS.get(self.prog_type)

    def convert(self, convert: Convert, insn: Insn, aux: InsnAux) -> list[Insn]:
        """One access; a narrow load becomes a load of the whole field, shifted and masked."""
        env = self.env
        size, wanted, off = emit.SIZE_BYTES[insn.size], aux.ctx_field_size, insn.off
        write, narrow = insn.cls == BPF_STX, size < wanted
        if write and narrow:
            self.env.reject(EINVAL, "bpf verifier narrow ctx access misconfigured")
        start = self.start(off, wanted) if narrow else off
        use = Use(
            write,
            insn.dst_reg,
            insn.src_reg,
            start,
            wanted if narrow else size,
            env.kernel,
            tstamp_type_access=self.tstamp_type_access,
        )
        made, target = convert(use)
        if not made or (wanted and not target):
            self.env.reject(EINVAL, "bpf verifier is misconfigured")
        if narrow and size < target:
            made = made + self.narrow(insn.dst_reg, off - start, size, wanted)
        return made

    def start(self, off: int, wanted: int) -> int:
        """Where the field of `wanted` bytes around an offset begins.

        Behind the registers of a 32-bit machine 64-bit fields may be aligned to 4 bytes only.
        """
        begin = self.regs_size % wanted if self.prog_type == uapi.BPF_PROG_TYPE_PERF_EVENT else 0
        return (off - begin & ~(wanted - 1)) + begin

    def narrow(self, dst: int, at: int, size: int, wanted: int) -> list[Insn]:
        """Take `size` bytes at byte `at` out of a field of `wanted` bytes."""
        shift = (at if self.env.request.byteorder == "little" else wanted - (at + size)) * 8
        made = []
        if shift:
            made.append((emit.alu32_imm if wanted <= 4 else emit.alu64_imm)(BPF_RSH, dst, shift))
        made.append(emit.alu32_imm(BPF_AND, dst, (1 << size * 8) - 1))
        return made


def convert_ctx_accesses(env: Env) -> None:
    """Make the program read and write kernel structures instead of its context."""
    CtxAccesses(env).run()
