"""A `.grad` that was None where a gradient was needed (ZG303): told by the exception that ended the run."""

import linecache
import traceback
from types import TracebackType

from zerograd.core.events import Site
from zerograd.run.detector import Detector
from zerograd.run.sites import shown, theirs


class Nones(Detector):
    codes = ("ZG303",)

    def raised(self, error: BaseException, tb: TracebackType | None) -> None:
        """An exception has left the audited program."""
        if not isinstance(error, AttributeError | TypeError) or "NoneType" not in str(error):
            return
        for frame in reversed(list(traceback.walk_tb(tb))):
            if not theirs(frame[0].f_code.co_filename):
                continue
            line = linecache.getline(frame[0].f_code.co_filename, frame[1])
            if ".grad" in line or (not line and "grad" in frame[0].f_code.co_names):
                site = Site(shown(frame[0].f_code.co_filename), frame[1])
                self.say("ZG303", site, certain=True, what=".grad", why="it has no gradient yet, or it was cleared")
            return
