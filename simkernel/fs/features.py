"""What the file systems do differently by kernel version: the one place in simkernel/fs that reads the version.

Whether a kernel function or system call exists is said where it is declared (since, until); here is which of them stand
on a path, and what files show, by the first version that has it.  `k.vfs.names.NAME` is the answer.
"""

from __future__ import annotations

from arch.abi.version import KernelVersion


class Features:
    """One attribute for each difference."""

    def __init__(self, version: KernelVersion) -> None:
        has = version.at_least
        # functions on the way of a system call
        self.ksys = has("4.17")  # system calls go through ksys_read, do_faccessat ...
        self.vfs_readlink = has("4.10")
        self.statx = has("4.11")  # vfs_statx, and vfs_getattr with a request mask
        self.do_unlinkat = has("4.14")
        self.do_mkdirat = has("4.17")
        self.vfs_open_two_args = has("4.19")  # before, with the credentials
        self.openat2 = has("5.6")  # do_sys_openat2
        self.faccessat2 = has("5.8")  # do_faccessat has flags
        self.no_vfs_step = has("5.9")  # __vfs_read and __vfs_write are gone
        self.do_rmdir = has("5.9")
        self.path_mount = has("5.9")
        self.user_ns_args = has("5.12")  # vfs_mkdir and its like take the mount's user namespace; vfs_rename a struct
        self.mkdirat_filename = has("5.15")  # do_mkdirat takes a struct filename
        self.perform_write_iocb = has("5.18")  # generic_perform_write takes the kiocb
        self.sync_iter_inlined = has("6.0")  # new_sync_read and new_sync_write are inlined
        # operations of files
        self.read_zero = has("5.8")
        self.eventfd_read_iter = has("5.8")
        self.proc_sys_iter = has("5.9")
        self.seq_read_iter = has("5.10")
        self.proc_options_named = has("5.8")  # of proc: hidepid=invisible and subset=pid; each mount has its own
        self.kernfs_iter = has("5.10")
        self.no_default_splice = has("5.10")  # sendfile needs splice_read
        self.link_modes_fixed = has("6.6")  # chmod of a symbolic link: EOPNOTSUPP
        self.no_llseek = not has("6.0")  # a function; since then the name of no function at all
        self.splice_from_devices = has("6.0")  # sendfile from what can seek, not from regular files alone
        self.tty_iter = has("5.12")
        self.random_iter = has("5.10")  # 5.19, and what long-term kernels got
        self.pipe_min_buffers = 2 if has("5.14") else 1  # of a pipe whose owner has many
        self.ofd_getlk_unlck = has("6.6")  # F_OFD_GETLK asks for any lock of one owner
        self.shmem_xattr_space = has("6.6")  # user. attributes on tmpfs, and what all kinds take of its room for inodes
        self.shmem_fileattr = has("6.0")  # lsattr and chattr on tmpfs
        self.secretmem_mount_noexec = not has("6.17")  # 98f99394a104: since then the super block says it
        self.simple_fsid = has("6.7")  # ae62bcb5e7d6: file systems without a home have a number for fanotify
        self.anon_files_have_no_fionread = has("6.17")  # IS_ANON_FILE(): regular by their mode alone
        # bits of i_state: I_DIRTY lies so much higher than in 6.1 (2ed81d8e0d5b)
        self.dirty_bits_moved = 3 if has("6.11") else 0
        self.sigio_code = has("4.14")  # d08477aa975e: a signal with codes of its own says SI_SIGIO
        # options of tracefs and debugfs: what is not said stays (b8de524ce46e); values are checked (a20971c18752)
        self.tree_mode_kept = has("6.1")
        self.tree_options_checked = has("6.11")
        # what files show
        self.cgroup2 = has("4.5")
        self.statx_mnt_id = has("5.8")
        self.unique_mount_ids = has("6.8")  # 98d2b43081972: STATX_MNT_ID_UNIQUE
        self.eventfd_id = has("5.2")  # a line of fdinfo
        self.epoll_fdinfo_pos = has("4.13")  # position, inode and device of a watched file
        self.fdinfo_for_all = has("5.14")  # /proc/PID/fdinfo is readable for all, and shows the inode
        self.uffdio_continue = has("5.13")
        # of /dev/userfaultfd: since 6.2 (ab760791c0cf) free numbers are counted up from 256, before down from 127
        self.userfaultfd_minor = (257 if has("6.2") else 126) if has("6.1") else None
        # lines of /proc/PID/status
        self.status_cap_ambient = has("4.3")
        self.status_hugetlb = has("4.4")
        self.status_rss_kinds = has("4.5")
        self.status_umask = has("4.7")
        self.status_no_new_privs = has("4.10")
        self.status_core_dumping = has("4.15")
        self.status_speculation = has("4.17")
        self.status_thp = has("5.0")
        self.status_seccomp_filters = has("5.9")
        self.status_indirect_branch = has("5.11")
        self.status_untag_mask = has("6.4")
        self.status_thread_features = has("6.6")
        self.status_kthread = has("6.11")
        # lines of /proc/PID/smaps
        self.smaps_pss_dirty = has("6.0")
        self.smaps_ksm = has("6.8")
        self.smaps_thp_aligned = has("6.6")
        # what follows from these, as the calls ask for it
        self.new_sync = not self.sync_iter_inlined
        self.read_step = "" if self.no_vfs_step else "__vfs_read"
        self.write_step = "" if self.no_vfs_step else "__vfs_write"
