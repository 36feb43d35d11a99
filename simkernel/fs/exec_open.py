"""Opening a file that is to be executed, by the kernel functions that Linux goes through.  fs/exec.c.

execve goes this way while somebody probes one of them; without probes Vfs.open_exec() does the same at once.
"""

from __future__ import annotations

from arch.abi.fcntl import AT_EMPTY_PATH, AT_FDCWD
from simkernel.fs.exec_file import lookup_flags, tell_opened
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import to_str
from simkernel.fs.open_walk import ExecFlags, Filename
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function


@kernel_function(
    "struct file *do_open_execat(int fd, struct filename *name, int flags)", source="fs/exec.c", since="3.19"
)
def do_open_execat(k: FsKernel, fd: int, name: int, flags: int) -> Body:
    """The file, which nobody may write until it is closed; or an error as a pointer."""
    vfs = k.vfs
    path = to_str(k.mem.read_cstring(k.mem.read_uint(name, k.arch.word), 4096))
    op = ExecFlags(fd, path, lookup_flags(flags), bool(flags & AT_EMPTY_PATH))
    layout = vfs.mirror.struct("struct open_flags")
    at = layout.new({"open_flag": op.flags, "acc_mode": op.acc_mode, "intent": 0x100, "lookup_flags": op.lookup})
    vfs.objects[name], vfs.objects[at] = Filename.known(k, name, path), op
    try:
        found = yield k.call("do_filp_open", fd, name, at)
    finally:
        del vfs.objects[name], vfs.objects[at]
        k.mem.free(at)
    if not vfs.is_error(found):
        tell_opened(k, vfs.file_at(found), vfs.fsnotify, bool(vfs.security.watched))
    return found


@kernel_function("struct file *open_exec(const char *name)", source="fs/exec.c")
def open_exec(k: FsKernel, name: int) -> Body:
    """An interpreter's file: of a script, or the dynamic linker."""
    filename = k.mirror.filename_memory(k.mem.read_cstring(name, 4096))
    try:
        return (yield k.call("do_open_execat", AT_FDCWD, filename, 0))
    finally:
        k.mem.free(filename)
