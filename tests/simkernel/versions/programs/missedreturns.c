/* What a link to many functions says of calls that it missed: instances of return probes run out, programs meet themselves. */
#include "../../calls/programs/tiny.h"
#include "../../calls/programs/tiny_bpf.h"

#define MAPFD(r, fd) I(BPF_LD | BPF_DW | BPF_IMM, r, BPF_PSEUDO_MAP_FD, 0, fd), { 0 }
#define JNZ(n) I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, n, 0)
#define PUT(off, i) I(BPF_ST | BPF_MEM | BPF_W, 10, 0, off, i)
#define INC(r, off) I(BPF_STX | BPF_ATOMIC | BPF_DW, r, 1, off, BPF_ADD)
enum { KPROBE_MULTI = 42, KPROBE_SESSION = 56, SLEEPERS = 24 };

struct attr_klink { unsigned prog_fd, target_fd, attach_type, flags, kflags, cnt; unsigned long long syms, addrs, cookies; };
struct info { unsigned type, id, prog_id, pad; unsigned long long addrs; unsigned count, flags; unsigned long long missed, cookies; };

static long hits, table;
static char text[2000];

static long load(int attach, struct bpf_insn *code, int count)
{
	attr.prog_type = BPF_PROG_TYPE_KPROBE, attr.expected_attach_type = attach;
	attr.insns = (ulong)code, attr.insn_cnt = count, attr.license = (ulong)"GPL";
	return bpf(BPF_PROG_LOAD);
}

/* Counts in slot 0, and asks the helper that is itself probed. */
#define LOADP(attach, ...) ({ struct bpf_insn code[] = { \
	PUT(-4, 0), MOV(2, 10), ADD(2, -4), MAPFD(1, hits), CALL(BPF_FUNC_map_lookup_elem), JNZ(1), EXIT, SET(1, 1), INC(0, 0), \
	__VA_ARGS__, SET(0, 0), EXIT }; load(attach, code, sizeof(code) / sizeof(*code)); })
#define DELETE MOV(2, 10), ADD(2, -4), MAPFD(1, table), CALL(BPF_FUNC_map_delete_elem)

static long make(long prog, int attach, int flags, const char *one, const char *two)
{
	struct attr_klink k;
	unsigned long long names[2] = { (ulong)one, (ulong)two };
	memset(&k, 0, sizeof(k));
	k.prog_fd = prog, k.attach_type = attach, k.kflags = flags, k.cnt = two ? 2 : 1, k.syms = (ulong)names;
	return sys(__NR_bpf, BPF_LINK_CREATE, &k, sizeof(k));
}

static void tell(const char *what, long link, long prog)
{
	struct info info;
	union bpf_attr a;
	unsigned long long count = 0, zero = 0;
	char path[40] = "/proc/self/fdinfo/", *p = path + 18;
	memset(&a, 0, sizeof(a)), memset(&info, 0, sizeof(info));
	a.info.bpf_fd = link, a.info.info_len = sizeof(info), a.info.info = (ulong)&info;
	long err = sys(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a));
	bpf_element(BPF_MAP_LOOKUP_ELEM, hits, 0, &count), bpf_element(BPF_MAP_UPDATE_ELEM, hits, 0, &zero);
	say("%s: %r hits %l missed %l, program's %l", what, err, (long)count, (long)info.missed, (long)bpf_info(prog).recursion_misses);
	if (link >= 10) *p++ = '0' + link / 10;
	*p++ = '0' + link % 10, *p = 0;
	long n = slurp(path, text, sizeof(text));
	for (char *line = text; n > 0 && line < text + n; ) {
		char *end = line;
		while (*end && *end != '\n') end++;
		*end = 0;
		if (!memcmp(line, "missed", 6)) say(", fdinfo %s", line);
		line = end + 1;
	}
	say("\n");
}

static void sleepers(const char *what, long prog, int attach, int flags, const char *two)
{
	long pids[SLEEPERS], link = make(prog, attach, flags, "__x64_sys_pause", two);
	if (link < 0) { say("%s: link %r\n", what, link); return; }
	for (int i = 0; i < SLEEPERS; i++)
		if (!(pids[i] = fork())) { sys(__NR_pause); leave(0); }
	nap(300);
	tell(what, link, prog);
	for (int i = 0; i < SLEEPERS; i++) sys(__NR_kill, pids[i], 9), wait_for(pids[i]);
	tell(" and when they are gone", link, prog);
	sys(__NR_close, link);
}

static void recursion(const char *what, int attach, int flags)
{
	long prog = LOADP(attach, DELETE), key;
	long link = make(prog, attach, flags, "__x64_sys_getpgid", "htab_map_delete_elem");
	if (prog < 0 || link < 0) { say("%s: program %r link %r\n", what, prog, link); return; }
	for (int i = 0; i < 5; i++) sys(__NR_getpgid, 0);
	tell(what, link, prog);
	for (int i = 0; i < 3; i++) bpf_element(BPF_MAP_DELETE_ELEM, table, 7, 0);
	tell(" and by bpf(2)", link, prog);
	sys(__NR_close, link), sys(__NR_close, prog);
}

int main(int argc, char **argv)
{
	hits = bpf_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0), table = bpf_map(BPF_MAP_TYPE_HASH, 4, 8, 4, 0);
	long prog = LOADP(KPROBE_MULTI, SET(1, 0)), session = LOADP(KPROBE_SESSION, SET(1, 0));
	sleepers("entry", prog, KPROBE_MULTI, 0, 0);
	sleepers("return of one", prog, KPROBE_MULTI, 1, 0);
	sleepers("return of two", prog, KPROBE_MULTI, 1, "__x64_sys_getpgid");
	if (session >= 0) sleepers("session", session, KPROBE_SESSION, 0, 0);
	recursion("entries in themselves", KPROBE_MULTI, 0);
	recursion("returns in themselves", KPROBE_MULTI, 1);
	if (session >= 0) recursion("sessions in themselves", KPROBE_SESSION, 0);
	return 0;
}
