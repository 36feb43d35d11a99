"""/proc/sys/net by version: what calls/programs/netsettings.c prints on real kernels (netsettings_*.out.gz), but for 6.1, which its .out has."""

import gzip
from pathlib import Path

import pytest

from arch.abi.errno import EPROTONOSUPPORT
from arch.abi.inet import IPPROTO_UDPLITE
from arch.abi.socket import AF_INET, AF_INET6, SOCK_DGRAM
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from simkernel.fs.rootfs import add_bytes_lazily
from simkernel.machine import boot
from simkernel.net.core.conf_rows import ROWS
from simkernel.net.core.device_conf_rows import IPV4_CONF, IPV6_CONF, NEIGH

HERE = Path(__file__).parent
PROGRAM = HERE.parent / "calls/programs/bin/x86_64/netsettings"
VERSIONS = ("4.1", "5.10", "5.15", "6.1", "6.6", "6.12", "7.2")


@pytest.mark.parametrize("version", ["5.10", "6.12", "7.2"])
def test_names_modes_values_and_what_is_taken_are_those_of_the_real_kernel(version):
    with boot(kernel=version) as m:
        add_bytes_lazily(m.kernel.vfs, "/netsettings", PROGRAM.read_bytes())
        result = m.run(["/netsettings"], timeout_host_s=120)
    assert result.crash is None
    assert result.text == gzip.decompress((HERE / f"netsettings_{version}.out.gz").read_bytes()).decode()


@pytest.mark.parametrize("rows", [ROWS, IPV4_CONF, IPV6_CONF, NEIGH])
@pytest.mark.parametrize("version", VERSIONS)
def test_no_kernel_has_two_rows_for_a_file(rows, version):
    kernel = KernelVersion.parse(version)
    names = [row.name for row in rows if kernel.within(row.since, row.until)]
    assert len(names) == len(set(names))


def test_another_network_sees_its_own_and_what_is_shown_to_it(busybox):
    """On 6.12 sizes of buffers are the machine's, and others may read them; on 6.1 only the first network has the files."""
    script = (
        "cd /proc/sys/net/core; ls rmem_max somaxconn warnings 2>/dev/null; stat -c %a rmem_max somaxconn 2>/dev/null"
    )
    seen = {}
    for version in ("6.1", "6.12"):
        with boot(kernel=version) as m:
            box = m.install(busybox)
            seen[version] = m.run([box, "unshare", "-n", box, "sh", "-c", script], timeout_host_s=60).text.split()
    assert seen == {"6.1": ["somaxconn", "644"], "6.12": ["rmem_max", "somaxconn", "444", "644"]}


def test_a_shell_that_reads_a_byte_at_a_time_sees_one_digit(busybox):
    """As on Linux, where the second read of a number says that it ends; of a text it goes on."""
    script = (
        "cd /proc/sys; read a <net/core/somaxconn; read b <kernel/ostype; read c <kernel/threads-max; echo $a $b ${#c}"
    )
    with boot() as m:
        assert m.run([m.install(busybox), "sh", "-c", script], timeout_host_s=60).text == "4 Linux 1\n"


@pytest.mark.parametrize(("version", "there"), [("6.12", True), ("7.2", False)])
def test_udp_lite_is_gone_from_the_newest_kernel(version, there, busybox):
    """As 6.12 and 7.2 answered: sockets, files, lines of counters, names of functions."""
    with boot(kernel=version) as m:
        sockets = [
            m.session.syscalls.syscall("socket", family, SOCK_DGRAM, IPPROTO_UDPLITE) for family in (AF_INET, AF_INET6)
        ]
        script = (
            "cd /proc/net; ls udplite udplite6 2>/dev/null; grep -il lite *; grep -w 'udplite[v6]*_rcv' /proc/kallsyms"
        )
        text = m.run([m.install(busybox), "sh", "-c", script], timeout_host_s=60).text
    if there:
        assert min(sockets) >= 0
        assert "udplite6" in text and "snmp" in text and "sockstat" in text and "udplitev6_rcv" in text
    else:
        assert sockets == [-EPROTONOSUPPORT, -EPROTONOSUPPORT]
        assert text == ""


def test_masks_of_cpus():
    """What 6.12 says with one CPU; more CPUs have more digits."""
    session = boot(kernel="6.12").session
    name = "/proc/sys/net/core/flow_limit_cpu_bitmap"
    for text, errno in (
        (b"1", 0),
        (b"0", 0),
        (b"00000001", 0),
        (b"2", 75),
        (b"g", 22),
        (b"1,00000000", 75),
        (b"1 2", 75),
        (b"0x1", 22),
    ):
        try:
            session.write_file(name, text)
            said = 0
        except KernelError as error:
            said = error.errno
        assert (text, said) == (text, errno)
    assert session.read_file(name) == b"1\n"
    many = boot(kernel="7.2", cpus=6).session
    many.write_file("/proc/sys/net/core/rps_default_mask", b"2a")
    assert many.read_file("/proc/sys/net/core/rps_default_mask") == b"2a\n"
    assert many.read_file(name) == b"00\n"
