"""fanotify: who uses files of a directory, a mount or a file system, told with descriptors or handles, and asked for leave.

fs/notify/fanotify/.  group.py is one listener with its marks and what it makes of an event; records.py what a reader gets;
calls.py the two system calls and the file.
"""
