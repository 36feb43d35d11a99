/* Core dumps: when there is one, what it is called, what its headers, notes and memory hold. */
#include "tiny.h"
#include <linux/elf.h>
#include <linux/prctl.h>
#include <linux/resource.h>

#if __SIZEOF_POINTER__ == 8
typedef Elf64_Ehdr Ehdr;
typedef Elf64_Phdr Phdr;
#else
typedef Elf32_Ehdr Ehdr;
typedef Elf32_Phdr Phdr;
#endif
static long LIMIT(unsigned long long n)
{
	unsigned long long both[2] = { n, n };
	return sys(__NR_prlimit64, 0, RLIMIT_CORE, both, 0);
}
#define ROOM (1 << 20)
static char *core;
static long size;
static volatile char *marked;
static const char marker[] = "here it is: a page of the dump";

static void crash(int how)
{
	if (how == 0)
		*(volatile int *)0 = 1;
	if (how == 1)
		sys(__NR_kill, sys(__NR_getpid), 6);
	if (how == 2)
		sys(__NR_kill, sys(__NR_getpid), 15);
	if (how == 3)
		sys(__NR_kill, sys(__NR_getpid), 3);
}
static void dies(const char *what, int how, unsigned long long limit, int dumpable)
{
	long pid = fork();
	if (!pid) {
		LIMIT(limit);
		sys(__NR_prctl, PR_SET_DUMPABLE, dumpable);
		crash(how);
		leave(0);
	}
	int status = wait_for(pid);
	say("%s: signal %d core %d,", what, status & 0x7f, status >> 7 & 1);
	size = slurp("core", core, ROOM);
	say(" file %d\n", size > 0 ? 1 : (int)size);
	sys(__NR_unlinkat, AT_FDCWD, "core", 0);
}
static int words(const char *p, const char *w, long n)
{
	for (long i = 0; i + (long)strlen(w) <= n; i++)
		if (!memcmp(p + i, w, strlen(w)))
			return 1;
	return 0;
}
static unsigned word(const char *p) { unsigned v; memcpy(&v, p, 4); return v; }

static int thread_fn(void *arg)
{
	for (;;)
		nap(1000);
}

static void read_it(long pid, int threads)
{
	Ehdr *e = (Ehdr *)core;
	Phdr *p = (Phdr *)(core + e->e_phoff);
	int loads = 0, whole = 0, none = 0, marked_ = 0, executable = 0;
	say("type %d machine %d version %d", e->e_type, e->e_machine == EM_X86_64 || e->e_machine == EM_386 || e->e_machine == EM_S390, (int)e->e_version);
	say(" sizes %d %d", e->e_ehsize == sizeof(Ehdr), e->e_phentsize == sizeof(Phdr));
	say(" first %d align %d flags %d at %d\n", (int)p->p_type, (int)p->p_align, (int)p->p_flags, p->p_offset == e->e_phoff + e->e_phnum * sizeof(Phdr));
	for (char *n = core + p->p_offset, *end = n + p->p_filesz; n < end;) {
		unsigned name = word(n), desc = word(n + 4), type = word(n + 8);
		char *d = n + 12 + ((name + 3) & ~3);
		if (type == 1) {
			say("prstatus %s size %d", n + 12, desc < 400 && desc > 100);
			say(" signal %d %d", (int)word(d), *(short *)(d + 12));
			say(" pid %s\n", word(d + 16 + 2 * sizeof(long)) == pid ? "the process" : "a thread");
		} else if (type == 3) {
			char *c = d + desc - 96;
			say("prpsinfo %s size %d state %d %d name %s", n + 12, desc == (sizeof(long) == 8 ? 136 : 124), d[0], d[1], c);
			say(" args %s\n", c + 16);
		} else if (type == 0x53494749)
			say("siginfo size %d signal %d code %d\n", desc, (int)word(d), (int)word(d + 8));
		else if (type == 6)
			say("auxv words %d end %d\n", desc % (2 * sizeof(long)) == 0, *(long *)(d + desc - 2 * sizeof(long)) == 0);
		else if (type == 0x46494c45) {
			say("files %d", ((long *)d)[0] >= 1);
			say(" page %l name %d\n", ((long *)d)[1], words(d, "/cores", desc));
		} else if (type == 2)
			say("fp %s\n", n + 12);
		n = d + ((desc + 3) & ~3);
	}
	for (int i = 1; i < e->e_phnum; i++) {
		loads += p[i].p_type == PT_LOAD && p[i].p_align == 4096 && p[i].p_offset % 4096 == 0;
		whole += p[i].p_filesz == p[i].p_memsz, none += !p[i].p_filesz;
		executable += p[i].p_flags == (PF_R | PF_X) && p[i].p_filesz == 4096;
		if ((ulong)marked - p[i].p_vaddr < p[i].p_memsz) {
			char *q = core + p[i].p_offset + ((ulong)marked - p[i].p_vaddr);
			marked_ = q + sizeof marker < core + ROOM && !memcmp(q, marker, sizeof marker);
			say("marked flags %d whole %d\n", (int)p[i].p_flags, p[i].p_filesz == p[i].p_memsz);
		}
	}
	say("loads %d whole %d untouched %d marker %d length %d\n", loads == e->e_phnum - 1, whole > 1, none >= 1, marked_,
	    size == (long)(p[e->e_phnum - 1].p_offset + p[e->e_phnum - 1].p_filesz));
}

int main(int argc, char **argv)
{
	core = map(0, ROOM, 3, 0x22, -1, 0);
	sys(__NR_mkdirat, AT_FDCWD, "/cr", 0755);
	sys(__NR_mount, "cr", "/cr", "tmpfs", 0, 0);
	sys(__NR_chdir, "/cr");
	spit("/proc/sys/kernel/core_pattern", "core");
	dies("no limit", 0, ~0ULL, 1);
	dies("limit 0", 0, 0, 1);
	dies("limit 4095", 1, 4095, 1);
	dies("limit 8192", 1, 8192, 1);
	dies("not dumpable", 1, ~0ULL, 0);
	dies("TERM", 2, ~0ULL, 1);
	dies("QUIT", 3, ~0ULL, 1);
	spit("core", "old");
	dies("there was one", 1, ~0ULL, 1);
	sys(__NR_mkdirat, AT_FDCWD, "core", 0755);
	dies("a directory is there", 1, ~0ULL, 1);
	sys(__NR_unlinkat, AT_FDCWD, "core", 0x200);
	spit("/proc/sys/kernel/core_pattern", "/cr/c.%e.%s.%%.%u.%x.%d");
	dies("elsewhere", 1, ~0ULL, 1);
	size = slurp("/cr/c.cores.6.%.0..1", core, ROOM);
	say("named %d\n", size > 4096);
	spit("/proc/sys/kernel/core_pattern", "core");
	for (int threads = 0; threads < 2; threads++) {
		long pid = fork();
		if (!pid) {
			char *p = map(0, 16384, 3, 0x22, -1, 0);
			sys(__NR_munmap, core, ROOM);
			LIMIT(~0ULL);
			marked = p;
			memcpy(p + 4096, marker, sizeof marker);
			map(0, 8192, 3, 0x22, -1, 0);
			spit("/cr/where", "");
			long fd = sys(__NR_openat, AT_FDCWD, "/cr/where", O_WRONLY);
			p += 4096;
			sys(__NR_write, fd, &p, sizeof p);
			if (threads) {
				char *stack = map(0, 65536, 3, 0x22, -1, 0);
				start_thread(thread_fn, 0, 0x10f00, stack + 65536);
				nap(10);
			}
			crash(threads ? 1 : 0);
		}
		int status = wait_for(pid);
		long fd = sys(__NR_openat, AT_FDCWD, "/cr/where", O_RDONLY);
		sys(__NR_read, fd, &marked, sizeof marked);
		sys(__NR_close, fd);
		say("status %x\n", (long)status);
		long n = 0, got;
		fd = sys(__NR_openat, AT_FDCWD, "core", O_RDONLY);
		while ((got = sys(__NR_read, fd, core + n, ROOM - n)) > 0)
			n += got;
		size = n;
		read_it(pid, threads);
		sys(__NR_close, fd);
	}
	return 0;
}
