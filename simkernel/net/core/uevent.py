"""Network devices and their queues as they are told of: netdev_register_kobject() and its like.  net/core/net-sysfs.c."""

from __future__ import annotations

from simkernel.net.core.netns import NetDevice
from simkernel.net.face import NetKernel

QUEUES = ("rx-0", "tx-0")


def path_of(dev: NetDevice) -> str:
    """Its directory below /sys."""
    return f"/devices/virtual/net/{dev.name}"


def lines_of(dev: NetDevice) -> list[str]:
    """netdev_uevent()."""
    return [f"INTERFACE={dev.name}", f"IFINDEX={dev.ifindex}"]


def _tell(k: NetKernel, dev: NetDevice, action: str, more: tuple[str, ...] = ()) -> None:
    k.vfs.uevents.send(action, path_of(dev), "net", lines_of(dev), more, dev.net)


def _tell_queues(k: NetKernel, dev: NetDevice, action: str) -> None:
    for queue in QUEUES:
        k.vfs.uevents.send(action, f"{path_of(dev)}/queues/{queue}", "queues", space=dev.net)


def added(k: NetKernel, dev: NetDevice) -> None:
    """netdev_register_kobject()."""
    _tell(k, dev, "add")
    _tell_queues(k, dev, "add")


def removed(k: NetKernel, dev: NetDevice) -> None:
    """netdev_unregister_kobject()."""
    _tell_queues(k, dev, "remove")
    _tell(k, dev, "remove")


def renamed(k: NetKernel, dev: NetDevice, old: str) -> None:
    """device_rename()."""
    _tell(k, dev, "move", (f"DEVPATH_OLD={old}",))


def leaves(k: NetKernel, dev: NetDevice) -> None:
    """dev_change_net_namespace(): where it was it is as if it went."""
    _tell(k, dev, "remove")


def comes(k: NetKernel, dev: NetDevice, old: str) -> None:
    """dev_change_net_namespace(): it comes, and device_rename() says so, too."""
    _tell(k, dev, "add")
    renamed(k, dev, old)
