"""Sockets between tasks of one machine.  Mirrors net/unix/."""
