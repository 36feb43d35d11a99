"""Copying between the kernel and the current task's memory.  lib/usercopy.c, lib/strncpy_from_user.c."""

from __future__ import annotations

from arch.abi.errno import E2BIG, EFAULT, ENAMETOOLONG
from arch.errors import Fault, KernelError
from arch.memory import ByteOrder, Memory

ZEROS = bytes(65536)  # what is cleared at once


class UserCopy:
    """`k.usercopy`.  Every access may raise KernelError(EFAULT)."""

    __slots__ = ("byteorder", "user")

    def __init__(self, user: Memory, byteorder: ByteOrder) -> None:
        self.user = user  # the current task's addresses (raises Fault); the scheduler changes it
        self.byteorder: ByteOrder = byteorder

    def copy_from_user(self, addr: int, size: int) -> bytes:
        """Bytes at a user address; EFAULT."""
        try:
            return bytes(self.user.read(addr, size))
        except Fault:
            raise KernelError(EFAULT) from None

    def copy_struct_from_user(self, addr: int, size: int, known: int) -> bytes:
        """A structure that grows: the `known` bytes of one of `size`, zeros for what it is too old to have.  EFAULT; E2BIG: more is said."""
        raw = self.copy_from_user(addr, size)
        if any(raw[known:]):
            raise KernelError(E2BIG, "something that this kernel does not know is asked for")
        return raw[:known].ljust(known, b"\0")

    def copy_to_user(self, addr: int, data: bytes) -> None:
        """Write bytes to a user address; EFAULT."""
        try:
            self.user.write(addr, data)
        except Fault:
            raise KernelError(EFAULT) from None

    def clear_user(self, addr: int, size: int) -> int:
        """Zeros, piece by piece up to one that cannot be written; how many."""
        done = 0
        while done < size:
            step = min(len(ZEROS), size - done)
            try:
                self.user.write(addr + done, ZEROS[:step])
            except Fault:
                break
            done += step
        return done

    def get_user(self, addr: int, size: int, signed: bool = False) -> int:
        """One integer of the machine's byte order; EFAULT."""
        data = self.copy_from_user(addr, size)
        return int.from_bytes(data, self.byteorder, signed=signed)

    def put_user(self, addr: int, size: int, value: int) -> None:
        """Store one integer (two's complement); EFAULT."""
        self.copy_to_user(addr, (value & ((1 << 8 * size) - 1)).to_bytes(size, self.byteorder))

    def strncpy_from_user(self, addr: int, limit: int = 4096) -> bytes:
        """A C string without its NUL; EFAULT, or ENAMETOOLONG when no NUL within `limit` bytes."""
        out = bytearray()
        while len(out) < limit:
            step = min(256 - (addr & 255), limit - len(out))
            chunk = self.copy_from_user(addr, step)
            end = chunk.find(0)
            if end >= 0:
                out += chunk[:end]
                return bytes(out)
            out += chunk
            addr += step
        raise KernelError(ENAMETOOLONG)

    def copy_from_user_string(self, addr: int, limit: int) -> bytes:
        """strncpy_from_user() that cuts instead of refusing."""
        out = bytearray()
        while len(out) < limit:
            byte = self.copy_from_user(addr + len(out), 1)
            if byte == b"\0":
                break
            out += byte
        return bytes(out)
