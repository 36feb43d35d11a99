"""Options in TCP headers: room for them, writing and finding them.  net/core/filter.c of Linux 6.1.

A program writes into the header of the segment that is built now, and finds what is in that, in the one that came, or in
the SYN that a connection began with.
"""

from __future__ import annotations

from arch.abi.errno import EEXIST, EFAULT, EINVAL, ENOENT, ENOMSG, ENOSPC, EPERM
from arch.abi.inet import TCP_HEADER_SIZE, TCPOPT_EOL, TCPOPT_NOP
from arch.abi.limits import U32_MAX
from arch.abi.socket import SOL_TCP
from bpf.helpers import Runtime, prototype
from bpf.packet.skbuff import SkBuff, Sock

HDR_OPT_LEN_CB, WRITE_HDR_OPT_CB = 14, 15  # BPF_SOCK_OPS_*
BPF_LOAD_HDR_OPT_TCP_SYN = 1
TCP_BPF_IW, TCP_BPF_SNDCWND_CLAMP, TCP_BPF_DELACK_MAX, TCP_BPF_RTO_MIN = range(1001, 1005)
TCP_BPF_SYN, TCP_BPF_SYN_IP, TCP_BPF_SYN_MAC = SYN_OPTIONS = (1005, 1006, 1007)
EXPERIMENTAL = (253, 254)


def _field(rt: Runtime, ctx: int, name: str) -> int:
    return Sock(rt.host, ctx).read(ctx, f"bpf_sock_ops_kern.{name}")


def _set(rt: Runtime, ctx: int, name: str, value: int) -> None:
    Sock(rt.host, ctx).write(ctx, f"bpf_sock_ops_kern.{name}", value)


def syn_headers(rt: Runtime, ctx: int, name: int) -> bytes | int:
    """bpf_sock_ops_get_syn(): of the SYN that is answered now, or of the saved one.  ENOENT."""
    syn = _field(rt, ctx, "syn_skb")
    if not syn:
        sockets = rt.host.sockets
        return sockets.getsockopt(_field(rt, ctx, "sk"), SOL_TCP, name) if sockets is not None else -ENOENT
    skb = SkBuff(rt.host, syn)
    head = skb.get("head")
    tcp = head + skb.get("transport_header")  # what came with the SYN may have been taken from behind it
    end = tcp + (rt.mem.read_uint(tcp + 12, 1) >> 4) * 4
    layer = {TCP_BPF_SYN_IP: "network_header", TCP_BPF_SYN_MAC: "mac_header"}.get(name)
    start = tcp if layer is None else head + skb.get(layer)
    return bytes(rt.mem.read(start, end - start))


def _search(options: bytes, kind: int, magic: bytes) -> tuple[int, bool] | int:
    """bpf_search_tcp_opt(): where an option begins, -1 without; were they ended?  EFAULT: they are broken."""
    at = 0
    while at < len(options):
        if options[at] == TCPOPT_EOL:
            return -1, True
        if options[at] == TCPOPT_NOP:
            at += 1
            continue
        left = len(options) - at
        if left < 2 or not 2 <= options[at + 1] <= left:
            return -EFAULT
        size = options[at + 1]
        if options[at] == kind:
            if len(magic) > size - 2:
                return -1, False
            if options[at + 2 : at + 2 + len(magic)] == magic:
                return at, False
        at += size
    return -1, False


def _of_segment(rt: Runtime, ctx: int) -> bytes:
    """The options of the segment at hand, as far as a program may see them."""
    start = SkBuff(rt.host, _field(rt, ctx, "skb")).get("data") + TCP_HEADER_SIZE
    return bytes(rt.mem.read(start, max(_field(rt, ctx, "skb_data_end") - start, 0)))


@prototype(
    "load_hdr_opt",
    142,
    "5.10",
    args="PTR_TO_CTX PTR_TO_MEM|MEM_WRITE CONST_SIZE ANYTHING",
    func="bpf_sock_ops_load_hdr_opt",
    proto="bpf_sock_ops_load_hdr_opt_proto",
    given="sock_ops",
)
def load_hdr_opt(rt: Runtime, ctx: int, wanted: int, size: int, flags: int) -> int:
    """Find an option by its kind, an experimental one by its magic number, too.  EINVAL, EPERM, ENOENT, ENOMSG, EFAULT, ENOSPC."""
    size &= U32_MAX
    if size < 2 or flags & ~BPF_LOAD_HDR_OPT_TCP_SYN:
        return -EINVAL
    search = bytes(rt.mem.read(wanted, size))
    kind, length = search[:2]
    if length > size or kind in (TCPOPT_NOP, TCPOPT_EOL):
        return -EINVAL
    if length not in ((4, 6) if kind in EXPERIMENTAL else (0,)):
        return -EINVAL
    if flags:
        syn = syn_headers(rt, ctx, TCP_BPF_SYN)
        if isinstance(syn, int):
            return syn
        options = syn[TCP_HEADER_SIZE:]
    elif not _field(rt, ctx, "skb") or _field(rt, ctx, "op") == HDR_OPT_LEN_CB:
        return -EPERM
    else:
        options = _of_segment(rt, ctx)
    found = _search(options, kind, search[2:length])
    if isinstance(found, int):
        return found
    at, _ = found
    if at < 0:
        return -ENOMSG
    option = options[at : at + options[at + 1]]
    rt.mem.write(wanted, option[:size])
    return len(option) if len(option) <= size else -ENOSPC


@prototype(
    "store_hdr_opt",
    143,
    "5.10",
    args="PTR_TO_CTX PTR_TO_MEM|MEM_RDONLY CONST_SIZE ANYTHING",
    flags="changes_pkt_data",
    func="bpf_sock_ops_store_hdr_opt",
    proto="bpf_sock_ops_store_hdr_opt_proto",
    given="sock_ops",
)
def store_hdr_opt(rt: Runtime, ctx: int, option: int, size: int, flags: int) -> int:
    """Write one, which must not be there yet.  EPERM, EINVAL, ENOSPC, EEXIST, EFAULT."""
    if _field(rt, ctx, "op") != WRITE_HDR_OPT_CB:
        return -EPERM
    size &= U32_MAX
    if size < 2 or flags:
        return -EINVAL
    new = bytes(rt.mem.read(option, size))
    kind, length = new[:2]
    left = _field(rt, ctx, "remaining_opt_len")
    if length > size or kind in (TCPOPT_NOP, TCPOPT_EOL):
        return -EINVAL
    if length > left:
        return -ENOSPC
    if kind in EXPERIMENTAL and length < 4:
        return -EINVAL
    found = _search(_of_segment(rt, ctx), kind, new[2:4] if kind in EXPERIMENTAL else b"")
    if isinstance(found, int):
        return found
    at, ended = found
    if at >= 0:
        return -EEXIST
    if ended:
        return -ENOSPC
    end = _field(rt, ctx, "skb_data_end")
    rt.mem.write(end, new[:length])
    _set(rt, ctx, "remaining_opt_len", left - length)
    _set(rt, ctx, "skb_data_end", end + length)
    return 0


@prototype(
    "reserve_hdr_opt",
    144,
    "5.10",
    args="PTR_TO_CTX ANYTHING ANYTHING",
    func="bpf_sock_ops_reserve_hdr_opt",
    proto="bpf_sock_ops_reserve_hdr_opt_proto",
    given="sock_ops",
)
def reserve_hdr_opt(rt: Runtime, ctx: int, size: int, flags: int) -> int:
    """Room for options in the segment that is built now.  EPERM, EINVAL, ENOSPC."""
    if _field(rt, ctx, "op") != HDR_OPT_LEN_CB:
        return -EPERM
    size &= U32_MAX
    if flags or size < 2:
        return -EINVAL
    left = _field(rt, ctx, "remaining_opt_len")
    if size > left:
        return -ENOSPC
    _set(rt, ctx, "remaining_opt_len", left - size)
    return 0
