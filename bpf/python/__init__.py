"""BPF programs written in Python: a small typed subset, compiled to an ordinary BPF object that libbpf loads.

A program is parsed, never run.  docs/bpf-python.md describes the subset.

    types.py      numbers, structs, arrays, pointers           debug.py     LLVM's debug information: BTF, lines, CO-RE
    module.py     a file: structs, maps, globals, functions    function.py  statements of one function
    expression.py values                                       calls.py     helpers, methods of maps, conversions
    emit.py       LLVM's back end                              words.py     the names that programs import
"""

from bpf.python.errors import CompileError
from bpf.python.module import compile_file, compile_source

__all__ = ("CompileError", "compile_file", "compile_source")
