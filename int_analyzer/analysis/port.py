"""A queue by name, as every part of the summary calls it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Port:
    """A queue by name: node and port as the profile calls them (else the numbers), and the raw ids."""

    node: str
    port: str
    queue: int | None
    node_id: int | None
    port_id: int | None
