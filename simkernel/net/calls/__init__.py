"""The system calls of sockets.  Mirrors net/socket.c."""
