/*
 * For programs of this folder that have sockets of AF_XDP: their memory, their rings, and XSKMAPs.
 */
#include <linux/if_xdp.h>

#define AF_XDP 44
#define SOL_XDP 283
#define FRAME 2048

struct ring { unsigned *producer, *consumer, *flags; void *desc; unsigned mask; };
struct xsk { long fd; char *umem; struct ring rx, tx, fill, done; };

static long xsk_option(long fd, int name, const void *value, int size) { return sys(__NR_setsockopt, fd, SOL_XDP, name, value, size); }
static long xsk_entries(long fd, int name, int entries) { return xsk_option(fd, name, &entries, 4); }

static long xsk_memory(long fd, void *at, ulong size, int chunk, int headroom, int flags)
{
	struct xdp_umem_reg reg = { (ulong)at, size, chunk, headroom, flags };
	return xsk_option(fd, XDP_UMEM_REG, &reg, sizeof(reg));
}

static long xsk_bind(long fd, int device, int queue, int flags, int shared)
{
	struct sockaddr_xdp where = { AF_XDP, flags, device, queue, shared };
	return sys(__NR_bind, fd, &where, sizeof(where));
}

static struct ring xsk_ring(long fd, const struct xdp_ring_offset *at, ulong page, int entries, int size)
{
	char *p = map(0, at->desc + entries * size, 3, 1 | 0x8000, fd, page);
	return (struct ring){ (void *)(p + at->producer), (void *)(p + at->consumer), (void *)(p + at->flags), p + at->desc, entries - 1 };
}

/* The rings of a socket that is not bound yet, of so many entries; 0: it has none of that kind. */
static void xsk_rings(struct xsk *x, int rx, int tx, int fill, int done)
{
	struct xdp_mmap_offsets at;
	unsigned size = sizeof(at);
	if (rx)
		xsk_entries(x->fd, XDP_RX_RING, rx);
	if (tx)
		xsk_entries(x->fd, XDP_TX_RING, tx);
	if (fill)
		xsk_entries(x->fd, XDP_UMEM_FILL_RING, fill), xsk_entries(x->fd, XDP_UMEM_COMPLETION_RING, done);
	sys(__NR_getsockopt, x->fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &size);
	if (rx)
		x->rx = xsk_ring(x->fd, &at.rx, XDP_PGOFF_RX_RING, rx, 16);
	if (tx)
		x->tx = xsk_ring(x->fd, &at.tx, XDP_PGOFF_TX_RING, tx, 16);
	if (fill) {
		x->fill = xsk_ring(x->fd, &at.fr, XDP_UMEM_PGOFF_FILL_RING, fill, 8);
		x->done = xsk_ring(x->fd, &at.cr, XDP_UMEM_PGOFF_COMPLETION_RING, done, 8);
	}
}

static void give(struct ring *r, ulong at) { ((__u64 *)r->desc)[*r->producer & r->mask] = at, ++*r->producer; }
static void send_desc(struct ring *r, ulong at, int length, int options)
{
	((struct xdp_desc *)r->desc)[*r->producer & r->mask] = (struct xdp_desc){ at, length, options };
	++*r->producer;
}
static int waiting(const struct ring *r) { return (int)(*r->producer - *r->consumer); }

static void statistics(const char *what, long fd)
{
	struct xdp_statistics s = { 0 };
	unsigned size = sizeof(s);
	long got = sys(__NR_getsockopt, fd, SOL_XDP, XDP_STATISTICS, &s, &size);
	say("%s: %r, %d bytes: dropped %L invalid %L, %L full %L empty %L, %L\n", what, got, (int)size, s.rx_dropped, s.rx_invalid_descs, s.tx_invalid_descs, s.rx_ring_full, s.rx_fill_ring_empty_descs, s.tx_ring_empty_descs);
}
