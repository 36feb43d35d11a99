"""/sys/block and /sys/class/block: the names, modes and forms that a disk of virtio has under Debian's 6.1."""

import pytest

import simkernel
from arch.abi.errno import EINVAL
from arch.errors import KernelError

PATH = "devices/pci0000:00/0000:00:02.0/virtio0/block/vda"
# Recorded: names and modes, without those of integrity/, power/, trace/ and queue/iosched/.
WRITABLE = {
    "cache_type", "events_poll_msecs", "uevent", "queue/add_random", "queue/discard_max_bytes", "queue/io_poll",
    "queue/io_poll_delay", "queue/iostats", "queue/max_sectors_kb", "queue/nomerges", "queue/nr_requests",
    "queue/read_ahead_kb", "queue/rotational", "queue/rq_affinity", "queue/scheduler", "queue/stable_writes",
    "queue/wbt_lat_usec", "queue/write_cache",
}  # fmt: skip
READABLE = {
    "alignment_offset", "capability", "dev", "discard_alignment", "diskseq", "events", "events_async", "ext_range", "hidden",
    "inflight", "mq/0/cpu_list", "mq/0/nr_reserved_tags", "mq/0/nr_tags", "queue/chunk_sectors", "queue/dax",
    "queue/discard_granularity", "queue/discard_max_hw_bytes", "queue/discard_zeroes_data", "queue/dma_alignment", "queue/fua",
    "queue/hw_sector_size", "queue/logical_block_size", "queue/max_discard_segments", "queue/max_hw_sectors_kb",
    "queue/max_integrity_segments", "queue/max_segment_size", "queue/max_segments", "queue/minimum_io_size", "queue/nr_zones",
    "queue/optimal_io_size", "queue/physical_block_size", "queue/virt_boundary_mask", "queue/write_same_max_bytes",
    "queue/write_zeroes_max_bytes", "queue/zone_append_max_bytes", "queue/zone_write_granularity", "queue/zoned", "range",
    "removable", "ro", "serial", "size", "stat",
}  # fmt: skip


def read(machine, name: str) -> str:
    return machine.session.read_file(f"/sys/{name}").decode()


def walk(node, path=""):
    for name, child in node.entries().items():
        if child.is_dir:
            yield from walk(child, f"{path}{name}/")
        elif not child.is_link:
            yield path + name, child.mode & 0o777


@pytest.mark.parametrize("way", ["block/vda", "class/block/vda", "dev/block/254:0", PATH])
def test_every_way_leads_to_the_disk(written, way):
    assert (read(written, f"{way}/dev"), read(written, f"{way}/size")) == ("254:0\n", "131072\n")


def test_names_and_modes(written):
    node = written.kernel.vfs.sysfs_root
    for part in PATH.split("/"):
        node = node.lookup(part)
    assert dict(walk(node)) == dict.fromkeys(WRITABLE, 0o644) | dict.fromkeys(READABLE, 0o444)


def test_forms(written):
    assert read(written, "block/vda/uevent") == "MAJOR=254\nMINOR=0\nDEVNAME=vda\nDEVTYPE=disk\nDISKSEQ=1\n"
    assert read(written, "block/vda/inflight") == "       0        0\n"
    assert read(written, "block/vda/events") == ""
    assert read(written, "block/vda/mq/0/cpu_list") == "0, 1\n"
    assert read(written, "block/vda/device/block/vda/ro") == "0\n"
    assert read(written, "block/vda/bdi/read_ahead_kb") == read(written, "class/bdi/254:0/read_ahead_kb") == "128\n"
    assert read(written, "block/vda/subsystem/vda/range") == "16\n"


def test_stat_says_what_diskstats_says(written):
    stat = read(written, "block/vda/stat")
    numbers = written.session.read_file("/proc/diskstats").decode().split()[3:]
    assert stat == " ".join(f"{int(number):8d}" for number in numbers) + "\n"
    assert int(numbers[6]) >= 16


def test_older_kernels_have_fewer():
    old = simkernel.boot(kernel="4.4")
    assert len(read(old, "block/vda/stat").split()) == 11
    assert read(old, "block/vda/uevent") == "MAJOR=254\nMINOR=0\nDEVNAME=vda\nDEVTYPE=disk\n"
    with pytest.raises(KernelError):
        read(old, "block/vda/diskseq")


@pytest.mark.parametrize(("name", "text", "after"), [
    ("nomerges", b"7\n", "1\n"), ("read_ahead_kb", b"10\n", "8\n"), ("max_sectors_kb", b"9\n", "9\n"), ("rotational", b"5\n", "1\n"),
])  # fmt: skip
def test_writing(written, name, text, after):
    written.session.write_file(f"/sys/block/vda/queue/{name}", text)
    assert read(written, f"block/vda/queue/{name}") == after


@pytest.mark.parametrize(("name", "text"), [
    ("queue/nomerges", b"x\n"), ("queue/max_sectors_kb", b"1\n"), ("queue/scheduler", b"bfq\n"), ("uevent", b"bad\n"),
])  # fmt: skip
def test_refused(written, name, text):
    with pytest.raises(KernelError) as refused:
        written.session.write_file(f"/sys/block/vda/{name}", text)
    assert refused.value.errno == EINVAL
