"""Network devices as bpf(2) attaches programs to them."""

from __future__ import annotations

from collections.abc import Hashable

from arch.records import dataclass


@dataclass(frozen=True)
class Device:
    """A network device; `token` tells it from others, also when it is in another namespace."""

    token: Hashable
    ifindex: int


@dataclass(frozen=True)
class DeviceAttach:
    """A place of a network device: tcx, netkit."""

    device: Device
    attach_type: int
