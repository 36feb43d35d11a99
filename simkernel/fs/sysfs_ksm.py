"""/sys/kernel/mm/ksm, and ksmd, which is there from the first time that it is told to run.  mm/ksm.c."""

from __future__ import annotations

from functools import partial

from arch.abi.errno import EBUSY, EINVAL
from arch.abi.limits import INT_MAX, U32_MAX
from arch.abi.time import NSEC_PER_SEC
from arch.cstring import kstrto, kstrtobool
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.sysfs import AttrFile, sysfs_file
from simkernel.kernel.face import Steps
from simkernel.kernel.init import rest
from simkernel.kernel.ksm import COUNTERS, KSM_RUN_MERGE, KSM_RUN_UNMERGE, Ksm
from simkernel.kernel.task import WaitQueue
from simkernel.kernel.tasks import FIRST_USER_PID

PAGE_NS = 400  # that a page takes to be looked at
FOLDER = "kernel/mm/ksm"
LEAST_SHARING = 2
MEMORY_ONCE = ("merge_across_nodes", "max_page_sharing")  # settings that cannot change while pages are shared


class Daemon:
    """ksmd."""

    def __init__(self, k: FsKernel, ksm: Ksm) -> None:
        self.k, self.ksm = k, ksm
        self.wait = WaitQueue("ksm_thread_wait")
        self.made = False

    def wake(self) -> None:
        """There may be work."""
        if self.made:
            self.k.wake_up(self.wait, 0)
            return
        self.made = True
        tasks = self.k.tasks
        last, tasks.last_pid = tasks.last_pid, 2
        thread = self.k.threads.make_kernel_thread("ksmd", self._run)
        tasks.last_pid = max(last, FIRST_USER_PID - 1)
        self.k.cpus.wake_new(thread)

    def _run(self) -> Steps[None]:
        """ksm_scan_thread()."""
        k, settings = self.k, self.ksm.settings
        while True:
            if not settings["run"] & KSM_RUN_MERGE:
                yield rest(k, self.wait)
                continue
            k.clock._now += PAGE_NS * self.ksm.do_scan(settings["pages_to_scan"])
            yield k.wait(
                self.wait, interruptible=False, timeout_ns=max(1, settings["sleep_millisecs"]) * NSEC_PER_SEC // 1000
            )


def _number_of(name: str, text: str) -> int:
    """By kstrtoint() or kstrtoul(), which say ERANGE of what they cannot hold, or by kstrtouint(), of which all is EINVAL."""
    signed = name == "max_page_sharing"
    try:
        return kstrto(text, 10, 64 if name == "merge_across_nodes" else 32, signed)
    except KernelError as refused:
        raise KernelError(refused.errno if name in MEMORY_ONCE else EINVAL) from None


def _store(daemon: Daemon, name: str, data: bytes) -> None:
    """run_store() and the others."""
    if not data:
        return
    ksm, text = daemon.ksm, data.decode("latin-1")
    settings = ksm.settings
    if name == "use_zero_pages":
        settings[name] = int(kstrtobool(text, daemon.k.version))
        return
    value = _number_of(name, text)
    limits = {"run": (0, KSM_RUN_UNMERGE), "merge_across_nodes": (0, 1), "max_page_sharing": (LEAST_SHARING, INT_MAX)}
    low, high = limits.get(name, (0, U32_MAX))
    if not low <= value <= high:
        raise KernelError(EINVAL)
    if name in MEMORY_ONCE and value != settings[name] and ksm.pages_shared:
        raise KernelError(EBUSY)
    if name == "run" and value == KSM_RUN_UNMERGE and settings[name] != value:
        ksm.unmerge_all()
    settings[name] = value
    if (name == "run" and value & KSM_RUN_MERGE) or (name == "sleep_millisecs" and daemon.made):
        daemon.wake()


def install(k: FsKernel) -> None:
    """The files."""
    ksm = Ksm(k.mm, k.tasks)
    daemon = Daemon(k, ksm)
    k.mm.unmerge = ksm.unmerge
    for name in ksm.settings:
        sysfs_file(
            k.vfs, f"{FOLDER}/{name}",
            AttrFile(lambda name=name: f"{ksm.settings[name]}\n", partial(_store, daemon, name)),  # type: ignore[misc]
        )  # fmt: skip
    for name, counter in COUNTERS.items():
        sysfs_file(k.vfs, f"{FOLDER}/{name}", AttrFile(lambda counter=counter: f"{counter(ksm)}\n"))  # type: ignore[misc]
