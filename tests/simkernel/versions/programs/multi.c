/* Links to many functions of programs, and sessions: entry and return in one program. */
#include "../../calls/programs/tiny.h"
#include "../../calls/programs/tiny_bpf.h"
#include <linux/elf.h>

#define KFUNC(id) I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, id)
#define PUT(off, i) I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, off, i)
#define MAPFD(r, fd) I(BPF_LD | BPF_DW | BPF_IMM, r, BPF_PSEUDO_MAP_FD, 0, fd), { 0 }
#define JNZ(n) I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, n, 0)
#define INC(r, off) I(BPF_STX | BPF_ATOMIC | BPF_DW, r, 1, off, BPF_ADD)
enum { KPROBE_MULTI = 42, UPROBE_MULTI = 48, KPROBE_SESSION = 56, UPROBE_SESSION = 57 };

/* numbers that programs leave: hits, cookie, address, session's cookie, process */
struct left { unsigned long long hits, cookie, ip, kept, pid; };
static long slots;
static char log[20000];

struct attr_link { unsigned prog_fd, target_fd, attach_type, flags; unsigned long long path, offsets, refs, cookies; unsigned cnt, uflags, pid, path_fd; };
struct attr_klink { unsigned prog_fd, target_fd, attach_type, flags; unsigned kflags, cnt; unsigned long long syms, addrs, cookies; };
struct info { unsigned type, id, prog_id, pad; union {
	struct { unsigned long long path, offsets, refs, cookies; unsigned path_size, count, flags, pid; } u;
	struct { unsigned long long addrs; unsigned count, flags; unsigned long long missed, cookies; } k; }; };

__attribute__((noinline, noclone)) int one(int x) { __asm__ volatile("nop" : "+r"(x)); return x + 1; }
__attribute__((noinline, noclone)) int two(int x) { __asm__ volatile("nop" : "+r"(x)); return x + 2; }
__attribute__((noinline, noclone)) int three(int x) { __asm__ volatile("nop" : "+r"(x)); return x + 3; }
static volatile unsigned short sema[8] = { 0, 0, 0, 0, 1, 0, 0, 0 };

static unsigned long long place(const volatile void *p)
{
	char *start = (char *)0x400000;
	Elf64_Ehdr *head = (void *)start;
	Elf64_Phdr *ph = (void *)(start + head->e_phoff);
	for (int i = 0; i < head->e_phnum; i++, ph++)
		if (ph->p_type == PT_LOAD && (ulong)p >= ph->p_vaddr && (ulong)p < ph->p_vaddr + ph->p_filesz)
			return (ulong)p - ph->p_vaddr + ph->p_offset;
	return 0;
}

static long load(int type, int attach, int flags, struct bpf_insn *code, int n)
{
	memset(log, 0, sizeof(log));
	attr.prog_type = type, attr.expected_attach_type = attach, attr.prog_flags = flags, attr.insns = (ulong)code, attr.insn_cnt = n, attr.license = (ulong)"GPL";
	attr.log_level = 1, attr.log_buf = (ulong)log, attr.log_size = sizeof(log);
	return bpf(BPF_PROG_LOAD);
}
#define LOADP(attach, flags, ...) ({ struct bpf_insn code[] = { __VA_ARGS__, EXIT }; load(BPF_PROG_TYPE_KPROBE, attach, flags, code, sizeof(code) / sizeof(*code)); })
/* R6 = context, R7 = value of a slot that the program picks (R8) */
#define SLOT I(BPF_STX | BPF_MEM | BPF_W, 10, 8, -4, 0), MOV(2, 10), ADD(2, -4), MAPFD(1, slots), CALL(BPF_FUNC_map_lookup_elem), JNZ(1), EXIT, MOV(7, 0)
#define COUNT SET(1, 1), INC(7, 0)
#define COOKIE MOV(1, 6), CALL(BPF_FUNC_get_attach_cookie), STORE(7, 0, 8)
#define IP MOV(1, 6), CALL(BPF_FUNC_get_func_ip), STORE(7, 0, 16)
#define PID CALL(BPF_FUNC_get_current_pid_tgid), STORE(7, 0, 32)
#define RECORD(slot) MOV(6, 1), SET(8, slot), SLOT, COUNT, COOKIE, IP, PID

/* The log without addresses of the kernel. */
static void hide(char *log)
{
	for (; *log; log++)
		if (!memcmp(log, "0xffff888", 9))
			for (char *p = log + 9; (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); p++)
				*p = 'x';
}

static unsigned long long names[4];
static int unset; /* nobody stored a cookie: what is in it is left over */
static void show(int slot)
{
	struct left l, zero;
	memset(&l, 0, sizeof(l)), memset(&zero, 0, sizeof(zero));
	bpf_element(BPF_MAP_LOOKUP_ELEM, slots, slot, &l);
	bpf_element(BPF_MAP_UPDATE_ELEM, slots, slot, &zero);
	const char *at = "elsewhere";
	if (l.ip == (ulong)one) at = "one";
	if (l.ip == (ulong)two) at = "two";
	if (l.ip == (ulong)three) at = "three";
	if (!l.ip) at = "nowhere";
	say("  [%d] hits %l cookie %l ip %s kept %l mine %d\n", slot, (long)l.hits, (long)l.cookie, at, slot && !unset ? (long)l.kept : 0, (int)(l.pid >> 32) == (int)sys(__NR_getpid));
}
static struct attr_link u;
static long ulink(void)
{
	return sys(__NR_bpf, BPF_LINK_CREATE, &u, sizeof(u));
}
static unsigned long long offs[4], refs[4], cooks[4];
static void fresh(long prog, int attach)
{
	memset(&u, 0, sizeof(u));
	u.prog_fd = prog, u.attach_type = attach, u.path = (ulong)"/proc/self/exe", u.offsets = (ulong)offs, u.cnt = 3;
	offs[0] = place(one), offs[1] = place(two), offs[2] = place(three);
	for (int i = 0; i < 4; i++)
		refs[i] = 0, cooks[i] = 100 + i;
}
static void hit(void) { one(1), one(1), two(1), three(1); }
#define TRYU(what, ...) do { fresh(prog, UPROBE_MULTI); __VA_ARGS__; long fd = ulink(); say("%s: %r\n", what, fd < 0 ? fd : 0); if (fd >= 0) { hit(); show(0); sys(__NR_close, fd); } } while (0)

static void fdinfo(long fd)
{
	static char path[40], text[2000];
	char *p = path;
	memcpy(p, "/proc/self/fdinfo/", 18), p += 18;
	if (fd >= 10) *p++ = '0' + fd / 10;
	*p++ = '0' + fd % 10, *p = 0;
	long n = slurp(path, text, sizeof(text));
	/* lines that are the same everywhere */
	for (char *line = text; n > 0 && *line;) {
		char *end = line;
		while (*end && *end != '\n') end++;
		char was = *end; *end = 0;
		if (memcmp(line, "pos", 3) && memcmp(line, "flags", 5) && memcmp(line, "mnt_id", 6) && memcmp(line, "ino", 3) && memcmp(line, "link_id", 7) && memcmp(line, "prog_", 5) && memcmp(line, "path:", 5)) {
			if (line[0] >= '0' && line[0] <= '9') { /* a table: addresses differ */
				char *q = line;
				while (*q && *q != '+' && memcmp(q, "0x", 2)) q++;
				*q = 0;
				say("  | %s...\n", line);
			} else if (!memcmp(line, "pid:\t", 5) && line[5] != '0')
				say("  | pid of a process\n");
			else
				say("  | %s\n", line);
		}
		if (!was) break;
		line = end + 1;
	}
}
static struct info got;
static long ask(long fd, int size)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.info.bpf_fd = fd, a.info.info_len = size, a.info.info = (ulong)&got;
	return sys(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a));
}
static void uprobe_info(long fd)
{
	static char path[100];
	static unsigned long long o[4], r[4], c[4];
	long err;
	memset(&got, 0, sizeof(got));
	err = ask(fd, sizeof(got));
	say("  info %r type %d path %x %d count %d flags %d pid %d\n", err, got.type, (long)got.u.path, got.u.path_size > 1, got.u.count, got.u.flags, got.u.pid == (int)sys(__NR_getpid) ? 1 : got.u.pid);
	memset(&got, 0, sizeof(got));
	got.u.path = (ulong)path, got.u.path_size = sizeof(path), got.u.offsets = (ulong)o, got.u.refs = (ulong)r, got.u.cookies = (ulong)c, got.u.count = 4;
	err = ask(fd, sizeof(got));
	char *base = path;
	for (char *p = path; *p; p++) if (*p == '/') base = p + 1;
	say("  info %r %s %d count %d", err, base, got.u.path_size == strlen(path) + 1, got.u.count);
	for (int i = 0; i < 4; i++) say(" %d/%d/%l", o[i] == offs[i] && i < got.u.count, r[i] == refs[i], (long)c[i]);
	say("\n");
	memset(o, 0, sizeof(o));
	got.u.count = 2, got.u.path = 0, got.u.path_size = 0;
	err = ask(fd, sizeof(got));
	say("  two places %r count %d, %d %d %d\n", err, got.u.count, o[0] == offs[0], o[1] == offs[1], o[2] == offs[2]);
	got.u.count = 0;
	say("  none %r\n", ask(fd, sizeof(got)));
	memset(&got, 0, sizeof(got)), got.u.count = 3;
	say("  a count alone %r\n", ask(fd, sizeof(got)));
	memset(&got, 0, sizeof(got)), got.u.path = (ulong)path;
	say("  a path alone %r\n", ask(fd, sizeof(got)));
	memset(&got, 0, sizeof(got)), got.u.path_size = 100;
	say("  a size alone %r\n", ask(fd, sizeof(got)));
	memset(path, 0, sizeof(path));
	memset(&got, 0, sizeof(got)), got.u.path = (ulong)path, got.u.path_size = 4;
	err = ask(fd, sizeof(got));
	say("  a short path %r %d %d\n", err, got.u.path_size > 4, (int)strlen(path));
	memset(&got, 0, sizeof(got)), got.u.path = 16, got.u.path_size = 100;
	say("  a path nowhere %r\n", ask(fd, sizeof(got)));
	memset(&got, 0, sizeof(got)), got.u.offsets = 16, got.u.count = 3;
	say("  places nowhere %r\n", ask(fd, sizeof(got)));
	memset(&got, 0, sizeof(got));
	say("  short %r\n", ask(fd, 48));
}

static void errors(long prog, long other)
{
	TRYU("all three", u.cookies = (ulong)cooks);
	TRYU("without cookies", );
	TRYU("of returns", u.uflags = 1, u.cookies = (ulong)cooks);
	TRYU("flag 2", u.uflags = 2);
	TRYU("flag 4", u.uflags = 4);
	TRYU("path_fd without the flag", u.path_fd = 1);
	TRYU("by descriptor", u.uflags = 2, u.path = 0, u.path_fd = sys(__NR_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY, 0));
	TRYU("by descriptor and path", u.uflags = 2, u.path_fd = sys(__NR_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY, 0));
	TRYU("by a bad descriptor", u.uflags = 2, u.path = 0, u.path_fd = 999);
	TRYU("by O_PATH", u.uflags = 2, u.path = 0, u.path_fd = sys(__NR_openat, AT_FDCWD, "/proc/self/exe", O_PATH, 0));
	TRYU("by a directory's", u.uflags = 2, u.path = 0, u.path_fd = sys(__NR_openat, AT_FDCWD, "/proc", O_RDONLY, 0));
	TRYU("no path", u.path = 0);
	TRYU("no offsets", u.offsets = 0);
	TRYU("count 0", u.cnt = 0);
	TRYU("count beyond", u.cnt = (1 << 20) + 1);
	TRYU("count at most", u.cnt = 1 << 20);
	TRYU("a path that is not there", u.path = (ulong)"/proc/self/nothing");
	TRYU("a directory", u.path = (ulong)"/proc");
	TRYU("a file of proc", u.path = (ulong)"/proc/version");
	TRYU("an empty path", u.path = (ulong)"");
	TRYU("a path nowhere", u.path = 16);
	TRYU("offsets nowhere", u.offsets = 16);
	TRYU("cookies nowhere", u.cookies = 16);
	TRYU("counters nowhere", u.refs = 16);
	TRYU("offset beyond the file", offs[1] = 1 << 28);
	TRYU("an offset below zero", offs[1] = -1ULL);
	TRYU("an offset twice", offs[1] = offs[0]);
	TRYU("flags of the link", u.flags = 1);
	TRYU("target", u.target_fd = 1);
	TRYU("process 1", u.pid = 1);
	TRYU("this one", u.pid = sys(__NR_getpid));
	TRYU("no such process", u.pid = 30000);
	TRYU("process -1", u.pid = -1);
	TRYU("odd counter", u.refs = (ulong)refs, refs[1] = 3);
	TRYU("a negative counter", u.refs = (ulong)refs, refs[1] = -1ULL);
	TRYU("with counters", u.refs = (ulong)refs, refs[0] = place(&sema[1]), refs[2] = place(&sema[4]); say("  counters at %d %d\n", refs[0] != 0, refs[2] != 0));
	fresh(prog, UPROBE_MULTI);
	u.refs = (ulong)refs, refs[0] = place(&sema[1]), refs[2] = place(&sema[4]);
	long fd = ulink();
	say("counters: %d %d %d\n", sema[0], sema[1], sema[4]);
	u.refs = 0;
	say("without them: %r\n", ulink() < 0 ? ulink() : 0);
	sys(__NR_close, fd);
	say("then: %d %d %d\n", sema[0], sema[1], sema[4]);
	fresh(prog, KPROBE_MULTI);
	say("as kernel functions: %r\n", ulink());
	fresh(prog, BPF_PERF_EVENT);
	u.path = 0, u.offsets = 0, u.cnt = 0;
	say("as a perf event: %r\n", ulink());
	fresh(other, UPROBE_MULTI);
	say("a program of one probe: %r\n", ulink());
	fresh(prog, UPROBE_SESSION);
	say("as a session: %r\n", ulink());
}

static void forked(long prog)
{
	long pid, fd;
	fresh(prog, UPROBE_MULTI);
	u.cookies = (ulong)cooks, u.pid = sys(__NR_getpid);
	fd = ulink();
	pid = fork();
	if (!pid) { hit(); leave(0); }
	wait_for(pid);
	say("a child of it\n"), show(0);
	hit(), show(0);
	sys(__NR_close, fd);
	fresh(prog, UPROBE_MULTI);
	fd = ulink();
	pid = fork();
	if (!pid) { hit(); leave(0); }
	wait_for(pid);
	say("anyone\n"), show(0);
	uprobe_info(fd);
	fdinfo(fd);
	memset(&attr, 0, sizeof(attr));
	attr.link_detach.link_fd = fd;
	say("detach %r\n", bpf(BPF_LINK_DETACH));
	attr.link_update.link_fd = fd, attr.link_update.new_prog_fd = prog;
	say("update %r\n", bpf(BPF_LINK_UPDATE));
	sys(__NR_close, fd);
	hit(), say("closed\n"), show(0);
	fresh(prog, UPROBE_MULTI);
	u.cookies = (ulong)cooks, u.refs = (ulong)refs, refs[0] = place(&sema[1]), u.pid = sys(__NR_getpid), u.uflags = 1;
	fd = ulink();
	say("of returns, with counters\n");
	uprobe_info(fd);
	fdinfo(fd);
	sys(__NR_close, fd);
}

static void sleeping(void)
{
	long prog = LOADP(UPROBE_MULTI, BPF_F_SLEEPABLE, RECORD(0), SET(0, 0));
	say("sleepable: %r\n%s", prog < 0 ? prog : 0, prog < 0 ? log : "");
	if (prog < 0)
		return;
	TRYU("a program that sleeps", u.cookies = (ulong)cooks);
	sys(__NR_close, prog);
	prog = LOADP(UPROBE_MULTI, 0, RECORD(0), SET(0, 1));
	TRYU("that returns 1", u.cookies = (ulong)cooks);
	sys(__NR_close, prog);
	for (int attach = 40; attach < 59; attach++) {
		prog = LOADP(attach, 0, SET(0, 2));
		if (prog < 0)
			say("not loaded for %d: %r\n%s", attach, prog, log);
		else
			sys(__NR_close, prog);
	}
}

static unsigned is_return, cookie;
/* sessions: slot = what bpf_session_is_return() says; the cookie is 40 + hits at entry */
#define SESSION(ret) MOV(6, 1), KFUNC(is_return), AND(0, 1), MOV(8, 0), MOV(9, 0), SLOT, COUNT, COOKIE, IP, PID, \
	MOV(1, 6), KFUNC(cookie), LOAD(1, 0, 0), STORE(7, 1, 24), I(BPF_JMP | BPF_JNE | BPF_K, 9, 0, 3, 0), LOAD(1, 7, 0), ADD(1, 40), STORE(0, 1, 0), SET(0, ret)
static void session(int attach, const char *what)
{
	static const int rets[] = { 0, 1, 2, -1 };
	for (int i = 0; i < 4; i++) {
		long prog = LOADP(attach, 0, SESSION(rets[i]));
		say("%s session returning %d: %r\n", what, rets[i], prog < 0 ? prog : 0);
		if (prog < 0) {
			hide(log);
			say("%s", log);
			continue;
		}
		if (attach == UPROBE_SESSION) {
			fresh(prog, attach), u.cookies = (ulong)cooks;
			long fd = ulink();
			say(" link %r\n", fd < 0 ? fd : 0);
			if (fd < 0)
				continue;
			hit(), show(0), show(1);
			if (!i)
				uprobe_info(fd), fdinfo(fd);
			sys(__NR_close, fd);
			fresh(prog, attach), u.uflags = 1;
			fd = ulink();
			say(" of returns: %r\n", fd < 0 ? fd : 0); /* a hit is an oops of 7.2: there is no cookie */
			sys(__NR_close, fd);
			fresh(prog, UPROBE_MULTI);
			say(" not as a session: %r\n", ulink());
		}
		sys(__NR_close, prog);
	}
}
static struct attr_klink k;
static long klink(long prog, int attach, const char *a, const char *b)
{
	memset(&k, 0, sizeof(k));
	k.prog_fd = prog, k.attach_type = attach, k.cnt = 2, k.syms = (ulong)names, names[0] = (ulong)a, names[1] = (ulong)b, k.cookies = (ulong)cooks;
	return sys(__NR_bpf, BPF_LINK_CREATE, &k, sizeof(k));
}
static void kernel(int attach)
{
	static unsigned long long addrs[4], c[4];
	static const int rets[] = { 0, 1, 2 };
	for (int i = 0; i < 3; i++) {
		long prog = attach == KPROBE_SESSION ? LOADP(attach, 0, SESSION(rets[i])) : LOADP(attach, 0, RECORD(0), SET(0, rets[i]));
		if (attach == KPROBE_SESSION)
			hide(log), say("%s", log);
		say("kernel functions %d returning %d: %r\n", attach, rets[i], prog < 0 ? prog : 0);
		if (prog < 0)
			continue;
		for (int ret = 0; ret < 2; ret++) {
			fresh(prog, attach);
			memset(&k, 0, sizeof(k));
			k.prog_fd = prog, k.attach_type = attach, k.cnt = 2, k.syms = (ulong)names, k.cookies = (ulong)cooks, k.kflags = ret;
			names[0] = (ulong)"__x64_sys_getpgid", names[1] = (ulong)"__x64_sys_getsid";
			long fd = sys(__NR_bpf, BPF_LINK_CREATE, &k, sizeof(k));
			say(" %s link %r\n", ret ? "return" : "entry", fd < 0 ? fd : 0);
			if (fd < 0)
				continue;
			sys(__NR_getpgid, 0), sys(__NR_getpgid, 0), sys(__NR_getsid, 0);
			unset = ret, show(0), show(1), unset = 0;
			memset(&got, 0, sizeof(got));
			long err = ask(fd, sizeof(got));
			say("  info %r type %d count %d flags %d missed %l\n", err, got.type, got.k.count, got.k.flags, (long)got.k.missed);
			memset(&got, 0, sizeof(got));
			got.k.addrs = (ulong)addrs, got.k.count = 4, got.k.cookies = (ulong)c;
			err = ask(fd, sizeof(got));
			say("  info %r count %d: %d %d %d, %l %l\n", err, got.k.count, addrs[0] >> 63, addrs[1] > addrs[0], addrs[2] != 0, (long)c[0], (long)c[1]);
			memset(&got, 0, sizeof(got)), got.k.addrs = (ulong)addrs, got.k.count = 1;
			err = ask(fd, sizeof(got));
			say("  one %r count %d\n", err, got.k.count);
			memset(&got, 0, sizeof(got)), got.k.addrs = (ulong)addrs;
			err = ask(fd, sizeof(got));
			say("  no count %r\n", err);
			memset(&got, 0, sizeof(got)), got.k.count = 2;
			err = ask(fd, sizeof(got));
			say("  no place %r\n", err);
			fdinfo(fd);
			memset(&attr, 0, sizeof(attr)), attr.link_detach.link_fd = fd;
			say("  detach %r\n", bpf(BPF_LINK_DETACH));
			sys(__NR_close, fd);
		}
		fresh(prog, attach);
		say(" no such function: %r\n", klink(prog, attach, "__x64_sys_getpgid", "no_such_function"));
		say(" twice: %r\n", klink(prog, attach, "__x64_sys_getpgid", "__x64_sys_getpgid"));
		say(" data: %r\n", klink(prog, attach, "__x64_sys_getpgid", "jiffies"));
		sys(__NR_close, prog);
	}
}

int main(int argc, char **argv)
{
	slots = bpf_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct left), 4, 0);
	long prog = LOADP(UPROBE_MULTI, 0, RECORD(0), SET(0, 0)), other = LOADP(0, 0, SET(0, 0));
	say("program %r\n", prog < 0 ? prog : 0);
	if (argc > 1 && argv[1][0] == 'u') {
		errors(prog, other), forked(prog), sleeping();
		return 0;
	}
	is_return = btf_id("bpf_session_is_return", 12), cookie = btf_id("bpf_session_cookie", 12);
	say("functions %d %d\n", is_return > 0, cookie > 0);
	prog = LOADP(0, 0, MOV(6, 1), KFUNC(is_return), SET(0, 0));
	say("no session: %r\n%s", prog < 0 ? prog : 0, log);
	kernel(KPROBE_MULTI);
	kernel(KPROBE_SESSION);
	session(UPROBE_SESSION, "user");
	return 0;
}
