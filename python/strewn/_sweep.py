"""Sweeps: many runs of one scenario that differ by axes."""

from __future__ import annotations

import json
import os
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from . import _strewn
from ._chart import Chart
from ._errors import StrewnError
from ._progress import Line
from ._table import Table, from_csv

#: A path of a study's file, or a dict as such a file would be.
StudyLike = Union[str, "os.PathLike[str]", Mapping[str, Any]]
#: True writes a line on standard error; a function is called with the runs done, all that were missing, and the share
#: of the work that is done, 0 to 1.
SweepProgress = Union[bool, Callable[[int, int, float], None], None]

_INTS = frozenset({"combination", "first_combination", "segment", "n"})
_SVG = ".svg"
_FLOATS = frozenset({"mean", "low", "high", "mean_difference", "percent"})


class Sweep:
    """The figures of a sweep: a *combination* is a choice of one value of each axis, run once with each seed."""

    #: The directory of the sweep.
    out: Path

    def __init__(self, native: _strewn.Figures, out: Path) -> None:
        self._native = native
        self.out = out

    @cached_property
    def data(self) -> Dict[str, Any]:
        """Everything: ``sweep.json`` as a dict."""
        data: Dict[str, Any] = json.loads(self._text("sweep.json"))
        return data

    @cached_property
    def frame(self) -> Table:
        """The long table: a row for each combination, figure and segment, with the label (and the number) of each axis,
        the mean over seeds, its 95 % interval (``low``, ``high``), and a column for each seed. ``unit`` is that of all
        four."""
        return from_csv(self._text("sweep.csv"), self._type_of)

    @cached_property
    def differences(self) -> Table:
        """What each value of an axis changes beside the axis' first value, all others being equal: the mean difference
        by seed, its 95 % interval, percent, and whether it is larger than noise."""
        return from_csv(self._text("differences.csv"), self._type_of)

    @property
    def missing(self) -> List[Dict[str, Any]]:
        """Runs that are not there: ``combination``, ``seed``, and ``error`` if it failed."""
        return list(self.data["missing"])

    def tables(self) -> str:
        """The tables that ``strewn sweep`` prints."""
        return self._native.table()

    @property
    def charts(self) -> List[str]:
        """The names of its charts."""
        return [name[: -len(_SVG)] for name in self._native.names() if name.endswith(_SVG)]

    def chart(self, name: str) -> Chart:
        """A chart by its name, one of :attr:`charts`."""
        svg = self._native.text(name + _SVG)
        if svg is None:
            raise StrewnError(f"this sweep has no chart {name!r}", f"it has {', '.join(self.charts) or 'none'}")
        return Chart(name, svg)

    def report(self, path: Union[str, os.PathLike[str]]) -> Path:
        """Writes ``report.html``, one file with all charts and tables, to ``path``. It is in :attr:`out` too."""
        path = Path(path)
        path.write_text(self._text("report.html"), encoding="utf-8")
        return path

    def _text(self, name: str) -> str:
        text = self._native.text(name)
        if text is None:
            raise StrewnError(f"this sweep has no {name}", f"it has {', '.join(self._native.names())}")
        return text

    def _type_of(self, column: str) -> Callable[[str], Any]:
        if column == "larger_than_noise":
            return "true".__eq__
        if column in _INTS:
            return int
        axes = [axis["name"] for axis in self.data["axes"]]
        numbers = {f"{prefix}{axis}_number" for axis in axes for prefix in ("", "axis_")}
        seeds = {f"seed_{seed}" for seed in self.data["seeds"]}
        return float if column in _FLOATS | numbers | seeds else str

    def __repr__(self) -> str:
        axes = ", ".join(f"{axis['name']} ({len(axis['values'])})" for axis in self.data["axes"])
        return f"<strewn.Sweep {self.data['study']} over {axes}: {len(self.data['seeds'])} seeds, in {self.out}>"

    def _repr_html_(self) -> str:
        return "\n".join([self.frame._repr_html_(), *(self.chart(name).svg for name in self.charts)])


def sweep(
    study: StudyLike,
    out: Union[str, os.PathLike[str]],
    *,
    quick: bool = False,
    scale_down: Optional[int] = None,
    jobs: int = 0,
    save: bool = False,
    max_hours: Optional[float] = None,
    ray: Union[bool, str, None] = None,
    retries: int = 5,
    progress: SweepProgress = None,
) -> Sweep:
    """Does the runs of a study that are missing in the directory ``out``, and returns the figures of all.

    ``study`` is the path of a study's file, or a dict as such a file would be; the relative paths in a dict start from
    the current directory.

    - ``quick``: at 1/8 of full scale; ``scale_down``: at this fraction instead, 64 for 1/64.
    - ``jobs``: how many runs at once on this machine; 0 is one per core, or fewer if memory is short.
    - ``save``: save each run after each of its segments, so that a sweep that is killed goes on inside its runs.
    - ``max_hours``: stop after this time; runs under way are left unfinished.
    - ``ray``: True for the Ray cluster that this process is connected to, or that Ray finds (``RAY_ADDRESS``, a cluster
      on this machine, or a new one); or an address. Each run is a task of one CPU and the memory that it is estimated
      to need. Needs ``pip install strewn[ray]`` here and the same version of Strewn on each node. ``jobs`` then bounds
      the tasks in flight; 0 is two for each CPU of the cluster. ``save`` is not for a cluster.
    - ``retries``: how often a task is repeated that a cluster loses with its worker or its node.
    - ``progress``: True for a line on standard error, or a function of (done, all, share).

    Ctrl-C stops the sweep and raises ``KeyboardInterrupt``. Runs that are done are kept, and the same call goes on with
    the others. A run that fails does not end a sweep: a warning says so, and :attr:`Sweep.missing` has the reason.
    The files of ``out`` are the same bytes wherever runs are done, ``wall_seconds`` of ``results.json`` aside.
    """
    out = Path(out)
    if quick and scale_down is not None:
        raise StrewnError("quick and scale_down are both given", "quick is scale_down=8: give one of them")
    if scale_down is not None and scale_down < 1:
        raise StrewnError(f"scale_down is {scale_down}", "give 64 for 1/64, or 1 for full scale")
    if max_hours is not None and not max_hours >= 0:
        raise StrewnError(f"max_hours is {max_hours}", "give a number from 0 on, or leave it out")
    if ray and save:
        raise StrewnError("save is not for a cluster", "leave it out: what a lost node did is done again")
    if isinstance(study, Mapping):
        plan = _strewn.Plan.of_dict(study, None, scale_down, quick, out)
    else:
        plan = _strewn.Plan.of_file(study, scale_down, quick, out)
    line = Line() if progress is True else None
    show = _show(line, plan.name) if line else progress if callable(progress) else None
    seconds = None if max_hours is None else 3600.0 * max_hours
    try:
        if ray:
            from ._ray import run_on_ray

            address = ray if isinstance(ray, str) else None
            failed = run_on_ray(plan, address, jobs, retries, seconds, show)
        else:
            failed = plan.run(jobs, save, seconds, show)[2]
    finally:
        if line:
            line.close()
    figures = Sweep(plan.collect(failed), out)
    if failed:
        index, error = failed[0]
        warnings.warn(f"{len(failed)} runs of {plan.points} failed; run {index}: {error}", RuntimeWarning, stacklevel=2)
    return figures


def _show(line: Line, name: str) -> Callable[[int, int, float], None]:
    def show(done: int, all: int, share: float) -> None:
        line.show(name, f"{done} of {all} runs, {100 * share:.0f} %")

    return show
