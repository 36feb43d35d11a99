/* Maps whose values hang on sockets, inodes and tasks, by descriptors: every command and flag.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/btf.h>

static long types(void)
{
	static const char names[] = "\0int\0long";
	static struct { struct btf_header h; unsigned types[8]; char text[sizeof(names)]; } btf;
	static const unsigned rows[] = { 1, BTF_KIND_INT << 24, 4, 32, 5, BTF_KIND_INT << 24, 8, 64 };
	btf.h = (struct btf_header){ 0xeb9f, 1, 0, sizeof(btf.h), 0, sizeof(rows), sizeof(btf.types), sizeof(names) };
	memcpy(btf.types, rows, sizeof(rows));
	memcpy(btf.text, names, sizeof(names));
	attr.btf = (ulong)&btf, attr.btf_size = sizeof(btf.h) + sizeof(btf.types) + sizeof(names);
	return bpf(BPF_BTF_LOAD);
}

static long btf;
static long make(int type, int key, int value, int entries, int flags, int key_type, int value_type)
{
	attr.map_type = type, attr.key_size = key, attr.value_size = value, attr.max_entries = entries, attr.map_flags = flags;
	attr.btf_fd = key_type || value_type ? btf : 0, attr.btf_key_type_id = key_type, attr.btf_value_type_id = value_type;
	return bpf(BPF_MAP_CREATE);
}

static const char *const kinds[] = { "sk", "inode", "task" };
static const int numbers[] = { BPF_MAP_TYPE_SK_STORAGE, BPF_MAP_TYPE_INODE_STORAGE, BPF_MAP_TYPE_TASK_STORAGE };

static void creation(int i)
{
	static const struct { int key, value, entries, flags, kt, vt; } tries[] = {
		{ 4, 8, 0, 1, 1, 2 }, { 4, 8, 0, 0, 1, 2 }, { 4, 8, 1, 1, 1, 2 }, { 8, 8, 0, 1, 2, 2 }, { 4, 4, 0, 1, 1, 2 }, { 4, 8, 0, 1, 2, 2 }, { 4, 8, 0, 1, 0, 2 },
		{ 4, 8, 0, 1, 1, 0 }, { 4, 8, 0, 1, 0, 0 }, { 4, 0, 0, 1, 1, 2 }, { 4, 65000, 0, 1, 1, 2 }, { 4, 8, 0, 1 | BPF_F_CLONE, 1, 2 }, { 4, 8, 0, 1 | BPF_F_RDONLY, 1, 2 },
		{ 4, 8, 0, 1 | BPF_F_NUMA_NODE, 1, 2 }, { 4, 8, 0, 1 | BPF_F_RDONLY_PROG, 1, 2 }, { 4, 8, 0, 1 | BPF_F_MMAPABLE, 1, 2 }, { 4, 8, 0, 1 | BPF_F_ZERO_SEED, 1, 2 },
	};
	for (unsigned t = 0; t < sizeof(tries) / sizeof(*tries); t++) {
		long fd = make(numbers[i], tries[t].key, tries[t].value, tries[t].entries, tries[t].flags, tries[t].kt, tries[t].vt);
		say("%s %d: %r\n", kinds[i], t, fd < 0 ? fd : 0);
		if (fd >= 0)
			sys(__NR_close, fd);
	}
}

static unsigned long long value;
static long command(int number, long map, int key, unsigned long long flags)
{
	static unsigned k;
	k = key;
	attr.map_fd = map, attr.key = (ulong)&k, attr.value = (ulong)&value, attr.flags = flags;
	return bpf(number);
}

int main(int argc, char **argv)
{
	btf = types();
	say("types %d\n", btf >= 0);
	long sock = sys(__NR_socket, 2, 2, 0), local = sys(__NR_socket, 1, 2, 0), file = sys(__NR_openat, AT_FDCWD, "/tmp", O_RDONLY, 0);
	long path = sys(__NR_openat, AT_FDCWD, "/", O_PATH, 0), pipes[2], me = sys(434, sys(__NR_getpid), 0), event = sys(__NR_eventfd2, 0, 0);
	int ends[2];
	sys(__NR_pipe2, ends, 0);
	pipes[0] = ends[0];
	long child = fork();
	if (!child)
		leave(0);
	long gone = sys(434, child, 0);
	wait_for(child);
	for (int i = 0; i < 3; i++) {
		creation(i);
		long map = make(numbers[i], 4, 8, 0, 1, 1, 2), other = make(numbers[i], 4, 8, 0, 1, 1, 2);
		const struct { const char *name; long fd; } owners[] = {
			{ "udp", sock }, { "unix", local }, { "directory", file }, { "O_PATH", path }, { "pipe", pipes[0] }, { "task", me }, { "ended", gone }, { "eventfd", event }, { "map", map },
			{ "nothing", 9999 }, { "minus one", -1 },
		};
		static const unsigned long long flags[] = { 0, 1, 2, 4, 5, 3, 8, 1ULL << 40 };
		for (unsigned o = 0; o < sizeof(owners) / sizeof(*owners); o++) {
			long fd = owners[o].fd;
			say("%s at %s:", kinds[i], owners[o].name);
			say(" lookup %r", command(BPF_MAP_LOOKUP_ELEM, map, fd, 0));
			say(" delete %r", command(BPF_MAP_DELETE_ELEM, map, fd, 0));
			value = 7;
			say(" exist %r update", command(BPF_MAP_UPDATE_ELEM, map, fd, 2));
			for (unsigned f = 0; f < sizeof(flags) / sizeof(*flags); f++)
				value = f + 1, say(" %r", command(BPF_MAP_UPDATE_ELEM, map, fd, flags[f]));
			value = 0;
			say(" lookup %r", command(BPF_MAP_LOOKUP_ELEM, map, fd, 0));
			say(" is %l", (long)value);
			say(" locked %r", command(BPF_MAP_LOOKUP_ELEM, map, fd, 4));
			say(" in the other %r", command(BPF_MAP_LOOKUP_ELEM, other, fd, 0));
			say(" and delete %r", command(BPF_MAP_LOOKUP_AND_DELETE_ELEM, map, fd, 0));
			static unsigned next;
			static unsigned key;
			key = fd;
			attr.map_fd = map, attr.key = (ulong)&key, attr.next_key = (ulong)&next;
			say(" next %r", bpf(BPF_MAP_GET_NEXT_KEY));
			attr.map_fd = map, attr.next_key = (ulong)&next;
			say(" first %r", bpf(BPF_MAP_GET_NEXT_KEY));
			say(" delete %r", command(BPF_MAP_DELETE_ELEM, map, fd, 0));
			say(" again %r\n", command(BPF_MAP_DELETE_ELEM, map, fd, 0));
		}
		for (int b = BPF_MAP_LOOKUP_BATCH; b <= BPF_MAP_DELETE_BATCH; b++) {
			static unsigned keys[4], out[4];
			static unsigned long long values[4];
			keys[0] = i == 0 ? sock : i == 1 ? file : me;
			attr.batch.map_fd = map, attr.batch.keys = (ulong)keys, attr.batch.values = (ulong)values, attr.batch.count = 1, attr.batch.out_batch = (ulong)out;
			say("%s batch %d: %r\n", kinds[i], b, sys(__NR_bpf, b, &attr, sizeof(attr)));
			memset(&attr, 0, sizeof(attr));
		}
		struct bpf_map_info info;
		memset(&info, 0, sizeof(info));
		attr.info.bpf_fd = map, attr.info.info = (ulong)&info, attr.info.info_len = sizeof(info);
		long told = bpf(BPF_OBJ_GET_INFO_BY_FD);
		say("info %r type %d key %d value %d entries %d flags %x types %d %d\n", told, info.type, info.key_size, info.value_size, info.max_entries,
		    (long)info.map_flags, info.btf_key_type_id, info.btf_value_type_id);
		attr.map_fd = map;
		say("freeze %r", bpf(BPF_MAP_FREEZE));
		long owner = i == 0 ? sock : i == 1 ? file : me;
		say(" update %r", command(BPF_MAP_UPDATE_ELEM, map, owner, 0));
		say(" mmap %r\n", (long)map < 0 ? 0 : sys(__NR_mmap, 0, 4096, 1, 1, map, 0));
		value = 5;
		say("in the other %r", command(BPF_MAP_UPDATE_ELEM, other, owner, 0));
		long second = sys(__NR_dup, owner);
		value = 0;
		say(" by another descriptor %r", command(BPF_MAP_LOOKUP_ELEM, other, second, 0));
		say(" %l\n", (long)value);
		long inner = make(BPF_MAP_TYPE_HASH, 4, 4, 1, 0, 0, 0);
		attr.map_type = BPF_MAP_TYPE_ARRAY_OF_MAPS, attr.key_size = attr.value_size = 4, attr.max_entries = 1, attr.inner_map_fd = map;
		long outer = bpf(BPF_MAP_CREATE);
		say("in an array of maps %r\n", outer < 0 ? outer : 0);
		sys(__NR_close, inner);
	}
	return 0;
}
