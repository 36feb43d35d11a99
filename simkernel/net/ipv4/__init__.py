"""IPv4 and what runs over it: ICMP, UDP, TCP, raw sockets.  Mirrors net/ipv4/.

A socket's operations begin in af_inet.py and go on in the protocol's file (udp.py, raw.py, tcp.py).  A packet goes
out by ip_output.py and comes in by ip_input.py, which gives it to icmp.py, udp.py or tcp_input.py.  Headers are bytes
in network order (header.py).
"""
