"""Groups of packet sockets, of which one gets each frame.  net/packet/af_packet.c: fanout_*().

By flow it is a hash of ours that says which.  Fragments are not put together first (PACKET_FANOUT_FLAG_DEFRAG).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from arch.abi.errno import EALREADY, EINVAL, ENOSPC
from arch.abi.limits import U16_MAX
from arch.abi.packet import (
    PACKET_FANOUT_CBPF,
    PACKET_FANOUT_CPU,
    PACKET_FANOUT_EBPF,
    PACKET_FANOUT_FLAG_IGNORE_OUTGOING,
    PACKET_FANOUT_FLAG_ROLLOVER,
    PACKET_FANOUT_FLAG_UNIQUEID,
    PACKET_FANOUT_HASH,
    PACKET_FANOUT_LB,
    PACKET_FANOUT_MAX,
    PACKET_FANOUT_QM,
    PACKET_FANOUT_RND,
    PACKET_FANOUT_ROLLOVER,
)
from arch.errors import KernelError
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.filter import attach_classic, not_locked
from simkernel.net.core.flow_dissector import dissect
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Filter
from simkernel.net.face import NetKernel
from simkernel.net.packet.fanout_group import ROLLOVER_HLEN, Fanout, Rollover
from simkernel.net.packet.ring import ROOM_LOW, ROOM_NONE, ROOM_NORMAL
from simkernel.net.packet.room import rcv_has_room
from simkernel.net.packet.sock import PacketSock

FANOUT_ARGS = 8  # struct fanout_args: id, type and flags, max_num_members
MEMBERS = 256  # at most, where nobody says
PROGRAMS = (PACKET_FANOUT_CBPF, PACKET_FANOUT_EBPF)
KINDS = (
    PACKET_FANOUT_HASH, PACKET_FANOUT_LB, PACKET_FANOUT_CPU, PACKET_FANOUT_ROLLOVER, PACKET_FANOUT_RND, PACKET_FANOUT_QM, *PROGRAMS,
)  # fmt: skip


def flow_hash(k: NetKernel, packet: Skb) -> int:
    """skb_get_hash(): of addresses and ports; the same both ways, and in every run."""
    keys = dissect(k, packet)
    half = len(keys.flow) // 2
    ends = sorted((keys.flow[:half], keys.flow[half:]))
    return zlib.crc32(b"".join(ends) + bytes((keys.protocol,)))


# -- which member ------------------------------------------------------------------------------------------------------


def _is_huge(k: NetKernel, po: PacketSock, packet: Skb) -> bool:
    """fanout_flow_is_huge(): most of what came lately was of this flow."""
    assert po.rollover is not None
    number, history = flow_hash(k, packet), po.rollover.history
    count = history.count(number)
    history[k.random.randrange(ROLLOVER_HLEN)] = number
    return count > ROLLOVER_HLEN >> 1


def _roll_over(k: NetKernel, group: Fanout, packet: Skb, index: int, try_self: bool) -> int:
    """fanout_demux_rollover(): the one that was chosen, or the next that has room."""
    po, count = _member(group, index), len(group.members)
    room, skip = ROOM_NONE, None
    if try_self:
        room, skip = rcv_has_room(po, packet), po
        if room == ROOM_NORMAL or (room == ROOM_LOW and not _is_huge(k, po, packet)):
            return index
    rollover = po.rollover
    assert rollover is not None
    first: int = min(rollover.sock, count - 1)
    for step in range(count):
        at = (first + step) % count
        other = _member(group, at)
        if other is not skip and not other.pressure and rcv_has_room(other, packet) == ROOM_NORMAL:
            rollover.sock = at
            rollover.num += 1
            rollover.huge += room == ROOM_LOW
            return at
    rollover.failed += 1
    return index


def _member(group: Fanout, index: int) -> PacketSock:
    member = group.members[index]
    assert isinstance(member, PacketSock)
    return member


def _in_turn(k: NetKernel, group: Fanout, packet: Skb) -> int:
    group.turn += 1
    return group.turn


def _program(k: NetKernel, group: Fanout, packet: Skb) -> int:
    return group.program(packet) if group.program is not None else 0


def _by_flow(k: NetKernel, group: Fanout, packet: Skb) -> int:
    return flow_hash(k, packet) * len(group.members) >> 32


CHOOSE: dict[int, Callable[[NetKernel, Fanout, Skb], int]] = {
    PACKET_FANOUT_HASH: _by_flow,
    PACKET_FANOUT_LB: _in_turn,
    PACKET_FANOUT_CPU: lambda k, group, packet: k.current.cpu,
    PACKET_FANOUT_RND: lambda k, group, packet: k.random.randrange(len(group.members)),
    PACKET_FANOUT_QM: lambda k, group, packet: packet.get("queue_mapping"),
    PACKET_FANOUT_ROLLOVER: lambda k, group, packet: _roll_over(k, group, packet, 0, False),
    **dict.fromkeys(PROGRAMS, _program),
}


@kernel_function(
    "int packet_rcv_fanout(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt, struct net_device *orig_dev)",
    source="net/packet/af_packet.c",
)
def packet_rcv_fanout(k: NetKernel, skb: int, dev: int, pt: int, orig_dev: int) -> Body:
    """A frame for one of a group."""
    packet, group = k.net.skbs[skb], k.net.fanouts[pt]
    assert isinstance(group, Fanout)
    index = CHOOSE[group.type](k, group, packet) % len(group.members)
    if group.flags & PACKET_FANOUT_FLAG_ROLLOVER >> 8:
        index = _roll_over(k, group, packet, index, True)
    member = group.members[index]
    return (yield k.call(member.hears, skb, dev, member.addr, orig_dev))


# -- who belongs to it -------------------------------------------------------------------------------------------------


def add(k: NetKernel, po: PacketSock, data: bytes) -> int:
    """PACKET_FANOUT, fanout_add().  EINVAL, EALREADY, ENOSPC: it has as many members as it may have."""
    order = k.mem.byteorder
    if len(data) not in (4, FANOUT_ARGS):
        return -EINVAL
    id_, kind, most = (int.from_bytes(data[at:to], order) for at, to in ((0, 2), (2, 4), (4, 8)))
    type_, flags = kind & 0xFF, kind >> 8
    if type_ not in KINDS or (type_ == PACKET_FANOUT_ROLLOVER and kind & PACKET_FANOUT_FLAG_ROLLOVER):
        return -EINVAL
    if po.group is not None:
        return -EALREADY
    if kind & PACKET_FANOUT_FLAG_UNIQUEID:
        if id_:
            return -EINVAL
        id_ = _new_id(k, po)
        flags &= ~(PACKET_FANOUT_FLAG_UNIQUEID >> 8)
    hook = (po.protocol, po.bound_ifindex)
    group = next((g for g in _groups(k) if g.id == id_ and g.net is po.net), None)
    if group is not None and (group.flags != flags or (most and most != group.most)):
        return -EINVAL
    if group is None and most > PACKET_FANOUT_MAX:
        return -EINVAL
    if not po.running or (group is not None and (group.type, group.hook) != (type_, hook)):
        return -EINVAL
    if group is None:
        group = Fanout(k.mem.alloc(k.arch.model.word), po.net, id_, type_, flags, most or MEMBERS, hook)
        group.ignores_outgoing = bool(kind & PACKET_FANOUT_FLAG_IGNORE_OUTGOING)
        k.net.fanouts[group.addr] = group
    if len(group.members) >= group.most:
        return -ENOSPC
    group.members.append(po)
    po.group = group
    if type_ == PACKET_FANOUT_ROLLOVER or kind & PACKET_FANOUT_FLAG_ROLLOVER:
        po.rollover = Rollover()
    return 0


def _groups(k: NetKernel) -> list[Fanout]:
    return [group for group in k.net.fanouts.values() if isinstance(group, Fanout)]


def _new_id(k: NetKernel, po: PacketSock) -> int:
    """fanout_find_new_id()."""
    used = {group.id for group in _groups(k) if group.net is po.net}
    while k.net.next_fanout in used:
        k.net.next_fanout = k.net.next_fanout + 1 & U16_MAX
    found = k.net.next_fanout
    k.net.next_fanout = found + 1 & U16_MAX
    return found


def described(po: PacketSock) -> int:
    """What PACKET_FANOUT tells."""
    group = po.group
    return group.id | group.type << 16 | group.flags << 24 if group is not None else 0


def set_data(k: NetKernel, po: PacketSock, data: bytes) -> int:
    """PACKET_FANOUT_DATA: the program that chooses.  EINVAL, EPERM, EBADF."""
    group = po.group
    if group is None or group.type not in PROGRAMS:
        return -EINVAL
    if group.type == PACKET_FANOUT_CBPF:
        new: Filter = attach_classic(k, po, data)
    else:
        not_locked(po)
        if len(data) != 4 or k.net.attach_filter is None:
            raise KernelError(EINVAL)
        new = k.net.attach_filter(int.from_bytes(data, k.mem.byteorder))
    if group.program is not None:
        group.program.release()
    group.program = new
    return 0


def release(k: NetKernel, po: PacketSock) -> None:
    """fanout_release(): the last member takes its place."""
    group = po.group
    if group is None:
        return
    at = group.members.index(po)
    group.members[at] = group.members[-1]
    group.members.pop()
    po.group = None
    if not group.members:
        del k.net.fanouts[group.addr]
        k.mem.free(group.addr)
        if group.program is not None:
            group.program.release()
