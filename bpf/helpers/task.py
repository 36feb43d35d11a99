"""Who and when: the current task, clocks, numbers.  kernel/bpf/helpers.c, kernel/trace/bpf_trace.c."""

from __future__ import annotations

from arch.abi.errno import E2BIG, EAGAIN, EBUSY, EINVAL, ENOENT, EPERM
from arch.abi.limits import TASK_COMM_LEN
from arch.abi.version import KernelVersion
from arch.cstring import c_string
from bpf import uapi
from bpf.face import Registers
from bpf.helpers import Runtime, kernel_name, prototype, signed
from bpf.maps.array import CgroupArrayMap


@prototype(
    "ktime_get_ns",
    5,
    "4.1",
    given="base_anyone bpf_tracing lirc_mode2",
)
def ktime_get_ns(rt: Runtime) -> int:
    return rt.host.now_ns()


@prototype(
    "ktime_get_boot_ns",
    125,
    "5.8",
    given="base_anyone bpf_tracing lirc_mode2",
)
def ktime_get_boot_ns(rt: Runtime) -> int:
    return rt.host.clock_ns("boottime")


@prototype(
    "ktime_get_coarse_ns",
    160,
    "5.11",
    given="sysctl sock_filter sk_reuseport bpf_sk_base bpf_tcp_ca_get",
)
def ktime_get_coarse_ns(rt: Runtime) -> int:
    return rt.host.clock_ns("monotonic_coarse")


@prototype(
    "ktime_get_tai_ns",
    208,
    "6.1",
    given="base_anyone",
)
def ktime_get_tai_ns(rt: Runtime) -> int:
    return rt.host.clock_ns("tai")


@prototype(
    "jiffies64",
    118,
    "5.6",
    given="base_bpf bpf_tracing",
)
def jiffies64(rt: Runtime) -> int:
    return rt.host.jiffies64()


@prototype(
    "get_prandom_u32",
    7,
    "4.1",
    func="bpf_user_rnd_u32",
    given="base_anyone bpf_tracing lirc_mode2",
)
@kernel_name("bpf_get_prandom_u32")
def get_prandom_u32(rt: Runtime) -> int:
    return rt.host.random_u32()


@prototype(
    "get_smp_processor_id",
    8,
    "4.1",
    given="bpf_tracing tc_cls_act xdp lwt_out",
)
@prototype(
    "get_smp_processor_id",
    func="bpf_get_raw_cpu_id",
    proto="bpf_get_raw_smp_processor_id_proto",
    given="base_anyone",
)
@kernel_name("bpf_get_raw_smp_processor_id")
def get_smp_processor_id(rt: Runtime) -> int:
    return rt.host.cpu_id()


@prototype(
    "get_numa_node_id",
    42,
    "4.10",
    given="base_anyone bpf_tracing",
)
def get_numa_node_id(rt: Runtime) -> int:
    return rt.host.numa_node_id()


@prototype(
    "get_current_pid_tgid",
    14,
    "4.2",
    given="bpf_tracing cgroup_current sk_msg",
)
def get_current_pid_tgid(rt: Runtime) -> int:
    return int(rt.host.current_tgid() << 32 | rt.host.current_pid() & 0xFFFFFFFF)


@prototype(
    "get_current_uid_gid",
    15,
    "4.2",
    given="bpf_tracing cgroup_current sk_msg",
)
def get_current_uid_gid(rt: Runtime) -> int:
    return int(rt.host.current_gid() << 32 | rt.host.current_uid() & 0xFFFFFFFF)


def pads_comm(version: KernelVersion) -> bool:
    """bpf_get_current_comm() has strncpy(), strscpy() since 03b9c7fa3f15 of 5.18, strscpy_pad() since f3f213497797 of 6.4."""
    return version.before("5.18") or version.at_least("6.4")


@prototype(
    "get_current_comm",
    16,
    "4.2",
    args="PTR_TO_UNINIT_MEM CONST_SIZE",
    given="bpf_tracing cgroup_current",
)
def get_current_comm(rt: Runtime, buf: int, size: int) -> int:
    """Always ended by NUL; the rest is zeros, or only what is left of the word (strscpy())."""
    size &= 0xFFFFFFFF
    name = rt.host.current_comm().encode("latin-1")[: max(min(size, TASK_COMM_LEN) - 1, 0)]
    word = rt.host.structs.word
    end = size if pads_comm(rt.bpf.version) else -(-(len(name) + 1) // word) * word
    rt.mem.write(buf, name.ljust(end if end <= size else len(name) + 1, b"\0"))
    return 0


@prototype(
    "get_current_task",
    35,
    "4.8",
    flags="gpl_only",
    given="base_perfmon bpf_tracing",
)
@prototype(
    "get_current_task_btf",
    158,
    "5.11",
    returns="PTR_TO_BTF_ID|PTR_TRUSTED:task_struct",
    flags="gpl_only",
    given="base_perfmon bpf_tracing",
)
def get_current_task(rt: Runtime) -> int:
    return rt.host.current_task_address()


@prototype(
    "task_pt_regs",
    175,
    "5.15",
    returns="PTR_TO_BTF_ID:pt_regs",
    args="PTR_TO_BTF_ID:task_struct",
    flags="gpl_only",
    given="base_perfmon bpf_tracing",
)
def task_pt_regs(rt: Runtime, task: int) -> int:
    return rt.host.task_pt_regs(task)


@prototype(
    "get_current_cgroup_id",
    80,
    "4.18",
    given="bpf_tracing cgroup_current sk_msg",
)
def get_current_cgroup_id(rt: Runtime) -> int:
    return rt.host.current_cgroup_id()


@prototype(
    "get_current_ancestor_cgroup_id",
    123,
    "5.7",
    args="ANYTHING",
    given="bpf_tracing cgroup_current sk_msg",
)
def get_current_ancestor_cgroup_id(rt: Runtime, level: int) -> int:
    return int(rt.host.current_cgroup_id(signed(level, 32)))


@prototype(
    "current_task_under_cgroup",
    37,
    "4.9",
    args="CONST_MAP_PTR ANYTHING",
    given="bpf_tracing",
    maps="CGROUP_ARRAY",
)
def current_task_under_cgroup(rt: Runtime, map_ptr: int, index: int) -> int:
    found = rt.map_of(map_ptr, CgroupArrayMap)
    if index & 0xFFFFFFFF >= found.max_entries:
        return -E2BIG
    cgroup = found.get_element(index & 0xFFFFFFFF)
    if cgroup is None:
        return -EAGAIN
    return int(cgroup.contains_current())


@prototype(
    "get_ns_current_pid_tgid",
    120,
    "5.7",
    args="ANYTHING ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE",
    given="bpf_tracing",
)
def get_ns_current_pid_tgid(rt: Runtime, dev: int, ino: int, info: int, size: int) -> int:
    size &= 0xFFFFFFFF
    found = rt.host.ns_pid_tgid(dev, ino) if size == 8 else None
    if found is None:
        rt.mem.write(info, bytes(size))
        return -EINVAL
    rt.mem.write_uint(info, 4, found[0])
    rt.mem.write_uint(info + 4, 4, found[1])
    return 0


@prototype(
    "send_signal",
    109,
    "5.3",
    args="ANYTHING",
    given="bpf_tracing",
)
def send_signal(rt: Runtime, signal: int) -> int:
    return _send(rt, signal, True)


@prototype(
    "send_signal_thread",
    117,
    "5.6",
    args="ANYTHING",
    given="bpf_tracing",
)
def send_signal_thread(rt: Runtime, signal: int) -> int:
    return _send(rt, signal, False)


def _send(rt: Runtime, signal: int, whole_process: bool) -> int:
    """bpf_send_signal_common(): not to kernel threads."""
    if rt.host.user_mem() is None:
        return -EPERM
    signal &= 0xFFFFFFFF
    if signal > 64:
        return -EINVAL
    return rt.host.send_signal(signal, whole_process)


@prototype(
    "override_return",
    58,
    "4.16",
    args="PTR_TO_CTX ANYTHING",
    flags="gpl_only",
    given="kprobe_prog",
)
def override_return(rt: Runtime, regs: int, value: int) -> int:
    rt.host.override_return(regs, value)
    return 0


@prototype(
    "get_attach_cookie",
    174,
    "5.15",
    args="PTR_TO_CTX",
    func="bpf_get_attach_cookie_trace",
    proto="bpf_get_attach_cookie_proto_trace",
    given="tp_prog",
)
@prototype(
    "get_attach_cookie",
    args="PTR_TO_CTX",
    func="bpf_get_attach_cookie_pe",
    proto="bpf_get_attach_cookie_proto_pe",
    given="pe_prog",
)
@prototype(
    "get_attach_cookie",
    args="PTR_TO_CTX",
    func="bpf_get_attach_cookie_tracing",
    proto="bpf_get_attach_cookie_proto_tracing",
)
@prototype(
    "get_attach_cookie",
    args="PTR_TO_CTX",
    func="bpf_get_attach_cookie_kprobe_multi",
    proto="bpf_get_attach_cookie_proto_kmulti",
)
@prototype(
    "get_attach_cookie",
    args="PTR_TO_CTX",
    func="bpf_get_attach_cookie_uprobe_multi",
    proto="bpf_get_attach_cookie_proto_umulti",
)
@prototype(
    "get_attach_cookie",
    args="PTR_TO_CTX",
)
def get_attach_cookie(rt: Runtime) -> int:
    return rt.cookie


@prototype(
    "get_func_ip",
    173,
    "5.15",
    args="PTR_TO_CTX",
    flags="gpl_only",
    func="bpf_get_func_ip_kprobe",
    proto="bpf_get_func_ip_proto_kprobe",
)
@prototype(
    "get_func_ip",
    args="PTR_TO_CTX",
    func="bpf_get_func_ip_kprobe_multi",
    proto="bpf_get_func_ip_proto_kprobe_multi",
)
@prototype(
    "get_func_ip",
    args="PTR_TO_CTX",
    func="bpf_get_func_ip_uprobe_multi",
    proto="bpf_get_func_ip_proto_uprobe_multi",
)
@prototype(
    "get_func_ip",
    args="PTR_TO_CTX",
    flags="gpl_only",
    func="bpf_get_func_ip_tracing",
    proto="bpf_get_func_ip_proto_tracing",
    given="bpf_tracing",
)
@kernel_name("bpf_get_func_ip")
def get_func_ip(rt: Runtime, ctx: int) -> int:
    """Tracing programs keep it two words before the context; kprobes know it from the probe."""
    if rt.entry_ip:
        return rt.entry_ip
    if rt.prog.type == uapi.BPF_PROG_TYPE_TRACING:
        return int(rt.mem.read_uint(ctx - 16, 8))
    return 0


@prototype(
    "get_func_arg",
    183,
    "5.17",
    args="PTR_TO_CTX ANYTHING PTR_TO_FIXED_SIZE_MEM|MEM_UNINIT|MEM_WRITE|MEM_ALIGNED:8",
    func="get_func_arg",
)
@kernel_name("bpf_get_func_arg")
def get_func_arg(rt: Runtime, ctx: int, n: int, value: int) -> int:
    count = int(rt.mem.read_uint(ctx - 8, 8))
    if n & 0xFFFFFFFF >= count:
        return -EINVAL
    rt.mem.write_uint(value, 8, rt.mem.read_uint(ctx + 8 * (n & 0xFFFFFFFF), 8))
    return 0


@prototype(
    "get_func_ret",
    184,
    "5.17",
    args="PTR_TO_CTX PTR_TO_FIXED_SIZE_MEM|MEM_UNINIT|MEM_WRITE|MEM_ALIGNED:8",
    func="get_func_ret",
)
@kernel_name("bpf_get_func_ret")
def get_func_ret(rt: Runtime, ctx: int, value: int) -> int:
    count = int(rt.mem.read_uint(ctx - 8, 8))
    rt.mem.write_uint(value, 8, rt.mem.read_uint(ctx + 8 * count, 8))
    return 0


@prototype(
    "get_func_arg_cnt",
    185,
    "5.17",
    args="PTR_TO_CTX",
    func="get_func_arg_cnt",
)
@kernel_name("bpf_get_func_arg_cnt")
def get_func_arg_cnt(rt: Runtime, ctx: int) -> int:
    return int(rt.mem.read_uint(ctx - 8, 8))


@prototype(
    "per_cpu_ptr",
    153,
    "5.10",
    returns="PTR_TO_MEM_OR_BTF_ID|PTR_MAYBE_NULL|MEM_RDONLY",
    args="PTR_TO_PERCPU_BTF_ID ANYTHING",
    given="base_bpf bpf_tracing",
)
def per_cpu_ptr(rt: Runtime, pointer: int, cpu: int) -> int:
    if cpu & 0xFFFFFFFF >= rt.host.nr_cpus:
        return 0
    return pointer + rt.host.per_cpu_offset(cpu & 0xFFFFFFFF)


@prototype(
    "this_cpu_ptr",
    154,
    "5.10",
    returns="PTR_TO_MEM_OR_BTF_ID|MEM_RDONLY",
    args="PTR_TO_PERCPU_BTF_ID",
    given="base_bpf bpf_tracing",
)
def this_cpu_ptr(rt: Runtime, pointer: int) -> int:
    return pointer + rt.host.per_cpu_offset(rt.host.cpu_id())


@prototype(
    "kallsyms_lookup_name",
    179,
    "5.16",
    args="PTR_TO_MEM CONST_SIZE_OR_ZERO ANYTHING PTR_TO_FIXED_SIZE_MEM|MEM_UNINIT|MEM_WRITE|MEM_ALIGNED:8",
    given="syscall_prog",
)
def kallsyms_lookup_name(rt: Runtime, name: int, size: int, flags: int, result: int) -> int:
    rt.mem.write_uint(result, 8, 0)
    if flags:
        return -EINVAL
    text = bytes(rt.mem.read(name, signed(size, 32)))
    if signed(size, 32) <= 1 or text[-1]:
        return -EINVAL
    found = rt.host.symbols.address(c_string(text))
    if found is None:
        return -ENOENT
    rt.mem.write_uint(result, 8, found)
    return 0


@prototype(
    "find_vma",
    180,
    "5.17",
    args="PTR_TO_BTF_ID:task_struct ANYTHING PTR_TO_FUNC PTR_TO_STACK_OR_NULL ANYTHING",
    given="bpf_tracing",
    registers=True,
)
def find_vma(rt: Runtime, r: Registers) -> int:
    """Calls back with (task, vma, context)."""
    task, addr, function, context, flags = r[1:6]
    if flags:
        return -EINVAL
    if not task:
        return -ENOENT
    if rt.host.in_nmi():
        return -EBUSY
    vma = rt.host.find_vma(task, addr)
    if not vma:
        return -ENOENT
    rt.call_back(r, function, task, vma, context)
    return 0


@prototype(
    "sys_close",
    168,
    "5.14",
    args="ANYTHING",
    given="syscall_prog",
)
def sys_close(rt: Runtime, fd: int) -> int:
    rt.host.close(fd & 0xFFFFFFFF)
    return 0


@prototype(
    "get_retval",
    186,
    "5.18",
)
def get_retval(rt: Runtime) -> int:
    at = rt.cgroup_run[0]
    return signed(rt.mem.read_uint(at, 4), 32) if at else 0


@prototype(
    "set_retval",
    187,
    "5.18",
    args="ANYTHING",
)
def set_retval(rt: Runtime, value: int) -> int:
    at = rt.cgroup_run[0]
    if at:
        rt.mem.write_uint(at, 4, value & 0xFFFFFFFF)
    return 0
