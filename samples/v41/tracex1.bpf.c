/* A packet arrives: if it came by `lo`, print where it is and how long.  Follows pointers with probe_read, as in 2015. */
#include "bpf41.h"

SEC("kprobe/__netif_receive_skb_core")
int packet(struct pt_regs *ctx)
{
	char *skb = (char *)(u64)arg1(ctx);
	char name[16] = {};
	word dev = 0;
	u32 len = 0;

	probe_read(&dev, sizeof(dev), skb + SKB_DEV);
	probe_read(&len, sizeof(len), skb + SKB_LEN);
	probe_read(name, sizeof(name), (char *)(u64)dev + DEV_NAME);
	if (name[0] == 'l' && name[1] == 'o')
		print("skb %p len %d\n", skb, len);
	return 0;
}

char _license[] SEC("license") = "GPL";
u32 _version SEC("version") = VERSION_4_1;
