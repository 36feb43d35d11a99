"""The virtual file system and the file systems on it.  Mirrors fs/ (and the file-like parts of drivers/char, mm/shmem.c).

What lives here: path walk, descriptors, every system call on files, tmpfs, procfs, sysfs, devices, pipes, epoll, host
binds.  What does not: sockets (simkernel/net), the disk and its file system (simkernel/block), what tracefs shows (tracing/).

The layers, each knowing only those before it:

    objects    inode.py: super block, inode, dentry, mount, path, open file, file_operations; pagecache.py: their pages
    memory     mirror.py writes their C structures, fdtable.py those of a task's descriptors, uio.py kiocb and iov_iter
    walk       mounts.py: what covers what; namei.py: from a name to a dentry
    k.vfs      vfs.py: the one object that has all of these, with the open files by the address of their struct file
    k          face.py: FsKernel, the kernel as bodies here take it
    calls      open.py (open_walk.py plans), read_write.py, namei_calls.py, stat.py, select.py, eventpoll.py ...
    trees      nodes.py: what generated files are made of; pseudo.py shows them; procfs.py (proc_*.py), sysfs.py, cgroup.py
    boot       boot.py: what is mounted where, and the list of modules that have bodies

One read(2), from the trap to the bytes: sys_read finds the File of the descriptor (Vfs.fget) and calls ksys_read ->
vfs_read -> the function that the file's FileOperations name, for a file of tmpfs shmem_file_read_iter(kiocb, iov_iter);
that body finds both by their addresses in k.vfs.kiocbs and k.vfs.iters, takes pages from the inode's Mapping and copies
through k.usercopy.  Each arrow is a real call of the simulated CPU: a probe can sit on it.

Who has something for user space to see adds it from its own folder: `procfs.proc_file(vfs, "net/dev", node)`,
`sysfs.sysfs_file`, `sysfs.debugfs_file`, `vfs.register(FsType(...))` for a file system, `vfs.anon_file` for a descriptor
without a name, `vfs.more_symbols` for lines of /proc/kallsyms.

Objects are Python, their C structures follow: a field that a program in the kernel could read is written where it
changes.  Only the layers from `calls` on sleep or call; everything below is plain Python between two calls.
"""
