"""Rings of blocks, TPACKET_V3: frames of any size one after the other; a block is handed over when it is full or its time is over.

net/packet/af_packet.c: prb_*().
"""

from __future__ import annotations

from arch.abi.packet import TP_STATUS_BLK_TMO, TP_STATUS_KERNEL, TP_STATUS_LOSING, TP_STATUS_USER
from arch.abi.time import NSEC_PER_SEC
from simkernel.net.face import NetKernel
from simkernel.net.packet.ring import ROOM_LOW, ROOM_NONE, ROOM_NORMAL, ROOM_POW_OFF, Pages, Request

# struct tpacket_block_desc: version, offset_to_priv, then struct tpacket_hdr_v1
OFFSET_TO_PRIV, STATUS, NUM_PKTS, FIRST_PKT, BLK_LEN, SEQ_NUM, TS_FIRST, TS_LAST, DESC = (
    4,
    8,
    12,
    16,
    20,
    24,
    32,
    40,
    48,
)
NEXT_OFFSET, SEC = 0, 4  # of struct tpacket3_hdr
RETIRE_MS = 8  # DEFAULT_PRB_RETIRE_TOV: what a block waits for if nobody says, by a device that tells no speed
BLOCK_VERSION = 2  # of TPACKET_V3
V3_ALIGNMENT = 8
TP_FT_REQ_FILL_RXHASH = 1


def aligned(length: int) -> int:
    """TOTAL_PKT_LEN_INCL_ALIGN()."""
    return -(-length // V3_ALIGNMENT) * V3_ALIGNMENT


class Blocks(Pages):
    """struct tpacket_kbdq_core: the open block is `active`."""

    def __init__(self, k: NetKernel, asked: Request) -> None:
        """init_prb_bdqc()."""
        super().__init__(k, asked)
        self.first = DESC + aligned(asked.private)  # where a block's frames begin
        self.max_frame = asked.block_size - self.first
        self.retire_ns = (asked.retire_ms or RETIRE_MS) * NSEC_PER_SEC // 1000
        self.wants_hash = bool(asked.features & TP_FT_REQ_FILL_RXHASH)
        self.number = 1  # of the next block that is opened
        self.active = self.watched = 0  # watched: which one was active when the timer was set
        self.next = self.last = 0
        self.frozen = False
        self.freezes = 0  # tp_freeze_q_cnt
        self.open_block()

    def _get(self, at: int) -> int:
        return self.k.mem.read_uint(at, 4)

    def _put(self, at: int, value: int) -> None:
        self.k.mem.write_uint(at, 4, value)

    @property
    def block(self) -> int:
        """Address of the active one."""
        return self.blocks[self.active]

    def in_use(self) -> bool:
        """prb_curr_blk_in_use(): the program has it."""
        return bool(self._get(self.block + STATUS) & TP_STATUS_USER)

    def packets(self) -> int:
        """How many are in the active block."""
        return self._get(self.block + NUM_PKTS)

    def open_block(self) -> None:
        """prb_open_block()."""
        block, now = self.block, self.k.clock.realtime_ns
        self.k.mem.write_uint(block + SEQ_NUM, 8, self.number)
        self.number += 1
        for at, value in (
            (NUM_PKTS, 0), (BLK_LEN, self.first), (TS_FIRST, now // NSEC_PER_SEC), (TS_FIRST + 4, now % NSEC_PER_SEC), (FIRST_PKT, self.first),
            (OFFSET_TO_PRIV, DESC), (0, BLOCK_VERSION),
        ):  # fmt: skip
            self._put(block + at, value)
        self.next = self.last = block + self.first
        self.frozen = False
        self.watched = self.active

    def close_block(self, why: int, losing: bool) -> None:
        """prb_close_block(): to the program; the next one is active, not yet open."""
        block, mem = self.block, self.k.mem
        self._put(self.last + NEXT_OFFSET, 0)
        if self.packets():
            mem.write(block + TS_LAST, mem.read(self.last + SEC, 8))
        else:
            now = self.k.clock.realtime_ns
            self._put(block + TS_LAST, now // NSEC_PER_SEC)
            self._put(block + TS_LAST + 4, now % NSEC_PER_SEC)
        self._put(block + STATUS, TP_STATUS_USER | why | (TP_STATUS_LOSING if losing else 0))
        self.active = (self.active + 1) % len(self.blocks)

    def dispatch(self) -> bool:
        """prb_dispatch_next_block(): open what is active, or freeze while the program has that."""
        if self.in_use():
            self.frozen = True
            self.freezes += 1
            return False
        self.open_block()
        return True

    def fits(self, length: int) -> bool:
        """Whether one more is for the open block."""
        return self.next + aligned(length) < self.block + self.asked.block_size

    def fill(self, length: int, hash_: int, vlan: tuple[int, int, int]) -> int:
        """prb_fill_curr_block(): the place of one more frame."""
        at, room, block = self.next, aligned(length), self.block
        self._put(at + NEXT_OFFSET, room)
        self.last, self.next = at, at + room
        self._put(block + BLK_LEN, self._get(block + BLK_LEN) + room)
        self._put(block + NUM_PKTS, self.packets() + 1)
        tci, tpid, status = vlan
        self._put(at + 28, hash_)
        self._put(at + 32, tci)
        self.k.mem.write_uint(at + 36, 2, tpid)
        self._put(at + 20, status)
        return at

    def room(self) -> int:
        """__packet_rcv_has_room()."""
        ahead = (self.active + (len(self.blocks) >> ROOM_POW_OFF)) % len(self.blocks)
        if self._get(self.blocks[ahead] + STATUS) == TP_STATUS_KERNEL:
            return ROOM_NORMAL
        return ROOM_LOW if self._get(self.block + STATUS) == TP_STATUS_KERNEL else ROOM_NONE

    def readable(self) -> bool:
        """packet_poll(): the block before the active one is the program's."""
        return self._get(self.blocks[self.active - 1] + STATUS) != TP_STATUS_KERNEL

    def expired(self, losing: bool) -> bool | None:
        """prb_retire_rx_blk_timer_expired(): whether a block was handed over; None: a new one was opened, and its timer with it."""
        if self.watched == self.active:
            if self.frozen:
                if not self.in_use():
                    self.open_block()
                    return None
            elif self.packets():
                self.close_block(TP_STATUS_BLK_TMO, losing)
                self.dispatch()
                self.watched = self.active
                return True
        self.watched = self.active
        return False
