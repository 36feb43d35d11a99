"""Netlink: questions to the kernel as messages on a socket.  Mirrors net/netlink/ and net/core/rtnetlink.c.

message.py is the form of messages, sock.py the sockets, route.py what NETLINK_ROUTE answers: links, addresses, routes,
neighbours and rules, which `ip`, getifaddrs(3) and if_nameindex(3) ask for.
"""
