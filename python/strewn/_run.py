"""Runs."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from . import _strewn
from ._errors import StrewnError
from ._progress import ProgressLike, Reporter
from ._results import Results
from ._scenario import ScenarioLike, scenario_of


def run(
    scenario: ScenarioLike,
    *,
    quick: bool = False,
    scale_down: Optional[int] = None,
    seed: Optional[int] = None,
    segments: Optional[int] = None,
    set: Optional[Mapping[str, Any]] = None,
    replicates: Optional[int] = None,
    jobs: int = 0,
    progress: ProgressLike = None,
) -> Results:
    """Runs a scenario and returns what it measured.

    ``scenario`` is the path of a TOML file, a dict as such a file would be, or a :class:`Scenario`.

    - ``quick``: at 1/8 of full scale.
    - ``scale_down``: at this fraction of full scale instead: 64 for 1/64.
    - ``seed``, ``segments``: instead of the scenario's.
    - ``set``: settings by name, as ``strewn run --set`` changes them: ``{"workload.outstanding": 64}``.
    - ``replicates``: run it with so many seeds, from the scenario's on, and put bands around the figures.
    - ``jobs``: how many threads; 0 is one per core. The results do not depend on it.
    - ``progress``: True for a line on standard error, or a function that is called with a :class:`Progress`.

    The interpreter's lock is released, so other threads go on. Ctrl-C stops the run: the call raises
    ``KeyboardInterrupt``, and nothing of the run is kept. The same scenario, seed and version give the same results.

    Raises :class:`ScenarioError` if the scenario or a setting is wrong, and :class:`StrewnError` if the run fails. An
    array that loses data is no error: its results end there, and say so.
    """
    scenario = scenario_of(scenario)
    if set:
        scenario = scenario.with_settings(set)
    if quick and scale_down is not None:
        raise StrewnError("quick and scale_down are both given", "quick is scale_down=8: give one of them")
    for name, count in (("scale_down", scale_down), ("segments", segments), ("replicates", replicates)):
        if count is not None and count < 1:
            raise StrewnError(f"{name} is {count}", "give a whole number from 1 on, or leave it out")
    if replicates is not None and replicates > _strewn.MOST_REPLICATES:
        raise StrewnError(f"replicates is {replicates}", f"give at most {_strewn.MOST_REPLICATES}")
    if segments is not None and scenario._native.has_phases and segments > scenario.segments:
        raise StrewnError(
            f"segments is {segments}, and the phases have {scenario.segments} together",
            'give fewer to stop earlier, or make a phase longer: set={"phase.1.segments": 20}',
        )
    reporter = Reporter(progress, scenario, segments or scenario.segments) if progress else None
    try:
        native = _strewn.run(
            scenario._native,
            scale_down=_strewn.QUICK_SCALE_DOWN if quick else scale_down or 1,
            seed=seed,
            segments=segments,
            replicates=replicates or 1,
            jobs=jobs,
            progress=reporter,
        )
    finally:
        if reporter:
            reporter.close()
    return Results(native)
