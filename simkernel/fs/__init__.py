"""The virtual file system and the file systems on it.  Mirrors fs/ (and the file-like parts of drivers/char, mm/shmem.c).

What lives here: path walk, descriptors, every system call on files, tmpfs, procfs, sysfs, devices, pipes, epoll, host
binds.  What does not: sockets (simkernel/net), the block layer (simkernel/block), what tracefs shows (tracing/).

Objects are Python (inode.py); their C structures in kernel memory follow (mirror.py).  Start reading with inode.py,
namei.py and vfs.py; then open.py and read_write.py for how a system call reaches a file.
"""
