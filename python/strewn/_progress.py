"""How far a run has come."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Callable, Dict, Union

from ._scenario import Scenario

#: How often a line of progress is written, in seconds.
_WRITE_EVERY_S = 0.25


@dataclass(frozen=True)
class Progress:
    """How far an array of a run has come; with ``replicates``, with the first seed."""

    #: The array.
    array: str
    #: The segment that it is in, from 1.
    segment: int
    #: How many segments the run has.
    segments: int
    #: Simulated time since the beginning, in seconds.
    simulated_seconds: float
    #: Host operations answered since the beginning.
    operations: int
    #: Share of the simulated time that is done, 0 to 1.
    fraction: float


#: True writes a line on standard error; a function is called with the :class:`Progress` of each array, some twenty
#: times a second. What it raises ends the run.
ProgressLike = Union[bool, Callable[[Progress], None], None]


class Reporter:
    """Tells the user of a run what the native half reports."""

    def __init__(self, show: ProgressLike, scenario: Scenario, segments: int) -> None:
        self._line = Line() if show is True else None
        self._show = self._line or show
        self._arrays = scenario.arrays
        self._segments = segments

    def __call__(self, array: int, segment_seconds: float, simulated_seconds: float, operations: int) -> None:
        if not callable(self._show):
            return
        segment = min(int(simulated_seconds / segment_seconds) + 1, self._segments)
        fraction = min(simulated_seconds / (segment_seconds * self._segments), 1.0)
        name = self._arrays[array]
        self._show(Progress(name, segment, self._segments, simulated_seconds, operations, fraction))

    def close(self) -> None:
        """Ends the line."""
        if self._line:
            self._line.close()


class Line:
    """A line on standard error, written over and over."""

    def __init__(self) -> None:
        self._shown: Dict[str, str] = {}
        self._written = 0.0

    def __call__(self, progress: Progress) -> None:
        self.show(progress.array, f"{100 * progress.fraction:.0f} %")

    def show(self, name: str, state: str) -> None:
        """Shows the state of what is called ``name``."""
        self._shown[name] = state
        if time.monotonic() - self._written >= _WRITE_EVERY_S:
            self._write()

    def close(self) -> None:
        """Writes the last state, and ends the line."""
        self._write()
        sys.stderr.write("\n")

    def _write(self) -> None:
        self._written = time.monotonic()
        states = (f"{name}: {state}" for name, state in self._shown.items())
        sys.stderr.write("\r\x1b[K" + ", ".join(states))
        sys.stderr.flush()
