"""Where programs of devices by bpf(2) run: on the ways in and out (tcx), and between the two ends of a netkit pair.

include/net/tcx.h, net/core/dev.c: tcx_run(); drivers/net/netkit.c: netkit_dev_fetch(), netkit_run().
"""

from __future__ import annotations

from arch.abi.errno import EACCES, ENODEV, ENXIO
from arch.errors import KernelError
from bpf import uapi
from bpf.board import Bpf
from bpf.core.program import BpfProg
from bpf.device_face import Device
from bpf.face import Prog
from simkernel.net.core.clsact import Classifier
from simkernel.net.devices.netkit import netkit
from simkernel.net.face import NetKernel, current_net
from simkernel.observe.tc import TcClassifier

WAYS = {uapi.BPF_TCX_INGRESS: True, uapi.BPF_TCX_EGRESS: False}


class DeviceHooks:
    """The programs that devices have, as the network asks for them."""

    def __init__(self, k: NetKernel, bpf: Bpf) -> None:
        self.k, self.bpf = k, bpf
        bpf.devices.changed, bpf.devices.find = self._changed, self.find

    def find(self, ifindex: int, attach_type: int) -> Device:
        """The device whose programs are meant.  ENODEV, ENXIO, EACCES."""
        dev = current_net(self.k).devices.get(ifindex)
        if dev is None:
            raise KernelError(ENODEV)
        if attach_type not in WAYS:
            pair = netkit(dev)
            if pair is None:
                raise KernelError(ENXIO, "no netkit device")
            if not pair.primary:
                raise KernelError(EACCES, "the other end has all the programs")
            if attach_type == uapi.BPF_NETKIT_PEER:
                dev = dev.peer
                if dev is None:
                    raise KernelError(ENODEV)
        return Device(dev.addr, dev.ifindex)

    def _changed(self, device: Device, attach_type: int, progs: tuple[Prog, ...]) -> None:
        """A place has other programs now."""
        dev = next((dev for addr, dev in self.k.net.devices.items() if addr == device.token), None)
        if dev is None:
            return
        programs: list[Classifier] = [TcClassifier(prog) for prog in progs if isinstance(prog, BpfProg)]
        if attach_type in WAYS:
            table, key = self.k.net.tcx, (dev.addr, WAYS[attach_type])
            if programs:
                table[key] = programs
            else:
                table.pop(key, None)
            return
        pair = netkit(dev)
        if pair is not None:
            pair.programs = programs
