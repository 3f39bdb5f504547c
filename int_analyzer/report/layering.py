"""Nodes in layers from the source side to the sink side, and their order within a layer: few crossings, always the same."""

from __future__ import annotations

from int_analyzer.analysis.summary import Summary

_SWEEPS = 4


def layers_of(summary: Summary, names: list[str]) -> list[list[str]]:
    """The nodes `names` in layers: each node right of all nodes that lead to it, except along loops."""
    followers = _followers(summary, names)
    depth = _depths(followers, names)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in names:
        layers[depth[name]].append(name)
    for layer in layers:
        layer.sort(key=_natural)
    before: dict[str, list[str]] = {name: [] for name in names}
    for name, following in followers.items():
        for other in following:
            before[other].append(name)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for index in range(1, len(layers)) if forward else range(len(layers) - 2, -1, -1):
            fixed = layers[index - 1 if forward else index + 1]
            _order(layers[index], fixed, before if forward else followers)
    return [layer for layer in layers if layer]


def _followers(summary: Summary, names: list[str]) -> dict[str, list[str]]:
    followers: dict[str, list[str]] = {name: [] for name in names}
    for link in summary.links:
        if link.to_node is not None and link.to_node != link.source.node and link.to_node not in followers[link.source.node]:
            followers[link.source.node].append(link.to_node)
    for following in followers.values():
        following.sort(key=_natural)
    return followers


def _depths(followers: dict[str, list[str]], names: list[str]) -> dict[str, int]:
    """Longest way from a source, over links that do not close a loop."""
    order: list[str] = []
    state: dict[str, int] = {}
    kept: dict[str, list[str]] = {name: [] for name in names}
    entered = {other for following in followers.values() for other in following}
    # a walk with a stack of its own: a chain of nodes may be longer than Python's
    for start in sorted(names, key=lambda name: (name in entered, _natural(name))):
        stack = [(start, 0)] if start not in state else []
        while stack:
            name, position = stack.pop()
            state[name] = 1
            if position == len(followers[name]):
                state[name] = 2
                order.append(name)
                continue
            stack.append((name, position + 1))
            other = followers[name][position]
            if state.get(other) != 1:
                kept[name].append(other)
            if other not in state:
                stack.append((other, 0))
    depth = dict.fromkeys(names, 0)
    for name in reversed(order):
        for other in kept[name]:
            depth[other] = max(depth[other], depth[name] + 1)
    return depth


def _order(layer: list[str], fixed: list[str], neighbours: dict[str, list[str]]) -> None:
    """Sort a layer by the mean place of its neighbours in the fixed one."""
    place = {name: position for position, name in enumerate(fixed)}
    middle = {}
    for position, name in enumerate(layer):
        places = [place[other] for other in neighbours[name] if other in place]
        middle[name] = sum(places) / len(places) if places else position * len(fixed) / len(layer)
    layer.sort(key=lambda name: (middle[name], _natural(name)))


def _natural(name: str) -> tuple[int, int, str]:
    return (0, int(name), "") if name.isdigit() else (1, 0, name)
