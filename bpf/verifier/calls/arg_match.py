"""Do the registers at a call fit the BTF prototype of the function called?

btf_check_func_arg_match(), btf_check_subprog_call() and btf_prepare_func_args() of kernel/bpf/btf.c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from arch.abi.errno import EFAULT, EINVAL
from bpf.btf.codec import COMPOSITES, GLOBAL, Btf, BtfType, Kind, Param
from bpf.verifier.access import dynptr
from bpf.verifier.access.map_access import check_ptr_off_reg, kptr_at
from bpf.verifier.access.memory import check_kfunc_mem_size_reg, check_mem_reg
from bpf.verifier.access.precision import mark_chain_precision
from bpf.verifier.calls import prepared_args
from bpf.verifier.calls.args import check_func_arg_reg_off
from bpf.verifier.calls.kfuncs import KF_KPTR_GET, KF_RELEASE, KF_SLEEPABLE, KF_TRUSTED_ARGS
from bpf.verifier.context.btf_walk import (
    MAX_BPF_FUNC_REG_ARGS,
    btf_struct_ids_match,
    is_any_enum,
    is_prog_ctx_type,
    is_scalar,
    kind_text,
    resolve_size,
    type_by_id,
    type_text,
)
from bpf.verifier.domain.state import Reg, Value, known_zero
from bpf.verifier.domain.types import (
    ARG_DONTCARE,
    ARG_PTR_TO_DYNPTR,
    DYNPTR_TYPE_LOCAL,
    OBJ_RELEASE,
    PTR_MAYBE_NULL,
    PTR_TO_BTF_ID,
    PTR_TO_CTX,
    PTR_TO_MAP_VALUE,
    PTR_TO_MEM,
    PTR_TO_SOCK_COMMON,
    PTR_TO_SOCKET,
    PTR_TO_STACK,
    PTR_TO_TCP_SOCK,
    SCALAR_VALUE,
    base_type,
    type_flag,
)
from bpf.verifier.env import Env, Rejected

# struct that a socket pointer is in the kernel: reg2btf_ids
_SOCK_STRUCTS: Final = {PTR_TO_SOCKET: "sock", PTR_TO_SOCK_COMMON: "sock_common", PTR_TO_TCP_SOCK: "tcp_sock"}


@dataclass(slots=True)
class KfuncMeta:
    """Facts about one call of a kernel function: bpf_kfunc_arg_meta."""

    flags: int
    r0_size: int = 0
    r0_rdonly: bool = False
    ref_obj_id: int = 0


class _Match:
    """One comparison of registers with a prototype."""

    def __init__(
        self, env: Env, btf: Btf, func_id: int, regs: list[Reg], mem_ok: bool, meta: KfuncMeta | None, calling: bool
    ) -> None:
        self.env = env
        self.btf = btf
        self.func_id = func_id
        self.regs = regs
        self.mem_ok = mem_ok  # pointers to plain memory will do
        self.meta = meta
        self.calling = calling
        self.is_kfunc = btf is env.vmlinux
        flags = meta.flags if meta is not None and self.is_kfunc else 0
        self.release = bool(flags & KF_RELEASE)
        self.kptr_get = bool(flags & KF_KPTR_GET)
        self.trusted = bool(flags & KF_TRUSTED_ARGS)
        self.sleepable = bool(flags & KF_SLEEPABLE)
        self.ref_regno = 0
        self.ref_obj_id = 0
        self.name = ""
        self.params: list[Param] = []

    def run(self) -> int:
        """Number of the register that is released, or 0."""
        env = self.env
        self._find_prototype()
        i = 0
        while i < len(self.params):
            i += self._check_arg(i)
        if self.release and not self.ref_obj_id:
            self._reject(f"release kernel function {self.name} expects refcounted PTR_TO_BTF_ID")
        if self.sleepable and not env.sleepable:
            self._reject(f"kernel function {self.name} is sleepable but the program is not")
        if self.meta is not None and self.ref_obj_id:
            self.meta.ref_obj_id = self.ref_obj_id
        return self.ref_regno if self.release else 0

    def _reject(self, text: str) -> None:
        self.env.reject(EINVAL, text)

    def _find_prototype(self) -> None:
        env, btf = self.env, self.btf
        t = type_by_id(btf, self.func_id)
        if t is None or t.kind is not Kind.FUNC:
            env.reject(EFAULT, f"BTF of func_id {self.func_id} doesn't point to KIND_FUNC")
        self.name = t.name
        proto = type_by_id(btf, t.type)
        if proto is None or proto.kind is not Kind.FUNC_PROTO:
            env.reject(EFAULT, f"Invalid BTF of func {self.name}")
        self.params = proto.params
        if len(self.params) > MAX_BPF_FUNC_REG_ARGS:
            self._reject(f"Function {self.name} has {len(self.params)} > {MAX_BPF_FUNC_REG_ARGS} args")

    def _check_arg(self, i: int) -> int:
        """Check argument `i`; how many arguments that settled."""
        btf, regno = self.btf, i + 1
        t = btf.resolved(self.params[i].type)
        v = self.regs[regno].value
        if is_scalar(t):
            self._check_scalar(i, v)
            return 1
        if not self.env.rules.global_memory:
            self._check_ctx_only(i, v, t)
            return 1
        if t.kind is not Kind.PTR:
            self._reject(f"Unrecognized arg#{i} type {kind_text(t)}")
        obj_ptr = v.type in (PTR_TO_CTX, PTR_TO_BTF_ID) or base_type(v.type) in _SOCK_STRUCTS
        if self.is_kfunc and self.trusted and obj_ptr and v.type != PTR_TO_CTX and not v.ref_obj_id:
            self._reject(f"R{regno} must be referenced")
        release = (self.trusted and obj_ptr) or (self.release and v.ref_obj_id)
        check_func_arg_reg_off(self.env, v, regno, OBJ_RELEASE if release else ARG_DONTCARE)
        if self.is_kfunc and v.ref_obj_id:
            self._note_reference(regno, v)
        return self._check_pointer(i, v, t)

    def _check_scalar(self, i: int, v: Value) -> None:
        regno = i + 1
        name = self.params[i].name
        if self.is_kfunc and self.meta is not None and v.type == SCALAR_VALUE:
            if name in ("rdonly_buf_size", "rdwr_buf_size"):
                self._note_buf_size(regno, v, name == "rdonly_buf_size")
        if v.type != SCALAR_VALUE:
            self._reject(f"R{regno} is not a scalar")

    def _note_buf_size(self, regno: int, v: Value, rdonly: bool) -> None:
        meta = self.meta
        assert meta is not None
        meta.r0_rdonly |= rdonly
        if meta.r0_size:
            self.env.verbose("2 or more rdonly/rdwr_buf_size parameters for kfunc")
            self.env.reject(EINVAL)
        if v.var_off[1]:
            self._reject(f"R{regno} is not a const")
        meta.r0_size = v.var_off[0]
        if meta.r0_size > 0xFFFFFFFF:
            self._reject(f"R{regno} rdonly/rdwr_buf_size exceeds u32 max")
        mark_chain_precision(self.env, regno)

    def _note_reference(self, regno: int, v: Value) -> None:
        if self.ref_obj_id:
            self.env.reject(
                EFAULT,
                f"verifier internal error: more than one arg with ref_obj_id R{regno} {v.ref_obj_id} {self.ref_obj_id}",
            )
        self.ref_regno = regno
        self.ref_obj_id = v.ref_obj_id

    def _check_pointer(self, i: int, v: Value, pointer: BtfType) -> int:
        env, btf = self.env, self.btf
        ref_id = btf.skip(pointer.type)
        ref = btf[ref_id]
        is_object = v.type == PTR_TO_BTF_ID or (base_type(v.type) in _SOCK_STRUCTS and not type_flag(v.type))
        if i == 0 and self.kptr_get:
            self._check_kptr(i, v, ref)
        elif is_prog_ctx_type(env, btf, pointer, env.prog_type, i):
            if v.type != PTR_TO_CTX:
                self._reject(f"arg#{i} expected pointer to ctx, but got {kind_text(pointer)}")
        elif self.is_kfunc and is_object:
            self._check_object(i, v, ref_id)
        elif self.mem_ok and self.calling:
            return self._check_memory(i, v, ref_id)
        else:
            kernel = "kernel " if self.is_kfunc else ""
            self._reject(f"reg type unsupported for arg#{i} {kernel}function {self.name}#{self.func_id}")
        return 1

    def _check_ctx_only(self, i: int, v: Value, t: BtfType) -> None:
        """Before 5.12 the context was the only pointer that a function's BTF could ask for."""
        env = self.env
        if t.kind is Kind.PTR:
            if v.type == SCALAR_VALUE:
                self._reject(f"R{i + 1} is not a pointer")
            if is_prog_ctx_type(env, self.btf, t, env.prog_type, i):
                if v.type != PTR_TO_CTX:
                    self._reject(f"arg#{i} expected pointer to ctx, but got {kind_text(t)}")
                check_ptr_off_reg(env, v, i + 1)
                return
        self._reject(f"Unrecognized arg#{i} type {kind_text(t)}")

    def _check_kptr(self, i: int, v: Value, ref: BtfType) -> None:
        btf = self.btf
        if v.type != PTR_TO_MAP_VALUE:
            self._reject("arg#0 expected pointer to map value")
        if v.var_off[1]:
            self._reject("arg#0 must have constant offset")
        at = (v.off + v.var_off[0]) & ((1 << 64) - 1)
        field = kptr_at(v.map, at)
        if field is None or not field.referenced:
            self._reject(f"arg#0 no referenced kptr at map value offset={at}")
            return
        if ref.kind is not Kind.PTR:
            self._reject("arg#0 BTF type must be a double pointer")
        ref_id = btf.skip(ref.type)
        ref = btf[ref_id]
        if ref.kind not in COMPOSITES:
            self._unsupported(i, ref)
        if not btf_struct_ids_match(self.env, btf, ref_id, 0, self.env.vmlinux, field.btf_id, True):
            self._reject(f"kernel function {self.name} args#{i} expected pointer to {type_text(ref)}")

    def _unsupported(self, i: int, ref: BtfType) -> None:
        self._reject(f"kernel function {self.name} args#{i} pointer type {type_text(ref)} is not supported")

    def _check_object(self, i: int, v: Value, ref_id: int) -> None:
        env, btf = self.env, self.btf
        ref = btf[ref_id]
        if ref.kind not in COMPOSITES:
            self._unsupported(i, ref)
        if v.type == PTR_TO_BTF_ID:
            reg_btf, reg_id = v.raw1, v.raw2
        else:
            reg_btf = env.vmlinux
            reg_id = reg_btf.find(_SOCK_STRUCTS[base_type(v.type)], Kind.STRUCT)
        reg_id = reg_btf.skip(reg_id)
        strict = self.trusted or bool(self.release and v.ref_obj_id)
        if not btf_struct_ids_match(env, reg_btf, reg_id, v.off, btf, ref_id, strict):
            has = reg_btf[reg_id]
            self._reject(
                f"kernel function {self.name} args#{i} expected pointer to {type_text(ref)} "
                f"but R{i + 1} has a pointer to {type_text(has)}"
            )

    def _is_mem_size(self, i: int) -> bool:
        """A length that belongs to the pointer before it: is_kfunc_arg_mem_size()."""
        if i >= len(self.params) or self.regs[i + 1].value.type != SCALAR_VALUE:
            return False
        return is_scalar(self.btf.resolved(self.params[i].type)) and self.params[i].name.endswith("__sz")

    def _check_memory(self, i: int, v: Value, ref_id: int) -> int:
        env, btf, regno = self.env, self.btf, i + 1
        ref = btf[ref_id]
        if self.is_kfunc:
            what = f"arg#{i} pointer type {type_text(ref)}"
            sized = self._is_mem_size(i + 1)
            is_dynptr = ref.kind in COMPOSITES and ref.name == "bpf_dynptr_kern"
            plain = is_scalar(ref) or is_scalar_struct(env, btf, ref, 0) or is_dynptr
            if not plain and not (sized and ref.kind is Kind.VOID):
                void = "void, " if sized else ""
                self._reject(f"{what} must point to {void}scalar, or struct with scalar")
            if is_dynptr:
                self._check_dynptr(v, what)
                return 1
            if sized:
                try:
                    check_kfunc_mem_size_reg(env, regno + 1)
                except Rejected:
                    self._reject(f"arg#{i} arg#{i + 1} memory, len pair leads to invalid memory access")
                return 2
        resolved = resolve_size(btf, ref_id)
        if resolved is None:
            self._reject(f"arg#{i} reference type('{type_text(ref)}') size cannot be determined: {-EINVAL}")
            return 1
        try:
            check_mem_reg(env, regno, resolved.size)
        except Rejected:
            env.reject(EINVAL)
        return 1

    def _check_dynptr(self, v: Value, what: str) -> None:
        env = self.env
        if v.type != PTR_TO_STACK:
            self._reject(f"{what} not to stack")
        if not dynptr.is_dynptr_init(env, v):
            self._reject(f"{what} must be valid and initialized")
        if not dynptr.is_dynptr_type_expected(env, v, ARG_PTR_TO_DYNPTR | DYNPTR_TYPE_LOCAL):
            self._reject(f"{what} points to unsupported dynamic pointer type")


def is_scalar_struct(env: Env, btf: Btf, t: BtfType, depth: int) -> bool:
    """Nothing but numbers inside: __btf_typeis_scalar_struct()."""
    if t.kind not in COMPOSITES:
        return False
    for member in t.members:
        inner = btf.resolved(member.type)
        if inner.kind in COMPOSITES:
            if depth >= 3:
                env.verbose("max struct nesting depth exceeded\n")
                return False
            if not is_scalar_struct(env, btf, inner, depth + 1):
                return False
            continue
        if inner.kind is Kind.ARRAY:
            if not inner.nelems:
                return False
            inner = btf.resolved(inner.type)
        if not is_scalar(inner):
            return False
    return True


def check_kfunc_args(env: Env, btf: Btf, func_id: int, meta: KfuncMeta) -> int:
    """btf_check_kfunc_arg_match(): the register that is released, or 0."""
    return _Match(env, btf, func_id, env.regs, True, meta, True).run()


def _match_subprog(env: Env, subprog: int, regs: list[Reg], calling: bool) -> None:
    """Refuse if the registers do not fit; functions without BTF, or whose BTF was wrong before, never fit."""
    info = env.subprogs[subprog]
    if not env.has_func_info:
        env.reject(EINVAL)
    if not info.type_id:
        env.reject(EFAULT)
    if info.unreliable:
        env.reject(EINVAL)
    try:
        if env.rules.arguments_prepared:
            prepared_args.check_call(env, subprog, regs)
        else:
            _Match(env, env.btf, info.type_id, regs, info.linkage == GLOBAL, None, calling).run()
    except Rejected:
        info.unreliable = True
        raise


def check_subprog_call(env: Env, subprog: int, regs: list[Reg]) -> None:
    """btf_check_subprog_call()."""
    _match_subprog(env, subprog, regs, True)


def check_main_args(env: Env, subprog: int, regs: list[Reg]) -> None:
    """btf_check_subprog_arg_match(): the main function's BTF need not fit, unless it is broken."""
    if env.rules.arguments_prepared:
        prepared_args.check_main(env)
        return
    try:
        _match_subprog(env, subprog, regs, False)
    except Rejected as refused:
        if refused.errno == EFAULT:
            raise


def prepare_func_args(env: Env, subprog: int, regs: list[Reg]) -> None:
    """Registers at the start of a global function are what its prototype says: btf_prepare_func_args()."""
    info, btf = env.subprogs[subprog], env.btf
    if not env.has_func_info or info.linkage != GLOBAL:
        env.reject(EFAULT, "Verifier bug")
    if not info.type_id:
        env.reject(EFAULT, "Global functions need valid BTF")
    func = prepared_args.func_type(env, subprog)
    name = func.name
    if env.level:
        env.verbose(f"Validating {name}() func#{subprog}...\n")
    if env.rules.arguments_prepared:
        prepared_args.enter(env, subprog, regs)
        return
    proto = prepared_args.reliable_proto(env, subprog, func)
    nargs = len(proto.params)
    if nargs > MAX_BPF_FUNC_REG_ARGS:
        env.reject(EINVAL, f"Global function {name}() with {nargs} > {MAX_BPF_FUNC_REG_ARGS} args. Buggy compiler.")
    ret = btf.resolved(proto.type)
    if ret.kind is not Kind.INT and not is_any_enum(ret):
        env.reject(EINVAL, f"Global function {name}() doesn't return scalar. Only those are supported.")
    for i, param in enumerate(proto.params):
        _prepare_arg(env, btf, regs[i + 1], param, name, i)


def _prepare_arg(env: Env, btf: Btf, reg: Reg, param: Param, name: str, i: int) -> None:
    t = btf.resolved(param.type)
    if t.kind is Kind.INT or is_any_enum(t):
        reg.value = reg.value.with_type(SCALAR_VALUE)
        return
    if t.kind is Kind.PTR and is_prog_ctx_type(env, btf, t, env.prog_type, i):
        reg.value = reg.value.with_type(PTR_TO_CTX)
        return
    if t.kind is not Kind.PTR or not env.rules.global_memory:
        env.reject(EINVAL, f"Arg#{i} type {kind_text(t)} in {name}() is not supported yet.")
    target = btf.skip(t.type)
    resolved = resolve_size(btf, target)
    if resolved is None:
        ref = btf[target]
        env.reject(
            EINVAL,
            f"arg#{i} reference type('{type_text(ref)}') size cannot be determined: {-EINVAL}",
        )
    reg.value = known_zero(PTR_TO_MEM | PTR_MAYBE_NULL, resolved.size, number=env.new_id())
