"""What the verifier's messages mean: one row for each rule, in the order in which rows are tried.

A row's pattern is searched in the verifier's last line.  `rule` says what the kernel demands, `fix` what satisfies it, and
`example` shows that in a line or two of C (libbpf's helpers and names).  Messages are those of kernel/bpf/verifier.c from 3.18
on, kernel/bpf/core.c and kernel/bpf/btf.c; a message that no row knows is said to be unknown.
"""

from __future__ import annotations

import re
from functools import cached_property

from arch.records import dataclass


@dataclass(frozen=True)
class Rule:
    """One rule of the verifier."""

    pattern: str
    rule: str
    fix: str
    example: str = ""

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)


NULL_CHECK = "if (!p)\n\treturn 0;        /* on this side p is NULL, below it is not */"
BOUND_INDEX = (
    "if (i >= sizeof(v->data))   /* i unsigned: one comparison bounds both sides */\n\treturn 0;\nv->data[i] = 1;"
)
PACKET_CHECK = "void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;\nif (data + sizeof(struct ethhdr) > end)\n\treturn XDP_PASS;"

RULES = (
    # -- registers and where they came from --------------------------------------------------------------------------
    Rule(r"R\d+ !read_ok", "A register is read before this path has written it. At the entry only R1 (the context) and R10 (the frame) hold "
         "values; after a call R1 to R5 are gone and only R0 has a result.",
         "Set the register on every path that leads here, or keep the value over the call in R6 to R9 or on the stack; a program's R0 "
         "has to be set before exit.", "return 0;                    /* also where a function has no result */"),
    Rule(r"frame pointer is read only", "R10 points to the frame and cannot be changed.", "Copy it and change the copy.",
         "r2 = r10; r2 += -8"),
    Rule(r"R\d+ is invalid", "There are the registers R0 to R10 only.", "The instruction is not what a compiler makes: check its bytes."),
    Rule(r"R\d+ invalid mem access '(\w+_or_null_?|untrusted_ptr_or_null_)'", "The pointer may be NULL: it comes from a look-up or a helper that can find "
         "nothing, and this path has not asked.", "Compare it with NULL and use it only on the other side.", NULL_CHECK),
    Rule(r"R\d+ invalid mem access 'pkt_end'", "data_end is for comparing, not for reading.", "Read through a pointer into the packet that was compared with it.", PACKET_CHECK),
    Rule(r"R\d+ invalid mem access 'map_ptr'", "This is the map itself, not a value in it.", "Look the value up.", "v = bpf_map_lookup_elem(&map, &key);"),
    Rule(r"R\d+ invalid mem access '(inv|scalar|imm|unknown_value)'", "The register holds a number here, not a pointer that the verifier knows, so the kernel "
         "cannot prove that the access is safe. Arithmetic on a pointer that the verifier could not follow, or a pointer read "
         "out of kernel memory, gives a number.", "Read foreign memory with a helper, or keep the pointer's type: do not cast it through integers.",
         "bpf_probe_read_kernel(&value, sizeof(value), (void *)address);\nvalue = BPF_CORE_READ(task, mm, pgd);"),
    Rule(r"R\d+ invalid mem access", "What the register holds cannot be read or written through directly.",
         "Use the helper that is made for this kind of pointer."),
    Rule(r"R\d+ (32-bit pointer arithmetic prohibited|partial copy of pointer)", "A pointer has 64 bits; an operation on 32 of them would cut it.",
         "Do it with 64-bit registers: the variable has to be a pointer, long or __u64."),
    Rule(r"R\d+ pointer arithmetic on \w+_or_null_? prohibited, null-check it first|pointer arithmetic with it prohibited until checked", "The pointer may be NULL, and NULL plus something "
         "would pass for a pointer.", "Compare it with NULL before adding to it.", NULL_CHECK),
    Rule(r"R\d+ pointer arithmetic on \w+ prohibited", "This kind of pointer cannot be moved: the kernel takes it only as it was given.",
         "Pass it on as it is; to reach a member of what it points to, read it by a helper or a typed access."),
    Rule(r"R\d+ (pointer arithmetic with|bitwise operator) \S+ (operator prohibited|on pointer prohibited)", "Only adding to and subtracting from a pointer keeps it a pointer.",
         "Compute the offset in a register of its own, then add it.", "long off = i * 8;\np = base + off;"),
    Rule(r"R\d+ pointer (\S+) pointer prohibited", "Two pointers were combined; only the difference of two packet pointers, or adding a number, means something.",
         "Keep offsets as numbers."),
    Rule(r"R\d+ pointer comparison prohibited", "Comparing pointers would tell an unprivileged program where the kernel's memory lies.",
         "Compare with NULL (== or !=), or load the program with CAP_PERFMON."),
    Rule(r"R\d+ tried to subtract pointer from scalar", "A number minus a pointer is no address of anything.", "Turn the operands round."),
    Rule(r"R\d+ subtraction from stack pointer prohibited", "A stack pointer is moved by adding a (negative) constant.", "Write it as r2 = r10; r2 += -8."),
    # -- maps' values, memory regions -----------------------------------------------------------------------------------
    Rule(r"R\d+ min value is (negative|outside)", "The lowest value that the offset can have lies before the object. A signed variable may be negative on this path.",
         "Make the index unsigned, or test that it is not negative, on the path that comes here.", BOUND_INDEX),
    Rule(r"R\d+ max value is outside", "The highest value that the offset can have lies behind the object's end (off + size > its size).",
         "Compare the index with the number of elements, or mask it, before it is used. Compare the very variable that is then used: "
         "after a conversion the compiler may test another register.", BOUND_INDEX),
    Rule(r"R\d+ unbounded (memory access|min value)|unbounded memory access", "Nothing limits the offset or the size on this path.",
         "Bound it from above: a comparison, or `var &= constant` with a power of two less one.", "len &= 0xff;   /* or: if (len > 255) return 0; */"),
    Rule(r"invalid access to map (value|key)", "The access does not lie within the map's value (key): it goes over value_size, or begins before it.",
         "Make the value large enough, or the access smaller: the type in __type(value, ...) has to be the one that is written.",
         "__type(value, struct event);"),
    Rule(r"invalid access to (memory|packet|buffer|mem)|invalid (variable )?(tracepoint )?buffer (access|offset)", "The access does not lie within what the pointer points to.",
         "Compare offset plus size with the end first."),
    Rule(r"offset is outside of the packet", "The bytes are not proven to lie within the packet on this path.",
         "Compare pointer plus size with data_end and leave when it is greater; do it again after any helper that changes the packet.", PACKET_CHECK),
    Rule(r"math between \S+ pointer and register with unbounded", "A register without a lower or upper limit was added to a pointer.",
         "Limit it first, on both sides where it is signed.", BOUND_INDEX),
    Rule(r"math between \S+ pointer and -?\d+ is not allowed|value -?\d+ makes \S+ pointer be out of bounds|pointer offset -?\d+ is not allowed", "A pointer may move by less than 2^29 bytes, and an offset within it must stay so.",
         "The constant is too large: is it an address, or a size in the wrong unit?"),
    Rule(r"\w+ pointer offset -?\d+ is not allowed", "The pointer moved too far from its object.", "Keep the offset small and add it once."),
    Rule(r"direct value offset of \d+ is not allowed|invalid access to map value pointer|direct value access", "The address of a map's value inside the program (global data) has an offset that does not "
         "lie within the value, or the map is not of a kind with one.", "Only arrays with one element, such as .data, .bss and .rodata, have direct values."),
    Rule(r"(write into|read from) map forbidden", "The map was made BPF_F_RDONLY_PROG, BPF_F_WRONLY_PROG or frozen, or holds constants (.rodata).",
         "Put what the program changes into another map, or into a variable that is not const.", "static volatile __u64 counter;   /* .bss */"),
    Rule(r"misaligned (stack|value|access|packet|context|map|pkt|ptr)", "The access does not begin at a multiple of its size, and this CPU or BPF_F_STRICT_ALIGNMENT wants that; on the stack and in "
         "the context it is wanted everywhere.", "Place members on their natural borders, or copy byte by byte.", "__builtin_memcpy(&value, p, sizeof(value));"),
    Rule(r"(bpf_array|bpf_htab|array|hash) access is allowed only to CAP_PERFMON", "Fields of the kernel's own map structure were read.", "Load the program with CAP_PERFMON, or look values up."),
    Rule(r"only read from \w+ is supported|only read is supported", "The kernel's own structures can be read through typed pointers, never written.",
         "Use the helper or kernel function that makes the change."),
    Rule(r"cannot access ptr member \S+ with moff|access beyond|invalid \w+ access off", "No member of that size lies at this offset of the kernel's structure, or it may not be touched.",
         "Read whole members by their names; compile against this kernel's vmlinux.h.", "value = BPF_CORE_READ(sk, __sk_common.skc_dport);"),
    Rule(r"R\d+ is (\w+) invalid (negative access|variable offset)|R\d+ invalid \w+ access off", "The access does not lie within that structure of the kernel.", "Use its members by name."),
    Rule(r"R\d+ not a scalar value|R\d+ doesn't have constant offset|must have zero offset|dereference of modified|negative offset \S+ ptr|variable .*access.*disallowed|variable (ctx|trusted)",
         "This pointer may be used only exactly as it was given, plus a constant where a member is read: it was moved, or by an amount that is not known.",
         "Keep the original pointer in a variable of its own, and index arrays elsewhere.", "void *data = (void *)(long)ctx->data;   /* a member with a constant offset */"),
    # -- stack -------------------------------------------------------------------------------------------------------
    Rule(r"invalid (indirect )?(read|access|write|variable-offset \w+ \w+|variable-offset indirect \w+) (from|to) stack(.*off|.*var_off)?|invalid stack (off|type)|invalid write to stack|invalid unbounded variable-offset|invalid indirect read from stack",
         "The access does not lie within the frame's 512 bytes, or reads bytes that this path has not written. Helpers read the whole of what a "
         "pointer and a size name, padding of structures included.", "Initialise all of it, padding too, before a helper reads it.",
         "struct key k = {};            /* or: __builtin_memset(&k, 0, sizeof(k)) */"),
    Rule(r"R\d+ (variable )?stack (access prohibited|pointer arithmetic goes out of range)|variable stack (access|read)", "An unprivileged program may not reach its stack by a computed offset: it would leak what lies there.",
         "Use constant offsets, or a map for the array."),
    Rule(r"(attempt to corrupt spilled|corrupted spill|invalid size of register (spill|fill)|leaking pointer from stack)", "A pointer on the stack was overwritten or read in part.",
         "Store and load pointers as whole 8 bytes."),
    Rule(r"cannot (return stack pointer to the caller|spill pointers to stack into stack frame of the caller)", "A function's frame is gone when it returns.", "Let the caller own the buffer and pass a pointer to it."),
    Rule(r"combined stack size|stack size of .* is too large|looks like the BPF stack limit", "All frames of a chain of calls share 512 bytes.", "Move large objects into a per-CPU array with one element.",
         "struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, struct big); } scratch SEC(\".maps\");"),
    # -- arguments of helpers and kernel functions ---------------------------------------------------------------------
    Rule(r"R\d+ type=(\w+_or_null_?) expected", "The argument may be NULL here, and the function does not take that.", "Compare it with NULL first.", NULL_CHECK),
    Rule(r"R\d+ type=(scalar|inv|imm) expected=", "The function wants a pointer; the register holds a number.", "Pass the address of a variable: &key, not key."),
    Rule(r"R\d+ type=\S+ expected=ctx", "The function wants the program's own context, unchanged.", "Pass ctx as it came; a copy on the stack is something else."),
    Rule(r"R\d+ type=\S+ expected=|R\d+ is of type \S+ but", "The function takes another kind of pointer.", "See the helper's description for what it takes: memory for it has to be on the stack, in a map's value or in a packet."),
    Rule(r"cannot pass map_type \d+ into func|func .* cannot be used with map|invalid map_type|map type .* not supported", "This helper does not work on maps of this type.",
         "Use the helper of the type: bpf_perf_event_output for perf event arrays, bpf_map_push_elem for queues, bpf_tail_call for program arrays."),
    Rule(r"unknown func (\S+)|program of this type cannot use helper|invalid func", "This program type may not call this helper, or this kernel does not have it yet.",
         "`simkernel feature probe --kernel V` shows which helpers a program type has in a version; guard newer ones with bpf_core_enum_value_exists()."),
    Rule(r"tracing progs? (types? )?(cannot|can) (use|only)|tracing progs can only use preallocated", "A tracing program may run anywhere, also where memory must not be allocated and locks are held.",
         "Use what works in every context: preallocated maps, no spin locks or timers."),
    Rule(r"invalid zero-sized read|R\d+ invalid zero-sized", "The size may be 0 on this path, and the function demands bytes.", "Test that it is not 0.", "if (!len || len > sizeof(buf))\n\treturn 0;"),
    Rule(r"helper access to the packet is not allowed|cannot write into packet", "In this program type the packet is not given to helpers, or not writable.", "Copy the bytes to the stack first.", "bpf_skb_load_bytes(skb, off, buf, sizeof(buf));"),
    Rule(r"R\d+ leaks addr (into|as)", "A kernel address would become visible to user space.", "Store what it points to, or load the program with CAP_PERFMON."),
    Rule(r"R\d+ must be referenced|must be (a )?(rcu|trusted)", "The function takes a pointer that the program owns, from an acquiring function.", "Acquire it first, and test the result for NULL."),
    Rule(r"arg#\d+ .*must point to scalar|arg#\d+ pointer type|arg#\d+ (expected|no referenced|is expected|reference)|kernel function .* args#?\d* expected", "The argument of the kernel function (or of a global function) has another type than its prototype says.", "Pass exactly that type; a plain pointer must lead to numbers or to a structure of numbers."),
    Rule(r"kernel btf_id \d+ is not a (kernel )?function|is not a kernel function|calling kernel function .* is not allowed|invalid kernel function call|fd_idx without fd_array|not allowed for (this )?program type", "The call names something that this kernel does not offer to this program type.",
         "Look at the kernel's BTF: `simkernel btf dump | grep NAME`."),
    Rule(r"tail_call (abusing map_ptr|would lead to reference leak)", "A tail call leaves this program for good.", "Release what is held first, and use one constant program array."),
    Rule(r"same insn cannot be used with different pointers", "One load reads through pointers of different kinds, by the path taken, and the kernel rewrites a load in one way only.", "Give each path its own load (the compiler joined them)."),
    Rule(r"get_local_storage\(\) doesn't support non-zero flags", "The flags argument of bpf_get_local_storage() is 0 in this kernel.", "Pass 0."),
    Rule(r"invalid arg_type for sockmap", "This helper works with the socket map that is its argument only.", "Pass the map itself."),
    # -- references, locks, kptrs, timers ------------------------------------------------------------------------------
    Rule(r"Unreleased reference", "Something acquired (a socket, a ring buffer record, a task) is not given back on this path.", "Release or submit it on every path, early returns too.",
         "struct event *e = bpf_ringbuf_reserve(&rb, sizeof(*e), 0);\nif (!e)\n\treturn 0;\n...\nbpf_ringbuf_submit(e, 0);      /* or bpf_ringbuf_discard() */"),
    Rule(r"reference has not been acquired|release .*(unacquired|un-?referenced)", "What is given back was not acquired here, or was given back already.", "Release each once."),
    Rule(r"function calls are not allowed while holding a lock|cannot be used inside bpf_spin_lock|bpf_spin_unlock|bpf_spin_lock|spin_lock", "Between bpf_spin_lock() and bpf_spin_unlock() of one lock only plain instructions are allowed, every path unlocks, and the lock itself is not touched otherwise.",
         "Prepare everything before taking the lock.", "bpf_spin_lock(&v->lock);\nv->count++;\nbpf_spin_unlock(&v->lock);"),
    Rule(r"kptr|rbtree|bpf_list|graph node", "A pointer of the kernel inside a map's value is exchanged only as a whole, by its type, at its place.", "Use bpf_kptr_xchg(), and test and release what it returns.",
         "old = bpf_kptr_xchg(&v->ptr, new);\nif (old)\n\tbpf_obj_drop(old);"),
    Rule(r"bpf_timer|timer", "A timer lives in a map's value and is used through its helpers alone.", "Declare struct bpf_timer in the value; give the helpers its address and its map."),
    # -- control flow --------------------------------------------------------------------------------------------------
    Rule(r"back-edge from insn|infinite loop detected", "The program can return to an instruction in the same state: it might never end. Before 5.3 loops are not allowed at all.",
         "Give the loop a bound that the verifier sees: a counter compared with a constant; or bpf_loop(); or #pragma unroll for old kernels.", "for (int i = 0; i < 16; i++) { ... }"),
    Rule(r"unreachable insn", "No path leads to this instruction.", "Remove it: the compiler's dead code, or a jump over too much."),
    Rule(r"jump out of range|jump into the middle|call to invalid destination|last insn is not an exit or jmp|jump to invalid", "A jump or call leads outside of the program or function, into the second half of a 16-byte instruction, or the program does not end with exit.",
         "Hand-written code: count the 16-byte loads twice."),
    Rule(r"too many (insn|instructions|jumps|states)|BPF program is too large|The sequence of \d+ jumps is too complex|program is too (large|complex)|too complex", "The verifier went over a million instructions (4096 or 131,072 in older kernels) without reaching all ends.",
         "Make paths meet again in the same state: fewer branches inside loops, masks instead of comparisons, bpf_loop(), functions that are global (verified by themselves)."),
    Rule(r"call stack of \d+ frames is too deep|too many subprog", "Calls nest at most 8 deep.", "Inline something (__always_inline)."),
    Rule(r"(At (program exit|callback return)|At (async )?callback) the register R0|should have been in", "The program's result has to lie in the range that the kernel understands for this program type.",
         "Return one of the allowed constants on every path.", "return 0;"),
    # -- instructions --------------------------------------------------------------------------------------------------
    Rule(r"(uses|use) reserved fields|BPF_\S+ uses reserved|uses invalid (atomic )?opcode|unknown opcode|invalid BPF_\w+|BPF_ALU|BPF_END", "The bytes are no instruction of this kernel's, or use a field that has to be 0.",
         "Compile with an older -mcpu (v1, v2, v3): `simkernel feature probe` shows which this kernel knows.", "clang -target bpf -mcpu=v2"),
    Rule(r"invalid shift", "A constant shift is not between 0 and the width less one.", "Shift by less."),
    Rule(r"div by zero|division by zero", "Division by the constant 0.", "Divide by something else."),
    Rule(r"(invalid|unrecognized) bpf_ld_imm64 insn|is not pointing to valid bpf_map", "The 16-byte load names no map: its descriptor is wrong, or its second half is not empty.", "Load the object with libbpf, which puts the descriptors in; keep the map's descriptor open meanwhile."),
    Rule(r"BPF_LD_\[ABS\|IND\]|BPF_LD_ABS|R6 != pointer to skb", "The classic packet loads need the packet in R6, are for packet programs only, and must not be left while something is held.", "Use bpf_skb_load_bytes()."),
    Rule(r"BPF_(ST|STX|ATOMIC|XADD)\S* (stores|store) into R\d+ (\S+) is not allowed", "This kind of memory is written in another way: the context by plain stores of registers to the members that are writable, the packet without atomics.",
         "Load into a register, change it, store it.", "ctx->mark = value;"),
    Rule(r"invalid bpf_context access", "No member of the context that this program type may use lies there, or not in this size, or it may not be written.",
         "Use the context's members by name, each with its own type; compile against this kernel's header.", "int BPF_KPROBE(name, struct file *file) { ... }"),
    Rule(r"missing btf func_info|number of funcs in func_info|func_info|line_info|BTF", "The program's BTF does not say what the kernel needs about its functions.", "Compile with -g and load with libbpf."),
    # -- who may ---------------------------------------------------------------------------------------------------------
    Rule(r"prohibited for !root|allowed for CAP_|are allowed (only )?(for|to)|for root only|only for root", "This is not allowed to unprivileged programs: through speculation it could leak memory.", "Load it with CAP_BPF and CAP_PERFMON."),
    Rule(r"R\d+ has pointer with unsupported alu operation", "An unprivileged program may only add to and subtract from pointers.", "Load it with CAP_PERFMON."),
    Rule(r"cannot write into (\w+)|R\d+ cannot write into", "What the pointer leads to is read-only for this program.", "Use the helper that changes it."),
    Rule(r"kernel subsystem misconfigured verifier|verifier bug|bpf verifier is misconfigured", "The kernel's own table is not complete for this case: the program type has no reader for this context.", "Nothing in the program helps; use another context member or program type."),
)  # fmt: skip


def find(message: str) -> Rule | None:
    """The first row that knows a message."""
    return next((rule for rule in RULES if rule.compiled.search(message)), None)
