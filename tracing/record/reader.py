"""Kernel memory as the inline functions of the kernel's headers see it: what TP_fast_assign may call.

Each method is named like the kernel function or macro whose answer it gives, and reads simulated kernel memory through
the machine's own C types.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from arch.abi.inet import IPPROTO_UDP
from arch.abi.internal import REQ_FUA, REQ_META, REQ_PREFLUSH, REQ_RAHEAD, REQ_SYNC, VMEMMAP_BASE
from arch.abi.limits import S32_MAX, U64_MAX
from arch.abi.socket import AF_INET, AF_INET6
from arch.architecture import Row
from arch.errors import Fault
from arch.memory import Memory
from arch.records import dataclass
from tracing.face import TraceHost
from tracing.text.addresses import hash_pointer

# include/linux/sched.h: which states are shown, how an idle task is shown and one that was preempted
TASK_REPORT, TASK_IDLE, TASK_REPORT_IDLE, TASK_REPORT_MAX = 0x7F, 0x402, 0x80, 0x100
# Members that Linux spells as macros.  include/net/sock.h, include/net/inet_sock.h
MACRO_MEMBERS = {
    "sk_family": "__sk_common.skc_family",
    "sk_state": "__sk_common.skc_state",
    "sk_num": "__sk_common.skc_num",
    "sk_dport": "__sk_common.skc_dport",
    "sk_daddr": "__sk_common.skc_daddr",
    "sk_rcv_saddr": "__sk_common.skc_rcv_saddr",
    "sk_v6_daddr": "__sk_common.skc_v6_daddr",
    "sk_v6_rcv_saddr": "__sk_common.skc_v6_rcv_saddr",
    "sk_cookie": "__sk_common.skc_cookie",
    "inet_num": "sk.__sk_common.skc_num",
    "inet_dport": "sk.__sk_common.skc_dport",
    "inet_daddr": "sk.__sk_common.skc_daddr",
    "inet_rcv_saddr": "sk.__sk_common.skc_rcv_saddr",
}


@dataclass(frozen=True)
class Place:
    """Some bytes of a structure, and which bits of them count."""

    offset: int
    size: int
    mask: int = U64_MAX


DEVICE_MAPS = (14, 25)  # BPF_MAP_TYPE_DEVMAP, BPF_MAP_TYPE_DEVMAP_HASH


def read_string(mem: Memory, address: int, limit: int) -> bytes:
    """Kernel memory up to a NUL, to what cannot be read, or so many bytes."""
    data = bytearray()
    while len(data) < limit:
        try:
            chunk = mem.read(address + len(data), min(32, limit - len(data)))
        except Fault:
            try:
                chunk = mem.read(address + len(data), 1)
            except Fault:
                break
        end = chunk.find(b"\0")
        if end >= 0:
            return bytes(data + chunk[:end])
        data += chunk
    return bytes(data)


class Reader:
    """Kernel memory as the inline functions of the kernel's headers see it.

    Methods named like a kernel function are what the declarations of tracing/events/ may call.
    """

    def __init__(self, host: TraceHost) -> None:
        self.host = host
        self.mem = host.mem
        self.types = host.types
        self.word = host.arch.model.word
        self._getters: dict[tuple[str, str], Callable[[Memory, int], int]] = {}

    @cached_property
    def arguments(self) -> list[Row]:
        """Of a system call, in struct pt_regs."""
        fields = self.host.arch.pt_regs_for(self.host.version).fields
        return [fields[name] for name in self.host.arch.syscall_args[:6]]

    @cached_property
    def number(self) -> tuple[Row, int]:
        """Its number, and which bits of it count."""
        arch = self.host.arch
        return arch.pt_regs_for(self.host.version).fields[arch.syscall_number], (
            1 << arch.syscall_abis[0].number_bits
        ) - 1

    def cstr(self, pointer: int, limit: int = 512) -> bytes:
        """A kernel string without its NUL; "(null)" as __assign_str() has it."""
        if not pointer:
            return b"(null)"
        return read_string(self.mem, pointer, limit)

    def fixed(self, value: int | bytes, size: int) -> bytes:
        """A char array from bytes or a kernel string, with its NUL."""
        return bytes(value if isinstance(value, (bytes, bytearray)) else self.cstr(value))[: size - 1]

    def string(self, value: int | bytes | str) -> bytes:
        """A dynamic string from bytes, text or a kernel string, with its NUL."""
        if isinstance(value, str):
            value = value.encode("latin-1")
        data = bytes(value) if isinstance(value, (bytes, bytearray)) else self.cstr(value)
        return data.split(b"\0", 1)[0] + b"\0"

    def member(self, struct: str, path: str, addr: int) -> int:
        """A member by its path in a struct at a kernel address."""
        getter = self._getters.get((struct, path))
        if getter is None:
            getter = self._getters[struct, path] = self.types.getter(struct, path)
        return getter(self.mem, addr)

    def place(self, name: str) -> Place | None:
        """Where the answer of a method that only reads lies, from its argument on; None: it does more."""
        if name == "syscall_nr":
            row, mask = self.number
            return Place(row.offset, row.size, mask)
        if name == "instruction_pointer":
            row = self.host.arch.pt_regs_for(self.host.version).fields[self.host.arch.instruction_pointer]
            return Place(row.offset, row.size)
        if name == "task_cpu":
            for path in ("thread_info.cpu", "cpu", "wake_cpu"):
                if self.types.has_member("struct task_struct", path):
                    member = self.types.resolve("struct task_struct", path)
                    return Place(member.offset, member.type.size)
        return None

    # include/linux/*.h, by name

    def task_cpu(self, p: int) -> int:
        """The CPU of a task; the member moved with the versions."""
        for path in ("thread_info.cpu", "cpu", "wake_cpu"):
            if self.types.has_member("struct task_struct", path):
                return int(self.member("struct task_struct", path, p))
        return self.host.cpu_id()

    def pid_nr(self, pid: int) -> int:
        """The number of a struct pid in the first namespace."""
        if not pid:
            return 0
        offset = self.types.offsetof("struct pid", "numbers")
        return self.mem.read_uint(pid + offset, 4)

    def ntohs(self, value: int) -> int:
        """Value as loaded by this CPU of a big-endian 16-bit field."""
        value &= 0xFFFF
        return value if self.mem.byteorder == "big" else (value >> 8 | (value & 0xFF) << 8)

    def min(self, a: int, b: int) -> int:
        """min()."""
        return a if a < b else b

    def max(self, a: int, b: int) -> int:
        """max()."""
        return a if a > b else b

    def atomic_read(self, value: int) -> int:
        """An atomic_t's member was read already."""
        return value

    READ_ONCE = atomic_read

    # include/trace/events/sched.h

    def sched_switch_state(self, preempt: int, prev_state: int, prev: int) -> int:
        """__trace_sched_switch_state() of 4.14 and later."""
        if preempt:
            return TASK_REPORT_MAX
        state = (prev_state | int(self.member("struct task_struct", "exit_state", prev))) & TASK_REPORT
        if prev_state & TASK_IDLE == TASK_IDLE:
            state = TASK_REPORT_IDLE
        return 1 << (state.bit_length() - 1) if state else 0

    def sched_switch_state_4_1(self, preempt: int, prev_state: int, prev: int) -> int:
        """Before 4.14 the raw state, with TASK_STATE_MAX (1024) set for a preempted task."""
        return 1024 if preempt else prev_state

    # include/trace/events/signal.h

    def siginfo_errno(self, info: int) -> int:
        """si_errno, 0 for the three special pointers."""
        return 0 if info in (0, 1, 2) else int(self.member("struct kernel_siginfo", "si_errno", info))

    def siginfo_code(self, info: int) -> int:
        """SEND_SIG_NOINFO (0) is SI_USER, SEND_SIG_PRIV (1) and SEND_SIG_FORCED (2) are SI_KERNEL."""
        if info in (0, 1, 2):
            return 0 if info == 0 else 0x80
        return int(self.member("struct kernel_siginfo", "si_code", info))

    # arch/*/include/asm/syscall.h

    def syscall_args(self, regs: int) -> tuple[int, ...]:
        """syscall_get_arguments()."""
        read = self.mem.read_uint
        return tuple([read(regs + row.offset, row.size) for row in self.arguments])

    def syscall_nr(self, regs: int) -> int:
        """syscall_get_nr()."""
        row, mask = self.number
        return self.mem.read_uint(regs + row.offset, row.size) & mask

    def instruction_pointer(self, regs: int) -> int:
        """instruction_pointer()."""
        layout = self.host.arch.pt_regs_for(self.host.version)
        value: int = layout.get(self.mem, regs, self.host.arch.instruction_pointer)
        return value

    # include/linux/blkdev.h, blktrace_api.h

    def disk_devt(self, disk: int) -> int:
        """disk_devt(): dev_t of a struct gendisk."""
        major, minor = (self.member("struct gendisk", name, disk) for name in ("major", "first_minor"))
        return int(major) << 20 | int(minor)

    def rq_dev(self, rq: int) -> int:
        """The dev_t of a request: rq->q->disk since 5.17, rq->rq_disk before."""
        if self.types.has_member("struct request_queue", "disk"):
            queue = self.member("struct request", "q", rq)
            disk = self.member("struct request_queue", "disk", queue) if queue else 0
        else:
            disk = self.member("struct request", "rq_disk", rq)
        return self.disk_devt(disk) if disk else 0

    def bio_dev(self, bio: int) -> int:
        """bio_dev(): dev_t; through bi_disk before 5.12."""
        if self.types.has_member("struct bio", "bi_bdev"):
            bdev = self.member("struct bio", "bi_bdev", bio)
            return int(self.member("struct block_device", "bd_dev", bdev)) if bdev else 0
        return self.disk_devt(self.member("struct bio", "bi_disk", bio))

    def bio_sectors(self, bio: int) -> int:
        """bio_sectors(): of 512 bytes."""
        return int(self.member("struct bio", "bi_iter.bi_size", bio)) >> 9

    def blk_rq_pos(self, rq: int) -> int:
        """blk_rq_pos(): the first sector."""
        return int(self.member("struct request", "__sector", rq))

    def blk_rq_bytes(self, rq: int) -> int:
        """blk_rq_bytes()."""
        return int(self.member("struct request", "__data_len", rq))

    def blk_rq_sectors(self, rq: int) -> int:
        """blk_rq_sectors(): of 512 bytes."""
        return self.blk_rq_bytes(rq) >> 9

    def blk_rq_trace_sector(self, rq: int) -> int:
        """0 for a pass-through request or one without a position."""
        sector = self.blk_rq_pos(rq)
        return 0 if sector == 0xFFFFFFFFFFFFFFFF else sector

    blk_rq_trace_nr_sectors = blk_rq_sectors

    def blk_status_to_errno(self, status: int) -> int:
        """BLK_STS_* to -errno; block/blk-core.c:blk_errors[]."""
        return BLK_ERRNO.get(status & 0xFF, -5)

    def req_get_ioprio(self, rq: int) -> int:
        """req_get_ioprio(): of the request's bio."""
        bio = int(self.member("struct request", "bio", rq))
        return int(self.member("struct bio", "bi_ioprio", bio)) if bio else 0

    def blk_fill_rwbs(self, opf: int) -> bytes:
        """kernel/trace/blktrace.c:blk_fill_rwbs(), the encoding of 4.8 and later."""
        text = "F" if opf & REQ_PREFLUSH else ""
        text += {0: "R", 1: "W", 2: "F", 3: "D", 5: "DE"}.get(opf & 0xFF, "N")
        for bit, letter in ((REQ_FUA, "F"), (REQ_RAHEAD, "A"), (REQ_SYNC, "S"), (REQ_META, "M")):
            text += letter if opf & bit else ""
        return text.encode("utf-8", "surrogateescape")

    # mm/

    def get_mm_counter(self, mm: int, member: int) -> int:
        """Pages of a kind: 0 those of files, 1 anonymous, 2 swapped, 3 shared memory."""
        return self.host.mm_counter(mm, member)

    # net/

    def _sock(self, path: str, sk: int) -> int:
        return int(self.member("struct inet_sock", path, sk))

    def smp_processor_id(self) -> int:
        """The CPU that this happens on."""
        return self.host.cpu_id()

    def xdp_to_ifindex(self, target: int, kind: int, map_id: int, index: int) -> int:
        """The device that a frame is redirected to, by a map of such or without one (map_id is INT_MAX); else 0."""
        if kind in DEVICE_MAPS and target:
            device = self.mem.read_uint(target, self.word)
            return self.mem.read_uint(device + self.types.offsetof("struct net_device", "ifindex"), 4)
        return index if not kind and map_id == S32_MAX else 0

    def xdp_map_index(self, kind: int, map_id: int, index: int) -> int:
        """The place in a map that a frame is redirected by."""
        return 0 if not kind and map_id == S32_MAX else index

    def inet_sport(self, sk: int) -> int:
        """The source port, in host order."""
        return self.ntohs(self._sock("inet_sport", sk))

    def inet_dport(self, sk: int) -> int:
        """The destination port, in host order."""
        return self.ntohs(self.mem.read_uint(sk + self.types.offsetof("struct sock", MACRO_MEMBERS["sk_dport"]), 2))

    def inet_saddr(self, sk: int) -> bytes:
        """Four bytes, in network order."""
        return self.mem.read(sk + self.types.offsetof("struct inet_sock", "inet_saddr"), 4)

    def inet_daddr(self, sk: int) -> bytes:
        """Four bytes, in network order."""
        return self.mem.read(sk + self.types.offsetof("struct sock", MACRO_MEMBERS["sk_daddr"]), 4)

    def _address6(self, sk: int, path: str, v4: bytes) -> bytes:
        """IPv6 address of an AF_INET6 socket, else the IPv4 one mapped (::ffff:a.b.c.d)."""
        if self.member("struct sock", MACRO_MEMBERS["sk_family"], sk) == 10:
            return self.mem.read(sk + self.types.offsetof("struct sock", MACRO_MEMBERS[path]), 16)
        return bytes(10) + b"\xff\xff" + v4

    def inet_saddr_v6(self, sk: int) -> bytes:
        """TP_STORE_ADDRS(): 16 bytes, an IPv4 address mapped."""
        return self._address6(sk, "sk_v6_rcv_saddr", self.inet_saddr(sk))

    def inet_daddr_v6(self, sk: int) -> bytes:
        """TP_STORE_ADDRS(): 16 bytes, an IPv4 address mapped."""
        return self._address6(sk, "sk_v6_daddr", self.inet_daddr(sk))

    def _neighbour(self, n: int, path: str) -> int:
        return self.member("struct neighbour", path, n)

    def neigh_lladdr(self, n: int) -> bytes:
        """n->ha, as long as the device's addresses are."""
        return self.neigh_told(n, n + self.types.offsetof("struct neighbour", "ha"))

    def neigh_told(self, n: int, lladdr: int) -> bytes:
        """MAX_ADDR_LEN bytes: an address, zeros where there is none."""
        size = self.member("struct net_device", "addr_len", self._neighbour(n, "dev"))
        return (self.mem.read(lladdr, size) if lladdr else b"").ljust(32, b"\0")

    def neigh_key4(self, n: int) -> bytes:
        """n->primary_key of IPv4."""
        return self.neigh_asked4(self._neighbour(n, "tbl"), n + self.types.offsetof("struct neighbour", "primary_key"))

    def neigh_key6(self, n: int) -> bytes:
        """n->primary_key, that of IPv4 mapped."""
        tbl, key = self._neighbour(n, "tbl"), n + self.types.offsetof("struct neighbour", "primary_key")
        short = self.member("struct neigh_table", "key_len", tbl) == 4
        return bytes(10) + b"\xff\xff" + self.mem.read(key, 4) if short else self.mem.read(key, 16)

    def neigh_asked4(self, tbl: int, pkey: int) -> bytes:
        """An address of a table's family, if that is IPv4."""
        short = self.member("struct neigh_table", "key_len", tbl) == 4
        return self.mem.read(pkey, 4) if short else bytes(4)

    def neigh_asked6(self, tbl: int, pkey: int) -> bytes:
        """The same of IPv6."""
        short = self.member("struct neigh_table", "key_len", tbl) == 4
        return bytes(16) if short else self.mem.read(pkey, 16)

    def sockaddr_src(self, sk: int) -> bytes:
        """TP_STORE_ADDR_PORTS(): struct sockaddr_in or _in6."""
        return self._sockaddr(sk, self._sock("inet_sport", sk), self.inet_saddr(sk), self.inet_saddr_v6(sk))

    def sockaddr_dst(self, sk: int) -> bytes:
        """TP_STORE_ADDR_PORTS(): struct sockaddr_in or _in6."""
        port = self.mem.read_uint(sk + self.types.offsetof("struct sock", MACRO_MEMBERS["sk_dport"]), 2)
        return self._sockaddr(sk, port, self.inet_daddr(sk), self.inet_daddr_v6(sk))

    def _transport(self, skb: int, at: int, size: int) -> bytes:
        head = int(self.member("struct sk_buff", "head", skb))
        return bytes(self.mem.read(head + int(self.member("struct sk_buff", "transport_header", skb)) + at, size))

    def skb_sockaddr(self, skb: int, is_source: int) -> bytes:
        """TP_STORE_ADDR_PORTS_SKB(): struct sockaddr_in or _in6 of where a packet comes from or goes to; zeros without a packet."""
        if not skb:
            return bytes(28)
        port = self._transport(skb, 0 if is_source else 2, 2)
        if self._network(skb, 0, 1)[0] >> 4 == 4:
            address, family = self._network(skb, 12 if is_source else 16, 4), AF_INET
        else:
            address, family = bytes(4) + self._network(skb, 8 if is_source else 24, 16), AF_INET6
        return (family.to_bytes(2, self.mem.byteorder) + port + address).ljust(28, b"\0")

    def reset_sockaddr(self, sk: int, skb: int, is_source: int) -> bytes:
        """Who resets whom: as the socket has them, else the other way round as the packet that is refused has them."""
        if sk:
            return self.sockaddr_src(sk) if is_source else self.sockaddr_dst(sk)
        return self.skb_sockaddr(skb, not is_source)

    def skb_port(self, skb: int, is_source: int) -> int:
        """A port of a packet's header, in host order."""
        return int.from_bytes(self._transport(skb, 0 if is_source else 2, 2), "big")

    def _sockaddr(self, sk: int, port: int, v4: bytes, v6: bytes) -> bytes:
        family = int(self.member("struct sock", MACRO_MEMBERS["sk_family"], sk))
        order = self.mem.byteorder
        head = family.to_bytes(2, order) + port.to_bytes(2, order)
        return head + v4 if family == 2 else head + bytes(4) + v6

    def sock_gen_cookie(self, sk: int) -> int:
        """sock_gen_cookie(); 0 before 4.12."""
        path = MACRO_MEMBERS["sk_cookie"]
        if self.types.has_member("struct sock", path):
            at = sk + self.types.offsetof("struct sock", path)
            if not self.mem.read_uint(at, 8):
                self.mem.write_uint(at, 8, self.host.sock_cookie(sk))
            return self.mem.read_uint(at, 8)
        return 0

    def skb_shinfo(self, skb: int) -> int:
        """skb_shinfo(): the struct skb_shared_info behind the data."""
        head = int(self.member("struct sk_buff", "head", skb))
        return head + int(self.member("struct sk_buff", "end", skb))

    def skb_transport_header_was_set(self, skb: int) -> int:
        """1 or 0."""
        return int(self.member("struct sk_buff", "transport_header", skb) != 0xFFFF)

    def skb_mac_header_was_set(self, skb: int) -> int:
        """1 or 0."""
        return int(self.member("struct sk_buff", "mac_header", skb) != 0xFFFF)

    def _skb_offset(self, skb: int, header: str) -> int:
        head, data = (int(self.member("struct sk_buff", name, skb)) for name in ("head", "data"))
        return head + int(self.member("struct sk_buff", header, skb)) - data

    def skb_network_offset(self, skb: int) -> int:
        """Bytes from skb->data, negative when pulled."""
        return self._skb_offset(skb, "network_header")

    def skb_transport_offset(self, skb: int) -> int:
        """Bytes from skb->data; 0 where the header was not set."""
        return self._skb_offset(skb, "transport_header") if self.skb_transport_header_was_set(skb) else 0

    def skb_mac_offset(self, skb: int) -> int:
        """Bytes from skb->data."""
        return self._skb_offset(skb, "mac_header")

    def _network(self, skb: int, at: int, size: int) -> bytes:
        head = int(self.member("struct sk_buff", "head", skb))
        return bytes(self.mem.read(head + int(self.member("struct sk_buff", "network_header", skb)) + at, size))

    def ip_saddr(self, skb: int) -> bytes:
        """ip_hdr(skb)->saddr."""
        return self._network(skb, 12, 4)

    def ip_daddr(self, skb: int) -> bytes:
        """ip_hdr(skb)->daddr."""
        return self._network(skb, 16, 4)

    def udp_field(self, skb: int, at: int) -> int:
        """A member of the UDP header behind the IP header, 0 in a packet of another protocol."""
        first, protocol = self._network(skb, 0, 1)[0], self._network(skb, 9, 1)[0]
        return int.from_bytes(self._network(skb, (first & 15) * 4 + at, 2), "big") if protocol == IPPROTO_UDP else 0

    def tcp_data_len(self, skb: int) -> int:
        """skb->len - __tcp_hdrlen(th)."""
        data = int(self.member("struct sk_buff", "data", skb))
        return int(self.member("struct sk_buff", "len", skb)) - (self.mem.read(data + 12, 1)[0] >> 4) * 4

    # mm/

    def page_to_pfn(self, page: int) -> int:
        """The number of the page that a struct page stands for."""
        base, size = VMEMMAP_BASE, self.types.sizeof("struct page")
        return int((page - base) // size) & 0xFFFFFFFFFFFFFFFF

    def bdi_dev_name(self, inode: int) -> bytes:
        """bdi_dev_name(inode_to_bdi(inode)): memory has none."""
        dev = int(self.member("struct super_block", "s_dev", int(self.member("struct inode", "i_sb", inode))))
        return f"{dev >> 20}:{dev & 0xFFFFF}".encode() if dev >> 20 else b"(unknown)"

    def folio_ino(self, folio: int) -> int:
        """folio->mapping->host->i_ino."""
        return self.host.file_page()[0]

    def folio_index(self, folio: int) -> int:
        """folio->index."""
        return self.host.file_page()[1]

    def folio_dev(self, folio: int) -> int:
        """folio->mapping->host->i_sb->s_dev."""
        return self.host.file_page()[2]

    def folio_lru_list(self, folio: int) -> int:
        """Which list a page goes to."""
        return self.host.lru_page()[0]

    def trace_pagemap_flags(self, folio: int) -> int:
        """PAGEMAP_* of the page that goes to a list.  include/trace/events/pagemap.h"""
        return self.host.lru_page()[1]

    def mm_ptr_to_hash(self, mm: int) -> int:
        """The digits that %p has for it."""
        return hash_pointer(mm)

    # kernel/printk

    def console_text(self, text: int, length: int) -> bytes:
        """The text of a console line without its newline."""
        data = self.mem.read(text, length) if length else b""
        return data[:-1] if data.endswith(b"\n") else data

    @property
    def jiffies(self) -> int:
        """HZ is 250; jiffies start five minutes before they wrap (INITIAL_JIFFIES)."""
        mask: int = (1 << 8 * self.word) - 1
        return (self.host.now_ns() // 4_000_000 + 0xFFFEDB08) & mask


BLK_ERRNO = {0: 0, 1: -95, 2: -110, 3: -28, 4: -67, 5: -121, 6: -52, 7: -61, 8: -84, 9: -12, 10: -5, 12: -11, 13: -16}
