/* Let the event net:netif_receive_skb through only if skb->dev->name is "lo". */
#include "bpf2015.h"

SEC("events/net/netif_receive_skb")
int from_lo(struct bpf_context *ctx)
{
	char *skb = (char *)ctx->arg1, *dev = (char *)fetch_ptr(skb + SKB_DEV);
	u64 lo = word_of("lo", 0);

	return probe_memcmp(dev + DEV_NAME, &lo, 2) == 0;
}

char _license[] SEC("license") = "GPL";
