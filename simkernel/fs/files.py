"""What happens to a task's descriptors, root and working directory at fork, exec and exit.  fs/file.c, fs/fs_struct.c."""

from __future__ import annotations

from arch.abi.sched import CLONE_FILES, CLONE_FS
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import FilesStruct, FsStruct, files_if_any, files_of, fs_if_any, publish_task_files
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function


@kernel_function(
    "int copy_files(unsigned long clone_flags, struct task_struct *tsk)", source="kernel/fork.c", inlined=True
)
def copy_files(k: FsKernel, clone_flags: int, tsk: int) -> int:
    """Give a new task its descriptors: the parent's own table with CLONE_FILES, else a copy."""
    task, old = k.tasks.at(tsk), files_if_any(k.current)
    if old is None:
        task.files = None
    elif clone_flags & CLONE_FILES:
        old.count += 1
        task.files = old
    else:
        task.files = old.copy()
    publish_task_files(k.vfs.mirror, task)
    return 0


@kernel_function(
    "int copy_fs(unsigned long clone_flags, struct task_struct *tsk)", source="kernel/fork.c", inlined=True
)
def copy_fs(k: FsKernel, clone_flags: int, tsk: int) -> int:
    """Give a new task its root, working directory and umask; and what else /proc keeps per process."""
    task, old = k.tasks.at(tsk), fs_if_any(k.current)
    task.signal.oom_score_adj = k.current.signal.oom_score_adj
    task.signal.oom_score_adj_min = k.current.signal.oom_score_adj_min
    if task.signal.addr:
        k.mirror.store_oom_score_adj(task)
    k.vfs.cgroups.inherit(task, k.current)
    if old is None:
        task.fs = None
    elif clone_flags & CLONE_FS:
        old.count += 1
        task.fs = old
    else:
        task.fs = FsStruct(k.vfs.mirror, old.root, old.pwd, old.umask)
    publish_task_files(k.vfs.mirror, task)
    return 0


@kernel_function("void exit_files(struct task_struct *tsk)", source="fs/file.c", jumps=True)
def exit_files(k: FsKernel, tsk: int) -> Body:
    """Let go of the descriptor table; the last user closes every file, lowest descriptor first."""
    task = k.tasks.at(tsk)
    files, task.files = files_if_any(task), None
    if files is None:
        return 0
    publish_task_files(k.vfs.mirror, task)
    k.vfs.objects[files.addr] = files
    return (yield k.call("put_files_struct", files.addr))


@kernel_function("void put_files_struct(struct files_struct *files)", source="fs/file.c")
def put_files_struct(k: FsKernel, address: int) -> Body:
    """One user less."""
    files = k.vfs.passed(address, FilesStruct)
    del k.vfs.objects[address]
    files.count -= 1
    if files.count == 0:
        for fd in sorted(files.fds):
            file = files.remove(fd)
            if file is not None:
                yield k.call("filp_close", file.addr, files.addr)
        k.objects.gone("files_cache", files.addr, "do_exit")
        files.free()
    return 0


@kernel_function("void exit_fs(struct task_struct *tsk)", source="fs/fs_struct.c")
def exit_fs(k: FsKernel, tsk: int) -> int:
    """Let go of root and working directory."""
    task = k.tasks.at(tsk)
    fs, task.fs = fs_if_any(task), None
    if fs is not None:
        fs.count -= 1
        publish_task_files(k.vfs.mirror, task)
        if fs.count == 0:
            k.objects.gone("anon_vma_chain", fs.addr, "do_exit")
            fs.free()
    return 0


@kernel_function("void do_close_on_exec(struct files_struct *files)", source="fs/file.c")
def do_close_on_exec(k: FsKernel, files_addr: int) -> Body:
    """execve: close what is marked so, lowest first."""
    files = files_of(k.current)
    for fd in sorted(files.close_on_exec):
        file = files.remove(fd)
        if file is not None:
            yield k.call("filp_close", file.addr, files.addr)
    files.close_on_exec.clear()
    return 0
