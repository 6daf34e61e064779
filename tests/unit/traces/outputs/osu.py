"""What OSU's programs print in versions and modes of which there is no sample."""

# OSU 2.1, osu_bw.c and osu_latency.c: a version in brackets, tabs, and six decimals.
BW_AND_LATENCY_2 = """warning:regcache incompatible with malloc
# OSU MPI Bandwidth Test (Version 2.1)
# Size\t\tBandwidth (MB/s)\x20
1\t\t0.401152
2\t\t0.797310
1048576\t\t967.451822
"""

# OSU 3.x prints "Bi-Bandwidth".
BIBW_3 = """# OSU MPI Bi-Directional Bandwidth Test v3.3
# Size     Bi-Bandwidth (MB/s)
1                         3.10
2                         6.21
4                        13.08
"""

# 5.x with -f: print_only_header and print_stats of osu_util_mpi.c, behind what mpirun prints.
FULL_5 = """--------------------------------------------------------------------------
WARNING: There was an error initializing an OpenFabrics device.
  Local host:   node01
--------------------------------------------------------------------------

# OSU MPI All-to-All Personalized Exchange Latency Test v5.6.2
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
1                       3.25              3.05              3.51        1000
2                       3.30              3.11              3.60        1000
[node01:12345] 1 more process has sent help message help-mpi-btl-openib.txt
"""

# osu_iallreduce of 5.x: print_preamble_nbc of osu_util_mpi.c.
NON_BLOCKING_5 = """
# OSU MPI Non-blocking Allreduce Latency Test v5.6.2
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
4                       9.25              4.45              4.11              0.00
8                       9.31              4.50              4.15              0.00
"""

# 7.x: a line of the data type, validation, and percentiles.
LATENCY_7 = """
# OSU MPI-CUDA Latency Test v7.4
# Datatype: MPI_CHAR.
# Rank 0 Memory on DEVICE (D) and Rank 1 Memory on HOST (H)
# Size       Avg Latency(us)        Validation    P50 Tail Lat(us)    P99 Tail Lat(us)
1                       1.61              Pass                1.60                2.01
2                       1.62              Fail                1.60                2.01
4                       1.63              Pass                1.61                2.05
"""

# 5.6 to 7.2 say so before the head.
CUDA_5 = """# OSU MPI-CUDA Latency Test v5.6.3
# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)
# Size          Latency (us)
0                       1.05
1                      11.07
2                      11.74
"""

MBW_MR_7 = """# OSU MPI Multiple Bandwidth / Message Rate Test v7.1
# [ pairs: 4 ] [ window size: 64 ]
# Datatype: MPI_CHAR.
# Size                  MB/s        Messages/s
8                     137.55       17193893.32
1048576             12321.14          11750.36
"""

# 5.x: no column of sizes.
BARRIER_5 = """
# OSU MPI Barrier Latency Test v5.6.3
# Avg Latency(us)
             4.91
"""
