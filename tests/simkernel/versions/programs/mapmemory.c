/* What fdinfo says that maps of all types and sizes take, empty and with some elements. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef unsigned long long u64;
static union { union bpf_attr a; char bytes[256]; } u;

static int bpf(int cmd, int size) { int r = syscall(SYS_bpf, cmd, &u, size); return r < 0 ? -errno : r; }
static u64 at(const void *p) { return (u64)(unsigned long)p; }
static int make(int type, int key, int value, unsigned max, unsigned flags, int inner, u64 extra)
{
	memset(&u, 0, sizeof(u));
	u.a.map_type = type, u.a.key_size = key, u.a.value_size = value, u.a.max_entries = max, u.a.map_flags = flags, u.a.inner_map_fd = inner;
	memcpy(u.bytes + 64, &extra, 8);
	return bpf(BPF_MAP_CREATE, 72);
}
static int update(int fd, const void *key, const void *value)
{
	memset(&u, 0, sizeof(u));
	u.a.map_fd = fd, u.a.key = at(key), u.a.value = at(value);
	return bpf(BPF_MAP_UPDATE_ELEM, 32);
}
static void tell(int fd)
{
	char path[64], text[600];
	sprintf(path, "/proc/self/fdinfo/%d", fd);
	int f = open(path, O_RDONLY), got = read(f, text, sizeof(text) - 1);
	close(f), text[got < 0 ? 0 : got] = 0;
	char *from = strstr(text, "memlock");
	printf(" %.*s", (int)(from ? strchr(from, '\n') - from - 9 : 1), from ? from + 9 : "?");
}
static void one(int type, int key, int value, unsigned max, unsigned flags, int inner, u64 extra, int fill)
{
	static char k[64], v[1 << 16];
	int fd = make(type, key, value, max, flags, inner, extra), done = 0;
	printf("%d: %d %d %u %x %llx:", type, key, value, max, flags, extra);
	if (fd < 0) {
		printf(" error %d\n", fd);
		return;
	}
	tell(fd);
	for (int i = 0; i < fill; i++) {
		memset(k, 0, sizeof(k)), memcpy(k + (type == 11 ? 4 : 0), &i, 4);
		if (type == 11) k[0] = 32;
		if (inner) memcpy(v, &inner, 4);
		if (type == 14 || type == 25) v[0] = 1;
		done += !update(fd, type == 22 || type == 23 ? 0 : k, v);
		if (inner || type == 14 || type == 25) v[0] = v[1] = 0;
	}
	if (fill)
		printf(", %d elements:", done), tell(fd);
	printf("\n"), close(fd);
}

static void storages(void)
{
	struct { unsigned short magic; unsigned char version, flags; unsigned header, type_off, type_len, str_off, str_len, name, info, size, bits; char text[5]; } btf =
		{ 0xeb9f, 1, 0, 24, 0, 16, 16, 5, 1, 1 << 24, 4, 1 << 24 | 32, "\0int" };
	memset(&u, 0, sizeof(u)), u.a.btf = at(&btf), u.a.btf_size = 45;
	int fd = bpf(BPF_BTF_LOAD, 32), types[] = { 24, 28, 29, 32 };
	for (int i = 0; i < 4; i++) {
		memset(&u, 0, sizeof(u));
		u.a.map_type = types[i], u.a.key_size = 4, u.a.value_size = 4, u.a.map_flags = 1, u.a.btf_fd = fd, u.a.btf_key_type_id = u.a.btf_value_type_id = 1;
		int map = bpf(BPF_MAP_CREATE, 72);
		printf("storage %d: %d", types[i], map < 0 ? map : 1);
		if (map >= 0) tell(map), close(map);
		printf("\n");
	}
}

int main(void)
{
	storages();
	unsigned max[] = { 1, 2, 3, 5, 64, 100, 1000, 4096, 10000 };
	int values[] = { 1, 4, 8, 12, 100, 4096 }, keys[] = { 1, 4, 8, 20 }, i, j;
	int inner = make(2, 4, 4, 1, 0, 0, 0);
	for (i = 0; i < 9; i++) {
		for (j = 0; j < 6; j++) {
			one(2, 4, values[j], max[i], 0, 0, 0, 0), one(6, 4, values[j], max[i], 0, 0, 0, 0);
			one(1, 4, values[j], max[i], 0, 0, 0, 3), one(1, 4, values[j], max[i], 1, 0, 0, 3);
			one(5, 4, values[j], max[i], 0, 0, 0, 3), one(5, 4, values[j], max[i], 1, 0, 0, j < 5 ? 3 : 0);
			one(9, 4, values[j], max[i], 0, 0, 0, 3), one(10, 4, values[j], max[i], 0, 0, 0, 3);
			one(11, 8, values[j], max[i], 1, 0, 0, 3);
			one(22, 0, values[j], max[i], 0, 0, 0, 1), one(23, 0, values[j], max[i], 0, 0, 0, 1);
			one(30, 0, values[j], max[i], 0, 0, 0, 0);
			one(2, 4, values[j], max[i], 1024, 0, 0, 0);
		}
		for (j = 0; j < 4; j++) one(1, keys[j], 8, max[i], 0, 0, 0, 1), one(9, keys[j], 8, max[i], 0, 0, 0, 0), one(10, keys[j], 8, max[i], 2, 0, 0, 0), one(9, keys[j], 8, max[i], 2, 0, 0, 0);
		one(3, 4, 4, max[i], 0, 0, 0, 0), one(4, 4, 4, max[i], 0, 0, 0, 0), one(8, 4, 4, max[i], 0, 0, 0, 0);
		one(7, 4, 8, max[i], 0, 0, 0, 0), one(7, 4, 80, max[i], 0, 0, 0, 0), one(7, 4, 1016, max[i], 0, 0, 0, 0), one(7, 4, 32, max[i], 32, 0, 0, 0);
		one(12, 4, 4, max[i], 0, inner, 0, 1), one(13, 4, 4, max[i], 0, inner, 0, 1), one(13, 8, 4, max[i], 1, inner, 0, 1);
		one(14, 4, 4, max[i], 0, 0, 0, 1), one(14, 4, 8, max[i], 0, 0, 0, 0), one(25, 4, 4, max[i], 0, 0, 0, 1);
		one(15, 4, 4, max[i], 0, 0, 0, 0), one(15, 4, 8, max[i], 0, 0, 0, 0), one(18, 4, 4, max[i], 0, 0, 0, 0), one(18, 16, 8, max[i], 0, 0, 0, 0);
		one(16, 4, 4, max[i], 0, 0, 0, 0), one(16, 4, 8, max[i], 0, 0, 0, 0), one(17, 4, 4, max[i], 0, 0, 0, 0), one(20, 4, 4, max[i], 0, 0, 0, 0), one(20, 4, 8, max[i], 0, 0, 0, 0);
		one(30, 0, 8, max[i], 0, 0, 3, 0), one(30, 0, 8, max[i], 0, 0, 10, 0);
		one(33, 0, 0, max[i], 1024, 0, 0, 0);
		one(34, 4, 16, max[i], 0, 0, 0, 0);
	}
	for (i = 0; i < 6; i++) one(19, 16, values[i], 0, 0, 0, 0, 0), one(21, 16, values[i], 0, 0, 0, 0, 0), one(19, 8, values[i], 0, 0, 0, 0, 0);
	for (i = 4096; i <= 1 << 20; i *= 4) one(27, 0, 0, i, 0, 0, 0, 0), one(31, 0, 0, i, 0, 0, 0, 0);
	return 0;
}
