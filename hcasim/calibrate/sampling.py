"""Values that the data allow: what a question to a fitted machine is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from hcasim.calibrate.estimate import ENOUGH, Samples
from hcasim.calibrate.intervals import Around, Profile
from hcasim.calibrate.loss import Array
from hcasim.calibrate.report import FitReport

PROPOSALS = 50
"""Places at which samples are looked for at once."""
MANY = 1000
"""The same where a model takes the simulator's place."""
ROUNDS = 6
"""Most times that more places are looked for to have enough."""
STATIONS = 4
"""Places on the way to each end of a profile around which proposals are drawn."""
WIDER = 1.2
"""Proposals scatter by so many times what the first order says: what they leave out is lost,
what they have in excess gets little weight."""
TAIL = 4
"""Degrees of freedom of their distribution, whose long tail finds what the profiles missed."""
MOST = 100
"""Most attempts to find proposals within the bounds."""
TRIED = 8
"""Places at which a bent model is compared with the simulator before it takes its place."""
TRUSTED = 0.05
"""Largest error of the weight of a place, 1 at the fit, that such a model may have there."""


def weighed_samples(profile: Profile, rng: np.random.Generator, count: int) -> Samples:
    """Draw values as likely as the simulator makes them, anywhere within the bounds.

    Places are proposed around the fit and along the way to the ends of its profiles, the cost of
    each is simulated, or follows from a model of second order if that stands a trial, and samples
    are drawn from them: with the weight exp(-rise of the cost) over the density with which they
    were proposed (sampling, importance resampling: D. B. Rubin, in Bayesian Statistics 3, 1988,
    pages 395 to 402). If few places carry the weight, more are proposed.

    Parameters:
        profile: of the fit.
        rng: source of chance.
        count: how many.
    """
    space = Around(profile.report)
    mixture = _Mixture.around(space, profile.ends)
    bent = _bent(space, mixture, rng)
    # The fit itself is always one of them, so that there is one at all.
    places, costs = space.start[None, :], [space.local.loss.cost(space.local.residuals)]
    for _ in range(ROUNDS):
        found = mixture.draw(rng, PROPOSALS if bent is None else MANY)
        residuals = space.residuals(list(found)) if bent is None else bent(found)
        costs += [space.local.loss.cost(one) for one in residuals]
        places = np.concatenate([places, found])
        logs = -(np.array(costs) - min(costs)) / space.scale - np.log(mixture.density(places))
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        support = float(1 / np.sum(weights**2))
        if support >= ENOUGH:
            break
    # One draw from each of equal parts of the whole weight, in any order.
    parts = (np.arange(count) + rng.uniform(size=count)) / count
    drawn = np.minimum(np.searchsorted(np.cumsum(weights), parts), len(places) - 1)
    values = space.lows + places[rng.permutation(drawn)] * space.widths
    return Samples(values, support, space.cheaper)


def _bent(
    space: Around, mixture: _Mixture, rng: np.random.Generator
) -> Callable[[Array], Iterable[Array]] | None:
    """Return a model of the residuals that is bent around the fit, if it stands a trial.

    Its bends are the smallest that meet what was simulated so far. Where the effect of a parameter
    may have steps there is none.
    """
    if any(one.stepped for one in space.free):
        return None
    local, deviations = space.local, np.sqrt(np.diag(space.spread)) + 1e-9
    first, second = np.triu_indices(len(space.start))

    def products(places: Array) -> Array:
        off = (places - space.start) / deviations
        return off[:, first] * off[:, second]

    def straight(places: Array) -> Array:
        return local.residuals + (places - space.start) @ space.slopes.T

    published = np.array([float(one.published) for one in local.objective.observations])
    known = local.objective.known()
    places = np.array([space.place(point) for point, _ in known])
    seen = np.array([(values - published) / local.objective.scales() for _, values in known])
    # What was simulated far from where the data allow anything says little.
    rises = np.array([local.loss.cost(one) for one in seen]) - local.loss.cost(local.residuals)
    weight = 1 / (1 + np.maximum(rises, 0)[:, None] / space.scale)
    bends = np.linalg.lstsq(
        weight * products(places), weight * (seen - straight(places)), rcond=1e-6
    )[0]

    def model(places: Array) -> Array:
        found: Array = straight(places) + products(places) @ bends
        return found

    tried = mixture.draw(rng, TRIED)
    pairs = zip(space.residuals(list(tried)), model(tried), strict=True)
    floor = local.loss.cost(local.residuals)
    for pair in pairs:
        weights = [np.exp(min(0, floor - local.loss.cost(one)) / space.scale) for one in pair]
        if abs(weights[0] - weights[1]) > TRUSTED:
            return None
    return model


@dataclass(frozen=True)
class _Mixture:
    """Student's distributions about several middles, all in widths of the bounds.

    Each has a share, together 1, and a root: the lower triangle of the Cholesky factors of its
    spread.
    """

    middles: Array
    roots: Array
    shares: Array

    @classmethod
    def around(cls, space: Around, ends: Array) -> _Mixture:
        """Return one part about the fit, and others along the ways to the ends of its profiles."""
        # A floor, so that a parameter that the data fix exactly does not make the mixture flat.
        core = WIDER**2 * space.spread + 1e-10 * np.eye(len(space.start))
        middles, spreads = [space.start], [core]
        for way in ends - space.start:
            for station in range(1, STATIONS + 1):
                middles.append(space.start + way * station / STATIONS)
                spreads.append(core + np.outer(way, way) / STATIONS**2)
        roots = np.array([np.linalg.cholesky(one) for one in spreads])
        # Of one half the fit has as many as all ways together; the other goes by how much room
        # each has, most of which is where the data leave a parameter open.
        shares = np.ones(len(middles))
        shares[0] = max(1, len(middles) - 1)
        room = np.prod(np.diagonal(roots, axis1=1, axis2=2), axis=1)
        shares = (shares / shares.sum() + room / room.sum()) / 2
        return cls(np.array(middles), roots, shares)

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        """Return so many places within the bounds, or fewer if hardly any are."""
        kept = np.empty((0, self.middles.shape[1]))
        for _ in range(MOST):
            kept = np.concatenate([kept, self._within(rng, 4 * count)])
            if len(kept) >= count:
                break
        return kept[:count]

    def _within(self, rng: np.random.Generator, count: int) -> Array:
        """Return those of so many draws that are within the bounds."""
        chosen = rng.choice(len(self.middles), size=count, p=self.shares)
        tail = np.sqrt(TAIL / rng.chisquare(TAIL, (count, 1)))
        off = tail * rng.standard_normal((count, self.middles.shape[1]))
        drawn = self.middles[chosen] + np.einsum("nij,nj->ni", self.roots[chosen], off)
        found: Array = drawn[np.all((drawn >= 0) & (drawn <= 1), axis=1)]
        return found

    def density(self, places: Array) -> Array:
        """Return the density of what is drawn, up to a factor."""
        size = places.shape[1]
        found = np.zeros(len(places))
        for middle, root, share in zip(self.middles, self.roots, self.shares, strict=True):
            off = np.linalg.solve(root, (places - middle).T)
            fall = (1 + np.sum(off**2, axis=0) / TAIL) ** (-0.5 * (TAIL + size))
            found += share * fall / np.prod(np.diag(root))
        return found


def _room(place: Array, direction: Array) -> tuple[float, float]:
    """Return how far one may go back and forth before a parameter is at a bound."""
    moving = np.abs(direction) > 1e-9
    ends = np.stack([-place[moving], 1 - place[moving]]) / direction[moving]
    return float(ends.min(axis=0).max()), float(ends.max(axis=0).min())


def straight_samples(report: FitReport, rng: np.random.Generator, count: int) -> Samples:
    """Draw values that the data allow: normal around the fit, and anything that they do not see.

    Parameters:
        report: to first order.
        rng: source of chance.
        count: how many.
    """
    space = Around(report)
    found = space.local.confidence
    places = rng.multivariate_normal(space.start, found.covariance, count, method="eigh")
    places = np.clip(places, 0, 1)
    for place in places:
        for direction in found.undetermined.T:
            place += direction * rng.uniform(*_room(place, direction))
    return Samples(space.lows + np.clip(places, 0, 1) * space.widths)
