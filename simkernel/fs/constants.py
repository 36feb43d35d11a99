"""The kernel's own numbers of files: not seen by user space, but by kprobes and BPF.  include/linux/fs.h, namei.h.

What user space sees is in arch/abi/.
"""

from __future__ import annotations

MAXSYMLINKS = 40

# file->f_mode, include/linux/fs.h
FMODE_READ = 0x1
FMODE_WRITE = 0x2
FMODE_LSEEK = 0x4
FMODE_PREAD = 0x8
FMODE_PWRITE = 0x10
FMODE_EXEC = 0x20
FMODE_PATH = 0x4000
FMODE_ATOMIC_POS = 0x8000
FMODE_STREAM = 0x200000
FMODE_CAN_READ = 0x20000
FMODE_CAN_WRITE = 0x40000
FMODE_OPENED = 0x80000
FMODE_CREATED = 0x100000
FMODE_CAN_ODIRECT = 0x400000
FMODE_NEED_UNMOUNT = 0x10000000  # the mount goes with the file, unless it was attached somewhere

# inode->i_flags, include/linux/fs.h; the last is not of the kernel's inode, but of tmpfs's own flags
S_NOATIME, S_APPEND, S_IMMUTABLE, S_NODUMP = 0x2, 0x4, 0x8, 1 << 31

# permission masks, include/linux/fs.h
MAY_EXEC, MAY_WRITE, MAY_READ, MAY_APPEND, MAY_ACCESS, MAY_OPEN, MAY_CHDIR, MAY_NOT_BLOCK = (
    1,
    2,
    4,
    8,
    0x10,
    0x20,
    0x40,
    0x80,
)
