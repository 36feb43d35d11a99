"""Helpers, called by programs that the version's verifier accepted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arch.abi.errno import EBADF, EINVAL
from arch.abi.version import NEWEST
from arch.architecture import get
from arch.errors import KernelError
from bpf import uapi
from bpf.core.load import LoadAttr, prog_load
from bpf.core.run_array import trace_call_bpf
from bpf.helpers import Runtime
from bpf.helpers.bprintf import formatted
from bpf.helpers.printk import check_format_4_1, vsnprintf_4_1
from bpf.isa.asm import assemble
from bpf.maps.base import MapAttr
from bpf.testing.host import TestEvent, TestHost

KPROBE, TRACEPOINT, PERF_EVENT = 2, 5, 7


class Machine:
    """A host with named maps, and programs written in assembler."""

    def __init__(self, version=NEWEST, **more):
        self.host = TestHost(version, **more)
        self.maps = {}

    def map(self, name, kind, key=4, value=8, entries=4, **more):
        attr = MapAttr(getattr(uapi, "BPF_MAP_TYPE_" + kind), key, value, entries, **more)
        new = self.host.bpf.new_map(attr)
        new.get_user()
        self.host.bpf.publish_map(new)
        self.maps[name] = self.host.fd_install(new, "bpf-map")
        return new

    def load(self, text, kind=KPROBE, **more):
        version = self.host.version
        attr = LoadAttr(
            kind,
            assemble(text, self.maps),
            license="GPL",
            kern_version=version.code,
            log_level=1,
            **more,
        )
        verdict, prog = prog_load(self.host.bpf, attr)
        assert prog is not None, verdict.log
        return prog

    def run(self, text, ctx=None, **more):
        if ctx is None:
            ctx = self.host.mem.alloc(168)
        return self.load(text, **more).run(ctx)

    def string(self, text):
        data = text if isinstance(text, bytes) else text.encode() + b"\0"
        address = self.host.mem.alloc(len(data))
        self.host.mem.write(address, data)
        return address


@pytest.fixture
def m():
    return Machine()


def signed(value):
    return value - (1 << 32) if value >> 31 else value


def on_stack(text):
    """Assembler that puts a text at fp-N and gives N."""
    data = (text.encode() + b"\0").ljust((len(text) + 8) // 8 * 8, b"\0")
    lines = []
    for i in range(0, len(data), 8):
        number = int.from_bytes(data[i : i + 8], "little")
        lines += [f"r1 = {number} ll", f"*(u64 *)(r10 {i - len(data)}) = r1"]
    return "\n".join(lines), len(data)


# ---- formatted text ----


@pytest.mark.parametrize(
    ("fmt", "kinds"),
    [
        ("plain", []),
        ("%d %u %x", ["", "", ""]),
        ("%ld %llu %lx", ["l", "ll", "l"]),
        ("%p at", ["p"]),
        ("%p", ["p"]),
        ("a %p%d b", ["p"]),  # bpf_trace_printk() of 4.1 does not look at the character behind %p
        ("%p, %d", ["p", ""]),
    ],
)
def test_formats_that_4_1_takes(fmt, kinds):
    assert check_format_4_1(fmt.encode()) == kinds


@pytest.mark.parametrize(
    "fmt", ["%s", "%c", "%i", "%X", "%%", "%5d", "%llp", "%pS", "%d%d%d%d", "%", "%l", "\x01", "\x80"]
)
def test_formats_that_4_1_refuses(fmt):
    with pytest.raises(KernelError) as refused:
        check_format_4_1(fmt.encode("latin-1"))
    assert refused.value.errno == EINVAL


def test_numbers_of_4_1():
    args = (0xFFFFFFFFFFFFFFFF, 0xFFFF888012345678, 0)
    assert vsnprintf_4_1(b"%d %u %x", args) == "-1 305419896 0"
    assert vsnprintf_4_1(b"%ld %lx %llu", args) == "-1 ffff888012345678 0"
    assert vsnprintf_4_1(b"%p|%p|%p", args) == "ffffffffffffffff|ffff888012345678|          (null)"
    assert len(vsnprintf_4_1(b"x" * 2000, args)) == 1023


def test_trace_printk_of_4_1():
    m = Machine("4.1")
    text, size = on_stack("skb %p len %d")
    program = f"{text}\nr1 = r10\nr1 += -{size}\nr2 = 14\nr3 = 0x1234\nr4 = 0x1ffffffff ll\nr5 = 0\ncall 6\nexit"
    assert m.run(program) == len("skb 0000000000001234 len -1")
    assert m.host.printed == ["skb 0000000000001234 len -1"]
    text, size = on_stack("%s")
    program = f"{text}\nr1 = r10\nr1 += -{size}\nr2 = 3\nr3 = 0\nr4 = 0\nr5 = 0\ncall 6\nexit"
    assert signed(m.run(program)) == -EINVAL


@pytest.mark.parametrize(
    ("fmt", "args", "text"),
    [
        (b"%d %i %u %x %X", (-1, -2, -3, 0xAB, 0xAB), b"-1 -2 4294967293 ab AB"),
        (b"%ld %llx", (-1, -1), b"-1 ffffffffffffffff"),
        (b"%5d|%-5d|%05d|%+d|% d", (42, 42, -42, 42, 42), b"   42|42   |-0042|+42| 42"),
        (b"100%% %c%c", (65, 66), b"100% AB"),
        (b"%px", (0xFFFF888000000000,), b"ffff888000000000"),
        ("\u00e4 %d".encode(), (1,), "\u00e4 1".encode()),
    ],
)
def test_formats_of_6_1(m, fmt, args, text):
    rt = Runtime(m.host.bpf, None)
    assert formatted(rt, fmt, [arg & (1 << 64) - 1 for arg in args], 1 << 20) == text


def test_strings_and_addresses_of_6_1(m):
    rt = Runtime(m.host.bpf, None)
    text, user = m.string("kernel"), m.host.put(b"user\0")
    ip4, ip6 = m.string(bytes([192, 168, 0, 1])), m.string(bytes(range(16)))
    assert formatted(rt, b"%s %pks %pus,%s!", [text, text, user, user], 1 << 20) == b"kernel kernel user,user!"
    assert formatted(rt, b"[%10s] [%-8s]", [text, text], 1 << 20) == b"[    kernel] [kernel  ]"
    assert formatted(rt, b"%pI4 %pi4", [ip4, ip4], 1 << 20) == b"192.168.0.1 192.168.000.001"
    assert formatted(rt, b"%pI6", [ip6], 1 << 20) == b"0001:0203:0405:0607:0809:0a0b:0c0d:0e0f"
    assert formatted(rt, b"%s|", [5], 1 << 20) == b"|"
    assert formatted(rt, b"%ps", [0x1234], 1 << 20) == b"0x1234"


@pytest.mark.parametrize("fmt", [b"%d %d", b"%n", b"%lld%", b"%pQ", b"%sx", b"%p1", b"\x01", b"%hd", b"%\xff"])
def test_formats_that_6_1_refuses(m, fmt):
    with pytest.raises(KernelError):
        formatted(Runtime(m.host.bpf, None), fmt, [1], 1 << 20)


@given(st.binary(max_size=12), st.lists(st.integers(0, (1 << 64) - 1), max_size=3))
def test_any_format_is_printed_or_refused(fmt, args):
    host = TestHost(memory_size=1 << 16)
    try:
        formatted(Runtime(host.bpf, None), fmt.split(b"\0")[0], args, 1 << 20)
    except KernelError as refused:
        assert refused.errno == EINVAL


def test_trace_vprintk_and_snprintf(m):
    text, size = on_stack("%d-%d-%d-%d")
    fill = "\n".join(f"*(u64 *)(r10 {-64 + 8 * i}) = {i + 1}" for i in range(4))
    program = f"{text}\n{fill}\nr1 = r10\nr1 += -{size}\nr2 = 12\nr3 = r10\nr3 += -64\nr4 = 32\ncall 177\nexit"
    assert m.run(program) == 7
    assert m.host.printed == ["1-2-3-4"]


@pytest.mark.parametrize(
    ("text", "flags", "consumed", "value"),
    [
        ("42", 0, 2, 42),
        ("  -7x", 10, 4, -7),
        ("0x1f", 0, 4, 31),
        ("017", 0, 3, 15),
        ("ff", 16, 2, 255),
        ("0xff", 16, 4, 255),
        ("", 0, -22, 0),
        ("x", 0, -22, 0),
        ("99999999999999999999", 0, -34, 0),
        ("1", 3, -22, 0),
    ],
)
def test_strtol(m, text, flags, consumed, value):
    from bpf.helpers import find

    buf, result = m.string(text or "\0"), m.host.mem.alloc(8)
    rt = Runtime(m.host.bpf, None)
    call = find("bpf_strtol").bind(rt)
    got = call([0, buf, len(text), flags, result, 0])
    assert got == consumed & (1 << 64) - 1
    assert m.host.mem.read_uint(result, 8) == value & (1 << 64) - 1


# ---- memory ----


def test_probe_read(m):
    source = m.string(b"abcdefgh")
    program = f"""
        r1 = r10
        r1 += -8
        r2 = 8
        r3 = {source} ll
        call bpf_probe_read_kernel
        r0 = *(u8 *)(r10 -8)
        exit
    """
    assert m.run(program) == ord("a")
    m.host.user.write(0x10100, b"z")
    faulty = program.replace(str(source), "0x10100")
    assert m.run(faulty) == 0  # a user address: refused, and the buffer cleared
    assert m.run(faulty.replace("probe_read_kernel", "probe_read_user")) == ord("z")
    assert m.run(faulty.replace("bpf_probe_read_kernel", "bpf_probe_read")) == ord("z")


@pytest.mark.parametrize(
    "address, size, answer",
    [
        (0xFFFFFFFFFF600000, 8, -34),
        (0xFFFFFFFFFF601000, 8, -14),
        (0, 0, -34),
        (0x1234, 0, -34),
        (0xFFFFFFFFFFFFF000, 8, -14),
    ],
)
def test_addresses_that_are_none_of_the_kernels(address, size, answer):
    """As Linux 6.1 of Debian answered: the vsyscall page, and user addresses whatever the size."""
    m = Machine("6.1")
    m.host.arch = get("x86_64")
    program = f"r1 = r10\nr1 += -8\nr2 = {size}\nr3 = {address} ll\ncall bpf_probe_read_kernel\nexit"
    assert m.run(program) == answer & 0xFFFFFFFF


def test_a_fault_leaves_the_buffer_alone_in_4_1():
    m = Machine("4.1")
    program = "*(u64 *)(r10 -8) = 77\nr1 = r10\nr1 += -8\nr2 = 8\nr3 = 16\ncall 4\nr0 = *(u64 *)(r10 -8)\nexit"
    assert m.run(program) == 77


def test_strings_are_read_up_to_their_end(m):
    source = m.string("hello")
    program = f"""
        *(u64 *)(r10 -8) = -1
        r1 = r10
        r1 += -8
        r2 = 4
        r3 = {source} ll
        call bpf_probe_read_kernel_str
        r6 = r0
        r0 = *(u32 *)(r10 -8)
        r0 <<= 8
        r0 |= r6
        exit
    """
    assert m.run(program) == (int.from_bytes(b"hel\0", "little") << 8 | 4) & 0xFFFFFFFF


# ---- who and when ----


def test_the_current_task(m):
    m.host.pid, m.host.tgid, m.host.uid, m.host.gid, m.host.comm = 12, 11, 1000, 100, "writer"
    assert m.run("call bpf_get_current_pid_tgid\nexit") == 12
    assert m.run("call bpf_get_current_pid_tgid\nr0 >>= 32\nexit") == 11
    assert m.run("call bpf_get_current_uid_gid\nexit") == 1000
    program = "r1 = r10\nr1 += -16\nr2 = 16\ncall bpf_get_current_comm\nr0 = *(u32 *)(r10 -16)\nexit"
    assert m.run(program) == int.from_bytes(b"writ", "little")


def test_clocks_and_numbers(m):
    m.host.time_ns = 5_000
    assert m.run("call bpf_ktime_get_ns\nexit") == 5000
    assert m.run("call bpf_ktime_get_boot_ns\nexit") == 5000
    first, second = m.run("call bpf_get_prandom_u32\nexit"), m.run("call bpf_get_prandom_u32\nexit")
    assert first != second
    assert first == Machine().run("call bpf_get_prandom_u32\nexit")  # the same seed, the same numbers


def test_jiffies_are_a_word_that_an_inlined_program_reads(m):
    for ns in (0, 5_000_000_000, 1 << 50):
        m.host.time_ns = ns
        assert m.run("call bpf_jiffies64\nexit") == ns // 4_000_000 - 300 * 250 & 0xFFFFFFFF  # HZ=250


def test_signals(m):
    assert m.run("r1 = 9\ncall bpf_send_signal\nexit") == 0
    assert signed(m.run("r1 = 99\ncall bpf_send_signal\nexit")) == -EINVAL
    assert m.host.signals == [(9, True)]


def test_cookies(m):
    prog = m.load("call bpf_get_attach_cookie\nexit")
    assert prog.run(m.host.mem.alloc(168), cookie=0x77) == 0x77
    assert prog.run(m.host.mem.alloc(168)) == 0


# ---- maps and programs ----


def test_tail_calls(m):
    array = m.map("progs", "PROG_ARRAY", 4, 4, 4)
    again = m.load("r6 = r1\nr2 = map[progs]\nr3 = 0\ncall bpf_tail_call\nr0 = 5\nexit")
    last = m.load("r0 = 42\nexit")
    for index, prog in ((0, again), (1, last)):
        prog.get()
        fd = m.host.fd_install(prog, "bpf-prog")
        array.user_update(index.to_bytes(4, "little"), fd.to_bytes(4, "little"), 0)
    assert m.run("r2 = map[progs]\nr3 = 1\ncall bpf_tail_call\nr0 = 1\nexit") == 42
    assert m.run("r2 = map[progs]\nr3 = 3\ncall bpf_tail_call\nr0 = 1\nexit") == 1
    assert m.run("r2 = map[progs]\nr3 = 9\ncall bpf_tail_call\nr0 = 1\nexit") == 1
    assert again.run(m.host.mem.alloc(168)) == 5  # 33 times, then it goes on


def test_loops_call_back(m):
    program = """
        *(u64 *)(r10 -8) = 0
        r1 = 10
        r2 = func[add]
        r3 = r10
        r3 += -8
        r4 = 0
        call bpf_loop
        r6 = r0
        r0 = *(u64 *)(r10 -8)
        r0 <<= 8
        r0 |= r6
        exit
      add:
        r3 = *(u64 *)(r2 +0)
        r3 += r1
        *(u64 *)(r2 +0) = r3
        r0 = 0
        if r1 != 4 goto out
        r0 = 1
      out:
        exit
    """
    from bpf.btf import Btf, BtfType, Kind

    btf = Btf()
    proto = btf.append(BtfType(Kind.FUNC_PROTO, type=0))
    names = [btf.append(BtfType(Kind.FUNC, name, type=proto, linkage=0)) for name in ("main", "add")]
    info = [(0, names[0]), (13, names[1])]
    value = m.run(program, prog_btf=btf, func_info=info)
    assert value == (0 + 1 + 2 + 3 + 4) << 8 | 5


def test_every_element(m):
    a_map = m.map("h", "HASH", 4, 8, 4)
    for i in range(3):
        a_map.update(i.to_bytes(4, "little"), (10 * i).to_bytes(8, "little"), 0)
    seen = []
    rt = Runtime(m.host.bpf, None)
    assert a_map.for_each(lambda key, value: seen.append(rt.mem.read_uint(value, 8)) or 0) == 3
    assert sorted(seen) == [0, 10, 20]


def test_ring_buffer(m):
    ring = m.map("rb", "RINGBUF", 0, 0, 4096)
    program = """
        r1 = map[rb]
        r2 = 16
        r3 = 0
        call bpf_ringbuf_reserve
        if r0 == 0 goto out
        *(u64 *)(r0 +0) = 7
        *(u64 *)(r0 +8) = 8
        r1 = r0
        r2 = 0
        call bpf_ringbuf_submit
        r1 = map[rb]
        r2 = 0
        call bpf_ringbuf_query
      out:
        exit
    """
    assert m.run(program) == 24
    assert m.host.mem.read(ring.data, 24) == (16).to_bytes(8, "little")[:4] + bytes([3, 0, 0, 0]) + b"\7" + bytes(
        7
    ) + b"\10" + bytes(7)
    assert m.host.woken == [ring]


def test_perf_event_output(m):
    array = m.map("events", "PERF_EVENT_ARRAY", 4, 4, 2)
    event = TestEvent(1, 10)
    fd = m.host.fd_install(event, "perf")
    program = """
        *(u64 *)(r10 -8) = 99
        r2 = map[events]
        r3 = 0xffffffff ll
        r4 = r10
        r4 += -8
        r5 = 8
        call bpf_perf_event_output
        exit
    """
    assert signed(m.run(program)) == -2
    array.user_update(bytes(4), fd.to_bytes(4, "little"), 0)
    assert m.run(program) == 0
    assert m.host.perf_samples == [(event, (99).to_bytes(8, "little"))]
    m.host.perf_room = 1
    assert signed(m.run(program)) == -28  # what the program is told is what the reader misses
    event.cpu = 1
    assert signed(m.run(program)) == -95
    event.config = 1
    assert signed(m.run(program)) == -22


def test_stacks(m):
    traces = m.map("traces", "STACK_TRACE", 4, 24, 8)
    m.host.stack = [0x1111, 0x2222, 0x3333, 0x4444]
    program = "r2 = map[traces]\nr3 = 0\ncall bpf_get_stackid\nexit"
    number = m.run(program)
    assert traces.user_lookup(number.to_bytes(4, "little"), 0)[:8] == (0x1111).to_bytes(8, "little")
    buffer = "\n".join(f"*(u64 *)(r10 {-32 + 8 * i}) = 0" for i in range(4))
    program = f"{buffer}\nr2 = r10\nr2 += -32\nr3 = 32\nr4 = 1\ncall bpf_get_stack\nr6 = r0\nr0 = *(u64 *)(r10 -32)\nr0 <<= 8\nr0 |= r6\nexit"
    assert m.run(program) == 0x2222 << 8 | 24


def test_timers(m):
    from bpf.helpers import find

    a_map = m.map("t", "ARRAY", 4, 16, 1)
    a_map.timer_off = 0
    rt = Runtime(m.host.bpf, m.load("r0 = 0\nexit"))
    timer = a_map.values
    call = {name: find(f"bpf_timer_{name}").bind(rt) for name in ("init", "start", "cancel", "set_callback")}
    assert call["start"]([0, timer, 5, 0, 0, 0]) == -EINVAL & (1 << 64) - 1
    assert call["init"]([0, timer, a_map.address, 1, 0, 0]) == 0
    assert call["init"]([0, timer, a_map.address, 1, 0, 0]) == -16 & (1 << 64) - 1
    fired = []
    rt.prog.run_function = lambda *args: fired.append(args)
    assert call["set_callback"]([0, timer, 0x1234, 0, 0, 0]) == 0
    assert call["start"]([0, timer, 500, 0, 0, 0]) == 0
    m.host.advance(499)
    assert fired == []
    m.host.advance(1)
    assert fired[0][:2] == (0x1234, a_map.address)
    assert fired[0][3] == a_map.values
    assert call["start"]([0, timer, 500, 0, 0, 0]) == 0
    assert call["cancel"]([0, timer, 0, 0, 0, 0]) == 1
    assert call["cancel"]([0, timer, 0, 0, 0, 0]) == 0


def test_programs_of_probes_do_not_nest(m):
    outer = m.load("r0 = 1\nexit")
    ctx = m.host.mem.alloc(168)
    assert trace_call_bpf(m.host.bpf, [outer, m.load("r0 = 1\nexit")], ctx) == 1
    assert trace_call_bpf(m.host.bpf, [outer, m.load("r0 = 0\nexit")], ctx) == 0
    m.host.bpf.active[0] = 1
    assert trace_call_bpf(m.host.bpf, [outer], ctx) == 0
    assert outer.recursion_misses == 0  # counted since 6.7


def test_helpers_of_january_2015():
    m = Machine("3.20-rfc")
    text = m.string("lo")
    program = f"""
        *(u16 *)(r10 -8) = 0x6f6c
        *(u16 *)(r10 -6) = 0
        *(u32 *)(r10 -4) = 0
        r1 = {text} ll
        r2 = r10
        r2 += -8
        r3 = 2
        call 9
        exit
    """
    assert m.run(program, kind=2) == 0
    assert m.run(f"r1 = {text} ll\ncall 7\nexit", kind=2) == int.from_bytes(b"lo", "little")
    assert m.run("r1 = 5\ncall 5\nexit", kind=2) == 0
    assert m.run("call 10\nr0 = 0\nexit", kind=3) == 0
    assert m.host.printed == ["<stack trace>"]


def test_bpf_from_a_program(m):
    from bpf.helpers import find

    rt = Runtime(m.host.bpf, None)
    attr = m.string(b"".join(n.to_bytes(4, "little") for n in (2, 4, 8, 1)))
    call = find("bpf_sys_bpf").bind(rt)
    fd = call([0, uapi.BPF_MAP_CREATE, attr, 16, 0, 0])
    assert m.host.fds[fd].value_size == 8
    assert call([0, uapi.BPF_MAP_LOOKUP_ELEM, attr, 16, 0, 0]) == -EINVAL & (1 << 64) - 1


def test_closing_what_is_not_open_is_ebadf(m):
    with pytest.raises(KernelError) as refused:
        m.host.close(256)
    assert refused.value.errno == EBADF
