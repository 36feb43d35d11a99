"""Numbers as lib/kstrtox.c reads them."""

import pytest

from arch.abi.errno import EINVAL, ERANGE
from arch.cstring import c_string, kstrto, kstrto_within
from arch.errors import KernelError


@pytest.mark.parametrize(
    ("text", "base", "value"),
    [("10", 0, 10), ("010", 0, 8), ("0x1F\n", 0, 31), ("0", 0, 0), ("+7", 10, 7), ("0Xff", 16, 255), ("ff", 16, 255)],
)
def test_read(text, base, value):
    assert kstrto(text, base, 32, False) == value


@pytest.mark.parametrize(
    ("text", "errno"),
    [("", EINVAL), ("\n", EINVAL), ("1\n\n", EINVAL), (" 1", EINVAL), ("08", EINVAL), ("0x", EINVAL), ("1_0", EINVAL),
     ("-1", EINVAL), ("+-1", EINVAL), ("4294967296", ERANGE)],
)  # fmt: skip
def test_refused(text, errno):
    with pytest.raises(KernelError) as error:
        kstrto(text, 0, 32, False)
    assert error.value.errno == errno


def test_signs():
    assert kstrto("-2147483648", 0, 32, True) == -(1 << 31)
    for text in ("2147483648", "-2147483649"):
        with pytest.raises(KernelError):
            kstrto(text, 0, 32, True)
    assert kstrto_within("-5", low=-5, high=5) == -5


def test_c_string():
    assert c_string(b"a\xff\0b") == "a\xff"
