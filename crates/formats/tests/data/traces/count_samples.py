#!/usr/bin/env python3
"""Counts what the samples beside this script hold, by parsers of its own, for the tests to compare with.

    python3 count_samples.py > counts.tsv     # needs the program zstd

It shares nothing with Strewn: it was written from the descriptions of the formats, and keeps everything in memory.
Responses of blktrace are those from issue to completion, matched by device and sector.
"""

import gzip
import pathlib
import struct
import subprocess

HERE = pathlib.Path(__file__).parent
COLUMNS = "file operations reads bytes volumes footprint rewritten trims empty last_us responses response_us".split()


def load(name):
    path = HERE / name
    if name.endswith(".zst"):
        return subprocess.run(["zstd", "-dqc", path], stdout=subprocess.PIPE, check=True).stdout
    return gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()


class Counts:
    def __init__(self):
        self.requests, self.trims, self.empty, self.responses = [], 0, 0, []

    def request(self, at_ns, volume, offset, length, writes):
        if length == 0:
            self.empty += 1
        else:
            self.requests.append((at_ns, volume, offset, length, writes))

    def row(self, name):
        touched, written, rewritten = set(), set(), 0
        for _, volume, offset, length, writes in self.requests:
            for block in range(offset // 4096, (offset + length - 1) // 4096 + 1):
                touched.add((volume, block))
                if writes:
                    rewritten += (volume, block) in written
                    written.add((volume, block))
        times = [request[0] for request in self.requests]
        values = [
            name,
            len(self.requests),
            sum(not request[4] for request in self.requests),
            sum(request[3] for request in self.requests),
            len({request[1] for request in self.requests}),
            len(touched),
            rewritten,
            self.trims,
            self.empty,
            (times[-1] - times[0]) // 1_000,
            len(self.responses),
            sum(self.responses) // 1_000,
        ]
        return "\t".join(map(str, values))


def alibaba(data):
    counts = Counts()
    for line in data.decode().splitlines():
        volume, opcode, offset, length, stamp = line.split(",")
        counts.request(1_000 * int(stamp), volume, int(offset), int(length), opcode == "W")
    return counts


def tencent(data):
    """The requests of a second are spread evenly over it."""
    counts, by_second = Counts(), {}
    for line in data.decode().splitlines():
        stamp, offset, size, kind, volume = line.split(",")
        by_second.setdefault(int(stamp), []).append((volume, 512 * int(offset), 512 * int(size), kind == "1"))
    for second, requests in by_second.items():
        for number, request in enumerate(requests):
            counts.request(second * 10**9 + number * 10**9 // len(requests), *request)
    return counts


def msr(data):
    counts = Counts()
    for line in data.decode().splitlines():
        stamp, _, disk, kind, offset, size, response = line.split(",")
        counts.request(100 * int(stamp), disk, int(offset), int(size), kind == "Write")
        counts.responses.append(100 * int(response))
    return counts


def vscsi(data, version):
    counts = Counts()
    layout = struct.Struct("<IIIHHQQ" if version == 1 else "<HHIIIQQQ")
    for fields in layout.iter_unpack(data):
        if version == 1:
            _, length, _, command, _, block, micros = fields
        else:
            command, _, _, length, _, block, micros, _ = fields
        if command == 0x42:
            counts.trims += 1
        elif command in (0x08, 0x28, 0x88, 0xA8, 0x0A, 0x2A, 0x8A, 0xAA):
            counts.request(1_000 * micros, 0, 512 * block, length, command & 2 == 2)
    return counts


def blktrace(data, order):
    counts, at, issued = Counts(), 0, {}
    while at < len(data):
        _, _, time, sector, length, what, _, device, _, _, more = struct.unpack_from(order + "IIQQIIIIIHH", data, at)
        at += 48 + more
        category, action = what >> 16, what & 0xFF
        if category & 1 << 10:
            continue
        if action == 7:
            if category & 1 << 13:
                counts.trims += 1
            elif length:
                counts.request(time, device, 512 * sector, length, bool(category & 2))
                issued.setdefault((device, sector), []).append(time)
        elif action == 8 and not category & 1 << 13 and length:
            waiting = issued.get((device, sector))
            if waiting:
                # The later of two at one place is the one that is known.
                counts.responses.append(time - waiting[-1])
                waiting.clear()
            for place in [key for key in issued if key[0] == device and sector < key[1] < sector + length // 512]:
                for begun in issued[place][-1:]:
                    counts.responses.append(time - begun)
                issued[place].clear()
    return counts


def iolog(data):
    counts = Counts()
    first, *rows = data.decode().splitlines()
    version, now = int(first.split()[2]), 0
    for row in rows:
        words = row.split()
        if version == 3:
            now = 1_000 * int(words.pop(0))
        name, action = words[0], words[1]
        if action == "wait":
            now = 10**6 * int(words[2])
        elif action == "trim":
            counts.trims += 1
        elif action in ("read", "write"):
            counts.request(now, name, int(words[2]), int(words[3]), action == "write")
    return counts


def main():
    print("\t".join(COLUMNS))
    for name, count in [
        ("alibaba.csv.zst", alibaba),
        ("tencent.csv.gz", tencent),
        ("msr.csv.gz", msr),
        ("vscsi1.bin.zst", lambda data: vscsi(data, 1)),
        ("vscsi2.bin.gz", lambda data: vscsi(data, 2)),
        ("blktrace-little.bin.gz", lambda data: blktrace(data, "<")),
        ("blktrace-big.bin.zst", lambda data: blktrace(data, ">")),
        ("iolog2.log.gz", iolog),
        ("iolog3.log.gz", iolog),
    ]:
        print(count(load(name)).row(name))


if __name__ == "__main__":
    main()
