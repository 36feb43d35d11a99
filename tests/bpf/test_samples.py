"""The committed sample objects are what their sources build to."""

import importlib.util
import shutil
from pathlib import Path

import pytest

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def build_module():
    spec = importlib.util.spec_from_file_location("samples_build", SAMPLES / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_objects_rebuild_to_the_same_bytes(tmp_path, monkeypatch):
    pytest.importorskip("ziglang")
    build = build_module()
    if (SAMPLES / "COMPILER").read_text().split()[1] != build.compiler_version():
        pytest.skip("committed with another version of the compiler")
    monkeypatch.setenv("ZIG_LOCAL_CACHE_DIR", str(tmp_path / "cache"))
    build.build(tmp_path)
    committed = sorted(p.relative_to(SAMPLES) for d in ("bin", "obj") for p in (SAMPLES / d).rglob("*") if p.is_file())
    assert committed
    for path in committed:
        assert (tmp_path / path).read_bytes() == (SAMPLES / path).read_bytes(), path
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
