/* Pages of trace_pipe_raw and snapshot_raw: read(2) by odd sizes, splice(2) and sendfile(2) by whole pages, when they wait.  The clock
 * is a counter, so every page is the same each time. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define R(e) ({ errno = 0; long r_ = (e); r_ < 0 ? (long)-errno : r_; })
static unsigned char page[1 << 17];
static int marker;

static void put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_TRUNC);
	long r = R(write(fd, text, strlen(text)));
	if (r < 0)
		printf("write %s %s: %ld\n", file, text, r);
	close(fd);
}
static void on_alarm(int sig) {}
static void alarm_in(int ms)
{
	struct itimerval t = {{0, 0}, {ms / 1000, ms % 1000 * 1000}};
	setitimer(ITIMER_REAL, &t, 0);
}
static void mark(int n, int size)
{
	char text[600];
	memset(text, 'a', sizeof text);
	for (int i = 0; i < n; i++)
		write(marker, text, size);
}
static void empty(void)
{
	put("trace", "");
}
/* What stands on a page: its commit word, and how many events of which kinds. */
static void tell(const unsigned char *p, long size)
{
	unsigned long commit = *(unsigned long *)(p + 8);
	int at = 16, data = 0, other = 0, end = 16 + (commit & 0xfffff);
	while (at < end && at < size) {
		unsigned word = *(unsigned *)(p + at), type = word & 31;
		if (type == 0) {
			data++;
			at += 4 + *(unsigned *)(p + at + 4);
		} else if (type < 29) {
			data++;
			at += 4 + 4 * type;
		} else if (type == 29) {
			other++;
			if (!(word >> 5))
				break;
			at += 4 + *(unsigned *)(p + at + 4);
		} else {
			other++;
			at += 8;
		}
	}
	printf(" [commit %lx data %d other %d]", commit, data, other);
}
static void stats(const char *what)
{
	FILE *f = fopen("per_cpu/cpu0/stats", "r");
	char line[200];
	printf("%s:", what);
	while (fgets(line, sizeof line, f))
		if (!strstr(line, "ts:"))
			printf(" %.*s;", (int)strcspn(line, "\n"), line);
	puts("");
	fclose(f);
}
static void drain(int fd)
{
	long n = R(read(fd, page, sizeof page));
	printf(" %ld:", n);
	for (long at = 0; at + 4096 <= n; at += 4096)
		tell(page + at, 4096);
	puts("");
}
static int pipes[2];
static void spliced(const char *what, int fd, long len, int flags)
{
	long r = R(splice(fd, 0, pipes[1], 0, len, flags));
	printf("%s %ld %x: %ld", what, len, flags, r);
	if (r > 0)
		drain(pipes[0]);
	else
		puts("");
}
int main(void)
{
	setvbuf(stdout, 0, _IONBF, 0);
	chdir("/sys/kernel/tracing");
	struct sigaction act = {.sa_handler = on_alarm};
	sigaction(SIGALRM, &act, 0);
	put("current_tracer", "nop");
	put("trace_clock", "counter");
	put("buffer_size_kb", "40");
	put("tracing_on", "1");
	marker = open("trace_marker", O_WRONLY);
	pipe(pipes);
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	int fd = open("per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	int wait = open("per_cpu/cpu0/trace_pipe_raw", O_RDONLY);

	puts("== nothing there");
	spliced("splice", fd, 4096, 0);
	spliced("splice", fd, 100, 0);
	spliced("splice", fd, 0, 0);
	spliced("splice", fd, 5000, 0);
	printf("read %ld\n", R(read(fd, page, 4096)));
	puts("== less than a page");
	mark(5, 20);
	spliced("splice", fd, 4096, 0);
	spliced("splice", fd, 100, 0);
	spliced("splice", wait, 4096, SPLICE_F_NONBLOCK);
	stats("stats");
	puts("== reads by odd sizes");
	for (int i = 0, sizes[] = {8, 16, 17, 40, 100, 4096, 4096, 4096}; i < 8; i++) {
		memset(page, 0xee, 4096);
		long r = R(read(fd, page, sizes[i]));
		printf("read %d: %ld", sizes[i], r);
		if (r >= 16 && i < 5)
			tell(page, r);
		puts("");
	}
	stats("stats");
	puts("== a part is read, the rest of the page is not");
	empty();
	mark(10, 100);
	int again = open("per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	for (int i = 0; i < 4; i++) {
		long r = R(read(again, page, 300));
		printf("read 300: %ld", r);
		if (r >= 16)
			tell(page, r);
		puts("");
	}
	stats("stats");
	close(again);
	again = open("per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	spliced("splice", again, 4096, 0);
	long got = R(read(again, page, 4096));
	printf("read 4096: %ld", got);
	tell(page, got);
	puts("");
	close(again);
	stats("stats");

	puts("== full pages");
	empty();
	mark(100, 100);
	stats("stats");
	struct pollfd poll_it = {fd, POLLIN, 0};
	printf("poll %ld %x\n", R(poll(&poll_it, 1, 0)), poll_it.revents);
	spliced("splice", fd, 4095, 0);
	spliced("splice", fd, 4097, 0);
	stats("stats");
	spliced("splice", fd, 65536, 0);
	spliced("splice", fd, 65536, 0);
	stats("stats");
	got = R(read(fd, page, 8192));
	printf("read 8192: %ld", got);
	tell(page, got);
	puts("");
	spliced("splice", fd, 4096, 0);

	puts("== full pages after a part was read");
	empty();
	mark(100, 100);
	again = open("per_cpu/cpu0/trace_pipe_raw", O_RDONLY | O_NONBLOCK);
	got = R(read(again, page, 300));
	printf("read 300: %ld", got);
	tell(page, got);
	puts("");
	spliced("splice of the same", again, 65536, 0);
	got = R(read(again, page, 4096));
	printf("read 4096: %ld\n", got);
	close(again);

	puts("== after trace_pipe took some");
	empty();
	mark(100, 100);
	int text = open("trace_pipe", O_RDONLY | O_NONBLOCK);
	for (int i = 0; i < 3; i++)
		got = R(read(text, page, 200));
	close(text);
	stats("stats");
	spliced("splice", fd, 65536, 0);
	stats("stats");

	puts("== lost");
	empty();
	mark(600, 100);
	stats("stats");
	spliced("splice", fd, 8192, 0);
	mark(600, 100);
	stats("stats");
	spliced("splice", fd, 8192, 0);
	spliced("splice", fd, 65536, 0);
	stats("stats");
	puts("== a pipe that is full, half or of one page");
	empty();
	mark(300, 100);
	int small[2];
	pipe2(small, O_NONBLOCK);
	printf("size %ld\n", R(fcntl(small[1], F_SETPIPE_SZ, 8192)));
	printf("splice %ld\n", R(splice(fd, 0, small[1], 0, 65536, 0)));
	printf("splice %ld\n", R(splice(fd, 0, small[1], 0, 65536, 0)));
	printf("splice %ld\n", R(splice(fd, 0, small[1], 0, 65536, SPLICE_F_NONBLOCK)));
	printf("read %ld\n", R(read(small[0], page, 100)));
	printf("splice %ld\n", R(splice(fd, 0, small[1], 0, 65536, SPLICE_F_NONBLOCK)));
	printf("read %ld\n", R(read(small[0], page, 3996)));
	printf("splice %ld\n", R(splice(fd, 0, small[1], 0, 65536, SPLICE_F_NONBLOCK)));
	printf("read %ld\n", R(read(small[0], page, 65536)));
	stats("stats");

	puts("== the position");
	empty();
	mark(200, 100);
	loff_t off = 0;
	printf("offset 0: %ld\n", R(splice(fd, &off, pipes[1], 0, 4096, 0)));
	printf("lseek %ld\n", R(lseek(fd, 0, SEEK_CUR)));
	spliced("splice", fd, 4096, 0);
	printf("sendfile: %ld\n", R(sendfile(pipes[1], fd, 0, 4096)));
	text = open("trace_pipe", O_RDONLY | O_NONBLOCK);
	got = R(sendfile(pipes[1], text, 0, 4096));
	printf("sendfile of trace_pipe to a pipe: %d\n", got > 0 ? 1 : (int)got);
	close(text);
	read(pipes[0], page, 65536);
	int file = open("/tmp/raw.out", O_RDWR | O_CREAT | O_TRUNC, 0600);
	printf("sendfile to a file: %ld\n", R(sendfile(file, fd, 0, 65536)));
	printf("splice to a file: %ld\n", R(splice(fd, 0, file, 0, 4096, 0)));

	puts("== splice of trace_pipe");
	empty();
	mark(3, 30);
	text = open("trace_pipe", O_RDONLY | O_NONBLOCK);
	got = R(splice(text, 0, pipes[1], 0, 40, 0));
	printf("splice 40: %d", got > 0 ? 1 : (int)got);
	got = R(read(pipes[0], page, 65536));
	printf(" a line %d\n", got > 0 && page[got - 1] == '\n');
	got = R(splice(text, 0, pipes[1], 0, 65536, 0));
	printf("splice 65536: %d", got > 0);
	got = R(read(pipes[0], page, 65536));
	int lines = 0;
	for (long i = 0; i < got; i++)
		lines += page[i] == '\n';
	printf(" %d lines\n", lines);
	printf("splice: %ld\n", R(splice(text, 0, pipes[1], 0, 65536, 0)));
	mark(3, 30);
	got = R(sendfile(pipes[1], text, 0, 250));
	printf("sendfile: %d\n", got > 0 ? 1 : (int)got);
	mark(200, 100);
	got = R(splice(text, 0, pipes[1], 0, 65536, 0));
	printf("splice: %d", got > 4096);
	got = R(read(pipes[0], page, 65536));
	for (lines = 0; got-- > 0;)
		lines += page[got] == '\n';
	printf(" %d lines\n", lines);
	close(text);

	puts("== waiting");
	for (int i = 0, percents[] = {1, 50, 100}; i < 3; i++) {
		char number[20];
		sprintf(number, "%d", percents[i]);
		put("buffer_percent", number);
		empty();
		for (int pages = 0; pages < 12; pages++) {
			alarm_in(150);
			long r = R(splice(wait, 0, pipes[1], 0, 4096, 0));
			alarm_in(0);
			poll_it = (struct pollfd){wait, POLLIN, 0};
			long q = R(poll(&poll_it, 1, 0));
			printf(" %ld/%ld", r, q);
			if (r > 0)
				read(pipes[0], page, 4096);
			mark(31, 100);
		}
		printf("\n%d%%:", percents[i]);
		empty();
		for (int pages = 0; pages < 12; pages++) {
			mark(31, 100);
			poll_it = (struct pollfd){wait, POLLIN, 0};
			printf(" %ld", R(poll(&poll_it, 1, 0)));
		}
		puts("");
	}
	put("buffer_percent", "50");
	empty();
	mark(5, 100);
	alarm_in(150);
	printf("read with a few there: %ld\n", R(read(wait, page, 4096)));
	alarm_in(150);
	printf("read again: %ld\n", R(read(wait, page, 4096)));
	alarm_in(0);
	put("buffer_percent", "30");
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		usleep(100000);
		mark(400, 100);
		_exit(0);
	}
	got = R(splice(wait, 0, pipes[1], 0, 4096, 0));
	printf("woken by a writer: %ld\n", got);
	waitpid(child, 0, 0);
	read(pipes[0], page, sizeof page);
	empty();
	child = fork();
	if (!child) {
		usleep(100000);
		put("tracing_on", "0");
		_exit(0);
	}
	alarm_in(1000);
	got = R(splice(wait, 0, pipes[1], 0, 4096, 0));
	printf("tracing is turned off: %ld\n", got);
	alarm_in(0);
	waitpid(child, 0, 0);
	alarm_in(200);
	printf("while it is off: %ld\n", R(splice(wait, 0, pipes[1], 0, 4096, 0)));
	alarm_in(200);
	printf("read while it is off: %ld\n", R(read(wait, page, 4096)));
	alarm_in(0);
	put("tracing_on", "1");

	puts("== snapshot_raw");
	empty();
	int shot = open("per_cpu/cpu0/snapshot_raw", O_RDONLY | O_NONBLOCK);
	printf("open %d\n", shot > 0);
	spliced("splice", shot, 4096, 0);
	mark(100, 100);
	put("snapshot", "1");
	spliced("splice", shot, 100, 0);
	spliced("splice", shot, 65536, 0);
	got = R(read(shot, page, 4096));
	printf("read: %ld", got);
	tell(page, 4096);
	puts("");
	printf("read: %ld\n", R(read(shot, page, 4096)));
	int shot_wait = open("per_cpu/cpu0/snapshot_raw", O_RDONLY);
	alarm_in(200);
	spliced("splice", shot_wait, 4096, 0);
	alarm_in(200);
	printf("read: %ld\n", R(read(shot_wait, page, 4096)));
	alarm_in(0);
	mark(40, 100);
	put("snapshot", "1");
	spliced("splice", shot_wait, 4096, 0);
	put("snapshot", "0");
	return 0;
}
