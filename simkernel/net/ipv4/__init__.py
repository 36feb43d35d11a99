"""IPv4 and what runs over it: ICMP, UDP, TCP, raw sockets.  Mirrors net/ipv4/."""
