"""Attachments: what they are of a loaded object, and how they end.  struct bpf_link of libbpf."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from arch.abi.errno import EINVAL, EOPNOTSUPP, errno_name
from arch.abi.perf_event import (
    PERF_EVENT_IOC_DISABLE,
    PERF_EVENT_IOC_ENABLE,
    PERF_EVENT_IOC_SET_BPF,
)
from arch.errors import KernelError
from arch.records import dataclass, field
from bpf import uapi
from bpf.btf import Btf
from bpf.loader.errors import LoadError
from bpf.loader.events import quietly
from bpf.loader.maps import Map
from bpf.loader.probes import Features
from bpf.loader.program import Program
from bpf.loader.sys import Task
from bpf.loader.usdt_specs import UsdtManager


class LoadedObject(Protocol):
    """What attaching asks of an object: a part of bpf.loader.object.BpfObject."""

    name: str
    task: Task | None
    features: Features | None
    maps: dict[str, Map]
    usdt: UsdtManager | None
    kernel_btf: Btf | None


class Attachment(Protocol):
    """What attaching gives: one link, or several that go together."""

    what: str

    def destroy(self) -> None:
        """Undo it."""


@dataclass
class Link:
    """An attachment.  `destroy` undoes it; `what` says where, for people."""

    task: Task
    what: str
    fd: int = -1  # of the link, or -1
    perf_fd: int = -1
    undo: list[Callable[[], object]] = field(default_factory=list)  # further steps, last first

    def destroy(self) -> None:
        if self.perf_fd >= 0 and self.fd < 0:
            quietly(lambda: self.task.ioctl(self.perf_fd, PERF_EVENT_IOC_DISABLE))
        for fd in (self.fd, self.perf_fd):
            if fd >= 0:
                quietly(partial(self.task.close, fd))
        for step in reversed(self.undo):
            quietly(step)
        self.fd = self.perf_fd = -1
        self.undo.clear()


@dataclass
class Links:
    """Several attachments that go together."""

    links: list[Attachment]
    what: str = ""

    def destroy(self) -> None:
        for link in reversed(self.links):
            link.destroy()
        self.links.clear()


def attach_perf_event(obj: LoadedObject, program: Program, perf_fd: int, what: str, cookie: int = 0) -> Link:
    """Give a perf event its program: by link, or by ioctl.  bpf_program__attach_perf_event_opts()."""
    task, features = need_task(obj), need_features(obj)
    require_fd(program)
    link = Link(task, what, perf_fd=perf_fd)
    try:
        if features.perf_link:
            link.fd = task.link_create(program.fd, perf_fd, uapi.BPF_PERF_EVENT, task.pack("Q", cookie))
        else:
            if cookie:
                raise LoadError(f"prog '{program.name}': user context value is not supported", EOPNOTSUPP)
            task.ioctl(perf_fd, PERF_EVENT_IOC_SET_BPF, program.fd)
        task.ioctl(perf_fd, PERF_EVENT_IOC_ENABLE, 0)
    except KernelError as error:
        link.destroy()
        text = f"prog '{program.name}': failed to attach to {what}: {errno_name(error.errno)}"
        raise LoadError(text, error.errno) from None
    except LoadError:
        link.destroy()
        raise
    return link


def need_task(obj: LoadedObject) -> Task:
    if obj.task is None:
        raise LoadError(f"object '{obj.name}' is not loaded")
    return obj.task


def need_features(obj: LoadedObject) -> Features:
    if obj.features is None:
        raise LoadError(f"object '{obj.name}' is not loaded")
    return obj.features


def require_fd(program: Program) -> None:
    if program.fd < 0:
        raise LoadError(f"prog '{program.name}': can't attach BPF program w/o FD (did you load it?)", EINVAL)
