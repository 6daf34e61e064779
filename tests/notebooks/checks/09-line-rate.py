# %% start
assert abs(rate[-1] - 972) < 1

# %% busy
assert last["node0.hca.port1.link"] > 0.99
assert max(last["node0.bus.downstream"], last["node1.bus.upstream"], last["node0.memory"]) < 0.75

# %% line
assert abs(around - 28) < 0.1
assert 8 + 12 + 4 + 2 + 2 == 28
assert 0.0005 < always - 1 < 0.0015

# %% bidirectional
assert rate[-1] > without > both
assert rate[-1] - both < 0.02 * LINK

# %% slot
found_slots = [one.curve.bandwidth_MBps[0] for one in steps.values()]
assert found_slots[0] < 0.85 * LINK
assert min(found_slots[1:]) > found_slots[0]

# %% roce
for mtu, one in roce.items():
    assert abs(one / 12500 - mtu / (mtu + 82)) < 0.005

# %% widget
ask(), ask("write_bibw", 256, 1), ask("write_bw", 2048, 8)
