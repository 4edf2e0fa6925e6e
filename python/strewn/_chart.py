"""Charts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Union

from . import _strewn
from ._errors import StrewnError


class Chart:
    """A chart. A notebook shows it; :meth:`save` writes it."""

    #: Its name: ``"iops"``.
    name: str
    #: The picture as SVG.
    svg: str

    def __init__(self, name: str, svg: str) -> None:
        self.name = name
        self.svg = svg

    def save(self, path: Union[str, os.PathLike[str]]) -> Path:
        """Writes the chart to ``path``, which ends in ``.svg``, or in ``.png`` for twice its pixels each way."""
        path = Path(path)
        ending = path.suffix.lower()
        if ending == ".svg":
            path.write_text(self.svg, encoding="utf-8")
        elif ending == ".png":
            path.write_bytes(_strewn.png(self.svg))
        else:
            raise StrewnError(
                f"{path}: a chart is not written as {ending or 'a file without an ending'}",
                "give a name that ends in .svg or .png",
            )
        return path

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<strewn.Chart {self.name}>"
