"""How execve comes to a file: at once, or by the kernel functions of fs/exec_open.py if somebody can tell."""

from __future__ import annotations

from arch.abi.fcntl import AT_FDCWD
from simkernel.kernel.areas import MappedFile
from simkernel.kernel.exec_state import ExecRequest
from simkernel.kernel.face import KernelFace, Steps

OPENING = (
    "do_open_execat", "open_exec", "do_filp_open", "path_openat", "vfs_open", "do_dentry_open", "security_file_open",
)  # fmt: skip


def opened(k: KernelFace, filename: int, request: ExecRequest) -> Steps[MappedFile]:
    """The file to execute, by the functions that Linux opens it with if somebody can tell."""
    if not k.text.any_probed((), OPENING):
        return k.vfs.open_exec(k, request.name, request.fd, request.flags)
    address: int = yield k.call("do_open_execat", request.fd, filename, request.flags)
    return k.vfs.file_at(address)


def interpreter(k: KernelFace, name: bytes) -> Steps[MappedFile]:
    """open_exec(): that of a script or of an ELF file, likewise."""
    if not k.text.any_probed((), OPENING):
        return k.vfs.open_exec(k, name, AT_FDCWD, 0)
    at = k.mem.alloc(len(name) + 1)
    k.mem.write(at, name + b"\0")
    address: int = yield k.call("open_exec", at)
    k.mem.free(at)
    return k.vfs.file_at(address)
