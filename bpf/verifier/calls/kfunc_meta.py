"""What one call of a kernel function is about, since 6.2: struct bpf_kfunc_call_arg_meta, and how messages name arguments."""

from __future__ import annotations

from dataclasses import dataclass, field

from bpf.btf import Btf
from bpf.btf.codec import BtfType, Param
from bpf.btf.record import Field
from bpf.verifier.api import MapInfo
from bpf.verifier.calls import kfuncs
from bpf.verifier.env import Env

Place = tuple[int, int]  # of an iterator: frame, first slot


@dataclass(slots=True)
class KfuncCall:
    """Facts about one call."""

    name: str
    func_id: int
    proto: BtfType
    flags: int
    module: bool = False
    # of the arguments
    ref_obj_id: int = 0
    release_regno: int = 0
    constant: int | None = None
    r0_size: int = 0
    r0_rdonly: bool = False
    subprogno: int = -1
    arg_btf: Btf | None = None  # of an object of the program's own
    arg_btf_id: int = 0
    map: MapInfo | None = None  # of a work queue, and of the map beside it
    map_uid: int = 0
    root: Field | None = None  # the list or tree
    owning: bool = False  # the object is the program's, not shared
    ret_btf_id: int = 0  # of the kernel's context
    dynptr_id: int = 0
    dynptr_kind: int = 0
    dynptr_ref: int = 0
    iterator: Place = field(default=(0, 0))
    iterator_ref: int = 0

    @property
    def plain(self) -> str:
        """The name without the mark of its first form."""
        return self.name.removesuffix("_impl")

    def has(self, flag: int) -> bool:
        """A KF_ flag."""
        return bool(self.flags & flag)

    @property
    def may_give_null(self) -> bool:
        """is_kfunc_ret_null(): another reference to an object that is held is always had."""
        return self.has(kfuncs.KF_RET_NULL) and not self.owning

    @property
    def relies(self) -> bool:
        """Pointers have to be trusted, or protected by a read section."""
        return self.has(kfuncs.KF_TRUSTED_ARGS | kfuncs.KF_RCU | kfuncs.KF_RELEASE)

    @property
    def params(self) -> list[Param]:
        """The parameters of its prototype."""
        return self.proto.params


def arg_name(env: Env, i: int) -> str:
    """An argument, from 0, in messages."""
    return f"R{i + 1}" if env.rules.arguments_by_register else f"arg#{i}"


def plain_arg_name(env: Env, i: int) -> str:
    """The same where there was no sign."""
    return f"R{i + 1}" if env.rules.arguments_by_register else f"arg{i}"
