/* Calls of the machine, and of what this one has not: what is refused of their arguments before it comes to that, by root and by nobody. */
/* Left out: what only huge pages, or local descriptor tables, could answer. */
/* not: i386 not: s390x */
#include "tiny.h"

static char page[4096];
static long made(const char *path, long mode, long size)
{
	long fd = sys(__NR_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_TRUNC, mode);
	sys(__NR_ftruncate, fd, size);
	return fd;
}
static void all(const char *who)
{
	long fd = sys(__NR_openat, AT_FDCWD, "/tmp/file", O_RDONLY, 0), dir = sys(__NR_openat, AT_FDCWD, "/tmp", O_RDONLY, 0);
	say("-- %s\n", who);
	T(__NR_swapon, 0, 0); T(__NR_swapon, "/nothing", 0); T(__NR_swapon, "/tmp/file", 0); T(__NR_swapon, "/tmp", 0); T(__NR_swapon, "/dev/null", 0);
	T(__NR_swapon, "/tmp/file", 0x80000); T(__NR_swapon, "/tmp/file", 0x8000); T(__NR_swapon, "", 0); T(__NR_swapon, "/tmp/empty", 0);
	T(__NR_swapoff, 0); T(__NR_swapoff, "/nothing"); T(__NR_swapoff, "/tmp/file"); T(__NR_swapoff, "");
	T(__NR_kexec_load, 0, 0, 0, 0); T(__NR_kexec_load, 0, 17, 0, 0); T(__NR_kexec_load, 0, 1, 0, 0); T(__NR_kexec_load, 0, 1, page, 0x10);
	T(__NR_kexec_load, 0, 1, 8, 0); T(__NR_kexec_load, 0, 0, 0, 0x3e0000); T(__NR_kexec_load, 0, 0, 0, 0x280000); T(__NR_kexec_load, 0, 0, 0, 1); T(__NR_kexec_load, 0, 0, 0, 4);
	struct { ulong buf, size, mem, room; } segment[2] = { { 0, 0, 0x100001, 4096 }, { 0, 0, 0x200000, 4096 } };
	T(__NR_kexec_load, 0, 1, segment, 0);
	segment[0].mem = 0x200000; T(__NR_kexec_load, 0, 2, segment, 0);
	segment[0].mem = 0x100000, segment[0].size = 5000; T(__NR_kexec_load, 0, 1, segment, 0);
	T(__NR_kexec_file_load, -1, -1, 0, 0, 1); T(__NR_kexec_file_load, dir, -1, 0, 0, 4);
	T(__NR_reboot, 0xfee1dead, 672274793, 0xa1b2c3d4, 8);
	T(__NR_kexec_file_load, -1, -1, 0, 0, 0); T(__NR_kexec_file_load, fd, -1, 0, 0, 4); T(__NR_kexec_file_load, fd, -1, 0, 0, 0x20); T(__NR_kexec_file_load, -1, -1, 1, "", 6);
	T(__NR_init_module, 0, 0, ""); T(__NR_init_module, page, 10, ""); T(__NR_init_module, page, 4096, ""); T(__NR_init_module, 8, 4096, "");
	T(__NR_finit_module, -1, "", 0); T(__NR_finit_module, fd, "", 0); T(__NR_finit_module, fd, "", 8); T(__NR_finit_module, dir, "", 0);
	T(__NR_delete_module, "nothing", 0); T(__NR_delete_module, 0, 0); T(__NR_delete_module, "", 0x800);
	T(__NR_quotactl, 0, 0, 0, 0); T(__NR_quotactl, 0x80000700, "/tmp", 0, 0); T(__NR_quotactl, 0x80000100, 0, 0, 0); T(__NR_quotactl, 0x80000100, 0, 0, page);
	T(__NR_quotactl, 0x80000200, "/dev/null", 0, page); T(__NR_quotactl, 0x80000203, "/dev/null", 0, page); T(__NR_quotactl, 0x80000700, "/nothing", 0, page);
	T(__NR_quotactl, 0x80000800, "/tmp/file", 0, page);
	T(443, -1, 0, 0, 0); T(443, fd, 0x80000700, 0, page); T(443, fd, 0x80000703, 0, page); T(443, fd, 0x80000200, 0, "/tmp/file"); T(443, fd, 1, 0, page);
	T(__NR_modify_ldt, 0, 0, 0); T(__NR_modify_ldt, 0, page, 64); T(__NR_modify_ldt, 2, page, 64); T(__NR_modify_ldt, 1, page, 8); T(__NR_modify_ldt, 0x11, page, 15);
	T(__NR_modify_ldt, 3, page, 16); T(__NR_modify_ldt, 1, 8, 16); T(__NR_modify_ldt, 1, page, 17);
	memset(page, 0, 64);
	*(int *)page = 8192; T(__NR_modify_ldt, 1, page, 16);

	memset(page, 0, 64);

	T(__NR_memfd_create, "x", 21 << 26); T(__NR_memfd_create, "x", 1 << 20);
	T(__NR_iopl, 4); T(__NR_iopl, 0); T(__NR_ioperm, 0, 1, 0); T(__NR_ioperm, 0x10000, 1, 1); T(__NR_ioperm, 0x70, 0, 1); T(__NR_ioperm, -1, 2, 1); T(__NR_ioperm, 0xffff, 2, 0);
	T(__NR_syslog, 11, 0, 0); T(__NR_syslog, 12, 0, 0); T(__NR_syslog, 2, 0, 0); T(__NR_syslog, 8, 0, 9); T(__NR_syslog, 8, 0, 0); T(__NR_syslog, 3, page, -1);
	T(__NR_acct, "/tmp"); T(__NR_acct, "/nothing"); T(__NR_acct, "/dev/null");
	T(__NR_reboot, 0, 0, 0, 0); T(__NR_reboot, 0xfee1dead, 672274793, 0, 0); T(__NR_reboot, 0xfee1dead, 0, 0x89abcdef, 0); T(__NR_reboot, 0xfee1dead, 672274793, 1, 0);
	T(__NR_reboot, 0xfee1dead, 85072278, 0, 0); T(__NR_reboot, 0xfee1dead, 369367448, 0x89abcdef, 0);
	T(__NR_vhangup); T(__NR_ustat, 0, page); T(__NR_sysfs, 1, "nothing"); T(__NR_sysfs, 2, 99, page); T(__NR_sysfs, 4);
	T(__NR_lookup_dcookie, 0, page, 10); T(__NR_uselib, "/x"); T(__NR_nfsservctl, 0, 0, 0); T(__NR_create_module, 0); T(__NR_security); T(__NR_tuxcall); T(__NR_vserver);
	T(__NR_get_kernel_syms, 0); T(__NR_query_module, 0); T(__NR_getpmsg); T(__NR_putpmsg); T(__NR_afs_syscall); T(__NR__sysctl, 0); T(__NR_epoll_ctl_old); T(__NR_epoll_wait_old);
	T(447, 0); T(447, 1);
	sys(__NR_close, fd), sys(__NR_close, dir);
}

int main(int argc, char **argv)
{
	sys(__NR_close, made("/tmp/file", 0644, 40960)), sys(__NR_close, made("/tmp/empty", 0644, 0));
	all("root");
	if (!fork()) {
		sys(__NR_setresuid, 1000, 1000, 1000);
		all("nobody");
		leave(0);
	}
	wait_for(-1);
	return 0;
}
