/* Frames go into sockets of AF_XDP and come back out of them.  not: i386 not: s390x */
#include "tiny.h"
#include "tiny_bpf.h"
#include "tiny_net.h"
#include "tiny_xdp.h"
#include "tiny_xsk.h"

static long sockets, raw;
static char *memory;

static long by_map(int key, int flags)
{
	struct bpf_insn code[] = { MAP(1, sockets), SET(2, key), SET(3, flags), CALL(BPF_FUNC_redirect_map), EXIT };
	return LOAD_OF(code, 0);
}
/* with four bytes of metadata */
static long by_map_with_more(int key)
{
	struct bpf_insn code[] = {
		MOV(6, 1), SET(2, -4), CALL(BPF_FUNC_xdp_adjust_meta), LDW(2, 6, 0), LDW(3, 6, 8), MOV(4, 3), ADD(4, 4), I(BPF_JMP | BPF_JGT | BPF_X, 4, 2, 1, 0),
		I(BPF_ST | BPF_MEM | BPF_W, 3, 0, 0, 0x64636261), MAP(1, sockets), SET(2, key), SET(3, 0), CALL(BPF_FUNC_redirect_map), EXIT,
	};
	return LOAD_OF(code, 0);
}
/* by the queue's own entry, if there is a socket that says that it is that queue's, with four bytes more */
static long by_queue(void)
{
	struct bpf_insn code[] = {
		MOV(6, 1), LDW(7, 1, 16), I(BPF_STX | BPF_MEM | BPF_W, 10, 7, -4, 0), MAP(1, sockets), MOV(2, 10), ADD(2, -4), CALL(BPF_FUNC_map_lookup_elem),
		I(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0), SET(0, 2), EXIT,
		LDW(1, 0, 0), I(BPF_JMP | BPF_JEQ | BPF_X, 1, 7, 2, 0), SET(0, 1), EXIT,
		MOV(1, 6), SET(2, -4), CALL(BPF_FUNC_xdp_adjust_head),
		LDW(2, 6, 0), LDW(3, 6, 4), MOV(4, 2), ADD(4, 4), I(BPF_JMP | BPF_JGT | BPF_X, 4, 3, 1, 0), I(BPF_ST | BPF_MEM | BPF_W, 2, 0, 0, 0x64636261),
		MAP(1, sockets), MOV(2, 7), SET(3, 2), CALL(BPF_FUNC_redirect_map), EXIT,
	};
	return LOAD_OF(code, 0);
}

static unsigned char packet[4000] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5 };
static void inject(const char *dev, int length, int mark)
{
	struct link_address where = { 17, 0xb588, ifindex(dev) };
	packet[14] = packet[length - 1] = mark;
	long got = sys(__NR_sendto, raw, packet, length, 0, &where, sizeof(where));
	if (got != length)
		say("sent %r\n", got);
}

static void heard(void)
{
	static unsigned char frame[4000];
	nap(30);
	say("  heard");
	for (int i = 0; i < tapped; i++)
		for (;;) {
			struct link_address from;
			unsigned size = sizeof(from);
			long got = sys(__NR_recvfrom, taps[i].fd, frame, sizeof(frame), 0x40, &from, &size);
			if (got < 0)
				break;
			if (frame[12] == 0x88 || frame[14] == 0x88)
				say(" %s:%d %d %x", taps[i].name, from.kind, (int)got, (long)frame[got - 1]);
		}
	say("\n");
	traced(0);
}

static void received(struct xsk *x)
{
	say("  %d frames, fill %d, needs %d:", waiting(&x->rx), waiting(&x->fill), x->fill.flags ? (int)*x->fill.flags : -1);
	while (waiting(&x->rx)) {
		struct xdp_desc d = ((struct xdp_desc *)x->rx.desc)[*x->rx.consumer & x->rx.mask];
		unsigned char *p = (void *)(x->umem + (d.addr & 0xffffffffffff) + (d.addr >> 48));
		say(" %x+%d/%x %x%x..%x", (long)d.addr, (int)d.len, (long)d.options, (long)p[0], (long)p[12], (long)p[d.len - 1]);
		++*x->rx.consumer;
	}
	say("\n");
}

static void sent(const char *what, struct xsk *x, struct ring *tx, long fd)
{
	long got = sys(__NR_sendto, fd, 0, 0, 0x40, 0, 0);
	say("%s: %r, left %d, needs %d, done", what, got, waiting(tx), (int)*tx->flags);
	nap(20);
	while (waiting(&x->done)) {
		say(" %x", (long)((__u64 *)x->done.desc)[*x->done.consumer & x->done.mask]);
		++*x->done.consumer;
	}
	say("\n");
}

static void frame_at(struct xsk *x, ulong at, int length, int mark)
{
	unsigned char *p = (void *)(x->umem + at);
	memcpy(p, "\2\0\0\0\0\2\2\0\0\0\0\1\x88\xb5", 14);
	p[length - 1] = mark;
	send_desc(&x->tx, at, length, 0);
}

static struct xsk opened(int rx, int tx, int fill, int done, int chunk, int headroom, int flags)
{
	struct xsk x = { sys(__NR_socket, AF_XDP, 3, 0), map(0, 64 * 4096, 3, 0x22, -1, 0) };
	xsk_memory(x.fd, x.umem, 64 * 4096, chunk, headroom, flags);
	xsk_rings(&x, rx, tx, fill, done);
	return x;
}
static void entry(unsigned key, long fd)
{
	int value = fd;
	say("entry %d: %r\n", (int)key, bpf_element(BPF_MAP_UPDATE_ELEM, sockets, key, &value));
}

static long error_of(long fd)
{
	int error = 0;
	unsigned size = 4;
	sys(__NR_getsockopt, fd, 1, 4, &error, &size);
	return -error;
}

static void devices(void) /* what /proc/net/dev counts */
{
	static char text[4096];
	slurp("/proc/net/dev", text, sizeof(text));
	for (char *p = text; *p; p++)
		if (p > text && p[-1] == '\n' && (p[4] == 'v' || p[3] == 'v' || p[2] == 'v')) {
			char *end = p;
			while (*end && *end != '\n')
				end++;
			for (; p < end; p++)
				put(*p);
			say("\n");
			p = end - 1;
		}
}

static void echoes(void)
{
	struct xsk x = opened(4, 4, 8, 8, FRAME, 0, 0);
	say("needs wakeup %d %d %d %d\n", (int)*x.rx.flags, (int)*x.tx.flags, (int)*x.fill.flags, (int)*x.done.flags);
	xdp("va", by_map(0, 2));
	inject("vb", 60, 1), heard();
	entry(0, x.fd);
	say("not bound\n"), inject("vb", 60, 2), heard(), statistics("statistics", x.fd);
	say("bind %r\n", xsk_bind(x.fd, ifindex("va"), 0, 0, 0));
	say("needs wakeup %d %d %d %d\n", (int)*x.rx.flags, (int)*x.tx.flags, (int)*x.fill.flags, (int)*x.done.flags);
	unsigned zc = 9, size = 4;
	sys(__NR_getsockopt, x.fd, SOL_XDP, XDP_OPTIONS, &zc, &size);
	say("options %d\n", (int)zc);
	say("nothing to fill\n"), inject("vb", 60, 3), heard(), received(&x), statistics("statistics", x.fd);
	give(&x.fill, 0), give(&x.fill, FRAME), give(&x.fill, 3 * FRAME + 100);
	say("poll %x\n", (long)polled(x.fd, 0xffff));
	inject("vb", 60, 4), inject("vb", 61, 5), heard();
	say("poll %x\n", (long)polled(x.fd, 0xffff));
	received(&x);
	say("poll %x\n", (long)polled(x.fd, 0xffff));
	inject("vb", 1514, 6), heard(), received(&x);
	say("bad addresses\n"), give(&x.fill, 64 * 4096), give(&x.fill, 1UL << 60), give(&x.fill, 64 * 4096 - 1);
	inject("vb", 60, 7), heard(), received(&x), statistics("statistics", x.fd);
	say("a full ring\n");
	for (int n = 0; n < 7; n++)
		give(&x.fill, n * FRAME);
	for (int n = 0; n < 6; n++)
		inject("vb", 60, 16 + n);
	heard(), statistics("statistics", x.fd), received(&x);
	inject("vb", 60, 32), inject("vb", 60, 33), inject("vb", 60, 34), inject("vb", 60, 35), heard(), received(&x), statistics("statistics", x.fd);
	xdp("va", -1), xdp("va", by_queue());
	give(&x.fill, 0), give(&x.fill, FRAME), give(&x.fill, 2 * FRAME), give(&x.fill, 3 * FRAME);
	inject("vb", 60, 48), heard(), received(&x);
	xdp("va", -1), xdp("va", by_map_with_more(0));
	inject("vb", 60, 49), heard();
	say("before it %x\n", (long)*(unsigned *)(x.umem + ((struct xdp_desc *)x.rx.desc)[*x.rx.consumer & x.rx.mask].addr - 4)), received(&x);
	xdp("va", -1), xdp("va", by_queue());
	say("out again\n");
	frame_at(&x, 0, 60, 64), sent("one", &x, &x.tx, x.fd), heard();
	frame_at(&x, FRAME, 100, 65), frame_at(&x, 5 * FRAME + 7, 77, 66), sent("two", &x, &x.tx, x.fd), heard();
	say("poll %x", (long)polled(x.fd, 0xffff));
	frame_at(&x, FRAME, 100, 67), frame_at(&x, FRAME, 100, 68);
	say(" %x, left %d", (long)polled(x.fd, 0), waiting(&x.tx));
	sent("by poll", &x, &x.tx, x.fd), heard();
	say("bad descriptors\n");
	send_desc(&x.tx, 64 * 4096, 60, 0), send_desc(&x.tx, 0, FRAME + 1, 0), send_desc(&x.tx, FRAME + 1, FRAME, 0), send_desc(&x.tx, 0, 60, 1);
	sent("four bad", &x, &x.tx, x.fd), heard(), statistics("statistics", x.fd);
	static const int lengths[] = { 0, 1, 13, 14, FRAME };
	for (int n = 0; n < 5; n++) {
		send_desc(&x.tx, 2 * FRAME, lengths[n], 0);
		say("%d bytes", lengths[n]), sent("", &x, &x.tx, x.fd), heard();
	}
	send_desc(&x.tx, ~0UL, 60, 0), send_desc(&x.tx, 64 * 4096 - FRAME, FRAME, 0), sent("at the end", &x, &x.tx, x.fd), heard();
	say("nobody takes what is done\n");
	struct ring kept = x.done;
	for (int round = 0; round < 3; round++) {
		for (int n = 0; n < 4; n++)
			frame_at(&x, n * FRAME, 60, 80 + n);
		say("%r, left %d", sys(__NR_sendto, x.fd, 0, 0, 0x40, 0, 0), waiting(&x.tx));
		nap(20);
		say(" done %d poll %x\n", waiting(&kept), (long)polled(x.fd, 0xffff));
	}
	heard(), sent("taken", &x, &x.tx, x.fd), heard(), sent("the rest", &x, &x.tx, x.fd), heard();
	statistics("statistics", x.fd);
	say("a sleeper\n");
	give(&x.fill, 0), give(&x.fill, FRAME), give(&x.fill, 2 * FRAME);
	long pid = fork();
	if (!pid) {
		nap(50), inject("vb", 60, 96);
		leave(0);
	}
	struct pollfd p = { x.fd, POLLIN };
	say("poll %r", sys(__NR_poll, &p, 1, 5000)), say(" %x\n", (long)p.revents), received(&x);
	wait_for(pid);
	heard();
	say("the device is down\n");
	struct ifinfomsg *info = begin_message(RTM_NEWLINK, 0, sizeof(*info));
	info->ifi_index = ifindex("va"), info->ifi_change = 1;
	inject("vb", 60, 97), nap(20);
	send_message("down");
	say("poll %x\n", (long)polled(x.fd, 0xffff));
	frame_at(&x, 0, 60, 97), sent("sent", &x, &x.tx, x.fd);
	say("poll %x\n", (long)polled(x.fd, 0xffff));
	set_up("va", 0);
	nap(30);
	say("poll %x\n", (long)polled(x.fd, 0xffff)), received(&x);
	sent("up again", &x, &x.tx, x.fd), heard();
	say("unmapped\n");
	sys(__NR_munmap, x.umem, 64 * 4096);
	x.umem = map(0, 64 * 4096, 3, 0x22, -1, 0);
	inject("vb", 60, 98), heard(), received(&x);
	send_desc(&x.tx, x.rx.desc ? ((struct xdp_desc *)x.rx.desc)[(*x.rx.consumer - 1) & x.rx.mask].addr : 0, 64, 0), sent("what nobody sees", &x, &x.tx, x.fd), heard();
	say("closed\n");
	sys(__NR_close, x.fd), sys(__NR_munmap, (ulong)x.rx.producer & ~4095UL, 4096), sys(__NR_munmap, (ulong)x.tx.producer & ~4095UL, 4096);
	sys(__NR_munmap, (ulong)x.fill.producer & ~4095UL, 4096);
	inject("vb", 60, 99), heard();
	sys(__NR_munmap, (ulong)x.done.producer & ~4095UL, 4096);
	nap(50);
	inject("vb", 60, 100), heard();
	devices();
}

static void wakeups(void)
{
	struct xsk x = opened(4, 64, 8, 64, FRAME, 256, 0);
	xdp("va", -1), xdp("va", by_map(1, 2));
	entry(1, x.fd);
	say("needs it: %r", xsk_bind(x.fd, ifindex("va"), 0, XDP_USE_NEED_WAKEUP | XDP_COPY, 0));
	say(" %d %d %d %d\n", (int)*x.rx.flags, (int)*x.tx.flags, (int)*x.fill.flags, (int)*x.done.flags);
	inject("vb", 60, 1), heard(), statistics("statistics", x.fd);
	say(" %d %d %d %d\n", (int)*x.rx.flags, (int)*x.tx.flags, (int)*x.fill.flags, (int)*x.done.flags);
	give(&x.fill, 4 * FRAME + 5);
	inject("vb", 60, 2), heard(), received(&x);
	say("more than a batch\n");
	for (int n = 0; n < 40; n++)
		frame_at(&x, n * FRAME, 60, n);
	say("poll %x\n", (long)polled(x.fd, 0xffff));
	for (int n = 0; n < 40; n++)
		frame_at(&x, n * FRAME, 60, n);
	say("%r, left %d\n", sys(__NR_sendto, x.fd, 0, 0, 0x40, 0, 0), waiting(&x.tx));
	sent("once more", &x, &x.tx, x.fd), sent("and more", &x, &x.tx, x.fd), heard();
	statistics("statistics", x.fd);
	say("no room for the longest\n");
	set_up("va", 3000), set_up("vb", 3000);
	give(&x.fill, 0), give(&x.fill, FRAME);
	static const int lengths[] = { 1536, 1537, 1600 };
	for (int n = 0; n < 3; n++)
		inject("vb", lengths[n], 10 + n), heard(), received(&x), statistics("statistics", x.fd);
	say("too long for the device\n");
	set_up("va", 100);
	frame_at(&x, 0, 114, 3), frame_at(&x, 0, 118, 4), frame_at(&x, 0, 119, 5), frame_at(&x, 0, 1000, 6), sent("", &x, &x.tx, x.fd), heard();
	set_up("va", 1500), set_up("vb", 100);
	frame_at(&x, 0, 114, 3), frame_at(&x, 0, 118, 4), frame_at(&x, 0, 119, 5), frame_at(&x, 0, 1000, 6), sent("for the other", &x, &x.tx, x.fd), heard();
	set_up("vb", 1500);
	sys(__NR_close, x.fd);
	sys(__NR_munmap, (ulong)x.rx.producer & ~4095UL, 4096), sys(__NR_munmap, (ulong)x.tx.producer & ~4095UL, 4096);
	sys(__NR_munmap, (ulong)x.fill.producer & ~4095UL, 4096), sys(__NR_munmap, (ulong)x.done.producer & ~4095UL, 4096);
	nap(50);
}

static void anywhere(void)
{
	struct xsk x = opened(8, 8, 8, 8, 3000, 0, 1);
	entry(1, x.fd);
	say("chunks that lie anywhere: %r\n", xsk_bind(x.fd, ifindex("va"), 0, 0, 0));
	give(&x.fill, 1), give(&x.fill, 3001), give(&x.fill, 64 * 4096 - 3000), give(&x.fill, 64 * 4096 - 2999), give(&x.fill, 5000 | 100UL << 48);
	for (int n = 0; n < 5; n++)
		inject("vb", 60, 20 + n);
	heard(), received(&x), statistics("statistics", x.fd);
	frame_at(&x, 4090, 60, 25), send_desc(&x.tx, 4000 | 90UL << 48, 60, 0), send_desc(&x.tx, 64 * 4096 - 59, 60, 0), send_desc(&x.tx, 64 * 4096 - 60, 60, 0);
	frame_at(&x, 100, 3000, 26), frame_at(&x, 100, 3001, 27);
	sent("sent", &x, &x.tx, x.fd), heard(), statistics("statistics", x.fd);
	sys(__NR_close, x.fd);
	sys(__NR_munmap, (ulong)x.rx.producer & ~4095UL, 4096), sys(__NR_munmap, (ulong)x.tx.producer & ~4095UL, 4096);
	sys(__NR_munmap, (ulong)x.fill.producer & ~4095UL, 4096), sys(__NR_munmap, (ulong)x.done.producer & ~4095UL, 4096);
	nap(50);
}

static void shared(void)
{
	struct xsk x = opened(4, 4, 8, 8, FRAME, 0, 0), y = { sys(__NR_socket, AF_XDP, 3, 0), x.umem }, z = { sys(__NR_socket, AF_XDP, 3, 0), x.umem };
	xsk_rings(&y, 4, 4, 0, 0);
	xsk_rings(&z, 4, 4, 8, 8);
	say("shared: %r", xsk_bind(x.fd, ifindex("va"), 0, XDP_COPY, 0));
	say(" %r", xsk_bind(y.fd, ifindex("va"), 0, XDP_SHARED_UMEM, x.fd));
	say(" other device %r\n", xsk_bind(z.fd, ifindex("vb"), 0, XDP_SHARED_UMEM, y.fd));
	entry(0, x.fd), entry(1, y.fd), entry(2, z.fd);
	y.fill = x.fill, y.done = x.done;
	for (int n = 0; n < 4; n++)
		give(&x.fill, n * FRAME), give(&z.fill, (8 + n) * FRAME);
	inject("vb", 60, 1), heard(), received(&x), received(&y), received(&z);
	xdp("va", -1), xdp("va", by_map(0, 2));
	inject("vb", 60, 2), heard(), received(&x), received(&y), received(&z);
	xdp("va", -1), xdp("va", by_map(2, 2));
	say("of the other device\n"), inject("vb", 60, 3), heard(), received(&x), received(&y), received(&z);
	frame_at(&x, 20 * FRAME, 60, 4), frame_at(&y, 21 * FRAME, 60, 5), frame_at(&z, 22 * FRAME, 60, 6);
	sent("first", &x, &x.tx, x.fd), heard();
	sent("second", &x, &y.tx, y.fd), heard();
	sent("third", &z, &z.tx, z.fd), heard();
	statistics("first", x.fd), statistics("second", y.fd), statistics("third", z.fd);
	say("the first goes\n");
	sys(__NR_close, x.fd), sys(__NR_munmap, (ulong)x.rx.producer & ~4095UL, 4096), sys(__NR_munmap, (ulong)x.tx.producer & ~4095UL, 4096);
	xdp("va", -1), xdp("va", by_map(0, 2)), inject("vb", 60, 7), heard();
	xdp("va", -1), xdp("va", by_map(1, 2)), inject("vb", 60, 8), heard(), received(&y);
	say("live frames\n");
	union bpf_attr run;
	static struct xdp_md md = { .data_end = 60 };
	long prog = by_map(2, 2);
	memset(&run, 0, sizeof(run));
	md.ingress_ifindex = ifindex("vb");
	run.test.prog_fd = prog, run.test.data_in = (ulong)packet, run.test.data_size_in = 60, run.test.flags = BPF_F_TEST_XDP_LIVE_FRAMES, run.test.repeat = 2;
	run.test.ctx_in = (ulong)&md, run.test.ctx_size_in = sizeof(md);
	say("%r\n", sys(__NR_bpf, BPF_PROG_TEST_RUN, &run, sizeof(run))), heard(), received(&z);
	md.ingress_ifindex = ifindex("va");
	say("%r\n", sys(__NR_bpf, BPF_PROG_TEST_RUN, &run, sizeof(run))), heard(), received(&z);
	say("the device goes\n");
	struct ifinfomsg *info = begin_message(RTM_DELLINK, 0, sizeof(*info));
	info->ifi_index = ifindex("va");
	send_message("delete");
	say("poll %x %x\n", (long)polled(y.fd, 0xffff), (long)polled(z.fd, 0xffff));
	say("errors %r", error_of(y.fd)), say(" %r", error_of(z.fd)), say(" %r\n", error_of(z.fd));
	say("send %r bind %r\n", sys(__NR_sendto, y.fd, 0, 0, 0x40, 0, 0), xsk_bind(y.fd, 1, 0, XDP_COPY, 0));
	statistics("statistics", y.fd);
	say("ring %r\n", xsk_entries(y.fd, XDP_RX_RING, 4));
}

int main(int argc, char **argv)
{
	sys(__NR_unshare, 0x40000000);
	netlink = sys(__NR_socket, 16, 3, 0);
	spit("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
	spit("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	set_up("lo", 0);
	veth("va", "vb", "\2\0\0\0\0\1");
	set_up("va", 0), set_up("vb", 0);
	tap("va"), tap("vb");
	raw = sys(__NR_socket, 17, 3, 0);
	memory = map(0, 1 << 20, 3, 0x22, -1, 0);
	sockets = bpf_map(BPF_MAP_TYPE_XSKMAP, 4, 4, 4, 0);
	spit("/sys/kernel/tracing/trace", "");
	spit(EVENTS "enable", "1");
	nap(50), heard();
	echoes();
	wakeups();
	anywhere();
	shared();
	spit(EVENTS "enable", "0");
	return 0;
}
