"""Events of TCP, ICMP, netlink's refusals, locks on files and frozen groups: the lines that 6.1 shows for the same calls."""

import re
import struct

import pytest

import simkernel
from arch.errors import KernelError
from tests.tracing.trace_lines import from_here_on

EVENTS = "/sys/kernel/tracing/events"
LOCALHOST = bytes((127, 0, 0, 1))
PLACE = r"family=AF_INET sport={} dport={} saddr=127.0.0.1 daddr={} saddrv6=::ffff:127.0.0.1 daddrv6=::ffff:{}"
CONNECTION = PLACE.format(r"\d+", r"\d+", "127.0.0.1", "127.0.0.1")
AF_INET, SOCK_STREAM, SOCK_DGRAM = 2, 1, 2


@pytest.fixture(scope="module")
def machine():
    machine = simkernel.boot()
    for name in ("tcp", "icmp", "netlink", "filelock", "cgroup"):
        machine.session.write_file(f"{EVENTS}/{name}/enable", "1")
    yield machine
    machine.close()


@pytest.fixture
def lines(machine):
    """What happens from here on: (flags, text)."""
    return from_here_on(machine)


def matched(found, wanted):
    assert len(found) == len(wanted), found
    for (flags, line), (held, pattern) in zip(found, wanted):
        assert flags == held and re.fullmatch(pattern, line), (flags, line, pattern)


def address(port):
    return struct.pack("<H", AF_INET) + port.to_bytes(2, "big") + LOCALHOST + bytes(8)


def test_a_connection_and_its_end(machine, lines):
    task = machine.session.task
    with task.memory() as memory:
        listener = task.call("socket", AF_INET, SOCK_STREAM, 0)
        task.call("bind", listener, memory.put(address(7777)), 16)
        task.call("listen", listener, 5)
        client = task.call("socket", AF_INET, SOCK_STREAM, 0)
        task.call("connect", client, memory.put(address(7777)), 16)
        server = task.call("accept", listener, 0, 0)
        task.call("close", listener)
        task.call("write", client, memory.put(b"hello"), 5)
        task.call("close", server)  # with data unread: a reset
        task.call("close", client)
    probe = (
        r"tcp_probe: family=AF_INET src=127.0.0.1:{} dest=127.0.0.1:{} mark=0x0 data_len={} snd_nxt=0x\w+ snd_una=0x\w+ "
        r"snd_cwnd=1[01] ssthresh=2147483647 snd_wnd=\d+ srtt=\d+ rcv_wnd=[1-9]\d+ sock_cookie={}"
    )
    matched(lines(), (
        ("..s..", f"tcp_cong_state_set: {CONNECTION} cong_state=0"),
        ("b..1.", f"tcp_destroy_sock: {PLACE.format(7777, 0, '0.0.0.0', '0.0.0.0')} sock_cookie=1"),
        ("..s..", probe.format(7777, r"\d+", 5, 2)),
        ("..s..", probe.format(r"\d+", 7777, 0, 3)),
        ("..s..", probe.format(r"\d+", 7777, 0, 3)),
        ("..s..", f"tcp_receive_reset: {CONNECTION} sock_cookie=3"),
        (".....", rf"tcp_send_reset: {CONNECTION} state=TCP_CLOSE"),
        ("b..1.", f"tcp_destroy_sock: {CONNECTION} sock_cookie=2"),
        ("b..1.", f"tcp_destroy_sock: {CONNECTION} sock_cookie=3"),
    ))  # fmt: skip


def test_a_port_that_nobody_has(machine, lines):
    task = machine.session.task
    with task.memory() as memory:
        sock = task.call("socket", AF_INET, SOCK_DGRAM, 0)
        task.call("bind", sock, memory.put(address(7778)), 16)
        task.call("sendto", sock, memory.put(b"hello"), 5, 0, memory.put(address(9)), 16)
        task.call("close", sock)
    text = r"icmp_send: icmp_send: type=3, code=3. From 127.0.0.1:7778 to 127.0.0.1:9 ulen=13 skbaddr=\w+"
    matched(lines(), (("b.s2.", text),))


def test_a_refusal_of_netlink(machine, lines):
    task = machine.session.task
    gateway = struct.pack("<HH4s", 8, 5, bytes((8, 8, 8, 8)))
    target = struct.pack("<HH4s", 8, 1, bytes((9, 9, 9, 9)))
    body = struct.pack("<8BI", AF_INET, 32, 0, 0, 254, 3, 0, 1, 0) + target + gateway
    with task.memory() as memory:
        sock = task.call("socket", 16, 3, 0)
        message = struct.pack("<IHHII", 16 + len(body), 24, 0x605, 1, 0) + body  # RTM_NEWROUTE
        task.call("sendto", sock, memory.put(message), len(message), 0, 0, 0)
        task.call("close", sock)
    matched(lines(), ((".....", "netlink_extack: msg=Nexthop has invalid gateway"),))


def test_locks(machine, lines):
    task = machine.session.task
    set_lock, get_lock, shared, unlock = 6, 5, 1, 8
    with task.memory() as memory:
        fd = task.call("open", memory.put(b"/tmp/lock\0"), 0o102, 0o644)
        for kind in (1, 2):
            task.call("fcntl", fd, set_lock, memory.put(struct.pack("<hh4xqqi4x", kind, 0, 3, 4, 0)))
        task.call("flock", fd, shared)
        task.call("flock", fd, unlock)
        task.call("fcntl", fd, get_lock, memory.put(struct.pack("<hh4xqqi4x", 0, 0, 3, 4, 0)))
        task.call("close", fd)
    place = r"dev=0x0:0x\w+ ino=0x\w+"
    lock = rf"fl=\w+ {place} fl_blocker=0000000000000000 fl_owner=\w+ fl_pid=\d+ fl_flags={{}} fl_type={{}} fl_start={{}} fl_end={{}} ret=0"
    wanted = []
    for kind in ("F_WRLCK", "F_UNLCK"):
        shown = lock.format("FL_POSIX", kind, 3, 6)
        wanted += [(".....", rf"locks_get_lock_context: {place} type={kind} ctx=\w+"), ("...1.", f"posix_lock_inode: {shown}"),
                   (".....", f"fcntl_setlk: {shown}")]  # fmt: skip
    for kind in ("F_RDLCK", "F_UNLCK"):
        shown = lock.format(r"FL_FLOCK\|FL_SLEEP", kind, 0, (1 << 63) - 1)
        wanted += [
            (".....", rf"locks_get_lock_context: {place} type={kind} ctx=\w+"),
            (".....", f"flock_lock_inode: {shown}"),
        ]
    matched(lines(), wanted)


def test_closing_a_file_with_locks(machine, lines):
    task = machine.session.task
    with task.memory() as memory:
        fd = task.call("open", memory.put(b"/tmp/closed\0"), 0o102, 0o644)
        task.call("fcntl", fd, 6, memory.put(struct.pack("<hh4xqqi4x", 1, 0, 3, 4, 0)))
        before = len(lines())
        task.call("close", task.call("dup", fd))
        task.call("close", fd)
    shown = rf"fl=\w+ dev=0x0:0x\w+ ino=0x\w+ fl_blocker=0+ fl_owner=\w+ fl_pid=\d+ fl_flags=FL_POSIX\|FL_CLOSE fl_type=F_UNLCK fl_start=0 fl_end={(1 << 63) - 1} ret=0"
    wanted = (
        (".....", r"locks_get_lock_context: dev=0x0:0x\w+ ino=0x\w+ type=F_UNLCK ctx=\w+"),
        ("...1.", f"posix_lock_inode: {shown}"), (".....", f"locks_remove_posix: {shown}"),
    )  # fmt: skip
    matched(lines()[before:], wanted)


def test_a_lock_in_the_way(machine, lines):
    task = machine.session.task
    with task.memory() as memory:
        fds = [task.call("open", memory.put(b"/tmp/lock2\0"), 0o102, 0o644) for _ in range(2)]
        task.call("flock", fds[0], 2)
        with pytest.raises(KernelError):
            task.call("flock", fds[1], 2 | 4)
        for fd in fds:
            task.call("close", fd)
    texts = [text for _, text in lines() if text.startswith("flock")]
    assert "fl_flags=FL_FLOCK|FL_SLEEP fl_type=F_WRLCK" in texts[0] and texts[0].endswith("ret=0")
    assert "fl_flags=FL_FLOCK fl_type=F_WRLCK" in texts[1] and texts[1].endswith("ret=-11")


def test_a_group_that_is_frozen(machine, lines):
    task, group = machine.session.task, "/sys/fs/cgroup/cold"
    with task.memory() as memory:
        task.call("mkdir", memory.put(group.encode() + b"\0"), 0o755)
        for value in "11", "00":  # what it is already is no news
            for digit in value:
                machine.session.write_file(f"{group}/cgroup.freeze", digit)
        task.call("rmdir", memory.put(group.encode() + b"\0"))
    where = r"root=0 id=\d+ level=1 path=/cold"
    matched(lines(), (
        ("d..1.", f"cgroup_mkdir: {where}"), ("d..1.", f"cgroup_freeze: {where}"),
        ("d..2.", f"cgroup_notify_frozen: {where} val=1"), ("d..1.", f"cgroup_unfreeze: {where}"),
        ("d..2.", f"cgroup_notify_frozen: {where} val=0"), ("d..1.", f"cgroup_rmdir: {where}"),
    ))  # fmt: skip
