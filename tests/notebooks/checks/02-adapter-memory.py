# What the notebook says is so: each part runs behind the cell that it names, with its variables.

# %% cell-05
for curve in turns.values():
    # Random turns are averaged to about a percent.
    assert (np.diff(curve.latency_us) > -0.01 * curve.latency_us[:-1]).all()
for pattern in ("cyclic", "random"):
    mem, memfree = (turns[mode, pattern].latency_us for mode in COLOURS)
    assert (memfree >= mem).all()
    assert (memfree / mem).max() < 1.05
    few = turns["mem", pattern].x <= 32
    assert np.allclose(memfree[few], mem[few], rtol=1e-3, atol=0)

# %% cell-09
for name in NAMES:
    ways = caches[name].ways
    assert ways == 4
    assert (misses[name][numbers <= capacity[name]] < 0.1).all()
    # A line of the MTT holds the pages of two queue pairs.
    full = 0.5 if name == "mtt" else 1.0
    beyond = misses[name][numbers >= capacity[name] * (1 + 1 / ways) + SHARED]
    assert (abs(beyond / full - 1) < 0.05).all()
assert min(capacity, key=capacity.get) == "mpt"
assert abs(waited / slower - 1) < 0.01
for qps, latency in zip(at_random.x, at_random.latency_us, strict=True):
    if qps >= 256:
        missing = sum(1 - capacity[name] / qps for name in NAMES)
        assert abs((one + missing * slower / per_message) / latency - 1) < 0.025

# %% cell-13
for result in what_if.values():
    full = capacities(result.machine.adapter.caches)
    fit = result.curve.latency_us < 1.01 * one
    assert fit.tolist() == [qps <= min(full.values()) for qps in counts]

# %% cell-17
assert each.argmin() > 0
assert half / 2 < best <= half + 1
assert (busy["binds"], missing["binds"]) == ("node0.cpu0", "node0.hca.icm")
fetched = sum(one["misses"] for one in missing["caches"] if one["name"] in ("rqpc", "mpt", "mtt"))
contexts = next(one["misses"] for one in missing["caches"] if one["name"] == "rqpc")
assert abs(each[-1] / price - fetched / contexts) < 0.1
assert 1 < slowdown < 1.15

# %% cell-21
for adapter, bus in ADAPTERS.items():
    extra = cost[adapter, "memfree"] / cost[adapter, "mem"] - 1
    assert (extra > 0.2) == (bus == "PCI-X")
assert host > own

# %% cell-25
for what, buffers in (("NetPIPE, 4 KiB", 2), ("window_bw, 4 KiB", 1)):
    beyond = lengths > reach / buffers
    assert 1 - old[what][beyond].max() / old[what][~beyond].max() > 0.08
    assert old[what][~beyond].min() > old[what][beyond].max()
for what in ("NetPIPE, 2 MiB", "NetPIPE, 4 KiB, with prefetching"):
    assert (np.diff(old[what]) > 0).all()
assert hidden.min() > 0.99

# %% cell-30
for mode in lost:
    assert (np.diff(lost[mode]) < 0).all()
    assert (lost[mode][sizes >= 16] < 0.01).all()
    assert lost["memfree"][0] >= lost[mode][0] > 0.01
assert mpt["mem"]["misses"] == mpt["memfree"]["misses"]
assert 1.05 < mpt["memfree"]["waited_us"] / mpt["mem"]["waited_us"] < 1.2

# %% cell-34
assert (tables > 0).all()
assert (np.diff(tables) >= 0).all()
assert tables[-1] < 0.1 * queues
