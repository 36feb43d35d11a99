/* Rings of perf: full ones, lost records, read-only mappings, backward ones, pauses, wakeups. */
#include "asking.h"
static struct perf_event_mmap_page *pg; static char *data; static unsigned long size; static unsigned long tail;
static void tell(const char *what) {
	unsigned long head = pg->data_head, at = tail; int kinds[32] = {0}; unsigned long lost = 0; int last = 0, bad = 0;
	while (at < head) { struct perf_event_header h; for (int i = 0; i < 8; i++) ((char *)&h)[i] = data[(at + i) % size];
		if (!h.size || h.type > 31) { bad = 1; break; } kinds[h.type]++; last = h.type;
		if (h.type == PERF_RECORD_LOST) { unsigned long v[2]; for (int i = 0; i < 16; i++) ((char *)v)[i] = data[(at + 8 + i) % size]; lost += v[1]; }
		at += h.size; }
	printf("%s: head %lu bytes %lu samples %d losts %d (%lu) others %d last %d bad %d\n", what, head, head - tail, kinds[9], kinds[2], lost, kinds[1] + kinds[3] + kinds[4] + kinds[5] + kinds[14], last, bad);
}
static int open_map(struct perf_event_attr *a, int pages, int prot) {
	int fd = peo(a, 0, -1, -1, 0); size = pages * 4096ul;
	pg = mmap(0, size + 4096, prot, MAP_SHARED, fd, 0); printf("open %d map %s\n", fd > 0, pg == MAP_FAILED ? strerror(errno) : "ok");
	data = (char *)pg + 4096; tail = 0; return fd; }
static void hit(int n) { while (n--) syscall(SYS_getppid); }
static void rf(int fd) { unsigned long v[8] = {0}; long r = R(read(fd, v, sizeof v)); printf("read %ld: %lu %lu %lu\n", r, v[0], v[1] ? 1ul : 0, v[r / 8 - 1]); }
int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	struct perf_event_attr a = {.type = PERF_TYPE_TRACEPOINT, .sample_period = 1, .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD, .disabled = 1, .read_format = PERF_FORMAT_LOST};
	a.config = tp_id("syscalls/sys_enter_getppid");
	int fd = open_map(&a, 1, PROT_READ | PROT_WRITE); ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	hit(3); tell("three"); hit(300); tell("full"); rf(fd); pg->data_tail = tail = pg->data_head; hit(2); tell("after reading"); hit(100); tell("more"); rf(fd);
	pg->data_tail = tail + 24; hit(5); tell("one read"); pg->data_tail = tail = pg->data_head; tell("all"); 
	printf("pause %ld\n", R(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1))); hit(5); tell("paused"); rf(fd); ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0); hit(2); tell("resumed"); rf(fd);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0); rf(fd); pg->data_tail = 1ul << 40; hit(1); tell("tail beyond"); 
	printf("unmap %ld\n", R(munmap(pg, size + 4096))); hit(3); rf(fd); printf("pause %ld\n", R(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
	close(fd);
	fd = open_map(&a, 1, PROT_READ); ioctl(fd, PERF_EVENT_IOC_ENABLE, 0); hit(300); printf("over: head %lu mod %lu\n", (unsigned long)pg->data_head, (unsigned long)pg->data_head % 4096); rf(fd); munmap(pg, size + 4096); close(fd);
	a.write_backward = 1; fd = open_map(&a, 1, PROT_READ | PROT_WRITE); ioctl(fd, PERF_EVENT_IOC_ENABLE, 0); hit(2);
	{ long h = pg->data_head; struct perf_event_header *e = (void *)(data + (h & 4095)); printf("back: head %ld type %d size %d\n", h, e->type, e->size); hit(300); h = pg->data_head; printf("back full: %ld\n", h); rf(fd); pg->data_tail = h; hit(2); printf("back read: %ld\n", (long)pg->data_head); } munmap(pg, size + 4096); close(fd);
	fd = open_map(&a, 1, PROT_READ); ioctl(fd, PERF_EVENT_IOC_ENABLE, 0); hit(300); printf("back over: head %ld\n", (long)pg->data_head); rf(fd); munmap(pg, size + 4096); close(fd);
	a.write_backward = 0; a.watermark = 1; a.wakeup_watermark = 100; fd = open_map(&a, 1, PROT_READ | PROT_WRITE); ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 12; i++) { struct pollfd p = {.fd = fd, .events = POLLIN}; hit(1); printf("%d", poll(&p, 1, 0)); } puts(" watermark 100"); munmap(pg, size + 4096); close(fd);
	a.watermark = 0; a.wakeup_events = 3; fd = open_map(&a, 1, PROT_READ | PROT_WRITE); ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 12; i++) { struct pollfd p = {.fd = fd, .events = POLLIN}; hit(1); printf("%d", poll(&p, 1, 0)); } puts(" events 3"); munmap(pg, size + 4096); close(fd);
	a.wakeup_events = 0; fd = open_map(&a, 1, PROT_READ | PROT_WRITE); ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 100; i++) { struct pollfd p = {.fd = fd, .events = POLLIN}; hit(1); if (poll(&p, 1, 0)) printf(" %d", i); } puts(" half");
	int two = peo(&a, 0, -1, -1, 0); printf("share %ld\n", R(ioctl(two, PERF_EVENT_IOC_SET_OUTPUT, fd))); ioctl(two, PERF_EVENT_IOC_ENABLE, 0); pg->data_tail = tail = pg->data_head; hit(4); tell("shared"); printf("map %s\n", mmap(0, 8192, PROT_READ, MAP_SHARED, two, 0) == MAP_FAILED ? strerror(errno) : "ok");
	printf("unshare %ld\n", R(ioctl(two, PERF_EVENT_IOC_SET_OUTPUT, -1))); pg->data_tail = tail = pg->data_head; hit(4); tell("unshared"); printf("self %ld bad %ld\n", R(ioctl(two, PERF_EVENT_IOC_SET_OUTPUT, two)), R(ioctl(two, PERF_EVENT_IOC_SET_OUTPUT, 0)));
	for (int n = 0; n < 6; n++) { long sizes[] = {4096, 0, 12288, 16384, 4096 * 5, 100}; int f = peo(&a, 0, -1, -1, 0); void *m = mmap(0, sizes[n], PROT_READ | PROT_WRITE, MAP_SHARED, f, 0); printf("map %ld: %s\n", sizes[n], m == MAP_FAILED ? strerror(errno) : "ok"); close(f); }
	for (int s = 0; s < 24; s++) { struct perf_event_attr b = a; b.sample_type = 1u << s; if (s == 11 || s == 19) continue; if (s == 12) b.sample_regs_user = 1; if (s == 13) b.sample_stack_user = 64; if (s == 18) b.sample_regs_intr = 1; if (s == 5) b.sample_max_stack = 3; b.exclude_callchain_user = 1; int f = peo(&b, 0, -1, -1, 0); if (f < 0) { printf("bit %d: %s\n", s, strerror(-f)); continue; }
		struct perf_event_mmap_page *m = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0); if (m == MAP_FAILED) { printf("bit %d: map %s\n", s, strerror(errno)); close(f); continue; } ioctl(f, PERF_EVENT_IOC_ENABLE, 0); hit(1); struct perf_event_header *h = (void *)((char *)m + 4096); printf("bit %d: type %d misc %x size %d head %lu\n", s, h->type, h->misc, s == 5 ? 0 : h->size, s == 5 ? 0 : (unsigned long)m->data_head); munmap(m, 8192); close(f); }
	return 0; }
