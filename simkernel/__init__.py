"""The computer and its kernel: machine, boot, versions, tasks, scheduler, memory maps, exec, system calls,
files, and the faces that people use: Python, the command line and the pytest plugin.
"""
