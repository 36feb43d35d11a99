"""A CPU without rdrand and rdseed, whose numbers would be the host's and differ in every run.

The emulator has neither a hook for them nor a model of a CPU that has all but them.  What its CPU can do stands in the
emulator's memory, and each translation looks there: one bit of a place that is known by what stands around it.  Programs
find no rdrand in cpuid then, and take getrandom(2).
"""

from __future__ import annotations

import os
import struct

_EDX, _ECX, _EBX = 0x078BFBFD, 0xC6D82203, 0x389  # FEAT_1_EDX, FEAT_1_ECX and FEAT_7_0_EBX of the emulator's Haswell
RDRAND = 1 << 30  # CPUID_EXT_RDRAND; it stands for rdseed, too
_WORDS = struct.Struct("<3Q")
_SIGNATURE = _WORDS.pack(_EDX, _ECX, _EBX)
# Where the engine's pointer to the CPU is looked for, and there the words.
_ENGINE_BYTES, _CPU_BYTES = 8192, 65536


def _read(memory: int, address: int, size: int) -> bytes:
    """Of this process; nothing where nothing is mapped."""
    try:
        return os.pread(memory, size, address)
    except (OSError, OverflowError):
        return b""


def _pointers(memory: int, engine: int) -> list[int]:
    data = _read(memory, engine, _ENGINE_BYTES)
    return list(struct.unpack(f"<{len(data) // 8}Q", data[: len(data) & -8]))


# Which of the engine's words points to the CPU, and where the features are from there.
_places: list[tuple[int, int]] = []


def _find(memory: int, engine: int) -> int:
    """Address of the features; 0 where they are not."""
    pointers = _pointers(memory, engine)
    if not _places:
        for index, pointer in enumerate(pointers):
            at = _read(memory, pointer, _CPU_BYTES).find(_SIGNATURE)
            if at >= 0:
                _places.append((index, at))
                break
    for index, offset in _places:
        address = pointers[index] + offset
        if _read(memory, address, len(_SIGNATURE)) == _SIGNATURE:
            return address
    return 0


def take_away(engine: int) -> bool:
    """From the CPU of a uc_engine that has begun: is it done?  Only where /proc/self/mem is."""
    try:
        memory = os.open("/proc/self/mem", os.O_RDWR)
    except OSError:
        return False
    try:
        address = _find(memory, engine)
        if not address:
            return False
        os.pwrite(memory, _WORDS.pack(_EDX, _ECX & ~RDRAND, _EBX), address)
        return True
    finally:
        os.close(memory)
