"""What NetPIPE prints in versions of which there is no sample."""

# NetPIPE 5, netpipe.c: bytes, mean, least and greatest Gbps of 10^9, microseconds.
NP_OUT_5 = (
    "        1     0.005     0.005     0.006    1.50\n"
    "        2     0.011     0.010     0.011    1.51\n"
    "        3     0.016     0.016     0.016    1.52\n"
    "    65536    43.691    43.000    44.000   12.00\n"
    "  1048576    83.886    83.000    84.100  100.00\n"
)

# NetPIPE 4, netpipe.c: bytes, Mbps of 10^6 at best, on average and at worst, seconds at best.
NP_OUT_4 = (
    "       1 4.000000   3.90000000   3.80000000   0.00000200\n"
    "    1024 1365.333333 1300.00000000 1200.00000000   0.00000600\n"
)

# NetPIPE 3 with -2: bits are of both directions in np.out, and bytes are of one on the terminal.
BOTH_3 = (
    "       2 1.525879   0.00001000\n"
    "       4 3.051758   0.00001000\n"
    "       6 4.577637   0.00001000\n"
    "       8 6.103516   0.00001000\n"
    "      12 9.155273   0.00001000\n"
)

TERMINAL_BOTH_3 = (
    "Now starting the main loop\n"
    "  0:   65536 bytes   1000 times -->   5000.00 Mbps in     200.00 usec\n"
    "  1:   98304 bytes   1000 times -->   6000.00 Mbps in     250.00 usec\n"
)
