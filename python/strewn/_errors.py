"""What goes wrong, as exceptions with place and remedy."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence, Tuple


class Problem(NamedTuple):
    """One thing wrong with a scenario or a study."""

    #: The key, as a path: ``array[FAS2050].processor.per_kib``. Empty where the text is not TOML.
    field: str
    #: What is wrong.
    message: str
    #: The remedy.
    help: str
    #: Line in the text, from 1. None if the text was never written, as for a value of a ``dict`` that TOML cannot hold.
    line: Optional[int] = None
    #: Column in characters, from 1.
    column: Optional[int] = None
    #: ``"syntax"``, ``"unknown-key"``, ``"missing"`` or ``"value"``.
    kind: str = "value"


class StrewnError(Exception):
    """Anything that Strewn cannot do. ``str()`` gives what is wrong and the remedy."""

    #: What went wrong, in one line.
    message: str
    #: The remedy; None if the message says it all.
    help: Optional[str]

    def __init__(
        self,
        message: str,
        help: Optional[str] = None,
        others: Sequence[Tuple[str, Optional[str]]] = (),
    ) -> None:
        super().__init__(message, help, others)
        self.message = message
        self.help = help
        self._others = others

    def __str__(self) -> str:
        all_of_them = [(self.message, self.help), *self._others]
        return "\n".join(_with_help(message, help) for message, help in all_of_them)


class ScenarioError(StrewnError):
    """A scenario cannot be used. All its problems are given at once."""

    #: Every problem, in the order of the text. Empty if a file cannot be read or a setting has no such name.
    problems: Sequence[Problem]
    #: The file; "scenario" for one without a file.
    path: str
    #: The text that lines and columns refer to: of a ``dict``, the TOML that it was written as. None if there is none.
    text: Optional[str]

    def __init__(
        self,
        message: str,
        help: Optional[str] = None,
        problems: Sequence[Problem] = (),
        path: str = "",
        text: Optional[str] = None,
    ) -> None:
        super().__init__(message, help)
        self.args = (message, help, problems, path, text)
        self.problems = list(problems)
        self.path = path
        self.text = text

    def __str__(self) -> str:
        if len(self.problems) < 2:
            return super().__str__()
        lines = [self.message]
        for problem in self.problems:
            place = f"{self.path}:{problem.line}:{problem.column}"
            field = f"{problem.field}: " if problem.field else ""
            lines.append(f"{place}: {_with_help(field + problem.message, problem.help)}")
        return "\n".join(lines)


def _with_help(message: str, help: Optional[str]) -> str:
    return f"{message}\n  help: {help}" if help else message
