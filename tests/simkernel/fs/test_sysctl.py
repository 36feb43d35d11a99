"""/proc/sys: what sysctl.sh finds on a real Linux 6.1 (sysctl.out) it finds inside: names, modes, values, what each takes and refuses."""

from pathlib import Path

import simkernel

HERE = Path(__file__).parent


def test_settings_take_and_refuse_what_linux_takes_and_refuses(tmp_path, busybox):
    answers = (HERE / "sysctl.out").read_text()
    names = [line.split(" ")[0] for line in answers.splitlines() if not line.startswith("\t")]
    names = [name for name in names if "/" in name and "~" not in name]
    (tmp_path / "script").write_text((HERE / "sysctl.sh").read_text())
    (tmp_path / "names").write_text("\n".join(names) + "\n")
    with simkernel.boot(binds=[f"{tmp_path}:/host"]) as m:
        result = m.run([m.install(busybox), "sh", "-c", "sh /host/script </host/names 2>&1"], timeout_host_s=120)
    assert result.crash is None
    assert result.text == answers


def test_the_time_of_real_time_tasks_is_never_more_than_all(busybox):
    """sched_time.sh, as a real 6.1 answered."""
    with simkernel.boot(binds=[f"{HERE}:/host"]) as m:
        result = m.run([m.install(busybox), "sh", "/host/sched_time.sh"], timeout_host_s=60)
    assert result.text == (HERE / "sched_time.out").read_text()


def test_settings_of_older_kernels_are_not_there_before_them():
    listed = {}
    for version in ("4.1", "5.10", "6.1"):
        with simkernel.boot(kernel=version) as m:
            listed[version] = set(m.kernel.vfs.sysctl.entries)
    assert "vm.compaction_proactiveness" not in listed["4.1"]
    assert "vm.compaction_proactiveness" in listed["5.10"]
    assert "kernel.warn_limit" not in listed["4.1"]
    assert "kernel.warn_limit" in listed["5.10"]  # as Debian's has it
