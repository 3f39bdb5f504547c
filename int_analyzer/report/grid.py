"""Text in aligned columns, without rules and without trailing blanks: what is left of a table when space is short."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

GAP = 2


class Grid:
    """Rows of cells. `right` are the columns that align right; header rows are part of the widths like all others."""

    def __init__(self, right: Sequence[int] = (), gap: int = GAP) -> None:
        self.rows: list[list[str]] = []
        self.right = frozenset(right)
        self.gap = gap

    def add(self, *cells: str) -> None:
        """Append a row."""
        self.rows.append(list(cells))

    def widths(self) -> list[int]:
        """Width of every column in terminal cells."""
        columns = max((len(row) for row in self.rows), default=0)
        return [max(cell_len(row[column]) for row in self.rows if column < len(row)) for column in range(columns)]

    def width(self) -> int:
        """Width of the whole in terminal cells."""
        widths = self.widths()
        return sum(widths) + self.gap * max(len(widths) - 1, 0)

    def lines(self) -> list[str]:
        """The rows as text."""
        widths = self.widths()
        return [self._line(row, widths) for row in self.rows]

    def _line(self, row: list[str], widths: list[int]) -> str:
        cells = []
        for column, cell in enumerate(row):
            blanks = " " * (widths[column] - cell_len(cell))
            cells.append(blanks + cell if column in self.right else cell + blanks)
        return (" " * self.gap).join(cells).rstrip()
