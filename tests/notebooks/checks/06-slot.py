# %% numbers
(busy,) = hc.bench("write_bw", **CARD, size="64K", explain=True).breakdowns
assert "node0.hca.port1.link" in (busy["binds"], *busy["also"])
# Headers take 2 % of the link.
assert 0.97 < bandwidth.max().item() / 12500 < 0.98
assert abs(wire / 16 - 985) < 1
for lanes in (1, 2, 4):
    for generation in GENERATIONS:
        narrow, wide = (
            bandwidth.sel(generation=generation, lanes=one).item() for one in (lanes, 2 * lanes)
        )
        assert abs(wide / narrow / 2 - 1) < 0.02

# %% small
assert latency[0] / latency[-1] > 1.1
assert latency[1] / latency[-1] < 1.1

# %% tags-numbers
assert set(enough.values()) == {8}
assert 0.9 < narrow < 0.99

# %% pcix
assert old.sel(workload="write_bibw", adapter="mt23108") < 1.25 * old.sel(
    workload="write_bw", adapter="mt23108"
)

# %% widget
ask(), ask("connectx4", 1, 1, 4), ask("connectx5", 16, 3, 64)
