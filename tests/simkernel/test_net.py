"""The network as programs see it, and what the kernel's own counts say afterwards."""

from __future__ import annotations

import pytest

import simkernel


@pytest.fixture
def shell(busybox: str):
    """Run a shell script in a fresh machine: (output, machine)."""

    def run(script: str, **boot: object) -> tuple[str, simkernel.Machine]:
        m = simkernel.boot(**boot)
        result = m.run([m.install(busybox), "sh", "-c", script], timeout_host_s=60)
        return result.text, m

    return run


def nothing_leaks(m: simkernel.Machine) -> None:
    """Every packet and every slab object went back."""
    k = m.kernel
    assert k.net.skbs == {}
    assert k.slab.live == {}
    assert k.slab.allocated == k.slab.freed > 0


def test_ping_on_loopback(shell) -> None:
    text, m = shell("ping -c 2 127.0.0.1")
    assert "2 packets transmitted, 2 packets received, 0% packet loss" in text
    nothing_leaks(m)


def test_ping_the_host_at_the_other_end_of_eth0(shell) -> None:
    text, m = shell("ping -c 2 10.0.2.2")
    assert "2 packets received" in text
    assert m.kernel.irqs.counts[11][0] == 2  # one interrupt for each answer
    nothing_leaks(m)


def test_tcp_carries_bytes_both_ways_and_closes(shell) -> None:
    script = "(echo question | nc -l -p 1234 &) ; sleep 1; nc 127.0.0.1 1234 </dev/null; nc 127.0.0.1 4321; echo $?"
    text, m = shell(script)
    assert text == "question\n1\n"  # the second nc: nobody listens there
    assert m.kernel.net.tcp_established == {}
    nothing_leaks(m)


def test_a_long_stream_arrives_whole(shell) -> None:
    server = "dd if=/dev/zero bs=1000 count=700 2>/dev/null | nc -l -p 99 >/dev/null &"
    text, m = shell(f"{server} sleep 1; sleep 3 | nc 127.0.0.1 99 | wc -c", cpus=2)
    assert text == "700000\n"
    nothing_leaks(m)


def test_dropped_packets_are_counted_and_say_where(shell) -> None:
    trace = "/sys/kernel/tracing"
    script = f"nslookup -timeout=1 -retry=1 name 127.0.0.1 >/dev/null; grep reason:.NO_SOCKET {trace}/trace | wc -l"
    text, m = shell(f"echo 1 > {trace}/events/skb/kfree_skb/enable; {script}")
    assert int(text) == m.kernel.net.counters["dropped"] > 0


def test_a_disk_file_is_read_back_through_the_block_layer(shell) -> None:
    script = (
        "cd /sys/kernel/tracing; echo 1 > events/block/enable; dd if=/dev/zero of=/mnt/x bs=4k count=10 2>/dev/null; sync;"
        "echo 3 > /proc/sys/vm/drop_caches; dd if=/mnt/x of=/dev/null bs=4k 2>/dev/null;"
        "grep -c block_rq_issue trace; grep -c block_rq_complete trace; wc -c </mnt/x"
    )
    text, m = shell(script)
    issued, completed, size = map(int, text.split())
    assert issued == completed == len(m.kernel.block.latencies_ns) >= 2
    assert size == 40960
    assert m.kernel.block.bytes_written == 40960


def test_tools_read_proc_net(shell) -> None:
    text, _ = shell(
        "ifconfig eth0 | head -3; route -n | tail -2; nc -l -p 99 & sleep 0.1; netstat -tln 2>/dev/null | grep -c :::99; "
        "ping -c 1 127.0.0.1 >/dev/null; grep -c . /proc/net/dev; kill %1"
    )
    assert "inet addr:10.0.2.15  Bcast:10.0.2.255  Mask:255.255.255.0" in text
    assert "0.0.0.0         10.0.2.2        0.0.0.0         UG    0      0        0 eth0" in text
    assert text.endswith("1\n4\n")
