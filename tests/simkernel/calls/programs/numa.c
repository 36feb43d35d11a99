/* Memory policies of a machine with one node. not: s390x i386 (whose kernel has none of them) */
#include "tiny.h"
#include <linux/mempolicy.h>
#include <linux/mman.h>
#define P 4096UL
static unsigned long mask[16];
static int mode;

static void get(const char *what, void *at, int flags)
{
	long ret;
	mode = 77, mask[0] = 0x55;
	ret = sys(__NR_get_mempolicy, &mode, mask, 1024, at, flags);
	say("%s: %r", what, ret);
	if (!ret)
		say(" mode %x mask %x", (long)mode, (long)mask[0]);
	say("\n");
}
static long set(int how, unsigned long bits, unsigned long max) { unsigned long m[16] = { bits }; return sys(__NR_set_mempolicy, how, m, max); }
static long bind(void *at, unsigned long len, int how, unsigned long bits, int flags) { unsigned long m[16] = { bits }; return sys(__NR_mbind, at, len, how, m, 1024, flags); }

int main(int argc, char **argv)
{
	char *area = map(0, 8 * P, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *pages[4];
	int nodes[4] = { 0, 0, 0, 5 }, status[4] = { 9, 9, 9, 9 };
	get("default", 0, 0);
	say("set default %r with nodes %r", set(MPOL_DEFAULT, 0, 0), set(MPOL_DEFAULT, 1, 64));
	say(" unknown %r", set(9, 1, 64));
	say(" bind none %r", set(MPOL_BIND, 0, 64));
	say(" absent %r", set(MPOL_BIND, 2, 64));
	say(" max %r", set(MPOL_BIND, 1, 1 << 20));
	say(" nothing %r", sys(__NR_set_mempolicy, MPOL_BIND, 0, 0));
	say(" fault %r", sys(__NR_set_mempolicy, MPOL_BIND, 8, 64));
	say(" bind %r\n", set(MPOL_BIND, 1, 64));
	get("bound", 0, 0);
	say("prefer %r", set(MPOL_PREFERRED, 1, 64));
	get("", 0, 0);
	say("prefer none %r", set(MPOL_PREFERRED, 0, 64));
	get("", 0, 0);
	say("interleave %r", set(MPOL_INTERLEAVE, 1, 64));
	get("", 0, 0);
	get("next", 0, MPOL_F_NODE);
	say("local %r with nodes %r", set(MPOL_LOCAL, 0, 0), set(MPOL_LOCAL, 1, 64));
	get("", 0, 0);
	say("many %r", set(MPOL_PREFERRED_MANY, 1, 64));
	get("", 0, 0);
	say("static %r", set(MPOL_BIND | MPOL_F_STATIC_NODES, 1, 64));
	get("", 0, 0);
	say("both %r static prefer none %r\n", set(MPOL_BIND | MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES, 1, 64), set(MPOL_PREFERRED | MPOL_F_STATIC_NODES, 0, 64));
	set(MPOL_DEFAULT, 0, 0);
	get("allowed", 0, MPOL_F_MEMS_ALLOWED);
	get("flags", 0, 64);
	get("node without address", 0, MPOL_F_NODE);
	get("address flag", area, MPOL_F_ADDR);
	area[0] = 1;
	get("node of", area, MPOL_F_ADDR | MPOL_F_NODE);
	get("nowhere", (void *)0x1000, MPOL_F_ADDR);
	get("allowed and address", area, MPOL_F_MEMS_ALLOWED | MPOL_F_ADDR);
	say("small mask %r\n", sys(__NR_get_mempolicy, &mode, mask, 0, 0, 0));
	say("mbind %r", bind(area, 2 * P, MPOL_BIND, 1, 0));
	get("", area, MPOL_F_ADDR);
	get("beside", area + 4 * P, MPOL_F_ADDR);
	say("unaligned %r", bind(area + 1, P, MPOL_BIND, 1, 0));
	say(" flags %r", bind(area, P, MPOL_BIND, 1, 64));
	say(" absent %r", bind(area, P, MPOL_BIND, 4, 0));
	say(" hole %r", bind((void *)0x10000, P, MPOL_BIND, 1, 0));
	say(" nothing %r", bind(area, 0, MPOL_BIND, 1, 0));
	say(" strict %r", bind(area, P, MPOL_BIND, 1, MPOL_MF_STRICT));
	say(" move %r", bind(area, P, MPOL_BIND, 1, MPOL_MF_MOVE));
	say(" move all %r", bind(area, P, MPOL_BIND, 1, MPOL_MF_MOVE_ALL));
	say(" default %r\n", bind(area, 2 * P, MPOL_DEFAULT, 0, 0));
	pages[0] = area, pages[1] = area + P, pages[2] = (void *)0x1000, pages[3] = area;
	say("where %r", sys(__NR_move_pages, 0, 3, pages, 0, status, 0));
	say(" %r %r %r\n", (long)status[0], (long)status[1], (long)status[2]);
	say("move %r", sys(__NR_move_pages, 0, 2, pages, nodes, status, MPOL_MF_MOVE));
	say(" %r %r\n", (long)status[0], (long)status[1]);
	say("absent node %r", sys(__NR_move_pages, 0, 1, pages, nodes + 3, status, MPOL_MF_MOVE));
	say(" flags %r", sys(__NR_move_pages, 0, 1, pages, nodes, status, 1));
	say(" nobody %r", sys(__NR_move_pages, 99999, 1, pages, nodes, status, 2));
	say(" none %r", sys(__NR_move_pages, 0, 0, pages, nodes, status, 2));
	say(" fault %r\n", sys(__NR_move_pages, 0, 1, 8, nodes, status, 2));
	mask[0] = 1;
	say("migrate %r", sys(__NR_migrate_pages, 0, 64, mask, mask));
	say(" nobody %r", sys(__NR_migrate_pages, 99999, 64, mask, mask));
	unsigned long other[16] = { 2 };
	say(" to none %r", sys(__NR_migrate_pages, 0, 64, mask, other));
	say(" from none %r\n", sys(__NR_migrate_pages, 0, 64, other, mask));
#ifdef __NR_set_mempolicy_home_node
	say("home %r", sys(__NR_set_mempolicy_home_node, area, P, 0, 0));
	bind(area, P, MPOL_BIND, 1, 0);
	say(" bound %r", sys(__NR_set_mempolicy_home_node, area, P, 0, 0));
	say(" flags %r", sys(__NR_set_mempolicy_home_node, area, P, 0, 1));
	say(" unaligned %r", sys(__NR_set_mempolicy_home_node, area + 1, P, 0, 0));
	say(" absent %r\n", sys(__NR_set_mempolicy_home_node, area, P, 9, 0));
#endif
	/* a child has its parent's */
	set(MPOL_BIND, 1, 64);
	if (!fork()) {
		get("child", 0, 0);
		leave(0);
	}
	wait_for(-1);
	return 0;
}
