/* Process accounting: where it may write, and the record of each process that ended; file handles that are opened.  not: i386, s390x */
#include "tiny.h"

struct acct_v3 {
	unsigned char flag, version;
	unsigned short tty;
	unsigned exitcode, uid, gid, pid, ppid, btime;
	float etime;
	unsigned short utime, stime, mem, io, rw, minflt, majflt, swaps;
	char comm[16];
};
static void records(const char *what)
{
	struct acct_v3 r;
	long fd = sys(__NR_open, "/acct/file", O_RDONLY, 0);
	say("%s:\n", what);
	while (sys(__NR_read, fd, &r, sizeof(r)) == sizeof(r))
		say("  flag %x version %x tty %d exit %x uid %d gid %d pid %d ppid %d late %d etime %d utime %d stime %d mem %d io %d rw %d majflt %d swaps %d comm %s\n",
		    (long)r.flag, (long)r.version, r.tty, (long)r.exitcode, r.uid, r.gid, r.pid > 1, r.ppid == sys(__NR_getpid), r.btime > 1000, r.etime >= 0 && r.etime < 3000,
		    r.utime < 1000, r.stime < 1000, r.mem > 0, r.io, r.rw, r.majflt, r.swaps, r.comm);
	sys(__NR_close, fd);
}
static void end(int how)
{
	long pid = fork();
	if (!pid) {
		if (how == 1)
			sys(__NR_prctl, 15, "a name that is long", 0, 0, 0);
		if (how == 2)
			sys(__NR_setgid, 7), sys(__NR_setuid, 5);
		if (how == 3)
			sys(__NR_kill, sys(__NR_getpid), 9);
		if (how == 4)
			sys(__NR_chroot, "/");
		leave(how == 1 ? 3 : 0);
	}
	wait_for(pid);
}
struct handle { unsigned bytes; int type; unsigned char data[128]; };
int main(int argc, char **argv)
{
	sys(__NR_mkdir, "/acct", 0755);
	say("root, none %r\n", sys(__NR_acct, 0));
	T(__NR_acct, "/acct/none");
	T(__NR_acct, "/acct");
	T(__NR_acct, "/dev/null");
	T(__NR_acct, "/dev/null/x");
	T(__NR_acct, "");
	T(__NR_acct, 1);
	T(__NR_acct, "/proc/self/status");
	sys(__NR_symlink, "loop", "/acct/loop");
	T(__NR_acct, "/acct/loop");
	spit("/acct/file", "");
	T(__NR_acct, "/acct/file");
	for (int how = 0; how < 5; how++)
		end(how);
	T(__NR_acct, 0);
	end(0);
	records("five");
	T(__NR_acct, "/acct/file");
	T(__NR_acct, "/acct/file");
	end(0);
	long pid;
	T(__NR_acct, 0);
	records("more");
	if (!(pid = fork())) {
		sys(__NR_setuid, 99);
		T(__NR_acct, 0);
		T(__NR_acct, "/acct/file");
		struct handle h = { 8 };
		say("handle of a user %r\n", sys(__NR_open_by_handle_at, -100, &h, 0));
		leave(0);
	}
	wait_for(pid);
	struct handle h = { 0 };
	int mnt = 0;
	spit("/acct/text", "hello");
	T(__NR_name_to_handle_at, -100, "/acct/text", &h, &mnt, 0);
	say("root mount %r\n", sys(__NR_mount, "none", "/acct", "tmpfs", 0, 0));
	long at = sys(__NR_open, "/acct", O_RDONLY, 0);
	spit("/acct/text", "hello");
	T(__NR_name_to_handle_at, -100, "/acct/text", &h, &mnt, 0);
	say("bytes %d\n", h.bytes);
	h.bytes = 128;
	T(__NR_name_to_handle_at, -100, "/acct/text", &h, &mnt, 0);
	say("bytes %d type %d\n", h.bytes, h.type);
	long fd = sys(__NR_open_by_handle_at, at, &h, O_RDWR);
	char text[8] = "";
	say("open %d read %r %s\n", fd >= 0, sys(__NR_read, fd, text, 7), text);
	sys(__NR_close, fd);
	T(__NR_open_by_handle_at, at, &h, O_RDONLY | 0200000);
	T(__NR_open_by_handle_at, 99, &h, O_RDONLY);
	T(__NR_open_by_handle_at, at, 0, O_RDONLY);
	h.bytes = 0;
	T(__NR_open_by_handle_at, at, &h, O_RDONLY);
	h.bytes = 129;
	T(__NR_open_by_handle_at, at, &h, O_RDONLY);
	h.bytes = 12, h.data[4] ^= 0x55;
	T(__NR_open_by_handle_at, at, &h, O_RDONLY);
	h.data[4] ^= 0x55, h.type = 77;
	T(__NR_open_by_handle_at, at, &h, O_RDONLY);
	h.type = 1;
	long proc = sys(__NR_open, "/proc", O_RDONLY, 0);
	T(__NR_open_by_handle_at, proc, &h, O_RDONLY);
	sys(__NR_close, proc);
	sys(__NR_unlink, "/acct/text");
	T(__NR_open_by_handle_at, at, &h, O_RDONLY);
	sys(__NR_symlink, "file", "/acct/link");
	h.bytes = 128;
	T(__NR_name_to_handle_at, -100, "/acct/link", &h, &mnt, 0);
	T(__NR_open_by_handle_at, at, &h, O_RDONLY);
	say("path %d\n", sys(__NR_open_by_handle_at, at, &h, 010000000) >= 0);
	h.bytes = 128;
	T(__NR_name_to_handle_at, -100, "/acct", &h, &mnt, 0);
	T(__NR_open_by_handle_at, at, &h, O_WRONLY);
	say("directory %d\n", sys(__NR_open_by_handle_at, at, &h, O_RDONLY | 0200000) >= 0);
	h.bytes = 128;
	T(__NR_name_to_handle_at, -100, "", &h, &mnt, 0);
	T(__NR_name_to_handle_at, -100, "", &h, &mnt, 0x1000);
	T(__NR_name_to_handle_at, -100, "/acct", &h, &mnt, 0x2000);
	T(__NR_name_to_handle_at, -100, "/acct", &h, 0, 0);
	T(__NR_name_to_handle_at, -100, "/acct", 0, &mnt, 0);
	T(__NR_name_to_handle_at, 99, "acct", &h, &mnt, 0);
	T(__NR_name_to_handle_at, -100, "/proc/self/status", &h, &mnt, 0);
	T(__NR_name_to_handle_at, -100, "/none", &h, &mnt, 0);
	h.bytes = 129;
	T(__NR_name_to_handle_at, -100, "/acct", &h, &mnt, 0);
	T(__NR_vhangup);
	if (!(pid = fork())) {
		sys(__NR_setuid, 99);
		T(__NR_vhangup);
		leave(0);
	}
	wait_for(pid);
	return 0;
}
