/*
 * The little that our BPF samples need: integer types, sections, maps, helpers, and the arguments of a probed function.
 * Numbers are those of include/uapi/linux/bpf.h; registers those of each architecture's struct pt_regs.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define inlined static inline __attribute__((always_inline))

/* BTF-defined maps: each attribute is a member whose type carries the number. */
#define number(name, value) int (*name)[value]
#define type_of(name, type) type *name

enum { HASH = 1, ARRAY = 2, PERF_EVENT_ARRAY = 4, PERCPU_HASH = 5, PERCPU_ARRAY = 6, RINGBUF = 27 };
enum { ANY = 0, NOEXIST = 1, EXIST = 2 };

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static long (*const probe_read)(void *to, u32 size, const void *from) = (void *)4;
static u64 (*const ktime_ns)(void) = (void *)5;
static long (*const trace_printk)(const char *format, u32 size, ...) = (void *)6;
static u32 (*const cpu_id)(void) = (void *)8;
static u64 (*const current_pid_tgid)(void) = (void *)14;
static long (*const current_comm)(void *to, u32 size) = (void *)16;
static long (*const perf_event_output)(void *ctx, void *map, u64 flags, void *data, u64 size) = (void *)25;

/*
 * Print to the trace.  The format is built on the stack out of numbers: kernels before 5.2 know no constant data, and
 * compilers no longer do this on their own.
 */
#define byte_of(s, i) ((u64)(u8)(s)[(i) < sizeof(s) ? (i) : sizeof(s) - 1])
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define word_of(s, i)                                                                                 \
	(byte_of(s, i) | byte_of(s, i + 1) << 8 | byte_of(s, i + 2) << 16 | byte_of(s, i + 3) << 24 | \
	 byte_of(s, i + 4) << 32 | byte_of(s, i + 5) << 40 | byte_of(s, i + 6) << 48 | byte_of(s, i + 7) << 56)
#else
#define word_of(s, i)                                                                                     \
	(byte_of(s, i) << 56 | byte_of(s, i + 1) << 48 | byte_of(s, i + 2) << 40 | byte_of(s, i + 3) << 32 | \
	 byte_of(s, i + 4) << 24 | byte_of(s, i + 5) << 16 | byte_of(s, i + 6) << 8 | byte_of(s, i + 7))
#endif
#define print(format, ...)                                                              \
	({                                                                              \
		volatile u64 text[4];                                                   \
		_Static_assert(sizeof(format) <= sizeof(text), "the text is too long"); \
		text[0] = word_of(format, 0);                                           \
		text[1] = word_of(format, 8);                                           \
		text[2] = word_of(format, 16);                                          \
		text[3] = word_of(format, 24);                                          \
		trace_printk((const char *)text, sizeof(format), ##__VA_ARGS__);        \
	})

/* The power of two below a number, without a loop (old verifiers refuse those). */
inlined u32 log2_of(u64 v)
{
	u32 r = 0;
	if (v >> 32) { r += 32; v >>= 32; }
	if (v >> 16) { r += 16; v >>= 16; }
	if (v >> 8) { r += 8; v >>= 8; }
	if (v >> 4) { r += 4; v >>= 4; }
	if (v >> 2) { r += 2; v >>= 2; }
	if (v >> 1) r += 1;
	return r;
}

/* struct pt_regs as far as function arguments and results go; bytes from its start. */
#if defined(TARGET_x86_64)
#define ARG1 112
#define ARG2 104
#define ARG3 96
#define RESULT 80
#define IP 128
#elif defined(TARGET_arm64)
#define ARG1 0
#define ARG2 8
#define ARG3 16
#define RESULT 0
#define IP 256
#elif defined(TARGET_riscv64)
#define ARG1 80
#define ARG2 88
#define ARG3 96
#define RESULT 80
#define IP 0
#elif defined(TARGET_s390x)
#define ARG1 40
#define ARG2 48
#define ARG3 56
#define RESULT 40
#define IP 16
#else
#error "say -DTARGET_<architecture>"
#endif

struct pt_regs;
#define reg(ctx, at) (*(unsigned long *)((char *)(ctx) + (at)))
#define arg1(ctx) reg(ctx, ARG1)
#define arg2(ctx) reg(ctx, ARG2)
#define arg3(ctx) reg(ctx, ARG3)
#define result(ctx) reg(ctx, RESULT)
#define ip(ctx) reg(ctx, IP)
