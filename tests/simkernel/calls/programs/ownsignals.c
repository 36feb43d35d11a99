/* Signals that programs send to the task that just leaves the CPU, from every kind of program on sched_switch.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include <linux/btf.h>
#include <linux/perf_event.h>

enum { WHOM, ANSWER, ROUNDS, TIMES };
static unsigned long long rows[TIMES + 1];
static long notes;
static volatile int heard;
static void hear(int sig, void *info, void *context) { heard++; }

#define MAP_VALUE(r) I(BPF_LD | BPF_DW | BPF_IMM, r, BPF_PSEUDO_MAP_VALUE, 0, notes), I(0, 0, 0, 0, 0)
#define UNLESS(op, d, s, n) I(BPF_JMP | op | BPF_X, d, s, n, 0)

/* Sends `sig` when the task that was chosen is current, as often as was asked. */
static long program(int type, int attach, unsigned target, int helper, int sig)
{
	struct bpf_insn code[] = {
		MAP_VALUE(6), CALL(BPF_FUNC_get_current_pid_tgid), I(BPF_ALU64 | BPF_RSH | BPF_K, 0, 0, 0, 32), LOAD(1, 6, 8 * WHOM), UNLESS(BPF_JNE, 0, 1, 10),
		LOAD(1, 6, 8 * ROUNDS), I(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 8, 0), ADD(1, -1), STORE(6, 1, 8 * ROUNDS),
		SET(1, sig), CALL(helper), STORE(6, 0, 8 * ANSWER), LOAD(1, 6, 8 * TIMES), ADD(1, 1), STORE(6, 1, 8 * TIMES), SET(0, 0), EXIT,
	};
	attr.expected_attach_type = attach, attr.attach_btf_id = target;
	return bpf_program(type, code, sizeof(code) / sizeof(*code));
}

static long attached(int type, long prog)
{
	if (type != BPF_PROG_TYPE_TRACEPOINT) {
		attr.raw_tracepoint.prog_fd = prog, attr.raw_tracepoint.name = type == BPF_PROG_TYPE_RAW_TRACEPOINT ? (ulong)"sched_switch" : 0;
		return bpf(BPF_RAW_TRACEPOINT_OPEN);
	}
	char text[16];
	long number = 0, size = slurp("/sys/kernel/tracing/events/sched/sched_switch/id", text, sizeof(text));
	for (int i = 0; i < size && text[i] >= '0'; i++)
		number = 10 * number + text[i] - '0';
	struct perf_event_attr event = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(event), .config = number };
	long fd = sys(__NR_perf_event_open, &event, -1, 0, -1, 8);
	return sys(__NR_ioctl, fd, PERF_EVENT_IOC_SET_BPF, prog) < 0 || sys(__NR_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0) < 0 ? -1 : fd;
}

static void child(int spins)
{
	struct __kernel_old_timespec t = { 0, 20000000 }, left = { 0, 0 };
	on_signal(10, hear, 0);
	rows[WHOM] = sys(__NR_getpid), rows[ROUNDS] = spins;
	bpf_element(BPF_MAP_UPDATE_ELEM, notes, 0, rows);
	for (int i = 0; i < spins; i++) {
		long r = sys(__NR_nanosleep, &t, &left);
		say("  sleeps %r, handler %d\n", r, heard);
	}
	leave(heard);
}

static void send(const char *what, int type, int attach, unsigned target, int helper, int sig, int spins)
{
	memset(rows, 0, sizeof(rows));
	bpf_element(BPF_MAP_UPDATE_ELEM, notes, 0, rows);
	long prog = program(type, attach, target, helper, sig), link = prog < 0 ? prog : attached(type, prog);
	say("%s %d: %s\n", what, sig, link < 0 ? "refused" : "attached");
	long pid = fork();
	if (!pid)
		child(spins);
	int status = wait_for(pid);
	bpf_element(BPF_MAP_LOOKUP_ELEM, notes, 0, rows);
	say("  status %x, sent %d times, answer %r\n", (long)status, (int)rows[TIMES], (long)rows[ANSWER]);
	sys(__NR_close, link), sys(__NR_close, prog);
}

int main(int argc, char **argv)
{
	static const int signals[] = { 10, 9, 15, 0, 64, 65, -1 };
	unsigned target = btf_id("btf_trace_sched_switch", BTF_KIND_TYPEDEF);

	notes = bpf_map(BPF_MAP_TYPE_ARRAY, 4, sizeof(rows), 1, 0);
	for (int thread = 0; thread < 2; thread++) {
		int helper = thread ? BPF_FUNC_send_signal_thread : BPF_FUNC_send_signal;
		for (int i = 0; i < (int)(sizeof(signals) / sizeof(*signals)); i++) {
			send(thread ? "raw tracepoint, thread," : "raw tracepoint", BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0, helper, signals[i], 1);
			send(thread ? "tracepoint, thread," : "tracepoint", BPF_PROG_TYPE_TRACEPOINT, 0, 0, helper, signals[i], 1);
			send(thread ? "tracing, thread," : "tracing", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, target, helper, signals[i], 1);
		}
	}
	send("three sleeps, raw tracepoint", BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0, BPF_FUNC_send_signal, 10, 3);
	send("three sleeps, tracepoint", BPF_PROG_TYPE_TRACEPOINT, 0, 0, BPF_FUNC_send_signal, 10, 3);
	send("three sleeps, tracing", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, target, BPF_FUNC_send_signal_thread, 10, 3);
	return 0;
}
