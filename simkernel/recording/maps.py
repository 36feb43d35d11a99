"""The maps of a BPF object, typed."""

from __future__ import annotations

from typing import Any

from arch.errors import KernelError
from bpf import uapi
from bpf.loader.object import BpfObject
from simkernel.recording.model import Recording
from simkernel.recording.rows import MapDump, ProgramDump
from simkernel.recording.store import shown

# Sections of global variables are maps too, but constants tell nothing that the source does not.
HIDDEN_MAPS = (".rodata", ".kconfig")
Maps = dict[str, list[tuple[Any, Any]]]
LOG_KEPT = 1 << 20  # bytes of one program's verifier log


def object_maps(obj: BpfObject) -> Maps:
    """Name -> [(typed key, typed value)] of the maps of an object that have something to show."""
    out: Maps = {}
    for name, bpf_map in obj.maps.items():
        if any(hidden in name for hidden in HIDDEN_MAPS) or name.startswith("__bpf_usdt"):
            continue
        try:
            entries = list(bpf_map.items())
        except KernelError:
            continue  # ring buffers, program arrays ...: nothing to look up
        out[name] = entries
    return out


def dumps(path: str, obj: BpfObject, maps: Maps) -> list[MapDump]:
    """The same for a recording."""
    return [
        MapDump(name, path, map_type(obj.maps[name].type), [(shown(key), shown(value)) for key, value in entries])
        for name, entries in maps.items()
    ]


def map_type(number: int) -> str:
    """`hash`, `array`, `percpu_hash`: a map's type as bpftool writes it."""
    return MAP_TYPES.get(number, str(number))


MAP_TYPES = {
    value: name.removeprefix("BPF_MAP_TYPE_").lower()
    for name, value in vars(uapi).items()
    if name.startswith("BPF_MAP_TYPE_") and isinstance(value, int)
}


def program_dumps(path: str, obj: BpfObject) -> list[ProgramDump]:
    """The programs that were loaded, and what the verifier says of each; of a long log as much as is kept."""
    out = []
    for name, program in obj.programs.items():
        try:
            log = obj.verifier_log(program, log_size=LOG_KEPT)
        except KernelError as error:
            log = f"{error}\n"
        out.append(ProgramDump(name, path, program.section_name, log))
    return out


def add_objects(recording: Recording, objects: list[tuple[str, BpfObject]]) -> None:
    """Maps and programs of loaded objects."""
    for path, obj in objects:
        recording.maps += dumps(path, obj, object_maps(obj))
        recording.programs += program_dumps(path, obj)
