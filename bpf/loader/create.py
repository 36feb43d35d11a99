"""Create the maps of an object in a kernel, or take over pinned ones, and give them their first contents.

tools/lib/bpf/libbpf.c: bpf_object__create_maps(), bpf_object__reuse_map(), init_map_in_map_slots().
"""

from __future__ import annotations

from typing import TypedDict

from arch.abi.errno import ENOENT, EOPNOTSUPP, errno_name
from arch.errors import KernelError
from bpf import uapi
from bpf.loader.defs import PIN_BY_NAME
from bpf.loader.errors import LoadError
from bpf.loader.maps import Map, possible_cpus
from bpf.loader.probes import Features
from bpf.loader.program import Program
from bpf.loader.sys import Task
from bpf.maps.types import row_of


class MapAttributes(TypedDict, total=False):
    """Attributes of BPF_MAP_CREATE beside type and sizes."""

    name: str
    inner_map_fd: int
    numa_node: int
    map_extra: int
    btf_fd: int
    key_type_id: int
    value_type_id: int


def map_at(maps: dict[str, Map], section: int, offset: int) -> Map | None:
    """The map that a relocation against a place in .maps means."""
    for m in maps.values():
        if m.definition.kind == "map" and (m.definition.section, m.definition.offset) == (section, offset):
            return m
    return None


class MapCreator:
    """The maps of one object on their way into a kernel."""

    def __init__(
        self,
        task: Task,
        features: Features,
        maps: dict[str, Map],
        btf_fd: int,
        pin_root: str,
        messages: list[str],
    ) -> None:
        self.task = task
        self.features = features
        self.maps = maps
        self.btf_fd = btf_fd
        self.pin_root = pin_root
        self.messages = messages

    def create(self) -> None:
        """Create those that are not there already, fill sections of variables and the slots of maps of maps."""
        for m in self.maps.values():
            d = m.definition
            if not m.autocreate:
                continue
            m.task = self.task
            if d.pinning == PIN_BY_NAME and not m.pin_path:
                m.pin_path = f"{self.pin_root}/{d.name}"
            if m.fd < 0 and not self._reuse(m):
                self._create(m)
            if d.kind != "map":
                self._populate(m)
            if m.pin_path and not m.reused:
                self.task.obj_pin(m.fd, m.pin_path)
        for m in self.maps.values():
            self._fill_map_slots(m)

    def _reuse(self, m: Map) -> bool:
        """A pinned map of the same shape is taken over.  bpf_object__reuse_map()."""
        if not m.pin_path:
            return False
        try:
            fd = self.task.obj_get(m.pin_path)
        except KernelError as error:
            if error.errno == ENOENT:
                return False
            raise LoadError(f"couldn't retrieve pinned map '{m.pin_path}': {error}", error.errno) from None
        info = self.task.unpack("6I", self.task.obj_info(fd, 80)[:24])
        d = m.definition
        if (info[0], info[2], info[3], info[4]) != (d.type, d.key_size, d.value_size, d.max_entries):
            self.task.close(fd)
            raise LoadError(f"couldn't reuse pinned map at '{m.pin_path}': parameter mismatch")
        m.fd, m.reused = fd, True
        return True

    def _create(self, m: Map) -> None:
        d = m.definition
        if d.kind != "map" and not self.features.global_data:
            raise LoadError("kernel doesn't support global data", EOPNOTSUPP)
        flags = d.flags
        if flags & uapi.BPF_F_MMAPABLE and not self.features.array_mmap:
            flags &= ~uapi.BPF_F_MMAPABLE
        entries = d.max_entries
        if d.type == uapi.BPF_MAP_TYPE_PERF_EVENT_ARRAY and not entries:
            entries = possible_cpus(self.task)
        inner = self._inner_template(m)
        attrs: MapAttributes = {"inner_map_fd": inner, "numa_node": d.numa_node, "map_extra": d.map_extra}
        if self.features.map_name:
            attrs["name"] = d.name
        wants_btf = self.btf_fd >= 0 and d.value_type_id and row_of(d.type).loader_btf
        typed: MapAttributes = {
            **attrs,
            "btf_fd": self.btf_fd,
            "key_type_id": d.key_type_id,
            "value_type_id": d.value_type_id,
        }
        try:
            try:
                m.fd = self.task.map_create(
                    d.type, d.key_size, d.value_size, entries, flags, **(typed if wants_btf else attrs)
                )
            except KernelError as error:
                if not wants_btf:
                    raise
                text = f"Error in bpf_create_map_xattr({d.name}):{errno_name(error.errno)}({-error.errno}). "
                self.messages.append(text + "Retrying without BTF.")
                m.fd = self.task.map_create(d.type, d.key_size, d.value_size, entries, flags, **attrs)
        except KernelError as error:
            raise LoadError(f"map '{d.name}': failed to create: {errno_name(error.errno)}({-error.errno})",
                            error.errno) from None  # fmt: skip
        finally:
            if inner:
                self.task.close(inner)
        d.max_entries = entries

    def _inner_template(self, m: Map) -> int:
        d = m.definition
        if not row_of(d.type).map_in_map or d.inner is None:
            return 0
        i = d.inner
        try:
            return self.task.map_create(i.type, i.key_size, i.value_size, i.max_entries, i.flags)
        except KernelError as error:
            raise LoadError(f"map '{d.name}': failed to create inner map: {-error.errno}", error.errno) from None

    def _populate(self, m: Map) -> None:
        """Initial contents of global variables; constants are frozen.  bpf_object__populate_internal_map()."""
        d = m.definition
        if d.kind != ".bss":
            self.task.map_update(m.fd, bytes(4), bytes(d.data))
        if d.kind in (".rodata", ".kconfig"):
            try:
                self.task.map_freeze(m.fd)
            except KernelError as error:
                self.messages.append(f"Error freezing map({d.name}) as read-only: {error}")

    def _fill_map_slots(self, m: Map) -> None:
        """`values = { [0] = &inner }` of maps of maps."""
        if not row_of(m.definition.type).map_in_map:
            return
        for slot, symbol in m.definition.init_slots:
            inner = map_at(self.maps, symbol.section, symbol.value)
            if inner is None:
                raise LoadError(f".maps relo: symbol '{symbol.name}' isn't a BTF-defined map")
            self._fill(m, slot, inner.fd, inner.name)

    def fill_program_slots(self, programs: dict[str, Program]) -> None:
        for m in self.maps.values():
            if m.definition.type != uapi.BPF_MAP_TYPE_PROG_ARRAY:
                continue
            for slot, symbol in m.definition.init_slots:
                program = programs.get(symbol.name)
                if program is None or program.fd < 0:
                    raise LoadError(f".maps relo: '{symbol.name}' isn't a valid program reference")
                self._fill(m, slot, program.fd, program.name)

    def _fill(self, m: Map, slot: int, fd: int, what: str) -> None:
        try:
            m.update(self.task.pack("I", slot), self.task.pack("I", fd))
        except KernelError as error:
            text = f"map '{m.name}': failed to initialize slot [{slot}] to '{what}' fd={fd}: {-error.errno}"
            raise LoadError(text, error.errno) from None
