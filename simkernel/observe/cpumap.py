"""Frames that go up the stack on another CPU: the queue of an entry of a CPUMAP, and the kernel thread that empties it.

kernel/bpf/cpumap.c of Linux 6.1.
"""

from __future__ import annotations

from collections import deque

from arch.records import dataclass
from bpf.board import Bpf
from bpf.face import Prog
from simkernel.kernel.face import Steps
from simkernel.kernel.init import rest
from simkernel.kernel.task import WaitQueue
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.skb import Skb
from simkernel.observe.face import WatchedKernel

CPUMAP_BATCH = 8  # frames that the thread takes at once
KTHREADD = 2
COMM_LENGTH = 15  # of a thread's name


@dataclass(frozen=True, slots=True)
class Frame:
    """struct xdp_frame: one that no packet is made of yet."""

    data: bytes
    dev: NetDevice


@dataclass(slots=True)
class Stats:
    """struct xdp_cpumap_stats: what the entry's program made of a batch."""

    redirected: int = 0
    passed: int = 0
    dropped: int = 0


class FrameActions:
    """What an entry's program makes of frames; xdp.py runs it."""

    def on_packet(self, prog: Prog, packet: Skb, stats: Stats) -> Steps[bool]:
        """True: it goes up the stack; else it is somebody else's by now (`yield from`)."""
        raise NotImplementedError

    def on_frame(self, prog: Prog, frame: Frame, stats: Stats) -> Skb | None:
        """The packet that goes up the stack, if any."""
        raise NotImplementedError

    def packet_of(self, frame: Frame) -> Skb:
        """__xdp_build_skb_from_frame()."""
        raise NotImplementedError


class CpuQueue:
    """struct bpf_cpu_map_entry."""

    def __init__(
        self, k: WatchedKernel, bpf: Bpf, actions: FrameActions, map_id: int, cpu: int, size: int, prog: Prog | None
    ) -> None:
        if prog is not None:
            prog.get()
        self.bpf = bpf
        self.k, self.actions, self.map_id, self.cpu, self.size, self.prog = k, actions, map_id, cpu, size, prog
        self.ring: deque[Skb | Frame] = deque()
        self.bulk: list[Frame] = []  # of a test run's batch that is not at its end
        self.stopped = False
        self.wait = WaitQueue("cpumap")
        name = f"cpumap/{cpu}/map:{map_id}"[:COMM_LENGTH]
        thread = k.threads.make_kernel_thread(name, self.run, k.tasks.find(KTHREADD))
        thread.affinity, thread.cpu = 1 << cpu, cpu
        k.cpus.wake_new(thread)

    # ---- coming ----

    def produce(self, packet: Skb) -> bool:
        """cpu_map_generic_redirect(): False where the queue is full."""
        taken = len(self.ring) < self.size
        if taken:
            packet.redirected = True
            self.ring.append(packet)
            self.k.wake_up(self.wait)
        self._told(int(taken), int(not taken))
        return taken

    def flush(self) -> None:
        """bq_flush_to_queue(): a batch of frames; what has no room is dropped."""
        room = self.size - len(self.ring)
        taken, left = self.bulk[:room], len(self.bulk[room:])
        self.bulk = []
        self.ring.extend(taken)
        self._told(len(taken), left)
        if taken:
            self.k.wake_up(self.wait)

    def _told(self, processed: int, drops: int) -> None:
        self.k.trace("xdp_cpumap_enqueue", self.map_id, processed, drops, self.cpu)

    def stop(self) -> None:
        """The entry goes: what waits still goes up."""
        self.stopped = True
        self.k.wake_up(self.wait)

    # ---- going up ----

    def run(self) -> Steps[None]:
        """cpu_map_kthread_run()."""
        slept = True  # the maker of a thread waits until that has begun, so it sleeps before the first frame comes
        while not self.stopped or self.ring:
            if not self.ring:
                slept = True
                yield rest(self.k, self.wait)
            batch = [self.ring.popleft() for _ in range(min(CPUMAP_BATCH, len(self.ring)))]
            yield from self._up(batch, slept)
            slept = False
        if self.prog is not None:
            self.prog.put()

    def _up(self, batch: list[Skb | Frame], slept: bool) -> Steps[None]:
        """A batch through the entry's program and up the stack (`yield from`)."""
        stats = Stats()
        frames = [each for each in batch if isinstance(each, Frame)]
        packets = [self._frame(frame, stats) for frame in frames]
        up = [packet for packet in packets if packet is not None]
        for packet in batch:
            if not isinstance(packet, Frame) and (yield from self._passes(packet, stats)):
                up.append(packet)
        for packet in up:
            yield self.k.call("__netif_receive_skb", packet.addr)
        with self.bpf.scratch(12) as at:
            for place, count in enumerate((stats.redirected, stats.passed, stats.dropped)):
                self.k.mem.write_uint(at + 4 * place, 4, count)
            self.k.trace("xdp_cpumap_kthread", self.map_id, len(batch), 0, int(slept), at)
        if self.k.softirqs.due():  # local_bh_enable()
            yield self.k.call("do_softirq")

    def _frame(self, frame: Frame, stats: Stats) -> Skb | None:
        if self.prog is None:
            return self.actions.packet_of(frame)
        return self.actions.on_frame(self.prog, frame, stats)

    def _passes(self, packet: Skb, stats: Stats) -> Steps[bool]:
        if self.prog is None:
            return True
        return (yield from self.actions.on_packet(self.prog, packet, stats))
