"""A table of figures, for polars, pandas, or neither."""

from __future__ import annotations

import csv
import html
import io
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Sequence

from ._errors import StrewnError

if TYPE_CHECKING:
    import pandas
    import polars

#: Most rows that a notebook shows.
_MOST_ROWS_SHOWN = 40


class Table(Mapping[str, List[Any]]):
    """Columns by name, each with a value for each row. Names of columns end in their unit.

    A word is a ``str``, a count an ``int``, any other number a ``float``. None is no such figure.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self._columns = {name: list(values) for name, values in columns.items()}

    @property
    def columns(self) -> List[str]:
        """The names of the columns, in order."""
        return list(self._columns)

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(next(iter(self._columns.values()), []))

    def rows(self) -> List[Dict[str, Any]]:
        """The rows, each by the names of the columns."""
        return [dict(zip(self._columns, row)) for row in zip(*self._columns.values())]

    def to_dict(self) -> Dict[str, List[Any]]:
        """A list for each column. Needs no other package."""
        return {name: list(values) for name, values in self._columns.items()}

    def to_polars(self) -> polars.DataFrame:
        """A polars data frame. Needs ``pip install strewn[polars]``."""
        try:
            import polars
        except ImportError as error:
            raise _missing("polars") from error
        # A column without a value has no type otherwise.
        types = {name: polars.Float64 for name in self._empty()}
        return polars.DataFrame(self._columns, schema_overrides=types)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas data frame. Needs ``pip install strewn[pandas]``. A missing number is NaN."""
        try:
            import pandas
        except ImportError as error:
            raise _missing("pandas") from error
        frame = pandas.DataFrame(self._columns)
        return frame.astype({name: "float64" for name in self._empty()})

    def _empty(self) -> List[str]:
        return [name for name, all in self._columns.items() if all and not any(v is not None for v in all)]

    def __getitem__(self, name: str) -> List[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<strewn.Table of {self.height} rows: {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        cells = "".join(f"<th>{html.escape(name)}</th>" for name in self._columns)
        rows = [f"<tr>{cells}</tr>"]
        for row in list(zip(*self._columns.values()))[:_MOST_ROWS_SHOWN]:
            rows.append("<tr>" + "".join(f"<td>{_shown(value)}</td>" for value in row) + "</tr>")
        left = self.height - _MOST_ROWS_SHOWN
        more = f"<p>and {left} rows more</p>" if left > 0 else ""
        return f"<table>{''.join(rows)}</table>{more}"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else html.escape(str(value))


def _missing(package: str) -> StrewnError:
    return StrewnError(f"{package} is not installed", f"pip install strewn[{package}]; `.to_dict()` needs no package")


def from_csv(text: str, type_of: Callable[[str], Callable[[str], Any]]) -> Table:
    """Reads comma-separated values. ``type_of`` a column's name is what reads its entries; empty ones are None."""
    lines = csv.reader(io.StringIO(text, newline=""))
    names = next(lines)
    rows = list(lines)
    columns: Dict[str, List[Any]] = {}
    for at, name in enumerate(names):
        read = type_of(name)
        columns[name] = [read(row[at]) if row[at] else None for row in rows]
    return Table(columns)
