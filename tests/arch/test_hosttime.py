"""The host's time: limits, graces, Ctrl-C, and what does not look at the word."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from arch.hosttime import HOST, HOST_WORD, HostStop, Why


def test_a_limit_sets_the_word_and_takes_it_back() -> None:
    with HOST.limit(0.05):
        assert not HOST_WORD[0]
        while not HOST_WORD[0]:
            pass
        HOST.seen()
        assert HOST.why is Why.TIME
        with HOST.grace(10):
            assert not HOST_WORD[0]
        assert HOST_WORD[0]
    assert not HOST_WORD[0]


def test_who_does_not_look_is_interrupted() -> None:
    with pytest.raises(HostStop), HOST.limit(0.02):
        while True:
            pass
    assert not HOST_WORD[0]


def test_an_inner_limit_ends_alone_and_an_outer_one_ends_both() -> None:
    with HOST.limit(600):
        with pytest.raises(HostStop), HOST.limit(0.02):
            while True:
                pass
        assert not HOST_WORD[0]
    with pytest.raises(HostStop), HOST.limit(0.02), HOST.limit(600):
        while True:
            pass


def test_an_exception_that_a_callback_swallows_comes_again() -> None:
    def busy() -> int:
        while True:
            pass

    callback = ctypes.PYFUNCTYPE(ctypes.c_int)(busy)
    with pytest.raises(HostStop), HOST.limit(0.02):
        callback()
        while True:
            pass


def test_a_grace_is_counted_in_cpu_time() -> None:
    with HOST.grace(0.05):
        time.sleep(0.1)  # no work
        assert not HOST_WORD[0]
        while not HOST_WORD[0]:
            pass
        HOST.seen()


def test_ctrl_c_in_a_run_sets_the_word_and_is_raised_afterwards() -> None:
    poked = threading.Event()
    HOST.enter(poked.set)
    try:
        os.kill(os.getpid(), signal.SIGINT)
        while not HOST_WORD[0]:
            pass
        HOST.seen()
        assert HOST.why is Why.INTERRUPT
        assert poked.wait(60)
    finally:
        HOST.leave(poked.set)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        HOST.raise_if_asked()
    assert not HOST_WORD[0]
    HOST.raise_if_asked()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)


def test_a_limit_goes_on_in_a_child() -> None:
    with HOST.limit(0.05):
        child = os.fork()
        if not child:
            try:
                while True:
                    pass
            except HostStop:
                os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_an_interrupt_that_a_destructor_swallowed_comes_again() -> None:
    code = """
import os, signal, time
from arch.hosttime import HOST
HOST.take_signals()
class Last:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000): pass
try:
    Last()
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_the_destructor_of_what_was_left_half_made_says_nothing() -> None:
    code = """
from arch.hosttime import HOST, HostStop
HOST.take_signals()
class Half:
    def __init__(self):
        while True: pass
        self.handle = 1
    def __del__(self):
        self.handle
try:
    with HOST.limit(0.01):
        Half()
except HostStop:
    print("stopped")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("stopped\n", "")


def test_what_a_destructor_swallows_in_a_library_s_user_is_not_printed() -> None:
    """No command here, whose signals are ours: an exception of the watching thread is ours all the same."""
    code = """
from arch.hosttime import HOST, HostStop
class Last:
    def __del__(self):
        while True: pass
class Own:
    def __del__(self):
        raise LookupError("the user's own")
try:
    with HOST.limit(0.01):
        Last()
        while True: pass
except HostStop:
    print("stopped")
Own()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "stopped\n"
    assert "HostStop" not in done.stderr and "the user's own" in done.stderr
