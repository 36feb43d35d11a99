/* trace_pipe_raw and trace_pipe beside a writer: what lies on which page, what the reader's page holds. */
#include "asking.h"
static unsigned char pg[1 << 16]; static int mk;
static void mark(int n, int size) { char t[600]; memset(t, 'a', sizeof t); while (n--) write(mk, t, size); }
static void tell(const unsigned char *p) { unsigned long commit = *(unsigned long *)(p + 8); int at = 16, d = 0, o = 0, end = 16 + (commit & 0xfffff); while (at < end && at < 4096) { unsigned w = *(unsigned *)(p + at), t = w & 31; if (!t) { d++; at += 4 + *(unsigned *)(p + at + 4); } else if (t < 29) { d++; at += 4 + 4 * t; } else if (t == 29) { o++; if (!(w >> 5)) break; at += 4 + *(unsigned *)(p + at + 4); } else { o++; at += 8; } } printf(" [commit %lx data %d other %d lost %lx]", commit & ~0x80000000ul & 0xffffffff, d, o, commit & 0x40000000 ? *(unsigned long *)(p + 16 + (commit & 0xfffff)) : (commit >> 31) & 1); }
static void stats(const char *w) { FILE *f = fopen("per_cpu/cpu0/stats", "r"); char l[200]; printf("%s:", w); while (fgets(l, 200, f)) if (!strstr(l, "ts:") && !strstr(l, "commit")) printf(" %.*s;", (int)strcspn(l, "\n"), l); puts(""); fclose(f); }
static void rd(int fd, int n) { long r = R(read(fd, pg, n)); printf("read %d: %ld", n, r); if (r >= 16) tell(pg); puts(""); }
static void lines(void) { FILE *f = fopen("trace", "r"); char l[1000]; int n = 0; while (fgets(l, 1000, f)) n += l[0] != '#'; fclose(f); printf("trace %d\n", n); }
static void pipe_read(int fd, int n) { char b[4096]; long r = R(read(fd, b, n)); int l = 0; for (long i = 0; i < r; i++) l += b[i] == '\n'; printf("pipe %d: lines %d%s\n", n, l, r < 0 ? " none" : ""); }
int main(void) {
	setvbuf(stdout, 0, _IONBF, 0); chdir("/sys/kernel/tracing"); put("current_tracer", "nop"); put("trace_clock", "counter"); put("buffer_size_kb", "16"); put("tracing_on", "1"); mk = open("trace_marker", O_WRONLY); put("trace", "");
	int fd = open("per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	mark(5, 40); stats("five"); rd(fd, 4096); stats("taken"); mark(3, 40); stats("three more"); rd(fd, 4096); stats("taken"); mark(200, 40); stats("200"); for (int i = 0; i < 5; i++) rd(fd, 4096); stats("all taken"); lines();
	close(fd); put("trace", ""); fd = open("per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	mark(5, 40); rd(fd, 160); close(fd); fd = open("per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK); stats("160 read"); lines(); mark(400, 40); stats("overrun beside a begun page"); lines(); rd(fd, 4096); rd(fd, 4096); rd(fd, 4096); stats("three pages");
	mark(150, 40); for (int i = 0; i < 8; i++) rd(fd, 4096); stats("drained"); mark(1, 40); rd(fd, 4096); rd(fd, 4096); stats("one");
	close(fd); put("trace", ""); int p = open("trace_pipe", O_RDONLY | O_NONBLOCK); mark(10, 60); pipe_read(p, 100); stats("pipe began"); lines(); mark(500, 60); stats("overrun beside it"); lines(); pipe_read(p, 4000); pipe_read(p, 4000); stats("read on"); lines(); for (int i = 0; i < 40; i++) { char b[4096]; if (read(p, b, 4096) <= 0) break; } stats("all"); lines(); mark(3, 60); stats("3"); pipe_read(p, 4000); stats("3 read"); close(p);
	put("trace", ""); put("options/overwrite", "0"); fd = open("per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK); mark(500, 40); stats("kept"); rd(fd, 4096); stats("a page read"); mark(100, 40); stats("100 more"); rd(fd, 2000); close(fd); fd = open("per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK); rd(fd, 4096); mark(100, 40); stats("half a page read"); for (int i = 0; i < 7; i++) rd(fd, 4096); stats("end"); mark(20, 40); stats("20"); rd(fd, 4096); put("options/overwrite", "1");
	put("trace", ""); mark(300, 500); stats("big ones"); for (int i = 0; i < 6; i++) rd(fd, 4096); stats("read");
	put("trace", ""); mark(3, 40); rd(fd, 4096); put("buffer_size_kb", "8"); mark(300, 40); stats("smaller"); for (int i = 0; i < 5; i++) rd(fd, 4096); put("buffer_size_kb", "64"); mark(400, 40); stats("larger"); lines(); for (int i = 0; i < 3; i++) rd(fd, 4096); stats("read"); lines();
	put("snapshot", "1"); stats("snapshot"); lines(); mark(5, 40); rd(fd, 4096); int s = open("per_cpu/cpu0/snapshot_raw", O_RDONLY | O_NONBLOCK); for (int i = 0; i < 3; i++) rd(s, 4096); close(s); put("per_cpu/cpu0/trace", ""); stats("cleared");
	int pp[2]; pipe(pp); put("buffer_percent", "0"); mark(250, 40); for (int i = 0; i < 6; i++) { long r = R(splice(fd, 0, pp[1], 0, 4096 << (i & 1), SPLICE_F_NONBLOCK)); printf("splice %ld", r); for (long n = r; n >= 4096; n -= 4096) { read(pp[0], pg, 4096); tell(pg); } puts(""); } stats("spliced");
	return 0; }
