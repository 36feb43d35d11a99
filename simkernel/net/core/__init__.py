"""Packets, socks, devices, and the queues between them; no protocol.  Mirrors net/core/."""
