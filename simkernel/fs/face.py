"""The kernel as the file systems see it.

What they ask of the kernel is KernelFace; what they give is `k.vfs`, whose class stands in vfs.py, and below it the
objects (inode.py, mounts.py, fdtable.py, mirror.py, uio.py).  The kernel core knows files only as what can be mapped and
executed (simkernel/kernel/mm.py: MappedFile) and by the kernel functions that fs/ declares in files.py:

    int copy_files(unsigned long clone_flags, struct task_struct *tsk)    tsk->files from current's
    int copy_fs(unsigned long clone_flags, struct task_struct *tsk)
    void exit_files(struct task_struct *tsk)        closes what only this task had open
    void exit_fs(struct task_struct *tsk)
    void do_close_on_exec(struct files_struct *files)

`task.files` and `task.fs` belong to fs/ (fdtable.py): the core never looks inside them.
"""

from __future__ import annotations

from simkernel.fs.vfs import Vfs
from simkernel.kernel.face import KernelFace


class FsKernel(KernelFace):
    """A kernel with file systems."""

    vfs: Vfs
