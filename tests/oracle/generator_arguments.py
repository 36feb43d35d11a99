"""The command line of the generators of cases."""

import argparse
from pathlib import Path
from random import Random
from typing import NamedTuple

from bpf.btf import Btf


class Asked(NamedTuple):
    """What a generator that needs a kernel's BTF was asked for."""

    kind: str
    count: int
    rng: Random
    btf: Btf


def _parser(doc: str | None, kinds: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    return parser


def kind_count_seed(doc: str | None, kinds: list[str]) -> tuple[str, int, int]:
    """KIND COUNT [--seed N]."""
    args = _parser(doc, kinds).parse_args()
    return args.kind, args.count, args.seed


def asked(doc: str | None, kinds: list[str]) -> Asked:
    """KIND COUNT --btf FILE [--seed N]."""
    parser = _parser(doc, kinds)
    parser.add_argument("--btf", type=Path, required=True)
    args = parser.parse_args()
    return Asked(args.kind, args.count, Random(args.seed), Btf.parse(args.btf.read_bytes()))
