"""A word to standard error, in one write: ranks share the stream, and their lines must not be torn."""

import contextlib
import os
import sys


def say(text: str) -> None:
    """Never raises: a stream that is closed, broken or not there is no reason for a run to fail."""
    stream = sys.stderr
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if sys.__stderr__ is None or stream is not sys.__stderr__:
            # Somebody collects what is said: a notebook, a test, a program with a log.
            stream.write(f"{text}\n")
            stream.flush()
            return
        stream.flush()
        # Not through the stream: it makes a write of its own of what does not fit its buffer, and of a newline.
        left = memoryview(f"{text}\n".encode(stream.encoding, "backslashreplace"))
        while left:
            left = left[os.write(stream.fileno(), left) :]
