#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

u64 plain, guarded, guarded_sum, calls, call_sum, returned, pids;
long small, middle, wide, constant, missing;
u64 seen_cookie;

SEC("usdt//bin/places:places:plain") int BPF_USDT(on_plain, signed char a, short b, u32 c, int d)
{
	plain++;
	small += a;
	middle += b;
	wide += c;
	constant = d;
	missing = bpf_usdt_arg(ctx, 4, (long *)&seen_cookie);
	seen_cookie = bpf_usdt_cookie(ctx);
	return 0;
}
SEC("usdt//bin/places:places:guarded") int BPF_USDT(on_guarded, long value) { guarded++; guarded_sum += value; return 0; }
SEC("uprobe//bin/places:twice") int BPF_KPROBE(on_call, long value) { calls++; call_sum += value; return 0; }
SEC("uretprobe//bin/places:twice") int BPF_KRETPROBE(on_return, long value) { returned += value; return 0; }
char LICENSE[] SEC("license") = "GPL";
