"""The system calls of sockets: setting one up (socket.py), moving data (transfer.py), options (sockopt.py).  Mirrors
net/socket.c.
"""
