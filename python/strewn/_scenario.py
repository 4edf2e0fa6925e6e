"""Scenarios."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from . import _strewn

#: A path, a dict as the TOML file would be, or a :class:`Scenario`.
ScenarioLike = Union[str, "os.PathLike[str]", Mapping[str, Any], "Scenario"]


class Scenario:
    """A checked scenario. It cannot be changed; :meth:`with_settings` returns another."""

    def __init__(self, native: _strewn.Scenario) -> None:
        self._native = native

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> Scenario:
        """Reads the TOML file at ``path``. Raises :class:`ScenarioError` with all its problems."""
        return cls(_strewn.Scenario.load(path))

    @classmethod
    def from_toml(cls, text: str, path: Optional[Union[str, os.PathLike[str]]] = None) -> Scenario:
        """Reads TOML text. ``path`` is what errors call it, and where its relative paths start; otherwise they start
        from the current directory."""
        return cls(_strewn.Scenario.from_toml(text, path))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], path: Optional[Union[str, os.PathLike[str]]] = None) -> Scenario:
        """Reads tables as the TOML file would have them, with the same keys, units and all:
        ``{"segment": "20 min", "array": [{"name": "small", …}], …}``. ``path`` as for :meth:`from_toml`.

        Lines and columns of errors are those of the text that the tables are written as (``ScenarioError.text``)."""
        return cls(_strewn.Scenario.from_dict(data, path))

    def with_settings(self, settings: Mapping[str, Any]) -> Scenario:
        """Returns this scenario with settings changed by name, as ``strewn run --set`` does:
        ``{"workload.outstanding": 64, "FAS2050.policy": "emptiest-area"}``. The end of a name is enough where only one
        setting has it. The text keeps its comments and its order."""
        return Scenario(self._native.with_settings(dict(settings)))

    def settings(self) -> Dict[str, Any]:
        """Every setting by its full name, defaults included, in the order of the file. Quantities are strings with
        their unit."""
        return self._native.settings()

    def to_toml(self) -> str:
        """The text that was read, or one that reads as this scenario."""
        return self._native.text

    def to_dict(self) -> Dict[str, Any]:
        """The tables of the text, for :meth:`from_dict`."""
        tables: Dict[str, Any] = json.loads(self._native.json())
        return tables

    @property
    def path(self) -> Optional[Path]:
        """The file; None for one without a file."""
        path = self._native.path
        return None if path is None else Path(path)

    @property
    def name(self) -> str:
        """Its name."""
        return self._native.name

    @property
    def title(self) -> str:
        """Its title, for a reader."""
        return self._native.title

    @property
    def seed(self) -> int:
        """The seed of its random numbers."""
        return self._native.seed

    @property
    def segments(self) -> int:
        """How many segments it runs."""
        return self._native.segments

    @property
    def segment_seconds(self) -> float:
        """The length of a segment, in simulated seconds."""
        return self._native.segment_seconds

    @property
    def arrays(self) -> List[str]:
        """The names of its arrays, in the order of the file."""
        return self._native.arrays

    def warnings(self) -> List[str]:
        """What is allowed, and perhaps not meant."""
        return self._native.warnings()

    def __repr__(self) -> str:
        arrays = ", ".join(self.arrays)
        return f"<strewn.Scenario {self.name}: {self.segments} segments of {self.segment_seconds:g} s on {arrays}>"

    def __reduce__(self) -> Tuple[Any, ...]:
        return (Scenario.from_toml, (self.to_toml(), self.path))


def scenario_of(scenario: ScenarioLike) -> Scenario:
    """Returns a scenario from whatever a user gives for one."""
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, Mapping):
        return Scenario.from_dict(scenario)
    if isinstance(scenario, (str, os.PathLike)):
        return Scenario.load(scenario)
    raise TypeError(f"a scenario is a path, a dict or a strewn.Scenario, not {type(scenario).__name__}")


def scenario_settings(scenario: ScenarioLike) -> Dict[str, Any]:
    """Every setting of a scenario by its full name, defaults included: what ``set=`` of :func:`run` can change."""
    return scenario_of(scenario).settings()


def schema() -> Dict[str, Any]:
    """The JSON schema of a scenario's file."""
    read: Dict[str, Any] = json.loads(_strewn.schema())
    return read
