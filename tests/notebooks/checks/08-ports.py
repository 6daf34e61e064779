# %% numbers
assert 1.2 < best["mt25208", "striping"] / best["mt25208", "single"] < 1.8
for adapter, mode in (("mt25208", "binding"), ("mt23108", "binding"), ("mt23108", "striping")):
    assert abs(best[adapter, mode] / best[adapter, "single"] - 1) < 0.02

# %% busy
assert "link" in binds["PCI Express, single"]
assert "link" in binds["PCI Express, binding"]
assert "bus" in binds["PCI Express, striping"]
assert all("bus.bus" in binds[f"PCI-X, {mode}"] for mode in WAYS)

# %% sensitivity
order = next(one for one in rests.outputs if one.name == "LIU-071-cause")
assert order.holds
assert all(one.turns is None for one in rests.of(order))
number = next(one for one in rests.outputs if one.name == "LIU-069")
assert min(end for one in rests.of(number) for end in (one.low, one.high)) > 2451

# %% published
from hcasim.papers.loader import load_scenario

claimed = {one.id: one.published for one in load_scenario("liu2004/fig09").claims}
assert [claimed["LIU-069"], claimed["LIU-070"]] == [measured["striping"], measured["binding"]]
assert 0.05 < outputs["striping"].base / 2451 - 1 < 0.15
assert abs(outputs["binding"].base / 1944 - 1) < 0.01

# %% widget
ask(), ask("single", 4, 128), ask("binding", 16, 64)
