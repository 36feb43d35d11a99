/* The control page of a perf mapping: capabilities, times, what computes the time without a system call. */
#include "asking.h"
static unsigned long long tsc(void) {
#ifdef __x86_64__
	unsigned lo, hi; __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi)); return (unsigned long long)hi << 32 | lo;
#elif defined(__aarch64__)
	unsigned long v; __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(v)); return v;
#else
	return 0;
#endif
}
static unsigned long long ns_of(struct perf_event_mmap_page *p, unsigned long long cyc) { unsigned long long q = cyc >> p->time_shift, r = cyc & ((1ull << p->time_shift) - 1); return q * p->time_mult + ((r * p->time_mult) >> p->time_shift); }
static void spin(int n) { for (volatile int i = 0; i < n; i++); }
static void one(const char *what, struct perf_event_attr *a, int pid, int cpu) {
	int fd = peo(a, pid, cpu, -1, 0); if (fd < 0) { printf("%s: %s\n", what, strerror(-fd)); return; }
	struct perf_event_mmap_page *p = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) { printf("%s: map %s\n", what, strerror(errno)); close(fd); return; }
	printf("%s: version %u compat %u lock %u index %u caps %llx width %u size %u mult %d shift %d mask %llx\n", what, p->version, p->compat_version, p->lock & 1, p->index, (unsigned long long)p->capabilities, p->pmc_width, p->size, p->time_mult != 0, p->time_shift != 0, (unsigned long long)p->time_mask);
	printf("  offset %d cycles %d data %llu %llu aux %llu %llu head %llu\n", p->time_offset != 0, p->time_cycles != 0, (unsigned long long)p->data_offset, (unsigned long long)p->data_size, (unsigned long long)p->aux_offset, (unsigned long long)p->aux_size, (unsigned long long)p->data_head);
	spin(100000); unsigned long long v[3] = {0}; read(fd, v, 24);
	if (p->cap_user_time) {
		unsigned long long c = tsc(); unsigned long long now = p->time_enabled + p->time_offset + ns_of(p, c); read(fd, v, 24); long d = (long)(v[1] - now);
		printf("  enabled by page: %s\n", d > -20000000 && d < 20000000 ? "close" : "far"); if (d <= -20000000 || d >= 20000000) fprintf(stderr, "%llu %llu %ld\n", v[1], now, d);
		if (p->cap_user_time_zero) { struct timespec t; c = tsc(); unsigned long long z = p->time_zero + ns_of(p, c); clock_gettime(CLOCK_MONOTONIC, &t); d = (long)(t.tv_sec * 1000000000ull + t.tv_nsec - z); (void)d; }
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0); unsigned e0 = p->lock; read(fd, v, 24); printf("  disabled: enabled %s running %s offset %s lock %d caps %llx\n", p->time_enabled == v[1] ? "same" : "other", p->time_running == v[2] ? "same" : "other", (unsigned long long)p->offset == v[0] ? "same" : "other", (e0 & 1) == 0, (unsigned long long)p->capabilities);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0); printf("  reset: offset %lld\n", (long long)p->offset); ioctl(fd, PERF_EVENT_IOC_ENABLE, 0); printf("  enabled again: caps %llx\n", (unsigned long long)p->capabilities);
	munmap(p, 4096); close(fd); }
int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING};
	one("task-clock", &a, 0, -1); one("task-clock on cpu", &a, 0, 0); a.config = PERF_COUNT_SW_DUMMY; one("dummy", &a, 0, -1); one("dummy of cpu", &a, -1, 0); a.config = PERF_COUNT_SW_CPU_CLOCK; one("cpu-clock", &a, -1, 0);
	a.disabled = 1; one("disabled", &a, 0, -1); a.disabled = 0; a.use_clockid = 1; a.clockid = CLOCK_MONOTONIC; one("clock mono", &a, 0, -1); a.clockid = CLOCK_REALTIME; one("clock real", &a, 0, -1); a.use_clockid = 0;
	a.type = PERF_TYPE_TRACEPOINT; a.config = tp_id("syscalls/sys_enter_getppid"); one("tracepoint", &a, 0, -1); a.type = PERF_TYPE_BREAKPOINT; a.config = 0; a.bp_type = HW_BREAKPOINT_W; a.bp_addr = (unsigned long)&a; a.bp_len = 4; one("breakpoint", &a, 0, -1); a.bp_type = 0; a.bp_addr = a.bp_len = 0;
	a.type = PERF_TYPE_SOFTWARE; a.config = PERF_COUNT_SW_CONTEXT_SWITCHES; a.inherit = 1; one("inherit", &a, 0, -1); one("inherit on cpu", &a, 0, 0);
	return 0; }
