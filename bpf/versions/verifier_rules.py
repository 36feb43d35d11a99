"""The history of the modern verifier's rules: one field a rule, true for the versions that have it.

A row is `name: bool = since(version, commit, what)`, or `until(...)` for what a version ended; the version is the first
that has (or no longer has) it.  Corrections that stable releases got as well stand with the oldest long-term release that we
compare with (5.10.262 and 6.1.192 of Debian), not with the version of the mainline commit, which is in `what` then.
The verifier asks `env.rules.name` where the rule stands; larger differences are strategies chosen once by such a field (verifier/older.py).
docs/add-verifier-rule.md tells how a row is added; tests/bpf/verifier/test_rules.py finds rows that nobody asks for.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache

from arch.abi.version import KernelVersion
from arch.records import dataclass, field

__all__ = ["Rule", "Rules", "rule_rows", "rules_of"]


@dataclass(frozen=True, slots=True)
class Rule:
    """When a rule of the verifier holds."""

    name: str
    since: str | None
    until: str | None
    commit: str
    what: str


def since(version: str, commit: str, what: str) -> bool:
    """A field that is true from `version` on."""
    row: bool = field(metadata={"since": version, "until": None, "commit": commit, "what": what})
    return row


def until(version: str, commit: str, what: str) -> bool:
    """A field that is true before `version`."""
    row: bool = field(metadata={"since": None, "until": version, "commit": commit, "what": what})
    return row


@dataclass(frozen=True, slots=True)
class Rules:
    """What the verifier of one version does."""

    # -- what it takes at all --
    multi_function: bool = since("4.16", "cc8b0b92a169", "calls between functions of a program")
    jmp32: bool = since("5.1", "092ed0968bb6", "32-bit conditional jumps")
    direct_map_value: bool = since("5.2", "d8eca5bbb2be", "ld_imm64 of an address in a map value")
    bounded_loops: bool = since("5.3", "2589726d12a1", "loops that provably end")
    global_functions: bool = since("5.6", "51c39bb1d5d1", "functions verified by themselves")
    cap_bpf: bool = since("5.8", "2c78ee898d8f", "CAP_BPF and CAP_PERFMON instead of CAP_SYS_ADMIN")
    tail_call_in_function: bool = since("5.10", "e411901c0b77", "tail calls below the main function")
    ksym: bool = since("5.10", "4976b718c355", "ld_imm64 of a kernel variable by BTF id")
    uninit_stack: bool = since("5.10", "6715df8d5d24", "privileged programs may read uninitialised stack; of 6.3")
    atomics: bool = since("5.12", "5ca419f2864a", "fetch, exchange, compare and exchange")
    global_memory: bool = since("5.12", "e5069b9c23b3", "global functions take pointers to memory")
    callbacks: bool = since("5.13", "69c087ba6225", "functions of the program as helper arguments")
    callbacks_are_loops: bool = since(
        "6.6", "ab5cfac139ab", "callbacks are walked as if called any number of times; of 6.7, 6.6.y has it"
    )
    exact_in_loops: bool = since(
        "6.6", "2793a8b015f7", "states are compared with the ids of numbers, in loops exactly; of 6.7, 6.6.y has it"
    )
    globals_when_called: bool = since(
        "6.8", "2afae08c9dcb", "the main function is walked first, then the global functions it calls"
    )
    static_liveness: bool = since(
        "6.18", "b3698c356ad9", "what will be read of registers and stack is known before paths are walked; all of 7.1"
    )
    checked_before_walk: bool = since(
        "7.1", "503d21ef8eac", "fields of instructions are checked before any path is walked"
    )
    kfunc: bool = since("5.13", "e6ac2450d6de", "calls of listed kernel functions")
    fd_array: bool = since("5.14", "387544bfa291", "descriptors by index")
    sleepable_any_map: bool = since("5.12", "638e4b825d52", "sleepable programs use more than hashes and arrays")
    tracing_any_map: bool = since(
        "6.1", "96da3f7d489d", "tracing programs use maps that allocate when they are updated"
    )

    sleepable_spin_lock: bool = since("6.6", "5861d1e8dbc4", "sleepable programs may use spin locks")
    sleepable_storage_named: bool = since(
        "6.2", "2c40d97da1a2", "a map that sleepable programs may not use is told with local storage"
    )
    socket_spin_lock: bool = since("5.13", "69c087ba6225", "socket filters and spin locks have words of their own")
    bind_flags: bool = since("5.12", "772412176fb9", "programs at bind() may return flags")
    jump_by_imm: bool = since("6.1", "4cd58e9af8b9", "a 32-bit jump always has its distance in imm; of 6.6")
    sign_extension: bool = since("6.6", "8100928c8814", "moves and loads (1f9a1ea821ff) that extend a sign")
    byte_swap: bool = since("6.6", "0845c3db7bf5", "bytes swapped whatever the machine's order")
    signed_division: bool = since("6.6", "ec0e2da95f72", "signed quotients and remainders")
    ctx_stores_of_numbers: bool = since("6.4", "0d80a619c113", "numbers are stored into the context")

    may_goto: bool = since("6.9", "011832b97b31", "jumps that are taken when the program has gone on long enough")
    may_goto_timed: bool = since("6.15", "e723608bf4b4", "a may_goto asks the clock, not only a counter")
    empty_may_goto_removed: bool = since(
        "6.15", "0fb3cf6110a5", "a may_goto to the next instruction goes away; of 6.14"
    )
    ordered_accesses: bool = since("6.15", "880442305a39", "loads that acquire and stores that release")
    atomics_note_pointer: bool = since("6.10", "d503a04f8bc0", "atomics go through one kind of pointer on all paths")
    address_of_function: bool = since(
        "6.4", "58aa2afbb1e6", "ld_imm64 of a kernel function by BTF id: memory of no size"
    )
    trust_may_differ: bool = since("6.4", "6fcd486b3a0a", "a load may go through trusted and untrusted kernel pointers")

    # -- registers and the stack --
    stack_grows_when_checked: bool = since(
        "6.1", "6b4a64bafd10", "an access is in bounds of 512 bytes and makes the frame hold it; of 6.8"
    )
    whole_pointer_copied: bool = since("6.1", "f5e477a861a5", "scalar += pointer makes the whole register the pointer")
    operands_in_place: bool = since(
        "7.0", "-", "what is refused to the unprivileged names the pointer's register again"
    )
    flow_keys_fixed: bool = since("6.1", "22c7fa171a02", "no variable offset of a flow_keys pointer; of 6.8")
    variable_store_scrubs: bool = since(
        "6.12",
        "4639eb9e30ab",
        "a store somewhere in a range makes data of the registers spilled there; of 7.1, 6.12.y has it",
    )
    subreg_of_new_bits: bool = since("5.19", "3844d153a41a", "the low half's bits follow from the narrowed 64-bit bits")
    rdonly_memory: bool = since("5.17", "34d3a78c681e", "kernel variables can be read only; of 5.17")
    ld_abs_ends_function: bool = since(
        "6.1", "ee861486e377", "LD_ABS beyond the packet returns from a function; of 6.14"
    )

    packets_compared: bool = since("6.1", "d75e30dddf73", "the unprivileged may compare packet pointers; of 6.6")
    spilled_btf_pointer: bool = until("5.13", "cd17d38f8b28", "a helper may read a spilled kernel pointer")

    pointer_arguments_whole: bool = since(
        "6.12", "659b9ba7cb2d", "arguments that are pointers are read as a whole; of 6.13"
    )
    struct_arguments: bool = since("6.1", "720e6a435194", "functions attached to may take small structures by value")
    other_pointer_arguments: bool = since("7.1", "4145203841ba", "a pointer to no structure, as argument, is a number")
    union_arguments: bool = since("6.18", "ccb4f5d91ec4", "arguments may be unions by value")
    untrusted_devices: bool = since(
        "7.1",
        "46df585fcff7",
        "hooks that make and free a block device have one that is not whole (by their names: 9eccdd38fb50)",
    )
    elements_resolved: bool = since("6.12", "-", "elements of an array may be typedefs of structures")
    flexible_numbers: bool = since("6.1", "2569c7b8726f", "arrays of numbers at a structure's end are read; of 6.4")
    int_pointer_arguments: bool = since("5.18", "bb6728d75611", "a pointer to a number, as argument, is a number")
    sleepable_by_attach: bool = since(
        "6.2", "1e12d3ef47d2", "of tracing programs those around functions and iterators may sleep, and struct_ops"
    )
    sleepable_tracepoints: bool = since("7.2", "8cfb77d30920", "programs of system calls' tracepoints may sleep")
    tracing_hooks_return: bool = since("7.2", "-", "what a tracing program for a security hook returns is not asked")
    system_calls_modified: bool = since(
        "7.1",
        "16d9c5660692",
        "programs around system calls may sleep and change results, however the kernel is built (20c2e102a2f3)",
    )
    sleepable_kprobes: bool = since("6.0", "64ad7556c75e", "programs at uprobes may sleep")
    writable_tp_is_tracing: bool = since("6.0", "21e14bdffad4", "raw_tracepoint_writable programs are tracing programs")

    ranges_refined: bool = since(
        "6.8", "5f99f312bd3b", "all ranges of a value refine each other, and both sides of a jump learn"
    )
    signed_products: bool = since("6.14", "9aa0ebde0014", "products of numbers of either sign have ranges")
    products_united: bool = since("6.18", "1df7dad4d5c4", "bits of a product are what its two possible sums share")
    negation_tracked: bool = since("6.18", "aced132599b3", "a number with the other sign has a range")
    own_compared: bool = since("6.19", "d43ad9da8052", "a number compared with itself")
    swaps_tracked: bool = since("7.0", "9d2119984224", "known bits keep known when bytes are swapped")
    ranges_are_arcs: bool = since("7.2", "bbc631085503", "a range is one arc of the circle of numbers, signed or not")
    timers_in_tracing: bool = since(
        "7.0",
        "1bfbc267ec91",
        "tracing programs use maps with timers and work queues, whose places are checked alike (f4e72ad7c161)",
    )
    space_casts: bool = since("6.9", "6082b6c328b5", "a move may name two address spaces, of which one is the kernel's")
    equal_is_not_null: bool = since("6.2", "befae75856ab", "what equals a pointer that is not NULL is not NULL either")
    globals_move_packets: bool = since(
        "6.12", "51081a3f25c7", "a global function that moves the packet leaves no packet pointers; of 6.13"
    )
    tail_calls_move_packets: bool = since(
        "6.12", "1a4607ffba35", "behind a tail call there are no packet pointers; of 6.13"
    )
    tail_calls_return: bool = since("6.19", "e3245f899043", "only from a called function does a tail call come back")
    maps_never_null: bool = since("6.12", "5534e58f2e9b", "a map's own pointer is never NULL; of 6.17")
    map_struct_quoted: bool = since(
        "6.12", "-", "who may not look into a map is told with the name as that of a structure"
    )
    fences_for_speculation: bool = since(
        "6.17", "d6f1c85f2253", "what would be unsafe on a mispredicted path only gets a fence before it, not a refusal"
    )
    quotients_tracked: bool = since("7.0", "44fdd581d273", "what a constant divides, and the rest, have ranges")
    more_operators_tracked: bool = since("6.10", "d786957ebd3f", "or, xor and products of unknown numbers have ranges")
    misc_is_a_number: bool = since(
        "6.9", "6efbde200bf3", "eight bytes of data are as good as a spilled number nobody knows"
    )
    zero_need_not_be_precise: bool = since(
        "6.8", "e322f0bcb8d3", "a zero read from zeros of the stack is precise only where it is relied on"
    )
    arguments_prepared: bool = since(
        "6.8",
        "e26080d0da87",
        "what arguments of functions are follows from BTF and arg: tags, once, for calls and the function itself; "
        "a static function whose prototype asks for other than numbers and contexts fits without a word",
    )
    null_is_not_nonnull: bool = since("7.0", "-", "a known NULL is refused for an argument tagged arg:nonnull")
    locks_across_functions: bool = since(
        "6.9", "a44b1334aadd", "static functions are called, and left, with a lock held"
    )
    sleeping_functions_known: bool = since(
        "6.15", "e2d8f560d176", "which global functions may sleep is known where they are called"
    )
    sleepable_place_named: bool = since(
        "7.1", "a2542a91aafd", "why a global function must not sleep where it is called is named"
    )
    progs_of_devices_alike: bool = since(
        "5.18",
        "f45d5b6ce2e8",
        "programs that use a map of devices or CPUs, and those in it, are alike as those of an array are",
    )
    first_function_named_once: bool = since(
        "6.1", "9c7c48d6a1e2", "kallsyms has the first function as the program only; of 6.6"
    )
    arrays_alike_in_attach_type: bool = since(
        "6.1", "4540aed51b12", "programs that use an array of programs expect the same attach type; 5.10 did not get it"
    )
    log_rolls: bool = since("6.4", "121664093803", "a log that is too long for the buffer keeps its end")
    lines_have_places: bool = since(
        "6.9", "7cc13adbd057", "source lines are told with file and number, and once for several places in them"
    )
    untrusted_tag: bool = since("6.17", "182f7df70419", "arguments tagged arg:untrusted, read with a probe")
    storage_flags_precise: bool = since("6.12", "ac8e6e24e8c5", "flags of bpf_get_local_storage() are relied on")
    stack_in_history: bool = since("6.8", "41f6f64e6999", "the history of a path notes what touches the stack")
    constants_linked: bool = since("6.11", "98d7ca374ba4", "a copy of a number plus a constant learns with it")
    differences_linked: bool = since(
        "7.0", "7a433e519364", "a copy minus a constant, and one added to in 32 bits, learn with the number"
    )
    fills_linked: bool = since("7.0", "3cd5c890652b", "what is read back from the stack is a copy of what lies there")
    linked_shown: bool = since("7.0", "ef7d4e42d16f", "copies that learnt with a number are shown as changed")
    linked_in_history: bool = since("6.12", "4bf79f9be434", "the history of a path notes copies that learnt together")
    scalars_spilled: bool = since("6.8", "e67ddd9b1cff", "any scalar is spilled with what is known of it; of 6.9")
    narrow_fills: bool = since(
        "6.9", "c1e6148cb4f8", "the low part of a spilled scalar is read back with what is known"
    )
    ids_of_known_numbers: bool = until("6.8", "4bf79f9be434", "copies of a known number share an id; of 6.11")
    id_of_narrow_mov: bool = since("6.6", "3be49f79555e", "a 32-bit copy of a number that fits keeps the id; of 6.6")
    stack_in_16_bytes: bool = since("6.9", "c2a4dda65b3d", "with a JIT, stack is counted by 16 bytes")
    return_ranges: bool = since("6.8", "c871d0e00f0e", "what a program may return is a range of signed numbers")
    complexity_is_size: bool = since("6.12", "6ea5fc92a0fc", "too many paths that wait are E2BIG; of 6.19")
    memory_arguments_numbered: bool = until("7.2", "-", "memory that a global function is given has an id, NULL or not")
    lsm_return_range: bool = since(
        "6.12", "5d99e198be27", "programs at security hooks return 0 or an errno, and see such"
    )

    lone_ids_cleared: bool = since(
        "7.0", "b2a0aa3a8739", "at a checkpoint a number that nothing shares its id with loses it"
    )

    # -- pointers of the kernel --
    trusted_pointers: bool = since(
        "6.2", "3f00c5239344", "pointers that may be relied on, or in read sections (9bb00b2895cb)"
    )
    fields_recorded: bool = since(
        "6.2",
        "db559117828d",
        "special members of values are one record; what is wrong with one as an argument is EINVAL",
    )
    kptrs_in_objects: bool = since("6.12", "d59232afb034", "kernel pointers in objects of programs; of 6.12")
    refused_writes_told: bool = since(
        "7.1", "-", "a type of program that refuses a write into the kernel is told where"
    )
    drops_checked_in_nmi: bool = since(
        "7.2", "94c8d1c21be4", "programs that may run in an NMI drop no objects with members that need more"
    )
    results_are_errnos: bool = since("7.2", "-", "programs of control groups set 0 or an errno as the call's result")
    exchange_under_lock: bool = since("7.1", "964c0747686a", "kernel pointers are exchanged while a lock is held")
    constant_size_of_null: bool = since("7.1", "-", "a size that must be known is one beside NULL, too")
    kptrs_in_shared_objects: bool = since("7.1", "ee9886c40aae", "the same in objects that others share")
    calls_keep_registers: bool = since("6.12", "5b5f51bff1b6", "what is stored around calls that keep registers may go")
    exceptions: bool = since(
        "6.7", "f18b03fabaa9", "programs throw, and a function of theirs may say what that returns"
    )
    global_throws: bool = since(
        "7.2", "3d562d35a044", "where a global function may throw, the caller must hold nothing"
    )
    test_function_sleeps: bool = since("6.2", "5b481acab4ce", "programs at a function made for tests may sleep")
    nodes_looked_at: bool = since("6.16", "9e3e66c553f7", "programs walk through their trees and lists")
    nullable_arguments: bool = since("6.11", "8aeaed21befc", "arguments whose name ends in __nullable may be NULL")
    unions_untrusted: bool = since(
        "6.4", "6fcd486b3a0a", "pointers in unions are not trusted; tags decide about the others"
    )
    maps_are_structs: bool = since("6.6", "5ba190c29cf9", "a map is a struct bpf_map for kernel functions")
    slot_objects: bool = since("6.3", "f8064ab90d66", "dynptrs are whole: stores end them, slices know them")
    arguments_by_register: bool = since(
        "7.2", "9b9f0b42703c", "messages name arguments of kernel functions by their registers"
    )
    sections_nest: bool = since("6.18", "4167096cb964", "read sections of RCU nest")
    dynptr_parents: bool = since(
        "7.2",
        "308c7a0ae885",
        "slices name their dynptr as parent, dynptrs what they hold; what is released is of the right kind",
    )
    locks_among_references: bool = since(
        "6.14", "f6b9a69a9e56", "a lock that is held is one of the references; loops over numbers run under it"
    )
    references_in_order: bool = since("7.1", "-", "references keep their order when one is given back")
    casts_to_memory: bool = since(
        "6.17", "d2ae8b09c4ee", "bpf_rdonly_cast() to void gives memory that cannot be relied on"
    )
    other_pointers_read: bool = since(
        "6.17", "2d5c91e1cc14", "a pointer to no struct is memory that cannot be relied on"
    )
    sections_end_with_program: bool = since(
        "6.13", "d402755ced2e", "what is held at the end of a program is told as that"
    )
    acquire_is_strict: bool = until("6.12", "f633919d1325", "what is acquired is of exactly the type asked for")
    acquired_trusted: bool = since("7.0", "f8ade2342e22", "what a kernel function acquires is trusted by its type, too")
    protection_at_call: bool = since(
        "6.18", "1512231b6cc8", "functions that need a read section are refused outside of one"
    )
    slot_args_from_0: bool = since("6.12", "bd74e238ae69", "dynptr and iterator arguments are counted from 0; of 6.13")

    # -- helpers --
    task_stack_size: bool = since("5.12", "fd0b88f73f53", "bpf_get_task_stack() returns at most the buffer's size")
    composed_types: bool = since(
        "5.17", "c25b2ae13603", "types are a base and flags: words about pointers that may be NULL"
    )
    allocated_memory: bool = since("5.17", "a672b2e36a64", "memory of a ring buffer is a type of its own")
    map_keys: bool = since("5.13", "69c087ba6225", "keys of maps are pointers of their own")
    fixed_size_memory: bool = since("6.1", "32556ce93bc4", "results by pointer are memory of a fixed size; of 6.12")
    constant_allocation: bool = since("6.1", "2fc31465c537", "a size to allocate is precise")
    sleepable_helpers_named: bool = since("6.1", "01685c5bddaa", "helpers say whether they sleep")
    argument_offsets: bool = since("5.17", "6788ab23508b", "offsets of pointer arguments are checked for every kind")
    release_flag: bool = since("5.19", "8f14852e8911", "OBJ_RELEASE says which argument is released")
    access_of_argument: bool = since(
        "6.1", "6fad274f06f0", "MEM_WRITE says whether a helper writes an argument; of 6.12"
    )
    ctx_as_memory: bool = since(
        "5.15", "3e8ce29850f1", "a context that is no rewritten one is memory for helpers; of 5.15"
    )

    sleeping_helper_named: bool = since("7.1", "a0d06cf102e4", "a helper that would sleep is named when it may not")
    fsession: bool = since("7.0", "2d419c44658f", "programs around a function, at its entry and its exit")
    processor_in_range: bool = since("6.12", "-", "the number of the processor is one that is possible")
    zero_size_named: bool = since(
        "6.8", "8a021e7fa105", "a size that may be zero is refused before the memory is looked at"
    )
    loop_count_is_number: bool = since("6.12", "5f577c5cd4e6", "the count of bpf_loop() is no pointer")
    lookup_size_may_be_zero: bool = since("6.8", "d4cb4e8d6b34", "sizes of socket lookups may be zero")
    memory_for_keys: bool = since("6.3", "d1673304097c", "keys and values of maps may be any memory")
    ctx_offsets: bool = since(
        "7.1",
        "ae5ef001aa98",
        "contexts that are not rewritten have fixed offsets, those of syscall programs any, and these only are memory for helpers",
    )
    ctx_named_as_memory: bool = since("7.0", "-", "a context is among the kinds of memory that a refusal names")
    signed_fills_unlinked: bool = since(
        "7.2", "-", "a number that a fill with its sign changes is no copy of what was spilled"
    )
    null_argument_precise: bool = since(
        "6.12", "-", "a NULL that stands for memory is a precise 0; of 7.0, 6.12.y has it"
    )
    arena_signed_loads: bool = since("6.18", "a91ae3c89311", "loads from arenas may extend a sign")
    arena_ends_before_size: bool = since("7.2", "-", "the address behind an arena's last byte cannot be loaded")
    constant_keys: bool = since("6.14", "d2102f2f5d75", "an array's element at a known key is there")
    helper_refused_by_type: bool = since(
        "6.10", "786bf0e7e2ec", "a helper that the type of program may not use is told as that"
    )
    offset_in_stack_words: bool = since(
        "6.8", "1d38a9ee8157", "a variable access of the stack is told with its fixed part"
    )

    # -- paths --
    attached_after_cfg: bool = since("6.12", "-", "what the program attaches to is looked up when its shape is known")
    wide_imm64_in_cfg: bool = since("6.1", "3feb263bb516", "the second half of ld_imm64 is no instruction; of 6.8")
    jump_points: bool = since("6.1", "bffdeaa8a5af", "the history of jumps is kept apart from pruning; of 6.2")

    prune_after_goto: bool = until("6.1", "bffdeaa8a5af", "the instruction behind a jump is a pruning point; of 6.2")

    any_cycle: bool = since(
        "6.6",
        "10e14e9652bf",
        "recursion is no matter of the program's shape, but of the depth of calls; of 6.7, 6.6.y has it",
    )
    casts_keep_reference: bool = since(
        "7.2", "-", "a socket that is held keeps its reference under another name, or is NULL on a path of its own"
    )
    recursion_named: bool = since(
        "7.1", "e6898ec751e4", "a function that calls itself is refused before any path is walked"
    )
    registers_written: bool = since(
        "6.18", "7384893d970e", "programs on probes may write the registers; they only get at uprobes"
    )
    unaligned_syscall_context: bool = since(
        "7.1", "f25777056e24", "the context of a system call's program needs no alignment"
    )
    packet_ends_forgotten: bool = since(
        "7.2", "-", "any arithmetic makes a packet pointer one whose distance to the end is not known"
    )
    indirect_jumps_named: bool = since(
        "6.19", "493d9e0d6083", "jumps to a place in a register are known, and refused by their fields"
    )
    missing_kfunc_told: bool = since(
        "7.1",
        "1a1cadbd5d50",
        "analyses know nothing of functions that are not allowed, and say each time that one is not there",
    )
    callbacks_use_registers: bool = since(
        "6.12", "-", "numbers given to a function that calls back are followed through the callback"
    )
    more_call_frames: bool = since("7.2", "2148794eeaf2", "functions call each other 16 deep, not 8")

    # -- the log --
    precision_at_level_1: bool = until("5.17", "496f3324048b", "going back for precision is told at level 1")
    marks_after_state: bool = until(
        "5.17", "2e5766483c8c", "a checkpoint's state is printed before what it was asked for"
    )
    state_after_insn: bool = since("5.17", "2e5766483c8c", "what an instruction changed is printed behind it")
    liveness_shown: bool = until("6.18", "107e16979905", "registers and slots are shown with what was read and written")
    constants_as_numbers: bool = since("6.8", "0f8dbdbc641b", "known bits of a single number are written as the number")
    fills_shown: bool = since("6.8", "67d43dfbb42d", "a slot that is read counts as changed")
    loop_states_shown: bool = since("6.8", "b4d8239534fd", "an endless loop is told with both states")
    spare_state: bool = since(
        "6.8", "1db747d75b1d", "states without zero offsets, with names of maps and spilled registers"
    )
    offsets_in_bounds: bool = since("7.1", "022ac0750883", "a pointer's fixed offset is part of its bounds")
    reads_and_writes_named: bool = since(
        "6.14", "37cce22dbd51", "a helper reads or writes the stack as its prototype says, and is told so"
    )
    leaks_explained: bool = since("6.13", "d402755ced2e", "what would leak a reference is said after the reference")
    bugs_named: bool = since("6.17", "1cb0f56d9618", "what should not happen is told as a bug of the verifier")
    id_kept_when_not_null: bool = since("7.2", "06d518a5583f", "a pointer that is not NULL keeps the id it had")
    short_state: bool = since("5.18", "7df5072cc05f", "states without what says nothing: scalar for inv, no id=0")


def rule_rows() -> list[Rule]:
    """All rows, in order."""
    return [Rule(row.name, **row.metadata) for row in fields(Rules)]


@cache
def rules_of(version: KernelVersion) -> Rules:
    """The rules of one version."""
    return Rules(**{row.name: version.within(row.since, row.until) for row in rule_rows()})
