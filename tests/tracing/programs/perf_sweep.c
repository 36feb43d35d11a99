/* perf_event_open(2) with every flag, bit, size, ioctl, mapping, group and level of privilege: every answer a line. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
typedef struct perf_event_attr A;
static long po(void *a, int pid, int cpu, int g, unsigned long f) { long r = syscall(SYS_perf_event_open, a, pid, cpu, g, f); return r < 0 ? -errno : r; }
static A at(uint32_t t, uint64_t c) { A a; memset(&a, 0, sizeof a); a.type = t; a.config = c; a.size = sizeof a; return a; }
static long once(A a, int pid, int cpu, int g, unsigned long f) { long r = po(&a, pid, cpu, g, f); if (r >= 0) { close(r); return 0; } return r; }
static int number(const char *p) { char b[40] = ""; int f = open(p, O_RDONLY); if (f < 0) return -1; read(f, b, 39); close(f); return atoi(b); }
static int tp(const char *n) { char p[200]; sprintf(p, "/sys/kernel/tracing/events/%s/id", n); return number(p); }
static void setf(const char *p, const char *v) { int f = open(p, O_WRONLY); long r = write(f, v, strlen(v)); if (r < 0) printf("write %s %s: %d\n", p, v, errno); close(f); }
int main(int argc, char **argv)
{
	setvbuf(stdout, 0, _IOLBF, 0); int kp = number("/sys/bus/event_source/devices/kprobe/type"), up = number("/sys/bus/event_source/devices/uprobe/type");
	struct { const char *n; A a; } base[8]; int nb = 0;
	base[nb].n = "task-clock"; base[nb++].a = at(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	base[nb].n = "cpu-clock"; base[nb++].a = at(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	base[nb].n = "dummy"; base[nb++].a = at(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	base[nb].n = "tracepoint"; base[nb++].a = at(PERF_TYPE_TRACEPOINT, tp("syscalls/sys_enter_getppid"));
	base[nb].n = "kprobe"; A k = at(kp, 0); k.kprobe_func = (uint64_t)(unsigned long)"vfs_fsync"; base[nb++].a = k;
	base[nb].n = "uprobe"; A u = at(up, 0); u.uprobe_path = (uint64_t)(unsigned long)(argc > 1 ? argv[1] : "/w"); u.probe_offset = 0xc70; base[nb++].a = u;
	base[nb].n = "breakpoint"; A b = at(PERF_TYPE_BREAKPOINT, 0); static long watched; b.bp_type = 3; b.bp_addr = (uint64_t)(unsigned long)&watched; b.bp_len = 4; base[nb++].a = b;
	for (int i = 0; i < nb; i++) {
		printf("%s plain %ld\n", base[i].n, once(base[i].a, 0, -1, -1, 0));
		for (int bit = 0; bit < 64; bit++) { A a = base[i].a; ((uint64_t *)&a)[5] |= 1ULL << bit; long r = once(a, 0, -1, -1, 0); if (r) printf("%s flag %d: %ld\n", base[i].n, bit, r);
			a.sample_period = 1; r = once(a, 0, -1, -1, 0); if (r) printf("%s flag %d period: %ld\n", base[i].n, bit, r); }
		for (int bit = 0; bit < 64; bit++) { A a = base[i].a; a.sample_type = 1ULL << bit; long r = once(a, 0, -1, -1, 0); if (r) printf("%s sample %d: %ld\n", base[i].n, bit, r); a.sample_period = 5; long q = once(a, 0, -1, -1, 0); if (q != r) printf("%s sample %d period: %ld\n", base[i].n, bit, q);}
		for (int bit = 0; bit < 64; bit++) { A a = base[i].a; a.read_format = 1ULL << bit; long r = once(a, 0, -1, -1, 0); if (r) printf("%s read %d: %ld\n", base[i].n, bit, r); }
		int cs[][2] = {{0,-1},{0,0},{-1,0},{-1,-1},{0,1},{-1,1},{0,64},{-1,8192},{-1,8193},{1,-1},{1,0},{99999,-1},{-2,0},{0,-2},{getpid(),-1},{getppid(),-1}};
		for (unsigned c = 0; c < sizeof cs / sizeof *cs; c++) printf("%s pid[%d] cpu %d: %ld\n", base[i].n, (int)c, cs[c][1], once(base[i].a, cs[c][0], cs[c][1], -1, 0));
		for (int f = 0; f < 10; f++) printf("%s flags %d: %ld\n", base[i].n, f, once(base[i].a, 0, -1, -1, 1UL << f));
		for (int s = 0; s <= 144; s += 4) { struct { A a; char more[64]; } x; memset(&x, 0, sizeof x); x.a = base[i].a; x.a.size = s; long r = po(&x, 0, -1, -1, 0); if (r >= 0) close(r), r = 0; printf("%ld/%u ", r, x.a.size); }
		struct { A a; char more[8192]; } *x = calloc(1, sizeof *x); x->a = base[i].a; x->a.size = 4096; long r = po(x, 0, -1, -1, 0); printf("4096: %ld ", r >= 0 ? 0 : r); x->more[100] = 1; r = po(x, 0, -1, -1, 0); printf("%ld/%u ", r >= 0 ? 0 : r, x->a.size); x->a.size = 4097; x->more[100] = 0; r = po(x, 0, -1, -1, 0); printf("%ld/%u\n", r >= 0 ? 0 : r, x->a.size);
	}
	for (int c = 0; c < 16; c++) printf("software %d: %ld\n", c, once(at(PERF_TYPE_SOFTWARE, c), 0, -1, -1, 0));
	for (int t = 0; t < 14; t++) printf("type %d config 0: %ld, 1: %ld, -1: %ld\n", t, t == 4 || t >= 8 ? 0 : once(at(t, 0), 0, -1, -1, 0), t == 4 || t >= 8? 0 : once(at(t, 1), 0, -1, -1, 0), t == 4 || t >= 8? 0: once(at(t, -1), 0, -1, -1, 0));
	printf("tracepoint 0: %ld 99999: %ld\n", once(at(2, 0), 0, -1, -1, 0), once(at(2, 99999), 0, -1, -1, 0));
	for (int c = -1; c < 13; c++) { A a = at(1, 0); a.use_clockid = 1; a.clockid = c; printf("clock %d: %ld\n", c, once(a, 0, -1, -1, 0)); }
	uint64_t regs[] = {0, 1, 0xff, 0xffffff, 0x1000000, 1ULL << 32, 1ULL << 31, 1ULL << 12, 0xff0fff, 1ULL << 63, 0xffff};
	for (unsigned i = 0; i < sizeof regs / 8; i++) for (int w = 0; w < 2; w++) { A a = at(1, 0); a.sample_type = w ? PERF_SAMPLE_REGS_INTR : PERF_SAMPLE_REGS_USER; if (w) a.sample_regs_intr = regs[i]; else a.sample_regs_user = regs[i]; printf("regs %d %llx: %ld\n", w, (long long)regs[i], once(a, 0, -1, -1, 0)); }
	uint32_t st[] = {0, 1, 7, 8, 9, 1024, 65528, 65535, 65536, 0xffff0000, 0xfffffff8};
	for (unsigned i = 0; i < sizeof st / 4; i++) { A a = at(1, 0); a.sample_type = PERF_SAMPLE_STACK_USER; a.sample_stack_user = st[i]; printf("stack %x: %ld\n", st[i], once(a, 0, -1, -1, 0)); }
	uint16_t ms[] = {0, 1, 127, 128, 65535}; for (unsigned i = 0; i < 5; i++) { A a = at(1, 0); a.sample_type = PERF_SAMPLE_CALLCHAIN; a.sample_max_stack = ms[i]; printf("max_stack %d: %ld\n", ms[i], once(a, 0, -1, -1, 0)); }
	uint64_t br[] = {0, 1, 2, 4, 8, 7, 1 << 3, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1ULL << 40}; for (unsigned i = 0; i < 12; i++) { A a = at(1, 0); a.sample_type = PERF_SAMPLE_BRANCH_STACK; a.branch_sample_type = br[i]; printf("branch %llx: %ld\n", (long long)br[i], once(a, 0, -1, -1, 0)); }
	{ A a = at(1, 0); a.freq = 1; uint64_t fr[] = {0, 1, 4000, 100000, 100001, 1000000, 1ULL << 62, 1ULL << 63}; for (int i = 0; i < 8; i++) { a.sample_freq = fr[i]; printf("freq %llx: %ld", (long long)fr[i], once(a, 0, -1, -1, 0)); a.freq = 0; printf(" period %ld\n", once(a, 0, -1, -1, 0)); a.freq = 1; } }
	for (int s = 0; s < 4; s++) { A a = at(1, 0); a.precise_ip = s; printf("precise %d: %ld", s, once(a, 0, -1, -1, 0)); a = at(2, tp("sched/sched_switch")); a.precise_ip = s; printf(" %ld\n", once(a, 0, -1, -1, 0)); }
	{ A a = at(1, 0); a.aux_watermark = 1; printf("aux_watermark %ld\n", once(a, 0, -1, -1, 0)); a = at(1, 0); a.sig_data = 1; printf("sig_data %ld\n", once(a, 0, -1, -1, 0)); a.sigtrap = 1; printf("sigtrap %ld\n", once(a, 0, -1, -1, 0)); a.remove_on_exec = 1; printf("+remove %ld\n", once(a, 0, -1, -1, 0)); a.enable_on_exec = 1; printf("+enable %ld\n", once(a, 0, -1, -1, 0)); a = at(1, 0); a.inherit_thread = 1; printf("inherit_thread %ld\n", once(a, 0, -1, -1, 0)); a.inherit = 1; printf("+inherit %ld\n", once(a, 0, -1, -1, 0)); a.read_format = PERF_FORMAT_GROUP; printf("+group %ld\n", once(a, 0, -1, -1, 0)); a.inherit_thread = 0; printf("inherit+group %ld\n", once(a, 0, -1, -1, 0)); }
	/* ioctls */
	for (int i = 0; i < nb; i++) {
		long fd = po(&base[i].a, 0, -1, -1, 0); if (fd < 0) continue; uint64_t v; int bad;
#define I(what, e) do { errno = 0; long r_ = (e); printf("%s %s: %ld %d\n", base[i].n, what, r_, r_ < 0 ? errno : 0); } while (0)
		I("enable", ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)); I("enable group", ioctl(fd, PERF_EVENT_IOC_ENABLE, 1)); I("enable 2", ioctl(fd, PERF_EVENT_IOC_ENABLE, 2)); I("disable", ioctl(fd, PERF_EVENT_IOC_DISABLE, 0)); I("reset", ioctl(fd, PERF_EVENT_IOC_RESET, 0)); I("refresh 0", ioctl(fd, PERF_EVENT_IOC_REFRESH, 0)); I("refresh 1", ioctl(fd, PERF_EVENT_IOC_REFRESH, 1)); 
		v = 0; I("period 0", ioctl(fd, PERF_EVENT_IOC_PERIOD, &v)); v = 100; I("period 100", ioctl(fd, PERF_EVENT_IOC_PERIOD, &v)); v = 1ULL << 63; I("period big", ioctl(fd, PERF_EVENT_IOC_PERIOD, &v)); I("period null", ioctl(fd, PERF_EVENT_IOC_PERIOD, 0));
		I("output self", ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd)); I("output -1", ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1)); I("output 999", ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 999)); I("output stdin", ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 0));
		I("filter null", ioctl(fd, PERF_EVENT_IOC_SET_FILTER, 0)); I("filter", ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "common_pid > 0")); I("filter bad", ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "nosuch > 0")); I("filter syntax", ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "common_pid >")); I("filter empty", ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "")); I("filter 0", ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "0"));
		v = 0; I("id", ioctl(fd, PERF_EVENT_IOC_ID, &v)); printf("%s id %d\n", base[i].n, v > 0); I("id null", ioctl(fd, PERF_EVENT_IOC_ID, 0)); I("bpf -1", ioctl(fd, PERF_EVENT_IOC_SET_BPF, -1)); I("bpf 0", ioctl(fd, PERF_EVENT_IOC_SET_BPF, 0)); I("pause", ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
		struct { uint32_t l, c, id[4]; } q = {4, 0, {0}}; I("query", ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, &q)); printf("count %u\n", q.c); q.l = 65; I("query 65", ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, &q)); q.l=0;  I("query 0", ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, &q)); 
		A m = base[i].a; I("modify same", ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &m)); m.sample_type = 1; I("modify sample", ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &m)); m = at(1, 0); I("modify type", ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &m));
		I("no such", ioctl(fd, 0x2499, 0)); I("FIONREAD", ioctl(fd, 0x541B, &bad)); I("FIONBIO", ioctl(fd, 0x5421, &(int){0}));
		char bufr[256]; I("read 0", read(fd, bufr, 0)); I("read 4", read(fd, bufr, 4)); I("read 8", read(fd, bufr, 8)); I("read 100", read(fd, bufr, 100)); I("write", write(fd, bufr, 8)); I("lseek", lseek(fd, 0, 0)); I("pread", pread(fd, bufr, 8, 0)); I("pread 8", pread(fd, bufr, 8, 8));
		struct pollfd p = {fd, POLLIN | POLLOUT, 0}; I("poll", poll(&p, 1, 0)); printf("revents %x\n", p.revents);
		size_t ps = 4096; int sizes[] = {1, 2, 3, 4, 5, 6, 9, 17, 33, 34, 1025}; for (unsigned j = 0; j < 11; j++) { void *r = mmap(0, sizes[j] * ps, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); printf("%s mmap %d: %d\n", base[i].n, sizes[j], r == MAP_FAILED ? errno : 0); if (r != MAP_FAILED) munmap(r, sizes[j] * ps); }
		void *r; r = mmap(0, 2 * ps, PROT_READ, MAP_SHARED, fd, 0); printf("read only %d\n", r == MAP_FAILED ? errno : 0); void *r2 = mmap(0, 3 * ps, PROT_READ, MAP_SHARED, fd, 0); printf("other size %d\n", r2 == MAP_FAILED ? errno : 0); r2 = mmap(0, 2 * ps, PROT_READ, MAP_SHARED, fd, 0); printf("same again %d\n", r2 == MAP_FAILED ? errno : 0); r2 = mmap(0, 2 * ps, PROT_READ|PROT_WRITE, MAP_PRIVATE, fd, 0); printf("private %d\n", r2 == MAP_FAILED ? errno : 0); r2 = mmap(0, ps, PROT_READ|PROT_WRITE, MAP_SHARED, fd, ps); printf("offset %d\n", r2 == MAP_FAILED ? errno : 0); r2 = mmap(0, ps, PROT_READ|PROT_WRITE, MAP_SHARED, fd, 2 * ps); printf("aux place %d\n", r2 == MAP_FAILED ? errno : 0); r2 = mmap(0, 2 * ps, PROT_READ|PROT_EXEC, MAP_SHARED, fd, 0); printf("exec %d\n", r2 == MAP_FAILED ? errno : 0); printf("mprotect %d\n", mprotect(r, 2 * ps, PROT_READ | PROT_WRITE) ? errno : 0); r2 = mremap(r, 2 * ps, 4 * ps, MREMAP_MAYMOVE); printf("mremap %d\n", r2 == MAP_FAILED ? errno : 0); I("pause", ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)); I("pause", ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
		struct perf_event_mmap_page *pg = r; printf("version %d compat %d cap %llx head %llu tail %llu off %llu size %llu aux %llu\n", pg->version, pg->compat_version, (long long)pg->capabilities & ~0x3f, (long long)pg->data_head * 0, (long long)pg->data_tail, (long long)pg->data_offset, (long long)pg->data_size, (long long)pg->aux_size);
		I("poll mapped", poll(&p, 1, 0)); printf("revents %x\n", p.revents);
		for (int j = 0; j < nb; j++) { long g = po(&base[j].a, 0, -1, fd, 0); printf("%s in group of %s: %ld\n", base[j].n, base[i].n, g < 0 ? g : 0); if (g >= 0) { printf("  of member %ld", once(base[0].a, 0, -1, g, 0)); A x = base[j].a; x.pinned = 1; printf(" pinned %ld", once(x, 0, -1, fd, 0)); x.pinned = 0; x.exclusive = 1; printf(" exclusive %ld", once(x, 0, -1, fd, 0)); x = base[j].a; printf(" other cpu %ld", once(x, 0, 0, fd, 0)); printf(" output %ld\n", once(x, 0, -1, fd, 2)); I("set output", ioctl(g, PERF_EVENT_IOC_SET_OUTPUT, fd)); close(g); } }
		close(fd);
	}
	/* unprivileged, by level */
	for (int level = -1; level <= 4; level++) {
		char t[8]; sprintf(t, "%d", level); setf("/proc/sys/kernel/perf_event_paranoid", t); fflush(stdout);
		if (!fork()) { setgid(1000); setuid(1000);
			for (int i = 0; i < nb; i++) for (int x = 0; x < 5; x++) { A a = base[i].a; if (x == 1) a.exclude_kernel = 1; if (x == 4) { a.exclude_kernel = 1; a.sample_type = PERF_SAMPLE_RAW; a.sample_period = 1; } printf("level %d %s %d: %ld\n", level, base[i].n, x, once(a, x == 2 ? -1 : x == 3 ? 1 : 0, x == 2 ? 0 : -1, -1, 0)); }
			A a = at(1, 0); a.exclude_kernel = 1; long fd = po(&a, 0, -1, -1, 0); if (fd >= 0) { int n[] = {3, 65, 129, 130, 257, 513, 1025}; for (int j = 0; j < 7; j++) { void *m = mmap(0, n[j] * 4096UL, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); printf("level %d mmap %d: %d\n", level, n[j], m == MAP_FAILED ? errno : 0); if (m != MAP_FAILED) munmap(m, n[j] * 4096UL); } }
			a = at(1, 0); a.sample_type = PERF_SAMPLE_REGS_INTR; a.sample_regs_intr = 1; a.exclude_kernel = 1; printf("regs_intr %ld\n", once(a, 0, -1, -1, 0)); a.sample_type = PERF_SAMPLE_PHYS_ADDR; printf("phys %ld\n", once(a, 0, -1, -1, 0)); a.sample_type = 0; a.namespaces = 1; printf("namespaces %ld\n", once(a, 0, -1, -1, 0)); a.namespaces = 0; a.ksymbol = 1; printf("ksymbol %ld\n", once(a, 0, -1, -1, 0));
			a = at(PERF_TYPE_TRACEPOINT, tp("sched/sched_switch")); printf("sched_switch %ld\n", once(a, 0, -1, -1, 0));
			fflush(stdout); _exit(0); }
		wait(0);
	}
	return 0;
}
