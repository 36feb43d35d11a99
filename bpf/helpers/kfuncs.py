"""Kernel functions that programs call by BTF id: net/bpf/test_run.c, kernel/trace/bpf_trace.c and others of 6.1.

Each has its row above its body: name, the set that says who may call it, its KF_ flags (bpf/helpers/kfunc_rows.py).
"""

from __future__ import annotations

from arch.abi.limits import U32_MAX
from bpf.helpers import Runtime
from bpf.helpers.kfunc_rows import KfuncSet, declare, kfunc
from bpf.packet.skbuff import Sock

#  who may call them, where they are registered, their module
TEST = KfuncSet("tc tracing syscall", "net/bpf/test_run.c")
CRASH = KfuncSet("tracing", "kernel/bpf/helpers.c")
RENO = KfuncSet("struct_ops", "net/ipv4/bpf_tcp_ca.c")
CUBIC = KfuncSet("struct_ops", "net/ipv4/tcp_cubic.c")
DCTCP = KfuncSet("struct_ops", "net/ipv4/tcp_dctcp.c", "tcp_dctcp")
BBR = KfuncSet("struct_ops", "net/ipv4/tcp_bbr.c", "tcp_bbr")
CONNTRACK = KfuncSet("xdp tc", "net/netfilter/nf_conntrack_bpf.c", "nf_conntrack")
NAT = KfuncSet("xdp tc", "net/netfilter/nf_nat_bpf.c", "nf_nat")

# struct prog_test_ref_kfunc { int a, b; struct prog_test_member memb; ... *next; refcount_t cnt; }
PROG_TEST_SIZE, A, B, NEXT, CNT = 32, 0, 4, 16, 24


def prog_test_struct(rt: Runtime) -> int:
    """Address of the machine's one test object; its reference count starts at 1."""
    address = rt.bpf.test_struct
    if not address:
        address = rt.bpf.test_struct = rt.mem.alloc(PROG_TEST_SIZE)
        rt.mem.write_uint(address + A, 4, 42)
        rt.mem.write_uint(address + B, 4, 108)
        rt.mem.write_uint(address + NEXT, 8, address)
        rt.mem.write_uint(address + CNT, 4, 1)
    return address


def _count(rt: Runtime, address: int, by: int) -> None:
    rt.mem.write_uint(address + CNT, 4, (rt.mem.read_uint(address + CNT, 4) + by) & U32_MAX)


@kfunc("bpf_kfunc_call_test1", TEST, until="6.4")
def bpf_kfunc_call_test1(rt: Runtime, sk: int, a: int, b: int, c: int, d: int) -> int:
    """The sum of its arguments: u32, u64, u32, u64."""
    return (a & U32_MAX) + b + (c & U32_MAX) + d


@kfunc("bpf_kfunc_call_test2", TEST, until="6.4")
def bpf_kfunc_call_test2(rt: Runtime, sk: int, a: int, b: int) -> int:
    """The sum as an int."""
    return (a + b) & U32_MAX


@kfunc("bpf_kfunc_call_test3", TEST, until="6.4")
def bpf_kfunc_call_test3(rt: Runtime, sk: int) -> int:
    """Its argument."""
    return sk


@kfunc("bpf_kfunc_call_test_acquire", TEST, "acquire ret_null", until="6.4")
def bpf_kfunc_call_test_acquire(rt: Runtime, scalar: int) -> int:
    """A reference to the test object."""
    address = prog_test_struct(rt)
    _count(rt, address, 1)
    return address


@kfunc("bpf_kfunc_call_test_release", TEST, "release", until="6.4")
def bpf_kfunc_call_test_release(rt: Runtime, obj: int) -> int:
    """Give a reference back."""
    if obj:
        _count(rt, obj, -1)
    return 0


@kfunc("bpf_kfunc_call_test_kptr_get", TEST, "acquire ret_null kptr_get", until="6.4")
def bpf_kfunc_call_test_kptr_get(rt: Runtime, pointer: int, a: int, b: int) -> int:
    """A reference to what a map value points to."""
    obj = int(rt.mem.read_uint(pointer, 8))
    if obj:
        _count(rt, obj, 1)
    return obj


@kfunc("bpf_kfunc_call_memb_acquire", TEST, "acquire ret_null", until="6.4")
def bpf_kfunc_call_memb_acquire(rt: Runtime) -> int:
    """Nothing: the call only exists to be verified."""
    return 0


@kfunc("bpf_kfunc_call_test_get_rdwr_mem", TEST, "ret_null", until="6.4")
@kfunc("bpf_kfunc_call_test_get_rdonly_mem", TEST, "ret_null", until="6.4")
@kfunc("bpf_kfunc_call_test_acq_rdonly_mem", TEST, "acquire ret_null", until="6.4")
def bpf_kfunc_call_test_get_mem(rt: Runtime, obj: int, size: int) -> int:
    """The first bytes of the test object, two ints at most."""
    size &= U32_MAX
    signed = size - (1 << 32) if size >> 31 else size
    return 0 if signed > 8 else obj


@kfunc("bpf_kfunc_call_memb_release", TEST, "release", until="6.4")
@kfunc("bpf_kfunc_call_memb1_release", TEST, "release", until="6.4")
@kfunc("bpf_kfunc_call_int_mem_release", TEST, "release", until="6.4")
@kfunc("bpf_kfunc_call_test_pass_ctx", TEST, until="6.4")
@kfunc("bpf_kfunc_call_test_pass1", TEST, until="6.4")
@kfunc("bpf_kfunc_call_test_pass2", TEST, until="6.4")
@kfunc("bpf_kfunc_call_test_fail1", TEST, until="6.4")
@kfunc("bpf_kfunc_call_test_fail2", TEST, until="6.4")
@kfunc("bpf_kfunc_call_test_fail3", TEST, until="6.4")
@kfunc("bpf_kfunc_call_test_mem_len_pass1", TEST, until="6.4")
@kfunc("bpf_kfunc_call_test_mem_len_fail1", TEST, until="6.4")
@kfunc("bpf_kfunc_call_test_mem_len_fail2", TEST, until="6.4")
@kfunc("bpf_kfunc_call_test_ref", TEST, "trusted", until="6.4")
@kfunc("bpf_kfunc_call_test_destructive", TEST, "destructive", until="6.4")
def takes_and_gives_nothing(rt: Runtime) -> int:
    """A function without result or effect here."""
    return 0


class _Tcp:
    """Members of a struct tcp_sock."""

    def __init__(self, rt: Runtime, sk: int) -> None:
        self.sk, self.sock = sk, Sock(rt.host, sk)

    def get(self, member: str) -> int:
        return self.sock.read(self.sk, f"tcp_sock.{member}")

    def put(self, member: str, value: int) -> None:
        self.sock.write(self.sk, f"tcp_sock.{member}", value & U32_MAX)


@kfunc("tcp_reno_ssthresh", RENO)
def tcp_reno_ssthresh(rt: Runtime, sk: int) -> int:
    """Half of the window."""
    return max(_Tcp(rt, sk).get("snd_cwnd") >> 1, 2)


@kfunc("tcp_reno_undo_cwnd", RENO)
def tcp_reno_undo_cwnd(rt: Runtime, sk: int) -> int:
    """What it was before the loss that was none."""
    tcp = _Tcp(rt, sk)
    return max(tcp.get("snd_cwnd"), tcp.get("prior_cwnd"))


@kfunc("tcp_slow_start", RENO)
def tcp_slow_start(rt: Runtime, sk: int, acked: int) -> int:
    """One segment more for each that was acknowledged; what is left."""
    tcp, acked = _Tcp(rt, sk), acked & U32_MAX
    before = tcp.get("snd_cwnd")
    cwnd = min(before + acked, tcp.get("snd_ssthresh"))
    tcp.put("snd_cwnd", min(cwnd, tcp.get("snd_cwnd_clamp")))
    return acked - (cwnd - before) & U32_MAX


@kfunc("tcp_cong_avoid_ai", RENO)
def tcp_cong_avoid_ai(rt: Runtime, sk: int, every: int, acked: int) -> int:
    """One segment more for `every` acknowledged."""
    tcp, every = _Tcp(rt, sk), max(every & U32_MAX, 1)
    cwnd, count = tcp.get("snd_cwnd"), tcp.get("snd_cwnd_cnt")
    if count >= every:
        count, cwnd = 0, cwnd + 1
    count += acked & U32_MAX
    tcp.put("snd_cwnd_cnt", count % every)
    tcp.put("snd_cwnd", min(cwnd + count // every, tcp.get("snd_cwnd_clamp")))
    return 0


@kfunc("tcp_reno_cong_avoid", RENO)
def tcp_reno_cong_avoid(rt: Runtime, sk: int, ack: int, acked: int) -> int:
    """Slow start, then one segment more for each window."""
    tcp = _Tcp(rt, sk)
    slow = tcp.get("snd_cwnd") < tcp.get("snd_ssthresh")
    limited = tcp.get("snd_cwnd") < 2 * tcp.get("max_packets_out") if slow else tcp.get("is_cwnd_limited")
    if not limited:
        return 0
    if slow:
        acked = tcp_slow_start(rt, sk, acked)
        if not acked:
            return 0
    return tcp_cong_avoid_ai(rt, sk, tcp.get("snd_cwnd"), acked)


# Functions that the verifier knows and that no program can be run with.
declare("crash_kexec", CRASH, "destructive", missing="a body")
declare("cubictcp_init", CUBIC, missing="a body")
declare("cubictcp_recalc_ssthresh", CUBIC, missing="a body")
declare("cubictcp_cong_avoid", CUBIC, missing="a body")
declare("cubictcp_state", CUBIC, missing="a body")
declare("cubictcp_cwnd_event", CUBIC, missing="a body")
declare("cubictcp_acked", CUBIC, missing="a body")
declare("dctcp_init", DCTCP, missing="a body")
declare("dctcp_update_alpha", DCTCP, missing="a body")
declare("dctcp_cwnd_event", DCTCP, missing="a body")
declare("dctcp_ssthresh", DCTCP, missing="a body")
declare("dctcp_cwnd_undo", DCTCP, missing="a body")
declare("dctcp_state", DCTCP, missing="a body")
declare("bbr_init", BBR, missing="a body")
declare("bbr_main", BBR, missing="a body")
declare("bbr_sndbuf_expand", BBR, missing="a body")
declare("bbr_undo_cwnd", BBR, missing="a body")
declare("bbr_cwnd_event", BBR, missing="a body")
declare("bbr_ssthresh", BBR, missing="a body")
declare("bbr_min_tso_segs", BBR, missing="a body")
declare("bbr_set_state", BBR, missing="a body")
declare("bpf_xdp_ct_alloc", CONNTRACK, "acquire ret_null", missing="a body")
declare("bpf_xdp_ct_lookup", CONNTRACK, "acquire ret_null", missing="a body")
declare("bpf_skb_ct_alloc", CONNTRACK, "acquire ret_null", missing="a body")
declare("bpf_skb_ct_lookup", CONNTRACK, "acquire ret_null", missing="a body")
declare("bpf_ct_insert_entry", CONNTRACK, "acquire release ret_null", missing="a body")
declare("bpf_ct_release", CONNTRACK, "release", missing="a body")
declare("bpf_ct_set_timeout", CONNTRACK, "trusted", missing="a body")
declare("bpf_ct_change_timeout", CONNTRACK, "trusted", missing="a body")
declare("bpf_ct_set_status", CONNTRACK, "trusted", missing="a body")
declare("bpf_ct_change_status", CONNTRACK, "trusted", missing="a body")
declare("bpf_ct_set_nat_info", NAT, "trusted", missing="a body")
