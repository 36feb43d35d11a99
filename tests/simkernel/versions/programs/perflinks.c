/* Links of programs to perf events: what they tell of the event behind them, and how many hits a kernel probe missed. */
#include "../../calls/programs/tiny.h"
#include "../../calls/programs/tiny_bpf.h"
#include <linux/elf.h>
#include <linux/perf_event.h>

#define EVENTS "/sys/kernel/tracing/"
#define MAPFD(r, fd) I(BPF_LD | BPF_DW | BPF_IMM, r, BPF_PSEUDO_MAP_FD, 0, fd), { 0 }
struct info { unsigned type, id, prog_id, pad, kind, pad2; unsigned long long name; unsigned len, offset; unsigned long long third, fourth, fifth; };
static struct info got;
static volatile unsigned short counter = 1;
static char name[300], text[4096];
static long hash;

__attribute__((noinline, noclone)) int one(int x) { __asm__ volatile("nop" : "+r"(x)); return x + 1; }

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

static long number(const char *path)
{
	memset(text, 0, sizeof(text));
	long got = slurp(path, text, sizeof(text)), n = 0;
	if (got < 0)
		return got;
	for (char *p = text; *p >= '0' && *p <= '9'; p++)
		n = n * 10 + *p - '0';
	return n;
}

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
			char *addr = line; /* addresses and numbers of events differ */
			while (*addr && memcmp(addr, "0xffff", 6)) addr++;
			if (*addr) memcpy(addr, "0xf...", 7);
			if (!memcmp(line, "config:\t", 8) && strlen(line) > 11) memcpy(line + 8, "...", 4);
			say("  | %s\n", line);
		}
		if (!was) break;
		line = end + 1;
	}
}

static long ask(long fd, int size)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.info.bpf_fd = fd, a.info.info_len = size, a.info.info = (ulong)&got;
	long err = sys(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a));
	if (a.info.info_len != size)
		say("  (length %d)", a.info.info_len);
	return err;
}

/* As far as it is the same at every boot: an address is 1. */
static long long same(unsigned long long v) { return v >> 63 ? 1 : v; }

static void show(const char *what, long err)
{
	say("  %s: %r kind %d name %d '%s' length %d offset %d then %L %L %L\n", what, err, got.kind, got.name != 0, name, got.len, got.offset, same(got.third), same(got.fourth), same(got.fifth));
}

static void tell(long fd)
{
	static const struct { const char *what; int at; unsigned room, size; } ways[] = {
		{ "without a place", 0, 0, sizeof(got) }, { "all of it", 1, 256, sizeof(got) }, { "a byte", 1, 1, sizeof(got) }, { "eight", 1, 8, sizeof(got) }, { "room alone", 0, 8, sizeof(got) },
		{ "a place alone", 1, 0, sizeof(got) }, { "nowhere", 2, 100, sizeof(got) }, { "too much", 1, 100000, sizeof(got) }, { "16 bytes", 0, 0, 16 }, { "24 bytes", 0, 0, 24 }, { "36 bytes", 1, 256, 36 }, { "48 bytes", 1, 256, 48 }, { "56 bytes", 1, 256, 56 },
	};
	for (int i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		memset(&got, 0, sizeof(got));
		memset(name, 0, sizeof(name));
		got.name = ways[i].at == 2 ? 16 : ways[i].at ? (ulong)name : 0, got.len = ways[i].room;
		show(ways[i].what, ask(fd, ways[i].size));
	}
	memset(&got, 0, sizeof(got));
	got.kind = 77, got.third = 78, got.fourth = 79, got.fifth = 80, got.offset = 81;
	show("not empty", ask(fd, sizeof(got)));
}

static long opened(struct perf_event_attr *event)
{
	event->size = sizeof(*event);
	return sys(__NR_perf_event_open, event, -1, 0, -1, 8);
}

static long linked(long prog, long event, unsigned long long cookie)
{
	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = prog, attr.link_create.target_fd = event, attr.link_create.attach_type = BPF_PERF_EVENT;
	attr.link_create.perf_event.bpf_cookie = cookie;
	return bpf(BPF_LINK_CREATE);
}

static void try(const char *what, long prog, struct perf_event_attr *event)
{
	long fd = opened(event);
	say("%s: event %r", what, fd < 0 ? fd : 0);
	if (fd < 0) {
		say("\n");
		return;
	}
	long link = linked(prog, fd, 7001);
	memset(&attr, 0, sizeof(attr)), memset(name, 0, sizeof(name));
	attr.task_fd_query.pid = sys(__NR_getpid), attr.task_fd_query.fd = fd, attr.task_fd_query.buf = (ulong)name, attr.task_fd_query.buf_len = sizeof(name);
	long err = sys(__NR_bpf, BPF_TASK_FD_QUERY, &attr, sizeof(attr));
	say(", query %r: kind %d '%s' length %d offset %L address %L,", err, attr.task_fd_query.fd_type, name, attr.task_fd_query.buf_len, attr.task_fd_query.probe_offset, same(attr.task_fd_query.probe_addr));
	say(" link %r\n", link < 0 ? link : 0);
	if (link >= 0) {
		memset(&attr, 0, sizeof(attr));
		attr.task_fd_query.pid = sys(__NR_getpid), attr.task_fd_query.fd = link;
		say("  query of the link %r\n", bpf(BPF_TASK_FD_QUERY));
		tell(link);
		fdinfo(link);
		sys(__NR_close, fd);
		memset(&got, 0, sizeof(got)), memset(name, 0, sizeof(name));
		show("the event closed", ask(link, sizeof(got)));
		sys(__NR_close, link);
		return;
	}
	sys(__NR_close, fd);
}

static struct perf_event_attr pmu(const char *type, const char *where, unsigned long long at, unsigned long long config)
{
	static char path[100];
	struct perf_event_attr event;
	memset(&event, 0, sizeof(event));
	memset(path, 0, sizeof(path));
	memcpy(path, "/sys/bus/event_source/devices/", 30), memcpy(path + 30, type, strlen(type)), memcpy(path + 30 + strlen(type), "/type", 6);
	event.type = number(path);
	event.config = config, event.config1 = (ulong)where, event.config2 = at;
	return event;
}

static struct perf_event_attr traced(const char *event_name)
{
	static char path[200];
	struct perf_event_attr event;
	memset(&event, 0, sizeof(event));
	memset(path, 0, sizeof(path));
	memcpy(path, EVENTS "events/", 27), memcpy(path + strlen(path), event_name, strlen(event_name)), memcpy(path + strlen(path), "/id", 4);
	event.type = PERF_TYPE_TRACEPOINT, event.config = number(path), event.sample_period = 1;
	return event;
}

static struct perf_event_attr counted(int type, unsigned long long config)
{
	struct perf_event_attr event;
	memset(&event, 0, sizeof(event));
	event.type = type, event.config = config, event.sample_period = 1000000000;
	return event;
}

static unsigned long long symbol(const char *wanted)
{
	static char part[65536];
	long fd = sys(__NR_open, "/proc/kallsyms", O_RDONLY), n, kept = 0;
	while ((n = sys(__NR_read, fd, part + kept, sizeof(part) - 1 - kept)) > 0) {
		part[n += kept] = 0;
		char *start = part;
		for (char *p = part; p < part + n; p++)
			if (*p == '\n') {
				*p = 0;
				if (streq(start + 19, wanted)) {
					unsigned long long v = 0;
					for (int i = 0; i < 16; i++)
						v = v << 4 | (start[i] <= '9' ? start[i] - '0' : start[i] - 'a' + 10);
					sys(__NR_close, fd);
					return v;
				}
				start = p + 1;
			}
		kept = part + n - start;
		memcpy(part, start, kept);
	}
	sys(__NR_close, fd);
	return 0;
}

static long add(const char *file, const char *definition)
{
	long fd = sys(__NR_open, file, O_WRONLY | O_APPEND), n;
	if (fd < 0)
		return fd;
	n = sys(__NR_write, fd, definition, strlen(definition));
	sys(__NR_close, fd);
	return n < 0 ? n : 0;
}

static long program(int type)
{
	struct bpf_insn none[] = { SET(0, 0), EXIT };
	return bpf_program(type, none, 2);
}

static void kinds(void)
{
	long kprobe = program(BPF_PROG_TYPE_KPROBE), trace = program(BPF_PROG_TYPE_TRACEPOINT), sample = program(BPF_PROG_TYPE_PERF_EVENT);
	static char definition[300], digits[32];
	struct perf_event_attr event;
	unsigned long long at = symbol("do_nanosleep");
	event = pmu("kprobe", "do_nanosleep", 0, 0), try("a function's entry", kprobe, &event);
	event = pmu("kprobe", "do_nanosleep", 0, 1), try("its return", kprobe, &event);
	event = pmu("kprobe", 0, at, 0), try("by its address", kprobe, &event);
	event = pmu("kprobe", 0, at, 1), try("its return, by its address", kprobe, &event);
	event = pmu("uprobe", "/proc/self/exe", place(one), 0), try("a place of a file", kprobe, &event);
	event = pmu("uprobe", "/proc/self/exe", place(one), 1), try("a function's return", kprobe, &event);
	say("kprobe_events %r\n", add(EVENTS "kprobe_events", "p:mine/entry do_nanosleep\nr3:mine/end do_nanosleep\n"));
	event = traced("mine/entry"), try("an event of an entry", kprobe, &event);
	event = traced("mine/end"), try("an event of a return", kprobe, &event);
	memset(definition, 0, sizeof(definition));
	memcpy(definition, "p:mine/address 0x", 17);
	for (int i = 0; i < 16; i++)
		definition[17 + i] = "0123456789abcdef"[at >> (60 - 4 * i) & 15];
	say("by address %r\n", add(EVENTS "kprobe_events", definition));
	event = traced("mine/address"), try("an event of an address", kprobe, &event);
	memset(definition, 0, sizeof(definition));
	memcpy(definition, "p:mine/user /proc/self/exe:0x", 29);
	unsigned long long off = place(one);
	for (int i = 0; i < 6; i++)
		definition[29 + i] = "0123456789abcdef"[off >> (20 - 4 * i) & 15];
	say("uprobe_events %r\n", add(EVENTS "uprobe_events", definition));
	event = traced("mine/user"), try("an event of a file", kprobe, &event);
	definition[0] = 'r', definition[8] = 'r';
	say("uprobe_events %r\n", add(EVENTS "uprobe_events", definition));
	event = traced("mine/urer"), try("an event of a file's return", kprobe, &event);
	event = traced("sched/sched_switch"), try("a tracepoint", trace, &event);
	event = traced("syscalls/sys_enter_getppid"), try("a system call", trace, &event);
	event = traced("raw_syscalls/sys_enter"), try("all of them", trace, &event);
	event = counted(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK), try("a clock", sample, &event);
	event = counted(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK), try("a task's clock", sample, &event);
	for (int type = 6; type < 9; type++)
		for (int config = 0; config < 2; config++)
			event = counted(type, config), try("a source by number", sample, &event);
	event = counted(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS), try("page faults", sample, &event);
	event = counted(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES), event.sample_period = 0, try("no samples", sample, &event);
	event = pmu("kprobe", "do_nanosleep", 5, 0), try("further in", kprobe, &event);
	event = pmu("uprobe", "/proc/self/exe", place(one), place(&counter) << 32), try("with a counter", kprobe, &event);
	event = pmu("kprobe", "do_nanosleep", 0, 0), try("a wrong program", trace, &event);
	add(EVENTS "kprobe_events", "-:mine/entry\n-:mine/end\n-:mine/address\n");
	add(EVENTS "uprobe_events", "-:mine/user\n-:mine/urer\n");
}

static void missed(const char *what, long link, long prog)
{
	memset(&got, 0, sizeof(got));
	ask(link, sizeof(got));
	struct bpf_prog_info info = bpf_info(prog);
	say("  %s: %d runs, %d not run, missed %L\n", what, (int)info.run_cnt, (int)info.recursion_misses, got.fourth);
}

/* A program that deletes and updates of a hash, where nothing of it is found. */
static long deleting(int type, int attach)
{
	struct bpf_insn code[] = { I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 9), MAPFD(1, hash), MOV(2, 10), ADD(2, -4), CALL(BPF_FUNC_map_delete_elem),
		MAPFD(1, hash), MOV(2, 10), ADD(2, -4), MOV(3, 2), SET(4, 0), CALL(BPF_FUNC_map_update_elem), SET(0, 0), EXIT };
	attr.expected_attach_type = attach;
	return bpf_program(type, code, sizeof(code) / sizeof(*code));
}

static long multi(long prog, const char *function, int returns)
{
	static struct { unsigned prog_fd, target_fd, attach_type, flags; unsigned kflags, cnt; unsigned long long syms, addrs, cookies; } k;
	unsigned long long names[1] = { (ulong)function };
	memset(&k, 0, sizeof(k));
	k.prog_fd = prog, k.attach_type = 42, k.cnt = 1, k.syms = (ulong)names, k.kflags = returns;
	return sys(__NR_bpf, BPF_LINK_CREATE, &k, sizeof(k));
}

static void misses(void)
{
	struct bpf_insn none[] = { SET(0, 0), EXIT };
	int kprobe = BPF_PROG_TYPE_KPROBE;
	long outer[3], inner[5], links[5], out[3];
	static const char *const whats[] = { "entry of deletion", "return of deletion", "many, deletion", "many, return of deletion", "entry of updating" };
	struct perf_event_attr event;
	attr.enable_stats.type = BPF_STATS_RUN_TIME;
	long stats = bpf(BPF_ENABLE_STATS);
	hash = bpf_map(BPF_MAP_TYPE_HASH, 4, 4, 16, 0);
	for (int i = 0; i < 5; i++) {
		attr.expected_attach_type = i == 2 || i == 3 ? 42 : 0;
		inner[i] = bpf_program(kprobe, none, 2);
		if (i == 2 || i == 3)
			links[i] = multi(inner[i], "htab_map_delete_elem", i == 3);
		else
			event = pmu("kprobe", i == 4 ? "htab_map_update_elem" : "htab_map_delete_elem", 0, i == 1), links[i] = linked(inner[i], opened(&event), 0);
		if (links[i] < 0)
			say("%s: %r\n", whats[i], links[i]);
	}
	for (int how = 0; how < 6; how++) {
		static const char *const hows[] = { "from a program of an entry", "from a program of a return", "from one of many", "from a raw tracepoint", "from a tracepoint's", "from bpf(2)" };
		int attach = how == 2 ? 42 : 0;
		long prog = how == 5 ? 0 : deleting(how == 3 ? BPF_PROG_TYPE_RAW_TRACEPOINT : how == 4 ? BPF_PROG_TYPE_TRACEPOINT : kprobe, attach), link = 0;
		event = how == 4 ? traced("syscalls/sys_enter_getpgid") : pmu("kprobe", "__x64_sys_getpgid", 0, how == 1);
		long fd = how == 2 || how == 3 || how == 5 ? -1 : opened(&event);
		if (how == 2)
			link = multi(prog, "__x64_sys_getpgid", 0);
		else if (how == 3)
			attr.raw_tracepoint.prog_fd = prog, attr.raw_tracepoint.name = (ulong)"bpf_trace_printk", link = bpf(BPF_RAW_TRACEPOINT_OPEN);
		else if (how != 5)
			link = linked(prog, fd, 0);
		say("%s: program %r link %r\n", hows[how], prog < 0 ? prog : 0, link < 0 ? link : 0);
		for (int i = 0; i < 3; i++) {
			if (how == 3) {
				struct bpf_insn print[] = { I(BPF_ST | BPF_MEM | BPF_W, 10, 0, -8, 'h' | 'i' << 8), MOV(1, 10), ADD(1, -8), SET(2, 3), CALL(BPF_FUNC_trace_printk), SET(0, 0), EXIT };
				long filter = bpf_program(BPF_PROG_TYPE_SOCKET_FILTER, print, 7);
				char packet[64];
				memset(packet, 0, sizeof(packet));
				attr.test.prog_fd = filter, attr.test.data_in = (ulong)packet, attr.test.data_size_in = sizeof(packet);
				bpf(BPF_PROG_TEST_RUN);
				sys(__NR_close, filter);
			} else if (how == 5) {
				int value = 1;
				bpf_element(BPF_MAP_UPDATE_ELEM, hash, 9, &value);
				bpf_element(BPF_MAP_DELETE_ELEM, hash, 9, 0);
			} else
				sys(__NR_getpgid, 0);
		}
		for (int i = 0; i < 5; i++)
			if (links[i] >= 0)
				missed(whats[i], links[i], inner[i]);
		if (how == 0 && links[2] >= 0)
			fdinfo(links[0]), fdinfo(links[1]);
		if (how != 5)
			missed("itself", link, prog), sys(__NR_close, link), sys(__NR_close, prog);
		if (fd >= 0)
			sys(__NR_close, fd);
	}
	for (int i = 0; i < 5; i++)
		sys(__NR_close, links[i]), sys(__NR_close, inner[i]);
}

static void full(void)
{
	long prog = program(BPF_PROG_TYPE_KPROBE);
	struct perf_event_attr event;
	say("one return at a time: %r\n", add(EVENTS "kprobe_events", "r1:mine/full do_nanosleep\n"));
	event = traced("mine/full");
	long fd = opened(&event), link = linked(prog, fd, 0), pids[3];
	for (int i = 0; i < 3; i++) {
		pids[i] = fork();
		if (!pids[i])
			nap(300), leave(0);
	}
	for (int i = 0; i < 3; i++)
		wait_for(pids[i]);
	missed("returns", link, prog), fdinfo(link);
	nap(1);
	missed("returns", link, prog);
	sys(__NR_close, link), sys(__NR_close, fd);
	say("events gone: %r\n", add(EVENTS "kprobe_events", "-:mine/full\n"));
}

int main(int argc, char **argv)
{
	if (argc > 1 && argv[1][0] == 'k')
		kinds();
	else
		misses(), full();
	return 0;
}
