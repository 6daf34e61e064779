# %% halo-drawn
assert found.matrix()[0, 1] > found.matrix()[0, 2]
assert sum(found.matrix("messages")[3]) == sum(found.matrix("messages")[4])

# %% path
assert abs(sum(found.outcome.critical.values()) / found.seconds - 1) < 1e-9

# %% saved
assert (np.diff(saved) < 0).all()
assert saved[0] > 0.2
assert saved[-1] < 0.05

# %% nas-calls
for kernel in KERNELS:
    new, old = (kernels[kernel, adapter] for adapter in ("mt25208", "mt23108"))
    assert new.seconds < old.seconds
    assert abs(new.compute_seconds / old.compute_seconds - 1) < 1e-6
