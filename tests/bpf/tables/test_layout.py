"""Structures as the kernel's headers lay them out, against what Debian's 6.1 on x86-64 has in its own BTF."""

import pytest

from arch.abi.version import NEWEST
from arch.architecture import get
from arch.typetable import kernel_types
from bpf.layout import KernelLayout, default_layout
from tests.bpf.tables.kernel_offsets_6_1 import OFFSETS

# The simulated task_struct has fewer members than Debian's: the place is another, the member is there.
ELSEWHERE = {"task_struct.bpf_ctx"}
# Here sk_msg_sg is looked at through the sk_msg it begins.
RENAMED = {"sk_msg_sg.size": "sk_msg.sg.size"}


@pytest.mark.parametrize("path", sorted(OFFSETS))
def test_offset(path):
    place = default_layout().place(RENAMED.get(path, path))
    offset, size = OFFSETS[path]
    if path in ELSEWHERE:
        assert place.size == size
    else:
        assert (place.offset, place.size) == (offset, size)


def test_bits_of_a_byte():
    little, big = default_layout(), KernelLayout(big_endian_types())
    assert little.place("sk_buff.pkt_type")[2:] == (0b111, 0)
    assert little.place("sk_buff.tc_at_ingress")[2:] == (1 << 7, 7)
    assert little.place("sk_buff.mono_delivery_time")[2:] == (1 << 5, 5)
    assert big.place("sk_buff.pkt_type")[2:] == (0b11100000, 5)
    assert big.place("sk_buff.tc_at_ingress")[2:] == (1, 0)
    assert big.place("sk_buff.mono_delivery_time")[2:] == (1 << 2, 2)


def big_endian_types():
    return kernel_types(get("s390x"), NEWEST)
