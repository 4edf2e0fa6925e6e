"""Sweeps on a Ray cluster: a task for each run."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _strewn
from ._errors import StrewnError

#: Tasks in flight for each CPU: one that runs, and one that waits, so that no CPU waits for this machine.
_IN_FLIGHT_PER_CPU = 2
#: How often the size of the cluster is looked at, in seconds: nodes come and go.
_LOOK_AT_CLUSTER_S = 10.0
#: How long to wait for a task before anything else is looked at, in seconds.
_WAIT_S = 0.5


def run_line(line: str, version: str) -> str:
    """The task: does the run of a line of a manifest, and returns its results as JSON."""
    if version != _strewn.__version__:
        raise StrewnError(
            f"Strewn {version} submitted this run, and the node has {_strewn.__version__}",
            "install the same version on each node: another one may give other figures",
        )
    return _strewn.run_point(line)


def run_on_ray(
    plan: _strewn.Plan,
    address: Optional[str],
    jobs: int,
    retries: int,
    most_seconds: Optional[float],
    show: Optional[Callable[[int, int, float], None]],
) -> List[Tuple[int, str]]:
    """Does the missing runs of a plan on a cluster, and keeps their results. Returns those that failed, and why."""
    missing = plan.missing()
    if not missing:
        return []
    try:
        import ray
    except ImportError as error:
        raise StrewnError("Ray is not installed", "pip install strewn[ray]") from error

    is_ours = not ray.is_initialized()
    if is_ours:
        ray.init(address=address, log_to_driver=False)
    flight: Dict[Any, int] = {}
    try:
        return _submit_all(ray, plan, missing, flight, jobs, retries, most_seconds, show)
    finally:
        # Nothing is in flight, unless Ctrl-C or an error of ours ends this, or time is up.
        for reference in flight:
            ray.cancel(reference, force=True)
        if is_ours:
            ray.shutdown()


def _submit_all(
    ray: Any,
    plan: _strewn.Plan,
    missing: List[Tuple[int, str, int, str]],
    flight: Dict[Any, int],
    jobs: int,
    retries: int,
    most_seconds: Optional[float],
    show: Optional[Callable[[int, int, float], None]],
) -> List[Tuple[int, str]]:
    task = ray.remote(run_line)
    ends = None if most_seconds is None else time.monotonic() + most_seconds
    failed: List[Tuple[int, str]] = []
    waiting = iter(missing)
    done = 0
    most_in_flight, looked = 0, float("-inf")
    while True:
        if not jobs and time.monotonic() - looked > _LOOK_AT_CLUSTER_S:
            cpus = int(ray.cluster_resources().get("CPU", 0))
            most_in_flight, looked = max(_IN_FLIGHT_PER_CPU * cpus, 1), time.monotonic()
        while len(flight) < (jobs or most_in_flight):
            point = next(waiting, None)
            if point is None:
                break
            index, described, memory_bytes, line = point
            options = task.options(
                num_cpus=1, memory=memory_bytes, max_retries=retries, name=f"{plan.name}: {described}"
            )
            flight[options.remote(line, _strewn.__version__)] = index
        if not flight:
            return failed
        ready, _ = ray.wait(list(flight), timeout=_WAIT_S)
        for reference in ready:
            try:
                plan.keep(flight[reference], ray.get(reference))
            except ray.exceptions.RayError as error:
                failed.append((flight[reference], _in_words(ray, error)))
            del flight[reference]
            done += 1
        if show:
            show(done, len(missing), done / len(missing))
        if ends is not None and time.monotonic() > ends:
            return failed


def _in_words(ray: Any, error: Exception) -> str:
    if isinstance(error, ray.exceptions.RayTaskError):
        cause = error.cause
        if isinstance(cause, StrewnError) and cause.help:
            return f"{cause.message} ({cause.help})"
        error = cause
    # The first line; the rest is a page about Ray's own processes.
    return str(error).strip().split("\n", 1)[0]
