"""Packets as programs meet them: sk_buff, xdp_buff, checksums.  include/linux/skbuff.h, include/net/xdp.h."""
