"""Queueing disciplines: what happens to packets between the protocols and a device.  Mirrors net/sched/.

A device without one sends at once.  netem.py delays, loses, doubles, spoils and reorders, as `tc qdisc add dev lo root netem` says;
generic.py is the way of a packet through a discipline.
"""
