"""User probes: arguments and results of a function of the server, and how long each call takes.  samples/functions.bpf.c"""

from simkernel import bpf
from simkernel.bpf import u32, u64


@bpf.struct
class Call:
    request: u64
    begin: u64


running = bpf.Hash(u32, Call, max_entries=256)  # thread id
results = bpf.Hash(u64, u64, max_entries=256)  # 200, 404

calls: u64 = 0
longest_ns: u64 = 0
longest_request: u64 = 0


@bpf.uprobe("/samples/server:answer")
def answer_begins(ctx, request):
    running.update(bpf.get_current_pid_tgid(), Call(request, bpf.ktime_get_ns()))
    bpf.atomic_add(calls, 1)
    return 0


@bpf.uretprobe("/samples/server:answer")
def answer_ends(ctx, status):
    global longest_ns, longest_request
    count = results.lookup(status)
    if count:
        bpf.atomic_add(count[0], 1)
    else:
        results.update(status, 1)
    tid = bpf.get_current_pid_tgid()
    call = running.lookup(tid)
    if not call:
        return 0
    took = bpf.ktime_get_ns() - call.begin
    if took > longest_ns:
        longest_ns = took
        longest_request = call.request
    running.delete(tid)
    return 0
