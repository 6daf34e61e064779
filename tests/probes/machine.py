"""A throw-away virtual machine with soft-RoCE, made of Debian's packages.

The guest runs from memory: Debian's kernel with the modules of rdma_rxe, busybox and the RDMA
libraries. It gets a folder of files, runs a shell script as root, and gives back what the script
left in its working folder. No root, no /dev/kvm and no disk image are needed.
"""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from tests.programs import give_up, program

PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "cpio": "cpio",
    "modprobe": "kmod",
    "depmod": "kmod",
    "dpkg-deb": "dpkg",
    "apt-get": "apt",
}
"""What the host needs, and the package it is in."""

KERNEL = "linux-image-amd64"
"""The cloud kernel has no rdma_rxe."""

PACKAGES = (
    "busybox-static",
    "ibverbs-providers",
    "iproute2",
    "libbsd0",
    "libc6",
    "libcap2",
    "libgcc-s1",
    "libibverbs1",
    "libmd0",
    "libmnl0",
    "libnl-3-200",
    "libnl-route-3-200",
    "librdmacm1",
)
# The checksums are asked for by name at run time, so no module depends on them.
MODULES = (
    "virtio_pci",
    "9pnet_virtio",
    "9p",
    "dummy",
    "crc32_generic",
    "crc32c_generic",
    "libcrc32c",
    "ib_uverbs",
    "rdma_ucm",
    "rdma_rxe",
)
LEFT_OUT = ("drivers", "sound")
DRIVERS = ("infiniband", "virtio", "net/dummy")
"""What is taken nevertheless."""

ADDRESSES = ("10.0.0.1", "10.0.1.1")
"""Of rxe0 and rxe1, each on an interface of its own."""

MTU = 4200
"""Of the interfaces: room for RoCE packets of 4096 bytes."""

_INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/job:/bin:/sbin:/usr/bin:/usr/sbin HOME=/
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
give_up() {{ echo "guest: $1"; poweroff -f; }}
while read -r module; do
  insmod "/modules/$module" || give_up "insmod $module"
done < /modules/order
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 out /out || give_up "no shared folder"
ulimit -l unlimited
ip link set lo up
number=0
for address in {" ".join(ADDRESSES)}; do
  ip link add rdma$number type dummy
  ip link set rdma$number mtu {MTU} up
  ip addr add $address/24 dev rdma$number
  rdma link add rxe$number type rxe netdev rdma$number || give_up "no rxe$number"
  tries=0
  until [ "$(cut -d: -f1 /sys/class/infiniband/rxe$number/ports/1/state)" = 4 ]; do
    [ $((tries += 1)) -lt 50 ] || give_up "rxe$number does not come up"
    usleep 100000
  done
  number=$((number + 1))
done
(cd /out && exec sh /job/script > stdout.txt 2> stderr.txt)
echo $? > /out/status
sync
umount /out
poweroff -f
"""


def _run(*words: str | Path, cwd: Path) -> str:
    """Run one of the programs; give up if it fails."""
    name, *others = map(str, words)
    found = program(name, PROGRAMS.get(name, "apt"))
    environment = os.environ | {"LC_ALL": "C"}
    done = subprocess.run(
        [found, *others], cwd=cwd, capture_output=True, text=True, env=environment
    )
    if done.returncode:
        complaint = (done.stderr or done.stdout).strip().splitlines()
        give_up(f"{name} failed: {complaint[-1] if complaint else 'no message'}")
    return done.stdout


def _extract_kernel(package: Path, into: Path) -> None:
    """Extract a kernel without most of its drivers, which are most of it."""
    words = ("dpkg-deb", "--fsys-tarfile", str(package))
    with (
        subprocess.Popen(words, stdout=subprocess.PIPE) as unpacking,
        tarfile.open(fileobj=unpacking.stdout, mode="r|") as files,
    ):
        for file in files:
            kind, _, rest = file.name.partition("/kernel/")[2].partition("/")
            if kind not in LEFT_OUT or rest.startswith(DRIVERS):
                files.extract(file, into, filter="tar")


def _pack(folder: Path) -> bytes:
    """Return a folder as an archive of an initial file system."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return subprocess.run(
        [program("cpio", "cpio"), "-o", "-H", "newc", "-R", "0:0", "--quiet"],
        cwd=folder,
        input="".join(f"{name}\n" for name in (".", *names)).encode(),
        capture_output=True,
        check=True,
    ).stdout


def run(script: str, files: dict[str, Path], work: Path, out: Path, limit_s: int = 300) -> int:
    """Run a script in a fresh guest, or give up if there can be none; return its exit code.

    Parameters:
        script: for /bin/sh; its working folder is shared with the host.
        files: what is in /job, which is on PATH, by name.
        work: an empty folder to make the guest in.
        out: an empty folder to be shared.
        limit_s: after which the guest is ended.
    """
    kernel, root = _made(work)
    job = work / "files" / "job"
    job.mkdir(parents=True)
    for name, file in files.items():
        if file.is_dir():
            shutil.copytree(file, job / name, symlinks=True)
        else:
            shutil.copy(file, job / name)
    (job / "script").write_text(script)
    initrd = work / "initrd"
    initrd.write_bytes(_pack(root) + _pack(job.parent))
    words = (
        *(program("qemu-system-x86_64", "qemu-system-x86"), "-accel", "tcg,thread=multi"),
        *("-cpu", "max", "-smp", "2", "-m", "1024"),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
        *("-serial", "stdio", "-kernel", str(kernel), "-initrd", str(initrd)),
        *("-append", "console=ttyS0 panic=-1 quiet nokaslr mitigations=off"),
        *("-virtfs", f"local,path={out},mount_tag=out,security_model=none,multidevs=remap"),
    )
    console = work / "console"
    with console.open("wb") as said:
        subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, timeout=limit_s, check=False
        )
    status = out / "status"
    if not status.exists():
        give_up(f"the guest did not come up: {console.read_text(errors='replace')[-2000:]}")
    return int(status.read_text())


def _made(work: Path) -> tuple[Path, Path]:
    """Make the guest of Debian's packages; return its kernel and the folder of its file system."""
    for name, package in PROGRAMS.items():
        program(name, package)
    packages, root, boot = (work / name for name in ("packages", "root", "boot"))
    packages.mkdir()
    listed = _run("apt-cache", "depends", KERNEL, cwd=work).splitlines()
    kernels = [line.split()[-1] for line in listed if "Depends: linux-image-" in line]
    if not kernels:
        give_up(f"apt knows no {KERNEL}; apt-get update may help")
    # As root apt would lose its privileges and complain that it cannot write here.
    quiet = ("-q", "-o", "APT::Sandbox::User=root")
    _run("apt-get", *quiet, "download", kernels[0], *PACKAGES, cwd=packages)
    for package_file in packages.glob("*.deb"):
        if package_file.name.startswith("linux-image-"):
            _extract_kernel(package_file, boot)
        else:
            _run("dpkg-deb", "-x", package_file, root, cwd=work)
    (kernel,) = (boot / "boot").glob("vmlinuz-*")
    _add_modules(boot, root / "modules", kernel.name.removeprefix("vmlinuz-"))
    for name in ("proc", "sys", "dev", "tmp", "run", "out", "job", "bin", "etc"):
        (root / name).mkdir(exist_ok=True)
    shutil.rmtree(root / "usr" / "share")
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/:/bin/sh\n")
    (root / "init").write_text(_INIT)
    (root / "init").chmod(0o755)
    return kernel, root


def _add_modules(boot: Path, into: Path, release: str) -> None:
    """Copy the modules and what they need, with a list in the order of loading."""
    _run("depmod", "-b", boot, release, cwd=boot)
    into.mkdir()
    order: dict[str, None] = {}
    for module in MODULES:
        words = ("-d", boot, "-S", release, "--show-depends", module)
        for line in _run("modprobe", *words, cwd=boot).splitlines():
            kind, file = line.split()[:2]
            if kind == "insmod":
                order[Path(file).name] = None
                shutil.copy(file, into)
    (into / "order").write_text("".join(f"{name}\n" for name in order))
