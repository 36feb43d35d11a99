"""C declarations parsed, laid out as compilers do, and read through views."""

import pytest

from arch import architecture
from arch.abi.version import NEWEST, KernelVersion
from arch.ctype import CTypeError
from arch.cview import View
from arch.datamodel import ILP32_LE_ARM, ILP32_LE_I386, LP64_BE, LP64_LE
from arch.typetable import TypeTable, kernel_types


class Bytes:
    """Plain memory for the tests."""

    def __init__(self, byteorder="little", size=4096):
        self.byteorder = byteorder
        self.data = bytearray(size)

    def read(self, addr, size):
        return bytes(self.data[addr : addr + size])

    def write(self, addr, data):
        self.data[addr : addr + len(data)] = data

    def read_uint(self, addr, size):
        return int.from_bytes(self.read(addr, size), self.byteorder)

    def write_uint(self, addr, size, value):
        self.write(addr, (value & (1 << 8 * size) - 1).to_bytes(size, self.byteorder))


TEXT = """
#define COMM_LEN (8 * 2)
typedef unsigned int u32;
typedef unsigned long long u64;
struct list_head { struct list_head *next, *prev; };
enum color { RED, GREEN = 5, BLUE };
struct task {
	volatile long state; /* until 5.14 */
	unsigned int __state; /* since 5.14 */
	union { u64 whole; struct { u32 low, high; }; };
	unsigned int x : 3, y : 5;
	int z : 7;
	struct list_head tasks;
	struct task *parent;
	char comm[COMM_LEN];
	int (*notify)(struct task *, const char *why);
	struct { short grid[2][3]; } in[2];
	enum color color;
	_Bool dead;
	int small_only; /* bits 32 */
};
struct packed { char a; u64 b; } __attribute__((packed));
struct wide { char c; } __attribute__((aligned(64)));
struct tail { int n; char data[]; };
"""


@pytest.fixture
def table():
    t = TypeTable(LP64_LE)
    t.parse(TEXT)
    return t


def test_layout(table):
    assert table.offsetof("struct task", "__state") == 0
    assert table.offsetof("struct task", "high") == 12
    assert table.offsetof("struct task", "in[1].grid[1][2]") == table.offsetof("struct task", "in") + 12 + 10
    assert table.sizeof("struct packed") == 9
    assert (table.sizeof("struct wide"), table.alignof("struct wide")) == (64, 64)
    assert table.sizeof("struct tail") == 4 and table.offsetof("struct tail", "data") == 4
    assert table.constant("BLUE") == 6 and table.constant("COMM_LEN") == 16
    assert table.sizeof("struct task *") == 8
    assert table.evaluate("sizeof(struct list_head) * 2 + (1 ? 3 : 4)") == 35


def test_conditions_choose_by_version_and_word_size():
    old = TypeTable(LP64_LE, version=KernelVersion.parse("4.1"))
    old.parse(TEXT)
    assert old.has_member("struct task", "state") and not old.has_member("struct task", "__state")
    assert not old.has_member("struct task", "small_only")
    small = TypeTable(ILP32_LE_ARM)
    small.parse(TEXT)
    assert small.has_member("struct task", "small_only")
    exactly = TypeTable(LP64_LE, version=KernelVersion.parse("5.14"))
    exactly.parse(TEXT)
    assert exactly.has_member("struct task", "__state") and not exactly.has_member("struct task", "state")


def test_view_reads_and_writes(table):
    mem = Bytes()
    v = View(mem, 64, table.type("struct task"))
    v.whole = 0x1111111122222222
    assert (v.low, v.high) == (0x22222222, 0x11111111)
    v.x, v.y, v.z = 9, 3, -2
    assert (v.x, v.y, v.z) == (1, 3, -2)
    v.comm = "bash"
    assert v.comm.string() == "bash" and v.comm[0] == ord("b") and len(v.comm) == 16
    v["in[1].grid[1][2]"] = -7
    assert v["in"][1].grid[1][2] == -7
    v.dead = 5
    assert v.dead == 1
    v.parent = 1024
    v.follow("parent").__state = 77
    assert View(mem, 1024, table.type("struct task")).__state == 77
    assert v.address_of("comm") == 64 + table.offsetof("struct task", "comm")
    with pytest.raises(AttributeError):
        v.nothing = 1
    with pytest.raises(AttributeError):
        v.nothing  # noqa: B018


def test_big_endian_bitfields_count_from_the_other_end():
    t = TypeTable(LP64_BE)
    t.parse("struct f { unsigned int a : 4, b : 12; unsigned char c : 2; };")
    mem = Bytes("big")
    v = t.view(mem, 0, "struct f")
    v.a, v.b, v.c = 0xA, 0xBCD, 1
    assert mem.read(0, 3) == b"\xab\xcd\x40"
    assert (v.a, v.b, v.c) == (0xA, 0xBCD, 1)


@pytest.mark.parametrize(("model", "expected"), [(LP64_LE, 16), (ILP32_LE_I386, 12), (ILP32_LE_ARM, 16), (LP64_BE, 16)])
def test_long_long_alignment(model, expected):
    t = TypeTable(model)
    t.parse("struct s { int a; long long b; };")
    assert t.sizeof("struct s") == expected


def test_prototypes(table):
    table.parse("typedef long ssize_t; typedef unsigned long size_t; typedef long long loff_t;")
    decl = table.prototype("ssize_t vfs_write(struct file *file, const char *buf, size_t count, loff_t *pos)")
    assert decl.name == "vfs_write" and [name for name, _ in decl.params] == ["file", "buf", "count", "pos"]
    assert table.prototype("int printf(const char *fmt, ...)").variadic
    assert table.prototype("void f(void)").params == ()
    nested = table.prototype("void (*signal(int sig, void (*func)(int)))(int)")
    assert nested.name == "signal" and nested.params[1][0] == "func"


@pytest.mark.parametrize(
    "text", ["struct {", "int x", "nosuch_t x;", "struct s { int : ; };", "enum e { A = 1/0 };", "int a[;", "@"]
)
def test_bad_text_is_an_error(text):
    with pytest.raises(CTypeError):
        TypeTable().parse(text)


def test_compiled_accessors(table):
    get, put = table.getter("struct task", "in[0].grid[0][1]"), table.setter("struct task", "in[0].grid[0][1]")
    mem = Bytes()
    put(mem, 8, 0x1FFFF)
    assert get(mem, 8) == -1


@pytest.mark.parametrize("version", [KernelVersion.parse(text) for text in ("6.1", "5.10", "4.1", "3.20-rfc")])
@pytest.mark.parametrize("arch", architecture.names())
def test_kernel_headers_parse_whole(arch, version):
    t = kernel_types(architecture.get(arch), version)
    t.parse_all()
    for (_, name), struct in t.names.structs.items():
        for member in struct.members:
            inner = member.type.strip
            assert getattr(inner, "is_complete", True), f"{name}.{member.name} is of an incomplete type"
    assert t.has_member("struct task_struct", "__state") == (version.at_least("5.14"))
    assert t.has_member("struct request", "rq_disk") == (version.before("5.17"))
    assert t.sizeof("struct list_head") == 2 * t.model.word


@pytest.mark.parametrize("name", ["x86_64", "arm64", "riscv64", "s390x"])
@pytest.mark.parametrize("version", [KernelVersion.parse(text) for text in ("6.1", "4.1")])
def test_saved_registers_agree_with_the_register_tables(name, version):
    arch = architecture.get(name)
    table = kernel_types(arch, version)
    layout = arch.pt_regs_for(version)
    struct = table.struct("struct pt_regs")
    assert struct.size == layout.size
    for row in layout.rows:
        if table.has_member(struct, row.field):
            member = table.resolve(struct, row.field)
            assert (member.offset, member.type.size) == (row.offset, row.size), row.field


LIBBPF_TOOLS_READ = """
block_device.bd_disk cfs_rq.nr_running dentry.d_name.name file.f_inode file.f_mode file.f_path.dentry
gendisk.disk_name gendisk.first_minor gendisk.major inet_sock.bind_address_no_port inet_sock.freebind
inet_sock.inet_saddr inet_sock.inet_sport inet_sock.transparent inode.i_ino inode.i_mode inode.i_rdev inode.i_sb
irqaction.name kiocb.ki_filp kiocb.ki_pos kmem_cache.name kmem_cache.size mnt_namespace.ns.inum net.ns.inum
nsproxy.mnt_ns oom_control.chosen oom_control.totalpages path.dentry pid.level pid.numbers pid_namespace.ns.inum
request.__data_len request.__sector request.cmd_flags request.q request_queue.elevator request_queue.disk
sock.__sk_common.skc_daddr sock.__sk_common.skc_dport sock.__sk_common.skc_num sock.__sk_common.skc_rcv_saddr
sock.__sk_common.skc_bound_dev_if sock.__sk_common.skc_family sock.__sk_common.skc_net.net sock.__sk_common.skc_reuse
sock.__sk_common.skc_reuseport sock.__sk_common.skc_state sock.__sk_common.skc_v6_daddr.in6_u.u6_addr32
sock.__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32 sock.sk_ack_backlog sock.sk_max_ack_backlog sock.sk_protocol
socket.sk socket.type super_block.s_dev task_struct.comm task_struct.exit_code task_struct.flags
task_struct.group_leader task_struct.nsproxy task_struct.pid task_struct.real_parent task_struct.se.cfs_rq
task_struct.start_time task_struct.tgid task_struct.thread_pid task_struct.__state tcp_sock.bytes_acked
tcp_sock.bytes_received tcp_sock.srtt_us upid.ns bpf_perf_event_data.sample_period renamedata.old_mnt_userns
"""


def test_what_libbpf_tools_read_exists():
    t = kernel_types(architecture.get("x86_64"), NEWEST)
    missing = [
        p for p in LIBBPF_TOOLS_READ.split() if not t.has_member("struct " + p.split(".")[0], p.split(".", 1)[1])
    ]
    assert missing == []
