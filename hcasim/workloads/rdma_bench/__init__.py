"""rdma_bench's throughput tests: threads of many machines that keep small requests in flight.

The method is that of efficient/rdma_bench (Kalia, Kaminsky and Andersen): rc-swarm/worker.c:
run_worker, rw-tput-receiver/main.c: run_client and rw-tput-sender/main.c: run_server. Each thread
has queue pairs with a completion queue each, one registered buffer and a window of requests over
all its queue pairs; what counts is how many requests the threads of a machine post in a second.
"""
