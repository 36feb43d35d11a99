/* A breakpoint's event that sends SIGTRAP: what PERF_EVENT_IOC_MODIFY_ATTRIBUTES changes, and what it refuses. */
/* not: i386 not: s390x */
#include "tiny.h"
#include <linux/perf_event.h>

static struct { volatile int value; int rest[15]; } places[2] __attribute__((aligned(64)));
#define first places[0].value
#define second places[1].value
static volatile int traps;
static void handler(int sig, void *info, void *context)
{
	ulong *words = info;
	traps++;
	say("  trap %s data %x type %d\n", words[2] == (ulong)&first ? "first" : words[2] == (ulong)&second ? "second" : "elsewhere", words[3], (int)words[4]);
}
static struct perf_event_attr attr;
static void base(void)
{
	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_BREAKPOINT, attr.size = sizeof(attr), attr.sample_period = 1, attr.disabled = 1;
	attr.bp_addr = (ulong)&first, attr.bp_type = 3, attr.bp_len = 4, attr.remove_on_exec = 1, attr.sigtrap = 1, attr.sig_data = 0x1234;
	attr.exclude_kernel = attr.exclude_hv = 1;
}
static long fd;
static void touch(const char *what)
{
	traps = 0;
	say("%s\n", what);
	first++, second++;
	say("  %d traps\n", traps);
}
static void modify(const char *what)
{
	say("modify %s: %r\n", what, sys(__NR_ioctl, fd, 0x4008240b, &attr));
	touch("touch");
}

int main(int argc, char **argv)
{
	on_signal(5, handler, 0);
	base();
	fd = sys(__NR_perf_event_open, &attr, 0, -1, -1, 8);
	say("open %r\n", fd < 0 ? fd : 0);
	touch("disabled");
	sys(__NR_ioctl, fd, 0x2400, 0);
	touch("enabled");
	base(), attr.disabled = 0, attr.sig_data = 0x77, modify("data");
	base(), attr.disabled = 0, attr.sig_data = 0x78, attr.bp_addr = (ulong)&second, modify("place and data");
	base(), attr.disabled = 1, attr.sig_data = 0x79, modify("disabled");
	base(), attr.disabled = 0, attr.bp_type = 2, attr.sig_data = 0x80, modify("kind");
	base(), attr.disabled = 0, attr.bp_len = 8, modify("length");
	base(), attr.disabled = 0, attr.sig_data = 0x81, attr.sample_period = 2, modify("period");
	base(), attr.disabled = 0, attr.sig_data = 0x82, attr.bp_len = 3, modify("wrong length");
	base(), attr.disabled = 0, attr.sig_data = 0x83, attr.bp_addr++, modify("not aligned");
	base(), attr.disabled = 0, attr.sig_data = 0x84, attr.type = PERF_TYPE_SOFTWARE, modify("type");
	base(), attr.disabled = 0, attr.sig_data = 0x85, attr.remove_on_exec = 0, modify("flag");
	base(), attr.disabled = 0, attr.size = 64, modify("short");
	base(), attr.disabled = 0, attr.sig_data = 0x86, attr.bp_type = 0, modify("empty");
	base(), attr.disabled = 0, attr.sig_data = 0x87, modify("as first");
	say("fault %r\n", sys(__NR_ioctl, fd, 0x4008240b, 8));
	sys(__NR_close, fd);
	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_SOFTWARE, attr.size = sizeof(attr), attr.config = PERF_COUNT_SW_DUMMY;
	fd = sys(__NR_perf_event_open, &attr, 0, -1, -1, 8);
	modify("a software event");
	return 0;
}
