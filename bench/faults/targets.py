"""From a target's name to nodes, found when a step is due."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Sequence
from itertools import permutations

from bench.errors import FaultError
from bench.model import Node

Ask = Callable[[str], list[str]]
"""A system's own parts (leader, owner, ensemble …): a part's name to the names of the nodes that play it now."""


_PARTITION = re.compile(r"^(.+) of (\d+)$")
_EARLIER = re.compile(r"^node ([1-9]\d*) of (.+)$")


def allowed_targets(nodes: Sequence[Node], parts: Sequence[str]) -> list[str]:
    """Return every target of a cluster.

    Its parts, `all <role>`, `any <role>`, `any <role> or <role>`, and its nodes by name.
    """
    roles = dict.fromkeys(node.role for node in nodes)
    plural = [f"{word} {role}" for role in roles for word in ("all", "any")]
    either = [f"any {first_role} or {second_role}" for first_role, second_role in permutations(roles, 2)]
    return [*parts, *plural, *either, *(node.name for node in nodes)]


def of_partition(target: str) -> tuple[str, int] | None:
    """Return part and partition of a target such as `leader of 3`, None for any other."""
    match = _PARTITION.match(target)
    return (match[1], int(match[2])) if match else None


def earlier(target: str) -> tuple[int, str] | None:
    """Return number (from 1) and step of a target `node 2 of STEP`, None for any other."""
    match = _EARLIER.match(target)
    return (int(match[1]), match[2]) if match else None


def find(
    target: str, nodes: Sequence[Node], ask: Ask, chance: random.Random, struck: Collection[str] = ()
) -> list[Node]:
    """Return the nodes meant now; `any` is one that is not `struck` already. Raises FaultError when there is none."""
    by_name = {node.name: node for node in nodes}
    word, _, role = target.partition(" ")
    if target in by_name:
        return [by_name[target]]
    of_role = [node for node in nodes if node.role in role.split(" or ")]
    if word == "all" and of_role:
        return of_role
    if word == "any" and of_role:
        free = [node for node in of_role if node.name not in struck]
        if not free:
            raise FaultError(f"Every {role} is struck already.")
        return [chance.choice(free)]
    nodes_found = [by_name[name] for name in ask(target)]
    if not nodes_found:
        raise FaultError(f"Nobody is {target} now.")
    return nodes_found
