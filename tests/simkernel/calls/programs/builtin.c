/* Calls that a CPU's kernel is built without, or with less of them: memory policies, sysfs(2), commands of membarrier(2). */
/* not: i386 (whose answers a 64-bit kernel gives) */
#include "tiny.h"

int main(int argc, char **argv)
{
	unsigned long nodes = 1;
	int mode;

	T(__NR_sysfs, 9);
	T(__NR_mbind, 0, 0, 0, 0, 0, 0);
	T(__NR_set_mempolicy, 0, 0, 0);
	T(__NR_set_mempolicy, 99, &nodes, 2);
	T(__NR_get_mempolicy, &mode, 0, 0, 0, 0);
	T(__NR_get_mempolicy, 16, 0, 0, 0, 0);
	T(__NR_migrate_pages, 0, 2, 0, 0);
	T(__NR_move_pages, 0, 0, 0, 0, 0, 0);
	T(__NR_move_pages, 99999, 0, 0, 0, 0, 0);
	T(450, 0, 0, 0, 0); /* set_mempolicy_home_node */
	T(__NR_membarrier, 0, 0, 0);
	for (int bit = 0; bit < 10; bit++) {
		long got = sys(__NR_membarrier, 1 << bit, 0, 0);
		say("membarrier %d: %r\n", 1 << bit, got);
	}
	return 0;
}
