"""A log that is too long for its buffer: its beginning until 6.4, its end since; forgotten text does not count as lost."""

from __future__ import annotations

from bpf.verifier.log.log import Log


def test_what_does_not_fit_is_left_out_or_drives_out_the_beginning() -> None:
    for rolls, kept in ((False, "abcdefg"), (True, "fghijkl")):
        log = Log(1, 8, rolls)
        for text in ("abcd", "efgh", "ijkl"):
            log.write(text)
        assert (log.text, log.truncated) == (kept, True)


def test_a_long_path_that_is_forgotten_leaves_its_length() -> None:
    log = Log(1, 8, True)
    log.write("0123456789")
    log.reset(0)
    log.write("done")
    assert (log.text, log.truncated) == ("done", True)
