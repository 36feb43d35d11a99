/* What is told of devices over NETLINK_KOBJECT_UEVENT: of what is written to their files `uevent`, of network devices that come, move and go. */
/* not: i386 not: s390x */
#include "tiny.h"
#include "tiny_net.h"
#include <linux/netlink.h>

static long here;
static long ears(void)
{
	struct sockaddr_nl a = { 16, 0, 0, 1 };
	long fd = sys(__NR_socket, 16, 3, 15);
	int on = 1;
	sys(__NR_setsockopt, fd, 1, 16, &on, 4);
	say("ears %r\n", sys(__NR_bind, fd, &a, sizeof(a)));
	return fd;
}
static long last;
/* what was told since the last time; numbers of events count on */
static void hear(long fd, const char *what)
{
	static char text[4096], control[64];
	struct sockaddr_nl from;
	struct { void *base; ulong len; } v = { text, sizeof(text) };
	struct { void *name; int namelen; void *v; ulong n; void *control; ulong controllen; int flags; } m;
	for (;;) {
		memset(&from, 0, sizeof(from));
		m.name = &from, m.namelen = sizeof(from), m.v = &v, m.n = 1, m.control = control, m.controllen = sizeof(control), m.flags = 0;
		long n = sys(__NR_recvmsg, fd, &m, 0x40);
		if (n < 0) {
			say("  %s: %r\n", what, n);
			return;
		}
		int *cred = (int *)(control + 16);
		say("  %s: port %d groups %d by %s %d %d: ", what, from.nl_pid, from.nl_groups, cred[0] ? cred[0] == sys(__NR_getpid) ? "me" : "another" : "the kernel", cred[1], cred[2]);
		if (!from.nl_groups) { /* an answer */
			say("%r\n", (long)((struct nlmsgerr *)(text + sizeof(struct nlmsghdr)))->error);
			continue;
		}
		for (char *p = text; p < text + n; p += strlen(p) + 1) {
			if (!memcmp(p, "SEQNUM=", 7)) {
				long number = 0;
				for (char *q = p + 7; *q; q++)
					number = number * 10 + *q - '0';
				say(" SEQNUM %s", number > last ? "further" : "as before");
				last = number;
			} else if (!memcmp(p, "IFINDEX=", 8))
				say(" IFINDEX");
			else
				say(" %s", p);
		}
		say("\n");
	}
}
static void synth(const char *file, const char *text)
{
	long fd = sys(__NR_openat, AT_FDCWD, file, O_WRONLY, 0);
	say("%s < '%s': %r\n", file, text, fd < 0 ? fd : sys(__NR_write, fd, text, strlen(text)));
	sys(__NR_close, fd);
	hear(here, "told");
}
static void show(const char *file)
{
	static char text[512];
	long n = slurp(file, text, sizeof(text));
	for (char *p = text; n > 0 && *p; p++)
		if (*p == '\n')
			*p = '|';
	say("%s: %r %s\n", file, n, n > 0 ? text : "");
}

static void send_as(const char *what, int size, int type, int flags)
{
	static struct { struct nlmsghdr head; char text[64]; } out;
	memset(&out, 0, sizeof(out));
	out.head.nlmsg_len = sizeof(out.head) + size;
	out.head.nlmsg_type = type, out.head.nlmsg_flags = flags;
	memcpy(out.text, "add@/mine\0ACTION=add\0", 22);
	say("%s: %r\n", what, sys(__NR_sendto, here, &out, sizeof(out.head) + size, 0, 0, 0));
	hear(here, "told");
}

int main(int argc, char **argv)
{
	static const char *const texts[] = {
		"add", "change", "remove", "online", "offline", "move", "bind", "unbind", "add\n", "", "\n", "foo", "ADD", "add ", "addx", "changed", "cha",
		"change fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed", "change fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed A=1 B=abc",
		"change fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed A=1 B=abc\n", "add FE4D7C9D-B8C6-4A70-9EF1-3D8A58D18EED",
		"add fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18ee", "add fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eedx", "add fe4d7c9d_b8c6-4a70-9ef1-3d8a58d18eed",
		"add ge4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed", "add fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed A", "add fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed A=",
		"add fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed =1", "add fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed A_B=1", "add fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed a=Z9",
		"add fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed A=1=2", "add fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed  A=1", "add fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed A=1 ",
		"add fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed A=1 A=2 1=A", "add  fe4d7c9d-b8c6-4a70-9ef1-3d8a58d18eed",
	};
	static const char *const files[] = {
		"/sys/devices/virtual/mem/null/uevent", "/sys/devices/virtual/mem/null/dev", "/sys/devices/virtual/mem/kmsg/uevent", "/sys/devices/virtual/mem/urandom/uevent",
		"/sys/devices/virtual/tty/tty/uevent", "/sys/devices/virtual/tty/console/uevent", "/sys/devices/virtual/tty/ptmx/uevent", "/sys/class/mem/zero/dev",
		"/sys/dev/char/1:8/uevent", "/sys/class/net/lo/uevent", "/sys/class/tty/tty/dev", "/sys/devices/virtual/net/lo/queues/rx-0/uevent",
	};
	if (argc > 1) { /* on a real kernel: modules that give the kinds of devices that are asked about */
		for (int i = 1; i < argc; i++) {
			long fd = sys(__NR_openat, AT_FDCWD, argv[i], O_RDONLY, 0);
			sys(__NR_finit_module, fd, "numdummies=0", 0);
			sys(__NR_close, fd);
		}
		nap(300);
	}
	struct { char name[16]; short flags; char more[22]; } lo = { "lo", 1 };
	long fd = sys(__NR_socket, 2, 2, 0);
	sys(__NR_ioctl, fd, 0x8914, &lo);
	sys(__NR_close, fd);
	for (int i = 0; i < 12; i++)
		show(files[i]);
	here = ears();
	for (int i = 0; i < (int)(sizeof(texts) / sizeof(*texts)); i++)
		synth(files[0], texts[i]);
	synth("/sys/devices/virtual/tty/ptmx/uevent", "change"), synth("/sys/class/net/lo/uevent", "change"), synth("/sys/devices/virtual/mem/kmsg/uevent", "add");
	synth("/sys/devices/virtual/net/lo/queues/rx-0/uevent", "change");
	send_as("short", 0, 0x10, 1), send_as("message", 22, 0x10, 1), send_as("other type", 22, 3, 1), send_as("acknowledged", 22, 0x10, 5);
	if (!fork()) {
		sys(__NR_setresuid, 1000, 1000, 1000);
		synth(files[0], "add");
		long mine = ears();
		nap(20);
		hear(mine, "anybody");
		send_as("by nobody", 22, 0x10, 5);
		leave(0);
	}
	nap(5);
	wait_for(-1);
	/* namespaces: devices of none are told of in all of the first user namespace, network devices in their own */
	int to[2], back[2];
	sys(__NR_pipe2, to, 0), sys(__NR_pipe2, back, 0);
	long child = fork();
	if (!child) {
		char c;
		say("unshare %r\n", sys(__NR_unshare, 0x40000000));
		long there = ears();
		for (int i = 0; i < 3; i++) {
			sys(__NR_write, back[1], "x", 1);
			sys(__NR_read, to[0], &c, 1);
			hear(there, "there");
		}
		leave(0);
	}
	char c;
	sys(__NR_read, back[0], &c, 1);
	synth(files[0], "change");
	sys(__NR_write, to[1], "x", 1), sys(__NR_read, back[0], &c, 1);
	netlink = sys(__NR_socket, 16, 3, 0);
	veth("v0", "v1", "\2\0\0\0\0\1");
	hear(here, "veth");
	lo = (typeof(lo)){ "v0", 1 };
	fd = sys(__NR_socket, 2, 2, 0);
	say("up %r\n", sys(__NR_ioctl, fd, 0x8914, &lo));
	hear(here, "up");
	lo.flags = 0;
	say("down %r\n", sys(__NR_ioctl, fd, 0x8914, &lo));
	hear(here, "down");
	struct { char name[16], other[16]; char more[8]; } names = { "v0", "first" };
	say("rename %r\n", sys(__NR_ioctl, fd, 0x8923, &names));
	hear(here, "renamed");
	synth("/sys/class/net/first/uevent", "change");
	struct ifinfomsg *info = begin_message(RTM_NEWLINK, 0, sizeof(*info));
	unsigned pid = child;
	attribute(IFLA_IFNAME, "v1", 3);
	attribute(IFLA_NET_NS_PID, &pid, 4);
	send_message("move");
	hear(here, "moved");
	sys(__NR_write, to[1], "x", 1), sys(__NR_read, back[0], &c, 1);
	info = begin_message(RTM_DELLINK, 0, sizeof(*info));
	attribute(IFLA_IFNAME, "first", 6);
	send_message("delete");
	hear(here, "gone");
	sys(__NR_write, to[1], "x", 1);
	wait_for(child);
	nap(100);
	hear(here, "at the end");
	say("netlink_uevent %r\n", sys(__NR_close, here));
	return 0;
}
