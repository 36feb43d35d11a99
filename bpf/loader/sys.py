"""The one door between the loader and a kernel.

`Syscalls` is what a task offers: raw system calls by name, and memory of its own to pass arguments in.  `Task` puts
the calls the loader makes on top, with arguments as Python values and failures as KernelError.  Numbers and layouts:
include/uapi/linux/bpf.h, perf_event.h; the byte order is the task's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from arch.abi.errno import EINTR, ENOENT
from arch.abi.fcntl import AT_FDCWD, F_OK, O_APPEND, O_CLOEXEC, O_RDONLY, O_WRONLY
from arch.abi.perf_event import (
    PERF_FLAG_FD_CLOEXEC,
)
from arch.errors import KernelError
from bpf import uapi
from bpf.btf.codec import ByteOrder, mark


class Syscalls(Protocol):
    """One task's way into its kernel."""

    @property
    def byteorder(self) -> ByteOrder: ...

    @property
    def word(self) -> int:
        """Bytes of a long."""

    @property
    def page_size(self) -> int: ...

    @property
    def packed_epoll_event(self) -> bool:
        """struct epoll_event has 12 bytes, its data at offset 4."""

    @property
    def mmap_takes_block(self) -> bool:
        """mmap(2) takes a pointer to its six arguments."""

    def syscall(self, name: str, *args: int) -> int:
        """Make a system call by name; the result, or minus an errno."""

    def alloc(self, size: int) -> int:
        """Zeroed memory of the task."""

    def free(self, addr: int) -> None: ...

    def read(self, addr: int, size: int) -> bytes: ...

    def write(self, addr: int, data: bytes) -> None: ...


class Task:
    """Named calls over `Syscalls`."""

    def __init__(self, sys: Syscalls) -> None:
        self.sys = sys
        self.byteorder: ByteOrder = sys.byteorder
        self.mark = mark(sys.byteorder)
        self.word = sys.word
        self.page_size = sys.page_size
        self.possible_cpus: int | None = None  # read when somebody first asks

    # Calls and memory

    def call(self, name: str, *args: int) -> int:
        """A system call; KernelError where it fails."""
        result = self.sys.syscall(name, *args)
        if -4096 < result < 0:
            raise KernelError(-result, name)
        return result

    @contextmanager
    def memory(self) -> Iterator[Memory]:
        """Buffers that live as long as the block."""
        scratch = Memory(self.sys)
        try:
            yield scratch
        finally:
            scratch.free()

    def pack(self, form: str, *values: int | bytes) -> bytes:
        return struct.pack(self.mark + form, *values)

    def unpack(self, form: str, data: bytes) -> tuple[Any, ...]:
        return struct.unpack(self.mark + form, data)

    # bpf(2)

    def bpf(self, cmd: int, attr: bytes) -> int:
        """bpf(2) with the bytes of its attributes."""
        return self.bpf_out(cmd, attr)[0]

    def bpf_out(self, cmd: int, attr: bytes) -> tuple[int, bytes]:
        """bpf(2), and the attributes as the kernel left them."""
        with self.memory() as m:
            where = m.put(attr)
            result = self.sys.syscall("bpf", cmd, where, len(attr))
            if result < 0:
                raise KernelError(-result, uapi_command_name(cmd))
            return result, self.sys.read(where, len(attr))

    def map_create(
        self,
        map_type: int,
        key_size: int,
        value_size: int,
        max_entries: int,
        flags: int = 0,
        *,
        inner_map_fd: int = 0,
        numa_node: int = 0,
        name: str = "",
        ifindex: int = 0,
        btf_fd: int = 0,
        key_type_id: int = 0,
        value_type_id: int = 0,
        vmlinux_value_type_id: int = 0,
        map_extra: int = 0,
    ) -> int:
        attr = self.pack(
            "7I16sIIIIIQ",
            *(map_type, key_size, value_size, max_entries, flags, inner_map_fd, numa_node, encode_text(name)[:15]),
            *(ifindex, btf_fd, key_type_id, value_type_id, vmlinux_value_type_id, map_extra),
        )
        return self.bpf(uapi.BPF_MAP_CREATE, trim(attr, 20))

    def _elem(self, cmd: int, fd: int, key: bytes | None, value: bytes, flags: int) -> bytes:
        with self.memory() as m:
            key_at = m.put(key) if key is not None else 0
            value_at = m.put(value)
            result = self.sys.syscall("bpf", cmd, m.put(self.pack("IIQQQ", fd, 0, key_at, value_at, flags)), 32)
            if result < 0:
                raise KernelError(-result, uapi_command_name(cmd))
            return self.sys.read(value_at, len(value))

    def map_lookup(self, fd: int, key: bytes, size: int, flags: int = 0) -> bytes:
        """The value's bytes; KernelError(ENOENT) where there is none."""
        return self._elem(uapi.BPF_MAP_LOOKUP_ELEM, fd, key, bytes(size), flags)

    def map_lookup_and_delete(self, fd: int, key: bytes | None, size: int) -> bytes:
        return self._elem(uapi.BPF_MAP_LOOKUP_AND_DELETE_ELEM, fd, key, bytes(size), 0)

    def map_update(self, fd: int, key: bytes | None, value: bytes, flags: int = 0) -> None:
        self._elem(uapi.BPF_MAP_UPDATE_ELEM, fd, key, value, flags)

    def map_delete(self, fd: int, key: bytes) -> None:
        with self.memory() as m:
            self.bpf(uapi.BPF_MAP_DELETE_ELEM, self.pack("IIQQQ", fd, 0, m.put(key), 0, 0))

    def map_next_key(self, fd: int, key: bytes | None, size: int) -> bytes | None:
        """The key after `key` (the first after None); None at the end."""
        try:
            if key is None:
                # Before 4.12 there is no NULL key; a key that is not there gives the first one.
                try:
                    return self._next_key(fd, 0, size)
                except KernelError as error:
                    if error.errno == ENOENT:
                        return None
                    key = b"\xff" * size
            with self.memory() as m:
                return self._next_key(fd, m.put(key), size)
        except KernelError as error:
            if error.errno == ENOENT:
                return None
            raise

    def _next_key(self, fd: int, key_at: int, size: int) -> bytes:
        with self.memory() as m:
            next_at = m.put(bytes(size))
            self.bpf(uapi.BPF_MAP_GET_NEXT_KEY, self.pack("IIQQQ", fd, 0, key_at, next_at, 0))
            return self.sys.read(next_at, size)

    def map_freeze(self, fd: int) -> None:
        self.bpf(uapi.BPF_MAP_FREEZE, self.pack("I", fd))

    def btf_load(self, data: bytes, log_size: int = 0, log_level: int = 0) -> tuple[int, str]:
        """(descriptor or minus errno, log)."""
        with self.memory() as m:
            log = m.put(bytes(log_size)) if log_size else 0
            attr = self.pack("QQIIII", m.put(data), log, len(data), log_size, log_level, 0)
            result = self.sys.syscall("bpf", uapi.BPF_BTF_LOAD, m.put(attr), 28)
            return result, _text(self.sys.read(log, log_size)) if log_size else ""

    def prog_load(
        self,
        prog_type: int,
        insns: bytes,
        license: str = "GPL",
        *,
        log_level: int = 0,
        log_size: int = 0,
        kern_version: int = 0,
        flags: int = 0,
        name: str = "",
        ifindex: int = 0,
        expected_attach_type: int = 0,
        btf_fd: int = 0,
        func_info: bytes = b"",
        func_info_size: int = 8,
        line_info: bytes = b"",
        line_info_size: int = 16,
        attach_btf_id: int = 0,
        attach_prog_fd: int = 0,
        attach_btf_obj_fd: int = 0,
        fd_array: list[int] | None = None,
    ) -> tuple[int, str]:
        """(descriptor or minus errno, verifier log)."""
        with self.memory() as m:
            log = m.put(bytes(log_size)) if log_size else 0
            func_count = len(func_info) // func_info_size
            line_count = len(line_info) // line_info_size
            array = self.pack(f"{len(fd_array)}i", *fd_array) if fd_array else b""
            attr = self.pack(
                "IIQQIIQII16sIIIIQIIQIIIIQ",
                *(
                    prog_type,
                    len(insns) // 8,
                    m.put(insns),
                    m.put(encode_text(license) + b"\0"),
                    log_level,
                    log_size,
                    log,
                ),
                *(kern_version, flags, encode_text(name)[:15], ifindex, expected_attach_type, btf_fd),
                *(func_info_size if func_count else 0, m.put(func_info) if func_count else 0, func_count),
                *(line_info_size if line_count else 0, m.put(line_info) if line_count else 0, line_count),
                *(attach_btf_id, attach_prog_fd or attach_btf_obj_fd, 0, m.put(array) if array else 0),
            )
            attr = trim(attr, 48)
            result = self.sys.syscall("bpf", uapi.BPF_PROG_LOAD, m.put(attr), len(attr))
            return result, _text(self.sys.read(log, log_size)) if log_size else ""

    def prog_bind_map(self, prog_fd: int, map_fd: int) -> None:
        self.bpf(uapi.BPF_PROG_BIND_MAP, self.pack("III", prog_fd, map_fd, 0))

    def obj_pin(self, fd: int, path: str) -> None:
        with self.memory() as m:
            self.bpf(uapi.BPF_OBJ_PIN, self.pack("QII", m.string(path), fd, 0))

    def obj_get(self, path: str) -> int:
        with self.memory() as m:
            return self.bpf(uapi.BPF_OBJ_GET, self.pack("QII", m.string(path), 0, 0))

    def obj_info(self, fd: int, size: int) -> bytes:
        """BPF_OBJ_GET_INFO_BY_FD: what the kernel wrote of struct bpf_*_info."""
        with self.memory() as m:
            info = m.put(bytes(size))
            _, attr = self.bpf_out(uapi.BPF_OBJ_GET_INFO_BY_FD, self.pack("IIQ", fd, size, info))
            return self.sys.read(info, self.unpack("IIQ", attr)[1])

    def prog_attach(self, prog_fd: int, target_fd: int, attach_type: int, flags: int = 0) -> None:
        self.bpf(uapi.BPF_PROG_ATTACH, self.pack("IIIII", target_fd, prog_fd, attach_type, flags, 0))

    def prog_detach(self, prog_fd: int, target_fd: int, attach_type: int) -> None:
        self.bpf(uapi.BPF_PROG_DETACH, self.pack("III", target_fd, prog_fd, attach_type))

    def raw_tracepoint_open(self, name: str | None, prog_fd: int) -> int:
        with self.memory() as m:
            at = m.string(name) if name is not None else 0
            return self.bpf(uapi.BPF_RAW_TRACEPOINT_OPEN, self.pack("QII", at, prog_fd, 0)[:12])

    def link_create(self, prog_fd: int, target_fd: int, attach_type: int, tail: bytes = b"", flags: int = 0) -> int:
        """`tail` is what follows the flags: target_btf_id, iter_info, bpf_cookie or kprobe_multi."""
        attr = self.pack("IIII", prog_fd, target_fd & 0xFFFFFFFF, attach_type, flags) + tail
        return self.bpf(uapi.BPF_LINK_CREATE, attr)

    def link_detach(self, fd: int) -> None:
        self.bpf(uapi.BPF_LINK_DETACH, self.pack("I", fd))

    def iter_create(self, link_fd: int) -> int:
        return self.bpf(uapi.BPF_ITER_CREATE, self.pack("II", link_fd, 0))

    def prog_test_run(self, fd: int, data: bytes = b"", ctx: bytes = b"", repeat: int = 1) -> tuple[int, bytes]:
        """(return value, data out)."""
        with self.memory() as m:
            out = m.put(bytes(len(data))) if data else 0
            given = m.put(data) if data else 0
            attr = self.pack(
                "IIIIQQIIIIQQ",
                *(fd, 0, len(data), len(data), given, out, repeat, 0, len(ctx), 0, m.put(ctx) if ctx else 0, 0),
            )
            _, after = self.bpf_out(uapi.BPF_PROG_TEST_RUN, attr)
            return self.unpack("II", after[:8])[1], self.sys.read(out, len(data)) if data else b""

    # Files

    def open(self, path: str, flags: int = O_RDONLY, mode: int = 0) -> int:
        with self.memory() as m:
            return self.call("openat", AT_FDCWD, m.string(path), flags | O_CLOEXEC, mode)

    def close(self, fd: int) -> None:
        self.call("close", fd)

    def read_fd(self, fd: int, size: int) -> bytes:
        with self.memory() as m:
            at = m.put(bytes(size))
            return self.sys.read(at, self.call("read", fd, at, size))

    def write_fd(self, fd: int, data: bytes) -> int:
        with self.memory() as m:
            return self.call("write", fd, m.put(data), len(data))

    def read_file(self, path: str, limit: int = 64 << 20) -> bytes:
        """All of a file."""
        fd = self.open(path)
        out = bytearray()
        try:
            while len(out) < limit and (piece := self.read_fd(fd, 1 << 16)):
                out += piece
        finally:
            self.close(fd)
        return bytes(out)

    def write_file(self, path: str, text: str, append: bool = False) -> None:
        fd = self.open(path, O_WRONLY | (O_APPEND if append else 0))
        try:
            self.write_fd(fd, encode_text(text))
        finally:
            self.close(fd)

    def exists(self, path: str, mode: int = F_OK) -> bool:
        with self.memory() as m:
            return self.sys.syscall("faccessat", AT_FDCWD, m.string(path), mode) == 0

    def getpid(self) -> int:
        return self.call("getpid")

    # perf events

    def perf_event_open(
        self, attr: bytes, pid: int, cpu: int, group: int = -1, flags: int = PERF_FLAG_FD_CLOEXEC
    ) -> int:
        with self.memory() as m:
            return self.call("perf_event_open", m.put(attr), pid, cpu, group, flags)

    def ioctl(self, fd: int, request: int, argument: int = 0) -> int:
        return self.call("ioctl", fd, request, argument)

    def mmap(self, size: int, protection: int, flags: int, fd: int, offset: int = 0) -> int:
        """The address, which may lie in the upper half: a system call's result is a signed number."""
        return self._mmap(size, protection, flags, fd, offset) & ((1 << 8 * self.word) - 1)

    def _mmap(self, size: int, protection: int, flags: int, fd: int, offset: int) -> int:
        if self.word == 4:
            return self.call("mmap2", 0, size, protection, flags, fd, offset // 4096)
        arguments = (0, size, protection, flags, fd, offset)
        if not self.sys.mmap_takes_block:
            return self.call("mmap", *arguments)
        with self.memory() as m:  # s390x: a pointer to all six
            return self.call("mmap", m.put(b"".join(a.to_bytes(8, self.byteorder) for a in arguments)))

    def munmap(self, addr: int, size: int) -> None:
        self.call("munmap", addr, size)

    def epoll_wait(self, fd: int, count: int, timeout_ms: int) -> list[int]:
        """The data words (as 32-bit numbers) of what is ready."""
        size = 12 if self.sys.packed_epoll_event else 16
        with self.memory() as m:
            at = m.put(bytes(size * count))
            ready = self.sys.syscall("epoll_pwait", fd, at, count, timeout_ms, 0, 0)
            if ready == -EINTR:
                return []
            if ready < 0:
                raise KernelError(-ready, "epoll_pwait")
            data = self.sys.read(at, size * ready)
        skip = size - 8
        return [self.unpack("Q", data[i * size + skip : i * size + skip + 8])[0] for i in range(ready)]


class Memory:
    """Buffers in a task's memory, freed together."""

    def __init__(self, sys: Syscalls) -> None:
        self._sys = sys
        self._held: list[int] = []

    def put(self, data: bytes) -> int:
        at = self._sys.alloc(max(len(data), 8))
        self._held.append(at)
        if data.strip(b"\0"):
            self._sys.write(at, data)
        return at

    def string(self, text: str) -> int:
        return self.put(encode_text(text) + b"\0")

    def free(self) -> None:
        for at in self._held:
            self._sys.free(at)
        self._held.clear()


def trim(attr: bytes, least: int) -> bytes:
    """Without the zero tail: kernels before the fields came accept the rest just the same, and strace reads better."""
    size = len(attr.rstrip(b"\0"))
    return attr[: max(least, (size + 7) // 8 * 8)]


def uapi_command_name(cmd: int) -> str:
    return f"bpf({uapi.CMD_NAMES.get(cmd, cmd)})"


def _text(log: bytes) -> str:
    return log.split(b"\0", 1)[0].decode(errors="replace")


def encode_text(text: str) -> bytes:
    """Names come from object files, whose bytes need not be UTF-8."""
    return text.encode("utf-8", "surrogateescape")
