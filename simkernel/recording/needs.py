"""Packages that only exports, pictures and notebooks need; the extra `export` of pip has them."""

from __future__ import annotations

import importlib
from types import ModuleType

EXTRA = "export"


class MissingPackage(ImportError):
    """A package of the extra is not installed: a sentence that says how it is."""

    def __init__(self, name: str) -> None:
        super().__init__(f"needs the Python package {name}: pip install 'simkernel[{EXTRA}]'")


def module(name: str) -> ModuleType:
    """Import it.  MissingPackage."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingPackage(name.split(".")[0]) from None
