/*
 * The BPF side of static probes.  The loader fills two maps: where each call site's arguments are (a spec), and, on
 * kernels before 5.15, which spec an instruction pointer means; later kernels hand the number over as a cookie.
 */
#pragma once
#include "bpf.h"

enum { ARGUMENT_CONST, ARGUMENT_REG, ARGUMENT_MEMORY };

struct usdt_argument {
	u64 offset;
	u32 kind;
	short reg_off;
	u8 is_signed;
	char shift;
};
struct usdt_spec {
	struct usdt_argument arguments[12];
	u64 cookie;
	short count;
};

struct {
	number(type, ARRAY);
	number(max_entries, 256);
	type_of(key, int);
	type_of(value, struct usdt_spec);
} __bpf_usdt_specs SEC(".maps") __attribute__((weak));

struct {
	number(type, HASH);
	number(max_entries, 1024);
	type_of(key, long);
	type_of(value, u32);
} __bpf_usdt_ip_to_spec_id SEC(".maps") __attribute__((weak));

extern const _Bool LINUX_HAS_BPF_COOKIE SEC(".kconfig") __attribute__((weak));

static long (*const probe_read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*const probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const probe_read_user_str)(void *to, u32 size, const void *from) = (void *)114;
static u64 (*const attach_cookie)(void *ctx) = (void *)174;

inlined struct usdt_spec *usdt_spec_of(void *ctx)
{
	int id;

	if (LINUX_HAS_BPF_COOKIE) {
		id = attach_cookie(ctx);
	} else {
		long place = ip(ctx);
		u32 *found = map_lookup(&__bpf_usdt_ip_to_spec_id, &place);
		if (!found)
			return 0;
		id = *found;
	}
	return map_lookup(&__bpf_usdt_specs, &id);
}

/* The n-th argument of the probe that was hit, 0 if it cannot be had.  n is a constant. */
inlined long usdt_argument(void *ctx, u32 n)
{
	struct usdt_spec *spec = usdt_spec_of(ctx);
	struct usdt_argument *at;
	u64 value = 0;

	if (!spec || n >= 12 || n >= spec->count)
		return 0;
	at = &spec->arguments[n];
	if (at->kind == ARGUMENT_CONST) {
		value = at->offset;
	} else {
		probe_read_kernel(&value, sizeof(value), (char *)ctx + at->reg_off);
		if (at->kind == ARGUMENT_MEMORY) {
			probe_read_user(&value, sizeof(value), (void *)value + at->offset);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
			value >>= at->shift;
#endif
		}
	}
	value <<= at->shift;
	return at->is_signed ? (s64)value >> at->shift : value >> at->shift;
}
