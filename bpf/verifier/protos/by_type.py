"""Which helper prototype each kind of program gets, by the *_func_proto() function of the kernel that gives it.  Linux 6.1.

Who is given what is a column of the helpers' rows (bpf/helpers/rows.py).  Answers that depend on more than the helper, and
which table is asked next, are in choose.py.
"""

from __future__ import annotations

from bpf.helpers.table import GIVEN

# kernel/bpf/helpers.c ---------------------------------------------------------------------------
BASE_ANYONE = GIVEN["base_anyone"]
BASE_BPF = GIVEN["base_bpf"]
BASE_PERFMON = GIVEN["base_perfmon"]

# kernel/trace/bpf_trace.c -----------------------------------------------------------------------
BPF_TRACING = GIVEN["bpf_tracing"]
KPROBE_PROG = GIVEN["kprobe_prog"]
TP_PROG = GIVEN["tp_prog"]
PE_PROG = GIVEN["pe_prog"]
RAW_TP_PROG = GIVEN["raw_tp_prog"]
TRACING_PROG = GIVEN["tracing_prog"]

# kernel/bpf/bpf_lsm.c ---------------------------------------------------------------------------
BPF_LSM = GIVEN["bpf_lsm"]

# kernel/bpf/syscall.c ---------------------------------------------------------------------------
SYSCALL_PROG = GIVEN["syscall_prog"]

# kernel/bpf/cgroup.c ----------------------------------------------------------------------------
CGROUP_DEV = GIVEN["cgroup_dev"]
SYSCTL = GIVEN["sysctl"]
CG_SOCKOPT = GIVEN["cg_sockopt"]
CGROUP_COMMON = GIVEN["cgroup_common"]
CGROUP_CURRENT = GIVEN["cgroup_current"]

# net/core/filter.c ------------------------------------------------------------------------------
SOCK_FILTER = GIVEN["sock_filter"]
SOCK_ADDR = GIVEN["sock_addr"]
SK_FILTER = GIVEN["sk_filter"]
CG_SKB = GIVEN["cg_skb"]
TC_CLS_ACT = GIVEN["tc_cls_act"]
XDP = GIVEN["xdp"]
SOCK_OPS = GIVEN["sock_ops"]
SK_MSG = GIVEN["sk_msg"]
SK_SKB = GIVEN["sk_skb"]
FLOW_DISSECTOR = GIVEN["flow_dissector"]
LWT_OUT = GIVEN["lwt_out"]
LWT_IN = GIVEN["lwt_in"]
LWT_XMIT = GIVEN["lwt_xmit"]
LWT_SEG6LOCAL = GIVEN["lwt_seg6local"]
SK_REUSEPORT = GIVEN["sk_reuseport"]
SK_LOOKUP = GIVEN["sk_lookup"]
BPF_SK_BASE = GIVEN["bpf_sk_base"]

# net/unix/af_unix.c -----------------------------------------------------------------------------
BPF_ITER_UNIX_GET = GIVEN["bpf_iter_unix_get"]

# net/ipv4/tcp_ipv4.c ----------------------------------------------------------------------------
BPF_ITER_TCP_GET = GIVEN["bpf_iter_tcp_get"]

# net/ipv4/bpf_tcp_ca.c --------------------------------------------------------------------------
BPF_TCP_CA_GET = GIVEN["bpf_tcp_ca_get"]

# drivers/media/rc/bpf-lirc.c --------------------------------------------------------------------
LIRC_MODE2 = GIVEN["lirc_mode2"]
