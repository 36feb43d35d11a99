/* Structs of functions that programs supply (BPF_MAP_TYPE_STRUCT_OPS): what maps, values and programs may be, when they are known, used and let go.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/btf.h>

enum { SIZE = 256, AT = 64, TCP = 6, TCP_CONGESTION = 13 };
enum { SSTHRESH = 0, AVOID = 8, STATE = 16, EVENT = 24, MIN_TSO = 48, UNDO = 64, INFO = 80, NAME = 88, OWNER = 104, LIST = 112, KEY = 128, FLAGS = 132, INIT = 136, RELEASE = 144 };
/* members by their numbers in struct tcp_congestion_ops */
enum { M_SSTHRESH, M_AVOID, M_STATE, M_EVENT, M_ACK_EVENT, M_ACKED, M_MIN_TSO, M_CONTROL, M_UNDO, M_EXPAND, M_INFO, M_NAME, M_OWNER, M_LIST, M_KEY, M_FLAGS, M_INIT, M_RELEASE };

static struct bpf_insn none[] = { SET(0, 2), EXIT }, plain[] = { EXIT };
static unsigned wrapped, ops, dummy;
static long btf, programs[18];
static char value[SIZE];

static long types(void)
{
	static char blob[100], names[5] = "\0int";
	unsigned rows[] = { 1, BTF_KIND_INT << 24, 4, BTF_INT_SIGNED << 24 | 32 };
	struct btf_header header = { 0xeb9f, 1, 0, sizeof(header), 0, sizeof(rows), sizeof(rows), 5 };
	memcpy(blob, &header, sizeof(header)), memcpy(blob + sizeof(header), rows, sizeof(rows)), memcpy(blob + sizeof(header) + sizeof(rows), names, 5);
	attr.btf = (ulong)blob, attr.btf_size = sizeof(header) + sizeof(rows) + 5;
	return bpf(BPF_BTF_LOAD);
}

static long load(unsigned type, int member, const char *license)
{
	attr.prog_type = BPF_PROG_TYPE_STRUCT_OPS, attr.expected_attach_type = member, attr.attach_btf_id = type;
	attr.insns = (ulong)none, attr.insn_cnt = 2, attr.license = (ulong)license;
	return bpf(BPF_PROG_LOAD);
}

static long make(int key, int size, int entries, int flags, unsigned type, long types)
{
	attr.map_type = BPF_MAP_TYPE_STRUCT_OPS, attr.key_size = key, attr.value_size = size, attr.max_entries = entries, attr.map_flags = flags;
	attr.btf_vmlinux_value_type_id = type, attr.btf_fd = types;
	return bpf(BPF_MAP_CREATE);
}

static long fresh(void) { return make(4, SIZE, 1, 0, wrapped, btf); }
static void word(int at, unsigned v) { memcpy(value + at, &v, 4); }
static void full(const char *name)
{
	memset(value, 0, sizeof(value));
	word(AT + SSTHRESH, programs[M_SSTHRESH]), word(AT + AVOID, programs[M_AVOID]), word(AT + UNDO, programs[M_UNDO]);
	memcpy(value + AT + NAME, name, strlen(name));
}

static long put_value(long map, unsigned key, int flags)
{
	attr.map_fd = map, attr.key = (ulong)&key, attr.value = (ulong)value, attr.flags = flags;
	return bpf(BPF_MAP_UPDATE_ELEM);
}

static long drop(long map) { return bpf_element(BPF_MAP_DELETE_ELEM, map, 0, 0); }

static void state(long map)
{
	unsigned seen[SIZE / 4];
	memset(seen, 0, sizeof(seen));
	long ret = bpf_element(BPF_MAP_LOOKUP_ELEM, map, 0, seen);
	say("  look %r", ret);
	say(" count %d state %d name %s programs %d %d\n", seen[0], seen[1], (char *)seen + AT + NAME, seen[(AT + SSTHRESH) / 4] != 0, seen[(AT + SSTHRESH) / 4 + 1] != 0);
}

static void maps(void)
{
	static const int rows[][4] = { { 4, SIZE, 1, 0 }, { 8, SIZE, 1, 0 }, { 4, SIZE - 8, 1, 0 }, { 4, SIZE + 8, 1, 0 }, { 4, SIZE, 2, 0 }, { 4, SIZE, 0, 0 },
		{ 4, SIZE, 1, BPF_F_RDONLY }, { 4, SIZE, 1, BPF_F_MMAPABLE }, { 4, SIZE, 1, BPF_F_NO_PREALLOC }, { 4, SIZE, 1, BPF_F_RDONLY_PROG }, { 4, SIZE, 1, BPF_F_NUMA_NODE } };
	for (int i = 0; i < (int)(sizeof(rows) / sizeof(*rows)); i++) {
		long map = make(rows[i][0], rows[i][1], rows[i][2], rows[i][3], wrapped, btf);
		say("map key %d value %d entries %d flags %x: %r\n", rows[i][0], rows[i][1], rows[i][2], (long)rows[i][3], map < 0 ? map : 0);
		if (map >= 0)
			sys(__NR_close, map);
	}
	say("of the struct itself %r", make(4, 192, 1, 0, ops, btf));
	say(", of another struct %r", make(4, SIZE, 1, 0, btf_id("task_struct", BTF_KIND_STRUCT), btf));
	say(", of nothing %r", make(4, SIZE, 1, 0, 0, btf));
	say(", of no type %r", make(4, SIZE, 1, 0, 0x7fffffff, btf));
	say(", without types %r\n", make(4, SIZE, 1, 0, wrapped, 0));
	attr.map_type = BPF_MAP_TYPE_ARRAY, attr.key_size = 4, attr.value_size = SIZE, attr.max_entries = 1, attr.btf_vmlinux_value_type_id = wrapped;
	say("an array of them %r\n", bpf(BPF_MAP_CREATE));
}

static void loading(void)
{
	static char log[4000];
	for (int member = 0; member < 20; member++) {
		long fd = load(ops, member, "GPL");
		say(" %d %r", member, fd < 0 ? fd : 0);
		if (member < 18)
			programs[member] = fd;
	}
	say("\nfree %r", load(ops, M_SSTHRESH, "Proprietary"));
	say(" of the map's struct %r", load(wrapped, 0, "GPL"));
	say(" of a task %r", load(btf_id("task_struct", BTF_KIND_STRUCT), 0, "GPL"));
	say(" of nothing %r", load(0, 0, "GPL"));
	long fd = load(dummy, 0, "GPL");
	say(" of the one for tests %r\n", fd < 0 ? fd : 0);
	attr.prog_type = BPF_PROG_TYPE_STRUCT_OPS, attr.expected_attach_type = M_SSTHRESH, attr.attach_btf_id = ops, attr.insns = (ulong)plain, attr.insn_cnt = 1, attr.license = (ulong)"GPL";
	attr.log_level = 1, attr.log_buf = (ulong)log, attr.log_size = sizeof(log);
	say("without an answer %r", bpf(BPF_PROG_LOAD));
	say(" %s", log);
}

static void values(void)
{
	long map = fresh();
	say("a map %r\n", map < 0 ? map : 0);
	state(map);
	say("no name %r\n", (full(""), put_value(map, 0, 0)));
	say("a name that does not end %r\n", (full("0123456789abcdef"), put_value(map, 0, 0)));
	say("key 1 %r", (full("one"), put_value(map, 1, 0)));
	for (int flags = 1; flags < 5; flags++)
		say(" flags %d %r", flags, put_value(map, 0, flags));
	say("\ncount %r", (full("one"), word(0, 1), put_value(map, 0, 0)));
	say(" state %r", (full("one"), word(4, 1), put_value(map, 0, 0)));
	say(" hole %r", (full("one"), word(8, 1), put_value(map, 0, 0)));
	say(" key %r", (full("one"), word(AT + KEY, 1), put_value(map, 0, 0)));
	say(" list %r", (full("one"), word(AT + LIST, 1), put_value(map, 0, 0)));
	say(" owner %r\n", (full("one"), word(AT + OWNER, 1), put_value(map, 0, 0)));
	for (unsigned flags = 1; flags < 16; flags *= 2) {
		say("flags %d %r", flags, (full("one"), word(AT + FLAGS, flags), put_value(map, 0, 0)));
		long ret = drop(map);
		say(" deleted %r\n", ret);
		sys(__NR_close, map), map = fresh();
	}
	say("no ssthresh %r", (full("one"), word(AT + SSTHRESH, 0), put_value(map, 0, 0)));
	say(" no undo_cwnd %r", (full("one"), word(AT + UNDO, 0), put_value(map, 0, 0)));
	say(" no cong_avoid %r", (full("one"), word(AT + AVOID, 0), put_value(map, 0, 0)));
	say(" another member's %r", (full("one"), word(AT + SSTHRESH, programs[M_UNDO]), put_value(map, 0, 0)));
	long filter = bpf_program(BPF_PROG_TYPE_SOCKET_FILTER, none, 2);
	say(" a filter %r", (full("one"), word(AT + SSTHRESH, filter), put_value(map, 0, 0)));
	say(" a map %r", (full("one"), word(AT + SSTHRESH, map), put_value(map, 0, 0)));
	say(" nothing %r", (full("one"), word(AT + SSTHRESH, 999), put_value(map, 0, 0)));
	say(" get_info %r\n", (full("one"), word(AT + INFO, programs[M_SSTHRESH]), put_value(map, 0, 0)));
	sys(__NR_close, filter), sys(__NR_close, map);
}

static long use(const char *name)
{
	long fd = sys(__NR_socket, 2, 1, 0), ret = sys(__NR_setsockopt, fd, TCP, TCP_CONGESTION, name, strlen(name));
	if (ret < 0)
		sys(__NR_close, fd);
	return ret < 0 ? ret : fd;
}

static int listed(const char *name)
{
	static char text[400];
	memset(text, 0, sizeof(text));
	slurp("/proc/sys/net/ipv4/tcp_available_congestion_control", text, sizeof(text) - 1);
	for (char *at = text; *at; at++)
		if (!memcmp(at, name, strlen(name)))
			return 1;
	return 0;
}

static void living(void)
{
	long map = fresh(), other = fresh();
	say("known %r", (full("mine"), put_value(map, 0, 0)));
	say(" listed %d\n", listed("mine"));
	state(map);
	say("again %r", put_value(map, 0, 0));
	say(" by another map %r", put_value(other, 0, 0));
	say(" as cubic %r", (full("cubic"), put_value(other, 0, 0)));
	say(" other %r\n", (full("other"), put_value(other, 0, 0)));
	long a = use("mine"), b = use("other"), c = use("third");
	say("used %r %r", a < 0 ? a : 0, b < 0 ? b : 0);
	say(" %r\n", c);
	state(map);
	say("deleted %r", drop(map));
	say(" listed %d", listed("mine"));
	c = use("mine");
	say(" used %r\n", c < 0 ? c : 0);
	state(map);
	say("again %r", drop(map));
	say(" put %r\n", (full("mine"), put_value(map, 0, 0)));
	sys(__NR_close, a);
	state(map);
	say("put %r", (full("mine"), put_value(map, 0, 0)));
	say(" deleted %r\n", drop(map));
	sys(__NR_close, other);
	say("a map that is closed: listed %d", listed("other"));
	c = use("other");
	say(" used %r\n", c < 0 ? c : 0);
	sys(__NR_close, b);
	nap(100);
	say("without its last socket: listed %d", listed("other"));
	c = use("other");
	say(" used %r\n", c < 0 ? c : 0);
	sys(__NR_close, map);
}

static void commands(void)
{
	long map = fresh();
	unsigned key = 0, next = 7;
	int at = 5;
	full("mine");
	attr.map_fd = map, attr.key = 0, attr.next_key = (ulong)&next;
	say("first key %r", bpf(BPF_MAP_GET_NEXT_KEY));
	attr.map_fd = map, attr.key = (ulong)&key, attr.next_key = (ulong)&next;
	say(" %d next %r", next, bpf(BPF_MAP_GET_NEXT_KEY));
	say(" look at key 1 %r", bpf_element(BPF_MAP_LOOKUP_ELEM, map, 1, value));
	say(" delete key 1 %r", bpf_element(BPF_MAP_DELETE_ELEM, map, 1, 0));
	say(" delete %r", drop(map));
	attr.map_fd = map, attr.key = (ulong)&key, attr.value = (ulong)value;
	say(" take %r", bpf(BPF_MAP_LOOKUP_AND_DELETE_ELEM));
	attr.batch.map_fd = map, attr.batch.count = 1, attr.batch.keys = (ulong)&key, attr.batch.values = (ulong)value, attr.batch.out_batch = (ulong)&at;
	say(" batch %r", bpf(BPF_MAP_LOOKUP_BATCH));
	attr.link_create.prog_fd = map, attr.link_create.target_fd = 0, attr.link_create.attach_type = BPF_PERF_EVENT;
	say(" link of the map %r", bpf(BPF_LINK_CREATE));
	for (int type = 0; type < 44; type += 43) {
		attr.link_create.prog_fd = programs[M_SSTHRESH], attr.link_create.target_fd = map, attr.link_create.attach_type = type;
		say(" of a program %r", bpf(BPF_LINK_CREATE));
	}
	attr.raw_tracepoint.prog_fd = programs[M_SSTHRESH];
	say(" raw %r", bpf(BPF_RAW_TRACEPOINT_OPEN));
	attr.test.prog_fd = programs[M_SSTHRESH];
	say(" run %r", bpf(BPF_PROG_TEST_RUN));
	say(" mmap %d", (int)sys(__NR_mmap, 0, 4096, 1, 1, map, 0) < 0);
	attr.map_fd = map;
	say(" freeze %r", bpf(BPF_MAP_FREEZE));
	say(" put then %r\n", (full("mine"), put_value(map, 0, 0)));
	drop(map), sys(__NR_close, map);
	long inner = fresh();
	attr.map_type = BPF_MAP_TYPE_ARRAY_OF_MAPS, attr.key_size = 4, attr.value_size = 4, attr.max_entries = 1, attr.inner_map_fd = inner;
	say("as a map in a map %r", bpf(BPF_MAP_CREATE));
	static struct bpf_insn code[] = { I(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, 0), I(0, 0, 0, 0, 0), SET(0, 0), EXIT };
	code[0].imm = inner;
	long prog = bpf_program(BPF_PROG_TYPE_SOCKET_FILTER, code, 4);
	say(" of a program %r\n", prog < 0 ? prog : 0);
}

int main(int argc, char **argv)
{
	wrapped = btf_id("bpf_struct_ops_tcp_congestion_ops", BTF_KIND_STRUCT), ops = btf_id("tcp_congestion_ops", BTF_KIND_STRUCT), dummy = btf_id("bpf_dummy_ops", BTF_KIND_STRUCT);
	btf = types();
	say("types %r\n", btf < 0 ? btf : 0);
	maps();
	loading();
	values();
	living();
	commands();
	flush();
	return 0;
}
