"""Stories whose every byte is compared: `python -m tests.simkernel.stories NAME` prints a digest of all that can be seen of one.

    network   TCP and UDP over a line that loses and delays packets, with the events of packets and sockets
    disk      a file system's traffic through the block layer, with a BPF program counting it
    sampling  perf's clock samples with call chains of busy programs, by its own ring
    threads   sixteen pipelines that share four CPUs, with the scheduler's events

determinism.py runs them in many ways: nothing may differ.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import simkernel
from simkernel import workloads
from simkernel.machine import Machine

SAMPLES = Path(__file__).parents[2] / "samples"
CPUS = 4


def busybox(m: Machine, script: str) -> bytes:
    found = shutil.which("busybox")
    assert found, "busybox-static is not installed"
    result = m.run([m.install(found), "sh", "-c", script], timeout_host_s=1800)
    assert not result.timed_out, result.timed_out  # the host's time is no part of a story
    return result.stdout + result.stderr + str(result.status).encode()


def network(m: Machine) -> object:
    for event in ("tcp", "sock", "skb:kfree_skb", "net:net_dev_queue"):
        m.enable_event(event) if ":" in event else m.session.write_file(
            f"/sys/kernel/tracing/events/{event}/enable", "1"
        )
    done = [workloads.run(m, name).status for name in ("udp", "ping")]
    m.netem("lo", delay_ms=1, jitter_ms=0.5, loss=0.05, duplicate=0.02)
    done.append(workloads.run(m, "tcp").status)
    script = "nc -l -p 99 > /tmp/got & sleep 1; seq 1 3000 | nc 127.0.0.1 99; wait; md5sum /tmp/got"
    return done, busybox(m, script).decode(), m.trace_pipe()


def disk(m: Machine) -> object:
    obj = m.load(SAMPLES / "obj" / "x86_64" / "writes.bpf.o")
    obj.attach()
    m.session.write_file("/sys/kernel/tracing/events/block/enable", "1")
    workloads.run(m, "disk")
    text = busybox(m, "for i in 1 2 3; do seq 1 4000 > /mnt/f$i; done; sync; cat /mnt/f* | md5sum; ls -l /mnt")
    return text.decode(), {name: list(bpf_map.items()) for name, bpf_map in obj.maps.items()}, m.trace_pipe()


def sampling(m: Machine) -> object:
    task, word = m.session.task, "<" if m.session.task.byteorder == "little" else ">"
    attr = struct.pack(word + "IIQQQQQ", 1, 112, 0, 100_000, 0x1 | 0x2 | 0x4 | 0x20 | 0x80, 0, 0).ljust(112, b"\0")
    rings = []
    for cpu in range(CPUS):  # PERF_COUNT_SW_CPU_CLOCK: ip, tid, time, callchain, cpu
        with task.memory() as memory:
            fd = task.call("perf_event_open", memory.put(attr), -1, cpu, -1, 0)
        rings.append((fd, task.call("mmap", 0, 4096 * 65, 3, 1, fd, 0)))
    text = busybox(m, "for i in 1 2 3 4; do (seq 1 20000 | md5sum) & done; wait")
    records = []
    for fd, ring in rings:
        (head,) = struct.unpack(word + "Q", task.sys.read(ring + 1024, 8))
        records.append((head, task.sys.read(ring + 4096, min(head, 4096 * 64)).hex()))
        task.call("close", fd)
    assert all(head for head, _ in records)
    return text.decode(), records


def threads(m: Machine) -> object:
    m.enable_event("sched:sched_switch")
    m.enable_event("sched:sched_wakeup")
    script = "for i in $(seq 1 16); do (seq $i 400 | sort -r | while read x; do :; done; echo $i) & done; wait"
    return busybox(m, script).decode(), m.trace_pipe()


STORIES: dict[str, Callable[[Machine], object]] = {
    "network": network, "disk": disk, "sampling": sampling, "threads": threads,
}  # fmt: skip


def digest(name: str, seed: int = 0) -> str:
    """Of everything that a story shows, the machine's counters included."""
    m = simkernel.boot(cpus=CPUS, seed=seed)
    shown = STORIES[name](m), m.counters()
    text = json.dumps(shown, default=lambda value: value.hex() if isinstance(value, bytes) else str(value))
    if "--print" in sys.argv:
        print(text)
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    print(digest(sys.argv[1]))
