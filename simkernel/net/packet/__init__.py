"""Packet sockets (AF_PACKET): whole frames, one by one or through memory that a program shares.  net/packet/.

`af_packet` has the calls, `options` those of SOL_PACKET, `ring` and `blocks` the shared memory, `fanout` groups of sockets,
`vnet` the headers of virtual machines.
"""
