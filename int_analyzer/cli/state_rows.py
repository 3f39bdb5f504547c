"""What flows and connections have in common: rows that are there when all captures are read, sorted and written."""

from __future__ import annotations

from pathlib import Path

from int_analyzer.cli.argument import USUAL_ICRC, RowFormat, profile_from, share_from


def write_state_rows(
    table: str,
    captures: list[str],
    profile: Path | None,
    *,
    format: RowFormat | None,
    json: bool,
    sort: str | None,
    limit: int | None,
    columns: str | None,
    output: Path | None,
    icrc: str = USUAL_ICRC,
) -> None:
    """Read captures and write a row for each flow or connection; `sort`: by this column, the largest first."""
    from int_analyzer import result as results
    from int_analyzer import row_files
    from int_analyzer.cli.complaint import say_damages
    from int_analyzer.cli.progress import announce_compilation, progress_bar
    from int_analyzer.errors import IntAnalyzerError
    from int_analyzer.report import state_rows

    chosen = "json" if json else format.value if format is not None else row_files.format_of(output)
    known = state_rows.columns(table)
    if sort is not None and sort not in known:
        raise IntAnalyzerError(f"no column {sort!r} in this table; there are {', '.join(known)}")
    announce_compilation(captures)
    described, checked = profile_from(profile), share_from(icrc)
    with progress_bar() as progress:
        view, reading = results.fold_captures(captures, described, progress=progress, icrc=checked)
    rows = state_rows.rows(table, results.sum_up(table, view, described))
    if sort is not None:
        rows = rows.sort_by([(sort, "descending")])
    names = [name.strip() for name in columns.split(",")] if columns else state_rows.TELLING[table] if chosen == "table" else None
    if limit is None:
        limit = row_files.TABLE_ROWS if chosen == "table" else 0
    row_files.write_batch(rows, chosen, output=output, limit=limit, names=names)
    say_damages(reading.damages)
