#!/usr/bin/env python3
"""Writes the samples of block traces beside this script: made-up requests, 3,000 or so in each format.

    python3 make_samples.py     # seed 20261128; needs the program zstd

The requests are drawn, and are of no real system: a few volumes, of which one is hot; runs of sequential requests
among random ones; bursts; some requests of no bytes, and discards where a format has them.
"""

import gzip
import pathlib
import random
import struct
import subprocess

SEED = 20261128
HERE = pathlib.Path(__file__).parent


def requests(rng, count, volumes, unit):
    """Yields (microsecond, volume, sector, sectors, writes) in the order of time. Times are multiples of unit."""
    at = 0
    ends = {volume: 0 for volume in volumes}
    for number in range(count):
        # Bursts of requests, and pauses between them.
        at += rng.choice([0, 0, 20, 150, 900]) if rng.random() < 0.95 else rng.randrange(200_000)
        volume = volumes[0] if rng.random() < 0.5 else rng.choice(volumes)
        if rng.random() < 0.4:
            sector = ends[volume]
        elif rng.random() < 0.5:
            sector = 8 * rng.randrange(1_000)
        else:
            sector = 8 * rng.randrange(20_000) + rng.choice([0, 0, 0, 3])
        sectors = rng.choice([1, 8, 8, 8, 16, 32, 128])
        ends[volume] = sector + sectors
        yield at // unit * unit, volume, sector, sectors, rng.random() < 0.6


def store(name, data):
    path = HERE / name
    if name.endswith(".gz"):
        # Without a time, so that the same requests make the same file.
        path.write_bytes(gzip.compress(data, 9, mtime=0))
    elif name.endswith(".zst"):
        packed = subprocess.run(["zstd", "-19", "-q", "-c", "--check"], input=data, stdout=subprocess.PIPE, check=True)
        path.write_bytes(packed.stdout)
    else:
        path.write_bytes(data)


def lines(rows):
    return "".join(row + "\n" for row in rows).encode()


def alibaba(rng):
    rows = []
    for at, volume, sector, sectors, writes in requests(rng, 3_000, [3, 17, 42, 651], 1):
        length = 0 if rng.random() < 0.01 else 512 * sectors
        rows.append(f"{volume},{'W' if writes else 'R'},{512 * sector},{length},{1577808000000626 + at}")
    store("alibaba.csv.zst", lines(rows))
    sizes = {3: 100, 17: 128, 42: 96, 500: 40, 651: 200}
    store("device_size.csv", lines(f"{volume},{mib << 20}" for volume, mib in sizes.items()))


def tencent(rng):
    rows = []
    for at, volume, sector, sectors, writes in requests(rng, 3_000, [1063, 1283, 4029], 1):
        rows.append(f"{1538323200 + at // 1_000_000},{sector},{sectors},{int(writes)},{volume}")
    store("tencent.csv.gz", lines(rows))


def msr(rng):
    rows = []
    for at, volume, sector, sectors, writes in requests(rng, 3_000, [0, 1], 1):
        kind = "Write" if writes else "Read"
        response = int(rng.expovariate(1 / 40_000)) + 500
        rows.append(f"{128166372003061629 + 10 * at},sample,{volume},{kind},{512 * sector},{512 * sectors},{response}")
    store("msr.csv.gz", lines(rows))


def vscsi(rng, version):
    data = bytearray()
    for number, (at, _, sector, sectors, writes) in enumerate(requests(rng, 3_000, [0], 1)):
        draw = rng.random()
        if draw < 0.01:
            command = rng.choice([0x00, 0x12, 0x35])
        elif draw < 0.02:
            command = 0x42
        else:
            command = rng.choice([0x0a, 0x2a, 0x8a] if writes else [0x08, 0x28, 0x88])
        length = 512 * sectors
        if version == 1:
            data += struct.pack("<3I2H2Q", number, length, 1, command, 0x0100, sector, 7_000_000 + at)
        else:
            data += struct.pack("<2H3I3Q", command, 0x0200, number, length, 1, sector, 7_000_000 + at, 1_000)
    store("vscsi1.bin.zst" if version == 1 else "vscsi2.bin.gz", bytes(data))


def blktrace(rng, order):
    """Events as the kernel writes them: queued, issued and completed, with notes, discards and flushes between."""
    events = []
    act = {"queue": (1, 4), "issue": (7, 6), "complete": (8, 7)}

    def event(at, action, category, device, sector, length, payload=b""):
        events.append((at, action | category << 16, device, sector, length, payload))

    event(0, 0, 1 << 10, 0, 0, 0, b"sample\0\0")
    for at, volume, sector, sectors, writes in requests(rng, 1_200, [8 << 20, (8 << 20) | 16], 1):
        at = 1_000 * at + 5_000
        draw = rng.random()
        rwbs = 1 << 1 if writes else 1 << 0
        length = 512 * sectors
        if draw < 0.02:
            rwbs, length = (1 << 1) | (1 << 13), 1 << 20
        elif draw < 0.04:
            rwbs, length = (1 << 1) | (1 << 2), 0
        waits = rng.randrange(1_000, 20_000)
        takes = rng.randrange(50_000, 9_000_000)
        for name, later in [("queue", 0), ("issue", waits), ("complete", waits + takes)]:
            action, category = act[name]
            # Events of a control group carry a bit and its number.
            marked, payload = (0x100, b"\x01\0\0\0\0\0\0\0") if rng.random() < 0.1 else (0, b"")
            event(at + later, action | marked, rwbs | 1 << category, volume, sector, length, payload)
    events.sort(key=lambda one: one[0])
    data = bytearray()
    for number, (at, what, device, sector, length, payload) in enumerate(events):
        data += struct.pack(
            order + "2I2Q5I2H", 0x65617407, number, at, sector, length, what, 1, device, 0, 0, len(payload)
        )
        data += payload
    store("blktrace-little.bin.gz" if order == "<" else "blktrace-big.bin.zst", bytes(data))


def iolog(rng, version):
    files = ["/dev/sample0", "/dev/sample1"]
    rows = [f"fio version {version} iolog"]
    stamp = (lambda at: f"{at} ") if version == 3 else (lambda at: "")
    rows += [f"{stamp(0)}{name} {action}" for action in ["add", "open"] for name in files]
    now = 0
    for at, volume, sector, sectors, writes in requests(rng, 3_000, [0, 1], 1_000 if version == 2 else 1):
        if version == 2 and at > now:
            rows.append(f"{files[volume]} wait {at // 1_000} 0")
        now = at
        draw = rng.random()
        action = "trim" if draw < 0.03 else "write" if writes else "read"
        if draw > 0.99:
            rows.append(f"{stamp(at)}{files[volume]} sync 0 0")
        else:
            rows.append(f"{stamp(at)}{files[volume]} {action} {512 * sector} {512 * sectors}")
    rows += [f"{stamp(now)}{name} close" for name in files]
    store(f"iolog{version}.log.gz", lines(rows))


def main():
    rng = random.Random(SEED)
    alibaba(rng)
    tencent(rng)
    msr(rng)
    vscsi(rng, 1)
    vscsi(rng, 2)
    blktrace(rng, "<")
    blktrace(rng, ">")
    iolog(rng, 2)
    iolog(rng, 3)


if __name__ == "__main__":
    main()
