"""What a program may know of the kernel it is compiled for: structures, registers of its CPU, records of its events.

Only names and kinds of members are taken from here into a program that uses CO-RE; their places are the running kernel's.
"""

from __future__ import annotations

from functools import cached_property

from arch import architecture
from arch.abi.version import NEWEST, KernelVersion
from arch.architecture import DEFAULT
from arch.ctype import ArrayType, CType, CTypeError, EnumType, IntType, PointerType, StructType
from arch.typecache import shared_types
from arch.typetable import TypeTable
from bpf import uapi
from bpf.btf.vmlinux import add_events, event_class
from bpf.python.types import CHAR, INTS, Array, Int, KernelStruct, Pointer, Space, Type
from tracing.events import declarations

BTF_SINCE = "5.2"  # kernels that say where members are
RODATA_SINCE = "5.2"  # kernels that take constant data beside a program


class Target:
    """One CPU and kernel version."""

    def __init__(self, arch: str = DEFAULT, kernel: str | KernelVersion = NEWEST) -> None:
        self.arch = architecture.get(arch)
        self.version = KernelVersion.parse(kernel)
        self.registers = self.arch.pt_regs_for(self.version)
        self._structs: dict[int, KernelStruct] = {}
        self._ctypes: dict[int, StructType] = {}

    @cached_property
    def types(self) -> TypeTable:
        """The kernel's types, records of its trace events among them."""
        table = shared_types(self.arch, self.version)
        add_events(table, declarations(self.version))
        return table

    def struct(self, name: str) -> KernelStruct | None:
        """`task_struct`; None if the kernel has no such struct."""
        try:
            return self._struct(self.types.struct(f"struct {name}"))
        except CTypeError:
            return None

    def record(self, event: str) -> KernelStruct | None:
        """What a tracepoint's program gets."""
        return self.struct(f"trace_event_raw_{event_class(event, self.version)}")

    def _struct(self, ctype: StructType) -> KernelStruct:
        found = self._structs.get(id(ctype))
        if found is None:
            found = self._structs[id(ctype)] = KernelStruct(ctype.name, ctype.size, ctype.align)
            self._ctypes[id(found)] = ctype
        return found

    def member(self, struct: KernelStruct, name: str, space: Space) -> Type | None:
        """Its type; None if there is none of this name.  CTypeError for one that programs cannot read."""
        found = next((m for m in self._ctypes[id(struct)].flat_members() if m.name == name), None)
        if found is None:
            return None
        if found.bit_size:
            raise CTypeError(f"{name} is a bit-field")
        return self.convert(found.type, space)

    def fixed_offset(self, struct: KernelStruct, name: str) -> int | None:
        """In kernels that have no BTF: where the member is in ours."""
        if self.version.at_least(BTF_SINCE):
            return None
        return self._ctypes[id(struct)].member(name).offset

    def convert(self, ctype: CType, space: Space) -> Type:
        """A type of the kernel as a type of programs; pointers lead into `space`."""
        inner = ctype.strip
        match inner:
            case IntType() if inner.size <= 8:
                if inner.kind == "char":
                    return CHAR
                return INTS[f"{'s' if inner.signed else 'u'}{8 * inner.size}"]
            case EnumType():
                return INTS[f"{'s' if inner.signed else 'u'}{8 * inner.size}"]
            case ArrayType():
                return Array(self.convert(inner.elem, space), inner.count)
            case StructType():
                return self._struct(inner)
            case PointerType(target, _):
                pointed = target.strip
                if isinstance(pointed, StructType) and pointed.is_complete:
                    return Pointer(self._struct(pointed), space)
                if isinstance(pointed, IntType) and pointed.size <= 8:
                    return Pointer(self.convert(pointed, space), "kernel")
                return Pointer(None, "kernel")
        raise CTypeError(f"no programs can read {ctype!r}")

    def register(self, name: str) -> tuple[int, Int] | None:
        """Offset in pt_regs and type of a register by its field."""
        row = self.registers.fields.get(name)
        return None if row is None else (row.offset, INTS[f"u{8 * row.size}"])

    def argument(self, number: int) -> tuple[int, Int] | None:
        """The same of a function's argument, from 0; None for one that is not in a register."""
        fields = self.arch.function_args
        return self.register(fields[number]) if number < len(fields) else None

    def constant(self, name: str) -> int | None:
        """BPF_ANY, XDP_PASS: what the kernel's headers call a number."""
        value = vars(uapi).get(name)
        if isinstance(value, int):
            return value
        try:
            return self.types.constant(name)
        except CTypeError:
            return None

    @property
    def has_rodata(self) -> bool:
        return self.version.at_least(RODATA_SINCE)
