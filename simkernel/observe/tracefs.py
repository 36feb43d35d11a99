"""Tracing's files in the virtual file system: tracefs, debugfs kprobes/, and the PMUs' attributes in sysfs."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.abi.version import KernelVersion, newest
from arch.cstring import c_string, kstrto
from arch.errors import KernelError
from simkernel.fs.nodes import Link, PseudoFile, traced
from simkernel.fs.sysfs import AttrFile, debugfs_file, set_tracefs, sysfs_file
from simkernel.observe.btf import KernelBtf
from simkernel.observe.host import ObservedKernel
from tracing.perf.pmu import PMU_EVENTS, PMU_FORMATS


class BtfFile(AttrFile):
    """/sys/kernel/btf/vmlinux: made when somebody looks; libbpf asks for its size before it reads."""

    def __init__(self, kernel_btf: KernelBtf) -> None:
        self.kernel_btf = kernel_btf
        self.data = b""
        super().__init__(self.content, mode=0o444)

    def content(self) -> bytes:
        """The BTF, encoded once."""
        self.data = self.data or self.kernel_btf.get().encode()
        return self.data

    def size_now(self) -> int:
        """For stat."""
        return len(self.content())


def attribute(text: str) -> AttrFile:
    """A file that always says the same."""
    return AttrFile(lambda: f"{text}\n")


def without_tp_printk(k: ObservedKernel) -> None:
    """tracepoint_printk_sysctl(): nothing was on the command line, so it stays off."""
    k.vfs.sysctl["kernel.tracepoint_printk"] = 0


# drivers/base/power/sysfs.c: a device that knows nothing of power
POWER = {
    "async": "disabled", "control": "auto", "runtime_active_kids": "0", "runtime_active_time": "0",
    "runtime_enabled": "disabled", "runtime_status": "unsupported", "runtime_suspended_time": "0", "runtime_usage": "0",
}  # fmt: skip


MUX_INTERVAL = (("6.12", 4), (None, 0))  # of a source of software, by the first version that is known to have it


class MuxInterval:
    """perf_event_mux_interval_ms_store(): how often events of a source take turns.  EINVAL, ERANGE."""

    def __init__(self, version: KernelVersion) -> None:
        self.ms = newest(MUX_INTERVAL, version)
        self.file = AttrFile(lambda: f"{self.ms}\n", self.store)

    def store(self, data: bytes) -> None:
        ms = kstrto(c_string(data), 0, 32, True)
        if ms < 1:
            raise KernelError(EINVAL)
        self.ms = ms


def event_source(k: ObservedKernel, name: str, number: int) -> None:
    """pmu_dev_alloc(): the device of a source of perf events, and its place on their bus."""
    base = f"devices/{name}"
    files = {"type": str(number), "uevent": ""}
    files |= {f"power/{field}": text for field, text in POWER.items()}
    files |= {f"events/{field}": text for field, text in PMU_EVENTS.get(name, {}).items()}
    for field, text in PMU_FORMATS.get(name, {}).items():
        if field != "ref_ctr_offset" or k.observer.tracing.features.uprobe_ref_ctr:
            files[f"format/{field}"] = text
    for path, text in files.items():
        sysfs_file(k.vfs, f"{base}/{path}", attribute(text) if text else PseudoFile(lambda: "", mode=0o644))
    sysfs_file(k.vfs, f"{base}/perf_event_mux_interval_ms", MuxInterval(k.version).file)
    sysfs_file(k.vfs, f"{base}/power/autosuspend_delay_ms", PseudoFile(mode=0o644))  # EIO
    sysfs_file(k.vfs, f"{base}/subsystem", Link("../../bus/event_source"))
    sysfs_file(k.vfs, f"bus/event_source/devices/{name}", Link(f"../../../devices/{name}"))


def install(k: ObservedKernel) -> None:
    """Hang the trees of nodes into the file systems."""
    tracing = k.observer.tracing
    tree = tracing.tracefs
    set_tracefs(k.vfs, tree.root)
    tracing.events.on_add = lambda event: k.vfs.tracefs_root.made.append(event.name)
    k.vfs.sysctl.on_write("kernel.stack_tracer_enabled", lambda value: tracing.stack_tracer.set_enabled(bool(value)))
    k.vfs.sysctl.on_write("kernel.ftrace_enabled", lambda value: tracing.functions.enable(bool(value)))
    k.vfs.sysctl.on_write("kernel.tracepoint_printk", lambda value: without_tp_printk(k))
    k.vfs.sysctl.on_write("kernel.perf_event_paranoid", tracing.perf.pmus.set_paranoid)
    debugfs_file(k.vfs, "kprobes", traced(tree.kprobes))
    for name, number in tracing.perf.pmus.shown.items():
        event_source(k, name, number)
    if k.version.at_least("5.4") and k.observer.bpf.built_with("DEBUG_INFO_BTF"):
        sysfs_file(k.vfs, "kernel/btf/vmlinux", BtfFile(k.observer.kernel_btf))
