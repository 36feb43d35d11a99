"""bpf(2): every command and map operation against the answers of the real Linux 6.1; for 4.1
against its source, in the order of its checks.
"""

import importlib.util
from pathlib import Path

import pytest

from arch.abi.errno import E2BIG, EBADF, EEXIST, EFAULT, EINVAL, EMFILE, ENOENT, ENOMEM, ENOSPC, EOPNOTSUPP, EPERM
from arch.abi.version import NEWEST, RELEASES
from bpf import uapi
from bpf.btf import Btf
from bpf.btf.codec import BtfType, Kind
from bpf.face import RawTracepointAttach
from bpf.isa.asm import assemble
from bpf.isa.insn import encode
from bpf.syscall.attr import LAYOUTS
from bpf.syscall.sys_bpf import bpf
from bpf.testing.host import TestHost

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("syscall_rows", HERE / "syscall_rows.py")
rows = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rows)


class Task:
    """A task that makes system calls: attributes by name."""

    def __init__(self, version=NEWEST, **more):
        self.host = TestHost(version, **more)
        for fd in range(3):
            self.host.fds[fd] = object()

    def put(self, data):
        return self.host.put(data)

    def call(self, cmd, size=None, tail=None, **fields):
        ends = [sum(LAYOUTS[cmd].fields[name]) for name in fields]
        raw = bytearray(max(144, *ends, 0))
        for name, value in fields.items():
            offset, width = LAYOUTS[cmd].fields[name]
            if isinstance(value, bytes):
                raw[offset : offset + width] = value.ljust(width, b"\0")
            else:
                raw[offset : offset + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
        for offset, value in (tail or {}).items():
            raw[offset] = value
        self.attr = self.put(bytes(raw))
        return bpf(self.host.bpf, cmd, self.attr, len(raw) if size is None else size)

    def back(self, cmd, name):
        """A member as the kernel left it."""
        offset, width = LAYOUTS[cmd].fields[name]
        return self.host.user.read_uint(self.attr + offset, width)

    def map(self, kind, key=4, value=8, entries=2, **more):
        return self.call(0, map_type=kind, key_size=key, value_size=value, max_entries=entries, **more)

    def load(self, kind, text="r0 = 0\nexit", license=b"GPL\0", **more):
        insns = assemble(text) if isinstance(text, str) else text
        return self.call(
            5,
            prog_type=kind,
            insn_cnt=len(insns),
            insns=self.put(encode(insns)),
            license=self.put(license),
            **more,
        )


# ---- against the real kernel ----


def symbols_of(task):
    """The same objects as the probe makes, in the same order."""
    host = task.host
    array = task.map(2)
    null = host.fd_install(object(), "null", 2)
    key = [task.put(i.to_bytes(8, "little")) for i in range(3)]
    value = task.put((7).to_bytes(8, "little"))
    out, big, packet = task.put(bytes(4096)), task.put(b"\xff" * 4096), task.put(bytes(64))
    values = [
        999,
        null,
        array,
        task.map(1, 8),
        task.map(22, 0),
        task.map(23, 0),
        task.map(30, 0),
        task.map(11, 8, map_flags=1),
        task.map(27, 0, 0, 4096),
        task.map(6),
        task.map(9),
        task.map(3, 4, 4),
        task.map(4, 4, 4),
        task.map(7, 4, 16),
        task.map(12, 4, 4, inner_map_fd=array),
        task.map(2),
        task.map(2, map_flags=uapi.BPF_F_RDONLY),
        task.map(2, map_flags=uapi.BPF_F_WRONLY),
        task.load(1),
        task.load(2),
        task.load(17),
        0x1000,
        *key,
        value,
        out,
        big,
        task.put(encode(assemble("r0 = 0\nexit"))),
        task.put(encode(assemble("goto -1"))),
        task.put(b"GPL\0"),
        task.put(array.to_bytes(4, "little")),
    ]
    names = dict(zip(rows.SYMBOLS, values))
    names["fd_filter"] = task.put(names["filter"].to_bytes(4, "little"))
    names["count2"] = task.put((2).to_bytes(4, "little"))
    names["packet"] = packet
    names["name"], names["noname"] = task.put(b"sys_enter\0"), task.put(b"no_such_tracepoint\0")
    assert all(number > 0 for number in names.values()), names
    task.call(22, map_fd=names["frozen"])
    task.call(2, map_fd=names["hash"], key=key[0], value=value)
    return names


def reset(task, names):
    task.host.user.write(names["out"], bytes(4096))
    task.host.user.write(names["big"], b"\xff" * 4096)
    task.host.user.write(names["packet"], bytes(64))


def recorded():
    lines = (HERE / "syscall_6_1.txt").read_text().splitlines()
    return {name: answer for answer, _, name in (line.partition(" ") for line in lines)}


def answers():
    task = Task(memory_size=1 << 24)
    task.host.vmlinux_btf = Btf()
    names = symbols_of(task)
    found = {}
    for name, cmd, fields, *size in rows.ROWS:
        raw = rows.build(fields, cmd, LAYOUTS, lambda symbol: names[symbol])
        attr = task.put(raw)
        ret = bpf(task.host.bpf, cmd, attr, size[0] if size else 144)
        task.host.user.free(attr)
        if ret > 2:
            task.host.close(ret)
        found[name] = "fd" if ret > 2 else str(ret)
        reset(task, names)
    return found


def test_every_row_answers_like_linux_6_1():
    expected, found = recorded(), answers()
    assert set(expected) == set(found)
    assert {name: found[name] for name in found if found[name] != expected[name]} == {}


def test_a_map_that_is_refused_for_its_types_leaves_them():
    task = Task()
    btf = Btf()
    number = btf.append(BtfType(Kind.INT, "int", 4, bits=32, encoding=1))
    data = btf.encode()
    fd = task.call(18, btf=task.put(data), btf_size=len(data))
    types = {"btf_fd": fd, "btf_key_type_id": number, "btf_value_type_id": number}
    assert task.map(uapi.BPF_MAP_TYPE_LPM_TRIE, 8, 4, map_flags=1, **types) == -EINVAL
    assert task.map(uapi.BPF_MAP_TYPE_HASH, 4, 4, **types) > 0
    task.host.close(fd)
    assert task.call(23, start_id=0) == 0  # the hash keeps them


def test_a_map_of_xdp_sockets_shows_nothing():
    """xsk_map_lookup_elem_sys_only()."""
    task = Task(memory_size=1 << 24)
    fd = task.map(uapi.BPF_MAP_TYPE_XSKMAP, 4, 4)
    assert task.call(1, map_fd=fd, key=task.put(bytes(4)), value=task.put(bytes(4))) == -EOPNOTSUPP


# ---- Linux 4.1: kernel/bpf/{syscall,arraymap,hashtab}.c ----


@pytest.fixture
def old():
    return Task("4.1")


def test_4_1_the_door(old):
    """SYSCALL_DEFINE3(bpf): the checks before any command."""
    good = {"map_type": 2, "key_size": 4, "value_size": 8, "max_entries": 1}
    assert old.call(0, **good) == 3
    assert old.call(0, size=16, **good) == 4
    assert old.call(0, size=15, **good) == 5  # a short size is fine: missing bytes are 0
    assert old.call(0, size=12, **good) == -EINVAL
    assert old.call(0, size=4097) == -E2BIG
    assert old.call(0, size=144, tail={48: 1}, **good) == -E2BIG
    assert old.call(0, size=144, tail={47: 1}, **good) == -EINVAL
    assert old.call(6) == -EINVAL
    assert bpf(old.host.bpf, 0, 0x10, 48) == -EFAULT
    assert bpf(old.host.bpf, 0, old.host.user.base + old.host.user.size - 48, 49) == -EFAULT
    old.host.caps = set()
    assert old.call(0, size=4097) == -EPERM


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        ({"map_type": 0}, -EINVAL),
        ({"map_type": 3}, -EINVAL),
        ({"map_flags": 1}, -EINVAL),
        ({"key_size": 8}, -EINVAL),
        ({"max_entries": 0}, -EINVAL),
        ({"map_type": 1, "key_size": 513}, -E2BIG),
        ({"map_type": 1, "max_entries": 0xFFFFFFFF}, -12),
        ({"max_entries": 0x20000000, "value_size": 8}, -12),
    ],
)
def test_4_1_map_create(old, fields, answer):
    """map_create(), array_map_alloc(), htab_map_alloc()."""
    assert old.map(**{"kind": fields.pop("map_type", 2), "key": 4, "value": 8, "entries": 2} | rename(fields)) == answer


def rename(fields):
    names = {"key_size": "key", "value_size": "value", "max_entries": "entries"}
    return {names.get(name, name): value for name, value in fields.items()}


def test_4_1_element_commands(old):
    """Element commands: map_lookup_elem(), map_update_elem() and their kin, which check in one order."""
    fd = old.map(1, 8, 8, 2)
    prog = old.load(1)
    key, value, out = old.put(bytes(8)), old.put(b"\1" * 8), old.put(bytes(8))
    assert old.call(1, map_fd=99, key=key, value=out, tail={24: 1}) == -EINVAL  # the zero rule comes first
    assert old.call(1, map_fd=99, key=key, value=out) == -EBADF
    assert old.call(1, map_fd=prog, key=key, value=out) == -EINVAL
    assert old.call(1, map_fd=fd, key=0, value=out) == -EFAULT
    assert old.call(4, map_fd=fd, key=0, next_key=out) == -EFAULT  # no first key by NULL in 4.1
    assert old.call(1, map_fd=fd, key=key, value=out) == -ENOENT
    assert old.call(2, map_fd=fd, key=key, value=0) == -EFAULT
    assert old.call(2, map_fd=fd, key=key, value=value, flags=3) == -EINVAL
    assert old.call(2, map_fd=fd, key=key, value=value) == 0
    assert old.call(2, map_fd=fd, key=key, value=value, flags=1) == -EEXIST
    assert old.call(1, map_fd=fd, key=key, value=1) == -EFAULT
    assert old.call(1, map_fd=fd, key=key, value=out) == 0
    assert old.host.user.read(out, 8) == b"\1" * 8
    assert old.call(1, map_fd=fd, key=key, value=out, tail={4: 9}) == 0  # padding is not looked at
    assert old.call(3, map_fd=fd, key=key) == 0
    assert old.call(3, map_fd=fd, key=key) == -ENOENT


def test_4_1_prog_load(old):
    """bpf_prog_load(): the order of the checks."""
    assert old.load(2, kern_version=0x040100) == 3
    assert old.load(2) == -EINVAL  # kern_version
    assert old.load(1) == 4
    assert old.load(5) == -EINVAL
    assert old.call(5, prog_type=1, insn_cnt=4096, insns=0, license=old.put(b"GPL\0")) == -EINVAL
    assert old.call(5, prog_type=1, insn_cnt=1, insns=0, license=old.put(b"GPL\0")) == -EFAULT
    assert old.call(5, prog_type=1, insn_cnt=1, insns=0, license=0) == -EFAULT
    assert old.call(5, prog_type=1, insn_cnt=0, insns=0, license=old.put(b"GPL\0")) == -E2BIG
    assert old.call(5, prog_type=9, insn_cnt=0, insns=0, license=old.put(b"GPL\0")) == -EINVAL
    assert old.load(1, tail={44: 1}) == -EINVAL
    log = old.put(b"\xff" * 300)
    assert old.load(1, "call 5\nexit", log_level=1, log_size=300, log_buf=log) == -EINVAL
    assert old.host.user.read(log, 60) == b"0: (85) call 5\nunknown func 5\n\0" + b"\xff" * 29
    assert old.load(1, log_level=1, log_size=127, log_buf=log) == -EINVAL
    assert old.load(1, log_level=0, log_size=128, log_buf=log) == -EINVAL
    assert old.load(1, log_level=1, log_size=128, log_buf=8) == -EFAULT
    assert old.load(2, "call 5\nexit", license=b"MIT\0", kern_version=0x040100) == -EINVAL


def test_the_patch_set_of_january_2015():
    """The patch set of January 2015: attributes without kern_version, program types 2 and 3."""
    task = Task("3.20-rfc")
    assert task.load(3) == 3
    assert task.load(4) == -EINVAL
    assert task.load(2, size=48, tail={40: 1}) == -E2BIG


# ---- objects ----


def test_a_map_lives_as_long_as_a_program_that_names_it():
    task = Task()
    map_fd = task.map(1)
    prog_fd = task.load(1, [*assemble(f"r1 = map[{map_fd}]\nr0 = 0\nexit")])
    target = task.host.fds[map_fd]
    task.host.close(map_fd)
    assert not target.freed
    info = task.put(bytes(88))
    assert task.call(12, start_id=0) == 0
    assert task.call(14, start_id=target.id) == map_fd
    assert task.call(15, bpf_fd=map_fd, info=info, info_len=88) == 0
    task.host.close(map_fd)
    task.host.close(prog_fd)
    assert target.freed
    assert task.call(14, start_id=target.id) == -ENOENT
    assert task.call(12, start_id=0) == -ENOENT


def test_prog_info_with_partial_sizes():
    task = Task()
    map_fd = task.map(2)
    text = f"r1 = map[{map_fd}]\nr0 = 0\nexit"
    fd = task.load(1, text, prog_name=b"counter")
    info = task.put(bytes(300))
    ids, insns = task.put(bytes(8)), task.put(bytes(64))
    user = task.host.user
    user.write_uint(info + 20, 4, 16)
    user.write_uint(info + 32, 8, insns)
    user.write_uint(info + 52, 4, 2)
    user.write_uint(info + 56, 8, ids)
    assert task.call(15, bpf_fd=fd, info=info, info_len=300) == 0
    assert task.back(15, "info_len") == 232
    assert user.read_uint(info, 4) == 1
    assert user.read_uint(info + 20, 4) == 32  # four instructions
    assert user.read_uint(info + 52, 4) == 1
    assert user.read_uint(ids, 4) == task.host.fds[map_fd].id
    assert user.read(info + 64, 16) == b"counter".ljust(16, b"\0")
    assert user.read(insns, 16)[:2] == b"\x18\x11"  # only as much as there was room for
    assert user.read(insns + 16, 16) == bytes(16)
    short = task.put(bytes(300))
    assert task.call(15, bpf_fd=fd, info=short, info_len=8) == 0
    assert user.read(short, 16) == user.read(info, 8) + bytes(8)


def test_descriptors_run_out_cleanly():
    task = Task()
    task.host.close(task.load(1))  # the stack it would run on stays for the next one
    for fd in range(3, 1024):
        task.host.fds.setdefault(fd, object())
    before = task.host.mem.live_objects
    assert task.map(2) == -EMFILE
    assert task.load(1) == -EMFILE
    assert task.host.bpf.maps.objects == {}
    assert task.host.bpf.progs.objects == {}
    assert task.host.mem.live_objects == before


def test_pins_and_links():
    task = Task()
    prog = task.load(17)
    name = task.put(b"sys_enter\0")
    link = task.call(17, prog_fd=prog, name=name)
    assert isinstance(task.host.attached[0][1], RawTracepointAttach)
    info, text = task.put(bytes(48)), task.put(bytes(16))
    task.host.user.write_uint(info + 16, 8, text)
    task.host.user.write_uint(info + 24, 4, 16)
    assert task.call(15, bpf_fd=link, info=info, info_len=48) == 0
    assert task.host.user.read(text, 10) == b"sys_enter\0"
    assert task.call(20, pid=task.host.pid, fd=link, buf=text, buf_len=4) == -28
    assert task.host.user.read(text, 4) == b"sys\0"
    assert task.call(6, bpf_fd=link, pathname=task.put(b"/sys/fs/bpf/l\0")) == 0
    task.host.close(link)
    assert task.host.attached
    again = task.call(7, pathname=task.put(b"/sys/fs/bpf/l\0"))
    assert again == link
    assert task.call(34, link_fd=again) == -95
    task.host.close(again)
    task.host.pins.popitem()[1].release()
    assert not task.host.attached


def test_test_run_copies_back():
    task = Task()
    prog = task.load(1, "r0 = 77\nexit")
    data, out = task.put(bytes(64)), task.put(b"\xff" * 64)
    fields = {"prog_fd": prog, "data_in": data, "data_size_in": 64, "data_out": out, "repeat": 1}
    assert task.call(10, data_size_out=64, **fields) == 0
    assert task.back(10, "retval") == 77
    assert task.back(10, "data_size_out") == 64
    assert task.host.user.read(out, 64) == bytes(64)
    assert task.call(10, data_size_out=8, **fields) == -28
    assert task.back(10, "retval") == 77


@pytest.mark.parametrize(
    ("version", "kind", "answer"),
    [("4.1", 3, -EINVAL), ("4.9", 9, -EINVAL), ("5.10", 30, -EINVAL), ("5.10", 27, 3), ("6.1", 31, 3)],
)
def test_map_types_by_version(version, kind, answer):
    key, value, entries = (0, 0, 4096) if kind in (27, 31) else (4, 8, 2)
    assert Task(version).map(kind, key, value, entries) == answer


def test_commands_by_version():
    for cmd, since in ((6, "4.4"), (10, "4.12"), (28, "5.7"), (35, "5.10")):
        before = RELEASES[RELEASES.index(since) - 1]
        assert Task(before).call(cmd) == -EINVAL
        assert Task(since).call(cmd, tail={}) != 0


# ---- logs and tokens, as Debian's kernels answer ----

LINE = "processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n"
# level, size of the buffer, is there one -> 6.1's error; 6.12's and 7.2's error, log_true_size and log
LOGS = [
    (0, 0, True, EINVAL, EINVAL, 0, None),
    (0, 0, False, 0, 0, 0, None),
    (1, 0, True, EINVAL, EINVAL, 0, None),
    (1, 0, False, EINVAL, 0, 98, None),
    (1, 1, True, EINVAL, ENOSPC, 98, ""),
    (1, 20, True, EINVAL, ENOSPC, 98, LINE[-19:]),
    (1, 127, True, EINVAL, 0, 98, LINE),
    (1, 128, True, 0, 0, 98, LINE),
    (1, 128, False, EINVAL, EINVAL, 0, None),
    (1, 0x3FFFFFFF, True, 0, 0, 98, LINE),
    (1, 0x40000000, True, EINVAL, EINVAL, 0, None),
    (8, 0, False, EINVAL, 0, 98, None),
    (8, 2, True, EINVAL, ENOSPC, 98, "p"),
    (8, 128, True, EINVAL, 0, 98, LINE),
    (9, 20, True, EINVAL, ENOSPC, 98, LINE[:19]),
    (9, 64, True, EINVAL, ENOSPC, 98, LINE[:63]),
    (16, 128, True, EINVAL, EINVAL, 0, None),
    (17, 0, False, EINVAL, EINVAL, 0, None),
]


@pytest.mark.parametrize("version", ["6.1", "6.12", "7.2"])
@pytest.mark.parametrize("level, size, buffer, old, new, true_size, log", LOGS)
def test_buffers_of_logs(version, level, size, buffer, old, new, true_size, log):
    task = Task(version)
    at = task.put(b"x" * 4096)
    error = old if version == "6.1" else new
    result = task.load(1, log_level=level, log_size=size, log_buf=at if buffer else 0)
    assert (result if result < 0 else 0) == -error
    assert task.back(5, "log_true_size") == (0 if version == "6.1" else true_size)
    text = task.host.user.read(at, 4096).split(b"\0")[0].decode()
    written = log is not None and (version != "6.1" or not old)
    assert text == (log if written else "x" * 4096)


def test_true_size_is_for_who_has_room():
    task = Task("6.12")
    task.call(5, size=140, prog_type=1, insn_cnt=2, insns=task.put(encode(assemble("r0 = 0\nexit"))), license=task.put(b"GPL\0"), log_level=1)  # fmt: skip
    assert task.back(5, "log_true_size") == 0


INT = bytes.fromhex("9feb010018000000000000001000000010000000030000000100000000000001040000002000000100610000")[:43]
PTR = INT[:28] + (0x02000000).to_bytes(4, "little") + INT[32:]


@pytest.mark.parametrize("version", ["6.12", "7.2"])
@pytest.mark.parametrize(
    "btf, level, size, error, true_size, length, begins",
    [
        (INT, 0, 0, 0, 0, None, ""),
        (INT, 1, 0, 0, 174, None, ""),
        (PTR, 1, 0, EINVAL, 149, None, ""),
        (INT, 1, 128, ENOSPC, 174, 127, "4\ntype_off: 0\n"),
        (PTR, 1, 128, ENOSPC, 149, 127, ": 1\nflags: 0x0\n"),
        (PTR, 8, 20, ENOSPC, 149, 19, "magic: 0xeb9f\nversi"),
        (INT, 1, 4096, 0, 174, 173, "magic: 0xeb9f\n"),
        (PTR, 8, 4096, EINVAL, 149, 148, "magic: 0xeb9f\n"),
        (INT, 16, 4096, EINVAL, 0, None, ""),
    ],
)
def test_logs_of_btf(version, btf, level, size, error, true_size, length, begins):
    task = Task(version)
    at = task.put(b"x" * 4096)
    result = task.call(18, btf=task.put(btf), btf_size=len(btf), btf_log_level=level, btf_log_size=size, btf_log_buf=at if size else 0)  # fmt: skip
    assert (result if result < 0 else 0) == -error
    assert task.back(18, "log_true_size") == true_size
    text = task.host.user.read(at, 4096).split(b"\0")[0].decode()
    assert (text[: len(begins)], len(text)) == (begins, length) if length is not None else text == "x" * 4096


def test_flags_of_btf_logs_before_6_4():
    task = Task("6.1")
    more = {"btf_log_size": 4096, "btf_log_buf": task.put(bytes(4096))}
    assert task.call(18, btf=task.put(INT), btf_size=len(INT), btf_log_level=8, **more) == -EINVAL


@pytest.mark.parametrize("version", ["6.12", "7.2"])
@pytest.mark.parametrize("fd, error", [(-1, EBADF), (0, EINVAL), (2, EINVAL), (99, EBADF)])
def test_tokens(version, fd, error):
    task, flag = Task(version), uapi.BPF_F_TOKEN_FD
    assert task.map(2, map_flags=flag, map_token_fd=fd) == -error
    assert task.map(2, map_token_fd=fd) > 0
    assert task.load(1, prog_flags=flag, prog_token_fd=fd) == -error
    assert task.load(1, prog_token_fd=fd) > 0
    btf = {"btf": task.put(INT), "btf_size": len(INT), "btf_token_fd": fd}
    assert task.call(18, btf_flags=flag, **btf) == -error
    assert task.call(18, btf_flags=1, **btf) == -EINVAL


# ---- maps that hold programs: the first program decides what the others are ----

# type, attach type, flags of two programs -> may both use an array of programs, on 5.10 and on 6.1
ALIKE = [
    ((1, 0, 0), (1, 0, 0), True, True),
    ((1, 0, 0), (2, 0, 0), False, False),
    ((3, 0, 0), (5, 0, 0), False, False),
    ((6, 0, 0), (6, 33, 0), True, False),
    ((6, 33, 0), (6, 35, 0), True, False),
    ((9, 2, 0), (9, 34, 0), True, False),
    ((8, 0, 0), (8, 1, 0), True, False),
    ((18, 8, 0), (18, 8, 0), True, True),
    ((6, 0, 0), (6, 0, uapi.BPF_F_XDP_HAS_FRAGS), None, False),
]


def using(task, fd, kind):
    prog_type, attach_type, flags = kind
    insns = bytes.fromhex("1812000000000000") + bytes(8) + bytes.fromhex("b7000000000000009500000000000000")
    insns = insns[:4] + fd.to_bytes(4, "little") + insns[8:]
    return task.call(5, prog_type=prog_type, expected_attach_type=attach_type, prog_flags=flags, insn_cnt=4, insns=task.put(insns), license=task.put(b"GPL\0"))  # fmt: skip


@pytest.mark.parametrize("version, column", [("5.10", 2), ("6.1", 3), ("6.12", 3)])
def test_programs_that_use_an_array_are_alike(version, column):
    for row in ALIKE:
        first, second, may = row[0], row[1], row[column]
        if may is None:
            continue
        task = Task(version)
        fd = task.map(3, 4, 4)
        assert using(task, fd, first) > 0
        result = using(task, fd, second)
        assert (result > 0) if may else result == -EINVAL, row
        # an element decides as well
        task = Task(version)
        fd, key = task.map(3, 4, 4), task.put(bytes(4))
        prog = task.load(first[0], expected_attach_type=first[1], prog_flags=first[2])
        assert task.call(2, map_fd=fd, key=key, value=task.put(prog.to_bytes(4, "little"))) == 0
        result = using(task, fd, second)
        assert (result > 0) if may else result == -EINVAL, row


def test_a_wrong_program_for_a_cpu_is_no_memory():
    task = Task("6.1")
    fd, key = task.map(16, 4, 8), task.put(bytes(4))
    for prog in (task.load(6), task.load(1), 99):
        value = (1).to_bytes(4, "little") + prog.to_bytes(4, "little")
        assert task.call(2, map_fd=fd, key=key, value=task.put(value)) == -ENOMEM


@pytest.mark.parametrize("kind, alike", [(14, True), (16, True), (25, False)])
def test_programs_that_use_a_map_of_devices_are_alike(kind, alike):
    for version, may in (("5.10", True), ("6.1", not alike), ("7.2", not alike)):
        task = Task(version)
        fd = task.map(kind, 4, 8)
        assert using(task, fd, (6, 0, 0)) > 0
        assert using(task, fd, (6, 33, 0)) > 0  # what they are attached to does not matter
        result = using(task, fd, (3, 0, 0))
        assert (result > 0) if may else result == -EINVAL
