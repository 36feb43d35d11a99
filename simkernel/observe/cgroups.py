"""Programs of control groups at the kernel's hooks: packets, sockets, addresses, options, devices, sysctls.

kernel/bpf/cgroup.c of Linux 6.1: __cgroup_bpf_run_filter_*().
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from arch.abi.errno import EFAULT, ENOENT
from arch.abi.limits import PAGE_SIZE
from arch.abi.socket import AF_INET, AF_INET6, AF_UNIX, SOCKADDR_STORAGE
from arch.errors import KernelError
from bpf import uapi
from bpf.board import Bpf
from bpf.core.cgroup import group_gone, is_err_value, run_cgroup
from bpf.device_face import Device
from bpf.helpers import signed
from bpf.packet.skbuff import KernelStruct
from simkernel.fs.cgroup import Cgroup
from simkernel.fs.hooks import FsPrograms
from simkernel.kernel.face import Steps
from simkernel.kernel.task import Task
from simkernel.net.core.flow_dissector import flow_of
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.core.programs import (
    BPF_SOCK_OPS_RTT_CB,
    BPF_SOCK_OPS_STATE_CB,
    NET_XMIT_CN,
    NET_XMIT_DROP,
    NET_XMIT_SUCCESS,
    Choice,
    FlowKeys,
    HeaderCall,
    NetPrograms,
    Redirected,
    XdpAnswer,
)
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Sock
from simkernel.observe.choosers import Choosers, ReuseportProgram, reuseport_program
from simkernel.observe.congestion import MapOps
from simkernel.observe.face import WatchedKernel
from simkernel.observe.flow import FlowDissectors
from simkernel.observe.lwt import RouteProgram, Routes, route_program
from simkernel.observe.psock import SocketJudges
from simkernel.observe.tc import TcClassifier, classifier_of_fd, redirected
from simkernel.observe.xdp import XdpPrograms

MIN_OPTION = 16  # bytes that a program may use of a socket option's buffer
HAVE_PROGRAMS = (AF_INET, AF_INET6, AF_UNIX)
# Operations that programs have to ask for.
CALLBACK_FLAGS = {
    BPF_SOCK_OPS_STATE_CB: uapi.BPF_SOCK_OPS_STATE_CB_FLAG,
    BPF_SOCK_OPS_RTT_CB: uapi.BPF_SOCK_OPS_RTT_CB_FLAG,
}


class _Base:
    def __init__(self, k: WatchedKernel, bpf: Bpf) -> None:
        self.k, self.bpf = k, bpf
        self.groups = bpf.cgroups

    @contextmanager
    def context(self, struct: str, **members: int) -> Iterator[KernelStruct]:
        """A structure for the length of a block."""
        with self.bpf.scratch(self.bpf.host.structs.sizeof(struct)) as address:
            made = KernelStruct(self.bpf.host, address)
            made.struct = struct
            for name, value in members.items():
                made.set(name, value)
            yield made

    def run(self, group: Cgroup, attach_type: int, ctx: int) -> int:
        """On a context by its address."""
        return run_cgroup(self.bpf, group, attach_type, lambda prog: prog.run(ctx))[0]


class CgroupNet(_Base, NetPrograms):
    """Of sockets: the group is that in which the socket was made.  Programs of devices are xdp.py's."""

    def __init__(self, k: WatchedKernel, bpf: Bpf, devices: XdpPrograms) -> None:
        super().__init__(k, bpf)
        self.devices = devices
        self.choosers = Choosers(k, bpf)
        self.judges = SocketJudges(k, bpf)
        self.dissectors = FlowDissectors(k, bpf)
        bpf.flow_of = partial(flow_of, k)
        bpf.routes = Routes(k)

    def cookie(self, sk: Sock) -> int:
        """The number that programs see, too."""
        return self.bpf.cookie_of(sk.addr)

    @property
    def watches_frames(self) -> bool:
        return bool(self.devices.progs)

    def xdp(self, dev: NetDevice, skb: Skb) -> XdpAnswer | None:
        return self.devices.run(dev, skb)

    def xdp_change(self, dev: NetDevice, fd: int, flags: int, expected_fd: int | None) -> None:
        self.devices.change(dev, fd, flags, expected_fd)

    def device_gone(self, dev: NetDevice) -> None:
        self.devices.device_gone(dev)
        self.bpf.devices.gone(Device(dev.addr, dev.ifindex))

    def xdp_shown(self, dev: NetDevice) -> tuple[int, bool]:
        return self.devices.shown(dev)

    def classifier(self, fd: int) -> TcClassifier:
        return classifier_of_fd(self.bpf, fd)

    def dissect(self, net: Net, skb: Skb, offset: int, flags: int) -> FlowKeys | None:
        return self.dissectors.dissect(net, skb, offset, flags)

    def lwt_program(self, fd: int, kind: int) -> RouteProgram:
        return route_program(self.bpf, fd, kind)

    def take_redirect(self) -> Redirected:
        redirect, self.bpf.redirect = self.bpf.redirect, None
        return redirected(redirect) if redirect is not None else Redirected(0)

    def take_copies(self) -> list[Redirected]:
        copies, self.bpf.copies = self.bpf.copies, None
        return [redirected(copy) for copy in copies or ()]

    def _group(self, sk: Sock, attach_type: int) -> Cgroup | None:
        """None where nothing is to run: cgroup_bpf_enabled(), cgroup_bpf_sock_enabled()."""
        if attach_type not in self.groups.enabled or sk.family not in HAVE_PROGRAMS:
            return None
        group = sk.cgroup or self.k.vfs.cgroups.root
        return group if self.groups.effective(group, attach_type) else None

    def sock(self, sk: Sock, attach_type: int) -> int:
        """__cgroup_bpf_run_filter_sk()."""
        group = self._group(sk, attach_type)
        return 0 if group is None else self.run(group, attach_type, sk.addr)

    def sock_addr(self, sk: Sock, address: bytes, attach_type: int) -> tuple[int, bytes, int]:
        """__cgroup_bpf_run_filter_sock_addr()."""
        group = self._group(sk, attach_type)
        if group is None:
            return 0, address, 0
        answer, after, flags, _ = self._sock_addr(group, sk, address, b"", attach_type)
        return answer, after, flags

    def sendmsg(self, sk: Sock, address: bytes, source: bytes, attach_type: int) -> tuple[int, bytes, bytes]:
        group = self._group(sk, attach_type)
        if group is None:
            return 0, address, source
        answer, after, _, chosen = self._sock_addr(group, sk, address, source, attach_type)
        return answer, after, chosen

    def _sock_addr(
        self, group: Cgroup, sk: Sock, address: bytes, source: bytes, attach_type: int
    ) -> tuple[int, bytes, int, bytes]:
        mem, flagged = self.k.mem, attach_type in (uapi.BPF_CGROUP_INET4_BIND, uapi.BPF_CGROUP_INET6_BIND)
        with self.bpf.scratch(SOCKADDR_STORAGE) as uaddr, self.bpf.scratch(16) as chosen:
            mem.write(uaddr, address.ljust(SOCKADDR_STORAGE, b"\0")[:SOCKADDR_STORAGE])
            mem.write(chosen, source.ljust(16, b"\0"))
            with self.context("bpf_sock_addr_kern", sk=sk.addr, uaddr=uaddr, t_ctx=chosen if source else 0) as ctx:
                counted = ctx.kernel.has("bpf_sock_addr_kern.uaddrlen")
                if counted:
                    ctx.set("uaddrlen", len(address))
                answer, flags = run_cgroup(
                    self.bpf, group, attach_type, lambda prog: prog.run(ctx.addr), with_flags=flagged
                )
                length = ctx.get("uaddrlen") if counted and not answer else len(address)
            after = bytes(mem.read(uaddr, length)) if length else b""
            return answer, after, flags, bytes(mem.read(chosen, 16))[: len(source)]

    # ---- packets ----

    def _on_packet(self, group: Cgroup, sk: Sock, skb: Skb, attach_type: int) -> tuple[int, int]:
        """__cgroup_bpf_run_filter_skb(): programs see the packet from its network header on."""
        offset, owner = skb.data - skb.network_header(), skb.get("sk")
        control = skb.mem.read(skb.at("cb"), 48)
        skb.set("sk", sk.addr)
        skb.push(offset)
        skb.compute_data_pointers()
        egress = attach_type == uapi.BPF_CGROUP_INET_EGRESS
        try:
            answer, flags = run_cgroup(self.bpf, group, attach_type, lambda prog: prog.run(skb.addr), with_flags=egress)
        finally:
            skb.mem.write(skb.at("cb"), control)
            skb.pull(offset)
            skb.set("sk", owner)
        return (-EFAULT if answer and not is_err_value(answer) else answer), flags

    def ingress(self, sk: Sock, skb: Skb) -> int:
        group = self._group(sk, uapi.BPF_CGROUP_INET_INGRESS)
        return 0 if group is None else self._on_packet(group, sk, skb, uapi.BPF_CGROUP_INET_INGRESS)[0]

    def egress(self, sk: Sock, skb: Skb) -> int:
        group = self._group(sk, uapi.BPF_CGROUP_INET_EGRESS)
        if group is None:
            return NET_XMIT_SUCCESS
        answer, flags = self._on_packet(group, sk, skb, uapi.BPF_CGROUP_INET_EGRESS)
        if not answer:
            return NET_XMIT_CN if flags & 1 else NET_XMIT_SUCCESS
        return NET_XMIT_DROP if flags & 1 else answer

    # ---- options ----

    def sock_ops(self, sk: Sock, operation: int, *args: int, fullsock: bool = True) -> int:
        """__cgroup_bpf_run_filter_sock_ops()."""
        attach_type = uapi.BPF_CGROUP_SOCK_OPS
        group = self._group(sk, attach_type)
        if group is None:
            return -1
        if operation in CALLBACK_FLAGS and not self._wants(sk, CALLBACK_FLAGS[operation]):
            return -1
        with self.context("bpf_sock_ops_kern", sk=sk.addr, op=operation, is_fullsock=int(fullsock)) as ctx:
            for number, arg in enumerate(args):
                self.k.mem.write_uint(ctx.at("args") + 4 * number, 4, arg & 0xFFFFFFFF)
            answer = self.run(group, attach_type, ctx.addr)
            return -1 if answer else signed(ctx.get("reply"), 32)

    def wants_headers(self, sk: Sock, flag: int) -> bool:
        return self._group(sk, uapi.BPF_CGROUP_SOCK_OPS) is not None and self._wants(sk, flag)

    def header(self, sk: Sock, call: HeaderCall) -> int:
        group, packet = self._group(sk, uapi.BPF_CGROUP_SOCK_OPS), call.packet
        if group is None:
            return call.room
        of = call.request or sk
        full = int(call.request is None)
        with self.context("bpf_sock_ops_kern", sk=of.addr, op=call.operation, is_fullsock=full) as ctx:
            self.k.mem.write_uint(ctx.at("args"), 4, call.why)
            ctx.set("remaining_opt_len", call.room)
            ctx.set("syn_skb", call.syn.addr if call.syn is not None else 0)
            if packet is not None:
                ctx.set("skb", packet.addr)
                ctx.set("skb_data_end", packet.data + call.end)
            refused = self.run(group, uapi.BPF_CGROUP_SOCK_OPS, ctx.addr)
            return call.room if refused else ctx.get("remaining_opt_len")

    def _wants(self, sk: Sock, flag: int) -> bool:
        """bpf_sock_ops_cb_flags_set() has asked for it."""
        kernel = self.bpf.host.structs
        place = kernel.place("tcp_sock.bpf_sock_ops_cb_flags")
        return bool(self.k.mem.read_uint(sk.addr + place.offset, 1) & flag)

    def judge(self, sk: Sock, skb: Skb) -> Steps[None]:
        yield from self.judges.judge(sk, skb)

    def judge_bytes(self, sk: Sock, data: bytes) -> Steps[None]:
        yield from self.judges.judge_bytes(sk, data)

    def judge_sent(self, sk: Sock, data: bytes, flags: int) -> Steps[int]:
        return (yield from self.judges.judge_sent(sk, data, flags))

    def sock_closed(self, sk: Sock) -> None:
        for owner in self.bpf.mapped_socks.pop(sk.addr, ()):
            owner.owner_gone(sk.addr)

    def sk_lookup(
        self, net: Net, protocol: int, source: bytes, sport: int, destination: bytes, dport: int, iif: int
    ) -> Choice | None:
        return self.choosers.look_up(net, protocol, (source, sport, destination, dport), iif)

    def reuseport(self, sk: Sock, group: list[Sock], skb: Skb, number: int) -> Choice | None:
        return self.choosers.reuseport(sk, group, skb, number)

    def migrate(self, sk: Sock, group: list[Sock], moving: Sock, skb: Skb, number: int) -> Choice | None:
        return self.choosers.migrate(sk, group, moving, skb, number)

    def reuseport_program(self, fd: int) -> ReuseportProgram:
        return reuseport_program(self.bpf, fd)

    def congestion_controls(self) -> frozenset[str]:
        return frozenset(self.bpf.congestion_controls)

    def congestion(self, name: str) -> MapOps:
        found = self.bpf.congestion_controls.get(name)
        if found is None:
            raise KernelError(ENOENT, "no such congestion control")
        return MapOps(self.bpf, name, found)

    def sock_cloned(self, parent: Sock, child: Sock) -> None:
        for owner in list(self.bpf.maps.objects.values()):
            owner.owner_cloned(parent.addr, child.addr)

    def watches_options(self, sk: Sock) -> bool:
        return self._group(sk, uapi.BPF_CGROUP_SETSOCKOPT) is not None

    def watches_answers(self, sk: Sock) -> bool:
        return self._group(sk, uapi.BPF_CGROUP_GETSOCKOPT) is not None

    def setsockopt(self, sk: Sock, level: int, name: int, data: bytes) -> tuple[int, int, int, bytes]:
        """__cgroup_bpf_run_filter_setsockopt()."""
        attach_type = uapi.BPF_CGROUP_SETSOCKOPT
        group = self._group(sk, attach_type)
        if group is None:
            return 0, level, name, data
        room = min(max(MIN_OPTION, len(data)), PAGE_SIZE)
        with self._option(sk, level, name, data, len(data), room) as ctx:
            answer = self.run(group, attach_type, ctx.addr)
            length = signed(ctx.get("optlen"), 32)
            if answer:
                return answer, level, name, data
            if length == -1:
                return 1, level, name, data
            if length > room or length < -1:
                ignored = len(data) > PAGE_SIZE and length >= 0
                return (0 if ignored else -EFAULT), level, name, data
            if length:
                data = bytes(self.k.mem.read(ctx.get("optval"), length))
            return 0, signed(ctx.get("level"), 32), signed(ctx.get("optname"), 32), data

    def getsockopt(self, sk: Sock, level: int, name: int, room: int, answer: int, data: bytes) -> tuple[int, bytes]:
        """__cgroup_bpf_run_filter_getsockopt()."""
        attach_type = uapi.BPF_CGROUP_GETSOCKOPT
        group = self._group(sk, attach_type)
        if group is None:
            return answer, data
        size, given = min(room, PAGE_SIZE), room if answer else len(data)
        with self._option(sk, level, name, b"" if answer else data, given, size) as ctx:
            result = self._option_answer(group, ctx, answer)
            length = signed(ctx.get("optlen"), 32)
            if result < 0:
                return result, data
            if length > size or length < 0:
                return (answer, data) if given > PAGE_SIZE and length >= 0 else (-EFAULT, data)
            return result, bytes(self.k.mem.read(ctx.get("optval"), length)) if length else data

    def _option_answer(self, group: Cgroup, ctx: KernelStruct, answer: int) -> int:
        """What the programs make of the kernel's answer.  Before 5.18 it is in the context, and 0 is all they may make of it."""
        attach_type = uapi.BPF_CGROUP_GETSOCKOPT
        own = ctx.kernel.has("bpf_sockopt_kern.retval")
        if not own:
            ctx.set("current_task", self.k.current.addr)
            return run_cgroup(self.bpf, group, attach_type, lambda prog: prog.run(ctx.addr), answer)[0]
        ctx.set("retval", answer)
        refused, _ = run_cgroup(self.bpf, group, attach_type, lambda prog: prog.run(ctx.addr))
        made = signed(ctx.get("retval"), 32)
        return refused or (made if made in (0, answer) else -EFAULT)

    @contextmanager
    def _option(self, sk: Sock, level: int, name: int, data: bytes, length: int, room: int) -> Iterator[KernelStruct]:
        with self.bpf.scratch(max(room, 1)) as buffer:
            self.k.mem.write(buffer, data[:room].ljust(room, b"\0"))
            with self.context(
                "bpf_sockopt_kern", sk=sk.addr, optval=buffer, optval_end=buffer + room, level=level, optname=name,
                optlen=length,
            ) as ctx:  # fmt: skip
                yield ctx


class CgroupFs(_Base, FsPrograms):
    """Of the current task: devices and sysctls."""

    def device(self, kind: int, major: int, minor: int, access: int) -> int:
        """__cgroup_bpf_check_dev_permission()."""
        attach_type = uapi.BPF_CGROUP_DEVICE
        if attach_type not in self.groups.enabled:
            return 0
        words = (access << 16 | kind, major, minor)
        with self.bpf.scratch(12) as ctx:
            self.k.mem.write(ctx, b"".join(word.to_bytes(4, self.k.mem.byteorder) for word in words))
            return self.run(self.k.vfs.cgroups.of(self.k.current), attach_type, ctx)

    def sysctl(self, name: str, current: bytes, new: bytes | None, position: int) -> tuple[int, bytes | None, int]:
        """__cgroup_bpf_run_filter_sysctl(): the answer, the value to be written, and the position."""
        attach_type, mem = uapi.BPF_CGROUP_SYSCTL, self.k.mem
        if attach_type not in self.groups.enabled:
            return 0, new, position
        with (
            self.bpf.scratch(PAGE_SIZE) as cur_val, self.bpf.scratch(PAGE_SIZE) as new_val, self.bpf.scratch(8) as ppos,
        ):  # fmt: skip
            mem.write(cur_val, current[:PAGE_SIZE])
            mem.write(new_val, (new or b"")[:PAGE_SIZE])
            mem.write_uint(ppos, 8, position)
            with self.context(
                "bpf_sysctl_kern", cur_val=cur_val, cur_len=len(current), new_val=new_val if new else 0,
                new_len=min(len(new or b""), PAGE_SIZE), write=int(new is not None), ppos=ppos,
            ) as ctx:  # fmt: skip
                self.bpf.sysctl_names[ctx.addr] = name
                try:
                    answer = self.run(self.k.vfs.cgroups.of(self.k.current), attach_type, ctx.addr)
                finally:
                    del self.bpf.sysctl_names[ctx.addr]
                if not answer and ctx.get("new_updated"):
                    new = bytes(mem.read(new_val, ctx.get("new_len")))
                return answer, new, mem.read_uint(ppos, 8)


def _removed(bpf: Bpf, group: Cgroup) -> None:
    """A group's directory is removed."""
    group_gone(bpf, group)
    if group.addr:
        bpf.owner_gone(group.addr)


def _of_maker(k: WatchedKernel) -> Cgroup:
    """sk_cgrp_data of a sock that the current task makes."""
    group = k.vfs.cgroups.of(k.current)
    k.vfs.cgroups.publish(group)
    return group


def install(k: WatchedKernel, bpf: Bpf, devices: XdpPrograms) -> None:
    """At boot."""
    k.net.programs = CgroupNet(k, bpf, devices)
    k.net.sock_gone = bpf.owner_gone
    k.net.cgroup_of_maker = partial(_of_maker, k)
    k.vfs.programs = k.vfs.sysctl.programs = CgroupFs(k, bpf)
    groups = k.vfs.cgroups
    groups.removed.append(lambda group: _removed(bpf, group))

    def attach(group: Cgroup, task: Task, whole: bool, move: Callable[[], int]) -> int:
        if not bpf.host.any_watched(("cgroup_attach_task",)):
            return move()
        groups.publish(group)
        return bpf.host.around("cgroup_attach_task", (group.addr, task.addr, int(whole)), move)

    groups.attach = attach
