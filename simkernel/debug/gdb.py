"""The remote protocol of gdb: `simkernel debug --gdb PORT`, then in gdb `target remote :PORT`.

gdb/doc/gdb.texinfo, "Remote Protocol".  One thread: the CPU that runs, as a hardware debugger shows one.  Breakpoints are the
debugger's own, nothing is written into the code.  reverse-step, reverse-continue and their like work from the beginning; at its end the
run stands still once (as by SIGKILL), so that one can go back from there.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable

from arch.errors import Fault
from arch.gdb import Register, gdb_of
from simkernel.debug.breaks import AtAddress
from simkernel.debug.commands import Commands
from simkernel.debug.debugger import DebugError, Debugger
from simkernel.debug.places import Kind, Stop

SIGKILL, SIGTRAP = 9, 5
INTERRUPT = 3  # the byte that stops a run
PACKET_SIZE = 0x4000
MAX_BUFFERED = 16 * PACKET_SIZE
MAX_MEMORY = PACKET_SIZE // 2 - 16  # bytes of one packet


class Detached(Exception):
    """gdb is gone."""


class Packets:
    """gdb's packets on a socket: `$text#checksum`, each acknowledged until that is turned off."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.acknowledge = True
        self.interrupted = False
        self._buffer = b""

    def _more(self) -> None:
        try:
            data = self.sock.recv(1 << 16)
        except OSError:
            data = b""
        if not data or len(self._buffer) > MAX_BUFFERED:
            raise Detached  # gone, or no gdb: a packet is shorter
        self._buffer += data

    def begin(self) -> None:
        """gdb has said its first words again and again while the machine was made: once is enough.  Detached."""
        self._more()
        while select.select([self.sock], [], [], 0)[0]:
            self._more()
        self._buffer = self._buffer[max(self._buffer.rfind(b"$"), 0) :]

    def receive(self) -> bytes:
        """The next packet.  Detached."""
        while True:
            start = self._buffer.find(b"$")
            if INTERRUPT in self._buffer[: max(start, 0) or len(self._buffer)]:
                self.interrupted = True
            end = self._buffer.find(b"#", start) if start >= 0 else -1
            if end < 0 or len(self._buffer) < end + 3:
                self._more()
                continue
            body, given = self._buffer[start + 1 : end], self._buffer[end + 1 : end + 3]
            self._buffer = self._buffer[end + 3 :]
            good = given.lower() == b"%02x" % (sum(body) & 0xFF)
            if self.acknowledge:
                self._send(b"+" if good else b"-")
            if good:
                return unescape(body)

    def send(self, text: str) -> None:
        """One packet.  Detached."""
        body = escape(text.encode("latin-1"))
        self._send(b"$" + body + b"#%02x" % (sum(body) & 0xFF))

    def _send(self, data: bytes) -> None:
        try:
            self.sock.sendall(data)
        except OSError:
            raise Detached from None

    def ask_for_stop(self) -> bool:
        """Something has come while the machine runs: is it the byte that shall stop it?"""
        self._more()
        found = INTERRUPT in self._buffer
        self._buffer = self._buffer.replace(bytes((INTERRUPT,)), b"")
        return found


def escape(data: bytes) -> bytes:
    """`}` and what begins or ends a packet are written as `}` and the byte xor 0x20."""
    for byte in b"}$#*":  # the escape itself first
        data = data.replace(bytes((byte,)), bytes((0x7D, byte ^ 0x20)))
    return data


def unescape(data: bytes) -> bytes:
    """The opposite."""
    out, hold = bytearray(), False
    for byte in data:
        if hold:
            out.append(byte ^ 0x20)
        elif byte != 0x7D:
            out.append(byte)
        hold = byte == 0x7D and not hold
    return bytes(out)


class Stub:
    """A session with one gdb."""

    def __init__(self, debugger: Debugger, sock: socket.socket) -> None:
        self.debugger = debugger
        self.packets = Packets(sock)
        self.gdb = gdb_of(debugger.arch)
        self.order = debugger.arch.byteorder
        self.number = 0
        self.shown_end = False  # it has been told that the run is over
        debugger.while_waiting = self._watch
        self.text_base, self.text_end, self.user_end = debugger.borders

    # -- the loop ------------------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Until gdb goes."""
        try:
            self.packets.begin()
            while True:
                packet = self.packets.receive()
                answer = self._answer(packet)
                if answer is None:
                    return
                self.packets.send(answer)
                if packet == b"QStartNoAckMode":
                    self.packets.acknowledge = False
        except Detached:
            return

    def _watch(self, live: socket.socket) -> None:
        """While the machine runs: gdb may want it to stop."""
        while True:
            ready = select.select([live, self.packets.sock], [], [])[0]
            if live in ready:
                return
            if self.packets.ask_for_stop():
                self.debugger.interrupt()

    def _answer(self, packet: bytes) -> str | None:
        """What gdb is told; empty for what is not known here, None where the session ends."""
        text = packet.decode("latin-1")
        if text[:1] in ("k", "D"):
            if text[:1] == "D":
                self.packets.send("OK")
            return None
        handlers: dict[str, Callable[[str], str]] = {
            "?": lambda rest: self._stopped(self.debugger.stop),
            "g": self._read_registers,
            "p": self._read_register,
            "P": self._write_register,
            "G": self._write_registers,
            "m": self._read_memory,
            "M": self._write_memory,
            "Z": self._insert,
            "z": self._remove,
            "c": lambda rest: self._go(self.debugger.go),
            "s": lambda rest: self._go(self.debugger.step_cpu),
            "b": self._reverse,
            "H": lambda rest: "OK",
            "T": lambda rest: "OK",
            "q": self._query,
            "Q": lambda rest: "OK" if rest == "StartNoAckMode" else "",
            "v": self._v,
        }
        handler = handlers.get(text[:1])
        if handler is None:
            return ""
        try:
            return handler(text[1:])
        except (Fault, DebugError):
            return "E0e"
        except (ValueError, IndexError):
            return "E16"

    # -- questions -----------------------------------------------------------------------------------------------------

    def _query(self, rest: str) -> str:
        name, _, argument = rest.partition(":")
        if name == "Supported":
            return (
                f"PacketSize={PACKET_SIZE:x};QStartNoAckMode+;qXfer:features:read+;"
                "ReverseStep+;ReverseContinue+;vContSupported+"
            )
        if name == "Xfer" and argument.startswith("features:read:target.xml:"):
            offset, length = (int(part, 16) for part in argument.rpartition(":")[2].split(","))
            part = self.gdb.xml()[offset : offset + length]
            return ("m" if offset + length < len(self.gdb.xml()) else "l") + part
        if name == "Attached":
            return "1"
        if name == "C":
            return "QC1"
        if name in ("fThreadInfo", "sThreadInfo"):
            return "m1" if name[0] == "f" else "l"
        if name == "Symbol":
            return "OK"
        if rest.startswith("Rcmd,"):
            return self._monitor(bytes.fromhex(rest[5:]).decode("utf-8", "replace"))
        if rest.startswith("ThreadExtraInfo"):
            stop = self.debugger.stop
            return f"cpu {stop.cpu} {stop.comm}[{stop.pid}]".encode().hex()
        return ""

    def _monitor(self, line: str) -> str:
        """`monitor maps`: a command of the debugger's own that only looks."""
        lines = Commands(self.debugger).look(line)
        return "".join(f"{each}\n" for each in lines).encode().hex() or "OK"

    def _v(self, rest: str) -> str:
        if rest == "Cont?":
            return "vCont;c;C;s;S"
        if rest.startswith("Cont;"):
            return self._go(self.debugger.step_cpu if rest[5:6] in "sS" else self.debugger.go)
        return ""

    # -- running -------------------------------------------------------------------------------------------------------

    def _go(self, move: Callable[[], Stop]) -> str:
        if self.debugger.ended and self.shown_end:
            return "W00"
        self.shown_end = False
        return self._stopped(move())

    def _reverse(self, rest: str) -> str:
        before = self.debugger.stop.place
        if rest == "s":
            self.debugger.back_cpu()
        elif rest == "c":
            self.debugger.go_back()
        else:
            return ""
        stop = self.debugger.stop
        if stop.place == before or (stop.place.tick == 1 and not stop.number):
            return f"T{SIGTRAP:02x}replaylog:begin;thread:1;"
        return self._stopped(stop)

    def _stopped(self, stop: Stop) -> str:
        self.shown_end = stop.kind is Kind.END
        return f"T{SIGKILL if self.shown_end else SIGTRAP:02x}thread:1;"

    # -- breakpoints ---------------------------------------------------------------------------------------------------

    def _insert(self, rest: str) -> str:
        kind, address, _ = rest.split(",")[:3]
        if kind not in "01":
            return ""
        at = int(address, 16)
        user = at < self.user_end and not self.text_base <= at < self.text_end
        found = self.debugger.symbols.find(at) if not user else None
        self.number += 1
        name = found.name if found is not None and found.address == at else ""
        self.debugger.breaks[self.number] = AtAddress(self.number, at, user, name)
        return "OK"

    def _remove(self, rest: str) -> str:
        kind, address, _ = rest.split(",")[:3]
        if kind not in "01":
            return ""
        at = int(address, 16)
        for number, each in list(self.debugger.breaks.items()):
            if isinstance(each, AtAddress) and each.address == at:
                del self.debugger.breaks[number]
        return "OK"

    # -- registers and memory --------------------------------------------------------------------------------------------

    def _hex(self, register: Register, values: dict[str, int]) -> str:
        size = register.bits // 8
        if register.ours is None or register.ours not in values:
            return "xx" * size if register.name != "zero" else "00" * size
        value = values[register.ours] & ((1 << register.bits) - 1)
        return value.to_bytes(size, self.order).hex()

    def _read_registers(self, rest: str) -> str:
        values = self.debugger.registers()
        return "".join(self._hex(each, values) for each in self.gdb.registers)

    def _read_register(self, rest: str) -> str:
        return self._hex(self.gdb.registers[int(rest, 16)], self.debugger.registers())

    def _write_register(self, rest: str) -> str:
        number, _, value = rest.partition("=")
        register = self.gdb.registers[int(number, 16)]
        if register.ours is None:
            return "E16"
        self.debugger.write_register(register.ours, int.from_bytes(bytes.fromhex(value), self.order))
        return "OK"

    def _write_registers(self, rest: str) -> str:
        values, at = self.debugger.registers(), 0
        for register in self.gdb.registers:
            digits = rest[at : at + register.bits // 4]
            at += register.bits // 4
            if register.ours is None or "x" in digits:
                continue
            value = int.from_bytes(bytes.fromhex(digits), self.order)
            if value != values[register.ours] & ((1 << register.bits) - 1):
                self.debugger.write_register(register.ours, value)
        return "OK"

    def _read_memory(self, rest: str) -> str:
        address, size = (int(part, 16) for part in rest.split(","))
        return self.debugger.memory(address, min(size, MAX_MEMORY)).hex()

    def _write_memory(self, rest: str) -> str:
        head, _, data = rest.partition(":")
        self.debugger.write_memory(int(head.split(",")[0], 16), bytes.fromhex(data))
        return "OK"


def listen(port: int) -> socket.socket:
    """A socket of localhost; port 0 takes a free one.  OSError."""
    return socket.create_server(("127.0.0.1", port))


def serve(debugger: Debugger, server: socket.socket) -> None:
    """One gdb, until it goes."""
    connection, _ = server.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Stub(debugger, connection).serve()
