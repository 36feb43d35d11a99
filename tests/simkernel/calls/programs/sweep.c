/* Every call with arguments that hardly fit: zeros, ones, minus ones, descriptors of each kind, addresses of nothing.  not: i386, s390x */
#include "tiny.h"
#include "callnames.h"
#include <linux/sched.h>

static char *page;
#define NOWHERE 0x10000L
static struct { const char *name; long a[6]; } patterns[] = {
	{ "0", { 0 } },
	{ "-1", { -1, -1, -1, -1, -1, -1 } },
	{ "1", { 1, 1, 1, 1, 1, 1 } },
	{ "nowhere", { NOWHERE, NOWHERE, NOWHERE, NOWHERE, NOWHERE, NOWHERE } },
	{ "page", { 1, 1, 1, 1, 1, 1 } },
	{ "file", { 3, 0, 0, 0, 0, 0 } },
	{ "file nowhere", { 3, NOWHERE, 8, NOWHERE, 8, 0 } },
	{ "file page", { 3, 1, 1, 1, 1, 1 } },
	{ "dir", { 4, 1, 8, 0, 0, 0 } },
	{ "pipe", { 5, 1, 8, 0, 0, 0 } },
	{ "socket", { 7, 1, 8, 1, 8, 0 } },
	{ "path", { 8, 1, 8, 1, 8, 0 } },
	{ "event", { 9, 1, 8, 1, 8, 0 } },
	{ "self", { 0, 1, 1, 0, 0, 0 } },
	{ "many", { 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff } },
	{ "none", { 99, 1, 1, 1, 1, 1 } },
	{ "at", { -100, 1, 0, 0, 0, 0 } },
	{ "at nowhere", { -100, NOWHERE, NOWHERE, 0, 0, 0 } },
};
#define COUNT (int)(sizeof(patterns) / sizeof(*patterns))
static int skip(int n, int p)
{
	switch (n) {
	case 29: case 30: case 31: case 251: case 252: case 103: case 329: case 330: case 331: case 156: case 149: case 212: case 13: case 14: case 15: case 34: case 56: case 57: case 58: case 60: case 62: case 112: case 153: case 169: case 200: case 231: case 234: case 435: case 128: case 129: case 297:
	case 127: case 130: case 100: case 96: case 201: case 228: case 219: case 24: case 246: case 320: case 163: case 167: case 168: case 170: case 171: case 95: case 7: case 23: case 270: case 271:
		return 1;
	}
	if (patterns[p].a[0] > 4 && patterns[p].a[0] < 10)
		switch (n) { case 142 ... 148: case 203: case 204: case 274: case 279: return 1; }
	if ((n == 175 && p > 3) || n == 136 || (n == 139 && patterns[p].a[0] == 3))
		return 1;
	return 0;
}
int main(int argc, char **argv)
{
	page = map((void *)0x20000000, 8192, 3, 0x32, -1, 0);
	sys(__NR_mkdir, "/sweep", 0755);
	sys(__NR_chdir, "/sweep");
	for (int n = 0; n <= 450; n++) {
		if (!call_names[n])
			continue;
		say("%s:", call_names[n]);
		for (int p = 0; p < COUNT; p++) {
			if (skip(n, p))
				continue;
			long *word = map(0, 4096, 3, 0x21, -1, 0);
			*word = 0x123456789;
			long pid = fork();
			if (!pid) {
				long a[6];
				sys(__NR_setsid);
				spit("file", "hello");
				for (int i = 0; i < 6; i++)
					a[i] = patterns[p].a[i];
				int fd = sys(__NR_open, "file", 2, 0);
				if (fd != 3) { sys(__NR_dup2, fd, 3); }
				fd = sys(__NR_open, ".", 0200000, 0);
				if (fd != 4) { sys(__NR_dup2, fd, 4); }
				int fds[2];
				sys(__NR_pipe2, fds, 04000);
				if (fds[0] != 5) say("pipe %d\n", fds[0]);
				sys(__NR_socket, 2, 2 | 04000, 0);
				sys(__NR_open, "file", 010000000, 0);
				sys(__NR_eventfd2, 0, 04000);
				for (int i = 0; i < 6; i++)
					if (p >= 4 && p != 14 && a[i] == 1)
						a[i] = (long)page + 512 * i;
				int null = sys(__NR_open, "/dev/null", 2, 0);
				sys(__NR_dup2, null, 0);
				sys(__NR_dup2, null, 1);
				sys(__NR_close, null);
				struct { long interval[2], value[2]; } soon = { { 0, 0 }, { 0, 50000 } };
				sys(__NR_setitimer, 0, &soon, 0);
				*word = call6(n, a[0], a[1], a[2], a[3], a[4], a[5]);
				leave(0);
			}
			int status = wait_for(pid);
			long result = *word;
			sys(__NR_munmap, word, 4096);
			if (status)
				say(" %s=status %x", patterns[p].name, (long)status);
			else if (result > 100000 || (n == 110 || n == 39 || n == 186 || n == 111 || n == 121 || n == 124 || n == 218 || n == 157))
				say(" %s=%s", patterns[p].name, result > 0 ? "much" : "zero or less");
			else
				say(" %s=%r", patterns[p].name, result);
			sys(__NR_unlink, "file");
		}
		say("\n");
	}
	return 0;
}
