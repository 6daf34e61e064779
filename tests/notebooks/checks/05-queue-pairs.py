# %% numbers
assert 1.5 <= knees[1] / knees[0] <= 2.5
assert left < 0.3

# %% newer
assert all(many / few > 0.99 for few, many in newer.values())
explained = hc.bench(
    "rc_swarm", "pair", adapter="connectx5", host="skylake-sp", qps=64, explain=True, **SERVICE
)
assert explained.breakdowns[0]["binds"] == "node0.cpu0"

# %% sensitivity
assert rests.effects[0].parameter.endswith("icm.outstanding"), [
    (one.parameter, one.output, one.swing) for one in rests.effects
]

# %% claim
from hcasim.papers.loader import load_scenario

claims = load_scenario("modern/rc-swarm-apt-6").claims
(last,) = (one for one in claims if "720" in one.statement)
assert last.published == 1.2
assert not any(one.deviation for one in claims)
assert abs(replayed / last.published - 1) < 0.1

# %% widget
ask(), ask(1, 1, 24), ask(8, 64, 192)
