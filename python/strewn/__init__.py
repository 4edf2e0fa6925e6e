"""Strewn studies how a write-anywhere (copy-on-write) layout fragments a LUN over the spindles of an array, and what
that costs compared with an array that updates in place.

    >>> import strewn
    >>> results = strewn.run("scenarios/making-sense-of-wafl-4.toml", quick=True)
    >>> results.segments.to_polars()
    >>> results.chart("iops").save("iops.svg")

:func:`run` runs a scenario; :func:`sweep` runs a study, on this machine or on a Ray cluster.
"""

from ._chart import Chart
from ._errors import Problem, ScenarioError, StrewnError
from ._progress import Progress
from ._results import Results
from ._run import run
from ._scenario import Scenario, scenario_settings, schema
from ._strewn import __version__
from ._sweep import Sweep, sweep
from ._table import Table

__all__ = [
    "Chart",
    "Problem",
    "Progress",
    "Results",
    "Scenario",
    "ScenarioError",
    "StrewnError",
    "Sweep",
    "Table",
    "__version__",
    "run",
    "scenario_settings",
    "schema",
    "sweep",
]
