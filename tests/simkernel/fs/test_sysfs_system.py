"""/sys/devices/system: what lscpu, numactl and perf read of processors and memory, by version."""

import pytest

from simkernel.machine import boot

# what real kernels of these versions have on x86-64, some with more than one CPU asked for here
ONLY_SINCE = {
    "devices/system/cpu/nohz_full": "6.1", "devices/system/cpu/cpu0/topology/cluster_id": "6.1", "devices/system/cpu/enabled": "6.12",
    "devices/system/node/node0/memory_failure/total": "6.12", "devices/system/cpu/vulnerabilities/ghostwrite": "7.2",
}  # fmt: skip
ORDER = ("5.10", "6.1", "6.12", "7.2")


@pytest.fixture(scope="module")
def two():
    with boot(cpus=2) as machine:
        yield machine


def sh(machine, script):
    box = machine.install("busybox")
    return machine.run([box, "sh", "-c", script]).text


def test_caches_and_node_say_which_cpus_they_are_of(two):
    cat = "cd /sys/devices/system; for f in {}; do echo $f: $({} cat $f); done"
    files = ("cpu/cpu1/cache/index0/id", "cpu/cpu1/cache/index0/shared_cpu_list", "cpu/cpu1/cache/index3/shared_cpu_map",
             "cpu/cpu1/cache/index2/size", "cpu/cpu1/topology/thread_siblings", "cpu/cpu1/hotplug/state", "cpu/cpu0/node0/cpulist",
             "node/node0/cpumap", "node/node0/cpu1/topology/core_id", "node/has_memory", "cpu/kernel_max")  # fmt: skip
    text = sh(two, cat.format(" ".join(files), two.install("busybox")))
    values = dict(line.split(": ") for line in text.splitlines())
    assert [values[name] for name in files] == ["1", "1", "3", "512K", "2", "236", "0-1", "3", "1", "0", "8191"]


def test_a_node_has_the_machines_memory(two):
    box = two.install("busybox")
    lines = sh(two, f"{box} cat /sys/devices/system/node/node0/meminfo /proc/meminfo").splitlines()
    node = {line.split()[2]: int(line.split()[3]) for line in lines if line.startswith("Node 0 ")}
    whole = {line.split()[0]: int(line.split()[1]) for line in lines if not line.startswith("Node")}
    assert node["MemTotal:"] == whole["MemTotal:"] == node["MemUsed:"] + node["MemFree:"]
    assert len(node) == 36
    assert lines[0] == f"Node 0 MemTotal:       {whole['MemTotal:']:8d} kB"


@pytest.mark.parametrize("version", ORDER)
def test_files_of_later_versions_are_not_there_before(version):
    with boot(kernel=version) as machine:
        box = machine.install("busybox")
        there = sh(machine, f"for f in {' '.join(ONLY_SINCE)}; do {box} test -e /sys/$f && echo $f; done").split()
        vmstat = sh(machine, f"{box} cat /sys/devices/system/node/node0/vmstat")
    assert there == [name for name, since in ONLY_SINCE.items() if ORDER.index(since) <= ORDER.index(version)]
    assert vmstat.startswith("nr_free_pages ") and "nr_dirty_threshold" not in vmstat
