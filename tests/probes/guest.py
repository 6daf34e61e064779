"""What is run in the virtual machine, all in one go: plans, servers, signals and full disks."""

import shutil
import struct
from pathlib import Path

from tests.probes.machine import ADDRESSES, run

EVERY = """
write_lat size=1,4K inline=no qps=1,2 iters=40 warmup=2
write_lat size=8 inline=yes iters=20 warmup=2
send_lat size=8 iters=20 warmup=2
send_lat size=4K qps=3 pattern=zipf iters=20 warmup=2
read_lat size=8 qps=2 pattern=random iters=40 warmup=2
atomic_lat op=fetch_add,cmp_swap iters=40 warmup=2
qp_lat qps=1,4 iters=4 warmup=1
scatter qps=1,8 size=1K iters=20 warmup=1
loopback_lat size=8 qps=2 iters=1500 warmup=2
window_bw size=1 window=8 iters=5 warmup=1
window_bw size=64K window=8 qps=3 iters=5 warmup=1
window_bw size=4K window=16 reuse=50 buffers=5 iters=5 warmup=1
window_bw size=64K window=8 ports=2 mode=striping iters=5 warmup=1
window_bibw size=4K window=8 iters=5 warmup=1
window_bibw size=4K,64K window=8 ports=2 mode=striping,binding iters=5 warmup=1
window_bw verb=send size=4K window=8 qps=2 iters=5 warmup=1
window_bw verb=send size=4K window=8 reuse=0 buffers=3 iters=5 warmup=1
window_bibw verb=send size=4K window=8 iters=5 warmup=1
window_bw verb=read size=4K window=8 qps=2 iters=5 warmup=1
reg_mr size=4K iters=100 warmup=1
reg_mr size=4M page_size=2M iters=5 warmup=1
post_cost size=8 window=1,8 iters=20 warmup=2
"""

BY_HAND = """
write_lat size=4K mtu=512 iters=20 warmup=2
window_bibw verb=send size=4K window=8 iters=5 warmup=1
read_lat size=4K iters=20 warmup=2
loopback_lat size=8 iters=1500 warmup=0
window_bw size=64K window=8 ports=2 mode=striping iters=5 warmup=1
"""

LOCAL = "IBV_WC_LOC_(PROT|QP_OP|LEN)_ERR: "
REMOTE = "IBV_WC_REM_ACCESS_ERR: remote access error"
LOST = "IBV_WC_RETRY_EXC_ERR: transport retry counter exceeded"
FAULTS = (
    ("write_lat", "rkey", REMOTE),
    ("write_lat", "lkey", LOCAL),
    ("write_lat", "size", LOCAL),
    ("write_lat", "qp", LOST),
    ("send_lat", "size", LOCAL),
    ("send_lat", "qp", LOST),
    ("read_lat", "rkey", REMOTE),
    ("read_lat", "size", REMOTE),
    ("atomic_lat", "rkey", REMOTE),
    ("qp_lat", "lkey", LOCAL),
    ("scatter", "size", LOCAL),
    ("window_bw", "rkey", REMOTE),
    ("window_bibw", "rkey", REMOTE),
    # Both ends send what is too long here and there: either may notice first.
    ("window_bibw", "size", f"{REMOTE}|{LOCAL}"),
    ("window_bw verb=send", "size", LOCAL),
    ("window_bw verb=read", "rkey", REMOTE),
)

VISITED = 77
"""The iterations of the point during which strangers come, to find it by."""

SCRIPT = f"""
both="{",".join(ADDRESSES)}"
there="--server {ADDRESSES[0]} --bind $both"
echo 8 > /proc/sys/vm/nr_hugepages

checked serve --bind $both 2> serve.txt &
server=$!
until grep -q listening serve.txt; do usleep 50000; done
checked run /job/every $there -o every.jsonl --clock monotonic --deadline 60
echo every $? >> codes
checked run /job/faults $there --connect hand -o faults.jsonl --seed 0 --deadline 20
echo faults $? >> codes

mkfifo /tmp/words
nc {ADDRESSES[0]} 18590 < /tmp/words > heard.txt &
client=$!
exec 3> /tmp/words
echo hcasim-probes 1 manager 60000 write_lat iters={VISITED} >&3
until grep -q listen heard.txt; do usleep 50000; done
stranger $(sed -n 's/listen //p' heard.txt) > strangers.txt
echo strangers $? >> codes
exec 3>&-
wait $client

checked run /job/large $there -o large.jsonl --seed 0
echo large $? >> codes
LD_PRELOAD=/job/always_blocking.so plain run /job/after $there -o blocking.jsonl
echo blocking $? >> codes

for signal in INT TERM HUP; do
  checked run /job/endless $there -o ended-$signal.jsonl &
  client=$!
  until grep -q '"record": "point"' ended-$signal.jsonl; do usleep 50000; done
  kill -$signal $client
  wait $client
  echo ended-$signal $? >> codes
done
kill -STOP $server
checked run /job/silent $there -o silent.jsonl --seed 0 --deadline 1
echo silent $? >> codes
kill -CONT $server
checked run /job/after $there -o after.jsonl --deadline 60
echo after $? >> codes
checked run /job/endless $there -o stopped.jsonl --seed 0 --deadline 2 &
client=$!
until grep -q '"record": "point"' stopped.jsonl; do usleep 50000; done
usleep 500000
kill -STOP $server
wait $client
echo stopped $? >> codes
kill -CONT $server
kill -TERM $server
wait $server
echo server $? >> codes
plain run /job/silent $there -o gone.jsonl --seed 0 --deadline 1
echo gone $? >> codes

plain serve --bind $both 2> serve2.txt &
server=$!
until grep -q listening serve2.txt; do usleep 50000; done
plain run /job/by_hand $there --connect hand -o by_hand.jsonl --raw --deadline 60
echo by_hand $? >> codes
plain run /job/endless $there -o left.jsonl --seed 0 &
client=$!
until grep -q '"record": "point"' left.jsonl; do usleep 50000; done
usleep 500000
kill -KILL $server
wait $client
echo left $? >> codes
checked run /job/local --device rxe1 -o local.jsonl
echo local $? >> codes
HCASIM_SYSFS=/job/sys plain header --device rxe1 > header.jsonl
echo header $? >> codes
plain header --device rxe1 > /dev/full 2> full.txt
echo full_header $? >> codes
plain run /job/local --device rxe1 > /dev/full 2>> full.txt
echo full_run $? >> codes
"""


def fake_sysfs(top: Path) -> Path:
    """A PCI Express function with MPS 256 and MRRS 512, behind another capability."""
    device = top / "class" / "infiniband" / "rxe1" / "device"
    device.mkdir(parents=True)
    config = bytearray(256)
    config[0x34] = 0x40
    config[0x40:0x42] = (0x01, 0x60)
    config[0x60:0x62] = (0x10, 0x00)
    struct.pack_into("<H", config, 0x68, 1 << 5 | 2 << 12)
    (device / "config").write_bytes(config)
    (device / "current_link_speed").write_text("8.0 GT/s PCIe\n")
    (device / "current_link_width").write_text("8\n")
    (device / "driver").symlink_to("somewhere/mlx5_core")
    return top


PLANS = {
    "every": EVERY,
    "by_hand": BY_HAND,
    "faults": "".join(f"{name} fault={what} iters=3 warmup=0\n" for name, what, _ in FAULTS),
    "endless": "reg_mr size=4K iters=5\nwrite_lat iters=10000000\n",
    "silent": "reg_mr size=4K iters=5\nwrite_lat\nread_lat\nscatter\nsend_lat\n",
    "local": "reg_mr iters=5\nloopback_lat qps=2 iters=20\npost_cost iters=20\n",
    # At one end each buffer alone is less than all of them at the other.
    "large": "scatter size=512M qps=2\nloopback_lat size=1G\n",
    "after": "write_lat iters=5 warmup=0\n",
}


def run_everything(programs: dict[str, Path], work: Path) -> tuple[Path, int]:
    """Run the script; return the folder of its results, and its exit code.

    Parameters:
        programs: the probes, plain and checked by sanitizers, and what goes with them, by name.
        work: an empty folder.
    """
    out, guest = work / "out", work / "guest"
    for folder in (out, guest):
        folder.mkdir()
    files = {**programs, "sys": fake_sysfs(work / "sys")}
    for name, text in PLANS.items():
        files[name] = work / name
        files[name].write_text(text)
    status = run(SCRIPT, files, guest, out)
    # Half a gigabyte of packages.
    shutil.rmtree(guest)
    return out, status
