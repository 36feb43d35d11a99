"""XDP programs on devices: who may attach, and running them on frames.  net/core/dev.c of Linux 6.1: dev_xdp_attach(),
netif_receive_generic_xdp(); kernel/bpf/devmap.c, net/core/filter.c: where redirected frames go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from arch.abi.errno import EBUSY, EEXIST, EINVAL, ENOSPC, ENOTCONN, EOPNOTSUPP, ERANGE
from arch.abi.if_link import (
    XDP_FLAGS_DRV_MODE,
    XDP_FLAGS_HW_MODE,
    XDP_FLAGS_MODES,
    XDP_FLAGS_REPLACE,
    XDP_FLAGS_SKB_MODE,
    XDP_FLAGS_UPDATE_IF_NOEXIST,
)
from arch.abi.inet import ETH_HLEN
from arch.abi.limits import PAGE_SIZE, S32_MAX
from arch.errors import KernelError
from bpf import uapi
from bpf.board import Bpf, Redirect
from bpf.core.link import XdpLink
from bpf.core.program import BpfProg, prog_of_fd
from bpf.face import Detach, Prog, XdpAttach
from bpf.frames import FrameHost, FrameSocket, FrameWay
from bpf.maps.net import CpuMap, DevMap, XskMap
from bpf.packet.skbuff import XdpBuff, shinfo_room
from simkernel.kernel.face import Steps
from simkernel.net.core.device import packet_of_frame
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.programs import XdpAnswer
from simkernel.net.core.skb import Skb
from simkernel.net.core.xdp import replace_frame, send_on
from simkernel.net.face import current_net
from simkernel.net.files import socket_of
from simkernel.net.xdp.xsk import XdpSock
from simkernel.observe.cpumap import CPUMAP_BATCH, CpuQueue, Frame, FrameActions, Stats
from simkernel.observe.face import WatchedKernel

PASSES, DROPPED = XdpAnswer(passes=True), XdpAnswer()
NOT_ON_DEVICES = (uapi.BPF_XDP_DEVMAP, uapi.BPF_XDP_CPUMAP)


def _frame_of(packet: Skb) -> bytes:
    """A packet from its link header on."""
    packet.push(packet.data - packet.mac_header())
    frame = packet.packet()
    packet.pull(ETH_HLEN)
    return frame


class XdpPrograms(FrameActions, FrameHost):
    """The programs of all devices.  veth runs them by itself, as it is told and told apart; others know the generic mode alone."""

    def __init__(self, k: WatchedKernel, bpf: Bpf) -> None:
        self.k, self.bpf = k, bpf
        bpf.frames = self
        self.progs: dict[int, BpfProg] = {}  # by the address of struct net_device
        self.meta = b""  # what the program that ran last has put before its frame
        self.bulks: dict[CpuQueue, None] = {}  # that a batch has put frames into
        self.by_link: dict[int, XdpAttach] = {}  # of these, those that links hold
        self.modes: dict[int, int] = {}  # and how they are attached: XDP_FLAGS_*_MODE

    # ---- attaching ----

    def _check(
        self, dev: NetDevice, new: BpfProg | None, flags: int, link: bool = False, old: BpfProg | None = None
    ) -> int:
        """dev_xdp_attach() up to the device: the mode.  EINVAL, EBUSY, EEXIST, EOPNOTSUPP."""
        modes = flags & XDP_FLAGS_MODES
        if link and flags & ~XDP_FLAGS_MODES:
            raise Refusal(EINVAL, "Invalid XDP flags for BPF link attachment")
        if modes & modes - 1:
            raise Refusal(EINVAL, "Only one XDP mode flag can be set")
        native = dev.kind.native_xdp
        mode = modes or (XDP_FLAGS_DRV_MODE if native else XDP_FLAGS_SKB_MODE)
        attached = self.progs.get(dev.addr)
        current = attached if self.modes.get(dev.addr) == mode else None
        if current is not None and dev.addr in self.by_link:
            raise Refusal(EBUSY, "Can't replace active BPF XDP link")
        if link and current is not None:
            raise Refusal(EBUSY, "Can't replace active XDP program with BPF link")
        if flags & XDP_FLAGS_REPLACE and current is not old:
            raise Refusal(EEXIST, "Active program does not match expected")
        if new is None:
            return mode
        if mode == XDP_FLAGS_HW_MODE or (mode == XDP_FLAGS_DRV_MODE and not native):
            raise Refusal(EOPNOTSUPP, "Underlying driver does not support XDP in native mode")
        if flags & XDP_FLAGS_UPDATE_IF_NOEXIST and current is not None:
            raise Refusal(EBUSY, "XDP program already attached")
        if mode != XDP_FLAGS_HW_MODE and attached is not None and current is None:
            raise Refusal(EEXIST, "Native and generic XDP can't be active at the same time")
        if new.expected_attach_type in NOT_ON_DEVICES:
            kind = "DEVMAP" if new.expected_attach_type == uapi.BPF_XDP_DEVMAP else "CPUMAP"
            raise Refusal(EINVAL, f"BPF_XDP_{kind} programs can not be attached to a device")
        if mode == XDP_FLAGS_DRV_MODE and new is not current:
            self._check_veth(dev)
        return mode

    def _check_veth(self, dev: NetDevice) -> None:
        """veth_xdp_set().  ENOTCONN, ERANGE."""
        if dev.peer is None:
            raise Refusal(ENOTCONN, "Cannot set XDP when peer is detached")
        room = PAGE_SIZE - uapi.XDP_PACKET_HEADROOM - shinfo_room(self.bpf.host.structs) - ETH_HLEN
        if dev.peer.mtu > room:
            raise Refusal(ERANGE, "Peer MTU is too large to set XDP")

    def attach_link(self, prog: BpfProg, request: XdpAttach) -> Detach:
        """bpf_xdp_link_attach()."""
        found = current_net(self.k).devices.get(request.ifindex)
        if found is None:
            raise KernelError(EINVAL, "no such device")
        dev = found.addr
        self.modes[dev] = self._check(found, prog, request.flags, link=True)
        self.progs[dev] = prog
        self.by_link[dev] = request

        def detach() -> None:
            self.progs.pop(dev, None)
            self.by_link.pop(dev, None)
            self.modes.pop(dev, None)

        return detach

    def replace(self, request: XdpAttach, prog: BpfProg) -> None:
        """A link's program is another one now."""
        for dev, of_link in self.by_link.items():
            if of_link is request:
                self.progs[dev] = prog

    def device_gone(self, dev: NetDevice) -> None:
        """dev_xdp_uninstall()."""
        prog, request = self.progs.pop(dev.addr, None), self.by_link.pop(dev.addr, None)
        self.modes.pop(dev.addr, None)
        if request is None:
            if prog is not None:
                prog.put()
            return
        for link in self.bpf.links.objects.values():
            if isinstance(link, XdpLink) and link.request is request:
                link.forget_device()

    def change(self, dev: NetDevice, fd: int, flags: int, expected_fd: int | None) -> None:
        """dev_change_xdp_fd(): what RTM_SETLINK asks for; -1 takes the program away."""
        new = self._prog(fd) if fd >= 0 else None
        old = self._prog(expected_fd) if expected_fd is not None and expected_fd >= 0 else None
        mode = self._check(dev, new, flags, old=old)
        current = self.progs.get(dev.addr) if self.modes.get(dev.addr) == mode else None
        if new is not None:
            new.get()
            self.progs[dev.addr], self.modes[dev.addr] = new, mode
        elif current is not None:
            del self.progs[dev.addr], self.modes[dev.addr]
        if current is not None:
            current.put()

    def _prog(self, fd: int) -> BpfProg:
        prog = prog_of_fd(self.bpf, fd)
        if prog.type != uapi.BPF_PROG_TYPE_XDP:
            raise KernelError(EINVAL, "no XDP program")
        return prog

    def shown(self, dev: NetDevice) -> tuple[int, bool]:
        """dev_xdp_prog_id(), 0: none; does the driver run it?"""
        prog = self.progs.get(dev.addr)
        return (prog.id if prog is not None else 0), self.modes.get(dev.addr) == XDP_FLAGS_DRV_MODE

    # ---- frames ----

    def run(self, dev: NetDevice, packet: Skb) -> XdpAnswer | None:
        """None: the device has no program."""
        prog = self.progs.get(dev.addr)
        if prog is None:
            return None
        frame = _frame_of(packet)
        self.bpf.redirect = None
        action, after = self._on_frame(prog, frame, dev, None)
        if after != frame and action in (uapi.XDP_PASS, uapi.XDP_TX, uapi.XDP_REDIRECT):
            replace_frame(packet, after)
        if action == uapi.XDP_PASS:
            return PASSES
        if action == uapi.XDP_TX:
            return XdpAnswer(targets=(dev,))
        redirect, self.bpf.redirect = self.bpf.redirect, None
        if action == uapi.XDP_REDIRECT and redirect is not None:
            return self._redirected(dev, prog, packet, redirect)
        if action not in (uapi.XDP_DROP, uapi.XDP_REDIRECT):
            self._exception(dev, prog, action)
        return DROPPED

    def _exception(self, dev: NetDevice, prog: Prog, action: int) -> None:
        with self._shown("xdp_exception", prog) as at:
            self.k.trace("xdp_exception", dev.addr, at, action)

    @contextmanager
    def _shown(self, event: str, prog: Prog) -> Iterator[int]:
        """A struct bpf_prog with its number, for who looks at an event."""
        kernel = self.bpf.host.structs
        if not self.k.tracepoints.point(event).active:
            yield 0
            return
        with self.bpf.scratch(kernel.sizeof("bpf_prog")) as at, self.bpf.scratch(kernel.sizeof("bpf_prog_aux")) as aux:
            self.k.mem.write_uint(at + kernel.offset("bpf_prog.aux"), kernel.word, aux)
            self.k.mem.write_uint(aux + kernel.offset("bpf_prog_aux.id"), 4, prog.id)
            yield at

    def _redirected(self, dev: NetDevice, prog: Prog, packet: Skb, redirect: Redirect) -> XdpAnswer:
        """xdp_do_generic_redirect()."""
        answer, error = self._generic(dev, packet, redirect)
        self._told(dev, prog, redirect, error)
        return answer

    def _told(self, dev: NetDevice, prog: Prog, redirect: Redirect, error: int) -> None:
        """Tracepoints xdp_redirect and xdp_redirect_err."""
        found = redirect.map
        kind, number = (found.map_type, found.id) if found is not None else (0, S32_MAX)
        target = None
        if isinstance(found, DevMap):
            to = next((ifindex for ifindex, _ in found.targets(redirect.index, redirect.flags, dev.ifindex)), 0)
            target = dev.net.devices.get(to)
        name = "xdp_redirect_err" if error else "xdp_redirect"
        with self._shown(name, prog) as at, self.bpf.scratch(8) as tgt:
            self.k.mem.write_uint(tgt, self.bpf.host.structs.word, target.addr if target is not None else 0)
            self.k.trace(name, dev.addr, at, tgt if target is not None else 0, -error, kind, number, redirect.index)

    def _generic(self, dev: NetDevice, packet: Skb, redirect: Redirect) -> tuple[XdpAnswer, int]:
        """Where it goes, and the errno why it goes nowhere."""
        if redirect.map is None:
            target = dev.net.devices.get(redirect.index)
            return (XdpAnswer(targets=(target,)), 0) if target is not None else (DROPPED, EINVAL)
        if isinstance(redirect.map, CpuMap):
            queue = redirect.map.queue_of(redirect.index)
            taken = isinstance(queue, CpuQueue) and queue.produce(packet)
            return (XdpAnswer(taken=True), 0) if taken else (DROPPED, ENOSPC)
        if isinstance(redirect.map, XskMap):
            sock = redirect.map.sockets.get(redirect.index)
            error = sock.receive(dev.addr, _frame_of(packet), self.meta) if sock is not None else EINVAL
            return (DROPPED, error) if error else (XdpAnswer(used=True), 0)
        if not isinstance(redirect.map, DevMap):
            return DROPPED, EINVAL
        return self._to_devices(dev, packet, redirect, redirect.map), 0

    def _to_devices(self, dev: NetDevice, packet: Skb, redirect: Redirect, devices: DevMap) -> XdpAnswer:
        """dev_map_generic_redirect(), dev_map_redirect_multi()."""
        targets = []
        for ifindex, prog in devices.targets(redirect.index, redirect.flags, dev.ifindex):
            target = dev.net.devices.get(ifindex)
            if target is not None and (prog is None or self._entry(prog, packet, dev, target) == uapi.XDP_PASS):
                targets.append(target)
        return XdpAnswer(targets=tuple(targets))

    # ---- frames that no packet is made of yet, and the programs of CPUs ----

    def packet_of(self, frame: Frame) -> Skb:
        return packet_of_frame(self.k, frame.dev, frame.data)

    def on_packet(self, prog: Prog, packet: Skb, stats: Stats) -> Steps[bool]:
        """cpu_map_bpf_prog_run_skb()."""
        dev = packet.device
        self.bpf.redirect = None
        action = self._entry(prog, packet, dev, None)
        if action == uapi.XDP_PASS:
            return True
        answer, redirect = DROPPED, self.bpf.redirect
        self.bpf.redirect = None
        if action == uapi.XDP_REDIRECT and redirect is not None:
            answer = self._redirected(dev, prog, packet, redirect)
        elif action not in (uapi.XDP_DROP, uapi.XDP_REDIRECT):
            self._exception(dev, prog, action)
        if answer.taken or answer.targets:
            stats.redirected += 1
        else:
            stats.dropped += 1
        yield from send_on(self.k, packet, answer)
        return False

    def on_frame(self, prog: Prog, frame: Frame, stats: Stats) -> Skb | None:
        """cpu_map_bpf_prog_run_xdp()."""
        self.bpf.redirect = None
        action, after = self._on_frame(prog, frame.data, frame.dev, None)
        redirect, self.bpf.redirect = self.bpf.redirect, None
        if action == uapi.XDP_PASS:
            stats.passed += 1
            return self.packet_of(Frame(after, frame.dev))
        if action == uapi.XDP_REDIRECT and redirect is not None and self.redirect(frame.dev, prog, after, redirect):
            stats.redirected += 1
        else:
            stats.dropped += 1
        return None

    def redirect(self, dev: NetDevice, prog: Prog, frame: bytes, redirect: Redirect) -> bool:
        """xdp_do_redirect(): of devices veth alone takes frames, and drops those that its other end does not wait for."""
        error, queue = 0, None
        if isinstance(redirect.map, CpuMap):
            queue = redirect.map.queue_of(redirect.index)
            if isinstance(queue, CpuQueue):
                queue.bulk.append(Frame(frame, dev))
                self.bulks[queue] = None
                if len(queue.bulk) == CPUMAP_BATCH:
                    queue.flush()
        elif redirect.map is None or isinstance(redirect.map, DevMap):
            error = self._taker_error(dev, redirect)
        else:
            sock = redirect.map.sockets.get(redirect.index) if isinstance(redirect.map, XskMap) else None
            error = sock.receive(dev.addr, frame, self.meta) if sock is not None else EINVAL
        self._told(dev, prog, redirect, error)
        return not error

    def cpu_queue(self, map_id: int, cpu: int, size: int, prog: Prog | None) -> CpuQueue:
        """__cpu_map_entry_alloc()."""
        return CpuQueue(self.k, self.bpf, self, map_id, cpu, size, prog)

    def frame_socket(self, fd: int) -> FrameSocket:
        """xsk_map_update_elem(): EBADF, ENOTSOCK, EOPNOTSUPP."""
        sk = socket_of(self.k, fd).sk
        if not isinstance(sk, XdpSock):
            raise KernelError(EOPNOTSUPP)
        return sk

    def redirect_frame(self, device: int, prog: Prog, frame: bytes, way: FrameWay) -> None:
        """Of a test run."""
        assert isinstance(way, Redirect)
        self.redirect(self.k.net.devices[device], prog, frame, way)

    def _taker_error(self, dev: NetDevice, redirect: Redirect) -> int:
        """dev_xdp_enqueue()."""
        index = redirect.index
        if isinstance(redirect.map, DevMap):
            index = next((at for at, _ in redirect.map.targets(index, redirect.flags, dev.ifindex)), 0)
        target = dev.net.devices.get(index)
        if target is None:
            return EINVAL
        return 0 if target.peer is not None else EOPNOTSUPP

    def flush(self) -> None:
        """xdp_do_flush()."""
        for queue in self.bulks:
            if queue.bulk:
                queue.flush()
        self.bulks = {}

    def _entry(self, prog: Prog, packet: Skb, dev: NetDevice, out: NetDevice | None) -> int:
        """The program of a map's entry, on a frame that is on its way there."""
        frame = _frame_of(packet)
        action, after = self._on_frame(prog, frame, dev, out)
        if after != frame:
            replace_frame(packet, after)
        return action

    def _on_frame(self, prog: Prog, frame: bytes, dev: NetDevice, out: NetDevice | None) -> tuple[int, bytes]:
        """bpf_prog_run_generic_xdp(): the action, and the frame as it is then."""
        with self._buffer(frame, dev, out) as xdp:
            action = prog.run(xdp.addr)
            start, end, meta = xdp.get("data"), xdp.get("data_end"), xdp.get("data_meta")
            self.meta = bytes(self.k.mem.read(meta, start - meta)) if meta < start else b""
            return action, bytes(self.k.mem.read(start, end - start))

    @contextmanager
    def _buffer(self, frame: bytes, dev: NetDevice, out: NetDevice | None) -> Iterator[XdpBuff]:
        bpf, kernel = self.bpf, self.bpf.host.structs
        headroom = uapi.XDP_PACKET_HEADROOM
        size = headroom + len(frame) + 320 + shinfo_room(kernel)
        with (
            bpf.scratch(size) as start,
            bpf.scratch(kernel.sizeof("xdp_rxq_info")) as rxq,
            bpf.scratch(kernel.sizeof("xdp_txq_info")) as txq,
            bpf.scratch(kernel.sizeof("xdp_buff")) as address,
        ):
            xdp = XdpBuff(bpf.host, address)
            self.k.mem.write(start, bytes(headroom) + frame)
            xdp.write(rxq, "xdp_rxq_info.dev", dev.addr)
            if out is not None:
                xdp.write(txq, "xdp_txq_info.dev", out.addr)
                xdp.set("txq", txq)
            for member, value in (
                ("data_hard_start", start), ("data", start + headroom), ("data_meta", start + headroom),
                ("data_end", start + headroom + len(frame)), ("rxq", rxq), ("frame_sz", size),
            ):  # fmt: skip
                xdp.set(member, value)
            yield xdp
