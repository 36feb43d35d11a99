"""Debian's libbpf-tools on the machine: how far each comes must not get worse."""

import pytest

from tests.simkernel.loader import libbpf_tools

OBJECTS = libbpf_tools.objects()
# What each tool's report on the workload is checked for (docs/libbpf-tools.md has the reasons for the others).
RIGHT = [
    "bindsnoop",
    "biolatency",
    "biopattern",
    "biotop",
    "bitesize",
    "capable",
    "cpudist",
    "execsnoop",
    "exitsnoop",
    "filelife",
    "filetop",
    "fsdist",
    "fsslower",
    "funclatency",
    "gethostlatency",
    "hardirqs",
    "mountsnoop",
    "offcputime",
    "opensnoop",
    "runqlat",
    "runqslower",
    "sigsnoop",
    "softirqs",
    "solisten",
    "statsnoop",
    "syscount",
    "tcpconnect",
    "tcpconnlat",
    "tcplife",
    "tcprtt",
    "tcpstates",
    "tcpsynbl",
    "tcptop",
    "tcptracer",
    "vfsstat",
    "wakeuptime",
]
ATTACHED = [
    "bashreadline",
    "cpufreq",
    "drsnoop",
    "javagc",
    "klockstat",
    "ksnoop",
    "llcstat",
    "oomkill",
    "runqlen",
    "slabratetop",
]
pytestmark = pytest.mark.skipif(not OBJECTS, reason="the package cannot be had here")


def test_every_object_opens_and_has_a_row():
    assert set(OBJECTS) == set(libbpf_tools.TOOLS)
    for name, data in OBJECTS.items():
        obj = libbpf_tools.BpfObject(data, name)
        assert obj.programs and obj.btf is not None


QUICK = ["opensnoop", "vfsstat", "offcputime", "tcptop", "gethostlatency"]


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in RIGHT + ATTACHED]
)
def test_tool(name):
    stage, seen = libbpf_tools.run(OBJECTS[name], name, libbpf_tools.TOOLS[name])
    assert stage in (("right",) if name in RIGHT else ("right", "attached")), seen
