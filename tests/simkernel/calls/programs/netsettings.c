/* Every file of /proc/sys/net: mode, what it shows, what reading a byte at a time gives, and what it makes of many texts: taken as it is,
 * 'text'=what it shows then, an error, or !N where only N bytes were taken.  Files that answer as an earlier one say "as" that one.
 * Those of lo and of `all` are only shown, and those of eth0 not at all: real machines may have none.  not: i386 s390x */
#include "tiny.h"

static const char *const TEXTS[] = {
	"-2147483649", "-2147483648", "-1001", "-1", "0", "1", "2", "3", "4", "5", "7", "10", "17", "18", "31", "32", "100", "127", "128",
	"255", "256", "1000", "1001", "3600", "4096", "32768", "65535", "65536", "1000001", "2147483647", "2147483648", "4294967295",
	"4294967296", "9223372036854775807", "a", "3 4", "5a", "0x10", "010", " 3", "", "1-3", "+1", "- 1", "1.5",
};
/* of the machine's memory; masks of CPUs; zeros with a sign; a list that begins with a blank */
static const char *const NOT_ASKED[] = {
	"tcp_mem", "udp_mem", "tcp_rmem", "flow_limit_cpu_bitmap", "rps_default_mask", "anycast_delay", "locktime", "proxy_delay", "retrans_time",
	"tcp_allowed_congestion_control", "bpf_jit_limit",
};
enum { KNOWN = 200, LONG = 2048 };
static char answers[KNOWN][LONG], first[KNOWN][80], *at;
static int known;

static void add(const char *text) { while (*text && at < answers[known] + LONG - 1) *at++ = *text++; *at = 0; }
static void add_number(long n)
{
	char digits[24], *c = digits + 23;
	*c = 0;
	do *--c = '0' + n % 10; while (n /= 10);
	add(c);
}
static void tabs(char *text, char from, char to) { for (; *text; text++) if (*text == from) *text = to; }
static long shown(const char *path, char *to)
{
	long fd = sys(__NR_open, path, O_RDONLY, 0), got = sys(__NR_read, fd, to, 900);
	sys(__NR_close, fd);
	to[got > 0 ? got : 0] = 0;
	if (got > 0 && to[got - 1] == '\n')
		to[got - 1] = 0;
	tabs(to, '\t', '|');
	return got;
}
static long written(const char *path, const char *text)
{
	char line[1000];
	long size = strlen(text), fd = sys(__NR_open, path, O_WRONLY, 0), took;
	memcpy(line, text, size + 1);
	tabs(line, '|', '\t');
	line[size++] = '\n';
	took = sys(__NR_write, fd, line, size);
	sys(__NR_close, fd);
	return took == size ? 0 : took;
}
static void ask(const char *path, const char *name)
{
	char old[1000], now[1000], byte;
	long got = shown(path, old), last = 0, fd = sys(__NR_open, path, O_RDONLY, 0), one = sys(__NR_read, fd, &byte, 1), two = sys(__NR_read, fd, &byte, 1);
	sys(__NR_close, fd);
	at = answers[known];
	add(one == 1 ? two == 1 ? "pieces" : "once" : "nothing");
	for (unsigned i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
		long took = written(path, TEXTS[i]);
		if (took < 0) {
			if (took != last)
				add(" "), add(error_name(-took));
		} else if (took) {
			add(" !"), add_number(took);
		} else {
			now[0] = 0;
			shown(path, now);
			add(" ");
			if (!streq(now, TEXTS[i]))
				add("'"), add(TEXTS[i]), add("'=");
			add(now);
		}
		last = took;
	}
	if (got >= 0)
		written(path, old);
	for (int i = 0; i < known; i++)
		if (streq(answers[i], answers[known])) {
			say(" as %s\n", first[i]);
			return;
		}
	memcpy(first[known], name, strlen(name) + 1);
	say(" %s\n", answers[known]);
	if (known < KNOWN - 1)
		known++;
}
static int has(const char *path, const char *part)
{
	for (long n = strlen(part); *path; path++)
		if ((long)strlen(path) >= n && !memcmp(path, part, n))
			return 1;
	return 0;
}
static void file(const char *path, const char *name, unsigned mode)
{
	char text[1000];
	const char *base = name;
	for (const char *c = name; *c; c++)
		if (*c == '/')
			base = c + 1;
	say("%s %d%d%d", name, mode >> 6, mode >> 3 & 7, mode & 7);
	for (unsigned i = 0; i < sizeof NOT_ASKED / sizeof *NOT_ASKED; i++)
		if (streq(base, NOT_ASKED[i])) {
			say("\n");
			return;
		}
	long got = shown(path, text);
	text[100] = 0;
	if (got < 0)
		say(" [%r]", got);
	else
		say(" [%s]", text);
	if (!(mode & 0222) || has(path, "/lo/") || has(path, "/all/"))
		say("\n");
	else
		ask(path, name);
}
static void walk(const char *path, int cut)
{
	char entries[16384], names[200][64], below[300];
	int count = 0;
	long fd = sys(__NR_open, path, O_RDONLY, 0), got;
	while ((got = sys(__NR_getdents64, fd, entries, sizeof entries)) > 0)
		for (long i = 0; i < got; i += *(unsigned short *)(entries + i + 16))
			if (entries[i + 19] != '.' && !streq(entries + i + 19, "eth0") && count < 200)
				memcpy(names[count++], entries + i + 19, 60);
	sys(__NR_close, fd);
	for (int i = 0; i < count; i++) {
		int best = i;
		for (int j = i + 1; j < count; j++) {
			int n = 0;
			while (names[j][n] == names[best][n] && names[j][n])
				n++;
			if (names[j][n] < names[best][n])
				best = j;
		}
		char hold[64];
		memcpy(hold, names[i], 64), memcpy(names[i], names[best], 64), memcpy(names[best], hold, 64);
		long size = strlen(path);
		memcpy(below, path, size);
		below[size] = '/';
		memcpy(below + size + 1, names[i], strlen(names[i]) + 1);
		struct { unsigned long dev, ino, links; unsigned mode; char rest[200]; } st;
		if (sys(__NR_lstat, below, &st) < 0)
			continue;
		if ((st.mode & 0170000) == 0040000)
			walk(below, cut);
		else
			file(below, below + cut, st.mode & 0777);
	}
}

int main(int argc, char **argv)
{
	sys(__NR_mkdir, "/proc", 0755);
	sys(__NR_mount, "proc", "/proc", "proc", 0, 0);
	walk("/proc/sys/net", 14);
	return 0;
}
