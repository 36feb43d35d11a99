"""Sockets of AF_XDP: frames go between devices and memory of programs.  net/xdp/.

queue.py has the rings that both sides see, umem.py the memory, pool.py what of it is in use at a device's queue, xsk.py the sockets.
All devices are served by copying; none takes frames out of a program's memory itself.
"""
