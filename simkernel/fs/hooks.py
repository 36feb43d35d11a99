"""Where programs of control groups stand in the paths of files: devices and sysctls.  A machine without BPF has this class."""

from __future__ import annotations

# include/uapi/linux/bpf.h: kinds of devices and of access
DEVICE_BLOCK, DEVICE_CHARACTER = 1, 2
ACCESS_MKNOD, ACCESS_READ, ACCESS_WRITE = 1, 2, 4


class FsPrograms:
    """No program anywhere."""

    def device(self, kind: int, major: int, minor: int, access: int) -> int:
        """BPF_CGROUP_RUN_PROG_DEVICE_CGROUP(): 0 or -EPERM."""
        return 0

    def sysctl(self, name: str, current: bytes, new: bytes | None, position: int) -> tuple[int, bytes | None, int]:
        """BPF_CGROUP_RUN_PROG_SYSCTL(): 0 or -errno, what is to be written (None: a read), and where."""
        return 0, new, position
