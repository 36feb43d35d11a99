"""The one thing that pyproject.toml cannot say: the samples are installed inside the package, as `simkernel.samples`.

In a checkout they are the folder samples/, where the documentation shows them.  Installed, that name at top level could
be anybody's.
"""

from setuptools import find_packages, setup

FLOORS = ["arch*", "tracing*", "bpf*", "simkernel*"]
SAMPLES = find_packages(include=["samples", "samples.*"])

setup(
    packages=[*find_packages(include=FLOORS), *(f"simkernel.{package}" for package in SAMPLES)],
    package_dir={"simkernel.samples": "samples"},
)
