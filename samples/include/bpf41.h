/* What BPF programs looked like in 2015 (Linux 4.1): maps as structs of numbers, and the kernel's version in the object. */
#pragma once
#include "bpf.h"

struct bpf_map_def {
	u32 type;
	u32 key_size;
	u32 value_size;
	u32 max_entries;
};

#define VERSION_4_1 (4 << 16 | 1 << 8)
