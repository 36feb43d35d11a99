"""Character devices in /sys: their directories, classes and numbers.  drivers/base/core.c."""

from __future__ import annotations

from functools import partial

from simkernel.fs.devices import device_nodes
from simkernel.fs.nodes import Dir, Link
from simkernel.fs.sysfs import AttrFile, sysfs_file
from simkernel.fs.vfs import Vfs

CLASSES = {1: "mem", 5: "tty", 10: "misc"}  # by major number
UNSAID = 0o600  # the mode that a node has unless its class says another


def install(vfs: Vfs) -> None:
    """Those that /dev has from the start."""
    for name, major, minor, mode in device_nodes(vfs.names):
        class_, number = CLASSES[major], f"{major}:{minor}"
        lines = [
            f"MAJOR={major}",
            f"MINOR={minor}",
            f"DEVNAME={name}",
            *([f"DEVMODE={mode:#05o}".replace("0o", "0")] if mode != UNSAID else []),
        ]
        place = f"devices/virtual/{class_}/{name}"
        told = partial(vfs.uevents.synthesize, path=f"/{place}", subsystem=class_, own=lines)
        files = {
            "dev": AttrFile(partial(str, f"{number}\n")),
            "subsystem": Link(f"../../../../class/{class_}"),
            "uevent": AttrFile(partial(str, "".join(f"{line}\n" for line in lines)), told),
        }
        sysfs_file(vfs, place, Dir(files, mode=0o755))
        sysfs_file(vfs, f"class/{class_}/{name}", Link(f"../../{place}"))
        sysfs_file(vfs, f"dev/char/{number}", Link(f"../../{place}"))
