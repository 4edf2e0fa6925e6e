"""The results of a run."""

from __future__ import annotations

import html
import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from . import _strewn
from ._chart import Chart
from ._errors import StrewnError
from ._table import Table, from_csv

#: Columns of segments that are words.
_WORDS = frozenset({"array", "layout", "phase"})
#: Columns of segments that are counts; all others are floats.
_COUNTS = frozenset(
    {
        "outstanding_ops",
        "segment",
        "host_ops",
        "spindle_reads",
        "spindle_writes",
        "data_reads",
        "edge_reads",
        "metadata_reads",
        "parity_update_reads",
        "parity_writes",
        "stalled_writes",
        "largest_free_run_blocks",
        "consistency_points",
        "back_to_back_consistency_points",
        "lost_spindles",
        "degraded_reads",
        "recovery_reads",
        "rebuild_reads",
        "rebuild_writes",
        "snapshots_kept",
        "snapshots_taken",
        "snapshots_refused",
        "snapshot_held_blocks",
        "snapshot_freed_blocks",
    }
)


class Results:
    """What a run measured, beside published figures if its scenario names some."""

    def __init__(self, native: _strewn.Results) -> None:
        self._native = native

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> Results:
        """Reads a ``results.json``, or that in a directory of ``strewn run --out`` with the map and the scenario beside
        it."""
        path = Path(path)
        if path.is_dir():
            return cls.from_json(*(_text_of(path / name) for name in ("results.json", "map.json", "scenario.toml")))
        return cls.from_json(_text_of(path))

    @classmethod
    def from_json(cls, text: Optional[str], map: Optional[str] = None, scenario: Optional[str] = None) -> Results:
        """Reads the text of a ``results.json``, and that of the map and of the scenario if they are given."""
        if text is None:
            raise StrewnError("there is no results.json", "give a file or a directory that `strewn run --out` wrote")
        return cls(_strewn.Results.from_json(text, map, scenario))

    @cached_property
    def data(self) -> Dict[str, Any]:
        """Everything: ``results.json`` as a dict. The repository's docs/report.md describes its fields."""
        data: Dict[str, Any] = json.loads(self._native.json())
        return data

    @property
    def arrays(self) -> List[Dict[str, Any]]:
        """The arrays, each with its ``name``, ``layout``, ``parameters`` and ``segments``."""
        return list(self.data["arrays"])

    def array(self, name: str) -> Dict[str, Any]:
        """The array of that name."""
        for array in self.data["arrays"]:
            if array["name"] == name:
                found: Dict[str, Any] = array
                return found
        names = ", ".join(array["name"] for array in self.data["arrays"])
        raise StrewnError(f"there is no array {name!r}", f"these have results: {names}")

    @cached_property
    def segments(self) -> Table:
        """A row for each array and segment, with the columns of ``segments.csv``: ``host_ops_per_s``,
        ``response_mean_ms``, …"""
        return from_csv(self._native.segments_csv(), _type_of)

    @property
    def published(self) -> List[Dict[str, Any]]:
        """The comparison with published figures by segment, for each array that has some."""
        return list(self.data.get("published", []))

    @property
    def published_rows(self) -> List[Dict[str, Any]]:
        """The rows of published tables, each with the simulated figure and its error."""
        return list(self.data.get("published_rows", []))

    @property
    def headline(self) -> str:
        """The finding of the run, in a sentence."""
        return self._native.headline()

    @property
    def caveats(self) -> List[str]:
        """Sentences that must stand beside every figure of a run at less than full scale. Empty for a whole run."""
        return self._native.caveats()

    @property
    def seed(self) -> int:
        """The seed of the first run."""
        return int(self.data["seed"])

    def tables(self) -> str:
        """The tables that ``strewn run`` prints."""
        return self._native.tables()

    @cached_property
    def charts(self) -> List[str]:
        """The names of the charts that these results have something for."""
        return self._native.chart_names()

    def chart(self, name: str, *, theme: str = "light", width: int = 960, height: int = 560) -> Chart:
        """A chart by its name, ``"iops"`` or another one of :attr:`charts`. ``theme`` is ``"light"`` or ``"dark"``;
        ``width`` and ``height`` are in pixels. The chart is higher where its legend needs it."""
        if theme not in ("light", "dark"):
            raise StrewnError(f"there is no theme {theme!r}", 'give "light" or "dark"')
        svg = self._native.chart(name, theme == "dark", width, height)
        if svg is None:
            raise StrewnError(f"these results have no chart {name!r}", f"they have {', '.join(self.charts)}")
        return Chart(name, svg)

    def report(self, path: Union[str, os.PathLike[str]]) -> Path:
        """Writes ``report.html``, one file with all charts, tables and the map, to ``path``."""
        path = Path(path)
        path.write_text(self._native.report(), encoding="utf-8")
        return path

    def to_json(self, path: Optional[Union[str, os.PathLike[str]]] = None) -> str:
        """The text of ``results.json``; also writes it to ``path`` if that is given. The same scenario, seed and
        version give the same text, ``wall_seconds`` aside."""
        text = self._native.json()
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def __repr__(self) -> str:
        arrays = ", ".join(f"{array['name']} {len(array['segments'])} segments" for array in self.data["arrays"])
        return f"<strewn.Results of {self.data['scenario']}, seed {self.seed}: {arrays}>"

    def __reduce__(self) -> Tuple[Any, ...]:
        texts = (self._native.json(), self._native.map_json(), self._native.scenario_text)
        return (Results.from_json, texts)

    def _repr_html_(self) -> str:
        data = self.data
        parts = [f"<h3>{html.escape(data.get('title') or data['scenario'])}</h3>"]
        parts.append(f"<p>{html.escape(self.headline)}</p>")
        parts += [f"<p><em>{html.escape(caveat)}</em></p>" for caveat in self.caveats]
        parts.append(_summary(self.data["arrays"]))
        if "iops" in self.charts:
            parts.append(self.chart("iops").svg)
        return "\n".join(parts)


def _summary(arrays: List[Dict[str, Any]]) -> str:
    """The first and the last segment of each array."""
    heads = ("array", "segment", "IOPS", "of the first", "mean response", "controller busy", "spindles busy")
    rows = ["<tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>"]
    for array in arrays:
        segments = array["segments"]
        for segment in segments[:1] + segments[1:][-1:]:
            kept = 100 * segment["iops"] / segments[0]["iops"] if segments[0]["iops"] else 0
            busy = segment["utilization"]
            cells = (
                array["name"],
                segment["index"],
                f"{segment['iops']:,.1f}",
                f"{kept:.1f} %",
                f"{segment['response_ms']['mean']:.1f} ms",
                f"{100 * busy['controller']:.0f} %",
                f"{100 * busy['spindles']:.0f} %",
            )
            rows.append("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells) + "</tr>")
    return f"<table>{''.join(rows)}</table>"


def _type_of(column: str) -> Callable[[str], Any]:
    return str if column in _WORDS else int if column in _COUNTS else float


def _text_of(path: Path) -> Optional[str]:
    return path.read_text(encoding="utf-8") if path.is_file() else None
