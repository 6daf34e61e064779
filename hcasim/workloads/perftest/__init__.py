"""perftest's bandwidth tests: so many requests of each queue pair are in flight all the time.

The method is that of ib_write_bw, ib_send_bw and ib_read_bw (linux-rdma/perftest,
src/perftest_resources.c: run_iter_bw, run_iter_bw_server, run_iter_bi): the sender fills each send
queue in turn up to a depth and then polls; a completion, which is asked for with each so many
requests, makes room for as many. What counts is the time from before the first post to the last
completion at the sender. Who is sent to keeps a receive queue filled. Completions of sends and of
receives share a queue here.
"""
