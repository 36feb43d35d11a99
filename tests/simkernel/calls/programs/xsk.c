/* Sockets of AF_XDP and XSKMAPs: what is refused, and what their rings look like.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"
#include "tiny_xdp.h"
#include "tiny_xsk.h"

static char log[8192];
static char *memory;
static long fresh(void) { return sys(__NR_socket, AF_XDP, 3, 0); }

static void making(void)
{
	for (int type = 1; type <= 5; type++)
		say("type %d: %r\n", type, sys(__NR_socket, AF_XDP, type, 0) >= 0 ? 0 : sys(__NR_socket, AF_XDP, type, 0));
	T(__NR_socket, AF_XDP, 3, 1);
	T(__NR_socket, AF_XDP, 3, 0x0300);
	T(__NR_socket, AF_XDP, 2, 1);
}

static void calls(void)
{
	long fd = fresh();
	char text[128] = "";
	unsigned size = sizeof(text);
	struct sockaddr_xdp a = { AF_XDP };
	say("connect %r\n", sys(__NR_connect, fd, &a, sizeof(a)));
	say("listen %r\n", sys(__NR_listen, fd, 1));
	say("accept %r\n", sys(__NR_accept, fd, 0, 0));
	say("getsockname %r\n", sys(__NR_getsockname, fd, text, &size));
	say("getpeername %r\n", sys(__NR_getpeername, fd, text, &size));
	say("shutdown %r\n", sys(__NR_shutdown, fd, 2));
	say("send %r\n", sys(__NR_sendto, fd, 0, 0, 0x40, 0, 0));
	say("send and wait %r\n", sys(__NR_sendto, fd, 0, 0, 0, 0, 0));
	say("receive %r\n", sys(__NR_recvfrom, fd, 0, 0, 0x40, 0, 0));
	say("receive and wait %r\n", sys(__NR_recvfrom, fd, text, 10, 0, 0, 0));
	say("read %r\n", sys(__NR_read, fd, text, 10));
	say("write %r\n", sys(__NR_write, fd, text, 10));
	say("ioctl %r\n", sys(__NR_ioctl, fd, 0x541b, text));
	say("poll %x\n", (long)polled(fd, 0xffff));
	for (int level = 0; level < 300; level++)
		if (level != 1 && xsk_option(fd, 1, text, 4) && sys(__NR_setsockopt, fd, level, 1, text, 4) != -ENOPROTOOPT)
			say("level %d: %r\n", level, sys(__NR_setsockopt, fd, level, 1, text, 4));
	int value = -1;
	static const int levels[] = { 0, 6, 17, 41, 255, 263, 270, 282, 284 };
	for (unsigned n = 0; n < sizeof(levels) / sizeof(*levels); n++) {
		size = 4;
		say("level %d: get %r", levels[n], sys(__NR_getsockopt, fd, levels[n], 1, &value, &size));
		say(" set %r nowhere %r\n", sys(__NR_setsockopt, fd, levels[n], 1, &value, 4), sys(__NR_setsockopt, fd, levels[n], 1, 8, 4));
	}
	for (int name = 0; name < 12; name++) {
		size = 4;
		say("get %d: %r", name, sys(__NR_getsockopt, fd, SOL_XDP, name, &value, &size));
		say(" set %r", xsk_option(fd, name, &value, 4));
		say(" short %r", xsk_option(fd, name, &value, 3));
		say(" nowhere %r\n", xsk_option(fd, name, (void *)8, 64));
	}
	static const int names[] = { 3, 4, 7, 8, 15, 18, 30, 36, 38, 39, 46, 56, 69 };
	for (unsigned n = 0; n < sizeof(names) / sizeof(*names); n++) {
		size = 4;
		value = -1;
		say("SOL_SOCKET %d: %r", names[n], sys(__NR_getsockopt, fd, 1, names[n], &value, &size));
		say(" %d\n", value);
	}
	say("reuseport %r\n", sys(__NR_setsockopt, fd, 1, 15, &(int){ 1 }, 4));
	say("busy poll %r\n", sys(__NR_setsockopt, fd, 1, 46, &(int){ 10 }, 4));
	say("device %r\n", sys(__NR_setsockopt, fd, 1, 25, "lo", 3));
	sys(__NR_close, fd);
}

static void options(void)
{
	long fd = fresh();
	struct xdp_mmap_offsets at;
	unsigned char raw[256];
	for (unsigned room = 0; room <= sizeof(at) + 8; room += 8) {
		unsigned size = room;
		memset(raw, 0xee, sizeof(raw));
		long got = sys(__NR_getsockopt, fd, SOL_XDP, XDP_MMAP_OFFSETS, raw, &size);
		say("offsets in %d: %r, %d:", (int)room, got, (int)size);
		for (unsigned n = 0; !got && n < size; n += 8)
			say(" %L", *(long long *)(raw + n));
		say("\n");
	}
	for (unsigned room = 0; room <= 56; room += 8) {
		unsigned size = room;
		memset(raw, 0xee, sizeof(raw));
		long got = sys(__NR_getsockopt, fd, SOL_XDP, XDP_STATISTICS, raw, &size);
		say("statistics in %d: %r, %d:", (int)room, got, (int)size);
		for (unsigned n = 0; !got && n < size; n += 8)
			say(" %L", *(long long *)(raw + n));
		say("\n");
	}
	for (unsigned room = 0; room <= 8; room += 2) {
		unsigned size = room, value = 77;
		say("options in %d: %r", (int)room, sys(__NR_getsockopt, fd, SOL_XDP, XDP_OPTIONS, &value, &size));
		say(" %d, %d\n", (int)size, (int)value);
	}
	unsigned size = -1;
	say("negative room %r\n", sys(__NR_getsockopt, fd, SOL_XDP, XDP_OPTIONS, raw, &size));
	say("room nowhere %r\n", sys(__NR_getsockopt, fd, SOL_XDP, XDP_OPTIONS, raw, 8));
	size = 4;
	say("value nowhere %r\n", sys(__NR_getsockopt, fd, SOL_XDP, XDP_OPTIONS, 8, &size));
	sys(__NR_close, fd);
}

static void umem(void)
{
	static const struct { const char *what; long at, size; int chunk, headroom, flags; } rows[] = {
		{ "not at a page", 1, 8192, 2048, 0, 0 }, { "half a page", 0, 2048, 2048, 0, 0 }, { "no size", 0, 0, 2048, 0, 0 },
		{ "small chunks", 0, 8192, 1024, 0, 0 }, { "large chunks", 0, 16384, 8192, 0, 0 }, { "odd chunks", 0, 12288, 3072, 0, 0 },
		{ "odd chunks that may lie anywhere", 0, 12288, 3072, 0, 1 }, { "a chunk and a half", 0, 3072, 2048, 0, 0 },
		{ "a chunk and a half, anywhere", 0, 3072, 2048, 0, 1 }, { "all headroom", 0, 8192, 2048, 1792, 0 },
		{ "all but the room behind", 0, 8192, 2048, 1345, 0 }, { "nearly all headroom", 0, 8192, 2048, 1344, 0 }, { "negative headroom", 0, 8192, 2048, -1, 0 },
		{ "a flag", 0, 8192, 2048, 0, 2 }, { "chunks of pages", 0, 8192, 4096, 0, 0 }, { "less than a chunk", 0, 1024, 2048, 0, 1 },
		{ "beyond the end", 0, 1L << 40, 2048, 0, 0 }, { "too much", 0, 1L << 50, 2048, 0, 0 }, { "around", 0, -4096, 2048, 0, 0 },
		{ "17 pages", 0, 17 * 4096, 2048, 0, 0 },
	};
	for (unsigned n = 0; n < sizeof(rows) / sizeof(*rows); n++) {
		long fd = fresh();
		say("%s: %r\n", rows[n].what, xsk_memory(fd, memory + rows[n].at, rows[n].size, rows[n].chunk, rows[n].headroom, rows[n].flags));
		sys(__NR_close, fd);
	}
	long fd = fresh();
	struct xdp_umem_reg reg = { (ulong)memory, 8192, 2048, 0, 7 };
	for (int size = 16; size <= 40; size += 4)
		say("in %d bytes: %r\n", size, xsk_option(fd, XDP_UMEM_REG, &reg, size));
	reg.flags = 0;
	say("again %r\n", xsk_option(fd, XDP_UMEM_REG, &reg, sizeof(reg)));
	sys(__NR_close, fd);
	fd = fresh();
	say("no memory %r\n", xsk_memory(fd, (void *)0x10000, 8192, 2048, 0, 0));
	void *constant = map(0, 8192, 1, 0x22, -1, 0);
	say("memory that is read only %r\n", xsk_memory(fd, constant, 8192, 2048, 0, 0));
	char *half = map(0, 8192, 3, 0x22, -1, 0);
	sys(__NR_munmap, half + 4096, 4096);
	say("memory with a hole %r\n", xsk_memory(fd, half, 8192, 2048, 0, 0));
	say("kernel memory %r\n", xsk_memory(fd, (void *)0xffff888000000000, 8192, 2048, 0, 0));
	sys(__NR_close, fd);
}

static void rings(void)
{
	long fd = fresh();
	static const int counts[] = { 0, 3, -1, 4, 4 };
	for (int name = XDP_RX_RING; name <= XDP_UMEM_COMPLETION_RING; name++)
		for (int n = 0; n < 5 && name != XDP_UMEM_REG; n++)
			say("ring %d of %d: %r\n", name, counts[n], xsk_entries(fd, name, counts[n]));
	static const ulong pages[] = { XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING, XDP_UMEM_PGOFF_FILL_RING, XDP_UMEM_PGOFF_COMPLETION_RING, 4096, 0x80001000 };
	for (int n = 0; n < 6; n++)
		for (ulong size = 0; size <= 12288; size += 4096) {
			unsigned *p = map(0, size, 3, 1, fd, pages[n]);
			say("%x bytes at %x: ", (long)size, (long)pages[n]);
			if (bad(p))
				say("%r\n", (long)p);
			else
				say("%d %d %d\n", (int)p[0], (int)p[16], (int)p[32]);
		}
	say("private %r\n", (long)map(0, 4096, 3, 2, fd, 0) < 0 ? (long)map(0, 4096, 3, 2, fd, 0) : 0);
	say("read only %r\n", bad(map(0, 4096, 1, 1, fd, 0)));
	sys(__NR_close, fd);
	fd = fresh();
	xsk_entries(fd, XDP_RX_RING, 1024);
	xsk_entries(fd, XDP_UMEM_FILL_RING, 1024);
	say("a large ring:");
	for (ulong size = 4096; size <= 65536; size += 4096)
		say(" %d", !bad(map(0, size, 3, 1, fd, 0)));
	say("\n");
	for (ulong size = 4096; size <= 32768; size += 4096)
		say(" %d", !bad(map(0, size, 3, 1, fd, XDP_UMEM_PGOFF_FILL_RING)));
	say("\n");
	sys(__NR_close, fd);
}

static void bound(void)
{
	long fd = fresh(), other;
	struct sockaddr_xdp a = { AF_XDP, 0, 1, 0, 0 };
	for (unsigned size = 0; size <= sizeof(a) + 4; size += 4)
		say("in %d bytes: %r\n", (int)size, sys(__NR_bind, fd, &a, size));
	a.sxdp_family = 2;
	say("another family %r\n", sys(__NR_bind, fd, &a, sizeof(a)));
	say("a flag %r\n", xsk_bind(fd, 1, 0, 16, 0));
	say("no device %r\n", xsk_bind(fd, 77, 0, 0, 0));
	say("nothing %r\n", xsk_bind(fd, 1, 0, 0, 0));
	xsk_entries(fd, XDP_RX_RING, 4);
	say("no memory %r\n", xsk_bind(fd, 1, 0, 0, 0));
	xsk_memory(fd, memory, 8 * FRAME, FRAME, 0, 0);
	say("no rings of memory %r\n", xsk_bind(fd, 1, 0, 0, 0));
	xsk_entries(fd, XDP_UMEM_FILL_RING, 4);
	say("a fill ring %r\n", xsk_bind(fd, 1, 0, 0, 0));
	xsk_entries(fd, XDP_UMEM_COMPLETION_RING, 4);
	say("copied or not %r\n", xsk_bind(fd, 1, 0, XDP_COPY | XDP_ZEROCOPY, 0));
	say("not copied %r\n", xsk_bind(fd, 1, 0, XDP_ZEROCOPY, 0));
	say("queue 1 %r\n", xsk_bind(fd, 1, 1, 0, 0));
	say("queue -1 %r\n", xsk_bind(fd, 1, -1, XDP_COPY, 0));
	say("shared, too %r\n", xsk_bind(fd, 1, 0, XDP_SHARED_UMEM | XDP_COPY, fd));
	say("shared, too %r\n", xsk_bind(fd, 1, 0, XDP_SHARED_UMEM | XDP_USE_NEED_WAKEUP, fd));
	say("shared with itself %r\n", xsk_bind(fd, 1, 0, XDP_SHARED_UMEM, fd));
	say("bound %r\n", xsk_bind(fd, 1, 0, XDP_COPY, 0));
	say("again %r\n", xsk_bind(fd, 1, 0, XDP_COPY, 0));
	say("again, badly %r\n", xsk_bind(fd, 77, 0, 16, 0));
	for (int name = XDP_RX_RING; name <= XDP_UMEM_COMPLETION_RING; name++)
		say("ring %d: %r\n", name, name == XDP_UMEM_REG ? xsk_memory(fd, memory, 8192, 2048, 0, 0) : xsk_entries(fd, name, 4));
	say("ring of 3: %r\n", xsk_entries(fd, XDP_TX_RING, 3));
	say("mapped %r\n", (long)map(0, 4096, 3, 1, fd, 0));
	say("send %r\n", sys(__NR_sendto, fd, 0, 0, 0x40, 0, 0));
	say("send and wait %r\n", sys(__NR_sendto, fd, 0, 0, 0, 0, 0));
	say("receive %r\n", sys(__NR_recvfrom, fd, 0, 0, 0x40, 0, 0));
	say("receive and wait %r\n", sys(__NR_recvfrom, fd, 0, 0, 0, 0, 0));
	say("poll %x\n", (long)polled(fd, 0xffff));
	set_up("lo", 0);
	say("send %r\n", sys(__NR_sendto, fd, 0, 0, 0x40, 0, 0));
	say("send and wait %r\n", sys(__NR_sendto, fd, 0, 0, 0, 0, 0));
	say("receive %r\n", sys(__NR_recvfrom, fd, 0, 0, 0x40, 0, 0));
	say("receive and wait %r\n", sys(__NR_recvfrom, fd, 0, 0, 0, 0, 0));
	say("poll %x\n", (long)polled(fd, 0xffff));
	statistics("statistics", fd);
	other = fresh();
	xsk_entries(other, XDP_TX_RING, 4);
	say("shared with nothing %r\n", xsk_bind(other, 1, 0, XDP_SHARED_UMEM, 99));
	say("shared with a file %r\n", xsk_bind(other, 1, 0, XDP_SHARED_UMEM, 0));
	say("shared with a socket %r\n", xsk_bind(other, 1, 0, XDP_SHARED_UMEM, netlink));
	say("shared with itself %r\n", xsk_bind(other, 1, 0, XDP_SHARED_UMEM, other));
	say("shared, another queue %r\n", xsk_bind(other, 1, 1, XDP_SHARED_UMEM, fd));
	say("shared %r\n", xsk_bind(other, 1, 0, XDP_SHARED_UMEM, fd));
	say("poll %x\n", (long)polled(other, 0xffff));
	say("send %r\n", sys(__NR_sendto, other, 0, 0, 0x40, 0, 0));
	say("receive %r\n", sys(__NR_recvfrom, other, 0, 0, 0x40, 0, 0));
	statistics("statistics", other);
	long third = fresh();
	xsk_entries(third, XDP_RX_RING, 4);
	xsk_entries(third, XDP_UMEM_FILL_RING, 4);
	say("shared, with a ring of its own %r\n", xsk_bind(third, 1, 0, XDP_SHARED_UMEM, fd));
	sys(__NR_close, third);
	third = fresh();
	xsk_entries(third, XDP_RX_RING, 4);
	xsk_memory(third, memory, 8192, 2048, 0, 0);
	say("shared, with memory of its own %r\n", xsk_bind(third, 1, 0, XDP_SHARED_UMEM, fd));
	xsk_entries(third, XDP_UMEM_FILL_RING, 4), xsk_entries(third, XDP_UMEM_COMPLETION_RING, 4);
	say("a second memory there %r\n", xsk_bind(third, 1, 0, XDP_COPY, 0));
	say("shared with one that is shared %r\n", xsk_bind(third, 1, 0, XDP_SHARED_UMEM, other));
	sys(__NR_close, third);
	sys(__NR_close, fd);
	third = fresh();
	xsk_entries(third, XDP_RX_RING, 4), xsk_entries(third, XDP_UMEM_FILL_RING, 4), xsk_entries(third, XDP_UMEM_COMPLETION_RING, 4);
	xsk_memory(third, memory, 8192, 2048, 0, 0);
	say("the queue is free %r\n", xsk_bind(third, 1, 0, XDP_COPY, 0));
	sys(__NR_close, other);
	say("at once %r\n", xsk_bind(third, 1, 0, XDP_COPY, 0));
	nap(50);
	say("a little later %r\n", xsk_bind(third, 1, 0, XDP_COPY, 0));
	sys(__NR_close, third);
}

static void maps(void)
{
	static const struct { int key, value, entries, flags; } rows[] = {
		{ 4, 4, 4, 0 }, { 4, 8, 4, 0 }, { 8, 4, 4, 0 }, { 4, 4, 0, 0 }, { 4, 4, 4, BPF_F_NO_PREALLOC }, { 4, 4, 4, BPF_F_RDONLY }, { 4, 4, 4, BPF_F_WRONLY },
		{ 4, 4, 4, BPF_F_RDONLY_PROG }, { 4, 4, 4, BPF_F_MMAPABLE }, { 4, 4, 4, BPF_F_NUMA_NODE },
	};
	for (unsigned n = 0; n < sizeof(rows) / sizeof(*rows); n++) {
		long fd = bpf_map(BPF_MAP_TYPE_XSKMAP, rows[n].key, rows[n].value, rows[n].entries, rows[n].flags);
		say("map %d: %r\n", (int)n, fd < 0 ? fd : 0);
		if (fd >= 0)
			sys(__NR_close, fd);
	}
	long m = bpf_map(BPF_MAP_TYPE_XSKMAP, 4, 4, 4, 0), fd = fresh(), second = fresh();
	int value = fd, pair[2];
	sys(__NR_socketpair, 1, 1, 0, pair);
	static const ulong flags[] = { BPF_ANY, BPF_NOEXIST, BPF_EXIST, 4, 8 };
	for (int n = 0; n < 5; n++) {
		attr.flags = flags[n];
		say("empty, flags %d: %r\n", (int)flags[n], bpf_element(BPF_MAP_UPDATE_ELEM, m, 1, &value));
		say("  delete %r\n", bpf_element(BPF_MAP_DELETE_ELEM, m, 1, 0));
		bpf_element(BPF_MAP_UPDATE_ELEM, m, 1, &value);
		attr.flags = flags[n];
		say("  the same %r\n", bpf_element(BPF_MAP_UPDATE_ELEM, m, 1, &value));
		value = second;
		attr.flags = flags[n];
		say("  another %r\n", bpf_element(BPF_MAP_UPDATE_ELEM, m, 1, &value));
		value = fd;
		bpf_element(BPF_MAP_DELETE_ELEM, m, 1, 0);
	}
	say("beyond %r\n", bpf_element(BPF_MAP_UPDATE_ELEM, m, 4, &value));
	say("delete beyond %r\n", bpf_element(BPF_MAP_DELETE_ELEM, m, 4, 0));
	say("delete nothing %r\n", bpf_element(BPF_MAP_DELETE_ELEM, m, 3, 0));
	static const int wrong[] = { -1, 99, 0 };
	for (int n = 0; n < 3; n++)
		value = wrong[n], say("descriptor %d: %r\n", value, bpf_element(BPF_MAP_UPDATE_ELEM, m, 0, &value));
	value = pair[0], say("a socket of AF_UNIX %r\n", bpf_element(BPF_MAP_UPDATE_ELEM, m, 0, &value));
	value = netlink, say("a socket of netlink %r\n", bpf_element(BPF_MAP_UPDATE_ELEM, m, 0, &value));
	value = m, say("a map %r\n", bpf_element(BPF_MAP_UPDATE_ELEM, m, 0, &value));
	value = fd, bpf_element(BPF_MAP_UPDATE_ELEM, m, 2, &value);
	say("lookup %r\n", bpf_element(BPF_MAP_LOOKUP_ELEM, m, 2, &value));
	say("lookup nothing %r\n", bpf_element(BPF_MAP_LOOKUP_ELEM, m, 0, &value));
	say("lookup beyond %r\n", bpf_element(BPF_MAP_LOOKUP_ELEM, m, 9, &value));
	say("take out %r\n", bpf_element(BPF_MAP_LOOKUP_AND_DELETE_ELEM, m, 2, &value));
	unsigned key = 99, next = 99;
	for (int n = 0; n < 7; n++) {
		attr.map_fd = m, attr.key = n ? (ulong)&key : 0, attr.next_key = (ulong)&next;
		long got = bpf(BPF_MAP_GET_NEXT_KEY);
		say("next %r %d\n", got, (int)next);
		key = next;
	}
	int keys[4] = { 0, 1, 2, 3 }, values[4];
	unsigned count;
	static const int batches[] = { BPF_MAP_LOOKUP_BATCH, BPF_MAP_LOOKUP_AND_DELETE_BATCH, BPF_MAP_UPDATE_BATCH, BPF_MAP_DELETE_BATCH };
	for (int n = 0; n < 4; n++) {
		attr.batch.map_fd = m, attr.batch.keys = (ulong)keys, attr.batch.values = (ulong)values, attr.batch.count = 4, attr.batch.out_batch = (ulong)&count;
		say("batch %d: %r\n", n, bpf(batches[n]));
	}
	attr.map_fd = m;
	say("freeze %r\n", bpf(BPF_MAP_FREEZE));
	value = fd;
	say("frozen %r\n", bpf_element(BPF_MAP_UPDATE_ELEM, m, 2, &value));
	sys(__NR_close, m), sys(__NR_close, fd), sys(__NR_close, second);
}

static void loads(const char *what, int type, struct bpf_insn *code, int count)
{
	memset(log, 0, sizeof(log));
	attr.prog_type = type, attr.insns = (ulong)code, attr.insn_cnt = count, attr.license = (ulong)"GPL";
	attr.log_buf = (ulong)log, attr.log_size = sizeof(log), attr.log_level = 1;
	long fd = bpf(BPF_PROG_LOAD);
	say("%s: %r\n", what, fd < 0 ? fd : 0);
	if (fd < 0) {
		char *last = log, *end = log;
		for (char *p = log; *p; p++)
			if (*p == '\n' && p[1] && memcmp(p + 1, "processed", 9))
				last = p + 1;
		for (end = last; *end && *end != '\n'; end++)
			;
		*end = 0;
		say("  %s\n", last);
		return;
	}
	struct bpf_insn out[64];
	struct bpf_prog_info info;
	memset(&info, 0, sizeof(info)), memset(out, 0, sizeof(out));
	info.xlated_prog_insns = (ulong)out, info.xlated_prog_len = sizeof(out);
	attr.info.bpf_fd = fd, attr.info.info_len = sizeof(info), attr.info.info = (ulong)&info;
	bpf(BPF_OBJ_GET_INFO_BY_FD);
	for (unsigned n = 0; n < info.xlated_prog_len / 8 && n < 64; n++)
		say("  %x %d %d %d %s\n", (long)out[n].code, out[n].dst_reg, out[n].src_reg, out[n].off, out[n].imm == 2 ? "2" : "");
	sys(__NR_close, fd);
}
#define LOADS(what, type, ...) ({ struct bpf_insn code[] = { __VA_ARGS__ }; loads(what, type, code, sizeof(code) / sizeof(*code)); })
#define LOOKED(offset) I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 2), MAP(1, m), MOV(2, 10), ADD(2, -4), CALL(BPF_FUNC_map_lookup_elem), I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 1, 0), EXIT
#define LDX(size, d, s, o) I(BPF_LDX | BPF_MEM | size, d, s, o, 0)

static void programs(void)
{
	long m = bpf_map(BPF_MAP_TYPE_XSKMAP, 4, 4, 4, 0);
	LOADS("redirect", BPF_PROG_TYPE_XDP, MAP(1, m), SET(2, 1), SET(3, 0), CALL(BPF_FUNC_redirect_map), EXIT);
	LOADS("redirect of a classifier", BPF_PROG_TYPE_SCHED_CLS, MAP(1, m), SET(2, 1), SET(3, 0), CALL(BPF_FUNC_redirect_map), EXIT);
	LOADS("its queue", BPF_PROG_TYPE_XDP, LOOKED(), LDX(BPF_W, 0, 0, 0), EXIT);
	LOADS("half of its queue", BPF_PROG_TYPE_XDP, LOOKED(), LDX(BPF_H, 0, 0, 0), EXIT);
	LOADS("more than its queue", BPF_PROG_TYPE_XDP, LOOKED(), LDX(BPF_DW, 0, 0, 0), EXIT);
	LOADS("behind its queue", BPF_PROG_TYPE_XDP, LOOKED(), LDX(BPF_W, 0, 0, 4), EXIT);
	LOADS("a store", BPF_PROG_TYPE_XDP, LOOKED(), I(BPF_ST | BPF_MEM | BPF_W, 0, 0, 0, 1), SET(0, 0), EXIT);
	LOADS("the pointer itself", BPF_PROG_TYPE_XDP, LOOKED(), ADD(0, 4), SET(0, 0), EXIT);
	LOADS("no check", BPF_PROG_TYPE_XDP, I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 2), MAP(1, m), MOV(2, 10), ADD(2, -4), CALL(BPF_FUNC_map_lookup_elem), LDX(BPF_W, 0, 0, 0), EXIT);
	LOADS("returned", BPF_PROG_TYPE_XDP, LOOKED(), EXIT);
	LOADS("in a classifier", BPF_PROG_TYPE_SCHED_CLS, LOOKED(), LDX(BPF_W, 0, 0, 0), EXIT);
	LOADS("in a socket filter", BPF_PROG_TYPE_SOCKET_FILTER, LOOKED(), LDX(BPF_W, 0, 0, 0), EXIT);
	LOADS("an update", BPF_PROG_TYPE_XDP, I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 2), MAP(1, m), MOV(2, 10), ADD(2, -4), MOV(3, 2), SET(4, 0), CALL(BPF_FUNC_map_update_elem), EXIT);
	LOADS("a deletion", BPF_PROG_TYPE_XDP, I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 2), MAP(1, m), MOV(2, 10), ADD(2, -4), CALL(BPF_FUNC_map_delete_elem), EXIT);
	LOADS("a socket's fields", BPF_PROG_TYPE_XDP, LOOKED(), MOV(1, 0), CALL(BPF_FUNC_sk_fullsock), SET(0, 0), EXIT);
	sys(__NR_close, m);
}

static void without_rights(void)
{
	struct { unsigned version; int pid; } head = { 0x20080522, 0 };
	struct { unsigned effective, permitted, inheritable; } caps[2];
	memset(caps, 0, sizeof(caps));
	sys(__NR_capget, &head, caps);
	caps[0].effective &= ~(1u << 13);
	say("capset %r\n", sys(__NR_capset, &head, caps));
	T(__NR_socket, AF_XDP, 3, 0);
	T(__NR_socket, AF_XDP, 2, 0);
	caps[0].effective |= 1u << 13, caps[0].effective &= ~(1u << 14);
	sys(__NR_capset, &head, caps);
	struct { ulong soft, hard; } limit = { 8192, 8192 };
	sys(__NR_prlimit64, 0, 8, &limit, 0);
	long fd = fresh();
	say("three pages: %r\n", xsk_memory(fd, memory, 3 * 4096, 4096, 0, 0));
	say("two pages: %r\n", xsk_memory(fd, memory, 2 * 4096, 4096, 0, 0));
	long second = fresh();
	say("one more: %r\n", xsk_memory(second, memory, 4096, 4096, 0, 0));
	sys(__NR_close, fd);
	nap(50);
	say("afterwards: %r\n", xsk_memory(second, memory, 4096, 4096, 0, 0));
	long map_ = bpf_map(BPF_MAP_TYPE_XSKMAP, 4, 4, 4, 0);
	say("a map %r\n", map_ < 0 ? map_ : 0);
	caps[0].effective &= ~(1u << 12);
	sys(__NR_capset, &head, caps);
	map_ = bpf_map(BPF_MAP_TYPE_XSKMAP, 4, 4, 4, 0);
	say("a map %r\n", map_ < 0 ? map_ : 0);
}

static void shown(void)
{
	static char text[16384];
	long fd = fresh();
	slurp("/proc/net/protocols", text, sizeof(text));
	for (char *p = text; *p; p++)
		if (p > text && p[-1] == '\n' && !memcmp(p, "XDP ", 4)) {
			char *end = p;
			while (*end && *end != '\n')
				end++;
			*end = 0;
			say("%s|\n", p);
			break;
		}
	sys(__NR_close, fd);
}

int main(int argc, char **argv)
{
	sys(__NR_unshare, 0x40000000);
	netlink = sys(__NR_socket, 16, 3, 0);
	memory = map(0, 1 << 20, 3, 0x22, -1, 0);
	making();
	calls();
	options();
	umem();
	rings();
	bound();
	maps();
	programs();
	shown();
	without_rights();
	return 0;
}
