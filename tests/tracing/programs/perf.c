/* What perf_event_open(2) answers, and what it records: perf PART...; see build.py. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <sys/prctl.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/hw_breakpoint.h>
#include <linux/bpf.h>
static int open_event(struct perf_event_attr *a, int pid, int cpu, int group, unsigned long flags)
{
	return syscall(SYS_perf_event_open, a, pid, cpu, group, flags);
}
static void try(const char *what, struct perf_event_attr *a, int pid, int cpu, int group, unsigned long flags)
{
	int fd = open_event(a, pid, cpu, group, flags);
	printf("%s: %s\n", what, fd >= 0 ? "ok" : strerror(errno));
	if (fd >= 0)
		close(fd);
}
static struct perf_event_attr sw(int config)
{
	struct perf_event_attr a;
	memset(&a, 0, sizeof a);
	a.type = PERF_TYPE_SOFTWARE; a.size = sizeof a; a.config = config;
	return a;
}
static struct perf_event_attr bp(int type, void *addr, int len)
{
	struct perf_event_attr a;
	memset(&a, 0, sizeof a);
	a.type = PERF_TYPE_BREAKPOINT; a.size = sizeof a; a.bp_type = type; a.bp_addr = (uintptr_t)addr; a.bp_len = len;
	return a;
}
static volatile long watched[4];
static void __attribute__((noinline)) called(void) { asm volatile("" ::: "memory"); }
static void arguments(void)
{
	struct perf_event_attr a;
	a = sw(PERF_COUNT_SW_CPU_CLOCK); a.use_clockid = 1; a.clockid = 1; try("clockid monotonic", &a, 0, -1, -1, 0);
	a.clockid = 0; try("clockid realtime", &a, 0, -1, -1, 0);
	a.clockid = 4; try("clockid raw", &a, 0, -1, -1, 0);
	a.clockid = 7; try("clockid boottime", &a, 0, -1, -1, 0);
	a.clockid = 11; try("clockid tai", &a, 0, -1, -1, 0);
	a.clockid = 2; try("clockid process", &a, 0, -1, -1, 0);
	a.clockid = 99; try("clockid 99", &a, 0, -1, -1, 0);
	a = sw(PERF_COUNT_SW_CPU_CLOCK); a.aux_output = 1; try("aux_output", &a, 0, -1, -1, 0);
	int lead = open_event(&(struct perf_event_attr){.type = 1, .size = sizeof a, .config = 9}, 0, -1, -1, 0);
	try("aux_output in a group", &a, 0, -1, lead, 0);
	a = sw(PERF_COUNT_SW_CPU_CLOCK); a.aux_sample_size = 4096; try("aux_sample_size", &a, 0, -1, -1, 0);
	a.sample_type = PERF_SAMPLE_AUX; try("sample aux", &a, 0, -1, -1, 0);
	try("sample aux in a group", &a, 0, -1, lead, 0);
	a = sw(9); a.pinned = 1; try("pinned member", &a, 0, -1, lead, 0);
	a = sw(9); a.exclusive = 1; try("exclusive member", &a, 0, -1, lead, 0);
	a = sw(9); a.pinned = 1; a.exclusive = 1; try("pinned leader", &a, 0, -1, -1, 0);
	a = sw(9); try("member elsewhere", &a, -1, 0, lead, 0);
	try("member of another task", &a, getppid(), -1, lead, 0);
	try("member on a cpu", &a, 0, 0, lead, 0);
	try("pid and cpu -1", &a, -1, -1, -1, 0);
	try("cpu 1000", &a, 0, 1000, -1, 0);
	try("pid none", &a, 999999, -1, -1, 0);
	try("flags 16", &a, 0, -1, -1, 16);
	try("output to itself none", &a, 0, -1, -1, PERF_FLAG_FD_OUTPUT);
	try("group of stdin", &a, 0, -1, 0, 0);
	try("cgroup of stdin", &a, 0, 0, -1, PERF_FLAG_PID_CGROUP);
	for (int i = 0; i < 14; i++) { char t[20]; sprintf(t, "software %d", i); a = sw(i); try(t, &a, 0, -1, -1, 0); }
	for (int i = 0; i < 11; i++) { char t[20]; sprintf(t, "type %d", i); a = sw(0); a.type = i; try(t, &a, 0, -1, -1, 0); }
	a = sw(0); a.type = 4; a.sample_period = 1; a.precise_ip = 3; try("raw precise", &a, 0, -1, -1, 0);
	a = sw(0); a.sample_type = PERF_SAMPLE_BRANCH_STACK; try("branch stack, no type", &a, 0, -1, -1, 0);
	a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY; try("branch stack", &a, 0, -1, -1, 0);
	a.sample_period = 1000; try("branch stack sampling", &a, 0, -1, -1, 0);
	a = sw(0); a.sample_type = PERF_SAMPLE_REGS_USER; try("no user regs", &a, 0, -1, -1, 0);
	a.sample_regs_user = 1ull << 8; try("user regs ip", &a, 0, -1, -1, 0);
	a.sample_regs_user = 0xff0fff; try("user regs all", &a, 0, -1, -1, 0);
	a.sample_regs_user = 0x1000; try("user regs ds", &a, 0, -1, -1, 0);
	a.sample_regs_user = 1ull << 32; try("user regs xmm", &a, 0, -1, -1, 0);
	a.sample_regs_user = 1ull << 63; try("user regs 63", &a, 0, -1, -1, 0);
	a = sw(0); a.sample_type = PERF_SAMPLE_REGS_INTR; a.sample_regs_intr = 1ull << 32; try("intr regs xmm", &a, 0, -1, -1, 0);
	a.sample_regs_intr = 0xff0fff; try("intr regs all", &a, 0, -1, -1, 0);
	a = sw(0); a.sample_type = PERF_SAMPLE_STACK_USER; try("stack 0", &a, 0, -1, -1, 0);
	a.sample_stack_user = 8; try("stack 8", &a, 0, -1, -1, 0);
	a.sample_stack_user = 12; try("stack 12", &a, 0, -1, -1, 0);
	a.sample_stack_user = 65528; try("stack 65528", &a, 0, -1, -1, 0);
	a = sw(0); a.sample_type = PERF_SAMPLE_CALLCHAIN; a.sample_max_stack = 127; try("max stack 127", &a, 0, -1, -1, 0);
	a.sample_max_stack = 128; try("max stack 128", &a, 0, -1, -1, 0);
	a = sw(0); a.sample_type = PERF_SAMPLE_DATA_SRC; try("data src", &a, 0, -1, -1, 0);
	a = sw(0); a.sample_type = PERF_SAMPLE_PHYS_ADDR; try("phys addr", &a, 0, -1, -1, 0);
	a = sw(0); a.sample_type = PERF_SAMPLE_CGROUP; try("cgroup", &a, 0, -1, -1, 0);
	a = sw(0); a.cgroup = 1; try("cgroup records", &a, 0, -1, -1, 0);
	a = sw(0); a.text_poke = 1; try("text poke", &a, 0, -1, -1, 0);
	a = sw(0); a.ksymbol = 1; try("ksymbol", &a, 0, -1, -1, 0);
	a = sw(0); a.bpf_event = 1; try("bpf event", &a, 0, -1, -1, 0);
	a = sw(0); a.build_id = 1; try("build id", &a, 0, -1, -1, 0);
	a = sw(0); a.namespaces = 1; try("namespaces", &a, 0, -1, -1, 0);
	a = sw(0); a.inherit_thread = 1; try("inherit thread alone", &a, 0, -1, -1, 0);
	a = sw(0); a.sigtrap = 1; try("sigtrap alone", &a, 0, -1, -1, 0);
	a.remove_on_exec = 1; try("sigtrap", &a, 0, -1, -1, 0);
	a = sw(0); a.inherit = 1; a.read_format = PERF_FORMAT_GROUP; try("inherit group", &a, 0, -1, -1, 0);
	a.sample_type = PERF_SAMPLE_READ; try("inherit sample read", &a, 0, -1, -1, 0);
	a = sw(0); a.freq = 1; a.sample_freq = 100001; try("freq 100001", &a, 0, -1, -1, 0);
	a = sw(0); a.sample_period = 1ull << 63; try("period 2^63", &a, 0, -1, -1, 0);
	a = sw(0); a.__reserved_1 = 1; try("reserved 1", &a, 0, -1, -1, 0);
	a = sw(0); a.read_format = 32; try("read format 32", &a, 0, -1, -1, 0);
	a = sw(0); a.size = 63; try("size 63", &a, 0, -1, -1, 0);
	printf("size says %u\n", a.size);
	close(lead);
}
static void breakpoints(void)
{
	struct perf_event_attr a;
	int types[] = {0, HW_BREAKPOINT_R, HW_BREAKPOINT_W, HW_BREAKPOINT_RW, HW_BREAKPOINT_X, 5, 6, 8};
	for (unsigned i = 0; i < 8; i++)
		for (int len = 0; len < 10; len++) {
			char t[40]; sprintf(t, "breakpoint %d len %d", types[i], len);
			a = bp(types[i], types[i] == 4 ? (void *)called : (void *)watched, len); try(t, &a, 0, -1, -1, 0);
		}
	a = bp(HW_BREAKPOINT_W, (char *)watched + 1, 4); try("unaligned", &a, 0, -1, -1, 0);
	a = bp(HW_BREAKPOINT_W, (void *)0xffffffff81000000, 4); try("kernel address", &a, 0, -1, -1, 0);
	a.exclude_kernel = 1; try("kernel address for user", &a, 0, -1, -1, 0);
	a = bp(HW_BREAKPOINT_W, (void *)watched, 8); try("on a cpu", &a, -1, 0, -1, 0);
	int fds[6];
	for (int i = 0; i < 6; i++) {
		a = bp(HW_BREAKPOINT_W, (void *)&watched[i % 4], 8);
		fds[i] = open_event(&a, 0, -1, -1, 0);
		printf("slot %d: %s\n", i, fds[i] >= 0 ? "ok" : strerror(errno));
	}
	for (int i = 0; i < 6; i++) if (fds[i] >= 0) close(fds[i]);
}
static void watch(void)
{
	struct { int type; int len; const char *name; } t[] = {{HW_BREAKPOINT_W, 8, "w"}, {HW_BREAKPOINT_X, 8, "x"}};
	for (int i = 0; i < 2; i++) {
		struct perf_event_attr a = bp(t[i].type, t[i].type == 4 ? (void *)called : (void *)&watched[1], t[i].len);
		a.exclude_kernel = 1; a.sample_period = 1; a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_TID;
		int fd = open_event(&a, 0, -1, -1, 0);
		if (fd < 0) { printf("%s: %s\n", t[i].name, strerror(errno)); continue; }
		struct perf_event_mmap_page *m = mmap(0, 8192, 3, MAP_SHARED, fd, 0);
		long x = 0;
		watched[0] = 1;
		for (int k = 0; k < 5; k++) watched[1] = k;
		for (int k = 0; k < 3; k++) x += watched[1];
		((volatile char *)watched)[12] = 7;
		((volatile char *)watched)[8] = 7;
		watched[2] = x;
		for (int k = 0; k < 4; k++) called();
		long long count;
		read(fd, &count, 8);
		printf("%s: count %lld", t[i].name, count);
		int n = 0, at = 0; uint64_t off = 0;
		while (off < m->data_head) {
			struct perf_event_header *h = (void *)((char *)m + 4096 + off);
			uint64_t *w = (void *)(h + 1);
			if (h->type == PERF_RECORD_SAMPLE) { n++; at += w[2] == (t[i].type == 4 ? (uintptr_t)called : (uintptr_t)&watched[1]); if (t[i].type == 4 && n == 1) printf(" ip %s", w[0] == (uintptr_t)called ? "there" : "elsewhere"); }
			off += h->size;
		}
		printf(" samples %d at the address %d\n", n, at);
		close(fd);
	}
}
static const char *names[] = {"0", "MMAP", "LOST", "COMM", "EXIT", "THROTTLE", "UNTHROTTLE", "FORK", "READ", "SAMPLE", "MMAP2", "AUX", "ITRACE_START", "LOST_SAMPLES", "SWITCH", "SWITCH_CPU_WIDE", "NAMESPACES", "KSYMBOL", "BPF_EVENT", "CGROUP", "TEXT_POKE"};
static int me;
static const char *who(uint32_t pid) { return pid == (uint32_t)me ? "me" : pid == (uint32_t)getppid() ? "parent" : "other"; }
static void show(struct perf_event_mmap_page *m, uint64_t size)
{
	char buf[65536];
	uint64_t tail = m->data_tail;
	while (tail < m->data_head) {
		for (unsigned i = 0; i < 8; i++) buf[i] = ((char *)m)[4096 + (tail + i) % size];
		struct perf_event_header *h = (void *)buf;
		for (unsigned i = 0; i < h->size; i++) buf[i] = ((char *)m)[4096 + (tail + i) % size];
		tail += h->size;
		uint32_t *w = (void *)(h + 1);
		if (h->type == PERF_RECORD_MMAP || h->type == PERF_RECORD_MMAP2) {
			char *name = (char *)(h + 1) + (h->type == PERF_RECORD_MMAP ? 32 : 64);
			uint64_t *q = (void *)(h + 1);
			char *slash = strrchr(name, '/');
			printf("%s misc %x %s%s %s", names[h->type], h->misc & 0x3007, who(w[0]), w[0] == w[1] ? "" : " thread", slash ? slash + 1 : name);
			if (h->type == PERF_RECORD_MMAP2) printf(" prot %x flags %x", w[12 + 2], w[13 + 2]);
			printf("\n");
			(void)q;
		} else if (h->type == PERF_RECORD_COMM)
			printf("COMM misc %x %s %s\n", h->misc, who(w[0]), (char *)(w + 2));
		else if (h->type == PERF_RECORD_FORK || h->type == PERF_RECORD_EXIT)
			printf("%s misc %x pid %s ppid %s size %d\n", names[h->type], h->misc, who(w[0]), who(w[1]), h->size);
		else if (h->type == PERF_RECORD_SWITCH)
			printf("SWITCH misc %x size %d\n", h->misc & ~0x4000, h->size);
		else if (h->type == PERF_RECORD_KSYMBOL)
			printf("KSYMBOL misc %x type %d flags %d len %d name %.9s\n", h->misc, ((uint16_t *)(w + 3))[0], ((uint16_t *)(w + 3))[1], w[2] != 0, (char *)(w + 4));
		else if (h->type == PERF_RECORD_BPF_EVENT)
			printf("BPF_EVENT misc %x type %d flags %d size %d\n", h->misc, ((uint16_t *)w)[0], ((uint16_t *)w)[1], h->size);
		else
			printf("%s misc %x size %d\n", h->type < 21 ? names[h->type] : "?", h->misc, h->size);
	}
	m->data_tail = tail;
}
static void records(void)
{
	struct perf_event_attr a = sw(PERF_COUNT_SW_DUMMY);
	a.mmap = a.mmap2 = a.mmap_data = a.comm = a.comm_exec = a.task = 1; a.sample_id_all = 1; a.sample_type = PERF_SAMPLE_TID;
	me = getpid();
	int go[2]; pipe(go);
	int child = fork();
	if (!child) { char c; close(go[1]); read(go[0], &c, 1); me = getpid(); prctl(PR_SET_NAME, "renamed"); mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); mmap(0, 8192, 5, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); void *p = mmap(0, 8192, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0); mprotect(p, 4096, 5); sbrk(1 << 20); int f = open("/proc/self/exe", 0); mmap(0, 4096, 1, MAP_PRIVATE, f, 0); mmap(0, 4096, 5, MAP_PRIVATE, f, 4096); execl("/proc/self/exe", "pe", "nothing", (char *)0); _exit(1); }
	int fd = open_event(&a, child, -1, -1, 0);
	struct perf_event_mmap_page *m = mmap(0, 17 * 4096, 3, MAP_SHARED, fd, 0);
	me = child;
	write(go[1], "x", 1);
	int st; waitpid(child, &st, 0);
	show(m, 16 * 4096);
	printf("status %d\n", st);
	close(fd);
}
static void program(void)
{
	struct perf_event_attr a = sw(PERF_COUNT_SW_DUMMY);
	a.ksymbol = a.bpf_event = 1;
	int fd = open_event(&a, -1, 0, -1, 0);
	struct perf_event_mmap_page *m = mmap(0, 17 * 4096, 3, MAP_SHARED, fd, 0);
	struct bpf_insn code[] = {{.code = 0xb7}, {.code = 0x95}};
	union bpf_attr u; memset(&u, 0, sizeof u);
	u.prog_type = BPF_PROG_TYPE_SOCKET_FILTER; u.insns = (uintptr_t)code; u.insn_cnt = 2; u.license = (uintptr_t)"GPL"; strcpy(u.prog_name, "named");
	int p = syscall(SYS_bpf, BPF_PROG_LOAD, &u, sizeof u);
	printf("program %s\n", p >= 0 ? "ok" : strerror(errno));
	close(p); usleep(300000);
	show(m, 16 * 4096);
}
static void groups(void)
{
	struct perf_event_attr a = sw(PERF_COUNT_SW_PAGE_FAULTS);
	a.disabled = 1; a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	int lead = open_event(&a, 0, -1, -1, 0);
	a = sw(PERF_COUNT_SW_PAGE_FAULTS_MIN); a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	int two = open_event(&a, 0, -1, lead, 0);
	char *mem = mmap(0, 40 * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t v[8];
	for (int i = 0; i < 5; i++) mem[i * 4096] = 1;
	ssize_t got = read(lead, v, sizeof v);
	printf("read %zd nr %lu values %lu %lu\n", got, v[0], v[1], v[3]);
	ioctl(lead, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 5; i < 12; i++) mem[i * 4096] = 1;
	ioctl(lead, PERF_EVENT_IOC_DISABLE, 0);
	read(lead, v, sizeof v); printf("counts %lu %lu\n", v[1], v[3]);
	printf("member read %zd\n", read(two, v, sizeof v));
	ioctl(lead, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	read(lead, v, sizeof v); printf("after reset %lu %lu\n", v[1], v[3]);
	close(lead);
	ssize_t n = read(two, v, sizeof v); printf("alone %zd nr %lu\n", n, v[0]);
	close(two);
	/* inherit */
	a = sw(PERF_COUNT_SW_PAGE_FAULTS); a.inherit = 1; a.disabled = 1;
	int fd = open_event(&a, 0, -1, -1, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	int c = fork();
	if (!c) { for (int i = 12; i < 40; i++) mem[i * 4096] = 1; _exit(0); }
	uint64_t before, after; read(fd, &before, 8); waitpid(c, 0, 0); read(fd, &after, 8);
	printf("child counted %d\n", after >= 28);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	c = fork();
	uint64_t b2, a2; read(fd, &b2, 8);
	if (!c) { for (int i = 12; i < 40; i++) mem[i * 4096] = 1; _exit(0); }
	waitpid(c, 0, 0); read(fd, &a2, 8);
	printf("disabled child counted %lu\n", a2 - b2);
	close(fd);
}
static void samples(void)
{
	struct perf_event_attr a = sw(PERF_COUNT_SW_PAGE_FAULTS);
	a.sample_period = 1; a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_CGROUP;
	a.sample_regs_user = 1 << 7 | 1 << 8; a.sample_regs_intr = 1 << 8; a.sample_stack_user = 64; a.exclude_kernel = 1;
	int fd = open_event(&a, 0, -1, -1, 0);
	if (fd < 0) { printf("samples: %s\n", strerror(errno)); return; }
	char *mem = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct perf_event_mmap_page *m = mmap(0, 17 * 4096, 3, MAP_SHARED, fd, 0);
	mem[100] = 1;
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	uint64_t off = 0;
	while (off < m->data_head) {
		struct perf_event_header *h = (void *)((char *)m + 4096 + off);
		uint64_t *w = (void *)(h + 1);
		off += h->size;
		if (w[1] != (uintptr_t)mem + 100) continue;
		printf("sample misc %x size %d\n", h->misc, h->size);
		printf("abi %lu sp near %d ip same %d\n", w[2], (uintptr_t)&m - w[3] < 4096, w[4] == w[0]);
		printf("stack size %lu dyn %lu\n", w[5], w[6 + w[5] / 8]);
		uint64_t *r = w + 7 + w[5] / 8;
		printf("weight %lu data_src %lx txn %lx intr abi %lu same %d\n", r[0], r[1], r[2], r[3], r[4] == w[0]);
	}
	close(fd);
	a = sw(PERF_COUNT_SW_CONTEXT_SWITCHES); a.context_switch = 1;
	fd = open_event(&a, 0, -1, -1, 0);
	m = mmap(0, 2 * 4096, 3, MAP_SHARED, fd, 0);
	usleep(1000); usleep(1000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	me = getpid(); show(m, 4096);
	close(fd);
}
int main(int argc, char **argv)
{
	setvbuf(stdout, 0, _IONBF, 0);
	if (argc < 2 || !strcmp(argv[1], "nothing")) return 0;
	for (int i = 1; i < argc; i++) {
		printf("## %s\n", argv[i]);
		if (!strcmp(argv[i], "arguments")) arguments();
		if (!strcmp(argv[i], "breakpoints")) breakpoints();
		if (!strcmp(argv[i], "watch")) watch();
		if (!strcmp(argv[i], "records")) records();
		if (!strcmp(argv[i], "program")) program();
		if (!strcmp(argv[i], "groups")) groups();
		if (!strcmp(argv[i], "samples")) samples();
	}
	return 0;
}
