"""What a socket has from the socket maps that it is in: programs on its data.  include/linux/skmsg.h, net/core/skmsg.c.

`Board.psocks` has one for every socket in a SOCKMAP or SOCKHASH.  Who runs the programs is simkernel/observe/psock.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from arch.abi.errno import EBUSY
from arch.errors import KernelError
from arch.records import dataclass, field
from bpf import uapi
from bpf.face import Prog

VERDICTS = (uapi.BPF_SK_SKB_STREAM_VERDICT, uapi.BPF_SK_SKB_VERDICT)
SKB_PROGS = (uapi.BPF_SK_SKB_STREAM_PARSER, *VERDICTS)
SAID = ("apply_bytes", "cork_bytes", "flags", "sk_redir")  # members of struct sk_msg


@dataclass(eq=False)
class SentMessage:
    """struct sk_msg between two runs of a program: its bytes in pieces, and what programs said of it."""

    pieces: list[bytes] = field(default_factory=list)
    grows: bool = True  # what is sent next lies behind the last piece
    said: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SAID, 0))  # members by name

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(map(len, self.pieces))

    def take(self, size: int) -> tuple[list[bytes], bool]:
        """The first bytes leave it; was the last piece of them only a part?  What is left of that does not grow any more."""
        taken = []
        while size and self.pieces:
            piece = self.pieces.pop(0)
            taken.append(piece[:size])
            if size < len(piece):
                self.pieces.insert(0, piece[size:])
                self.grows = False
                return taken, True
            size -= len(piece)
        return taken, False


@dataclass(eq=False)
class Psock:
    """struct sk_psock."""

    progs: dict[int, Prog] = field(default_factory=dict)  # by attach type
    links: int = 0  # elements of maps that are this socket
    judging: bool = False  # what arrives is judged: saved_data_ready
    parsing: bool = False  # by messages that a parser finds
    packets: list[bytes] = field(default_factory=list)  # from that on in which the next message begins
    offset: int = 0  # where it begins there
    apply_bytes: int = 0  # for so many more the verdict on what is sent holds
    verdict: tuple[int, int, int] | None = None  # that verdict: (SK_PASS or SK_DROP, the sock that gets it or 0, flags)
    cork: SentMessage | None = None  # sent, and not judged before there is more
    cork_bytes: int = 0  # how many more

    @property
    def judges_messages(self) -> bool:
        """What is sent is judged."""
        return uapi.BPF_SK_MSG_VERDICT in self.progs

    def check(self, progs: Mapping[int, Prog]) -> None:
        """EBUSY: one of these, or the other kind of verdict, comes from another map already."""
        if any(kind in self.progs for kind in progs):
            raise KernelError(EBUSY, "the socket has such a program")
        if any(kind in VERDICTS for kind in progs) and any(kind in VERDICTS for kind in self.progs):
            raise KernelError(EBUSY, "the socket has a verdict")

    def take(self, progs: Mapping[int, Prog]) -> None:
        """psock_set_prog(), sk_psock_start_strp(), sk_psock_start_verdict()."""
        for kind, prog in progs.items():
            prog.get()
            self.progs[kind] = prog
        parser, streams = (kind in progs for kind in SKB_PROGS[:2])
        if not self.judging and any(kind in progs for kind in VERDICTS):
            self.judging, self.parsing = True, parser and streams

    def drop(self, kinds: Collection[int]) -> None:
        """sk_psock_stop_strp(), sk_psock_stop_verdict(), or all of it."""
        for kind in kinds:
            prog = self.progs.pop(kind, None)
            if prog is not None:
                prog.put()
        if not any(kind in self.progs for kind in VERDICTS):
            self.judging = self.parsing = False
