"""What IMB and PMB print."""

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
SEVERAL_2021 = """#----------------------------------------------------------------
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
MULTI = """#-----------------------------------------------------------------------------
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
