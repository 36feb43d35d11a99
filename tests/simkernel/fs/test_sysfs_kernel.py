"""/sys/kernel: what sysfs_kernel.sh finds on real kernels of four versions it finds inside: modes, values, what each takes and refuses."""

import gzip
from pathlib import Path

import pytest

import simkernel

HERE = Path(__file__).parent


@pytest.mark.parametrize("version", ["5.10", "6.1", "6.12", "7.2"])
def test_settings_take_and_refuse_what_linux_takes_and_refuses(tmp_path, busybox, version):
    answers = gzip.decompress((HERE / f"sysfs_kernel_{version}.out.gz").read_bytes()).decode()
    (tmp_path / "script").write_text((HERE / "sysfs_kernel.sh").read_text())
    (tmp_path / "names").write_text("".join(line.split(" ")[0] + "\n" for line in answers.splitlines()))
    with simkernel.boot(kernel=version, binds=[f"{tmp_path}:/host"]) as m:
        box = m.install(busybox)
        result = m.run([box, "sh", "-c", "sh /host/script </host/names"], timeout_host_s=120)
        moved = m.run([box, "readlink", "/sys/kernel/kexec_crash_size"]).text
        loaded = m.run([box, "cat", "/sys/kernel/kexec_loaded"]).text
        listed = m.run([box, "find", "/sys/kernel/mm/transparent_hugepage", "/sys/kernel/reboot"]).text.split()
    assert result.text.splitlines() == answers.splitlines()
    assert (moved, loaded) == ("kexec/crash_size\n" if version == "7.2" else "", "0\n")
    assert ("/sys/kernel/reboot/cpu" in listed) == (version != "5.10")


def test_no_processor_goes(busybox):
    with simkernel.boot(cpus=2) as m:
        said = m.run(
            [
                m.install(busybox),
                "sh",
                "-c",
                "cd /sys/devices/system/cpu/cpu1; echo 0 >online; echo 1 >online; echo 0 >hotplug/target; cat online",
            ]
        )
    assert (said.stdout + said.stderr).count(b"Device or resource busy") == 2
    assert said.text.endswith("1\n")
