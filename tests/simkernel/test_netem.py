"""Delay, loss and reordering on an interface, and TCP that carries everything through it all the same."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Generator

import pytest

import simkernel
from arch.abi.errno import ENODEV, ETIMEDOUT
from arch.errors import KernelError
from simkernel.machine import Machine
from simkernel.netem import Netem, NetemError, parse
from simkernel.usertask import Calls, Request

AF_INET, STREAM, DGRAM = 2, 1, 2
PORT = 4000
SIZE = 200_000
PATTERN = bytes(i * 7 & 0xFF for i in range(SIZE))
Steps = Generator[Request, int, object]


def address(port: int) -> bytes:
    return AF_INET.to_bytes(2, "little") + port.to_bytes(2, "big") + bytes((127, 0, 0, 1)) + bytes(8)


def transfer(m: Machine, data: bytes = PATTERN, pause_ns: int = 0, rcvbuf: int = 0) -> bytes:
    """A client sends, a server receives; both close.  What arrived."""
    arrived = bytearray()

    def server(u: Calls) -> Steps:
        sock = yield u.socket(AF_INET, STREAM, 0)
        if rcvbuf:
            size = u.alloc(4)
            u.write_memory(size, rcvbuf.to_bytes(4, "little"))
            yield u.setsockopt(sock, 1, 8, size, 4)
        yield u.bind(sock, address(PORT), 16)
        yield u.listen(sock, 5)
        conn = yield u.accept4(sock, 0, 0, 0)
        buffer = u.alloc(1 << 15)
        if pause_ns:
            yield u.nanosleep(struct.pack("<QQ", pause_ns // 10**9, pause_ns % 10**9), 0)
        while (got := (yield u.read(conn, buffer, 1 << 15))) > 0:
            arrived.extend(u.read_memory(buffer, got))
        yield u.close(conn)
        return 0 if got == 0 else 1

    def client(u: Calls) -> Steps:
        sock = yield u.socket(AF_INET, STREAM, 0)
        while (yield u.connect(sock, address(PORT), 16)) < 0:
            yield u.sched_yield()
        buffer = u.alloc(1 << 15)
        at = 0
        while at < len(data):
            part = data[at : at + (1 << 15)]
            u.write_memory(buffer, part)
            sent = yield u.write(sock, buffer, len(part))
            if sent <= 0:
                return 2
            at += sent
        yield u.close(sock)
        return 0

    tasks = [m.workload(server, "server"), m.workload(client, "client")]
    for task in tasks:
        assert m.wait(task, timeout_host_s=60).status == 0
    return bytes(arrived)


def events(m: Machine, name: str) -> list[float]:
    """Times of an event's lines in the trace."""
    return [float(at) for at in re.findall(rf"(\d+\.\d+): {name}:", m.trace_pipe())]


@pytest.mark.parametrize(
    "netem",
    [
        {"loss": 0.1},
        {"delay_ms": 10, "jitter_ms": 5, "loss": 0.3},
        {"delay_ms": 10, "reorder": 0.25, "duplicate": 0.1},
        {"rate_bit_s": 10_000_000, "delay_ms": 1},
    ],
    ids=str,
)
def test_everything_arrives_once_and_in_order(netem: dict[str, float]) -> None:
    m = simkernel.boot(seed=3)
    m.enable_event("tcp:tcp_retransmit_skb")
    m.netem("lo", **netem)  # type: ignore[arg-type]
    assert transfer(m) == PATTERN
    again = len(events(m, "tcp_retransmit_skb"))
    assert (again > 0) == ("loss" in netem) or "reorder" in netem


def test_the_same_seed_loses_the_same_packets() -> None:
    def retransmissions(seed: int) -> str:
        m = simkernel.boot(seed=seed)
        m.enable_event("tcp:tcp_retransmit_skb")
        m.netem("lo", loss=0.2)
        assert transfer(m, PATTERN[:20_000]) == PATTERN[:20_000]
        return m.trace_pipe()

    assert retransmissions(1) == retransmissions(1) != retransmissions(2)


def test_short_connections_over_a_bad_line() -> None:
    """Every kind of segment is lost at some time: SYN, SYN-ACK, ACK, data, FIN."""
    m = simkernel.boot(seed=5)
    m.netem("lo", loss=0.3)
    for round_ in range(12):
        words = b"round %d" % round_
        assert transfer_again(m, words, PORT + 1 + round_) == words
    m.wait_until(lambda: not any(sk.family == AF_INET for sk in m.kernel.net.socks.values()), limit_ns=200 * 10**9)


def transfer_again(m: Machine, data: bytes, port: int) -> bytes:
    global PORT
    before, PORT = PORT, port
    try:
        return transfer(m, data)
    finally:
        PORT = before


def test_a_delay_is_seen_by_both_sides() -> None:
    m = simkernel.boot()
    m.netem("lo", delay_ms=25)
    before = m.kernel.clock.now_ns
    t = m.user_task("udp")
    receiver, sender = (t.syscall("socket", AF_INET, DGRAM, 0) for _ in range(2))
    t.syscall("bind", receiver, address(9), 16)
    assert t.syscall("sendto", sender, t.string("hello"), 5, 0, address(9), 16) == 5
    assert t.syscall("read", receiver, t.alloc(16), 16) == 5
    assert 25_000_000 <= m.kernel.clock.now_ns - before < 27_000_000


def test_a_syn_that_nobody_hears_is_sent_again_for_130_seconds() -> None:
    m = simkernel.boot()
    m.enable_event("tcp:tcp_retransmit_skb")
    m.netem("lo", loss=1)
    t = m.user_task("tcp")
    begin = m.kernel.clock.now_ns
    assert t.syscall("connect", t.syscall("socket", AF_INET, STREAM, 0), address(80), 16) == -ETIMEDOUT
    assert 130 <= (m.kernel.clock.now_ns - begin) / 1e9 < 131.5  # the wheel rounds the longer ones up
    assert [round(at - begin / 1e9) for at in events(m, "tcp_retransmit_skb")] == [1, 3, 7, 15, 31, 64]


def test_a_connection_that_goes_dead_is_given_up_after_15_retries() -> None:
    """About 15 minutes: 0.2 s doubled until it is 2 minutes.  Documentation/networking/ip-sysctl.rst, tcp_retries2."""
    m = simkernel.boot()
    t = m.user_task("tcp")
    listener, client = (t.syscall("socket", AF_INET, STREAM, 0) for _ in range(2))
    assert (t.syscall("bind", listener, address(80), 16), t.syscall("listen", listener, 1)) == (0, 0)
    assert t.syscall("connect", client, address(80), 16) == 0
    m.enable_event("tcp:tcp_retransmit_skb")
    m.netem("lo", loss=1)
    begin = m.kernel.clock.now_ns
    assert t.syscall("write", client, t.string("lost"), 4) == 4
    assert t.syscall("read", client, t.alloc(8), 8) == -ETIMEDOUT
    assert 900 < (m.kernel.clock.now_ns - begin) / 1e9 < 950
    assert len(events(m, "tcp_retransmit_skb")) == 15


def test_a_window_that_opens_unheard_is_asked_for() -> None:
    """The reader sleeps until its window is closed, and a third of the packets that say that it is open again are lost."""
    m = simkernel.boot(seed=2)
    m.netem("lo", loss=0.3)
    assert transfer(m, PATTERN, pause_ns=3 * 10**9, rcvbuf=2048) == PATTERN


def test_programs_read_the_counters_of_the_connection() -> None:
    m = simkernel.boot(seed=4)
    m.netem("lo", delay_ms=5, loss=0.05)
    seen: dict[str, int] = {}
    sock_of = m.kernel.net.socks

    def look() -> bool:
        for sk in list(sock_of.values()):
            if sk.family == AF_INET and sk.rport == PORT:
                view = m.kernel.view(sk.addr, "struct tcp_sock")
                for member in ("bytes_acked", "total_retrans", "snd_cwnd", "srtt_us"):
                    seen[member] = max(seen.get(member, 0), getattr(view, member))
        return False

    tasks = transfer_tasks(m)
    m.wait_until(lambda: look() or all(task.exit_state for task in tasks), limit_ns=60 * 10**9)
    assert seen["bytes_acked"] > SIZE // 4 and seen["total_retrans"] > 0
    assert seen["srtt_us"] >= 8 * 10_000
    # Segments of 64 kB: never half a window of them is on its way, so the window does not grow.
    assert seen["snd_cwnd"] == 10


def transfer_tasks(m: Machine):
    def server(u: Calls) -> Steps:
        sock = yield u.socket(AF_INET, STREAM, 0)
        yield u.bind(sock, address(PORT), 16)
        yield u.listen(sock, 5)
        conn = yield u.accept4(sock, 0, 0, 0)
        buffer = u.alloc(1 << 15)
        while (yield u.read(conn, buffer, 1 << 15)) > 0:
            pass
        return 0

    def client(u: Calls) -> Steps:
        sock = yield u.socket(AF_INET, STREAM, 0)
        yield u.connect(sock, address(PORT), 16)
        buffer = u.alloc(1000)
        for _ in range(SIZE // 1000):
            yield u.write(sock, buffer, 1000)
        return 0

    return [m.workload(server, "server"), m.workload(client, "client")]


def test_off_again_and_what_is_refused() -> None:
    m = simkernel.boot()
    m.netem("lo", loss=1)
    m.netem("lo", loss=0.5)
    m.netem("lo")
    m.netem("lo")
    assert transfer(m, b"clean") == b"clean"
    with pytest.raises(KernelError) as error:
        m.netem("eth7", loss=0.1)
    assert error.value.errno == ENODEV and "eth7: no such interface" in str(error.value)
    with pytest.raises(NetemError, match="a share between 0 and 1"):
        m.netem("lo", loss=5)
    for value in (float("inf"), float("nan")):
        for name in ("delay_ms", "jitter_ms", "rate_bit_s", "loss"):
            with pytest.raises(NetemError):
                m.netem("lo", **{name: value})
    with pytest.raises(NetemError, match="reordering needs a delay"):
        m.netem("lo", reorder=0.5)


def test_words_of_the_command_line() -> None:
    assert parse("lo:delay=20ms,jitter=500us,loss=5%") == ("lo", Netem(delay_ms=20, jitter_ms=0.5, loss=0.05))
    assert parse("eth0:rate=1mbit,limit=10,duplicate=0.5") == ("eth0", Netem(rate_bit_s=1e6, limit=10, duplicate=0.5))
    for wrong in ("lo", "lo:", "lo:delay=20", "lo:loss=x", "lo:speed=1", ":loss=1%", "lo:limit=0", "lo:loss=200%", "lo:delay=" + "9" * 400 + "s", "lo:loss=nan%", "lo:rate=" + "9" * 400 + "bit", "lo:delay=²s"):  # fmt: skip
        with pytest.raises(NetemError):
            parse(wrong)


def test_tc_of_debian_sets_and_shows_it(tmp_path) -> None:
    if not shutil.which("tc"):
        pytest.skip("tc (iproute2) is not installed")
    (tmp_path / "tc.sh").write_text(
        "/usr/sbin/tc qdisc add dev lo root netem delay 20ms 5ms loss 5%\n/usr/sbin/tc qdisc show dev lo\n"
        "/usr/sbin/tc qdisc add dev lo root netem delay 1ms\necho $?\n"
        "/usr/sbin/tc qdisc change dev lo root netem delay 10ms reorder 25% gap 5 rate 1mbit\n/usr/sbin/tc qdisc show dev lo\n"
        "/usr/sbin/tc qdisc del dev lo root\n/usr/sbin/tc qdisc del dev lo root\n/usr/sbin/tc qdisc show dev lo\n"
    )
    binds = [f"{place}:{place}" for place in ("/usr", "/lib", "/lib64")] + [f"{tmp_path}:/host"]
    m = simkernel.boot(binds=binds)
    result = m.run([m.install("busybox"), "sh", "/host/tc.sh"], timeout_host_s=60)
    assert result.text == (
        "qdisc netem 8001: root refcnt 2 limit 1000 delay 20ms  5ms loss 5%\n2\n"
        "qdisc netem 8001: root refcnt 2 limit 1000 delay 10ms reorder 25% rate 1Mbit gap 5\n"
        "qdisc noqueue 0: root refcnt 2 \n"
    )
    assert result.stderr == (
        b"Error: Exclusivity flag on, cannot modify.\nError: Cannot delete qdisc with handle of zero.\n"
    )


def run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "simkernel", "run", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_command_line_has_it() -> None:
    words = ["busybox", "ping", "-c", "1", "127.0.0.1"]
    assert "time=80." in run("--netem", "lo:delay=40ms", "--", *words).stdout
    for spec, sentence in (("lo:dealy=4", "dealy: not known"), ("wlan0:delay=1ms", "wlan0: no such interface")):
        refused = run("--netem", spec, "--", *words)
        assert refused.returncode == 2 and sentence in refused.stderr and "Traceback" not in refused.stderr
