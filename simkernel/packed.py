"""Results on their way from a copy of a machine to the process that waits for them: a value, or an exception."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any


class ChildError(Exception):
    """A copy that ended without a result: killed, or with an exception that cannot travel."""


def packed(function: Callable[[], object]) -> bytes:
    """What a function returned or raised in a copy, to be sent to the process that waits for it."""
    try:
        return _result(function())
    except BaseException as error:
        error.add_note("in a copy of a machine:\n" + "".join(traceback.format_tb(error.__traceback__)))
        return _failure(error)


def unpacked(data: bytes) -> Any:
    """The other end: returns, or raises."""
    good, value = pickle.loads(data)
    if good:
        return value
    assert isinstance(value, BaseException)
    raise value


def _result(value: object) -> bytes:
    try:
        return pickle.dumps((True, value))
    except Exception as error:
        raise ChildError(f"the result cannot be brought back: {error}") from None


def _failure(error: BaseException) -> bytes:
    """The exception, or where it does not survive the journey its text."""
    try:
        data = pickle.dumps((False, error))
        pickle.loads(data)
    except Exception:
        return pickle.dumps((False, ChildError("".join(traceback.format_exception(error)))))
    return data
