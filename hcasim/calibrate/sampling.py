"""Values that the data allow: what a question to a fitted machine is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hcasim.calibrate.intervals import Profile
from hcasim.calibrate.report import FitReport
from hcasim.calibrate.space import Space

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

PROPOSALS = 200
"""Places at which samples are looked for."""
STATIONS = 4
"""Places on the way to each end of a profile around which proposals are drawn."""
WIDER = 1.5
"""Proposals scatter by so many times what the first order says: what they leave out is lost,
what they have in excess gets little weight."""
ANYWHERE = 0.3
"""Standard deviation of proposals along moves that the data do not notice, in widths of the
bounds: about that of an even spread over them."""
MOST = 100
"""Most attempts to find proposals within the bounds."""
GOLDEN = 0.6180339887498949
"""Steps of this share of a ring never come back to where they were, nor near it."""

FIRST = 0.02
"""Where on that ring the first one is: with it, the quantiles of 5 and 95 % of the first ten of
what is spread evenly are at 6 and 91 %."""


def weighed_samples(profile: Profile, rng: np.random.Generator, count: int) -> Array:
    """Draw values as likely as the simulator makes them, anywhere within the bounds.

    Places are proposed around the fit and along the way to the ends of its profiles, the cost of
    each is simulated, and samples are drawn from them: with the weight exp(-rise of the cost)
    over the density with which they were proposed (sampling, importance resampling: D. B. Rubin,
    in Bayesian Statistics 3, 1988, pages 395 to 402).

    Parameters:
        profile: of the fit.
        rng: source of chance.
        count: how many.

    Returns:
        Draws by parameters, in base units. Any first few of them are spread over the longest way
        that the data leave open.
    """
    import numpy as np

    space = Space(profile.report)
    places, density = _proposals(space, profile.ends, rng)
    costs = np.array([space.local.loss.cost(one) for one in space.residuals(list(places))])
    logs = -(costs - costs.min()) / space.scale - np.log(density)
    weights = np.exp(logs - logs.max())
    order = np.argsort(_along(places, weights), kind="stable")
    shares = np.cumsum(weights[order]) / weights.sum()
    # One draw from each of equal parts of the whole weight, in an order that jumps about.
    parts = (np.arange(count) + rng.uniform(size=count)) / count
    drawn = places[order[np.minimum(np.searchsorted(shares, parts), len(order) - 1)]]
    jumps = np.argsort(np.argsort((FIRST + GOLDEN * np.arange(count)) % 1, kind="stable"))
    values: Array = space.lows + drawn[jumps] * space.widths
    return values


def _proposals(space: Space, ends: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return places within the bounds, and the density with which they were drawn.

    The density is that of a mixture of normal distributions: one about the fit, the others along
    the way to each end and as long as their distance.
    """
    import numpy as np

    found = space.local.confidence
    size = len(space.start)
    blind = found.undetermined
    # A floor, so that a parameter that the data fix exactly does not make the mixture flat.
    core = WIDER**2 * found.covariance + ANYWHERE**2 * blind @ blind.T + 1e-10 * np.eye(size)
    centers, spreads = [space.start], [core]
    for end in ends:
        way = end - space.start
        for station in range(1, STATIONS + 1):
            centers.append(space.start + way * station / STATIONS)
            spreads.append(core + np.outer(way, way) / STATIONS**2)
    roots = np.array([np.linalg.cholesky(one) for one in spreads])
    middles = np.array(centers)
    # The fit has as many as all ways together.
    share = np.ones(len(centers))
    share[0] = max(1, len(centers) - 1)
    share /= share.sum()
    kept = np.empty((0, size))
    for _ in range(MOST):
        chosen = rng.choice(len(centers), size=4 * PROPOSALS, p=share)
        normal = rng.standard_normal((len(chosen), size))
        drawn = middles[chosen] + np.einsum("nij,nj->ni", roots[chosen], normal)
        inside = np.all((drawn >= 0) & (drawn <= 1), axis=1)
        kept = np.concatenate([kept, drawn[inside]])
        if len(kept) >= PROPOSALS:
            break
    # The fit itself is always one of them, so that there is one at all.
    places = np.concatenate([space.start[None, :], kept[: PROPOSALS - 1]])
    density = np.zeros(len(places))
    for middle, root, part in zip(middles, roots, share, strict=True):
        off = np.linalg.solve(root, (places - middle).T)
        density += part * np.exp(-0.5 * np.sum(off**2, axis=0)) / np.prod(np.diag(root))
    return places, density


def _along(places: Array, weights: Array) -> Array:
    """Return how far each place is along the direction in which they spread most.

    Each parameter counts in its own standard deviations.
    """
    import numpy as np

    share = weights / weights.sum()
    off = places - share @ places
    spread = np.sqrt(share @ off**2)
    off = np.divide(off, spread, out=np.zeros_like(off), where=spread > 0)
    _, directions = np.linalg.eigh((off * share[:, None]).T @ off)
    way: Array = off @ directions[:, -1]
    return way


def straight_samples(report: FitReport, rng: np.random.Generator, count: int) -> Array:
    """Draw values that the data allow: normal around the fit, and anything that they do not see.

    Parameters:
        report: to first order.
        rng: source of chance.
        count: how many.

    Returns:
        Draws by parameters, in base units, within the bounds.
    """
    import numpy as np

    space = Space(report)
    found = space.local.confidence
    places = rng.multivariate_normal(space.start, found.covariance, count, method="eigh")
    places = np.clip(places, 0, 1)
    for place in places:
        for direction in found.undetermined.T:
            # How far one may go either way before a parameter is at a bound.
            moving = np.abs(direction) > 1e-9
            ends = np.stack([-place[moving], 1 - place[moving]]) / direction[moving]
            place += direction * rng.uniform(ends.min(axis=0).max(), ends.max(axis=0).min())
    values: Array = space.lows + np.clip(places, 0, 1) * space.widths
    return values
