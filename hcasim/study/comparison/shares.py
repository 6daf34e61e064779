"""Dividing a difference among what made it: values of L. S. Shapley (1953), worked out exactly."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial


def shapley(worth: Sequence[float]) -> list[float]:
    """Return each player's share of what all have together; the shares sum up to it.

    A player's share is what its joining changes, averaged over all orders of joining.

    Parameters:
        worth: of each set of players; bit n of its place says that player n is in it.
    """
    players = len(worth).bit_length() - 1
    orders = factorial(players)
    weights = [factorial(n) * factorial(players - n - 1) / orders for n in range(players)]
    return [
        sum(
            weights[members.bit_count()] * (worth[members | 1 << one] - worth[members])
            for members in range(len(worth))
            if not members >> one & 1
        )
        for one in range(players)
    ]
