/* What BPF programs looked like in 2015 (Linux 4.1): maps as structs of numbers, and the kernel's version in the object. */
#pragma once
#include "bpf.h"
#include "kernel2015.h"

struct bpf_map_def {
	u32 type;
	u32 key_size;
	u32 value_size;
	u32 max_entries;
};

#define VERSION_4_1 (4 << 16 | 1 << 8)

/* Who called the probed function: at its first instruction. */
inlined word caller(struct pt_regs *ctx)
{
#ifdef LINK
	return reg(ctx, LINK);
#else
	word address = 0;
	probe_read(&address, sizeof(address), (void *)(u64)reg(ctx, SP));
	return address;
#endif
}

/* After a return: who called the function that is being returned to. */
inlined word caller_of_caller(struct pt_regs *ctx)
{
	word address = 0, frame = reg(ctx, FP);
#ifdef TARGET_s390x
	probe_read(&frame, sizeof(frame), (void *)frame);
#endif
	probe_read(&address, sizeof(address), (char *)(u64)frame + FRAME_RETURN);
	return address;
}
