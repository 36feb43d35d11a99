/* A packet arrives: print its device and length.  Follows pointers of kernel structures with probe_read, as in 2015. */
#include "bpf41.h"

/* Only the members we read; their places are given by the loader's -D for the kernel at hand. */
#ifndef SKB_DEV
#define SKB_DEV 16
#define SKB_LEN 112
#define DEV_NAME 0
#endif

SEC("kprobe/__netif_receive_skb_core")
int packet(struct pt_regs *ctx)
{
	char name[8] = {};
	char *skb = (char *)arg1(ctx);
	char *dev = 0;
	u32 len = 0;

	probe_read(&dev, sizeof(dev), skb + SKB_DEV);
	probe_read(&len, sizeof(len), skb + SKB_LEN);
	probe_read(name, sizeof(name), dev + DEV_NAME);
	if (name[0] == 'l' && name[1] == 'o')
		print("skb %lx len %d\n", skb, len);
	return 0;
}

char _license[] SEC("license") = "GPL";
u32 _version SEC("version") = VERSION_4_1;
