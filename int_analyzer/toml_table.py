"""A TOML table being checked: every value has a type and a range, and a key that nothing reads is an error."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from int_analyzer.errors import ProfileError

ID_LIMIT = 1 << 64
"""Node and port ids, and markers, have at most 64 bits."""
_LIMIT_8, _LIMIT_16 = 1 << 8, 1 << 16


class Table:
    """A table that knows its place in the file. Methods return the value of a key, else raise ProfileError with its dotted name."""

    def __init__(self, path: str, key: str, values: Any, allowed: tuple[str, ...] | None) -> None:
        self.path, self.key = path, key
        if not isinstance(values, dict):
            raise ProfileError(path, key, f"must be a table, not {_shown(values)}")
        self.values: dict[str, Any] = values
        for name in values:
            if allowed is not None and name not in allowed:
                raise self.error(name, f"unknown key{_suggestion(name, allowed)}")

    def error(self, name: str, reason: str) -> ProfileError:
        return ProfileError(self.path, self._dotted(name), reason)

    def table(self, name: str, allowed: tuple[str, ...] | None) -> Table:
        return Table(self.path, self._dotted(name), self.values.get(name, {}), allowed)

    def tables(self, name: str) -> list[Any]:
        found = self.values.get(name, [])
        if not isinstance(found, list):
            raise self.error(name, f"must be written [[{name}]], once for each")
        return found

    def entry(self, name: str, index: int, values: Any, allowed: tuple[str, ...]) -> Table:
        return Table(self.path, f"{self._dotted(name)}[{index}]", values, allowed)

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        if value is not None and not (isinstance(value, str) and value):
            raise self.error(name, f"must be text, not {_shown(value)}")
        return value

    def texts(self, name: str, what: str) -> tuple[str, ...]:
        """A list of texts; `what` they are stands in the message if it is none."""
        value = self.values.get(name, [])
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise self.error(name, f"must be a list of {what}, not {_shown(value)}")
        return tuple(value)

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        value = self.values.get(name, default)
        if value not in choices:
            raise self.error(name, f"{_shown(value)} is not one of {', '.join(choices)}{_suggestion(value, choices)}")
        return str(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise self.error(name, f"must be true or false, not {_shown(value)}")
        return value

    def number(self, name: str, default: float | None, minimum: float = 0, exclusive: bool = True) -> float | None:
        value = self.values.get(name, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(name, f"must be a number, not {_shown(value)}")
        # Not "value <= minimum", which a TOML nan would pass.
        if not (value > minimum if exclusive else value >= minimum) or value == float("inf"):
            raise self.error(name, f"must be {'above' if exclusive else 'at least'} {minimum:g} and finite, not {value}")
        return value

    def integer(self, name: str, default: int | None, minimum: int, limit: int) -> int | None:
        value = self.values.get(name, default)
        return None if value is None else self.checked_integer(name, value, minimum, limit)

    def checked_integer(self, name: str, value: Any, minimum: int, limit: int) -> int:
        number = _integer(value)
        if number is None:
            raise self.error(name, f'must be a whole number, decimal or as "0x…", not {_shown(value)}')
        if not minimum <= number < limit:
            raise self.error(name, f"{_shown(value)} is outside {minimum}…{limit - 1}")
        return number

    def ports(self, name: str) -> tuple[int, ...]:
        return self.numbers_16(name, "UDP ports", 1)

    def numbers_16(self, name: str, what: str, minimum: int = 0) -> tuple[int, ...]:
        """A list of 16-bit numbers; `what` they are stands in the message if it is no list."""
        return self._numbers(name, what, minimum, _LIMIT_16, ())

    def numbers_8(self, name: str, what: str, default: tuple[int, ...] = ()) -> tuple[int, ...]:
        """A list of 8-bit numbers, `default` where there is none."""
        return self._numbers(name, what, 0, _LIMIT_8, default)

    def _numbers(self, name: str, what: str, minimum: int, limit: int, default: tuple[int, ...]) -> tuple[int, ...]:
        value = self.values.get(name, list(default))
        if not isinstance(value, list):
            raise self.error(name, f"must be a list of {what}, not {_shown(value)}")
        return tuple(self.checked_integer(name, entry, minimum, limit) for entry in value)

    def ids(self) -> dict[int, str]:
        """The keys of this table as ids; decimal or "0x…", each id once."""
        found: dict[int, str] = {}
        for name in self.values:
            number = self.checked_integer(name, name, 0, ID_LIMIT)
            if number in found:
                raise self.error(name, f"is the same id as {found[number]!r}")
            found[number] = name
        return found

    def _dotted(self, name: str) -> str:
        return f"{self.key}.{name}" if self.key else name


def _integer(value: Any) -> int | None:
    """A whole number from TOML or from its text, None if it is not one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    try:
        return int(value, 0)
    except ValueError:
        return None


def _suggestion(value: Any, choices: tuple[str, ...]) -> str:
    close = get_close_matches(str(value), choices, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(choices)}" if len(choices) <= 10 else ""


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
