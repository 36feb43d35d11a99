/* What stays in LRU maps: random updates and deletions, and after each the keys that are left, as a checksum.
 * gcc -static -o lru_probe lru_probe.c; the answers of Linux 6.1 on one CPU are lru_6_1.txt. */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long bpf(int cmd, union bpf_attr *a) { return syscall(SYS_bpf, cmd, a, sizeof(*a)); }

static uint32_t state;
static uint32_t random_number(void) { return state = state * 1664525u + 1013904223u, state >> 8; }

static void run(int type, int flags, uint32_t entries, uint32_t keys, int steps, uint32_t seed)
{
	union bpf_attr a;
	uint64_t value[64] = { 0 };
	int fd;

	memset(&a, 0, sizeof(a));
	a.map_type = type; a.key_size = 4; a.value_size = 8; a.max_entries = entries; a.map_flags = flags;
	fd = bpf(BPF_MAP_CREATE, &a);
	state = seed;
	printf("%d %d %u %u %u:", type, flags, entries, keys, seed);
	for (int i = 0; i < steps; i++) {
		uint32_t what = random_number() % 16, key = random_number() % keys, left = 0, sum = 0;

		memset(&a, 0, sizeof(a));
		a.map_fd = fd; a.key = (uintptr_t)&key; a.value = (uintptr_t)value;
		if (what < 13)
			bpf(BPF_MAP_UPDATE_ELEM, &a);
		else if (what < 15) {
			a.value = 0;
			bpf(BPF_MAP_DELETE_ELEM, &a);
		}
		else {
			a.flags = BPF_EXIST;
			bpf(BPF_MAP_UPDATE_ELEM, &a);
		}
		for (uint32_t k = 0; k < keys; k++) {
			memset(&a, 0, sizeof(a));
			a.map_fd = fd; a.key = (uintptr_t)&k; a.value = (uintptr_t)value;
			if (bpf(BPF_MAP_LOOKUP_ELEM, &a) == 0) {
				left++;
				sum = sum * 31 + k;
			}
		}
		if (i % 4 == 3)
			printf(" %u/%x", left, sum);
	}
	printf("\n");
	close(fd);
}

int main(void)
{
	static const int types[] = { 9, 10 }, flags[] = { 0, 2 };

	for (int t = 0; t < 2; t++)
		for (int f = 0; f < 2; f++) {
			run(types[t], flags[f], 3, 6, 60, 1);
			run(types[t], flags[f], 10, 20, 200, 2);
			run(types[t], flags[f], 100, 150, 600, 3);
			run(types[t], flags[f], 150, 220, 900, 4);
		}
	return 0;
}
