/*
 * The tree of January 2015 (kernel 3.20-rfc): programs on tracepoints and system calls get `struct bpf_context`, those on
 * kprobes get struct pt_regs; both have these helpers, whose numbers are of that tree alone.
 */
#pragma once
#include "bpf.h"
#include "kernel2015.h"

struct bpf_map_def {
	u32 type;
	u32 key_size;
	u32 value_size;
	u32 max_entries;
};

struct bpf_context {
	u64 arg1, arg2, arg3, arg4, arg5, arg6;
};

static u64 (*const fetch_ptr)(const void *from) = (void *)4;
static u64 (*const fetch_u64)(const void *from) = (void *)5;
static u64 (*const fetch_u32)(const void *from) = (void *)6;
static u64 (*const fetch_u16)(const void *from) = (void *)7;
static u64 (*const fetch_u8)(const void *from) = (void *)8;
static int (*const probe_memcmp)(const void *unsafe, const void *safe, int size) = (void *)9;
static void (*const dump_stack)(void) = (void *)10;
static int (*const printk_2015)(const char *format, u32 size, ...) = (void *)11;
static u64 (*const ktime_2015)(void) = (void *)12;
