"""The Internet checksum, against sums by hand and the properties of ones' complement."""

from hypothesis import given
from hypothesis import strategies as st

from bpf.packet.checksum import csum_fold, csum_partial, csum_replace2, csum_replace4, csum_replace_by_diff

HEADER = bytes.fromhex("45000073000040004011" + "0000" + "c0a80001c0a800c7")


def test_a_known_header():
    assert csum_fold(csum_partial(HEADER, 0)).to_bytes(2, "little") == bytes.fromhex("b861")


@given(st.binary(min_size=0, max_size=200), st.integers(0, 0xFFFFFFFF))
def test_like_a_sum_of_words(data, start):
    padded = data + b"\0" * (len(data) & 1)
    plain = start + sum(int.from_bytes(padded[i : i + 2], "little") for i in range(0, len(padded), 2))
    assert (csum_partial(data, start) - plain) % 0xFFFF == 0


@given(st.integers(0, 9), st.integers(0, 0xFFFF))
def test_replacing_a_word_keeps_the_header_right(index, word):
    changed = bytearray(HEADER)
    check = csum_fold(csum_partial(HEADER, 0))
    old = int.from_bytes(HEADER[2 * index : 2 * index + 2], "little")
    changed[2 * index : 2 * index + 2] = word.to_bytes(2, "little")
    fresh = csum_fold(csum_partial(bytes(changed), 0))
    assert (csum_replace2(check, old, word) - fresh) % 0xFFFF == 0
    assert (csum_replace4(check, old, word) - fresh) % 0xFFFF == 0
    diff = csum_partial(word.to_bytes(2, "little"), (~old & 0xFFFF))
    assert (csum_replace_by_diff(check, diff) - fresh) % 0xFFFF == 0
