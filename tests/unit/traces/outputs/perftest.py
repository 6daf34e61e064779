"""What perftest prints in versions and modes of which there is no sample.

Layouts: linux-rdma/perftest, src/perftest_parameters.h, or perftest_parameters.h before 2013, at
the commits named.
"""

RULE = "-" * 87 + "\n"

OLD_RULE = "-" * 66 + "\n"

# write_lat.c of 2006 to 2008, before the layouts moved to a header.
LAT_2008 = (
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
BW_2008 = (
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
BW_2011 = (
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
BIDIR_2013 = (
    RULE
    + "                    RDMA_Write Bidirectional BW Test\n"
    + _SETTINGS_2013
    + RULE
    + " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
    + " 65536      5000           6000.00            5990.00\t\t   0.047920\n"
    + RULE
)

# RESULT_FMT_LAT_DUR and REPORT_FMT_LAT_DUR of 8e3996d (2016), CPU_Util of c0594bf (2014).
DURATION_2016 = (
    RULE
    + "                    RDMA_Read Latency Test\n"
    + _SETTINGS_2013.replace(" Max inline data : 0[B]", " Outstand reads  : 16")
    + RULE
    + " #bytes        #iterations       t_avg[usec]    tps average    CPU_Util[%]\n"
    + " 2             4523118            2.21           452311.80     \t    49.93\n"
    + RULE
)

# RESULT_FMT_LAT of 1ccb3fd (2016), REPORT_FMT_LAT of 8ac9b67 (2017): one figure too many.
LAT_2017 = (
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

# RESULT_FMT_QOS and REPORT_FMT_QOS of 35f331d (2013).
QOS_2013 = (
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
BW_2024 = (
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

# -H and -C since 3464e83 (2017): sorted, without the two longest, and in cycles under "usec".
CYCLES = (
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
SILENT_CYCLES = "".join(
    part for part in CYCLES.partition("#, cycles")[0].splitlines(keepends=True)
) + "".join(CYCLES.splitlines(keepends=True)[-2:])

# f9e82f7 (2024): valid JSON, with CPU_util.
JSON_2024 = """{
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
DURATION_JSON_2021 = """{
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

TEXTS = {
    f"perftest: {name.lower()}": text
    for name, text in globals().items()
    if name[-4:].isdigit() and not name.startswith("_") and "JSON" not in name
}
"""Those that are read without a hint."""
