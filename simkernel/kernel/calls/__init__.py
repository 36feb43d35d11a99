"""System calls of the kernel's core, one file for each area; files and sockets have theirs in fs/ and net/calls/.

Each is one function with `@syscall("name", "C parameters", source=...)`: the prototype gives the wrapper, the
tracepoints and the argument conversions; the numbers are in arch/NAME/syscalls.py.  A call refuses with
KernelError(E...); what takes time or sleeps is a generator that yields real calls of kernel functions.
"""
