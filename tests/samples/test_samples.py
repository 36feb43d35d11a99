"""Each sample, on two architectures: it says the same twice, and its numbers are the machine's own."""

from __future__ import annotations

import importlib
import io
import random
import re

import pytest

import simkernel
from samples.tool import HERE, Tool
from simkernel import workloads

ARCHES = ["x86_64", "arm64"]
NAMES = [
    "v41.tracex1", "v41.tracex2", "v41.tracex3", "v41.tracex4", "v41.kprobe_count", "v41.sock_example",
    "rfc2015.dropmon", "rfc2015.tracex1", "rfc2015.tracex2", "rfc2015.tracex3", "rfc2015.tracex4",
]  # fmt: skip


def run(name, arch, **options):
    """(what it printed, what main() gives, counters when its workloads began)."""
    out, before = io.StringIO(), {}
    start = Tool.start

    def started(tool, *names):
        before.update(tool.machine.counters()["syscalls_by_name"])
        start(tool, *names)

    Tool.start = started
    try:
        result = importlib.import_module(f"samples.{name}").main(arch=arch, out=out, **options)
    finally:
        Tool.start = start
    return out.getvalue(), result, before


def writes(tool, before):
    """write(2) calls since the workloads began."""
    return tool.machine.counters()["syscalls_by_name"]["write"] - before.get("write", 0)


def locations(text):
    """The last count of each `location` line."""
    return dict(re.findall(r"^location 0x([0-9a-f]+) count (\d+)$", text, re.M))


def histogram_rows(text):
    return [tuple(map(int, row)) for row in re.findall(r"^ *(\d+) -> (\d+) +: (\d+) +\|", text, re.M)]


def sizes_of_the_writer():
    """How often the workload writes sizes of each power of two, from its random numbers alone."""
    generator, counts = random.Random("0 writer"), [0] * 64
    for _ in range(300):
        size = 1 << generator.randint(0, 16)
        counts[generator.randint((size + 1) // 2, size).bit_length() - 1] += 1
    return counts


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", NAMES)
def test_twice_the_same(name, arch):
    first, result, before = run(name, arch)
    assert first
    again, _, _ = run(name, arch)
    assert first == again
    CHECKS[name](first, result, before)


def packets_by_lo(text, tool, before):
    lines = text.strip("\n").splitlines()
    received = next(dev for dev in tool.machine.kernel.net.devices.values() if dev.name == "lo").stats["rx_packets"]
    assert len(lines) == received == 10
    return lines


def check_v41_tracex1(text, tool, before):
    for line in packets_by_lo(text, tool, before):
        assert re.fullmatch(r" +ping-\d+ +\[000\] d\.s2 +\d+\.\d{6}: : skb [0-9a-f]+ len 84", line)


def check_rfc_tracex1(text, tool, before):
    for line in packets_by_lo(text, tool, before):
        assert re.fullmatch(r" +ping-\d+ .*: netif_receive_skb: dev=lo skbaddr=[0-9a-f]+ len=84", line)
    assert tool.machine.kernel.net.counters["received"] == 13  # three came by eth0, and were discarded


def check_drops(text, tool, before):
    dropped = tool.machine.kernel.net.counters["dropped"]
    found = locations(text)
    assert sum(map(int, found.values())) == dropped > 0
    for address in found:
        assert tool.machine.kernel.symbols.lookup(int(address, 16)) is not None


def check_write_sizes(text, tool, before):
    rows = histogram_rows(text)
    assert sum(count for _, _, count in rows) == writes(tool, before) == 300
    expected = sizes_of_the_writer()
    assert [count for _, _, count in rows] == expected[: len(rows)] and not any(expected[len(rows) :])
    assert [(low, high) for low, high, _ in rows] == [(2**i // 2, 2**i - 1) for i in range(1, len(rows) + 1)]
    assert max(re.findall(r"\|(\**)", text), key=len) == "*" * 37


def check_tracex2(text, tool, before):
    check_drops(text, tool, before)
    check_write_sizes(text, tool, before)
    assert "           syscall write() stats\n     byte_size       : count     distribution\n" in text


def check_rfc_tracex4(text, tool, before):
    check_write_sizes(text, tool, before)
    assert text.startswith("\n           kprobe sys_write() stats\n")


def check_v41_tracex3(text, tool, before):
    rows = re.findall(r"^((?:\x1b\[48;5;\d+m \x1b\[00m){71}) # (\d+)$", text, re.M)
    assert len(rows) == 5
    assert sum(int(total) for _, total in rows) == len(tool.machine.kernel.block.latencies_ns) > 100
    assert "|1us      |10us     |100us    |1ms      |10ms     |100ms    |1s       |10s\n" in text


def check_rfc_tracex3(text, heatmap, before):
    completions = len(heatmap.tool.machine.kernel.block.latencies_ns)
    assert heatmap.learned == 100
    assert heatmap.learned + sum(map(sum, heatmap.rows)) + heatmap.missed == completions
    rows = re.findall(r"^((?:\x1b\[48;5;\d+m \x1b\[00m){32}) captured=(\d+) missed=(\d+) max_lat=\d+ usec$", text, re.M)
    assert sum(int(captured) + int(missed) for _, captured, missed in rows) == completions - 100
    assert text.startswith("waiting for events to determine average latency...\n  IO latency in usec\n")


def check_v41_tracex4(text, tool, before):
    kernel = tool.machine.kernel
    screens = text.split("\033[1;1H\033[2J\0\0")[1:]
    assert len(screens) == 3
    for age, screen in enumerate(screens, 1):
        found = re.findall(r"^obj 0x([0-9a-f]+) is +(\d+)sec old was allocated at ip ([0-9a-f]+)$", screen, re.M)
        assert {int(address, 16) for address, _, _ in found} == set(kernel.slab.live)
        assert all(int(seconds) == age for _, seconds, _ in found)
        assert {kernel.symbols.lookup(int(ip, 16))[0] for _, _, ip in found} == {"udp_sendmsg"}


def check_sock_example(text, tool, before):
    rows = re.findall(r"^TCP (\d+) UDP (\d+) ICMP (\d+) packets$", text, re.M)
    assert len(rows) == 10
    tcp, udp, icmp = map(int, rows[-1])
    counters = tool.machine.kernel.net.counters
    assert tcp + udp + icmp == counters["transmitted"] + counters["received"]  # each is seen going and coming
    assert udp == 2 * 72 and icmp == 2 * (10 + 12)


CHECKS = {
    "v41.tracex1": check_v41_tracex1,
    "v41.tracex2": check_tracex2,
    "v41.tracex3": check_v41_tracex3,
    "v41.tracex4": check_v41_tracex4,
    "v41.kprobe_count": check_drops,
    "v41.sock_example": check_sock_example,
    "rfc2015.dropmon": check_drops,
    "rfc2015.tracex1": check_rfc_tracex1,
    "rfc2015.tracex2": check_tracex2,
    "rfc2015.tracex3": check_rfc_tracex3,
    "rfc2015.tracex4": check_rfc_tracex4,
}


def test_wide_and_text_heatmaps(tmp_path):
    text, _, _ = run("v41.tracex3", "x86_64", all=True, text=True, png_file=str(tmp_path / "map.png"))
    assert len(re.findall(r"^[ .*oO#]{100} # \d+$", text, re.M)) == 5
    assert "|1ns     |10ns     |100ns    |1us      |10us " in text
    assert (tmp_path / "map.png").read_bytes()[16:24] == (800).to_bytes(4, "big") + (40).to_bytes(4, "big")


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "riscv64", "s390x", "i386", "arm"])
def test_the_same_program_on_six_machines(arch):
    """Built once per struct pt_regs, loaded as in 2015, it counts write sizes."""
    tool = Tool(arch, "4.1")
    tool.load("sizes")
    tool.start("writer")
    tool.finish()
    assert tool.slots(0, 64) == sizes_of_the_writer()
    tool.close()


@pytest.mark.parametrize("arch", ["riscv64", "s390x"])
def test_tracex2_on_the_other_64_bit_machines(arch):
    for name in ("v41.tracex2", "rfc2015.tracex2"):
        check_tracex2(*run(name, arch))


@pytest.mark.parametrize("kernel, prefix", [("4.1", ""), ("3.20-rfc", "rfc_")])
def test_the_general_loader_takes_them(kernel, prefix):
    machine = simkernel.boot(kernel=kernel)
    for number in range(1, 5):
        machine.load(HERE / f"obj/x86_64/{prefix}tracex{number}.bpf.o").attach()
    sizes = machine.session.objects[1].maps["sizes"]
    before = dict(sizes.items())  # attaching writes, too
    workloads.run(machine, "writer")
    after = dict(sizes.items())
    assert [after[slot] - before[slot] for slot in range(64)] == sizes_of_the_writer()
