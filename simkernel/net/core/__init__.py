"""Packets, socks, devices, and the queues between them; no protocol.  Mirrors net/core/.

The objects are plain: sk_buff (skb.py), net_device (netdevice.py), sock and socket (sock.py), msghdr (message.py),
and the state of one network that holds them by address (state.py).  The functions are above them: making and freeing
packets (skbuff.py), the way through a device (device.py), waiting for a packet (datagram.py).
"""
