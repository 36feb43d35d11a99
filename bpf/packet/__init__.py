"""Packets as programs meet them: struct sk_buff and struct xdp_buff in kernel memory, for test runs and helpers, and
checksums. include/linux/skbuff.h, include/net/xdp.h.
"""
