# %% numbers
for name in MACHINES:
    assert 0.1 < gains[name][0] < 0.5
    large = latency[name].to_xarray().latency_us.sel(page_size=2 << 20)
    assert large.max() / large.min() < 1.05
assert gains["connectx5"][1] > 1.5
assert abs(gains["mt25218"][1] - 1) < 0.02
explained = hc.bench("read_bw", "sur2005", size=64, explain=True).breakdowns[0]
assert explained["binds"] == "node1.hca.responder.qp1"

# %% stream
assert max(*saved["connectx5"], *saved["mt25218"]) < 0.01
assert max(saved["mt23108"][:2]) < 0.01 < 0.1 < saved["mt23108"][2]

# %% gain
assert best > highest > lowest

# %% widget
ask(), ask("connectx3", 1, 4096), ask("connectx6", 1024, 64)
