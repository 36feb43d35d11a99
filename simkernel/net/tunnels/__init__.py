"""Devices that are tunnels: what goes out of one goes on as the payload of another packet.  net/ipv4/{ip_tunnel,ip_gre,ipip}.c, net/ipv6/sit.c, drivers/net/{geneve,vxlan}.

Each either has its other end as a setting, or is told it with every packet by programs (`external`, collect metadata).
"""
