/* What perf_event_open(2) refuses, counts, writes into its ring and signals: every answer a line. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long open_(struct perf_event_attr *a, int pid, int cpu, int group, unsigned long flags)
{
	long r = syscall(SYS_perf_event_open, a, pid, cpu, group, flags);
	return r < 0 ? -errno : r;
}
static struct perf_event_attr attr(uint32_t type, uint64_t config)
{
	struct perf_event_attr a;
	memset(&a, 0, sizeof a);
	a.type = type; a.size = sizeof a; a.config = config;
	return a;
}
static int id_of(const char *name)
{
	char p[200], b[20] = "";
	sprintf(p, "/sys/kernel/tracing/events/%s/id", name);
	int f = open(p, O_RDONLY); read(f, b, 19); close(f);
	return atoi(b);
}
#define T(what, v) printf("%-44s %ld\n", what, (long)(v))
#define O(what, a, pid, cpu, g, fl) do { long r_ = open_(&a, pid, cpu, g, fl); printf("%-44s %s %ld\n", what, r_ < 0 ? "-" : "ok", r_ < 0 ? -r_ : 0); if (r_ >= 0) close(r_); } while (0)
static volatile int watched;
static void nothing(void) { __asm__ volatile(""); }
static int nsig, lastfd, lastcode; static uint64_t lastdata;
static void io(int s, siginfo_t *i, void *u) { nsig++; lastfd = i->si_fd; lastcode = i->si_code; }
static void trap(int s, siginfo_t *i, void *u) { nsig++; lastcode = i->si_code; memcpy(&lastdata, (char *)i + 24, 8); }

static void records(char *ring, int pages, const char *title, int show)
{
	struct perf_event_mmap_page *m = (void *)ring;
	char *d = ring + 4096; uint64_t size = pages * 4096, head = m->data_head, tail = m->data_tail;
	int counts[32] = {0}, sizes[32] = {0};
	printf("%s: ", title);
	while (tail < head) {
		struct perf_event_header h;
		for (int i = 0; i < 8; i++) ((char *)&h)[i] = d[(tail + i) % size];
		if (h.type < 32) { counts[h.type]++; sizes[h.type] = h.size; }
		if (show) printf("[%d/%x/%d] ", h.type, h.misc, h.size);
		tail += h.size;
		if (!h.size) break;
	}
	for (int i = 0; i < 32; i++) if (counts[i]) printf("%d:%d ", i, counts[i]);
	printf("\n");
	m->data_tail = head;
}
int main(void)
{
	int sw = id_of("syscalls/sys_enter_getppid");
	struct perf_event_attr a;
	/* refusals */
	a = attr(PERF_TYPE_SOFTWARE, 99); O("software 99", a, 0, -1, -1, 0);
	a = attr(99, 0); O("type 99", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_HARDWARE, 0); O("hardware", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_HW_CACHE, 0); O("cache", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_RAW, 1); O("raw", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_TRACEPOINT, 999999); O("tracepoint 999999", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.size = 10; O("size 10", a, 0, -1, -1, 0); printf("size now %d\n", a.size);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.size = 5000; O("size 5000", a, 0, -1, -1, 0); printf("size now %d\n", a.size);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.size = 64; O("size 64", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.size = 0; O("size 0", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); O("pid -1 cpu -1", a, -1, -1, -1, 0);
	O("cpu 99", a, -1, 99, -1, 0); O("pid 99999", a, 99999, -1, -1, 0); O("group 99", a, 0, -1, 99, 0); O("group 0 (no event)", a, 0, -1, 0, 0);
	O("flags 0x40", a, 0, -1, -1, 0x40); O("FD_OUTPUT without group", a, 0, -1, -1, PERF_FLAG_FD_OUTPUT); O("FD_NO_GROUP", a, 0, -1, -1, PERF_FLAG_FD_NO_GROUP); O("PID_CGROUP", a, 0, 0, -1, PERF_FLAG_PID_CGROUP); O("cpu -2", a, 0, -2, -1, 0);
	a.sample_type = 1ull << 40; O("sample_type", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.read_format = 1 << 6; O("read_format", a, 0, -1, -1, 0);
	a.read_format = 0x1f; O("read_format 1f", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.freq = 1; a.sample_freq = 1000000; O("freq", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.sample_period = 1ull << 63; O("period 1<<63", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.sample_type = PERF_SAMPLE_STACK_USER; a.sample_stack_user = 7; O("stack 7", a, 0, -1, -1, 0); a.sample_stack_user = 65536 - 8; O("stack 65528", a, 0, -1, -1, 0); a.sample_stack_user = 0; O("stack 0", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.sample_type = PERF_SAMPLE_REGS_USER; a.sample_regs_user = 0; O("regs 0", a, 0, -1, -1, 0); a.sample_regs_user = 1ull << 40; O("regs 1<<40", a, 0, -1, -1, 0); a.sample_regs_user = 0xff; O("regs ff", a, 0, -1, -1, 0); a.sample_regs_user = 1 << 12; O("regs ds", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.sample_type = PERF_SAMPLE_BRANCH_STACK; O("branch", a, 0, -1, -1, 0); a.branch_sample_type = 1 << 3; O("branch any", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT; O("weights", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.sample_max_stack = 200; a.sample_type = PERF_SAMPLE_CALLCHAIN; O("max_stack 200", a, 0, -1, -1, 0); a.sample_max_stack = 127; O("max_stack 127", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.sample_type = PERF_SAMPLE_CALLCHAIN; a.exclude_callchain_kernel = a.exclude_callchain_user = 1; O("callchain neither", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.aux_output = 1; O("aux_output", a, 0, -1, -1, 0); a.aux_output = 0; a.aux_sample_size = 8; O("aux_sample_size", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.use_clockid = 1; a.clockid = 1; O("clockid 1", a, 0, -1, -1, 0); a.clockid = 0; O("clockid 0", a, 0, -1, -1, 0); a.clockid = 2; O("clockid 2", a, 0, -1, -1, 0); a.clockid = 7; O("clockid 7", a, 0, -1, -1, 0); a.clockid = 11; O("clockid 11", a, 0, -1, -1, 0); a.clockid = 4; O("clockid 4", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.sigtrap = 1; O("sigtrap", a, 0, -1, -1, 0); a.remove_on_exec = 1; O("sigtrap remove", a, 0, -1, -1, 0); a.enable_on_exec = 1; O("remove enable", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.inherit_thread = 1; O("inherit_thread", a, 0, -1, -1, 0); a.inherit = 1; O("inherit inherit_thread", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.inherit = 1; a.read_format = PERF_FORMAT_GROUP; O("inherit group", a, 0, -1, -1, 0); a.inherit = 1; a.read_format = 0; a.sample_type = PERF_SAMPLE_READ; O("inherit read", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.namespaces = a.cgroup = a.ksymbol = a.bpf_event = a.text_poke = a.build_id = a.mmap2 = a.mmap = a.comm = a.task = 1; O("side bands", a, 0, -1, -1, 0); a.mmap = a.mmap2 = 0; O("build_id alone", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); ((uint64_t *)&a)[5] |= 1ull << 45; O("reserved", a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_SOFTWARE, 1); a.precise_ip = 1; O("precise", a, 0, -1, -1, 0); a.precise_ip = 3; O("precise 3", a, 0, -1, -1, 0);
	/* breakpoints */
	for (int type = 0; type < 8; type++) for (int len = 0; len < 9; len++) {
		a = attr(PERF_TYPE_BREAKPOINT, 0); a.bp_type = type; a.bp_addr = (unsigned long)&watched; a.bp_len = len;
		long r = open_(&a, 0, -1, -1, 0); if (r >= 0) { printf("bp %d %d ok\n", type, len); close(r); } else if (r != -EINVAL) printf("bp %d %d: %ld\n", type, len, r);
	}
	a = attr(PERF_TYPE_BREAKPOINT, 0); a.bp_type = 2; a.bp_addr = (unsigned long)&watched + 1; a.bp_len = 4; O("bp unaligned", a, 0, -1, -1, 0);
	long many[8]; for (int i = 0; i < 6; i++) { a = attr(PERF_TYPE_BREAKPOINT, 0); a.bp_type = 2; a.bp_addr = (unsigned long)&watched; a.bp_len = 4; many[i] = open_(&a, 0, -1, -1, 0); printf("bp no. %d %ld\n", i, many[i] < 0 ? many[i] : 0); } for (int i = 0; i < 6; i++) close(many[i]);
	/* counting */
	a = attr(PERF_TYPE_BREAKPOINT, 0); a.bp_type = 3; a.bp_addr = (unsigned long)&watched; a.bp_len = 4;
	long fd = open_(&a, 0, -1, -1, 0); uint64_t v[16]; watched = 1; watched = 2; int x = watched; (void)x; read(fd, v, 8); T("rw watch", v[0]); 
	a.bp_type = 2; T("modify bp", ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &a) ? -errno : 0); watched = 1; x = watched; read(fd, v, 8); T("after modify", v[0] > 3); close(fd);
	a = attr(PERF_TYPE_BREAKPOINT, 0); a.bp_type = 4; a.bp_addr = (unsigned long)nothing; a.bp_len = 8; fd = open_(&a, 0, -1, -1, 0); nothing(); nothing(); read(fd, v, 8); T("exec watch", v[0]); close(fd);
	a = attr(PERF_TYPE_TRACEPOINT, sw); a.read_format = 0x1f; a.disabled = 1;
	fd = open_(&a, 0, -1, -1, 0); getppid(); memset(v, 0xee, sizeof v); T("read group", read(fd, v, sizeof v)); T("nr", v[0]); T("disabled value", v[3]);
	T("enable", ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)); getppid(); getppid(); read(fd, v, sizeof v); T("enabled value", v[3]); T("lost", v[5]); T("read 8", read(fd, v, 8) < 0 ? -errno : 0); T("read 0", read(fd, v, 0) < 0 ? -errno : 0);
	T("write", write(fd, v, 8) < 0 ? -errno : 0); T("reset", ioctl(fd, PERF_EVENT_IOC_RESET, 0)); read(fd, v, sizeof v); T("after reset", v[3]);
	T("refresh 2", ioctl(fd, PERF_EVENT_IOC_REFRESH, 2) < 0 ? -errno : 0); T("period 5", ioctl(fd, PERF_EVENT_IOC_PERIOD, &(uint64_t){5}) < 0 ? -errno : 0); T("ioctl 99", ioctl(fd, 99, 0) < 0 ? -errno : 0);
	T("id", ioctl(fd, PERF_EVENT_IOC_ID, v) < 0 ? -errno : 0); T("output self", ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd) < 0 ? -errno : 0); T("output -1", ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1) < 0 ? -errno : 0); T("pause", ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1) < 0 ? -errno : 0); T("set_bpf -1", ioctl(fd, PERF_EVENT_IOC_SET_BPF, -1) < 0 ? -errno : 0);
	T("filter bad", ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "nothing == 1") < 0 ? -errno : 0); T("filter pid", ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "common_pid == 1") < 0 ? -errno : 0); ioctl(fd, PERF_EVENT_IOC_RESET, 0); getppid(); read(fd, v, sizeof v); T("filtered", v[3]); T("filter 0", ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "0") < 0 ? -errno : 0); getppid(); read(fd, v, sizeof v); T("unfiltered", v[3]);
	T("mmap odd", mmap(0, 3 * 4096 + 4096, 3, 1, fd, 0) == MAP_FAILED ? -errno : 0); T("mmap private", mmap(0, 2 * 4096, 3, 2, fd, 0) == MAP_FAILED ? -errno : 0); T("mmap offset", mmap(0, 2 * 4096, 3, 1, fd, 4096) == MAP_FAILED ? -errno : 0); T("poll", poll(&(struct pollfd){fd, POLLIN, 0}, 1, 0));
	close(fd);
	/* groups */
	a = attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY); a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID; a.disabled = 1; long lead = open_(&a, 0, -1, -1, 0);
	a = attr(PERF_TYPE_TRACEPOINT, sw); long m1 = open_(&a, 0, -1, lead, 0); a = attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS); long m2 = open_(&a, 0, -1, lead, 0); getppid();
	T("group read", read(lead, v, sizeof v)); T("nr", v[0]); ioctl(lead, PERF_EVENT_IOC_ENABLE, 0); getppid(); read(lead, v, sizeof v); T("member", v[3]); T("member's own read", read(m1, v, sizeof v)); T("member value", v[0]);
	a = attr(PERF_TYPE_SOFTWARE, 1); O("group of a member", a, 0, -1, m1, 0); O("group, other cpu", a, 0, 0, lead, 0); a.pinned = 1; O("pinned member", a, 0, -1, lead, 0); a.pinned = 0; a.exclusive = 1; O("exclusive member", a, 0, -1, lead, 0);
	ioctl(lead, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP); getppid(); read(m1, v, 8); T("group disabled", v[0]); ioctl(lead, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP); read(m1, v, 8); T("group reset", v[0]); prctl(PR_TASK_PERF_EVENTS_ENABLE); getppid(); read(m1, v, 8); T("prctl enable", v[0]); prctl(PR_TASK_PERF_EVENTS_DISABLE); getppid(); read(m1, v, 8); T("prctl disable", v[0]);
	close(lead); getppid(); T("after leader", read(m1, v, 8)); T("value", v[0]); close(m1); close(m2);
	/* sampling */
	static const uint64_t types[] = {0, 1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0x100, 0x200, 0x400, 0x1000, 0x2000, 0x4000, 0x8000, 0x10000, 0x20000, 0x40000, 0x80000, 0x100000, 0x200000, 0x400000, 0x800000, 0x1000000, 0x10001, 0x107, 0x1ff, 0x5ef};
	for (unsigned i = 0; i < sizeof types / 8; i++) {
		a = attr(PERF_TYPE_TRACEPOINT, sw); a.sample_period = 1; a.sample_type = types[i]; a.sample_id_all = 1; a.sample_regs_user = a.sample_regs_intr = 0xf; a.sample_stack_user = 64; a.wakeup_events = 2; a.read_format = 5; a.comm = 1; a.exclude_callchain_user = 1;
		long f = open_(&a, 0, -1, -1, 0); char title[40]; sprintf(title, "sample %lx", types[i]); if (f < 0) { printf("%s: %ld\n", title, f); continue; }
		char *ring = mmap(0, 3 * 4096, 3, 1, f, 0); if (ring == MAP_FAILED) { printf("%s: mmap %d\n", title, errno); close(f); continue; }
		getppid(); int p1 = poll(&(struct pollfd){f, POLLIN, 0}, 1, 0); getppid(); int p2 = poll(&(struct pollfd){f, POLLIN, 0}, 1, 0); prctl(PR_SET_NAME, "abc"); printf("%d%d ", p1, p2); records(ring, 2, title, !(types[i] & 0x20));
		munmap(ring, 3 * 4096); close(f);
	}
	/* lost, overwritten, paused */
	a = attr(PERF_TYPE_TRACEPOINT, sw); a.sample_period = 1; a.sample_type = PERF_SAMPLE_RAW; a.read_format = PERF_FORMAT_LOST; fd = open_(&a, 0, -1, -1, 0); char *ring = mmap(0, 2 * 4096, 3, 1, fd, 0);
	for (int i = 0; i < 300; i++) getppid(); read(fd, v, 16); T("value", v[0]); T("lost", v[1]); records(ring, 1, "full", 0); getppid(); records(ring, 1, "then", 1); ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1); getppid(); records(ring, 1, "paused", 1); ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0); getppid(); records(ring, 1, "resumed", 1); close(fd); munmap(ring, 8192);
	a.write_backward = 1; fd = open_(&a, 0, -1, -1, 0); ring = mmap(0, 2 * 4096, 1, 1, fd, 0); for (int i = 0; i < 300; i++) getppid(); struct perf_event_mmap_page *m = (void *)ring; T("backward head", (int64_t)m->data_head); T("size", ((struct perf_event_header *)(ring + 4096 + (m->data_head & 4095)))->size); read(fd, v, 16); T("lost", v[1]); close(fd); munmap(ring, 8192);
	/* signals */
	struct sigaction sa = {.sa_sigaction = io, .sa_flags = SA_SIGINFO}; sigaction(SIGIO, &sa, 0); sigaction(SIGUSR1, &sa, 0);
	a = attr(PERF_TYPE_TRACEPOINT, sw); a.sample_period = 2; a.wakeup_events = 1; a.disabled = 1; fd = open_(&a, 0, -1, -1, 0); ring = mmap(0, 2 * 4096, 3, 1, fd, 0); fcntl(fd, F_SETFL, O_ASYNC); fcntl(fd, F_SETOWN, getpid()); ioctl(fd, PERF_EVENT_IOC_REFRESH, 2); for (int i = 0; i < 10; i++) getppid(); T("SIGIO", nsig); T("code", lastcode); read(fd, v, 8); T("value", v[0]); fcntl(fd, F_SETSIG, SIGUSR1); nsig = 0; ioctl(fd, PERF_EVENT_IOC_REFRESH, 1); for (int i = 0; i < 10; i++) getppid(); T("SIGUSR1", nsig); T("code", lastcode); T("fd", lastfd == fd); close(fd);
	sa.sa_sigaction = trap; sigaction(SIGTRAP, &sa, 0); nsig = 0; a = attr(PERF_TYPE_BREAKPOINT, 0); a.bp_type = 2; a.bp_addr = (unsigned long)&watched; a.bp_len = 4; a.sample_period = 1; a.sigtrap = a.remove_on_exec = 1; a.exclude_kernel = 1; a.sig_data = 0x1234567; fd = open_(&a, 0, -1, -1, 0); T("sigtrap open", fd < 0 ? fd : 0); watched = 5; T("SIGTRAP", nsig > 0); T("code", lastcode); T("data", lastdata); close(fd);
	/* inheritance and exec */
	a = attr(PERF_TYPE_TRACEPOINT, sw); a.inherit = 1; fd = open_(&a, 0, -1, -1, 0); if (!fork()) { getppid(); getppid(); if (!fork()) { getppid(); _exit(0); } wait(0); _exit(0); } wait(0); getppid(); read(fd, v, 8); T("inherited", v[0]); close(fd);
	a.inherit = 0; fd = open_(&a, 0, -1, -1, 0); if (!fork()) { getppid(); _exit(0); } wait(0); read(fd, v, 8); T("not inherited", v[0]); close(fd);
	a = attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES); fd = open_(&a, 0, -1, -1, 0); usleep(1000); usleep(1000); read(fd, v, 8); T("switches", v[0]); close(fd);
	a = attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN); fd = open_(&a, 0, -1, -1, 0); char *mem = mmap(0, 10 * 4096, 3, 0x22, -1, 0); for (int i = 0; i < 10; i++) mem[i * 4096] = 1; read(fd, v, 8); T("faults", v[0]); close(fd);
	for (int i = 0; i < 12; i++) { a = attr(PERF_TYPE_SOFTWARE, i); fd = open_(&a, 0, -1, -1, 0); T("software", fd < 0 ? fd : 0); close(fd); }
	/* who reads: exec, mmap records */
	a = attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY); a.mmap = a.mmap_data = a.comm = a.task = a.comm_exec = a.mmap2 = 1; fd = open_(&a, 0, -1, -1, 0); ring = mmap(0, 5 * 4096, 3, 1, fd, 0); mmap(0, 4096, 5, 0x22, -1, 0); mmap(0, 4096, 3, 0x22, -1, 0); int self = open("/proc/self/exe", O_RDONLY); mmap(0, 4096, 5, 2, self, 0); mmap(0, 4096, 1, 1, self, 0); mprotect(mem, 4096, 7); prctl(PR_SET_NAME, "xyz"); if (!fork()) _exit(0); wait(0); records(ring, 4, "side", 1); close(fd);
	a = attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK); a.freq = 1; a.sample_freq = 1000; a.sample_type = 1; fd = open_(&a, 0, -1, -1, 0); T("cpu-clock freq", fd < 0 ? fd : 0); close(fd);
	a = attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT); a.sample_type = 1; fd = open_(&a, 0, -1, -1, 0); T("bpf-output no raw", fd < 0 ? fd : 0); close(fd);
	return 0;
}
