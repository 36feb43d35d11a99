/* Programs around functions: of one at its entry and its exit (fsession), of many by one link (fentry.multi and its like). */
#include "../../calls/programs/tiny.h"
#include "../../calls/programs/tiny_bpf.h"
#include <linux/perf_event.h>

#define KFUNC(id) I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, id)
#define MAPFD(r, fd) I(BPF_LD | BPF_DW | BPF_IMM, r, BPF_PSEUDO_MAP_FD, 0, fd), { 0 }
#define JNZ(n) I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, n, 0)
#define INC(r, off) I(BPF_STX | BPF_ATOMIC | BPF_DW, r, 1, off, BPF_ADD)
enum { FENTRY = 24, FEXIT = 25, MODIFY = 26, FSESSION = 58, FENTRY_MULTI, FEXIT_MULTI, FSESSION_MULTI };

static unsigned getpgid, getsid, multi_func, is_return, session_cookie, quiet, task;
static long slots;
static char text[20000];
struct left { unsigned long long hits, cookie, ip, kept, count, result, code; };
static struct { unsigned prog_fd, target_fd, attach_type, flags; unsigned long long ids, cookies; unsigned cnt, more; unsigned long long rest[6]; } k;
static unsigned ids[8];
static unsigned long long cookies[8];

/* The log without addresses of the kernel. */
static void hide(char *log)
{
	for (; *log; log++)
		if (!memcmp(log, "0xffff888", 9))
			for (char *p = log + 9; (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); p++)
				*p = 'x';
}

static long load(int type, int attach, unsigned target, int flags, struct bpf_insn *code, int n)
{
	memset(text, 0, sizeof(text));
	attr.prog_type = type, attr.expected_attach_type = attach, attr.attach_btf_id = target, attr.prog_flags = flags, attr.insns = (ulong)code, attr.insn_cnt = n, attr.license = (ulong)"GPL";
	attr.log_level = 1, attr.log_buf = (ulong)text, attr.log_size = sizeof(text);
	long fd = bpf(BPF_PROG_LOAD);
	hide(text);
	return fd;
}
#define LOADP(attach, target, flags, ...) ({ struct bpf_insn code[] = { __VA_ARGS__, EXIT }; load(BPF_PROG_TYPE_TRACING, attach, target, flags, code, sizeof(code) / sizeof(*code)); })
#define TRY(what, attach, target, flags, ...) do { long fd = LOADP(attach, target, flags, __VA_ARGS__); say("%d %s: %r\n%s", attach, what, fd < 0 ? fd : 0, fd < 0 ? text : ""); if (fd >= 0) sys(__NR_close, fd); } while (0)
/* R6 = context, R7 = value of the slot in R8 */
#define SLOT I(BPF_STX | BPF_MEM | BPF_W, 10, 8, -4, 0), MOV(2, 10), ADD(2, -4), MAPFD(1, slots), CALL(BPF_FUNC_map_lookup_elem), JNZ(2), SET(0, 0), EXIT, MOV(7, 0)
#define COUNT SET(1, 1), INC(7, 0)
#define COOKIE MOV(1, 6), CALL(BPF_FUNC_get_attach_cookie), STORE(7, 0, 8)
#define IP MOV(1, 6), CALL(BPF_FUNC_get_func_ip), STORE(7, 0, 16)
#define ARGS MOV(1, 6), CALL(185), STORE(7, 0, 32)
/* bpf_get_func_ret() where there is a result */
#define RESULT I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 0), MOV(1, 6), MOV(2, 10), ADD(2, -16), CALL(184), STORE(7, 0, 48), LOAD(1, 10, -16), STORE(7, 1, 40)
#define RECORD(slot) MOV(6, 1), SET(8, slot), SLOT, COUNT, COOKIE, IP, ARGS
#define SESSION MOV(6, 1), KFUNC(is_return), AND(0, 1), MOV(8, 0), MOV(9, 0), SLOT, COUNT, COOKIE, IP, ARGS, MOV(1, 6), KFUNC(session_cookie), LOAD(1, 0, 0), STORE(7, 1, 24), I(BPF_JMP | BPF_JNE | BPF_K, 9, 0, 3, 0), LOAD(1, 7, 0), ADD(1, 40), STORE(0, 1, 0)

static void rewritten(int attach, long fd)
{
	static struct bpf_insn insns[128];
	struct bpf_prog_info info;
	say("%d rewritten %r\n", attach, fd < 0 ? fd : 0);
	if (fd < 0) {
		say("%s", text);
		return;
	}
	memset(&info, 0, sizeof(info)), memset(insns, 0, sizeof(insns));
	info.xlated_prog_len = sizeof(insns), info.xlated_prog_insns = (ulong)insns;
	attr.info.bpf_fd = fd, attr.info.info_len = sizeof(info), attr.info.info = (ulong)&info;
	bpf(BPF_OBJ_GET_INFO_BY_FD);
	for (unsigned i = 0; i < info.xlated_prog_len / 8; i++)
		say(" %x:%d%d:%d:%d", insns[i].code, insns[i].dst_reg, insns[i].src_reg, insns[i].off, insns[i].code == 0x85 ? 0 : insns[i].imm);
	say("\n  target %d %d\n", info.attach_btf_id > 0, info.attach_btf_obj_id > 0);
	sys(__NR_close, fd);
}

static void helpers(int attach)
{
	unsigned target = attach >= FENTRY_MULTI ? 0 : getpgid;
	rewritten(attach, LOADP(attach, target, 0, MOV(6, 1), CALL(BPF_FUNC_get_func_ip), MOV(1, 6), CALL(185), SET(0, 0)));
	rewritten(attach, LOADP(attach, target, 0, I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0), SET(2, 0), MOV(3, 10), ADD(3, -8), CALL(183), SET(0, 0)));
	rewritten(attach, LOADP(attach, target, 0, I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0), MOV(2, 10), ADD(2, -8), CALL(184), SET(0, 0)));
}

static void loads(int attach)
{
	static const char *const names[] = { "nothing", "a function", "the function of many", "a structure", "a function of BPF's" };
	unsigned targets[] = { 0, getpgid, multi_func, task, quiet };
	for (int i = 0; i < 5; i++) {
		TRY(names[i], attach, targets[i], 0, SET(0, 0));
		TRY(names[i], attach, targets[i], BPF_F_SLEEPABLE, SET(0, 0));
	}
	unsigned target = attach >= FENTRY_MULTI ? 0 : getpgid;
	TRY("returns 1", attach, target, 0, SET(0, 1));
	TRY("returns anything", attach, target, 0, CALL(BPF_FUNC_ktime_get_ns));
	for (int off = 0; off <= 56; off += 8)
		TRY("reads a word", attach, target, 0, LOAD(0, 1, off), SET(0, 0));
	TRY("reads four bytes", attach, target, 0, I(BPF_LDX | BPF_MEM | BPF_W, 0, 1, 0, 0), SET(0, 0));
	TRY("follows a pointer", attach, target, 0, LOAD(1, 1, 0), LOAD(0, 1, 0), SET(0, 0));
	TRY("a cookie", attach, target, 0, CALL(BPF_FUNC_get_attach_cookie), SET(0, 0));
	TRY("its address", attach, target, 0, CALL(BPF_FUNC_get_func_ip), SET(0, 0));
	TRY("arguments", attach, target, 0, CALL(185), SET(0, 0));
	TRY("an argument", attach, target, 0, I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0), SET(2, 0), MOV(3, 10), ADD(3, -8), CALL(183), SET(0, 0));
	TRY("the result", attach, target, 0, I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0), MOV(2, 10), ADD(2, -8), CALL(184), SET(0, 0));
	TRY("is it the return", attach, target, 0, KFUNC(is_return), SET(0, 0));
	TRY("the session's cookie", attach, target, 0, KFUNC(session_cookie), SET(0, 0));
	TRY("writes the cookie", attach, target, 0, KFUNC(session_cookie), I(BPF_ST | BPF_MEM | BPF_DW, 0, 0, 0, 7), SET(0, 0));
	TRY("beyond it", attach, target, 0, KFUNC(session_cookie), LOAD(1, 0, 8), SET(0, 0));
	rewritten(attach, LOADP(attach, target, 0, MOV(6, 1), KFUNC(is_return), MOV(8, 0), MOV(1, 6), KFUNC(session_cookie), LOAD(0, 0, 0), MOV(1, 6), CALL(BPF_FUNC_get_attach_cookie), SET(0, 0)));
	helpers(attach);
}

static void show(int slot)
{
	struct left l, zero;
	memset(&l, 0, sizeof(l)), memset(&zero, 0, sizeof(zero));
	bpf_element(BPF_MAP_LOOKUP_ELEM, slots, slot, &l);
	bpf_element(BPF_MAP_UPDATE_ELEM, slots, slot, &zero);
	say("  [%d] hits %l cookie %l ip %d kept %l arguments %l result %d code %l\n", slot, (long)l.hits, (long)l.cookie, (int)(l.ip >> 63), slot ? (long)l.kept : 0, (long)l.count, (int)l.result == (int)sys(__NR_getpid), (long)l.code);
}

static void fresh(long prog, int attach, int count)
{
	memset(&k, 0, sizeof(k));
	k.prog_fd = prog, k.attach_type = attach, k.ids = (ulong)ids, k.cnt = count;
	ids[0] = getpgid, ids[1] = getsid;
	for (int i = 0; i < 8; i++)
		cookies[i] = 100 + i;
}
static long create(void) { return sys(__NR_bpf, BPF_LINK_CREATE, &k, sizeof(k)); }
static void hit(void) { sys(__NR_getpgid, 0), sys(__NR_getsid, 0), sys(__NR_getpgid, 0); }

static void fdinfo(long fd)
{
	static char path[40];
	char *p = path;
	memcpy(p, "/proc/self/fdinfo/", 18), p += 18;
	if (fd >= 10) *p++ = '0' + fd / 10;
	*p++ = '0' + fd % 10, *p = 0;
	memset(text, 0, sizeof(text));
	long n = slurp(path, text, sizeof(text));
	for (char *line = text; n > 0 && *line;) {
		char *end = line;
		while (*end && *end != '\n') end++;
		char was = *end; *end = 0;
		if (memcmp(line, "pos", 3) && memcmp(line, "flags", 5) && memcmp(line, "mnt_id", 6) && memcmp(line, "ino", 3) && memcmp(line, "link_id", 7) && memcmp(line, "prog_", 5)) {
			if (!memcmp(line, "target_obj_id", 13)) line[15] = 0;
			char *addr = line;
			while (*addr && memcmp(addr, "0xffff", 6)) addr++;
			if (*addr) memcpy(addr, "0xf...", 7);
			char *size = line; /* where in a function, and its size */
			while (*size && *size != '+') size++;
			*size = 0;
			say("  | %s\n", line);
		}
		if (!was) break;
		line = end + 1;
	}
}

static void info(long fd)
{
	static unsigned words[32];
	memset(words, 0, sizeof(words));
	attr.info.bpf_fd = fd, attr.info.info_len = sizeof(words) / 2, attr.info.info = (ulong)words;
	long err = bpf(BPF_OBJ_GET_INFO_BY_FD);
	say("  info %r type %d:", err, words[0]);
	for (int i = 4; i < 16; i++)
		say(" %d", words[i] && i == 5 ? 1 : words[i]);
	say("\n");
	attr.link_detach.link_fd = fd;
	say("  detach %r", bpf(BPF_LINK_DETACH));
	attr.link_update.link_fd = fd, attr.link_update.new_prog_fd = fd;
	say(" update %r\n", bpf(BPF_LINK_UPDATE));
}

#define LINK(what, ...) do { fresh(prog, attach, 2); __VA_ARGS__; long fd = create(); say(" %s: %r\n", what, fd < 0 ? fd : 0); if (fd >= 0) { hit(), show(0); if (attach == FSESSION_MULTI) show(1); sys(__NR_close, fd); } } while (0)
static void links(int attach)
{
	long prog = attach == FSESSION_MULTI ? LOADP(attach, 0, 0, SESSION, SET(0, 0)) : attach == FEXIT_MULTI ? LOADP(attach, 0, 0, RECORD(0), RESULT, SET(0, 0)) : LOADP(attach, 0, 0, RECORD(0), SET(0, 0));
	say("%d program %r\n%s", attach, prog < 0 ? prog : 0, prog < 0 ? text : "");
	if (prog < 0)
		return;
	LINK("two", );
	LINK("two with cookies", k.cookies = (ulong)cookies);
	LINK("one", k.cnt = 1; k.cookies = (ulong)cookies);
	LINK("none", k.cnt = 0);
	LINK("none, and no place", k.cnt = 0; k.ids = 0);
	LINK("no place", k.ids = 0);
	LINK("nowhere", k.ids = 16);
	LINK("cookies nowhere", k.cookies = 16);
	LINK("too many", k.cnt = (1 << 20) + 1);
	LINK("twice the same", ids[1] = ids[0]);
	LINK("three times", ids[1] = ids[2] = ids[0]; k.cnt = 3);
	LINK("id 0", ids[1] = 0);
	LINK("an id beyond", ids[1] = 100000000);
	LINK("a structure", ids[1] = task);
	LINK("a function of BPF's", ids[1] = quiet);
	LINK("the function of many", ids[1] = multi_func);
	LINK("backwards", ids[0] = getsid; ids[1] = getpgid; k.cookies = (ulong)cookies);
	LINK("flags", k.flags = 1);
	LINK("a target", k.target_fd = 1);
	LINK("more", k.more = 1);
	LINK("more yet", k.rest[0] = 1);
	LINK("as fentry", k.attach_type = FENTRY);
	LINK("as another", k.attach_type = attach == FENTRY_MULTI ? FEXIT_MULTI : FENTRY_MULTI);
	attr.raw_tracepoint.prog_fd = prog;
	say(" opened as a raw tracepoint %r\n", bpf(BPF_RAW_TRACEPOINT_OPEN));
	fresh(prog, attach, 2), k.cookies = (ulong)cookies;
	long fd = create(), second;
	fdinfo(fd), info(fd);
	second = create();
	say(" a second %r\n", second < 0 ? second : 0);
	if (second >= 0)
		hit(), show(0), show(1), sys(__NR_close, second);
	hit(), show(0), show(1);
	sys(__NR_close, fd);
	hit(), say(" gone\n"), show(0);
	fresh(prog, attach, 2);
	fd = create(), fdinfo(fd), sys(__NR_close, fd);
	long sleepy = LOADP(attach, 0, BPF_F_SLEEPABLE, SET(0, 0));
	fresh(sleepy, attach, 2);
	fd = create();
	say(" that may sleep %r\n", fd < 0 ? fd : 0);
	sys(__NR_close, fd), ids[1] = quiet, fd = create();
	say(" elsewhere %r\n", fd < 0 ? fd : 0);
	sys(__NR_close, fd), sys(__NR_close, sleepy);
	long other = LOADP(FENTRY, getpgid, 0, RECORD(2), SET(0, 0));
	attr.raw_tracepoint.prog_fd = other;
	long link = bpf(BPF_RAW_TRACEPOINT_OPEN);
	fresh(prog, attach, 2);
	fd = create();
	say(" beside another %r\n", fd < 0 ? fd : 0);
	hit(), show(0), show(2);
	sys(__NR_close, link);
	hit(), show(0), show(2);
	sys(__NR_close, fd), sys(__NR_close, other), sys(__NR_close, prog);
	attr.test.prog_fd = prog;
}

static void session(void)
{
	static const int rets[] = { 0, 1, 5 };
	for (int i = 0; i < 3; i++) {
		long prog = LOADP(FSESSION, getpgid, 0, SESSION, SET(0, rets[i]));
		say("session returning %d: %r\n%s", rets[i], prog < 0 ? prog : 0, prog < 0 ? text : "");
		if (prog < 0)
			continue;
		attr.raw_tracepoint.prog_fd = prog;
		long fd = bpf(BPF_RAW_TRACEPOINT_OPEN);
		say(" opened %r\n", fd < 0 ? fd : 0);
		hit(), show(0), show(1);
		fdinfo(fd), info(fd);
		sys(__NR_close, fd);
		memset(&k, 0, sizeof(k));
		k.prog_fd = prog, k.attach_type = FSESSION, k.cookies = 77;
		fd = create();
		say(" created %r\n", fd < 0 ? fd : 0);
		hit(), show(0), show(1);
		fdinfo(fd), info(fd);
		long other = LOADP(FSESSION, getpgid, 0, SESSION, SET(0, 0));
		attr.raw_tracepoint.prog_fd = other;
		long second = bpf(BPF_RAW_TRACEPOINT_OPEN);
		say(" another %r\n", second < 0 ? second : 0);
		hit(), show(0), show(1);
		sys(__NR_close, second), sys(__NR_close, other), sys(__NR_close, fd);
		k.attach_type = FENTRY;
		say(" as fentry %r\n", create());
		sys(__NR_close, prog);
	}
	/* what else is at the same function */
	long prog = LOADP(FSESSION, getpgid, 0, SESSION, SET(0, 0)), entry = LOADP(FENTRY, getpgid, 0, RECORD(2), SET(0, 0)), exit = LOADP(FEXIT, getpgid, 0, RECORD(3), RESULT, SET(0, 0));
	long fds[3] = { prog, entry, exit }, opened[3];
	for (int i = 0; i < 3; i++)
		attr.raw_tracepoint.prog_fd = fds[i], opened[i] = bpf(BPF_RAW_TRACEPOINT_OPEN);
	hit();
	for (int i = 0; i < 4; i++)
		show(i);
	for (int i = 0; i < 3; i++)
		sys(__NR_close, opened[i]), sys(__NR_close, fds[i]);
}

static void order(void)
{
	static const int kinds[] = { FENTRY, FEXIT, FSESSION };
	for (int i = 0; i < 3; i++) {
		long fds[3], progs[3];
		for (int n = 0; n < 3; n++) {
			progs[n] = LOADP(kinds[i], getpgid, 0, RECORD(0), SET(0, 0));
			memset(&k, 0, sizeof(k));
			k.prog_fd = progs[n], k.attach_type = kinds[i], k.cookies = 1 + n;
			fds[n] = create();
		}
		say("%d: the last of three\n", kinds[i]);
		hit(), show(0);
		for (int n = 0; n < 3; n++)
			sys(__NR_close, fds[n]), sys(__NR_close, progs[n]);
		TRY("may sleep at a call", kinds[i], getpgid, BPF_F_SLEEPABLE, SET(0, 0));
		TRY("may sleep elsewhere", kinds[i], quiet, BPF_F_SLEEPABLE, SET(0, 0));
	}
}

/* Which programs may sleep. */
static void sleepers(void)
{
	struct bpf_insn none[] = { SET(0, 0), EXIT };
	static const int types[] = { BPF_PROG_TYPE_SOCKET_FILTER, BPF_PROG_TYPE_KPROBE, BPF_PROG_TYPE_TRACEPOINT, BPF_PROG_TYPE_XDP, BPF_PROG_TYPE_PERF_EVENT, BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_PROG_TYPE_SYSCALL };
	static const int attaches[] = { 23, FENTRY, MODIFY, 27, 28, FSESSION, FENTRY_MULTI, FEXIT_MULTI, FSESSION_MULTI, 62 };
	for (int i = 0; i < 7; i++)
		for (int flag = 0; flag <= BPF_F_SLEEPABLE; flag += BPF_F_SLEEPABLE) {
			if (types[i] == BPF_PROG_TYPE_PERF_EVENT && flag == 0)
				continue;
			long fd = load(types[i], 0, 0, flag, none, 2);
			say("type %d flags %d: %r\n%s", types[i], flag, fd < 0 ? fd : 0, fd < 0 ? text : "");
			sys(__NR_close, fd);
		}
	for (int i = 0; i < 10; i++)
		for (int flag = 0; flag <= BPF_F_SLEEPABLE; flag += BPF_F_SLEEPABLE) {
			TRY("a call", attaches[i], getpgid, flag, SET(0, 0));
			TRY("nothing", attaches[i], 0, flag, SET(0, 0));
		}
}

static long number(const char *path)
{
	memset(text, 0, sizeof(text));
	long n = 0;
	slurp(path, text, sizeof(text));
	for (char *p = text; *p >= '0' && *p <= '9'; p++)
		n = n * 10 + *p - '0';
	return n;
}

/* Where programs of tracepoints that may sleep can be. */
static void sleeping_points(void)
{
	static const char *const points[] = { "sched_switch", "sys_enter", "sys_exit" };
	struct bpf_insn none[] = { SET(0, 0), EXIT }, copies[] = { MOV(6, 1), MOV(1, 10), ADD(1, -8), SET(2, 8), SET(3, 0), CALL(148), SET(0, 0), EXIT };
	for (int flag = 0; flag <= BPF_F_SLEEPABLE; flag += BPF_F_SLEEPABLE) {
		for (int i = 0; i < 3; i++) {
			char name[40] = "btf_trace_";
			memcpy(name + 10, points[i], strlen(points[i]) + 1);
			long fd = LOADP(23, btf_id(name, 8), flag, SET(0, 0)), link;
			say("tp_btf %s flags %d: %r\n%s", points[i], flag, fd < 0 ? fd : 0, fd < 0 ? text : "");
			if (fd >= 0)
				attr.raw_tracepoint.prog_fd = fd, link = bpf(BPF_RAW_TRACEPOINT_OPEN), say("  open %r\n", link < 0 ? link : 0), sys(__NR_close, link), sys(__NR_close, fd);
			fd = load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0, flag, none, 2);
			if (fd >= 0) {
				attr.raw_tracepoint.prog_fd = fd, attr.raw_tracepoint.name = (ulong)points[i], link = bpf(BPF_RAW_TRACEPOINT_OPEN);
				say("raw %s flags %d: %r\n", points[i], flag, link < 0 ? link : 0), sys(__NR_close, link), sys(__NR_close, fd);
			}
		}
		long fd = load(BPF_PROG_TYPE_TRACEPOINT, 0, 0, flag, none, 2);
		static const char *const events[] = { "sched/sched_switch", "raw_syscalls/sys_enter", "syscalls/sys_enter_getpgid", "syscalls/sys_exit_getpgid" };
		for (int i = 0; fd >= 0 && i < 4; i++) {
			struct perf_event_attr event;
			char path[80] = "/sys/kernel/tracing/events/";
			memcpy(path + 27, events[i], strlen(events[i])), memcpy(path + 27 + strlen(events[i]), "/id", 4);
			memset(&event, 0, sizeof(event));
			event.type = PERF_TYPE_TRACEPOINT, event.size = sizeof(event), event.config = number(path), event.sample_period = 1;
			long at = sys(__NR_perf_event_open, &event, -1, 0, -1, 8);
			say("event %s flags %d: %r", events[i], flag, sys(__NR_ioctl, at, PERF_EVENT_IOC_SET_BPF, fd));
			memset(&k, 0, sizeof(k)), k.prog_fd = fd, k.target_fd = at, k.attach_type = BPF_PERF_EVENT;
			long link = create();
			say(" link %r\n", link < 0 ? link : 0);
			sys(__NR_close, link), sys(__NR_close, at);
		}
		sys(__NR_close, fd);
		fd = load(BPF_PROG_TYPE_TRACEPOINT, 0, 0, flag, copies, 8);
		say("copies from user space: %r\n%s", fd < 0 ? fd : 0, fd < 0 ? text : ""), sys(__NR_close, fd);
	}
}

static void cookies_told(void)
{
	sleepers(), sleeping_points();
	order();
	long prog = LOADP(FENTRY, getpgid, 0, RECORD(0), SET(0, 0)), fd;
	memset(&k, 0, sizeof(k));
	k.prog_fd = prog, k.attach_type = FENTRY, k.cookies = 77;
	fd = create();
	say("fentry with a cookie: %r\n", fd < 0 ? fd : 0);
	hit(), show(0), fdinfo(fd), info(fd);
	sys(__NR_close, fd), sys(__NR_close, prog);
	prog = load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0, 0, (struct bpf_insn[]){ SET(0, 0), EXIT }, 2);
	unsigned long long open[4] = { (ulong)"sys_enter", prog, 88, 0 };
	fd = sys(__NR_bpf, BPF_RAW_TRACEPOINT_OPEN, open, 24);
	say("raw tracepoint with a cookie: %r\n", fd < 0 ? fd : 0);
	fdinfo(fd);
	static unsigned long long told[8];
	static char name[40];
	memset(told, 0, sizeof(told));
	told[2] = (ulong)name, told[3] = sizeof(name);
	attr.info.bpf_fd = fd, attr.info.info_len = sizeof(told), attr.info.info = (ulong)told;
	long err = bpf(BPF_OBJ_GET_INFO_BY_FD);
	say("  info %r '%s' %L %L\n", err, name, told[3], told[4]);
	open[2] = 88, open[3] = 9;
	say("more %r\n", sys(__NR_bpf, BPF_RAW_TRACEPOINT_OPEN, open, 32));
	sys(__NR_close, fd), sys(__NR_close, prog);
}

int main(int argc, char **argv)
{
	slots = bpf_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(struct left), 4, 0);
	getpgid = btf_id("__x64_sys_getpgid", 12), getsid = btf_id("__x64_sys_getsid", 12), multi_func = btf_id("bpf_multi_func", 12);
	is_return = btf_id("bpf_session_is_return", 12), session_cookie = btf_id("bpf_session_cookie", 12);
	quiet = btf_id("bpf_get_current_pid_tgid", 12) > 0 ? btf_id("bpf_get_current_pid_tgid", 12) : 0, task = btf_id("task_struct", 4);
	say("types %d %d %d %d %d %d\n", getpgid > 0, getsid > 0, (int)multi_func > 0, (int)is_return > 0, (int)session_cookie > 0, task > 0);
	int which = argc > 1 ? argv[1][0] : 0;
	if (which == 'l')
		for (int attach = argc > 2 ? FENTRY_MULTI : FSESSION; attach <= (argc > 2 ? FSESSION_MULTI : FSESSION); attach++)
			loads(attach);
	else if (which == 'm')
		for (int attach = FENTRY_MULTI; attach <= FSESSION_MULTI; attach++)
			links(attach);
	else if (which == 's')
		helpers(FENTRY), helpers(FEXIT), session();
	else
		cookies_told();
	return 0;
}
