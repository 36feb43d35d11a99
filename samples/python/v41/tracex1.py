"""A packet arrives: if it came by `lo`, print where it is and how long.  samples/v41/tracex1.bpf.c"""

from simkernel import bpf


@bpf.kprobe("__netif_receive_skb_core")
def packet(ctx, skb: bpf.ptr("sk_buff")):
    dev = skb.dev
    if dev.name[0] == 0x6C and dev.name[1] == 0x6F:  # lo
        bpf.printk("skb %p len %d\n", skb, skb.len)
    return 0
