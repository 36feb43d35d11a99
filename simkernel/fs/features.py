"""What the file systems do differently by kernel version: the one place in simkernel/fs that reads the version.

Whether a kernel function or system call exists is said where it is declared (since, until); here is which of them stand
on a path, and what files show.  A row is (attribute, first version that has it); `k.vfs.names.ATTRIBUTE` is the answer.
"""

from __future__ import annotations

from arch.abi.version import KernelVersion

FEATURES = (
    # functions on the way of a system call
    ("ksys", "4.17"),  # system calls go through ksys_read, do_faccessat ...
    ("vfs_readlink", "4.10"),
    ("statx", "4.11"),  # vfs_statx, and vfs_getattr with a request mask
    ("do_unlinkat", "4.14"),
    ("do_mkdirat", "4.17"),
    ("vfs_open_two_args", "4.19"),  # before, with the credentials
    ("openat2", "5.6"),  # do_sys_openat2
    ("faccessat2", "5.8"),  # do_faccessat has flags
    ("no_vfs_step", "5.9"),  # __vfs_read and __vfs_write are gone
    ("do_rmdir", "5.9"),
    ("path_mount", "5.9"),
    ("user_ns_args", "5.12"),  # vfs_mkdir and its like take the mount's user namespace; vfs_rename a struct
    ("mkdirat_filename", "5.15"),  # do_mkdirat takes a struct filename
    ("perform_write_iocb", "5.18"),  # generic_perform_write takes the kiocb
    ("sync_iter_inlined", "6.0"),  # new_sync_read and new_sync_write are inlined
    # operations of files
    ("read_zero", "5.8"),
    ("eventfd_read_iter", "5.8"),
    ("proc_sys_iter", "5.9"),
    ("seq_read_iter", "5.10"),
    ("kernfs_iter", "5.10"),
    ("no_default_splice", "5.10"),  # sendfile needs splice_read
    ("splice_from_devices", "6.0"),  # sendfile from what can seek, not from regular files alone
    ("tty_iter", "5.12"),
    ("random_iter", "5.19"),
    # what files show
    ("cgroup2", "4.5"),
    ("statx_mnt_id", "5.8"),
    ("eventfd_id", "5.2"),  # a line of fdinfo
    ("epoll_fdinfo_pos", "4.13"),  # position, inode and device of a watched file
    ("fdinfo_for_all", "5.14"),  # /proc/PID/fdinfo is readable for all, and shows the inode
    # lines of /proc/PID/status
    ("status_cap_ambient", "4.3"),
    ("status_hugetlb", "4.4"),
    ("status_rss_kinds", "4.5"),
    ("status_umask", "4.7"),
    ("status_no_new_privs", "4.10"),
    ("status_core_dumping", "4.15"),
    ("status_speculation", "4.17"),
    ("status_thp", "5.0"),
    ("status_seccomp_filters", "5.9"),
    ("status_indirect_branch", "5.10"),
)


class Features:
    """The rows as attributes."""

    def __init__(self, version: KernelVersion) -> None:
        self._known = {name: version.at_least(since) for name, since in FEATURES}
        self.ksys = self._known["ksys"]  # asked at every read and write
        self.new_sync = not self._known["sync_iter_inlined"]
        self.read_step = "" if self._known["no_vfs_step"] else "__vfs_read"
        self.write_step = "" if self._known["no_vfs_step"] else "__vfs_write"

    def __getattr__(self, name: str) -> bool:
        try:
            return self.__dict__["_known"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(name) from None
