"""Calls of bpf(2), one row each, that the real Linux 6.1 answered: see syscall_probe.c and syscall_6_1.txt.

A row is a name, a command, members of the attributes, and the size passed (default: all 144 bytes).  A value that
starts with $ is a descriptor or an address that both sides have made beforehand, in this order:
"""

SYMBOLS = (
    # descriptors
    "closed",  # 999
    "other",  # an open file that is nothing of BPF's
    "array",  # ARRAY 4/8/2
    "hash",  # HASH 8/8/2, holds key 0
    "queue",  # QUEUE 0/8/2
    "stack",  # STACK 0/8/2
    "bloom",  # BLOOM_FILTER 0/8/2
    "lpm",  # LPM_TRIE 8/8/2
    "ringbuf",  # RINGBUF 4096
    "percpu",  # PERCPU_ARRAY 4/8/2
    "lru",  # LRU_HASH 4/8/2
    "progs",  # PROG_ARRAY 4/4/2
    "perf",  # PERF_EVENT_ARRAY 4/4/2
    "traces",  # STACK_TRACE 4/16/2
    "outer",  # ARRAY_OF_MAPS 4/4/2 of the array
    "frozen",  # ARRAY 4/8/2, frozen
    "read_only",  # ARRAY 4/8/2, BPF_F_RDONLY
    "write_only",  # ARRAY 4/8/2, BPF_F_WRONLY
    "filter",  # socket filter: return 0
    "kprobe",  # kprobe program: return 0
    "tracer",  # raw tracepoint program: return 0
    # addresses
    "bad",  # not mapped
    "key0",  # 8 bytes 0
    "key1",  # 1
    "key2",  # 2
    "value",  # 8 bytes 7
    "out",  # 4096 bytes to write to, zero
    "big",  # 4096 bytes of 0xff
    "insns",  # return 0
    "endless",  # goto -1; never ends
    "gpl",  # "GPL"
    "fd_array",  # descriptor of the array
    "fd_filter",  # descriptor of the filter
    "count2",  # 2
    "packet",  # 64 bytes of zeros
    "name",  # "sys_enter"
    "noname",  # "no_such_tracepoint"
)

(CREATE, LOOKUP, UPDATE, DELETE, NEXT, LOAD, PIN, GET, ATTACH, DETACH, RUN) = range(11)
(PROG_NEXT, MAP_NEXT, PROG_FD, MAP_FD, INFO, QUERY, RAW_TP, BTF, BTF_FD, TASK_FD, TAKE, FREEZE) = range(11, 23)
(BTF_NEXT, B_LOOKUP, B_TAKE, B_UPDATE, B_DELETE, LINK, LINK_UP, LINK_FD, LINK_NEXT, STATS, ITER, UNLINK, BIND) = range(
    23, 36
)
HASH, ARRAY, PROG_ARRAY, PERF, PCPU_HASH, PCPU_ARRAY, STACKS, CGROUPS, LRU = 1, 2, 3, 4, 5, 6, 7, 8, 9
LPM, MAP_ARRAY, DEVMAP, SOCKMAP, CPUMAP, XSKMAP, SOCKHASH, CG_STORAGE, REUSEPORT = 11, 12, 14, 15, 16, 17, 18, 19, 20
QUEUE, STACK, SK_STORAGE, STRUCT_OPS, RINGBUF, TASK_STORAGE, BLOOM, USER_RINGBUF = 22, 23, 24, 26, 27, 29, 30, 31


def _map(kind, key=4, value=8, entries=2, **more):
    return {"map_type": kind, "key_size": key, "value_size": value, "max_entries": entries, **more}


def _load(kind=1, cnt=2, insns="$insns", **more):
    return {"prog_type": kind, "insn_cnt": cnt, "insns": insns, "license": "$gpl", **more}


def _elem(fd, key="$key0", value="$out", **more):
    return {"map_fd": fd, "key": key, "value": value, **more}


MAP_ROWS = [
    ("create unspec", CREATE, _map(0)),
    ("create unknown type", CREATE, _map(32)),
    ("create huge type", CREATE, _map(1 << 31)),
    ("create tail", CREATE, {**_map(ARRAY), "@72": 1}),
    ("create array key 8", CREATE, _map(ARRAY, 8)),
    ("create array no value", CREATE, _map(ARRAY, 4, 0)),
    ("create array empty", CREATE, _map(ARRAY, 4, 8, 0)),
    ("create array unknown flag", CREATE, _map(ARRAY, map_flags=1 << 13)),
    ("create array no_prealloc", CREATE, _map(ARRAY, map_flags=1)),
    ("create array rdonly+wronly", CREATE, _map(ARRAY, map_flags=0x18)),
    ("create array rdonly_prog+wronly_prog", CREATE, _map(ARRAY, map_flags=0x180)),
    ("create array large value", CREATE, _map(ARRAY, 4, 1 << 31, 1)),
    ("create array preserve", CREATE, _map(ARRAY, map_flags=0x800)),
    ("create array numa 5", CREATE, _map(ARRAY, map_flags=4, numa_node=5)),
    ("create array numa 0", CREATE, _map(ARRAY, map_flags=4, numa_node=0)),
    ("create array map_extra", CREATE, _map(ARRAY, map_extra=1)),
    ("create array btf key only", CREATE, _map(ARRAY, btf_key_type_id=1)),
    ("create array btf no fd", CREATE, _map(ARRAY, btf_value_type_id=1, btf_fd="$closed")),
    ("create array btf not btf", CREATE, _map(ARRAY, btf_value_type_id=1, btf_fd="$array")),
    ("create array vmlinux type", CREATE, _map(ARRAY, btf_vmlinux_value_type_id=1)),
    ("create array bad name", CREATE, _map(ARRAY, map_name=b"a b")),
    ("create array long name", CREATE, _map(ARRAY, map_name=b"a" * 16)),
    ("create array name and more", CREATE, _map(ARRAY, map_name=b"a\0b")),
    ("create percpu large value", CREATE, _map(PCPU_ARRAY, 4, 32769)),
    ("create percpu mmapable", CREATE, _map(PCPU_ARRAY, map_flags=0x400)),
    ("create percpu numa", CREATE, _map(PCPU_ARRAY, map_flags=4)),
    ("create prog array value 8", CREATE, _map(PROG_ARRAY)),
    ("create prog array rdonly_prog", CREATE, _map(PROG_ARRAY, 4, 4, map_flags=0x80)),
    ("create hash key 0", CREATE, _map(HASH, 0)),
    ("create hash value 0", CREATE, _map(HASH, 8, 0)),
    ("create hash large", CREATE, _map(HASH, 8, 1 << 22)),
    ("create hash entries 2^32-1", CREATE, _map(HASH, 8, 8, (1 << 32) - 1)),
    ("create hash common lru", CREATE, _map(HASH, 8, 8, map_flags=2)),
    ("create hash mmapable", CREATE, _map(HASH, 8, 8, map_flags=0x400)),
    ("create percpu hash numa", CREATE, _map(PCPU_HASH, 8, 8, map_flags=4)),
    ("create lru no_prealloc", CREATE, _map(LRU, 8, 8, map_flags=1)),
    ("create lru percpu lists numa", CREATE, _map(LRU, 8, 8, map_flags=6)),
    ("create lpm prealloc", CREATE, _map(LPM, 8)),
    ("create lpm short key", CREATE, _map(LPM, 4, 8, map_flags=1)),
    ("create lpm long key", CREATE, _map(LPM, 261, 8, map_flags=1)),
    ("create queue with key", CREATE, _map(QUEUE, 4)),
    ("create queue no_prealloc", CREATE, _map(QUEUE, 0, map_flags=1)),
    ("create queue huge value", CREATE, _map(QUEUE, 0, (1 << 22) + 1)),
    ("create stack empty", CREATE, _map(STACK, 0, 8, 0)),
    ("create bloom with key", CREATE, _map(BLOOM, 4)),
    ("create bloom extra 16", CREATE, _map(BLOOM, 0, map_extra=16)),
    ("create ringbuf 4095", CREATE, _map(RINGBUF, 0, 0, 4095)),
    ("create ringbuf 0", CREATE, _map(RINGBUF, 0, 0, 0)),
    ("create ringbuf 12288", CREATE, _map(RINGBUF, 0, 0, 12288)),
    ("create ringbuf value", CREATE, _map(RINGBUF, 0, 8, 4096)),
    ("create user ringbuf key", CREATE, _map(USER_RINGBUF, 4, 0, 4096)),
    ("create stack trace 128", CREATE, _map(STACKS, 4, 1024)),
    ("create stack trace 12", CREATE, _map(STACKS, 4, 12)),
    ("create stack trace prealloc", CREATE, _map(STACKS, 4, 16, map_flags=1)),
    ("create stack trace build id 16", CREATE, _map(STACKS, 4, 16, map_flags=0x20)),
    ("create map array no inner", CREATE, _map(MAP_ARRAY, 4, 4)),
    ("create map array closed inner", CREATE, _map(MAP_ARRAY, 4, 4, inner_map_fd="$closed")),
    ("create map array prog inner", CREATE, _map(MAP_ARRAY, 4, 4, inner_map_fd="$filter")),
    ("create map array nested", CREATE, _map(MAP_ARRAY, 4, 4, inner_map_fd="$outer")),
    ("create map array progs", CREATE, _map(MAP_ARRAY, 4, 4, inner_map_fd="$progs")),
    ("create map array perf", CREATE, _map(MAP_ARRAY, 4, 4, inner_map_fd="$perf")),
    ("create map array value 8", CREATE, _map(MAP_ARRAY, 4, 8, inner_map_fd="$array")),
    ("create devmap key 8", CREATE, _map(DEVMAP, 8, 4)),
    ("create cpumap many", CREATE, _map(CPUMAP, 4, 4, 8193)),
    ("create xskmap value 8", CREATE, _map(XSKMAP)),
    ("create sockmap value 5", CREATE, _map(SOCKMAP, 4, 5)),
    ("create sockhash key 513", CREATE, _map(SOCKHASH, 513, 4)),
    ("create cgroup storage entries", CREATE, _map(CG_STORAGE, 8, 8, 1)),
    ("create cgroup storage key 4", CREATE, _map(CG_STORAGE, 4, 8, 0)),
    ("create cgroup storage huge", CREATE, _map(CG_STORAGE, 8, 65536, 0)),
    ("create reuseport value 6", CREATE, _map(REUSEPORT, 4, 6)),
    ("create task storage no btf", CREATE, _map(TASK_STORAGE, 4, 8, 0, map_flags=1)),
    ("create sk storage prealloc", CREATE, _map(SK_STORAGE, 4, 8, 0)),
    ("create struct_ops", CREATE, _map(STRUCT_OPS, 4, 8, 1)),
    ("create cgroup array value 8", CREATE, _map(CGROUPS)),
]

ELEM_ROWS = [
    ("lookup closed", LOOKUP, _elem("$closed")),
    ("lookup other", LOOKUP, _elem("$other")),
    ("lookup prog", LOOKUP, _elem("$filter")),
    ("lookup tail", LOOKUP, {**_elem("$closed"), "@32": 1}),
    ("lookup flags 1", LOOKUP, _elem("$array", flags=1)),
    ("lookup lock", LOOKUP, _elem("$array", flags=4)),
    ("lookup", LOOKUP, _elem("$array")),
    ("lookup null key", LOOKUP, _elem("$array", 0)),
    ("lookup bad key", LOOKUP, _elem("$array", "$bad")),
    ("lookup bad value", LOOKUP, _elem("$array", "$key0", "$bad")),
    ("lookup past end", LOOKUP, _elem("$array", "$key2")),
    ("lookup hash missing", LOOKUP, _elem("$hash", "$key1")),
    ("lookup hash", LOOKUP, _elem("$hash")),
    ("lookup queue", LOOKUP, _elem("$queue", 0)),
    ("lookup queue key", LOOKUP, _elem("$queue")),
    ("lookup bloom", LOOKUP, _elem("$bloom", 0)),
    ("lookup bloom bad", LOOKUP, _elem("$bloom", 0, "$bad")),
    ("lookup lpm", LOOKUP, _elem("$lpm")),
    ("lookup ringbuf", LOOKUP, _elem("$ringbuf", 0)),
    ("lookup percpu", LOOKUP, _elem("$percpu")),
    ("lookup lru", LOOKUP, _elem("$lru")),
    ("lookup progs", LOOKUP, _elem("$progs")),
    ("lookup perf", LOOKUP, _elem("$perf")),
    ("lookup traces", LOOKUP, _elem("$traces")),
    ("lookup outer", LOOKUP, _elem("$outer")),
    ("lookup frozen", LOOKUP, _elem("$frozen")),
    ("lookup read_only", LOOKUP, _elem("$read_only")),
    ("lookup write_only", LOOKUP, _elem("$write_only")),
    ("update closed", UPDATE, _elem("$closed", value="$value")),
    ("update array", UPDATE, _elem("$array", value="$value")),
    ("update array past end", UPDATE, _elem("$array", "$key2", "$value")),
    ("update array noexist", UPDATE, _elem("$array", value="$value", flags=1)),
    ("update array flags 3", UPDATE, _elem("$array", value="$value", flags=3)),
    ("update array flags 8", UPDATE, _elem("$array", value="$value", flags=8)),
    ("update array lock", UPDATE, _elem("$array", value="$value", flags=4)),
    ("update array bad value", UPDATE, _elem("$array", value="$bad")),
    ("update array past end, noexist", UPDATE, _elem("$array", "$key2", "$value", flags=1)),
    ("update hash exist missing", UPDATE, _elem("$hash", "$key1", "$value", flags=2)),
    ("update hash noexist there", UPDATE, _elem("$hash", "$key0", "$value", flags=1)),
    ("update hash 1", UPDATE, _elem("$hash", "$key1", "$value")),
    ("update hash full", UPDATE, _elem("$hash", "$key2", "$value")),
    ("update hash full exist", UPDATE, _elem("$hash", "$key2", "$value", flags=2)),
    ("update hash flags 3", UPDATE, _elem("$hash", "$key0", "$value", flags=3)),
    ("update queue with key", UPDATE, _elem("$queue", value="$value")),
    ("update queue noexist", UPDATE, _elem("$queue", 0, "$value", flags=1)),
    ("update queue", UPDATE, _elem("$queue", 0, "$value")),
    ("update queue 2", UPDATE, _elem("$queue", 0, "$value")),
    ("update queue full", UPDATE, _elem("$queue", 0, "$value")),
    ("update queue full exist", UPDATE, _elem("$queue", 0, "$value", flags=2)),
    ("update bloom", UPDATE, _elem("$bloom", 0, "$value")),
    ("update bloom exist", UPDATE, _elem("$bloom", 0, "$value", flags=2)),
    ("update lpm", UPDATE, _elem("$lpm", "$key1", "$value")),
    ("update lpm long prefix", UPDATE, _elem("$lpm", "$big", "$value")),
    ("update lpm noexist there", UPDATE, _elem("$lpm", "$key1", "$value", flags=1)),
    ("update lpm exist missing", UPDATE, _elem("$lpm", "$key2", "$value", flags=2)),
    ("update lpm 2", UPDATE, _elem("$lpm", "$key2", "$value")),
    ("update lpm full", UPDATE, _elem("$lpm", "$key0", "$value")),
    ("update ringbuf", UPDATE, _elem("$ringbuf", 0, "$value")),
    ("update percpu", UPDATE, _elem("$percpu", value="$value")),
    ("update percpu lock", UPDATE, _elem("$percpu", value="$value", flags=4)),
    ("update lru", UPDATE, _elem("$lru", value="$value")),
    ("update lru exist missing", UPDATE, _elem("$lru", "$key1", "$value", flags=2)),
    ("update lru lock", UPDATE, _elem("$lru", "$key1", "$value", flags=4)),
    ("update progs bad fd", UPDATE, _elem("$progs", value="$value")),
    ("update progs", UPDATE, _elem("$progs", value="$fd_filter")),
    ("update progs map", UPDATE, _elem("$progs", "$key1", "$fd_array")),
    ("update progs noexist", UPDATE, _elem("$progs", value="$fd_filter", flags=1)),
    ("update progs past end", UPDATE, _elem("$progs", "$key2", "$fd_filter")),
    ("update perf prog", UPDATE, _elem("$perf", value="$fd_filter")),
    ("update traces", UPDATE, _elem("$traces", value="$value")),
    ("update outer", UPDATE, _elem("$outer", value="$fd_array")),
    ("update outer prog", UPDATE, _elem("$outer", value="$fd_filter")),
    ("update frozen", UPDATE, _elem("$frozen", value="$value")),
    ("update read_only", UPDATE, _elem("$read_only", value="$value")),
    ("update write_only", UPDATE, _elem("$write_only", value="$value")),
    ("delete array", DELETE, {"map_fd": "$array", "key": "$key0"}),
    ("delete tail", DELETE, {"map_fd": "$array", "key": "$key0", "@16": 1}),
    ("delete hash missing", DELETE, {"map_fd": "$hash", "key": "$key2"}),
    ("delete hash", DELETE, {"map_fd": "$hash", "key": "$key1"}),
    ("delete queue", DELETE, {"map_fd": "$queue", "key": 0}),
    ("delete bloom", DELETE, {"map_fd": "$bloom", "key": 0}),
    ("delete lpm missing", DELETE, {"map_fd": "$lpm", "key": "$key0"}),
    ("delete lpm", DELETE, {"map_fd": "$lpm", "key": "$key2"}),
    ("delete ringbuf", DELETE, {"map_fd": "$ringbuf", "key": 0}),
    ("delete percpu", DELETE, {"map_fd": "$percpu", "key": "$key0"}),
    ("delete lru", DELETE, {"map_fd": "$lru", "key": "$key0"}),
    ("delete progs", DELETE, {"map_fd": "$progs", "key": "$key0"}),
    ("delete progs again", DELETE, {"map_fd": "$progs", "key": "$key0"}),
    ("delete traces", DELETE, {"map_fd": "$traces", "key": "$key0"}),
    ("delete outer", DELETE, {"map_fd": "$outer", "key": "$key0"}),
    ("delete outer past end", DELETE, {"map_fd": "$outer", "key": "$key2"}),
    ("delete frozen", DELETE, {"map_fd": "$frozen", "key": "$key0"}),
    ("next array", NEXT, {"map_fd": "$array", "key": "$key0", "next_key": "$out"}),
    ("next array null", NEXT, {"map_fd": "$array", "key": 0, "next_key": "$out"}),
    ("next array last", NEXT, {"map_fd": "$array", "key": "$key1", "next_key": "$out"}),
    ("next array bad", NEXT, {"map_fd": "$array", "key": "$bad", "next_key": "$out"}),
    ("next array bad out", NEXT, {"map_fd": "$array", "key": "$key0", "next_key": "$bad"}),
    ("next hash", NEXT, {"map_fd": "$hash", "key": 0, "next_key": "$out"}),
    ("next hash last", NEXT, {"map_fd": "$hash", "key": "$key0", "next_key": "$out"}),
    ("next queue", NEXT, {"map_fd": "$queue", "key": 0, "next_key": "$out"}),
    ("next bloom", NEXT, {"map_fd": "$bloom", "key": 0, "next_key": "$out"}),
    ("next lpm", NEXT, {"map_fd": "$lpm", "key": 0, "next_key": "$out"}),
    ("next ringbuf", NEXT, {"map_fd": "$ringbuf", "key": 0, "next_key": "$out"}),
    ("next progs", NEXT, {"map_fd": "$progs", "key": 0, "next_key": "$out"}),
    ("next traces", NEXT, {"map_fd": "$traces", "key": 0, "next_key": "$out"}),
    ("next write_only", NEXT, {"map_fd": "$write_only", "key": 0, "next_key": "$out"}),
    ("take array", TAKE, _elem("$array")),
    ("take hash missing", TAKE, _elem("$hash", "$key2")),
    ("take hash", TAKE, _elem("$hash")),
    ("take queue", TAKE, _elem("$queue", 0)),
    ("take queue lock", TAKE, _elem("$queue", 0, flags=4)),
    ("take stack empty", TAKE, _elem("$stack", 0)),
    ("take lpm", TAKE, _elem("$lpm")),
    ("take lru missing", TAKE, _elem("$lru")),
    ("take flags", TAKE, _elem("$hash", flags=1)),
    ("take bloom", TAKE, _elem("$bloom", 0)),
    ("freeze closed", FREEZE, {"map_fd": "$closed"}),
    ("freeze again", FREEZE, {"map_fd": "$frozen"}),
    ("freeze tail", FREEZE, {"map_fd": "$frozen", "@4": 1}),
    ("freeze prog", FREEZE, {"map_fd": "$filter"}),
]


def _batch(fd, count=2, **more):
    return {"keys": "$key0", "values": "$out", "count": count, "map_fd": fd, "out_batch": "$out", **more}


BATCH_ROWS = [
    ("batch closed", B_LOOKUP, _batch("$closed")),
    ("batch none", B_LOOKUP, _batch("$array", 0)),
    ("batch array lookup", B_LOOKUP, _batch("$array", 1, keys="$out")),
    ("batch array all", B_LOOKUP, _batch("$array", 9, keys="$out")),
    ("batch array flags", B_LOOKUP, _batch("$array", flags=1, keys="$out")),
    ("batch array elem flags", B_LOOKUP, _batch("$array", elem_flags=1)),
    ("batch array take", B_TAKE, _batch("$array")),
    ("batch array delete", B_DELETE, _batch("$array")),
    ("batch array update", B_UPDATE, _batch("$array", 1, values="$value")),
    ("batch hash update", B_UPDATE, _batch("$hash", 1, values="$value")),
    ("batch hash lookup flags", B_LOOKUP, _batch("$hash", flags=1)),
    ("batch hash lookup", B_LOOKUP, _batch("$hash", 5, keys="$out")),
    ("batch hash lookup far", B_LOOKUP, _batch("$hash", 5, keys="$out", in_batch="$big")),
    ("batch hash bad keys", B_LOOKUP, _batch("$hash", 5, keys="$bad")),
    ("batch hash take", B_TAKE, _batch("$hash", 5, keys="$out")),
    ("batch hash delete missing", B_DELETE, _batch("$hash", 1)),
    ("batch queue", B_LOOKUP, _batch("$queue")),
    ("batch progs", B_LOOKUP, _batch("$progs")),
    ("batch lpm", B_LOOKUP, _batch("$lpm", 1, keys="$out")),
    ("batch lru lookup", B_LOOKUP, _batch("$lru", 1, keys="$out")),
    ("batch frozen update", B_UPDATE, _batch("$frozen", 1, values="$value")),
    ("batch tail", B_LOOKUP, {**_batch("$array"), "@56": 1}),
]

PROG_ROWS = [
    ("load tail", LOAD, {**_load(), "@140": 1}),
    ("load unspec", LOAD, _load(0)),
    ("load type 32", LOAD, _load(32)),
    ("load type huge", LOAD, _load(1 << 31)),
    ("load unknown prog_flags", LOAD, _load(prog_flags=1 << 6)),
    ("load bad license", LOAD, _load(license="$bad")),
    ("load no insns", LOAD, _load(cnt=0)),
    ("load too many", LOAD, _load(cnt=1000001)),
    ("load bad insns", LOAD, _load(insns="$bad")),
    ("load bad insns, bad type", LOAD, _load(40, insns="$bad")),
    ("load too many, bad type", LOAD, _load(40, cnt=1000001)),
    ("load bad name", LOAD, _load(prog_name=b"a-b")),
    ("load bad type and name", LOAD, _load(40, prog_name=b"a-b")),
    ("load endless", LOAD, _load(cnt=1, insns="$endless")),
    ("load log level only", LOAD, _load(log_level=1)),
    ("load log small", LOAD, _load(log_level=1, log_size=127, log_buf="$out")),
    ("load log no level", LOAD, _load(log_size=128, log_buf="$out")),
    ("load log level 8", LOAD, _load(log_level=8, log_size=128, log_buf="$out")),
    ("load log bad buffer", LOAD, _load(log_level=1, log_size=128, log_buf="$bad")),
    ("load log too small", LOAD, _load(log_level=2, log_size=128, log_buf="$out")),
    ("load attach type of another", LOAD, _load(9, expected_attach_type=8)),
    ("load attach type unknown", LOAD, _load(1, expected_attach_type=77)),
    ("load btf id", LOAD, _load(1, attach_btf_id=1)),
    ("load tracing no id", LOAD, _load(26, expected_attach_type=24)),
    ("load tracing bad id", LOAD, _load(26, expected_attach_type=24, attach_btf_id=0x7FFFFFF)),
    ("load attach_prog closed", LOAD, _load(26, attach_prog_fd="$closed")),
    ("load attach_prog on filter", LOAD, _load(1, attach_prog_fd="$filter")),
    ("load func_info without btf", LOAD, _load(func_info_cnt=1, func_info_rec_size=8, func_info="$key0")),
    ("load func_info small", LOAD, _load(func_info_cnt=1, func_info_rec_size=4, func_info="$key0")),
    ("load sleepable filter", LOAD, _load(prog_flags=16)),
    ("load ifindex", LOAD, _load(prog_ifindex=1)),
    ("run closed", RUN, {"prog_fd": "$closed"}),
    ("run map", RUN, {"prog_fd": "$array"}),
    ("run tail", RUN, {"prog_fd": "$filter", "@76": 1}),
    ("run no data", RUN, {"prog_fd": "$filter"}),
    ("run 13 bytes", RUN, {"prog_fd": "$filter", "data_in": "$packet", "data_size_in": 13}),
    ("run", RUN, {"prog_fd": "$filter", "data_in": "$packet", "data_size_in": 64}),
    ("run bad data", RUN, {"prog_fd": "$filter", "data_in": "$bad", "data_size_in": 64}),
    ("run too large", RUN, {"prog_fd": "$filter", "data_in": "$big", "data_size_in": 4000}),
    (
        "run small out",
        RUN,
        {"prog_fd": "$filter", "data_in": "$packet", "data_size_in": 64, "data_out": "$out", "data_size_out": 8},
    ),
    ("run ctx size only", RUN, {"prog_fd": "$filter", "ctx_size_in": 8}),
    ("run flags", RUN, {"prog_fd": "$filter", "data_in": "$packet", "data_size_in": 64, "flags": 1}),
    ("run kprobe", RUN, {"prog_fd": "$kprobe"}),
    ("run tracer", RUN, {"prog_fd": "$tracer"}),
    ("run tracer data", RUN, {"prog_fd": "$tracer", "data_in": "$packet", "data_size_in": 64}),
    ("run tracer cpu 77", RUN, {"prog_fd": "$tracer", "flags": 1, "cpu": 77}),
    ("bind closed", BIND, {"prog_fd": "$closed", "map_fd": "$array"}),
    ("bind no map", BIND, {"prog_fd": "$filter", "map_fd": "$filter"}),
    ("bind", BIND, {"prog_fd": "$filter", "map_fd": "$array"}),
    ("bind flags", BIND, {"prog_fd": "$filter", "map_fd": "$array", "flags": 1}),
]

OBJECT_ROWS = [
    ("pin flags", PIN, {"pathname": "$noname", "bpf_fd": "$array", "file_flags": 8}),
    ("pin closed", PIN, {"pathname": "$noname", "bpf_fd": "$closed"}),
    ("pin other", PIN, {"pathname": "$noname", "bpf_fd": "$other"}),
    ("get fd given", GET, {"pathname": "$noname", "bpf_fd": 3}),
    ("get flags", GET, {"pathname": "$noname", "file_flags": 1}),
    ("get both flags", GET, {"pathname": "$noname", "file_flags": 0x18}),
    ("prog next 2^31", PROG_NEXT, {"start_id": 0x7FFFFFFF}),
    ("prog next far", PROG_NEXT, {"start_id": 0x7FFFFFFE}),
    ("prog next", PROG_NEXT, {"start_id": 0}),
    ("map next", MAP_NEXT, {"start_id": 0}),
    ("map next tail", MAP_NEXT, {"start_id": 0, "@8": 1}),
    ("btf next", BTF_NEXT, {"start_id": 0}),
    ("link next", LINK_NEXT, {"start_id": 0}),
    ("prog fd 0", PROG_FD, {"start_id": 0}),
    ("prog fd far", PROG_FD, {"start_id": 0x7FFFFFFE}),
    ("prog fd tail", PROG_FD, {"start_id": 1, "next_id": 1}),
    ("map fd far", MAP_FD, {"start_id": 0x7FFFFFFE}),
    ("map fd flags", MAP_FD, {"start_id": 0x7FFFFFFE, "open_flags": 1}),
    ("map fd both flags", MAP_FD, {"start_id": 0x7FFFFFFE, "open_flags": 0x18}),
    ("btf fd far", BTF_FD, {"start_id": 0x7FFFFFFE}),
    ("link fd far", LINK_FD, {"start_id": 0x7FFFFFFE}),
    ("info closed", INFO, {"bpf_fd": "$closed", "info": "$out", "info_len": 8}),
    ("info other", INFO, {"bpf_fd": "$other", "info": "$out", "info_len": 8}),
    ("info map 0", INFO, {"bpf_fd": "$array", "info": "$out", "info_len": 0}),
    ("info map", INFO, {"bpf_fd": "$array", "info": "$out", "info_len": 88}),
    ("info map longer zero", INFO, {"bpf_fd": "$array", "info": "$packet", "info_len": 64}),
    ("info map longer ones", INFO, {"bpf_fd": "$array", "info": "$big", "info_len": 200}),
    ("info map page+", INFO, {"bpf_fd": "$array", "info": "$out", "info_len": 4097}),
    ("info map bad", INFO, {"bpf_fd": "$array", "info": "$bad", "info_len": 8}),
    ("info prog ones", INFO, {"bpf_fd": "$filter", "info": "$big", "info_len": 300}),
    ("info prog bad", INFO, {"bpf_fd": "$filter", "info": "$bad", "info_len": 8}),
    ("info tail", INFO, {"bpf_fd": "$filter", "info": "$bad", "info_len": 8, "@16": 1}),
    ("btf load none", BTF, {}),
    ("btf load bad", BTF, {"btf": "$bad", "btf_size": 24}),
    ("btf load short", BTF, {"btf": "$big", "btf_size": 8}),
    ("btf load ones", BTF, {"btf": "$big", "btf_size": 64}),
    ("btf load huge", BTF, {"btf": "$big", "btf_size": (16 << 20) + 1}),
    (
        "btf load log small",
        BTF,
        {"btf": "$big", "btf_size": 64, "btf_log_level": 1, "btf_log_size": 64, "btf_log_buf": "$out"},
    ),
    ("btf load tail", BTF, {"@28": 1}),
    ("stats 1", STATS, {"type": 1}),
    ("stats tail", STATS, {"type": 0, "@4": 1}),
]

ATTACH_ROWS = [
    ("attach flags", ATTACH, {"attach_flags": 8}),
    ("attach unknown type", ATTACH, {"attach_type": 44}),
    ("attach tracing", ATTACH, {"attach_type": 24, "attach_bpf_fd": "$filter"}),
    ("attach closed prog", ATTACH, {"attach_type": 0, "attach_bpf_fd": "$closed"}),
    ("attach filter as cgroup", ATTACH, {"attach_type": 0, "attach_bpf_fd": "$filter"}),
    ("attach perf event type", ATTACH, {"attach_type": 41, "attach_bpf_fd": "$kprobe"}),
    ("detach unknown type", DETACH, {"attach_type": 44}),
    ("detach tracing", DETACH, {"attach_type": 24}),
    ("detach cgroup closed", DETACH, {"attach_type": 0, "target_fd": "$closed"}),
    ("detach cgroup other", DETACH, {"attach_type": 0, "target_fd": "$other"}),
    ("query flags", QUERY, {"query_flags": 2}),
    ("query unknown", QUERY, {"attach_type": 44}),
    ("query tracing", QUERY, {"attach_type": 24}),
    ("query cgroup closed", QUERY, {"attach_type": 0, "target_fd": "$closed"}),
    ("raw_tp closed", RAW_TP, {"prog_fd": "$closed", "name": "$name"}),
    ("raw_tp filter", RAW_TP, {"prog_fd": "$filter", "name": "$name"}),
    ("raw_tp no name", RAW_TP, {"prog_fd": "$tracer", "name": "$noname"}),
    ("raw_tp bad name", RAW_TP, {"prog_fd": "$tracer", "name": "$bad"}),
    ("raw_tp tail", RAW_TP, {"prog_fd": "$tracer", "name": "$name", "@12": 1}),
    ("link closed", LINK, {"prog_fd": "$closed"}),
    ("link map", LINK, {"prog_fd": "$array"}),
    ("link filter", LINK, {"prog_fd": "$filter", "attach_type": 0}),
    ("link unknown type", LINK, {"prog_fd": "$filter", "attach_type": 44}),
    ("link kprobe as cgroup", LINK, {"prog_fd": "$kprobe", "attach_type": 0}),
    ("link kprobe flags", LINK, {"prog_fd": "$kprobe", "attach_type": 41, "flags": 1}),
    ("link kprobe closed", LINK, {"prog_fd": "$kprobe", "attach_type": 41, "target_fd": "$closed"}),
    ("link kprobe other", LINK, {"prog_fd": "$kprobe", "attach_type": 41, "target_fd": "$other"}),
    ("link kprobe multi, not meant for", LINK, {"prog_fd": "$kprobe", "attach_type": 42}),
    ("link tracer", LINK, {"prog_fd": "$tracer", "attach_type": 23}),
    ("link tail", LINK, {"prog_fd": "$tracer", "attach_type": 23, "@48": 1}),
    ("link update closed", LINK_UP, {"link_fd": "$closed"}),
    ("link update map", LINK_UP, {"link_fd": "$array"}),
    ("link update flags", LINK_UP, {"link_fd": "$array", "flags": 1}),
    ("unlink closed", UNLINK, {"link_fd": "$closed"}),
    ("unlink map", UNLINK, {"link_fd": "$array"}),
    ("iter closed", ITER, {"link_fd": "$closed"}),
    ("iter flags", ITER, {"link_fd": "$closed", "flags": 1}),
    ("iter map", ITER, {"link_fd": "$array"}),
    ("task fd no task", TASK_FD, {"pid": 999999, "fd": 0}),
    ("task fd flags", TASK_FD, {"pid": 999999, "flags": 1}),
]

DOOR_ROWS = [
    ("no such command", 36, {}),
    ("negative command", -1, {}),
    ("size 0", CREATE, _map(ARRAY), 0),
    ("size 16", CREATE, _map(ARRAY), 16),
    ("size 15", CREATE, _map(ARRAY), 15),
    ("size 4096 zeros", FREEZE, {"map_fd": "$closed"}, 4096),
    ("size 4097", FREEZE, {"map_fd": "$closed"}, 4097),
    ("size 160, a one", FREEZE, {"map_fd": "$closed", "@150": 1}, 160),
    ("size 148", FREEZE, {"map_fd": "$closed"}, 148),
]

ROWS = MAP_ROWS + ELEM_ROWS + BATCH_ROWS + PROG_ROWS + OBJECT_ROWS + ATTACH_ROWS + DOOR_ROWS


def build(fields, cmd, layouts, resolve):
    """4096 bytes of attributes; `resolve(name)` gives the number of a symbol."""
    raw = bytearray(4608)
    places = layouts[cmd].fields if cmd in layouts else {}
    for name, value in fields.items():
        offset, size = (int(name[1:]), 4) if name.startswith("@") else places[name]
        if isinstance(value, bytes):
            raw[offset : offset + size] = value[:size].ljust(size, b"\0")
            continue
        number = resolve(value[1:]) if isinstance(value, str) else value
        raw[offset : offset + size] = (number & (1 << 8 * size) - 1).to_bytes(size, "little")
    return bytes(raw)
