"""Outputs of versions and modes of which there is no sample, in their layouts.

The figures are invented. Layouts of perftest: linux-rdma/perftest, src/perftest_parameters.h, or
perftest_parameters.h before 2013, at the commits named.
"""

RULE = "-" * 87 + "\n"
OLD_RULE = "-" * 66 + "\n"

# write_lat.c of 2006 to 2008, before the layouts moved to a header.
PERFTEST_2008_LAT = (
    OLD_RULE
    + "                    RDMA_Write Latency Test\n"
    + "Inline data is used up to 400 bytes message\n"
    + "Connection type : RC\n"
    + "Mtu : 2048\n"
    + "  local address:  LID 0x01, QPN 0x7c0405, PSN 0x64b0c6 RKey 0x001501 VAddr 0x002a95a400\n"
    + "  remote address: LID 0x04, QPN 0x850405, PSN 0xb0b5ae, RKey 0x1501 VAddr 0x002a95a400\n"
    + OLD_RULE
    + " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n"
    + "      2        1000           3.12           18.26             3.21\n"
    + "      4        1000           3.13            9.03             3.20\n"
    + "    512        1000           4.51           11.53             4.60\n"
    + OLD_RULE
)

# write_bw.c of 2008.
PERFTEST_2008_BW = (
    OLD_RULE
    + "                    RDMA_Write Bidirectional BW Test\n"
    + "Number of qp's running 4\n"
    + "Connection type : UC\n"
    + "Each Qp will post up to 100 messages each time\n"
    + "Inline data is used up to 0 bytes message\n"
    + OLD_RULE
    + " #bytes #iterations    BW peak[MB/sec]    BW average[MB/sec]  \n"
    + "  65536        5000            1860.10               1855.25\n"
    + OLD_RULE
)

# RESULT_FMT and REPORT_FMT of 7ad8c97 (2011); the settings as in 2011, too.
PERFTEST_2011_BW = (
    OLD_RULE
    + "                    Send BW Test\n"
    + " Number of qps   : 1\n"
    + " Connection type : RC\n"
    + " TX depth        : 300\n"
    + " CQ Moderation   : 50\n"
    + " Mtu             : 2048B\n"
    + " Link type       : IB\n"
    + " Max inline data : 0B\n"
    + " Data ex. method : Ethernet\n"
    + OLD_RULE
    + " local address: LID 0x03 QPN 0x4a0048 PSN 0x9ddb3e\n"
    + OLD_RULE
    + " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]\n"
    + " 65536   1000           1432.35            1432.17\n"
    + OLD_RULE
)

_SETTINGS_2013 = (
    " Dual-port       : OFF\t\tDevice         : mlx4_0\n"
    " Number of qps   : 1\t\tTransport type : IB\n"
    " Connection type : RC\t\tUsing SRQ      : OFF\n"
    " TX depth        : 128\n"
    " CQ Moderation   : 100\n"
    " Mtu             : 2048[B]\n"
    " Link type       : IB\n"
    " Max inline data : 0[B]\n"
    " rdma_cm QPs\t : OFF\n"
    " Data ex. method : Ethernet\n"
)

# RESULT_FMT of 22fc42c (2013), whose bandwidth is of both directions and whose rate is of one.
PERFTEST_2013_BIDIR = (
    RULE
    + "                    RDMA_Write Bidirectional BW Test\n"
    + _SETTINGS_2013
    + RULE
    + " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    + " 65536      5000           6000.00            5990.00\t\t   0.047920\n"
    + RULE
)

# RESULT_FMT_LAT_DUR and REPORT_FMT_LAT_DUR of 8e3996d (2016), CPU_Util of c0594bf (2014).
PERFTEST_2016_DURATION = (
    RULE
    + "                    RDMA_Read Latency Test\n"
    + _SETTINGS_2013.replace(" Max inline data : 0[B]", " Outstand reads  : 16")
    + RULE
    + " #bytes        #iterations       t_avg[usec]    tps average    CPU_Util[%]\n"
    + " 2             4523118            2.21           452311.80     \t    49.93\n"
    + RULE
)

# RESULT_FMT_LAT of 1ccb3fd (2016), REPORT_FMT_LAT of 8ac9b67 (2017): one figure too many.
PERFTEST_2017_LAT = (
    RULE
    + "                    Send Latency Test\n"
    + _SETTINGS_2013.replace("Max inline data : 0", "Max inline data : 236")
    + RULE
    + " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
    + "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
    + "Conflicting CPU frequency values detected: 1199.953000 != 2600.000000. "
    + "CPU Frequency is not max.\n"
    + " 2       1000          0.79           4.39         0.83     \t       0.84        \t0.03   "
    + "\t\t0.95    \t\t4.39    \t\t0.00   \n"
    + " 256     1000          1.29           5.12         1.34     \t       1.35        \t0.05   "
    + "\t\t1.50    \t\t5.12    \t\t0.00   \n"
    + RULE
)

# RESULT_FMT_G_PER_PORT and REPORT_FMT_PER_PORT of efe90b2 (2014).
PERFTEST_2014_PER_PORT = (
    RULE
    + "                    RDMA_Write BW Test\n"
    + _SETTINGS_2013.replace("Dual-port       : OFF", "Dual-port       : ON").replace(
        "qps   : 1", "qps   : 2"
    )
    + RULE
    + " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]   "
    + "BW Port1[Gb/sec]   MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]\n"
    + " 65536      10000          98.40              98.32 \t\t   0.187531        "
    + "49.16              0.093766              49.16              0.093765\n"
    + RULE
)

# RESULT_FMT_QOS and REPORT_FMT_QOS of 35f331d (2013).
PERFTEST_2013_QOS = (
    RULE
    + "                    Send BW Test\n"
    + _SETTINGS_2013
    + RULE
    + " #bytes    #sl      #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    + " 65536    0           1000           2500.00            2499.00                  0.039984\n"
    + " 65536    3           1000           1200.00            1190.00                  0.019040\n"
    + RULE
)

# RESULT_FMT of 1d202bb (2024): MiB; the settings of 2026, with a warning among them.
PERFTEST_2024_BW = (
    "$ ib_read_bw -d mlx5_0 -q 2 -l 8 --report-counters 192.168.0.2\n"
    + RULE
    + "                    RDMA_Read Post List BW Test\n"
    + " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
    + " Number of qps   : 2\t\tTransport type : IB\n"
    + " Connection type : XRC\t\tUsing SRQ      : ON\n"
    + " PCIe relax order: ON\t\tLock-free      : OFF\n"
    + " WARNING: CPU is not PCIe relaxed ordering compliant.\n"
    + " WARNING: You should disable PCIe RO with `--disable_pcie_relaxed`.\n"
    + " ibv_wr* API     : ON\t\tUsing Enhanced Reorder      : OFF\n"
    + " TX depth        : 128\n"
    + " Post List       : 8\n"
    + " CQ Moderation   : 8\n"
    + " CQE Poll Batch  : Dynamic\n"
    + " Mtu             : 4096[B]\n"
    + " Link type       : Ethernet\n"
    + " GID index       : 3\n"
    + " Outstand reads  : 16\n"
    + " rdma_cm QPs\t : OFF\n"
    + " Use ROCm memory : OFF\n"
    + " Data ex. method : Ethernet\n"
    + RULE
    + " local address: LID 0000 QPN 0x0127 PSN 0xd7a1e9 OUT 0x10 RKey 0x1fff00\n"
    + " GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:00:01\n"
    + RULE
    + " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"
    + " 65536      2000             11530.92            11525.49\t\t     0.184408\n"
    + RULE
)

# ib_send_bw.c with -b --report-both: both directions, then each one's.
PERFTEST_REPORT_BOTH = (
    RULE
    + "                    Send Bidirectional BW Test\n"
    + _SETTINGS_2013
    + RULE
    + " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    + " 65536      1000             2325.00            2320.00\t\t   0.037120\n"
    + "".join(
        RULE
        + f"\n {end} results: \n"
        + RULE
        + " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
        + " 65536      1000             1162.00            1160.00\t\t   0.018560\n"
        for end in ("Local", "Remote")
    )
    + RULE
)

# -U of 2008 prints the samples and the line behind them, without a second head.
PERFTEST_2008_UNSORTED = (
    OLD_RULE
    + "                    RDMA_Read Latency Test\n"
    + "Connection type : RC\n"
    + OLD_RULE
    + " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n"
    + "#, usec\n1, 9.5\n2, 7.25\n3, 7.5\n4, 7.375\n"
    + "      1           5           7.25            9.50             7.50\n"
    + OLD_RULE
)

# -H and -C since 3464e83 (2017): sorted, without the two longest, and in cycles under "usec".
PERFTEST_CYCLES = (
    RULE
    + "                    RDMA_Write Latency Test\n"
    + _SETTINGS_2013
    + RULE
    + " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
    + "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
    + "#, cycles\n1, 2600\n2, 2600\n3, 2605.5\n4, 2611\n5, 2612\n"
    + RULE
    + " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
    + "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
    + " 8       8          2600.00        2700.00      2605.50  \t       2605.70     \t4.00\t\t"
    + "2700.00 \t\t2700.00\n"
    + RULE
)

# The same run without -H: nothing says that these are cycles.
PERFTEST_SILENT_CYCLES = "".join(
    part for part in PERFTEST_CYCLES.partition("#, cycles")[0].splitlines(keepends=True)
) + "".join(PERFTEST_CYCLES.splitlines(keepends=True)[-2:])

# f9e82f7 (2024): valid JSON, with CPU_util.
PERFTEST_2024_JSON = """{
"test_info": {
"test": "RDMA_Read_BW_Test",
"Dual_port": "OFF",
"Device": "mlx5_0",
"Number_of_qps": 1,
"Transport_type": "IB",
"Connection_type": "RC",
"Using_SRQ": "OFF",
"PCIe_relax_order": "ON",
"ibv_wr_API": "ON",
"TX_depth": 128,
"CQ_Moderation": 100,
"Mtu": 4096,
"Link_type": "IB",
"Outstand_reads": 16,
"rdma_cm_QPs": "OFF",
"Data_ex_method": "Ethernet"
},
"results": {
"MsgSize": 65536,
"n_iterations": 1000,
"BW_peak": 92.41,
"BW_average": 92.37,
"MsgRate": 0.176182,
"CPU_util": 12.50
}
}
"""

# 45e574b (2021): REPORT_FMT_LAT_DUR_JSON, with the events whose name has spaces.
PERFTEST_2021_DURATION_JSON = """{
test_info: {
test: Send_Latency_Test,
Test with events: Using_mlx5_0_comp0,
Dual_port: OFF,
Device: "mlx5_0",
Number_of_qps: 1,
Transport_type: IB,
Connection_type: UD,
Using_SRQ: OFF,
 PCIe_relax_order: Unsupported,
ibv_wr_API: ON,
TX_depth : 1,
Mtu: 4096,
Link_type: IB,
Max_inline_data: 188,
rdma_cm_QPs: OFF,
Data_ex_method: Ethernet,
},
results: {
MsgSize: 2,
n_iterations: 1234567,
t_avg: 4.05,
tps_average: 123456.70,
},
}
"""

# OSU 2.1, osu_bw.c and osu_latency.c: a version in brackets, tabs, and six decimals.
OSU_2 = """warning:regcache incompatible with malloc
# OSU MPI Bandwidth Test (Version 2.1)
# Size\t\tBandwidth (MB/s)\x20
1\t\t0.401152
2\t\t0.797310
1048576\t\t967.451822
"""

# OSU 3.x prints "Bi-Bandwidth".
OSU_3_BIBW = """# OSU MPI Bi-Directional Bandwidth Test v3.3
# Size     Bi-Bandwidth (MB/s)
1                         3.10
2                         6.21
4                        13.08
"""

# 3.x names the one-sided programs so; the versions after it leave that out.
OSU_3_ONE_SIDED = """# OSU One Sided MPI_Put Bi-directional Bandwidth Test v3.1.1
# Size     Bi-Bandwidth (MB/s)
1                         0.31
2                         0.62
# OSU One Sided MPI_Get latency Test v3.1.1
# Size          Latency (us)
1                         4.31
"""

# 5.x with -f: print_only_header and print_stats of osu_util_mpi.c, behind what mpirun prints.
OSU_5_FULL = """--------------------------------------------------------------------------
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
OSU_5_NON_BLOCKING = """
# OSU MPI Non-blocking Allreduce Latency Test v5.6.2
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
4                       9.25              4.45              4.11              0.00
8                       9.31              4.50              4.15              0.00
"""

# 7.x: a line of the data type, validation, and percentiles.
OSU_7_LATENCY = """
# OSU MPI-CUDA Latency Test v7.4
# Datatype: MPI_CHAR.
# Rank 0 Memory on DEVICE (D) and Rank 1 Memory on HOST (H)
# Size       Avg Latency(us)        Validation    P50 Tail Lat(us)    P99 Tail Lat(us)
1                       1.61              Pass                1.60                2.01
2                       1.62              Fail                1.60                2.01
4                       1.63              Pass                1.61                2.05
"""

# 5.6 to 7.2 say so before the head.
OSU_5_CUDA = """# OSU MPI-CUDA Latency Test v5.6.3
# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)
# Size          Latency (us)
0                       1.05
1                      11.07
2                      11.74
"""

OSU_7_MBW_MR = """# OSU MPI Multiple Bandwidth / Message Rate Test v7.1
# [ pairs: 4 ] [ window size: 64 ]
# Datatype: MPI_CHAR.
# Size                  MB/s        Messages/s
8                     137.55       17193893.32
1048576             12321.14          11750.36
"""

# 5.x: no column of sizes.
OSU_5_BARRIER = """
# OSU MPI Barrier Latency Test v5.6.3
# Avg Latency(us)
             4.91
"""

# PMB 2.2: processes in brackets, Mbytes of 2^20 bytes; two tests, and lines of the library.
PMB_2_2 = """LID = 786#---------------------------------------------------
#    PALLAS MPI Benchmark Suite V2.2, MPI-1 part
#---------------------------------------------------
# Date       : Tue Aug  9 07:11:25 2005
# Machine    : x86_64# System     : Linux

#
# Minimum message length in bytes:   0
# Maximum message length in bytes:   4194304
#
# List of Benchmarks to run:

# PingPong
# Bcast

#---------------------------------------------------
# Benchmarking PingPong
# ( #processes = 2 )
# ( 2 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         6.02         0.00
         1024         1000        11.31        86.35
        65536          640       101.24       617.35

#----------------------------------------------------------------
# Benchmarking Bcast
# ( #processes = 4 )
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.02         0.03         0.03
         1024         1000        16.21        16.48        16.37
"""

# IMB 2021, IMB_output.c: Mbytes of 10^6 bytes; several numbers of processes, and what is no result.
IMB_2021 = """#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
#----------------------------------------------------------------
# MPI Thread Environment:


# Calling sequence was:

# IMB-MPI1 Sendrecv Allgatherv Barrier

#-----------------------------------------------------------------------------
# Benchmarking Sendrecv\x20
# #processes = 2\x20
# ( 2 additional processes waiting in MPI_Barrier)
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            1         1000         1.98         2.02         2.00         0.99
        65536          640        40.10        41.90        41.00      3128.21

#-----------------------------------------------------------------------------
# Benchmarking Sendrecv\x20
# #processes = 4\x20
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            1         1000         2.15         2.16         2.15         0.93
        65536          640        44.10        45.00        44.60      2912.71
      1048576 out-of-mem.; needed X=   0.126 GB; use flag "-mem X" or MAX_MEM_USAGE>=X

#---------------------------------------------------
# Benchmarking Barrier\x20
# #processes = 4\x20
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         3.11         3.15         3.13


# All processes entering MPI_Finalize

"""

# -multi 1: a line for each group.
IMB_MULTI = """#-----------------------------------------------------------------------------
# Benchmarking Multi-Exchange\x20
# ( 2 groups of 2 processes each running simultaneous )\x20
# Group  0:     0    1
#
# Group  1:     2    3
#
#-----------------------------------------------------------------------------
        Group       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec

            0            8         1000         2.15         2.16         2.15        14.81
            1            8         1000         2.15         2.16         2.15        14.81

"""

# NetPIPE 5, netpipe.c: bytes, mean, least and greatest Gbps of 10^9, microseconds.
NETPIPE_5 = (
    "        1     0.005     0.005     0.006    1.50\n"
    "        2     0.011     0.010     0.011    1.51\n"
    "        3     0.016     0.016     0.016    1.52\n"
    "    65536    43.691    43.000    44.000   12.00\n"
    "  1048576    83.886    83.000    84.100  100.00\n"
)

# NetPIPE 4, netpipe.c: bytes, Mbps of 10^6 at best, on average and at worst, seconds at best.
NETPIPE_4 = (
    "       1 4.000000   3.90000000   3.80000000   0.00000200\n"
    "    1024 1365.333333 1300.00000000 1200.00000000   0.00000600\n"
)

# NetPIPE 2: seconds, Mbps of 2^20 bits, bits, bytes, variance.
NETPIPE_2 = "0.000100\t0.076294\t8\t1\t0.000000\n0.000150\t52.083333\t8192\t1024\t0.000000\n"

# NetPIPE 3 with -2: bits are of both directions in np.out, and bytes are of one on the terminal.
NETPIPE_3_BOTH = (
    "       2 1.525879   0.00001000\n"
    "       4 3.051758   0.00001000\n"
    "       6 4.577637   0.00001000\n"
    "       8 6.103516   0.00001000\n"
    "      12 9.155273   0.00001000\n"
)
NETPIPE_3_BOTH_TERMINAL = (
    "Now starting the main loop\n"
    "  0:   65536 bytes   1000 times -->   5000.00 Mbps in     200.00 usec\n"
    "  1:   98304 bytes   1000 times -->   6000.00 Mbps in     250.00 usec\n"
)

PROBE = (
    '{"record": "header", "schema": "hcasim-trace", "version": 1, '
    '"tool": {"name": "hcasim-probes", "version": "0.1"}, "device": {"name": "mlx5_0"}}\n'
    '{"record": "point", "workload": "write_lat", "options": {"size": 8}, "measured": '
    '[{"quantity": "latency", "unit": "ns", "samples": [900.0, 910.5]}]}\n'
    '{"record": "end", "points": 1, "complete": true}\n'
)

PERFTEST_TEXTS = {
    name.lower(): text
    for name, text in globals().items()
    if name.startswith("PERFTEST_2") and not name.endswith("JSON")
}
"""Those that are read without a hint."""
