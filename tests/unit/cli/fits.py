"""Words of fits to traces of a machine that is known."""

TRUTH = {
    "adapter.send.latency": "900 ns",
    "adapter.receive_queue.latency": "150 ns",
    "adapter.responder.latency": "2200 ns",
}
FREE = [word for path in TRUTH for word in ("--free", path)]
SIZES = {"write_lat": "8,1K", "send_lat": "8,1K", "read_lat": "8,1K", "window_bw": "8K"}
LINEAR = ("--intervals", "linear")
