"""IPv6: addresses, routes, neighbours, packets in and out, ICMPv6, UDP, TCP and raw sockets.  Mirrors net/ipv6/.

What is the same for both families is in core/ and ipv4/ and is used from here.
"""
