/* Which slab objects live long, and who allocated them?  A kretprobe sees the address, a kprobe its end. */
#include "bpf41.h"

struct object {
	u64 born;
	u64 by;
};

struct bpf_map_def SEC("maps") objects = { HASH, sizeof(long), sizeof(struct object), 1000000 };

SEC("kprobe/kmem_cache_free")
int freed(struct pt_regs *ctx)
{
	long address = arg2(ctx);

	map_delete(&objects, &address);
	return 0;
}

SEC("kretprobe/kmem_cache_alloc_node")
int allocated(struct pt_regs *ctx)
{
	long address = result(ctx);
	struct object fresh = { ktime_ns(), caller_of_caller(ctx) };

	map_update(&objects, &address, &fresh, ANY);
	return 0;
}

char _license[] SEC("license") = "GPL";
u32 _version SEC("version") = VERSION_4_1;
