"""XDP programs on devices: who may attach, and running them on frames.  net/core/dev.c of Linux 6.1: dev_xdp_attach(),
netif_receive_generic_xdp(); kernel/bpf/devmap.c, net/core/filter.c: where redirected frames go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from arch.abi.errno import EBUSY, EEXIST, EINVAL, EOPNOTSUPP
from arch.abi.if_link import (
    XDP_FLAGS_MODES,
    XDP_FLAGS_REPLACE,
    XDP_FLAGS_SKB_MODE,
    XDP_FLAGS_UPDATE_IF_NOEXIST,
)
from arch.abi.inet import ETH_HLEN
from arch.errors import KernelError
from bpf import uapi
from bpf.board import Bpf, Redirect
from bpf.core.program import BpfProg, prog_of_fd
from bpf.face import Detach, Prog, XdpAttach
from bpf.maps.net import CpuMap, DevMap
from bpf.packet.skbuff import XdpBuff, shinfo_room
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.programs import XdpAnswer
from simkernel.net.core.skb import Skb
from simkernel.net.core.xdp import replace_frame
from simkernel.net.face import current_net
from simkernel.observe.face import WatchedKernel

PASSES, DROPPED = XdpAnswer(passes=True), XdpAnswer()
NOT_ON_DEVICES = (uapi.BPF_XDP_DEVMAP, uapi.BPF_XDP_CPUMAP)


class XdpPrograms:
    """The programs of all devices; every driver here is without XDP of its own, so the mode is the generic one."""

    def __init__(self, k: WatchedKernel, bpf: Bpf) -> None:
        self.k, self.bpf = k, bpf
        self.progs: dict[int, BpfProg] = {}  # by the address of struct net_device
        self.by_link: set[int] = set()  # of these, those that links hold

    # ---- attaching ----

    def _check(self, dev: int, new: BpfProg | None, flags: int, link: bool) -> None:
        """dev_xdp_attach() up to the device.  EINVAL, EBUSY, EEXIST, EOPNOTSUPP."""
        modes = flags & XDP_FLAGS_MODES
        if link and flags & ~XDP_FLAGS_MODES:
            raise KernelError(EINVAL, "flags that links do not take")
        if modes & modes - 1:
            raise KernelError(EINVAL, "more than one mode")
        current = self.progs.get(dev) if modes in (0, XDP_FLAGS_SKB_MODE) else None
        if current is not None and dev in self.by_link:
            raise KernelError(EBUSY, "a link's program cannot be replaced")
        if link and current is not None:
            raise KernelError(EBUSY, "a program is attached there")
        if new is None:
            return
        if flags & XDP_FLAGS_UPDATE_IF_NOEXIST and current is not None:
            raise Refusal(EBUSY, "XDP program already attached")
        if new.expected_attach_type in NOT_ON_DEVICES:
            kind = "DEVMAP" if new.expected_attach_type == uapi.BPF_XDP_DEVMAP else "CPUMAP"
            raise Refusal(EINVAL, f"BPF_XDP_{kind} programs can not be attached to a device")
        if modes not in (0, XDP_FLAGS_SKB_MODE):
            raise Refusal(EOPNOTSUPP, "Underlying driver does not support XDP in native mode")

    def attach_link(self, prog: BpfProg, request: XdpAttach) -> Detach:
        """bpf_xdp_link_attach()."""
        found = current_net(self.k).devices.get(request.ifindex)
        if found is None:
            raise KernelError(EINVAL, "no such device")
        dev = found.addr
        self._check(dev, prog, request.flags, True)
        self.progs[dev] = prog
        self.by_link.add(dev)

        def detach() -> None:
            self.progs.pop(dev, None)
            self.by_link.discard(dev)

        return detach

    def replace(self, ifindex: int, prog: BpfProg) -> None:
        """A link's program is another one now."""
        dev = current_net(self.k).devices.get(ifindex)
        if dev is not None and dev.addr in self.by_link:
            self.progs[dev.addr] = prog

    def change(self, dev: NetDevice, fd: int, flags: int, expected_fd: int | None) -> None:
        """dev_change_xdp_fd(): what RTM_SETLINK asks for; -1 takes the program away."""
        new = self._prog(fd) if fd >= 0 else None
        old = self._prog(expected_fd) if expected_fd is not None and expected_fd >= 0 else None
        self._check(dev.addr, new, flags, False)
        current = self.progs.get(dev.addr)
        if flags & XDP_FLAGS_REPLACE and current is not old:
            raise KernelError(EEXIST, "another program is attached")
        if new is not None:
            new.get()
            self.progs[dev.addr] = new
        elif flags & XDP_FLAGS_MODES in (0, XDP_FLAGS_SKB_MODE):
            self.progs.pop(dev.addr, None)
        else:
            return
        if current is not None:
            current.put()

    def _prog(self, fd: int) -> BpfProg:
        prog = prog_of_fd(self.bpf, fd)
        if prog.type != uapi.BPF_PROG_TYPE_XDP:
            raise KernelError(EINVAL, "no XDP program")
        return prog

    def id_of(self, dev: NetDevice) -> int:
        """dev_xdp_prog_id(); 0: none."""
        prog = self.progs.get(dev.addr)
        return prog.id if prog is not None else 0

    # ---- frames ----

    def run(self, dev: NetDevice, packet: Skb) -> XdpAnswer | None:
        """None: the device has no program."""
        prog = self.progs.get(dev.addr)
        if prog is None:
            return None
        packet.push(packet.data - packet.mac_header())
        frame = packet.packet()
        packet.pull(ETH_HLEN)
        self.bpf.redirect = None
        action, after = self._on_frame(prog, frame, dev, None)
        if after != frame and action in (uapi.XDP_PASS, uapi.XDP_TX, uapi.XDP_REDIRECT):
            replace_frame(packet, after)
        if action == uapi.XDP_PASS:
            return PASSES
        if action == uapi.XDP_TX:
            return XdpAnswer(targets=(dev,))
        redirect, self.bpf.redirect = self.bpf.redirect, None
        return self._redirected(dev, packet, redirect) if action == uapi.XDP_REDIRECT and redirect else DROPPED

    def _redirected(self, dev: NetDevice, packet: Skb, redirect: Redirect) -> XdpAnswer:
        """xdp_do_generic_redirect()."""
        if redirect.map is None:
            target = dev.net.devices.get(redirect.index)
            return XdpAnswer(targets=(target,)) if target is not None else DROPPED
        if isinstance(redirect.map, CpuMap):  # another CPU's backlog, which goes up the stack from there
            prog = redirect.map.prog_of(redirect.index)
            return PASSES if prog is None or self._entry(prog, packet, dev, None) == uapi.XDP_PASS else DROPPED
        if not isinstance(redirect.map, DevMap):
            return DROPPED
        targets = []
        for ifindex, prog in redirect.map.targets(redirect.index, redirect.flags, dev.ifindex):
            target = dev.net.devices.get(ifindex)
            if target is not None and (prog is None or self._entry(prog, packet, dev, target) == uapi.XDP_PASS):
                targets.append(target)
        return XdpAnswer(targets=tuple(targets))

    def _entry(self, prog: Prog, packet: Skb, dev: NetDevice, out: NetDevice | None) -> int:
        """The program of a map's entry, on a frame that is on its way there."""
        packet.push(packet.data - packet.mac_header())
        frame = packet.packet()
        packet.pull(ETH_HLEN)
        action, after = self._on_frame(prog, frame, dev, out)
        if after != frame:
            replace_frame(packet, after)
        return action

    def _on_frame(self, prog: Prog, frame: bytes, dev: NetDevice, out: NetDevice | None) -> tuple[int, bytes]:
        """bpf_prog_run_generic_xdp(): the action, and the frame as it is then."""
        with self._buffer(frame, dev, out) as xdp:
            action = prog.run(xdp.addr)
            start, end = xdp.get("data"), xdp.get("data_end")
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
