"""The options of a mount of proc: hidepid, gid, subset.  fs/proc/root.c, fs/proc/base.c:has_pid_permissions()."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EINVAL, ENOENT, EPERM
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.mount_options import HIDEPID, BadOption, check, split, u32
from simkernel.kernel.calls.kcmp import PTRACE_MODE_READ_FSCREDS, ptrace_may_access
from simkernel.kernel.task import Task

HIDEPID_OFF, HIDEPID_NO_ACCESS, HIDEPID_INVISIBLE, HIDEPID_NOT_PTRACEABLE = HIDEPID_VALUES = (0, 1, 2, 4)
NAME_OF_HIDEPID = dict(zip(HIDEPID_VALUES, HIDEPID, strict=True))
SUBSET_PID = "pid"


class ProcOptions:
    """struct proc_fs_info: who sees whom in one mount."""

    def __init__(self, k: FsKernel) -> None:
        self.k = k
        self.hidepid = HIDEPID_OFF
        self.gid = 0  # who is in this group sees all
        self.pids_only = False

    def parse(self, data: str) -> None:
        """proc_parse_param(): what is not said stays.  EINVAL."""
        known: dict[str, Callable[[str], None]] = {"hidepid": self._set_hidepid, "gid": self._set_gid}
        named = self.k.vfs.names.proc_options_named
        if named:
            known["subset"] = self._set_subset
        for key, value in split(data):
            if key not in known:
                raise BadOption(f"Unknown parameter '{key}'")
            check("proc", key, value)
            known[key](value or "")

    def _set_hidepid(self, value: str) -> None:
        number = u32(value)
        if number is None:
            number = HIDEPID_VALUES[HIDEPID.index(value)]
        if not self.k.vfs.names.proc_options_named and (value in HIDEPID or number > HIDEPID_INVISIBLE):
            raise KernelError(EINVAL, "names came with 5.8")
        self.hidepid = number

    def _set_gid(self, value: str) -> None:
        self.gid = u32(value) or 0

    def _set_subset(self, value: str) -> None:
        self.pids_only = True

    def shown(self) -> str:
        """proc_show_options()."""
        out = [f"gid={self.gid}"] if self.gid else []
        if self.hidepid:
            named = self.k.vfs.names.proc_options_named
            out.append(f"hidepid={NAME_OF_HIDEPID[self.hidepid] if named else self.hidepid}")
        if self.pids_only:
            out.append(f"subset={SUBSET_PID}")
        return ",".join(out)

    def may_see(self, task: Task, least: int) -> bool:
        """has_pid_permissions(): at a level of `hidepid` below `least` all may."""
        if self.hidepid == HIDEPID_NOT_PTRACEABLE:
            return ptrace_may_access(self.k, task, PTRACE_MODE_READ_FSCREDS)
        if self.hidepid < least:
            return True
        cred = self.k.current.cred
        if self.gid in (cred.fsgid, *cred.groups):
            return True
        return ptrace_may_access(self.k, task, PTRACE_MODE_READ_FSCREDS)

    def enter(self, task: Task) -> None:
        """proc_pid_permission(): look for something in a process's directory.  ENOENT, EPERM."""
        if self.hidepid and not self.may_see(task, HIDEPID_NO_ACCESS):
            raise KernelError(ENOENT if self.hidepid == HIDEPID_INVISIBLE else EPERM, "hidepid")

    def look(self, task: Task) -> None:
        """pid_getattr().  ENOENT."""
        if self.hidepid and not self.may_see(task, HIDEPID_INVISIBLE):
            raise KernelError(ENOENT, "hidepid")
