/* bpf(2) on elements of maps, often enough that the calls are hot: what each says, values at the edges of pages, what is refused. */
/* not: i386: no compiler */
#include "tiny.h"
#include <linux/bpf.h>

#define ROUNDS 400
static union bpf_attr attr;

static long bpf(int cmd, long size)
{
	long result = sys(__NR_bpf, cmd, &attr, size);
	memset(&attr, 0, sizeof(attr));
	return result;
}

static long make(int type, int key, int value, int entries, int flags)
{
	attr.map_type = type;
	attr.key_size = key;
	attr.value_size = value;
	attr.max_entries = entries;
	attr.map_flags = flags;
	return bpf(BPF_MAP_CREATE, sizeof(attr));
}

static long element(int cmd, long fd, const void *key, const void *value, unsigned long flags)
{
	attr.map_fd = fd;
	attr.key = (ulong)key;
	attr.value = (ulong)value;
	attr.flags = flags;
	return bpf(cmd, 32);
}

static ulong digest;
static void told(long answer) { digest = (digest << 7 | digest >> 57) ^ (ulong)answer; }

static void work(long fd, int indexed)
{
	unsigned int few;
	unsigned long key, value[80], next, i;

	for (i = 0; i < ROUNDS; i++) {
		key = i * 7 % 300;
		few = key;
		memset(value, i, sizeof(value));
		told(element(BPF_MAP_UPDATE_ELEM, fd, indexed ? (void *)&few : &key, value, i % 5 == 4 ? 4 : i % 4));
		key = i * 31 % 300;
		few = key;
		memset(value, 0, sizeof(value));
		told(element(BPF_MAP_LOOKUP_ELEM, fd, indexed ? (void *)&few : &key, value, 0));
		told(value[0] ^ value[2]);
		if (i % 3 == 0) {
			key = i * 17 % 300;
			few = key;
			told(element(BPF_MAP_DELETE_ELEM, fd, indexed ? (void *)&few : &key, 0, 0));
		}
		if (indexed)
			told(element(BPF_MAP_GET_NEXT_KEY, fd, i % 9 ? &few : 0, &next, 0));
	}
	for (key = next = i = 0; element(BPF_MAP_GET_NEXT_KEY, fd, i ? &key : 0, &next, 0) == 0 && i < 1000; i++) {
		key = next;
		next = 0;
	}
	say(" %d elements, %x\n", (int)i, digest);
	digest = 0;
}

static void refused(long fd)
{
	unsigned long key = 1, value[80];
	char *end = map(0, 8192, 3, 0x22, -1, 0);
	int i;

	sys(__NR_munmap, end + 4096, 4096);
	memset(value, 0, sizeof(value));
	say(" again %r", element(BPF_MAP_UPDATE_ELEM, fd, &key, value, 0));
	for (i = 0; i < 2; i++) { /* a key or value that ends where memory does */
		say("; update %r", element(BPF_MAP_UPDATE_ELEM, fd, &key, end + 4096 - 24 + i, 0));
		say(", key %r", element(BPF_MAP_UPDATE_ELEM, fd, end + 4096 - 8 + i, value, 0));
		say(", lookup %r", element(BPF_MAP_LOOKUP_ELEM, fd, &key, end + 4096 - 24 + i, 0));
		say(", next %r", element(BPF_MAP_GET_NEXT_KEY, fd, &key, end + 4096 - 8 + i, 0));
		say(", delete %r", element(BPF_MAP_DELETE_ELEM, fd, end + 4096 - 4 + i, 0, 0));
	}
	sys(__NR_mprotect, end, 4096, 1);
	key = 1;
	say("\n read-only: %r", element(BPF_MAP_LOOKUP_ELEM, fd, &key, end, 0));
	say(", from it %r", element(BPF_MAP_UPDATE_ELEM, fd, &key, end, 0));
	say("; lookup with flags %r", element(BPF_MAP_LOOKUP_ELEM, fd, &key, value, 1));
	say(", lock %r", element(BPF_MAP_LOOKUP_ELEM, fd, &key, value, BPF_F_LOCK));
	say(", update %r", element(BPF_MAP_UPDATE_ELEM, fd, &key, value, 3));
	say(", lock %r", element(BPF_MAP_UPDATE_ELEM, fd, &key, value, BPF_F_LOCK));
	say(", delete %r", element(BPF_MAP_DELETE_ELEM, fd, &key, 0, 1));
	say(", next %r", element(BPF_MAP_GET_NEXT_KEY, fd, &key, value, 1));
	say("\n value of a delete %r", element(BPF_MAP_DELETE_ELEM, fd, &key, value, 0));
	say("; no map %r", element(BPF_MAP_LOOKUP_ELEM, 1, &key, value, 0));
	say(", none %r", element(BPF_MAP_LOOKUP_ELEM, 99, &key, value, 0));
	attr.map_fd = fd;
	attr.key = (ulong)&key;
	attr.value = (ulong)value;
	say("; 20 bytes %r", bpf(BPF_MAP_LOOKUP_ELEM, 20));
	element(BPF_MAP_UPDATE_ELEM, fd, &key, value, 0);
	attr.map_fd = fd;
	say("; frozen %r", bpf(BPF_MAP_FREEZE, 4));
	say(", update %r", element(BPF_MAP_UPDATE_ELEM, fd, &key, value, 0));
	say(", delete %r", element(BPF_MAP_DELETE_ELEM, fd, &key, 0, 0));
	say(", lookup %r\n", element(BPF_MAP_LOOKUP_ELEM, fd, &key, value, 0));
}

static void large(int flags)
{
	static struct { char bytes[5000]; } key, value, seen;
	long fd = make(BPF_MAP_TYPE_HASH, sizeof(key), sizeof(value), 20, flags);
	int i, same = 0;

	for (i = 0; i < 50; i++) {
		memset(&key, i % 25, sizeof(key));
		memset(&value, i, sizeof(value));
		told(element(BPF_MAP_UPDATE_ELEM, fd, &key, &value, 0));
		told(element(BPF_MAP_LOOKUP_ELEM, fd, &key, &seen, 0));
		same += !memcmp(&seen, &value, sizeof(seen));
		told(element(BPF_MAP_GET_NEXT_KEY, fd, &key, &seen, 0) && 0);
		if (i % 4 == 3)
			told(element(BPF_MAP_DELETE_ELEM, fd, &key, 0, 0));
	}
	say("pages, flags %d: %d the same, %x\n", flags, same, digest);
	digest = 0;
	sys(__NR_close, fd);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; int type, key, flags; } kinds[] = {
		{ "hash", BPF_MAP_TYPE_HASH, 8, 0 },
		{ "hash without preallocation", BPF_MAP_TYPE_HASH, 8, BPF_F_NO_PREALLOC },
		{ "lru", BPF_MAP_TYPE_LRU_HASH, 8, 0 },
		{ "per cpu", BPF_MAP_TYPE_PERCPU_HASH, 8, 0 },
		{ "per cpu without preallocation", BPF_MAP_TYPE_PERCPU_HASH, 8, BPF_F_NO_PREALLOC },
		{ "array", BPF_MAP_TYPE_ARRAY, 4, 0 },
		{ "array per cpu", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 0 },
	};
	unsigned long key = 1, value[3];
	unsigned i;
	long fd;

	(void)argc, (void)argv;
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		fd = make(kinds[i].type, kinds[i].key, 24, 1000, kinds[i].flags);
		say("%s:", kinds[i].name);
		work(fd, kinds[i].key == 4);
		refused(fd);
		sys(__NR_close, fd);
	}
	large(0);
	large(BPF_F_NO_PREALLOC);
	fd = make(BPF_MAP_TYPE_HASH, 8, 24, 4, BPF_F_RDONLY);
	say("read-only: %r", element(BPF_MAP_UPDATE_ELEM, fd, &key, value, 0));
	say(" %r", element(BPF_MAP_DELETE_ELEM, fd, &key, 0, 0));
	say(" %r\n", element(BPF_MAP_LOOKUP_ELEM, fd, &key, value, 0));
	fd = make(BPF_MAP_TYPE_HASH, 8, 24, 4, BPF_F_WRONLY);
	say("write-only: %r", element(BPF_MAP_UPDATE_ELEM, fd, &key, value, 0));
	say(" %r", element(BPF_MAP_GET_NEXT_KEY, fd, &key, value, 0));
	say(" %r\n", element(BPF_MAP_LOOKUP_ELEM, fd, &key, value, 0));
	return 0;
}
