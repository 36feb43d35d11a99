"""/sys/block, /sys/class/block, /sys/dev/block: links to the directory of the disk.  block/genhd.c, block/blk-sysfs.c, mm/backing-dev.c."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from arch.abi.errno import EINVAL
from arch.abi.limits import U32_MAX
from arch.cstring import kstrto_within
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.block.disk import CAPACITY_SECTORS, SECTOR
from simkernel.block.face import BlockKernel
from simkernel.block.layer import DISK_MAJOR, DISK_NAME, MAX_SECTORS, TAGS
from simkernel.block.proc import stat_fields
from simkernel.fs.cgroup_css import text_of
from simkernel.fs.nodes import Dir, Link, Node
from simkernel.fs.proc_text import PAGE_KB
from simkernel.fs.sysfs import AttrFile, sysfs_file

DEVICE = "devices/pci0000:00/0000:00:02.0/virtio0"  # whose driver the disk belongs to
DISK_NUMBER = f"{DISK_MAJOR}:0"
BACKING_PATH = f"devices/virtual/bdi/{DISK_NUMBER}"
DISK_PATH = f"{DEVICE}/block/{DISK_NAME}"
MAX_KB = MAX_SECTORS * SECTOR >> 10


@dataclass(frozen=True)
class Attribute:
    """A file of the disk: a fixed text or what `show` says; with `check` it can be written: what is kept of a number.

    A writable one whose change nothing here would follow refuses (`_fixed`).
    """

    value: object = ""
    show: Callable[[BlockKernel], str] | None = None
    check: Callable[[int], int] | None = None
    since: str | None = None


def _fixed(wanted: int) -> int:
    raise KernelError(EINVAL, "cannot be changed here")


def _flag(wanted: int) -> int:
    return int(wanted != 0)


def _read_ahead(wanted: int) -> int:
    """Whole pages."""
    return wanted // PAGE_KB * PAGE_KB


def _max_sectors(wanted: int) -> int:
    """queue_max_sectors_store().  EINVAL."""
    if not PAGE_KB <= wanted <= MAX_KB:
        raise KernelError(EINVAL, "less than a page or more than the hardware does")
    return wanted


def _stat(k: BlockKernel) -> str:
    """part_stat_show()."""
    return " ".join(f"{value:8d}" for value in stat_fields(k))


def _uevent(k: BlockKernel) -> str:
    sequence = "\nDISKSEQ=1" if k.version.at_least("5.15") else ""
    return f"MAJOR={DISK_MAJOR}\nMINOR=0\nDEVNAME={DISK_NAME}\nDEVTYPE=disk{sequence}"


DISK: dict[str, Attribute] = {
    "alignment_offset": Attribute(0),
    "cache_type": Attribute("write through", check=_fixed),
    "capability": Attribute(0),
    "dev": Attribute(DISK_NUMBER),
    "discard_alignment": Attribute(0),
    "diskseq": Attribute(1, since="5.15"),
    "events": Attribute(),
    "events_async": Attribute(),
    "events_poll_msecs": Attribute(-1, check=_fixed),
    "ext_range": Attribute(256),
    "hidden": Attribute(0, since="4.15"),
    "inflight": Attribute(show=lambda k: "{:8d} {:8d}".format(*k.block.stats.moving)),
    "range": Attribute(16),
    "removable": Attribute(0),
    "ro": Attribute(0),
    "serial": Attribute(),
    "size": Attribute(CAPACITY_SECTORS),
    "stat": Attribute(show=_stat),
}

QUEUE: dict[str, Attribute] = {
    "add_random": Attribute(0, check=_flag),
    "chunk_sectors": Attribute(0, since="4.10"),
    "dax": Attribute(0, since="4.8"),
    "discard_granularity": Attribute(0),
    "discard_max_bytes": Attribute(0, check=_fixed),
    "discard_max_hw_bytes": Attribute(0, since="4.3"),
    "discard_zeroes_data": Attribute(0),
    "dma_alignment": Attribute(SECTOR - 1, since="6.0"),
    "fua": Attribute(0, since="4.20"),
    "hw_sector_size": Attribute(SECTOR),
    "io_poll": Attribute(0, check=_fixed, since="4.4"),
    "io_poll_delay": Attribute(-1, check=_fixed, since="4.10"),
    "iostats": Attribute(1, check=_fixed),
    "logical_block_size": Attribute(SECTOR),
    "max_discard_segments": Attribute(1, since="4.11"),
    "max_hw_sectors_kb": Attribute(MAX_KB),
    "max_integrity_segments": Attribute(0),
    "max_sectors_kb": Attribute(MAX_KB, check=_max_sectors),
    "max_segment_size": Attribute(U32_MAX),
    "max_segments": Attribute(254),
    "minimum_io_size": Attribute(SECTOR),
    "nomerges": Attribute(0, check=_flag),
    "nr_requests": Attribute(TAGS, check=_fixed),
    "nr_zones": Attribute(0, since="4.20"),
    "optimal_io_size": Attribute(0),
    "physical_block_size": Attribute(SECTOR),
    "read_ahead_kb": Attribute(128, check=_read_ahead),
    "rotational": Attribute(1, check=_flag),
    "rq_affinity": Attribute(1, check=_flag),
    "scheduler": Attribute("[none] ", check=_fixed),
    "stable_writes": Attribute(0, check=_fixed, since="5.11"),
    "virt_boundary_mask": Attribute(0, since="5.13"),
    "wbt_lat_usec": Attribute(0, check=_fixed, since="4.10"),
    "write_cache": Attribute("write through", check=_fixed, since="4.7"),
    "write_same_max_bytes": Attribute(0),
    "write_zeroes_max_bytes": Attribute(0, since="4.10"),
    "zone_append_max_bytes": Attribute(0, since="5.8"),
    "zone_write_granularity": Attribute(0, since="5.12"),
    "zoned": Attribute("none", since="4.10"),
}

BACKING: dict[str, Attribute] = {
    "max_ratio": Attribute(100, check=_fixed),
    "min_ratio": Attribute(0, check=_fixed),
    "read_ahead_kb": QUEUE["read_ahead_kb"],
    "stable_pages_required": Attribute(0),
}


class Files:
    """The directories of one machine's disk; what was written into an attribute is kept here."""

    def __init__(self, k: BlockKernel) -> None:
        self.k = k
        self.kept: dict[str, int] = {}

    def read(self, name: str, row: Attribute) -> str:
        text = row.show(self.k) if row.show is not None else str(self.kept.get(name, row.value))
        return f"{text}\n" if text else ""

    def write(self, name: str, row: Attribute, data: bytes) -> None:
        """queue_var_store().  EINVAL."""
        assert row.check is not None
        self.kept[name] = row.check(kstrto_within(text_of(data), 0, 0, U32_MAX))

    def of(self, rows: dict[str, Attribute]) -> dict[str, Node]:
        """The files of a table that this version has."""
        return {
            name: AttrFile(partial(self.read, name, row), partial(self.write, name, row) if row.check else None)
            for name, row in rows.items()
            if row.since is None or self.k.version.at_least(row.since)
        }

    def hardware_queues(self) -> Dir:
        """blk_mq_hw_sysfs_*: one queue for all CPUs."""
        cpus = range(self.k.nr_cpus)
        nodes: dict[str, Node] = {f"cpu{cpu}": Dir(mode=0o755) for cpu in cpus}
        for name, text in (("cpu_list", ", ".join(map(str, cpus))), ("nr_reserved_tags", "0"), ("nr_tags", f"{TAGS}")):
            nodes[name] = AttrFile(partial(str, f"{text}\n"))
        return Dir({"0": Dir(nodes, mode=0o755)}, mode=0o755)

    def disk(self) -> Dir:
        """/sys/block/vda/."""
        nodes = self.of(DISK)
        tell = lambda data: self.k.vfs.uevents.synthesize(data, f"/{DISK_PATH}", "block", _uevent(self.k).split("\n"))  # noqa: E731
        nodes["uevent"] = AttrFile(lambda: f"{_uevent(self.k)}\n", tell)
        nodes["queue"] = Dir(self.of(QUEUE), mode=0o755)
        nodes["mq"] = self.hardware_queues()
        nodes |= {"holders": Dir(mode=0o755), "slaves": Dir(mode=0o755)}
        nodes["bdi"] = Link(f"../../../../../virtual/bdi/{DISK_NUMBER}")
        nodes["device"] = Link("../../../virtio0")
        nodes["subsystem"] = Link("../../../../../../class/block")
        return Dir(nodes, mode=0o755)

    def backing(self) -> Dir:
        """The disk's struct backing_dev_info."""
        nodes = self.of(BACKING)
        nodes["uevent"] = AttrFile(
            lambda: "", lambda data: self.k.vfs.uevents.synthesize(data, f"/{BACKING_PATH}", "bdi")
        )
        nodes["subsystem"] = Link("../../../../class/bdi")
        return Dir(nodes, mode=0o755)


def install(k: BlockKernel) -> None:
    """The disk's directory and the links to it."""
    files = Files(k)
    disk, backing = DISK_PATH, BACKING_PATH
    nodes: dict[str, Node] = {
        disk: files.disk(),
        backing: files.backing(),
        f"block/{DISK_NAME}": Link(f"../{disk}"),
        f"class/block/{DISK_NAME}": Link(f"../../{disk}"),
        f"class/bdi/{DISK_NUMBER}": Link(f"../../{backing}"),
        f"dev/block/{DISK_NUMBER}": Link(f"../../{disk}"),
    }
    for path, node in nodes.items():
        sysfs_file(k.vfs, path, node)
    k.vfs.sysfs_root.subdir("dev").subdir("char", 0o755)
