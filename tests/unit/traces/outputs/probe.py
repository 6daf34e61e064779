"""A trace as hcasim's probes write it."""

TRACE = (
    '{"record": "header", "schema": "hcasim-trace", "version": 1, '
    '"tool": {"name": "hcasim-probes", "version": "0.1"}, "device": {"name": "mlx5_0"}}\n'
    '{"record": "point", "workload": "write_lat", "options": {"size": 8}, "measured": '
    '[{"quantity": "latency", "unit": "ns", "samples": [900.0, 910.5]}]}\n'
    '{"record": "end", "points": 1, "complete": true}\n'
)
