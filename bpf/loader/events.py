"""Perf events for probes, the way libbpf opens them: by PMU, or through kprobe_events and uprobe_events.

tools/lib/bpf/libbpf.c: perf_event_open_probe() and its neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from arch.abi.errno import EINVAL
from arch.abi.perf_event import (
    PERF_TYPE_TRACEPOINT,
)
from arch.architecture import by_machine
from arch.errors import KernelError
from bpf.loader.sys import Task

PERF_ATTR_SIZE = 112


def perf_attr(task: Task, kind: int, config: int, config1: int = 0, config2: int = 0, **fields: int) -> bytes:
    """struct perf_event_attr: what the loader uses of it."""
    return task.pack(
        "IIQQQQQIIQQ",
        *(kind, PERF_ATTR_SIZE, config, fields.get("sample_period", 0), fields.get("sample_type", 0)),
        *(fields.get("read_format", 0), fields.get("flags", 0), fields.get("wakeup_events", 0), 0, config1, config2),
    ).ljust(PERF_ATTR_SIZE, b"\0")


def quietly(step: Callable[[], object]) -> None:
    """What is gone already needs no undoing."""
    try:
        step()
    except KernelError:
        return


def pmu_type(task: Task, name: str) -> int:
    return int(task.read_file(f"/sys/bus/event_source/devices/{name}/type").decode())


def retprobe_bit(task: Task, name: str) -> int:
    """`config:0` says bit 0."""
    text = task.read_file(f"/sys/bus/event_source/devices/{name}/format/retprobe").decode()
    match = re.match(r"config:(\d+)", text)
    if match is None:
        raise KernelError(EINVAL, f"format of retprobe: {text!r}")
    return int(match[1])


def tracefs(task: Task) -> str:
    return "/sys/kernel/debug/tracing" if task.exists("/sys/kernel/debug/tracing") else "/sys/kernel/tracing"


def tracepoint_id(task: Task, group: str, name: str) -> int:
    return int(task.read_file(f"{tracefs(task)}/events/{group}/{name}/id").decode())


def open_kprobe(task: Task, symbol: str, offset: int, is_return: bool) -> int:
    """A perf event for a kernel probe, by PMU.  perf_event_open_probe()."""
    kind = pmu_type(task, "kprobe")
    config = 1 << retprobe_bit(task, "kprobe") if is_return else 0
    with task.memory() as m:
        return task.perf_event_open(perf_attr(task, kind, config, m.string(symbol), offset), -1, 0)


_counter = 0


def _event_name(task: Task, text: str, offset: int) -> str:
    global _counter
    name = f"libbpf_{task.getpid()}_{text}_0x{offset:x}_{_counter}"
    _counter += 1
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def open_kprobe_event(task: Task, symbol: str, offset: int, is_return: bool) -> tuple[int, Callable[[], None]]:
    """The same through kprobe_events; (descriptor, how to remove it).  perf_event_kprobe_open_legacy()."""
    name = _event_name(task, symbol, offset)
    path = f"{tracefs(task)}/kprobe_events"
    place = f"{symbol}+0x{offset:x}" if offset or not is_return else symbol
    task.write_file(path, f"{'r' if is_return else 'p'}:kprobes/{name} {place}\n", append=True)

    def remove() -> None:
        task.write_file(path, f"-:kprobes/{name}\n", append=True)

    try:
        attr = perf_attr(task, PERF_TYPE_TRACEPOINT, tracepoint_id(task, "kprobes", name))
        return task.perf_event_open(attr, -1, 0), remove
    except KernelError:
        quietly(remove)
        raise


def open_uprobe(task: Task, path: str, offset: int, pid: int, is_return: bool, ref_ctr: int = 0) -> int:
    """A perf event for a user probe, by PMU."""
    if ref_ctr >= 1 << 32:
        raise KernelError(EINVAL, f"reference counter at {ref_ctr:#x}")
    config = ref_ctr << 32 | (1 << retprobe_bit(task, "uprobe") if is_return else 0)
    with task.memory() as m:
        attr = perf_attr(task, pmu_type(task, "uprobe"), config, m.string(path), offset)
        return task.perf_event_open(attr, -1 if pid < 0 else pid, 0 if pid == -1 else -1)


def open_uprobe_event(task: Task, path: str, offset: int, pid: int, is_return: bool) -> tuple[int, Callable[[], None]]:
    """Through uprobe_events.  perf_event_uprobe_open_legacy()."""
    name = _event_name(task, path, offset)
    control = f"{tracefs(task)}/uprobe_events"
    task.write_file(control, f"{'r' if is_return else 'p'}:uprobes/{name} {path}:0x{offset:x}\n", append=True)

    def remove() -> None:
        task.write_file(control, f"-:uprobes/{name}\n", append=True)

    try:
        attr = perf_attr(task, PERF_TYPE_TRACEPOINT, tracepoint_id(task, "uprobes", name))
        return task.perf_event_open(attr, -1 if pid < 0 else pid, 0 if pid == -1 else -1), remove
    except KernelError:
        quietly(remove)
        raise


def syscall_prefix(task: Task) -> str:
    """What system-call functions are called here, as libbpf knows: "__x64_"; "" where it knows none."""
    arch = by_machine(machine(task))
    return arch.syscall_abis[0].wrapper_prefix.removesuffix("sys_") if arch is not None else ""


def machine(task: Task) -> str:
    with task.memory() as m:
        at = m.put(bytes(65 * 6))
        task.call("uname", at)
        return task.sys.read(at, 65 * 6)[260:325].split(b"\0")[0].decode()
