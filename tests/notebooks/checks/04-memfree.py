# %% numbers
assert all(abs(one[0]) < 0.001 for one in more.values())
assert max(one.max() for one in more.values()) < 0.1
assert step[-1] > 2 * step[0]

# %% application
assert 0 < slower < 0.01
assert 1 < pays < 4

# %% premium
assert -0.1 < min(premiums) < 0 < max(premiums) < 0.15
assert base["memfree"] > base["mem"]

# %% widget
ask(), ask(1, 4096, 50), ask(256, 8, 1000)
