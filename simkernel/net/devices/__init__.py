"""Kinds of network devices: the loopback, veth pairs, dummies, the simulated network card.  Mirrors drivers/net/.

Each is a `LinkKind` with its way to send (a kernel function) and what it does when it is opened and closed; who makes
devices of a kind over netlink is netlink/link_kinds.py.
"""
