/* Commands of bpf(2) on maps of every type, drawn by a generator that is the same everywhere.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"

static unsigned long long state;
static unsigned draw(unsigned n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % n;
}
#define PICK_OF(a) a[draw(sizeof(a) / sizeof(*a))]

static long fds[12];
static int types[12];
static unsigned sizes[12][3];
static unsigned char key[4096], value[65536], other[65536], keys[65536];

static int ordered(int type) /* what comes next is known */
{
	return type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_LPM_TRIE || type == BPF_MAP_TYPE_DEVMAP ||
	       type == BPF_MAP_TYPE_CPUMAP || type == BPF_MAP_TYPE_PROG_ARRAY;
}

static unsigned sum(const unsigned char *p, int n)
{
	unsigned h = 5381;
	while (n--)
		h = h * 33 + *p++;
	return h;
}

static void make_one(int slot)
{
	static const unsigned flags[] = { 0, 0, 0, 0, 1, 1, 2, 3, 4, 8, 16, 64, 128, 256, 512, 1024, 2048, 0x1000, 0x1001, 0x80000000, 0x408, 0x410, 0x180, 0x400, 0x401, 0x402, 5, 0x88 };
	static const unsigned key_sizes[] = { 4, 4, 4, 8, 8, 0, 1, 5, 12, 20, 264, 512, 513, 4096 };
	static const unsigned value_sizes[] = { 4, 4, 8, 8, 16, 0, 1, 12, 64, 300, 300, 0xffffffff };
	static const unsigned entries[] = { 1, 2, 3, 4, 4, 4, 8, 100, 0, 4096, 1000, 0xffffffff };
	unsigned type = draw(10) ? draw(33) : draw(40);
	memset(&attr, 0, sizeof(attr));
	attr.map_type = type, attr.key_size = PICK_OF(key_sizes), attr.value_size = PICK_OF(value_sizes);
	attr.max_entries = PICK_OF(entries), attr.map_flags = PICK_OF(flags);
	if ((type == BPF_MAP_TYPE_LPM_TRIE || type > 27) && draw(2))
		attr.map_flags |= 1;
	if ((type == BPF_MAP_TYPE_QUEUE || type == BPF_MAP_TYPE_STACK || type == BPF_MAP_TYPE_RINGBUF || type == 30 || type == 31) && draw(4))
		attr.key_size = 0;
	if ((type == BPF_MAP_TYPE_RINGBUF || type == 31) && draw(4))
		attr.value_size = 0, attr.max_entries = 4096;
	if (draw(20) == 0)
		attr.map_extra = draw(20);
	if (draw(30) == 0)
		attr.numa_node = draw(3) - 1;
	if (draw(30) == 0)
		attr.map_ifindex = 1;
	if (draw(30) == 0)
		attr.btf_fd = 1;
	if (draw(40) == 0)
		attr.btf_vmlinux_value_type_id = 5;
	if ((type == 12 || type == 13) && slot)
		attr.inner_map_fd = fds[slot - 1];
	if (attr.max_entries > 100000 && attr.value_size > 1000)
		attr.value_size = 4;
	unsigned k = attr.key_size, v = attr.value_size, e = attr.max_entries;
	say("%d: create %d key %d value %d entries %x flags %x extra %l", slot, type, k, v, (long)e, (long)attr.map_flags, (long)attr.map_extra);
	long fd = bpf(BPF_MAP_CREATE);
	say(": %r\n", fd < 0 ? fd : 0);
	if (fd < 0)
		return;
	if (fds[slot] > 0)
		sys(__NR_close, fds[slot]);
	fds[slot] = fd, types[slot] = type, sizes[slot][0] = k, sizes[slot][1] = v, sizes[slot][2] = e;
}

static void fill_key(unsigned char *to, int slot)
{
	memset(to, 0, 16);
	*to = draw(6);
	if (types[slot] == BPF_MAP_TYPE_LPM_TRIE)
		*to = draw(40), to[4] = draw(2) ? 0 : 128, to[5] = draw(3);
}

static void step(void)
{
	static const unsigned long long flags[] = { 0, 0, 0, 0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 1ULL << 32, 1ULL << 63, -1ULL };
	int slot = draw(12), command = draw(14);
	if (fds[slot] <= 0 || command == 0) {
		make_one(slot);
		return;
	}
	memset(&attr, 0, sizeof(attr));
	attr.map_fd = fds[slot];
	int type = types[slot];
	unsigned k = sizes[slot][0], v = sizes[slot][1];
	fill_key(key, slot);
	memset(value, 0, v > sizeof(value) ? sizeof(value) : v + 8);
	*(unsigned *)value = draw(3) ? draw(1000) : type == 12 || type == 13 ? fds[draw(12)] : draw(40);
	memset(other, 0xee, sizeof(other));
	long ret;
	unsigned shown = v > 4096 ? 4096 : (v + 7) & ~7u;
	switch (command) {
	case 1: case 2:
		attr.key = (ulong)key, attr.value = (ulong)other, attr.flags = draw(3) ? 0 : PICK_OF(flags);
		say("%d (%d) lookup %d flags %x", slot, type, *key, (long)attr.flags);
		ret = bpf(BPF_MAP_LOOKUP_ELEM);
		say(": %r", ret);
		if (!ret && type != 12 && type != 13 && v)
			say(" %x", (long)sum(other, shown));
		say("\n");
		break;
	case 3: case 4: case 5: case 6:
		attr.key = (ulong)key, attr.value = (ulong)value, attr.flags = PICK_OF(flags);
		say("%d (%d) update %d flags %x", slot, type, *key, (long)attr.flags);
		say(": %r\n", bpf(BPF_MAP_UPDATE_ELEM));
		break;
	case 7:
		attr.key = (ulong)key;
		say("%d (%d) delete %d: %r\n", slot, type, *key, bpf(BPF_MAP_DELETE_ELEM));
		break;
	case 8:
		attr.key = draw(3) ? (ulong)key : 0, attr.next_key = (ulong)other;
		say("%d (%d) next of %d", slot, type, attr.key ? *key : -1);
		ret = bpf(BPF_MAP_GET_NEXT_KEY);
		if (ordered(type)) {
			say(": %r", ret);
			if (!ret)
				say(" %x", (long)sum(other, k));
		} else if (ret && ret != -ENOENT)
			say(": %r", ret);
		say("\n");
		break;
	case 9:
		attr.key = draw(8) ? (ulong)key : 0, attr.value = (ulong)other, attr.flags = draw(2) ? 0 : PICK_OF(flags);
		if (type == BPF_MAP_TYPE_QUEUE || type == BPF_MAP_TYPE_STACK)
			attr.key = 0;
		say("%d (%d) lookup and delete %d flags %x", slot, type, *key, (long)attr.flags);
		ret = bpf(BPF_MAP_LOOKUP_AND_DELETE_ELEM);
		say(": %r", ret);
		if (!ret && v)
			say(" %x", (long)sum(other, shown));
		say("\n");
		break;
	case 10: case 11: {
		static const unsigned element_flags[] = { 0, 0, 0, 4, 1, 8 };
		static const int commands[] = { BPF_MAP_LOOKUP_BATCH, BPF_MAP_LOOKUP_AND_DELETE_BATCH, BPF_MAP_UPDATE_BATCH, BPF_MAP_DELETE_BATCH };
		unsigned start[64] = { 0 }, next[64] = { 0 };
		int which = draw(4), count = draw(6);
		for (int i = 0; i < count && k * 6 < sizeof(keys); i++)
			fill_key(keys + i * k, slot);
		attr.batch.keys = (ulong)keys, attr.batch.values = (ulong)other, attr.batch.count = count;
		memset(other, 0, sizeof(other));
		attr.batch.in_batch = draw(2) ? (ulong)start : 0, attr.batch.out_batch = (ulong)next;
		attr.batch.map_fd = fds[slot], attr.batch.elem_flags = PICK_OF(element_flags), attr.batch.flags = draw(10) ? 0 : 1;
		attr.map_fd = 0, attr.batch.map_fd = fds[slot];
		unsigned had = attr.batch.elem_flags, in = attr.batch.in_batch != 0;
		union bpf_attr *a = &attr;
		ret = sys(__NR_bpf, commands[which], a, sizeof(*a));
		say("%d (%d) batch %d of %d flags %d in %d", slot, type, which, count, had, in);
		if (ordered(type) || which > 1 || (ret && ret != -ENOENT && ret != -ENOSPC))
			say(": %r", ret);
		if (ordered(type) || which > 1)
			say(" count %d", attr.batch.count);
		if (ordered(type) && which == 0 && (ret == 0 || ret == -ENOENT) && v)
			say(" %x", (long)sum(other, 64));
		say("\n");
		memset(&attr, 0, sizeof(attr));
		break;
	}
	case 12:
		if (draw(4))
			return;
		say("%d (%d) freeze: %r\n", slot, type, bpf(BPF_MAP_FREEZE));
		break;
	case 13: {
		struct bpf_map_info info;
		memset(&info, 0, sizeof(info));
		memset(&attr, 0, sizeof(attr));
		attr.info.bpf_fd = fds[slot], attr.info.info_len = draw(4) ? sizeof(info) : draw(120), attr.info.info = (ulong)&info;
		union bpf_attr *a = &attr;
		ret = sys(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, a, sizeof(*a));
		say("%d (%d) info: %r len %d type %d key %d value %d entries %x flags %x extra %d\n", slot, type, ret, attr.info.info_len, info.type,
		    info.key_size, info.value_size, (long)info.max_entries, (long)info.map_flags, (int)info.map_extra);
		memset(&attr, 0, sizeof(attr));
		if (draw(3) == 0) {
			unsigned long long length = draw(3) * 4096 + draw(2) * 100;
			int protection = draw(8), shared = 1 + draw(2), offset = draw(3) * 4096;
			long at = (long)map(0, length, protection, shared, fds[slot], offset);
			say("%d (%d) mmap %d prot %d flags %d at %d: %r\n", slot, type, (int)length, protection, shared, offset, at < 0 && at > -4096 ? at : 0);
			if (!(at < 0 && at > -4096))
				sys(__NR_munmap, at, length);
		}
		break;
	}
	}
}

int main(int argc, char **argv)
{
	unsigned steps = 2500;
	state = 1;
	if (argc > 1)
		for (state = 0; *argv[1]; argv[1]++)
			state = state * 10 + *argv[1] - '0';
	while (steps--)
		step();
	return 0;
}
