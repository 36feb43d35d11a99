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
#define print_by(printk, format, ...)                                                   \
	({                                                                              \
		volatile u64 text[4];                                                   \
		_Static_assert(sizeof(format) <= sizeof(text), "the text is too long"); \
		text[0] = word_of(format, 0);                                           \
		text[1] = word_of(format, 8);                                           \
		text[2] = word_of(format, 16);                                          \
		text[3] = word_of(format, 24);                                          \
		printk((const char *)text, sizeof(format), ##__VA_ARGS__);              \
	})
#define print(format, ...) print_by(trace_printk, format, ##__VA_ARGS__)

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

/*
 * struct pt_regs as far as probes need it; bytes from its start.  SP and FP at a function's entry; the caller's address is
 * in LINK where there is such a register, else on top of the stack.  FRAME_RETURN is where a frame keeps its return
 * address, counted from the frame pointer.
 */
#if defined(TARGET_x86_64)
enum { ARG1 = 112, ARG2 = 104, ARG3 = 96, RESULT = 80, IP = 128, SP = 152, FP = 32, FRAME_RETURN = 8 };
#elif defined(TARGET_arm64)
enum { ARG1 = 0, ARG2 = 8, ARG3 = 16, RESULT = 0, IP = 256, SP = 248, FP = 232, FRAME_RETURN = 8 };
#define LINK 240
#elif defined(TARGET_riscv64)
enum { ARG1 = 80, ARG2 = 88, ARG3 = 96, RESULT = 80, IP = 0, SP = 16, FP = 64, FRAME_RETURN = -8 };
#define LINK 8
#elif defined(TARGET_s390x)
enum { ARG1 = 40, ARG2 = 48, ARG3 = 56, RESULT = 40, IP = 16, SP = 144, FP = 144, FRAME_RETURN = 112 };
#define LINK 136
#elif defined(TARGET_i386)
enum { ARG1 = 24, ARG2 = 8, ARG3 = 4, RESULT = 24, IP = 48, SP = 60, FP = 20, FRAME_RETURN = 4 };
#elif defined(TARGET_arm)
enum { ARG1 = 0, ARG2 = 4, ARG3 = 8, RESULT = 0, IP = 60, SP = 52, FP = 44, FRAME_RETURN = 0 };
#define LINK 56
#else
#error "say -DTARGET_<architecture>"
#endif

/* The kernel's unsigned long, and its pointers, as numbers. */
#if defined(TARGET_i386) || defined(TARGET_arm)
typedef u32 word;
#else
typedef u64 word;
#endif

struct pt_regs;
#define reg(ctx, at) (*(word *)((char *)(ctx) + (at)))
#define arg1(ctx) reg(ctx, ARG1)
#define arg2(ctx) reg(ctx, ARG2)
#define arg3(ctx) reg(ctx, ARG3)
#define result(ctx) reg(ctx, RESULT)
#define ip(ctx) reg(ctx, IP)
