/* Members of the kernel's structures that programs follow pointers to: numbers, or whether there is something.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"
#include <linux/perf_event.h>

struct row { const char *name; char how; int base, steps, pointers[6], at, size, bits; };
struct walk { const char *function; const struct row *rows; };
#include "members_rows.h"

enum { LOCAL = 1, INET = 2, INET6 = 10, STREAMS = 1, DATAGRAMS = 2, ROOM = 48, ROWS = 256 };
static const int registers[] = { 0, 112, 104, 96, 88, 72 }; /* of struct pt_regs: arguments, from the first one */
static struct bpf_insn code[8000];
static long notes, tgid;
static int n;
#define EMIT(...) (code[n++] = __VA_ARGS__)
#define VALUE(r, off) (EMIT(I(BPF_LD | BPF_DW | BPF_IMM, r, BPF_PSEUDO_MAP_VALUE, 0, notes)), EMIT(I(0, 0, 0, 0, off)))

static long probed(const char *function)
{
	char text[16];
	long type = 0;
	slurp("/sys/bus/event_source/devices/kprobe/type", text, sizeof(text));
	for (char *p = text; *p >= '0' && *p <= '9'; p++)
		type = 10 * type + *p - '0';
	struct perf_event_attr event = { .type = type, .size = sizeof(event), .kprobe_func = (ulong)function };
	return sys(__NR_perf_event_open, &event, -1, 0, -1, 8);
}

/* A program that walks, once, when this process calls the function; `first`: where its notes begin. */
static long walk(const struct walk *w, int first)
{
	int out[ROWS], outs = 0;
	n = 0;
	EMIT(MOV(9, 1)), EMIT(CALL(BPF_FUNC_get_current_pid_tgid)), EMIT(I(BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32));
	out[outs++] = n, EMIT(I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 0, (int)tgid));
	VALUE(7, first * ROOM);
	EMIT(LOAD(1, 7, 0)), out[outs++] = n, EMIT(I(BPF_JMP | BPF_JNE | BPF_K, 1, 0, 0, 0)), EMIT(I(BPF_ST | BPF_MEM | BPF_DW, 7, 0, 0, 1));
	for (const struct row *r = w->rows; r->name; r++) {
		first++;
		if (r->base)
			EMIT(LOAD(6, 9, registers[r->base]));
		else
			EMIT(CALL(BPF_FUNC_get_current_task)), EMIT(MOV(6, 0));
		for (int i = 0; i < r->steps; i++) {
			EMIT(I(BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0)), EMIT(MOV(1, 10)), EMIT(ADD(1, -8)), EMIT(SET(2, 8)), EMIT(MOV(3, 6));
			EMIT(ADD(3, r->pointers[i])), EMIT(CALL(BPF_FUNC_probe_read_kernel)), EMIT(LOAD(6, 10, -8));
		}
		VALUE(1, first * ROOM + 8), EMIT(SET(2, r->size)), EMIT(MOV(3, 6)), EMIT(ADD(3, r->at)), EMIT(CALL(BPF_FUNC_probe_read_kernel));
		VALUE(1, first * ROOM), EMIT(STORE(1, 0, 0));
	}
	while (outs)
		outs--, code[out[outs]].off = n - out[outs] - 1;
	EMIT(SET(0, 0)), EMIT(EXIT);
	long prog = bpf_program(BPF_PROG_TYPE_KPROBE, code, n), event = probed(w->function);
	if (prog < 0 || event < 0 || sys(__NR_ioctl, event, PERF_EVENT_IOC_SET_BPF, prog) || sys(__NR_ioctl, event, PERF_EVENT_IOC_ENABLE, 0))
		say("%s: %r %r\n", w->function, prog, event);
	return first + 1;
}

static void calls(void)
{
	char bytes[100] = "abc";
	int pair[2];
	static const struct { unsigned short family, port; unsigned address, rest[2]; } to = { INET, 0x1234, 0x0100007f };
	static const struct { unsigned short family, port; unsigned flow; unsigned char address[16]; unsigned scope; } six = { INET6, 0x1235, 0, { [15] = 1 } };
	long file = sys(__NR_openat, AT_FDCWD, "/tmp/members", O_RDWR | O_CREAT | O_TRUNC, 0644);
	sys(__NR_write, file, bytes, 100);
	long heard = sys(__NR_socket, INET, STREAMS, 0), out = sys(__NR_socket, INET, STREAMS, 0);
	sys(__NR_bind, heard, &to, sizeof(to)), sys(__NR_listen, heard, 5), sys(__NR_connect, out, &to, sizeof(to));
	long in = sys(__NR_accept, heard, 0, 0);
	sys(__NR_write, out, bytes, 100), sys(__NR_read, in, bytes, 100);
	long u = sys(__NR_socket, INET, DATAGRAMS, 0);
	sys(__NR_sendto, u, bytes, 50, 0, &to, sizeof(to));
	long u6 = sys(__NR_socket, INET6, DATAGRAMS, 0);
	sys(__NR_sendto, u6, bytes, 50, 0, &six, sizeof(six));
	sys(__NR_socketpair, LOCAL, STREAMS, 0, pair);
	sys(__NR_write, pair[0], bytes, 20);
	sys(__NR_unlinkat, AT_FDCWD, "/tmp/members", 0);
}

static void tell(const struct row *r, const unsigned char *note)
{
	long long answer = *(const long long *)note;
	unsigned long long words[4] = { 0 };
	int size = r->size;
	if (answer) {
		say("  %s: %r\n", r->name, (long)answer);
		return;
	}
	memcpy(words, note + 8, size);
	if (r->how == 's') {
		say("  %s: %s\n", r->name, (const char *)note + 8);
	} else if (r->how == '?') {
		say("  %s: %s\n", r->name, words[0] || words[1] || words[2] ? "there" : "nothing");
	} else {
		if (r->bits)
			words[0] = words[0] >> (r->bits & 255) & ((1ULL << (r->bits >> 8)) - 1);
		say("  %s:", r->name);
		for (int i = 0; 8 * i < size; i++)
			say(" %x", (long)words[i]);
		say("\n");
	}
}

int main(int argc, char **argv)
{
	static unsigned char all[ROWS * ROOM];
	int first = 0;

	netlink = sys(__NR_socket, 16, 3, 0);
	set_up("lo", 0);
	tgid = sys(__NR_getpid);
	notes = bpf_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(all), 1, 0);
	for (const struct walk *w = walks; w->function; w++)
		first = walk(w, first);
	calls();
	bpf_element(BPF_MAP_LOOKUP_ELEM, notes, 0, all);
	first = 0;
	for (const struct walk *w = walks; w->function; w++) {
		say("%s\n", w->function);
		if (!all[first * ROOM])
			say("  not called\n");
		for (const struct row *r = w->rows; r->name; r++)
			tell(r, all + ++first * ROOM);
		first++;
	}
	return 0;
}
