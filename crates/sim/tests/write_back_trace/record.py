#!/usr/bin/env python3
"""Records when Linux writes a file back that grows at a steady rate. Run as root; see README.md.

    record.py FILE_SYSTEM OUTPUT.csv [--mb-per-s 11] [--seconds 65] [--expire 1000] [--wake-up 200] [--folder /var/tmp]

Makes a file system on a loop device with direct I/O, sets vm.dirty_expire_centisecs and vm.dirty_writeback_centisecs,
writes, samples /sys/block/loopN/stat and /proc/vmstat four times a second, and restores everything.
"""
import argparse, os, subprocess, tempfile, threading, time

parser = argparse.ArgumentParser()
parser.add_argument("file_system", choices=["ext4", "xfs"])
parser.add_argument("output")
parser.add_argument("--mb-per-s", type=float, default=11.0)
parser.add_argument("--seconds", type=float, default=65.0)
parser.add_argument("--expire", type=int, default=1000)
parser.add_argument("--wake-up", type=int, default=200)
parser.add_argument("--device-mb-per-s", type=float, help="throttle the device (blkio of cgroup v1)")
parser.add_argument("--folder", default="/var/tmp")
options = parser.parse_args()

VM = "/proc/sys/vm/"
THROTTLE = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"
INTERVAL = 0.25
CHUNK = 64 << 10


def read(path):
    with open(path) as file:
        return file.read()


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def vmstat():
    lines = dict(line.split() for line in read("/proc/vmstat").splitlines())
    return [int(lines[name]) for name in ("nr_dirty", "nr_writeback", "nr_dirtied", "nr_written")]


def write(path, stop):
    """Writes chunks at the rate, by the clock, so that a late one is made up for."""
    chunk, written, began = os.urandom(CHUNK), 0, time.monotonic()
    with open(path, "wb", buffering=0) as file:
        while not stop.is_set():
            due = (time.monotonic() - began) * options.mb_per_s * 1e6
            while written + CHUNK <= due:
                written += file.write(chunk)
            time.sleep(0.01)


settings = {"dirty_expire_centisecs": options.expire, "dirty_writeback_centisecs": options.wake_up}
before = {name: read(VM + name).strip() for name in settings}
folder = tempfile.mkdtemp(dir=options.folder)
image, mount = os.path.join(folder, "image"), os.path.join(folder, "mount")
device, is_mounted, stop = None, False, threading.Event()


def throttle(mb_per_s):
    number = read("/sys/block/%s/dev" % os.path.basename(device)).strip()
    with open(THROTTLE, "w") as file:
        file.write(f"{number} {int(mb_per_s * 1e6)}")


try:
    os.mkdir(mount)
    run("fallocate", "-l", str(int(options.mb_per_s * 1e6 * options.seconds) + (1 << 30)), image)
    device = run("losetup", "--find", "--show", "--direct-io=on", image)
    run("mkfs." + options.file_system, device)
    run("mount", device, mount)
    is_mounted = True
    os.sync()
    if options.device_mb_per_s:
        throttle(options.device_mb_per_s)
    for name, value in settings.items():
        with open(VM + name, "w") as file:
            file.write(str(value))
    stat = "/sys/block/%s/stat" % os.path.basename(device)
    writer = threading.Thread(target=write, args=(os.path.join(mount, "file"), stop))
    rows, began, sectors_before = [], time.monotonic(), int(read(stat).split()[6])
    writer.start()
    while (now := time.monotonic() - began) < options.seconds:
        written = (int(read(stat).split()[6]) - sectors_before) * 512
        rows.append([f"{now:.2f}", written] + vmstat())
        time.sleep(max(0.0, INTERVAL * len(rows) - (time.monotonic() - began)))
    stop.set()
    writer.join()
    limits = {name: read(VM + name).strip() for name in sorted(os.listdir(VM)) if name.startswith("dirty_")}
    with open(options.output, "w") as file:
        file.write(f"# {os.uname().sysname} {os.uname().release}, {options.file_system} on a loop device with direct I/O; "
                   f"a file written at {options.mb_per_s} MB/s"
                   + (f"; the device takes {options.device_mb_per_s:g} MB/s" if options.device_mb_per_s else "") + "\n")
        file.write("# " + ", ".join(f"{name} {value}" for name, value in limits.items()) + "\n")
        file.write("seconds,device_bytes,nr_dirty,nr_writeback,nr_dirtied,nr_written\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in rows)
finally:
    stop.set()
    if device and options.device_mb_per_s:
        throttle(0)
    for name, value in before.items():
        with open(VM + name, "w") as file:
            file.write(value)
    if is_mounted:
        run("umount", mount)
    if device:
        run("losetup", "--detach", device)
    subprocess.run(["rm", "-rf", folder])
