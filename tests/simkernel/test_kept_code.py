"""The command's modules come from one file of the cache, while they are what their sources say."""

import importlib
import os
import subprocess
import sys

import pytest

from arch import cache
from simkernel.kept_code import CODE_KIND, KeptCode, KeptLoader

PACKAGES = frozenset(["kept_example"])


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A package of two modules, importable here."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    package = tmp_path / "kept_example"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("VALUE = 1\ndef fails():\n    raise ValueError(VALUE)\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield package
    forget()


def forget():
    for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
        del sys.modules[name]
    importlib.invalidate_caches()


def kept(monkeypatch):
    """As a process that starts: what was imported here before is forgotten."""
    forget()
    found = KeptCode("test", PACKAGES)
    monkeypatch.setattr(
        sys, "meta_path", [found, *(finder for finder in sys.meta_path if not isinstance(finder, KeptCode))]
    )
    return found


@pytest.mark.parametrize("writes", [True, False])
def test_from_the_file(sources, monkeypatch, writes):
    """Also where Python keeps nothing beside the sources; a traceback, and who asks for the source, see the source."""
    monkeypatch.setattr(sys, "dont_write_bytecode", not writes)
    first = kept(monkeypatch)
    module = importlib.import_module("kept_example.one")
    assert not isinstance(module.__loader__, KeptLoader) and not first.rows
    first.keep()
    second = kept(monkeypatch)
    module = importlib.import_module("kept_example.one")
    assert (
        isinstance(module.__loader__, KeptLoader) and module.VALUE == 1 and module.__file__ == str(sources / "one.py")
    )
    assert module.__cached__ == importlib.util.cache_from_source(module.__file__)
    assert sys.modules["kept_example"].__path__ == [str(sources)]
    with pytest.raises(ValueError) as caught:
        module.fails()
    assert "raise ValueError(VALUE)" in str(caught.traceback[-1].statement)
    stored = list((sources.parent / "cache").iterdir())
    second.keep()  # nothing new: not written again
    assert [file.stat().st_mtime_ns for file in stored] == [
        file.stat().st_mtime_ns for file in (sources.parent / "cache").iterdir()
    ]


def test_another_source(sources, monkeypatch):
    kept_first = kept(monkeypatch)
    importlib.import_module("kept_example.one")
    kept_first.keep()
    (sources / "one.py").write_text("VALUE = 22\n")
    second = kept(monkeypatch)
    assert second.find_spec("kept_example.one") is None
    assert importlib.import_module("kept_example.one").VALUE == 22
    second.keep()
    third = kept(monkeypatch)
    module = importlib.import_module("kept_example.one")
    assert isinstance(module.__loader__, KeptLoader) and module.VALUE == 22
    (sources / "one.py").unlink()
    forget()
    assert third.find_spec("kept_example.one") is None


@pytest.mark.parametrize("where", [0, 20, 30, -3, None])
def test_damaged(sources, monkeypatch, where):
    """What is damaged is read from the sources; so is everything when the file is empty."""
    first = kept(monkeypatch)
    importlib.import_module("kept_example.one")
    first.keep()
    (file,) = (sources.parent / "cache").glob(f"{CODE_KIND}-*")
    data = bytearray(file.read_bytes())
    if where is None:
        data.clear()
    else:
        data[where] ^= 0xFF
    file.write_bytes(data)
    kept(monkeypatch)
    assert importlib.import_module("kept_example.one").VALUE == 1


def test_only_the_command(tmp_path):
    """A program that uses the package imports it as any other; the second command finds what the first one has kept."""
    environment = {**os.environ, cache.VARIABLE: str(tmp_path)}

    def loader(name):
        script = (
            f"import sys; sys.argv[0] = {name!r}; import simkernel.program as m; print(type(m.__loader__).__name__)"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip() + done.stderr

    assert [loader("simkernel"), loader("simkernel"), loader("other")] == [
        "SourceFileLoader",
        "KeptLoader",
        "SourceFileLoader",
    ]
    assert len(list(tmp_path.glob(f"{CODE_KIND}-*"))) == 1
