"""scripts/NAME.sh prints inside what it printed on a real Linux 6.1 (NAME.out): Debian's iproute2 and others, unmodified.

`python tests/simkernel/net/test_scripts.py NAME` prints the script as it was given to the real kernel's shell.
"""

import re
import shutil
import sys
from pathlib import Path

import pytest

import simkernel

SCRIPTS = Path(__file__).parent / "scripts"
PRELUDE = """
ip() { /usr/bin/ip "$@"; }
ss() { /usr/bin/ss "$@"; }
tc() { /usr/sbin/tc "$@"; }
export PATH=/usr/bin:/usr/sbin:$PATH
mkdir -p /run/netns
"""
# Times of packets differ from run to run; lines end where their text ends.
LOOSE = ((r"time=[0-9.]+ ms", "time=T"), (r"time [0-9]+ms", "time T"), (r"mdev = .*", "mdev"), (r"(?m)[ \t]+$", ""))


def script(name: str) -> str:
    return PRELUDE + (SCRIPTS / f"{name}.sh").read_text()


def plain(text: str) -> str:
    for pattern, word in LOOSE:
        text = re.sub(pattern, word, text)
    return text


@pytest.mark.skipif(not Path("/usr/bin/ip").exists(), reason="needs Debian's iproute2")
@pytest.mark.parametrize("name", sorted(path.stem for path in SCRIPTS.glob("*.sh")))
def test_a_script_prints_what_it_printed_on_linux(name, tmp_path, busybox):
    if " ping " in script(name) and not Path("/usr/bin/ping").exists():
        pytest.skip("needs Debian's iputils-ping: busybox's prints other words")
    (tmp_path / "script").write_text(script(name))
    binds = [f"{place}:{place}" for place in ("/usr", "/lib", "/lib64", "/etc/iproute2")] + [f"{tmp_path}:/host"]
    with simkernel.boot(binds=binds) as m:
        result = m.run([m.install(busybox), "sh", "-c", "exec sh /host/script 2>&1"], timeout_host_s=120)
    assert result.crash is None
    assert plain(result.text) == plain((SCRIPTS / f"{name}.out").read_text())


if __name__ == "__main__":
    assert shutil.which("ip")
    print(script(sys.argv[1]))
