"""Who and when: the current task, clocks, numbers.  kernel/bpf/helpers.c, kernel/trace/bpf_trace.c."""

from __future__ import annotations

from arch.abi.errno import E2BIG, EAGAIN, EBUSY, EINVAL, ENOENT, EPERM
from arch.abi.limits import TASK_COMM_LEN
from bpf import uapi
from bpf.face import Registers
from bpf.helpers import Runtime, helper, signed
from bpf.maps.array import CgroupArrayMap


@helper("bpf_ktime_get_ns")
def ktime_get_ns(rt: Runtime) -> int:
    return rt.host.now_ns()


@helper("bpf_ktime_get_boot_ns")
def ktime_get_boot_ns(rt: Runtime) -> int:
    return rt.host.clock_ns("boottime")


@helper("bpf_ktime_get_coarse_ns")
def ktime_get_coarse_ns(rt: Runtime) -> int:
    return rt.host.clock_ns("monotonic_coarse")


@helper("bpf_ktime_get_tai_ns")
def ktime_get_tai_ns(rt: Runtime) -> int:
    return rt.host.clock_ns("tai")


@helper("bpf_jiffies64")
def jiffies64(rt: Runtime) -> int:
    return rt.host.jiffies64()


@helper("bpf_get_prandom_u32", "bpf_user_rnd_u32")
def get_prandom_u32(rt: Runtime) -> int:
    return rt.host.random_u32()


@helper("bpf_get_smp_processor_id", "bpf_get_raw_cpu_id", "bpf_get_raw_smp_processor_id")
def get_smp_processor_id(rt: Runtime) -> int:
    return rt.host.cpu_id()


@helper("bpf_get_numa_node_id")
def get_numa_node_id(rt: Runtime) -> int:
    return rt.host.numa_node_id()


@helper("bpf_get_current_pid_tgid")
def get_current_pid_tgid(rt: Runtime) -> int:
    return int(rt.host.current_tgid() << 32 | rt.host.current_pid() & 0xFFFFFFFF)


@helper("bpf_get_current_uid_gid")
def get_current_uid_gid(rt: Runtime) -> int:
    return int(rt.host.current_gid() << 32 | rt.host.current_uid() & 0xFFFFFFFF)


@helper("bpf_get_current_comm")
def get_current_comm(rt: Runtime, buf: int, size: int) -> int:
    """strscpy_pad(): always ended by NUL, the rest zeros."""
    size &= 0xFFFFFFFF
    name = rt.host.current_comm().encode("latin-1")[: max(min(size, TASK_COMM_LEN) - 1, 0)]
    rt.mem.write(buf, name.ljust(size, b"\0"))
    return 0


@helper("bpf_get_current_task", "bpf_get_current_task_btf")
def get_current_task(rt: Runtime) -> int:
    return rt.host.current_task_address()


@helper("bpf_task_pt_regs")
def task_pt_regs(rt: Runtime, task: int) -> int:
    return rt.host.task_pt_regs(task)


@helper("bpf_get_current_cgroup_id")
def get_current_cgroup_id(rt: Runtime) -> int:
    return rt.host.current_cgroup_id()


@helper("bpf_get_current_ancestor_cgroup_id")
def get_current_ancestor_cgroup_id(rt: Runtime, level: int) -> int:
    return int(rt.host.current_cgroup_id(signed(level, 32)))


@helper("bpf_current_task_under_cgroup")
def current_task_under_cgroup(rt: Runtime, map_ptr: int, index: int) -> int:
    found = rt.map_of(map_ptr, CgroupArrayMap)
    if index & 0xFFFFFFFF >= found.max_entries:
        return -E2BIG
    cgroup = found.get_element(index & 0xFFFFFFFF)
    if cgroup is None:
        return -EAGAIN
    return int(cgroup.contains_current())


@helper("bpf_get_ns_current_pid_tgid")
def get_ns_current_pid_tgid(rt: Runtime, dev: int, ino: int, info: int, size: int) -> int:
    size &= 0xFFFFFFFF
    found = rt.host.ns_pid_tgid(dev, ino) if size == 8 else None
    if found is None:
        rt.mem.write(info, bytes(size))
        return -EINVAL
    rt.mem.write_uint(info, 4, found[0])
    rt.mem.write_uint(info + 4, 4, found[1])
    return 0


@helper("bpf_send_signal")
def send_signal(rt: Runtime, signal: int) -> int:
    return _send(rt, signal, True)


@helper("bpf_send_signal_thread")
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


@helper("bpf_override_return")
def override_return(rt: Runtime, regs: int, value: int) -> int:
    rt.host.override_return(regs, value)
    return 0


@helper(
    "bpf_get_attach_cookie_trace",
    "bpf_get_attach_cookie_pe",
    "bpf_get_attach_cookie_tracing",
    "bpf_get_attach_cookie_kprobe_multi",
    "bpf_get_attach_cookie",
)
def get_attach_cookie(rt: Runtime) -> int:
    return rt.cookie


@helper("bpf_get_func_ip_kprobe", "bpf_get_func_ip_kprobe_multi", "bpf_get_func_ip_tracing", "bpf_get_func_ip")
def get_func_ip(rt: Runtime, ctx: int) -> int:
    """Tracing programs keep it two words before the context; kprobes know it from the probe."""
    if rt.entry_ip:
        return rt.entry_ip
    if rt.prog.type == uapi.BPF_PROG_TYPE_TRACING:
        return int(rt.mem.read_uint(ctx - 16, 8))
    return 0


@helper("bpf_get_func_arg", "get_func_arg")
def get_func_arg(rt: Runtime, ctx: int, n: int, value: int) -> int:
    count = int(rt.mem.read_uint(ctx - 8, 8))
    if n & 0xFFFFFFFF >= count:
        return -EINVAL
    rt.mem.write_uint(value, 8, rt.mem.read_uint(ctx + 8 * (n & 0xFFFFFFFF), 8))
    return 0


@helper("bpf_get_func_ret", "get_func_ret")
def get_func_ret(rt: Runtime, ctx: int, value: int) -> int:
    count = int(rt.mem.read_uint(ctx - 8, 8))
    rt.mem.write_uint(value, 8, rt.mem.read_uint(ctx + 8 * count, 8))
    return 0


@helper("bpf_get_func_arg_cnt", "get_func_arg_cnt")
def get_func_arg_cnt(rt: Runtime, ctx: int) -> int:
    return int(rt.mem.read_uint(ctx - 8, 8))


@helper("bpf_per_cpu_ptr")
def per_cpu_ptr(rt: Runtime, pointer: int, cpu: int) -> int:
    if cpu & 0xFFFFFFFF >= rt.host.nr_cpus:
        return 0
    return pointer + rt.host.per_cpu_offset(cpu & 0xFFFFFFFF)


@helper("bpf_this_cpu_ptr")
def this_cpu_ptr(rt: Runtime, pointer: int) -> int:
    return pointer + rt.host.per_cpu_offset(rt.host.cpu_id())


@helper("bpf_kallsyms_lookup_name")
def kallsyms_lookup_name(rt: Runtime, name: int, size: int, flags: int, result: int) -> int:
    rt.mem.write_uint(result, 8, 0)
    if flags:
        return -EINVAL
    text = bytes(rt.mem.read(name, signed(size, 32)))
    if signed(size, 32) <= 1 or text[-1]:
        return -EINVAL
    found = rt.host.symbols.address(text.split(b"\0")[0].decode("latin-1"))
    if found is None:
        return -ENOENT
    rt.mem.write_uint(result, 8, found)
    return 0


@helper("bpf_find_vma", registers=True)
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


@helper("bpf_sys_close")
def sys_close(rt: Runtime, fd: int) -> int:
    rt.host.close(fd & 0xFFFFFFFF)
    return 0


@helper("bpf_get_retval")
def get_retval(rt: Runtime) -> int:
    return rt.retval


@helper("bpf_set_retval")
def set_retval(rt: Runtime, value: int) -> int:
    rt.retval = signed(value, 32)
    return 0
