"""Sockets between tasks of one machine.  Mirrors net/unix/.

sock.py is the sock with its queue; names.py how it is found; connect.py how two become peers and part; transfer.py
what they send; rights.py the open files that travel with it.
"""
