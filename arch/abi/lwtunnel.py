"""Light weight tunnels of routes.  include/uapi/linux/lwtunnel.h."""

from __future__ import annotations

LWTUNNEL_ENCAP_NONE, LWTUNNEL_ENCAP_BPF = 0, 6
LWTUNNEL_ENCAPS = range(1, 11)  # LWTUNNEL_ENCAP_MPLS and others
LWT_BPF_PROG_FD, LWT_BPF_PROG_NAME = 1, 2
LWT_BPF_IN, LWT_BPF_OUT, LWT_BPF_XMIT, LWT_BPF_XMIT_HEADROOM = 1, 2, 3, 4
LWT_BPF_MAX_HEADROOM = 256  # bytes
