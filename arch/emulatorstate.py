"""What the emulator's CPU can do stands in the emulator's memory, and each translation looks there.

unicorn has models of CPUs and hooks, but neither for all that a simulated CPU must not do.  So a few bytes are changed, which are
known by what stands around them; where this process cannot be read and written as a file, they stay.
"""

from __future__ import annotations

import os
import struct

# Bytes in which the engine's pointer to the CPU, and in the CPU the place is looked for.
_ENGINE_BYTES, _CPU_BYTES = 8192, 65536


def _read(memory: int, address: int, size: int) -> bytes:
    """Of this process; nothing where nothing is mapped."""
    try:
        return os.pread(memory, size, address)
    except (OSError, OverflowError):
        return b""


class Place:
    """Where in the CPU of a uc_engine that has begun some bytes are; it is the same place in each of a kind."""

    def __init__(self) -> None:
        # Which of the engine's words points to the CPU, and how far from there.
        self._place: tuple[int, int] | None = None

    def find(self, engine: int, known: bytes) -> int:
        """Address of the bytes; 0 where they are not, or this process cannot be read as a file."""
        try:
            memory = os.open("/proc/self/mem", os.O_RDONLY)
        except OSError:
            return 0
        try:
            return self.find_in(memory, engine, known)
        finally:
            os.close(memory)

    def find_in(self, memory: int, engine: int, known: bytes) -> int:
        """The same, the process being open."""
        data = _read(memory, engine, _ENGINE_BYTES)
        pointers = struct.unpack(f"<{len(data) // 8}Q", data[: len(data) & -8])
        if self._place is None:
            for index, pointer in enumerate(pointers):
                at = _read(memory, pointer, _CPU_BYTES).find(known)
                if at >= 0:
                    self._place = (index, at)
                    break
            else:
                return 0
        index, offset = self._place
        address = pointers[index] + offset
        return address if _read(memory, address, len(known)) == known else 0


# By unicorn's number of the architecture: where the CPU's registers begin.
REGISTER_FILES: dict[int, Place] = {}


class Ability:
    """Bytes of the CPU of a uc_engine that has begun, and what is put there."""

    def __init__(self, known: bytes, wanted: bytes) -> None:
        self.known, self.wanted = known, wanted
        self._place = Place()

    def take_away(self, engine: int) -> bool:
        """Is it done?  Only where /proc/self/mem is."""
        try:
            memory = os.open("/proc/self/mem", os.O_RDWR)
        except OSError:
            return False
        try:
            address = self._place.find_in(memory, engine, self.known)
            if not address:
                return False
            os.pwrite(memory, self.wanted, address)
            return True
        finally:
            os.close(memory)
