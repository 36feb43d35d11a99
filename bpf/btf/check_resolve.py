"""The graph of BTF types: every reference leads to a type of the right sort, and nothing contains itself.

kernel/bpf/btf.c: btf_check_all_types(), btf_resolve() and the resolve of each kind.
"""

from __future__ import annotations

from arch.abi.errno import E2BIG, EEXIST
from arch.abi.limits import U32_MAX
from bpf.btf.check_env import (
    MAX_NAME_OFFSET,
    MODIFIER,
    NEEDS_RESOLVE,
    NO_SIZE,
    SOURCE_ONLY,
    STRUCT,
    BtfEnv,
    Raw,
    Refused,
    is_regular,
    signed,
)
from bpf.btf.check_member import check_member
from bpf.btf.codec import MAX_RESOLVE_DEPTH, Kind

_DECL_TAG_TARGET = frozenset({Kind.FUNC, Kind.STRUCT, Kind.UNION, Kind.VAR, Kind.TYPEDEF})
_TBD, _PTR, _STRUCT_OR_ARRAY = range(3)
_NOT_VISITED, _VISITED, _RESOLVED = range(3)


class Resolver:
    """Depth first over all references, by an explicit stack that is as deep as the kernel's."""

    def __init__(self, env: BtfEnv) -> None:
        self.env = env
        self.state: list[int] = []
        self.stack: list[list[int]] = []  # [type id, next member]
        self.mode = _TBD

    def all_types(self) -> None:
        """btf_check_all_types()."""
        count = len(self.env.types)
        self.env.ids, self.env.sizes, self.state = [0] * count, [0] * count, [_NOT_VISITED] * count
        self.env.checking_meta = False
        for type_id in range(1, count):
            t = self.env.types[type_id]
            self.env.log_id = type_id
            if t.kind in NEEDS_RESOLVE and self.state[type_id] != _RESOLVED:
                self.resolve(t, type_id)
            if t.kind is Kind.FUNC_PROTO:
                self.func_proto(t)

    def resolve(self, t: Raw, type_id: int) -> None:
        """btf_resolve(): depth first, by an explicit stack that is as deep as the kernel's."""
        saved = self.env.log_id
        self.mode = _TBD
        errno = self.push(t, type_id)
        errno = 0  # the kernel ignores it: the first push cannot fail
        while not errno and self.stack:
            vertex = self.stack[-1]
            self.env.log_id = vertex[0]
            try:
                errno = _RESOLVE[self.env.types[vertex[0]].kind](self, vertex)
            except Refused as refusal:
                self.env.log_id = type_id
                raise refusal
        self.env.log_id = type_id
        if errno == E2BIG:
            self.env.log_type(t, f"Exceeded max resolving depth:{MAX_RESOLVE_DEPTH}")
        elif errno == EEXIST:
            self.env.log_type(t, "Loop detected")
        if errno:
            raise Refused(errno)
        if not self.is_valid(t, type_id):
            raise self.env.refuse(t, "Invalid resolve state")
        self.env.log_id = saved

    def push(self, t: Raw, type_id: int) -> int:
        if len(self.stack) == MAX_RESOLVE_DEPTH:
            return E2BIG
        if self.state[type_id] != _NOT_VISITED:
            return EEXIST
        self.state[type_id] = _VISITED
        self.stack.append([type_id, 0])
        if self.mode == _TBD:
            if t.kind is Kind.PTR:
                self.mode = _PTR
            elif t.kind in STRUCT or t.kind is Kind.ARRAY:
                self.mode = _STRUCT_OR_ARRAY
        return 0

    def pop(self, resolved_id: int, size: int) -> int:
        type_id = self.stack.pop()[0]
        self.env.ids[type_id], self.env.sizes[type_id] = resolved_id, size
        self.state[type_id] = _RESOLVED
        return 0

    def is_sink(self, t: Raw) -> bool:
        if self.mode == _TBD:
            return t.kind not in NEEDS_RESOLVE
        if self.mode == _PTR:
            return t.kind not in MODIFIER and t.kind is not Kind.PTR
        return t.kind not in MODIFIER and t.kind is not Kind.ARRAY and t.kind not in STRUCT

    def must_visit(self, t: Raw, type_id: int) -> bool:
        return not self.is_sink(t) and self.state[type_id] != _RESOLVED

    def resolve_df(self, vertex: list[int]) -> int:
        raise self.env.refuse(self.env.types[vertex[0]], "Unsupported resolve", details=False)

    def target(self, vertex: list[int]) -> tuple[Raw, Raw, int]:
        t = self.env.types[vertex[0]]
        following = self.env.type_at(t.size)
        if following is None or following.kind in SOURCE_ONLY:
            raise self.env.refuse(t, "Invalid type_id")
        return t, following, t.size

    def may_be_sizeless(self, t: Raw, following: Raw, type_id: int) -> int:
        """`const void`, a pointer to a forward declaration ... are fine; the rest must have a size."""
        found = self.env.id_size(type_id)
        if found is not None:
            return found[0]
        if self.state[type_id] == _RESOLVED:
            type_id = self.env.ids[type_id]
            following = self.env.types[type_id]
        if following.kind not in (Kind.VOID, Kind.FWD, Kind.FUNC_PROTO):
            raise self.env.refuse(t, "Invalid type_id")
        return type_id

    def resolve_modifier(self, vertex: list[int]) -> int:
        t, following, type_id = self.target(vertex)
        if self.must_visit(following, type_id):
            return self.push(following, type_id)
        return self.pop(self.may_be_sizeless(t, following, type_id), 0)

    def last_pointer(self, following: Raw, type_id: int) -> tuple[Raw, int] | None:
        """A modifier may have stopped at a pointer that was resolved only as such; go on from there."""
        if following.kind not in MODIFIER:
            return None
        resolved_id = self.env.ids[type_id]
        resolved = self.env.types[resolved_id]
        if resolved.kind is Kind.PTR and self.must_visit(resolved, resolved_id):
            return resolved, resolved_id
        return None

    def resolve_var(self, vertex: list[int]) -> int:
        t, following, type_id = self.target(vertex)
        if self.must_visit(following, type_id):
            return self.push(following, type_id)
        if again := self.last_pointer(following, type_id):
            return self.push(*again)
        found = self.env.id_size(type_id)
        if found is None:
            raise self.env.refuse(t, "Invalid type_id")
        return self.pop(found[0], 0)

    def resolve_ptr(self, vertex: list[int]) -> int:
        t, following, type_id = self.target(vertex)
        if self.must_visit(following, type_id):
            return self.push(following, type_id)
        if again := self.last_pointer(following, type_id):
            return self.push(*again)
        return self.pop(self.may_be_sizeless(t, following, type_id), 0)

    def resolve_array(self, vertex: list[int]) -> int:
        t = self.env.types[vertex[0]]
        elem_id, index_id, count = t.rows[0]
        for type_id, what in ((index_id, "Invalid index"), (elem_id, "Invalid elem")):
            inner = self.env.type_at(type_id)
            if inner is None or inner.kind in NO_SIZE or inner.kind in SOURCE_ONLY:
                raise self.env.refuse(t, what)
            if self.must_visit(inner, type_id):
                return self.push(inner, type_id)
            if what == "Invalid index":
                found = self.env.id_size(type_id)
                if found is None or found[1].kind is not Kind.INT or not is_regular(found[1]):
                    raise self.env.refuse(t, what)
        element = self.env.id_size(elem_id)
        if element is None:
            raise self.env.refuse(t, "Invalid elem")
        found_id, elem, size = element
        if elem.kind is Kind.INT and not is_regular(elem):
            raise self.env.refuse(t, "Invalid array of int")
        if count and size > U32_MAX // count:
            raise self.env.refuse(t, "Array size overflows U32_MAX")
        return self.pop(found_id, size * count)

    def resolve_struct(self, vertex: list[int]) -> int:
        t = self.env.types[vertex[0]]
        if vertex[1]:
            m = t.rows[vertex[1] - 1]
            check_member(self.env, t, m, self.env.types[m[1]])
        for at in range(vertex[1], len(t.rows)):
            m = t.rows[at]
            inner = self.env.type_at(m[1])
            if inner is None or inner.kind in NO_SIZE or inner.kind in SOURCE_ONLY:
                raise self.env.refuse_member(t, m, "Invalid member")
            if self.must_visit(inner, m[1]):
                vertex[1] = at + 1
                return self.push(inner, m[1])
            check_member(self.env, t, m, inner)
        return self.pop(0, 0)

    def resolve_func(self, vertex: list[int]) -> int:
        t = self.env.types[vertex[0]]
        proto = self.env.type_at(t.size)
        if proto is None or proto.kind is not Kind.FUNC_PROTO:
            raise self.env.refuse(t, "Invalid type_id")
        for number, (name, type_id) in enumerate(proto.rows, 1):
            if not name and type_id:
                raise self.env.refuse(t, f"Invalid arg#{number}")
        return self.pop(t.size, 0)

    def resolve_datasec(self, vertex: list[int]) -> int:
        t = self.env.types[vertex[0]]
        self.mode = _TBD
        for at in range(vertex[1], len(t.rows)):
            v = t.rows[at]
            var = self.env.type_at(v[0])
            if var is None or var.kind is not Kind.VAR:
                raise self.env.refuse_vsi(t, v, "Not a VAR kind member")
            if self.must_visit(var, v[0]):
                vertex[1] = at + 1
                return self.push(var, v[0])
            found = self.env.id_size(var.size)
            if found is None:
                raise self.env.refuse_vsi(t, v, "Invalid type")
            if v[2] < found[2]:
                raise self.env.refuse_vsi(t, v, "Invalid size")
        return self.pop(0, 0)

    def resolve_decl_tag(self, vertex: list[int]) -> int:
        t = self.env.types[vertex[0]]
        following = self.env.type_at(t.size)
        if following is None or following.kind not in _DECL_TAG_TARGET:
            raise self.env.refuse(t, "Invalid type_id")
        if self.must_visit(following, t.size):
            return self.push(following, t.size)
        component = signed(t.word)
        if component != -1:
            if following.kind in (Kind.VAR, Kind.TYPEDEF):
                raise self.env.refuse(t, "Invalid component_idx")
            target = following if following.kind in STRUCT else self.env.types[following.size]
            if component >= target.vlen:
                raise self.env.refuse(t, "Invalid component_idx")
        return self.pop(t.size, 0)

    def func_proto(self, t: Raw) -> None:
        """btf_func_proto_check()."""
        if t.size:
            self.sized(t, t.size, "Invalid return type")
        rows = t.rows
        if rows and not rows[-1][1]:
            if rows[-1][0]:
                raise self.env.refuse(t, f"Invalid arg#{len(rows)}")
            rows = rows[:-1]
        for number, (name, type_id) in enumerate(rows, 1):
            self.sized(t, type_id, f"Invalid arg#{number}", name)

    def sized(self, t: Raw, type_id: int, message: str, name: int = 0) -> None:
        inner = self.env.type_at(type_id)
        if inner is None or inner.kind in SOURCE_ONLY:
            raise self.env.refuse(t, message)
        if name and (name > MAX_NAME_OFFSET or name >= len(self.env.strings) or not self.env.valid_name(name)):
            raise self.env.refuse(t, message)
        if inner.kind in NEEDS_RESOLVE and self.state[type_id] != _RESOLVED:
            self.resolve(inner, type_id)
        if self.env.id_size(type_id) is None:
            raise self.env.refuse(t, message)

    def is_valid(self, t: Raw, type_id: int) -> bool:
        """btf_resolve_valid()."""
        if self.state[type_id] != _RESOLVED:
            return False
        if t.kind in STRUCT or t.kind is Kind.DATASEC:
            return not self.env.ids[type_id] and not self.env.sizes[type_id]
        if t.kind in (Kind.DECL_TAG, Kind.FUNC):
            return bool(self.env.ids[type_id]) and not self.env.sizes[type_id]
        if t.kind in MODIFIER or t.kind in (Kind.PTR, Kind.VAR):
            found = self.env.type_at(self.env.ids[type_id])
            return found is not None and found.kind not in MODIFIER | {Kind.VAR, Kind.DATASEC}
        if t.kind is Kind.ARRAY:
            element = self.env.id_size(t.rows[0][0])
            if element is None or element[1].kind in MODIFIER:
                return False
            return (t.rows[0][2] * element[2]) & U32_MAX == self.env.sizes[type_id]
        return False


_RESOLVE = {
    Kind.INT: Resolver.resolve_df, Kind.ENUM: Resolver.resolve_df, Kind.ENUM64: Resolver.resolve_df, Kind.FWD: Resolver.resolve_df,
    Kind.FLOAT: Resolver.resolve_df, Kind.FUNC_PROTO: Resolver.resolve_df, Kind.VOID: Resolver.resolve_df,
    Kind.PTR: Resolver.resolve_ptr, Kind.ARRAY: Resolver.resolve_array, Kind.STRUCT: Resolver.resolve_struct, Kind.UNION: Resolver.resolve_struct,
    Kind.TYPEDEF: Resolver.resolve_modifier, Kind.VOLATILE: Resolver.resolve_modifier, Kind.CONST: Resolver.resolve_modifier,
    Kind.RESTRICT: Resolver.resolve_modifier, Kind.TYPE_TAG: Resolver.resolve_modifier, Kind.FUNC: Resolver.resolve_func,
    Kind.VAR: Resolver.resolve_var, Kind.DATASEC: Resolver.resolve_datasec, Kind.DECL_TAG: Resolver.resolve_decl_tag,
}  # fmt: skip
