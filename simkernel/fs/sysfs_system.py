"""/sys/devices/system: processors and the one node of memory.  drivers/base/{cpu,node,topology,cacheinfo}.c, kernel/cpu.c."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from arch.abi.errno import EBUSY, EINVAL
from arch.abi.version import newest
from arch.cpuinfo import Cache
from arch.cstring import c_string, kstrto, kstrtobool
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.proc_memory import meminfo, vmstat

Show = Callable[[], str]

HOTPLUG_TARGET = (("6.12", 236), (None, 0))  # what hotplug/target says of a CPU that has come at boot
CPUHP_ONLINE = (("6.1", 236), (None, 220))  # a state of hotplug, by the first version that is known to have it
# vulnerabilities, and the first version (of those known) that has the file
VULNERABILITIES = (
    ("gather_data_sampling", ""), ("ghostwrite", "7.2"), ("indirect_target_selection", ""), ("itlb_multihit", ""), ("l1tf", ""),
    ("mds", ""), ("meltdown", ""), ("mmio_stale_data", ""), ("old_microcode", "7.2"), ("reg_file_data_sampling", ""), ("retbleed", ""),
    ("spec_rstack_overflow", ""), ("spec_store_bypass", ""), ("spectre_v1", ""), ("spectre_v2", ""), ("srbds", ""), ("tsa", ""),
    ("tsx_async_abort", ""), ("vmscape", ""),
)  # fmt: skip
VULNERABILITIES_FROM = "4.15"
# The lines of a node's meminfo, with the name that /proc/meminfo has for the number, and since when
NODE_MEMINFO = (
    ("MemTotal", "", ""), ("MemFree", "", ""), ("MemUsed", "", ""), ("SwapCached", "", "5.12"), ("Active", "", ""), ("Inactive", "", ""),
    ("Active(anon)", "", ""), ("Inactive(anon)", "", ""), ("Active(file)", "", ""), ("Inactive(file)", "", ""), ("Unevictable", "", ""),
    ("Mlocked", "", ""), ("Dirty", "", ""), ("Writeback", "", ""), ("FilePages", "Cached", ""), ("Mapped", "", ""), ("AnonPages", "", ""),
    ("Shmem", "", ""), ("KernelStack", "", ""), ("PageTables", "", ""), ("SecPageTables", "", "6.1"), ("NFS_Unstable", "", ""),
    ("Bounce", "", ""), ("WritebackTmp", "", ""), ("KReclaimable", "", ""), ("Slab", "", ""), ("SReclaimable", "", ""),
    ("SUnreclaim", "", ""), ("AnonHugePages", "", ""), ("ShmemHugePages", "", ""), ("ShmemPmdMapped", "", ""), ("FileHugePages", "", ""),
    ("FilePmdMapped", "", ""),
)  # fmt: skip
BEHIND_NODE_STATISTICS = "nr_dirty_threshold"  # of /proc/vmstat: the machine's


def take_target(k: FsKernel, data: bytes) -> None:
    """target_store(): no CPU goes.  EBUSY: it would have to; EINVAL: no state to be in; ERANGE."""
    state = kstrto(c_string(data), 10, 32, True)
    if not state:
        raise KernelError(EBUSY, "no CPU goes here")
    if state != newest(CPUHP_ONLINE, k.version):
        raise KernelError(EINVAL)


def take_fail(k: FsKernel, data: bytes) -> None:
    """write_cpuhp_fail(): no state is known to fail in.  EINVAL, ERANGE."""
    if kstrto(c_string(data), 10, 32, True) != -1:
        raise KernelError(EINVAL)


def take_online(k: FsKernel, data: bytes) -> None:
    """online_store().  EBUSY: no CPU goes; EINVAL."""
    if not kstrtobool(c_string(data), k.version):
        raise KernelError(EBUSY, "no CPU goes here")


def cpu_range(k: FsKernel) -> str:
    """All of them, as a list."""
    return "0\n" if k.nr_cpus == 1 else f"0-{k.nr_cpus - 1}\n"


def cpu_mask(k: FsKernel, cpu: int | None = None) -> str:
    """One of them, or all, as hexadecimal digits."""
    bits = (1 << k.nr_cpus) - 1 if cpu is None else 1 << cpu
    return f"{bits:0{-(-k.nr_cpus // 4)}x}\n"


def topology(k: FsKernel, cpu: int) -> dict[str, str]:
    """drivers/base/topology.c: one package of cores with one thread each."""
    rows = {"core_id": f"{cpu}\n", "physical_package_id": "0\n"}
    for name in ("core_cpus", "thread_siblings"):
        rows |= {name: cpu_mask(k, cpu), f"{name}_list": f"{cpu}\n"}
    for name in ("core_siblings", "package_cpus"):
        rows |= {name: cpu_mask(k), f"{name}_list": cpu_range(k)}
    if k.arch.calls.has_dies:
        rows |= {"die_id": "0\n", "die_cpus": cpu_mask(k), "die_cpus_list": cpu_range(k)}
        if not k.version.before("5.16"):
            rows |= {"cluster_id": "65535\n", "cluster_cpus": cpu_mask(k, cpu), "cluster_cpus_list": f"{cpu}\n"}
    return rows


def cache(k: FsKernel, cpu: int, at: Cache) -> dict[str, str]:
    """drivers/base/cacheinfo.c: what one cache of a CPU is."""
    return {
        "coherency_line_size": f"{at.line}\n", "id": f"{0 if at.shared else cpu}\n", "level": f"{at.level}\n",
        "number_of_sets": f"{at.kilobytes * 1024 // (at.line * at.ways)}\n", "physical_line_partition": "1\n",
        "shared_cpu_list": cpu_range(k) if at.shared else f"{cpu}\n", "shared_cpu_map": cpu_mask(k, None if at.shared else cpu),
        "size": f"{at.kilobytes}K\n", "type": f"{at.kind}\n", "ways_of_associativity": f"{at.ways}\n",
    }  # fmt: skip


def node_meminfo(k: FsKernel) -> str:
    """node_read_meminfo(): a part of /proc/meminfo, and how much is used."""
    rows = dict(line.split(":") for line in meminfo(k).splitlines())
    known = {name: int(text.split()[0]) for name, text in rows.items()}
    known["MemUsed"] = known["MemTotal"] - known["MemFree"]
    out = []
    for name, source, since in NODE_MEMINFO:
        if k.version.at_least(since or None):
            width = 15 if name in ("FileHugePages", "FilePmdMapped") else 16
            out.append(f"Node 0 {name + ':':<{width}}{known[source or name]:8d} kB\n")
    out += [f"Node 0 {name}: {0:5d}\n" for name in ("HugePages_Total", "HugePages_Free", "HugePages_Surp")]
    return "".join(out)


def node_vmstat(k: FsKernel) -> str:
    """node_read_vmstat(): what /proc/vmstat counts by node."""
    return vmstat(k).partition(f"{BEHIND_NODE_STATISTICS} ")[0]


def cpu_files(k: FsKernel) -> Mapping[str, Show]:
    """Below devices/system/cpu: path and text."""
    version = k.version
    out: dict[str, Show] = {name: lambda: cpu_range(k) for name in ("online", "possible", "present")}
    out |= {"offline": lambda: "\n", "isolated": lambda: "\n", "kernel_max": lambda: "8191\n"}
    if not version.before("6.1"):
        out["nohz_full"] = lambda: "(null)\n" if version.before("7.2") else "\n"
    if not version.before("6.12"):
        out["enabled"] = lambda: cpu_range(k)
    if not version.before("7.2"):
        out["housekeeping"] = lambda: "\n"
    state = newest(CPUHP_ONLINE, version)
    for cpu in range(k.nr_cpus):
        rows = {f"topology/{name}": text for name, text in topology(k, cpu).items()}
        rows["hotplug/state"] = f"{state}\n"
        for index, at in enumerate(k.arch.cpuinfo.caches):
            rows |= {f"cache/index{index}/{name}": text for name, text in cache(k, cpu, at).items()}
        out |= {f"cpu{cpu}/{name}": lambda text=text: text for name, text in rows.items()}  # type: ignore[misc]
    if k.arch.cpuinfo.tells_vulnerabilities and not version.before(VULNERABILITIES_FROM):
        for name, since in VULNERABILITIES:
            if version.at_least(since or None):
                out[f"vulnerabilities/{name}"] = lambda: "Not affected\n"  # an emulator does not speculate
    return out


def node_files(k: FsKernel) -> Mapping[str, Show]:
    """Below devices/system/node."""
    out: dict[str, Show] = {
        name: lambda: "0\n" for name in ("online", "possible", "has_cpu", "has_memory", "has_normal_memory")
    }
    if not k.version.before("5.10"):
        out["has_generic_initiator"] = lambda: "\n"
    out |= {
        "node0/cpulist": lambda: cpu_range(k), "node0/cpumap": lambda: cpu_mask(k), "node0/distance": lambda: "10\n",
        "node0/meminfo": lambda: node_meminfo(k), "node0/vmstat": lambda: node_vmstat(k),
        "node0/numastat": lambda: (
            f"numa_hit {k.mm.nr_faults}\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 0\nlocal_node {k.mm.nr_faults}\nother_node 0\n"
        ),
    }  # fmt: skip
    if not k.version.before("6.12"):
        out |= {
            f"node0/memory_failure/{name}": lambda: "0\n"
            for name in ("delayed", "failed", "ignored", "recovered", "total")
        }
    return out
