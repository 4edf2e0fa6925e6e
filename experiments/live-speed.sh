#!/bin/sh
# How fast a live array is beside fio on files of the same kind, O_DIRECT, on the same disk, one after the other.
#
#   experiments/live-speed.sh [FOLDER]
#
# FOLDER, by default a new one in /var/tmp, must be on the disk in question (not tmpfs); about 6 GiB are used there, and
# given back. STREWN is the program (target/release/strewn), SECONDS_EACH how long each measurement takes (10). LOG is a
# blank device, or a file of zeros (truncate -s 160M), for the array's log in the place of a file beside the spindles.
#
# (a) sequential writes of 1 MiB, 4 outstanding: the array's host bytes and its bytes with parity, beside fio that writes
#     to as many files as there are spindles at once;
# (b) random writes of 4 KiB that are safe when they are answered: the array with 32 outstanding and with 1, beside fio
#     with fdatasync after each, 32 jobs and 1, on one file;
# (c) random reads of 4 KiB, 32 outstanding: the array beside fio over all files at once, iodepth 32 in all.
set -eu

strewn=${STREWN:-target/release/strewn}
seconds=${SECONDS_EACH:-10}
data=${DATA_SPINDLES:-6}
parity=2
spindles=$((data + parity))
folder=${1:-$(mktemp -d /var/tmp/strewn-live-speed.XXXXXX)}
mkdir -p "$folder"
for name in bare array; do
    [ ! -e "$folder/$name" ] || { echo "$folder/$name exists, and would be deleted: give another folder" >&2; exit 1; }
done
mkdir "$folder/bare"
trap 'rm -rf "$folder/bare" "$folder/array"' EXIT
df -h "$folder" | tail -1
uname -srm

# A figure of the last segment but the first: the first has the beginning in it.
figure() { jq -r "[.arrays[0].segments[1:][] | $1] | add / length" "$2"; }
run() { "$strewn" array run "$folder/array" --segments 3 --segment "${seconds}s" --json "$@"; }
fio_run() {
    fio --name=bare --group_reporting --direct=1 --time_based --runtime="$seconds" --output-format=json \
        --ioengine=io_uring "$@"
}
files=""
i=0
while [ $i -lt $spindles ]; do
    fallocate -l 512MiB "$folder/bare/$i"
    files="$files${files:+:}$folder/bare/$i"
    i=$((i + 1))
done
# What was never written reads as zeros without the disk.
fio --name=fill --direct=1 --ioengine=io_uring --iodepth=4 --bs=1M --rw=write --filename="$files" --filesize=512MiB \
    --size=$((512 * spindles))MiB --file_service_type=sequential >/dev/null

"$strewn" array create "$folder/array" --layout raid-dp --data-spindles "$data" --spindle-size 512MiB \
    --lun-size 1GiB --preallocate ${LOG:+--log "$LOG"}

fio_run --rw=write --bs=1M --iodepth=$((2 * spindles)) --filename="$files" --filesize=512MiB \
    --file_service_type=roundrobin >"$folder/fio-a.json"
run --sequential-write 1MiB --outstanding 4 >"$folder/a.json"
fio_run --rw=randwrite --bs=4k --iodepth=1 --fdatasync=1 --numjobs=32 --filename="$folder/bare/0" \
    --filesize=512MiB >"$folder/fio-b32.json"
run --random-write 4KiB --outstanding 32 >"$folder/b32.json"
fio_run --rw=randwrite --bs=4k --iodepth=1 --fdatasync=1 --filename="$folder/bare/0" --filesize=512MiB \
    >"$folder/fio-b1.json"
run --random-write 4KiB --outstanding 1 >"$folder/b1.json"
fio_run --rw=randread --bs=4k --iodepth=32 --filename="$files" --filesize=512MiB --file_service_type=random \
    --norandommap >"$folder/fio-c.json"
run --random-read 4KiB --outstanding 32 >"$folder/c.json"

mib=1048576
fio_a=$(jq ".jobs[0].write.bw_bytes / $mib" "$folder/fio-a.json")
a=$(figure .mib_per_s "$folder/a.json")
printf '\n%-58s %12s %12s %8s\n' "" array fio "array/fio"
row() { printf '%-58s %12.1f %12.1f %7.0f%%\n' "$1" "$2" "$3" "$(echo "100 * $2 / $3" | bc -l)"; }
row "(a) 1 MiB sequential writes, host MiB/s" "$a" "$fio_a"
row "(a) the same with parity, MiB/s" "$(echo "$a * $spindles / $data" | bc -l)" "$fio_a"
row "(b) 4 KiB random writes, 32 outstanding, IOPS" "$(figure .iops "$folder/b32.json")" \
    "$(jq '.jobs[0].write.iops' "$folder/fio-b32.json")"
row "(b) 4 KiB random writes, 1 outstanding, IOPS" "$(figure .iops "$folder/b1.json")" \
    "$(jq '.jobs[0].write.iops' "$folder/fio-b1.json")"
row "(c) 4 KiB random reads, 32 outstanding, IOPS" "$(figure .iops "$folder/c.json")" \
    "$(jq '.jobs[0].read.iops' "$folder/fio-c.json")"
echo
for one in a b32 b1 c; do
    echo "$one: controller $(figure .utilization.controller "$folder/$one.json"), spindles $(figure \
        .utilization.spindles "$folder/$one.json"), log $(jq '.real_spindles.log[-1].utilization' \
        "$folder/$one.json"), reads of spindles for each operation $(figure \
        .spindle_commands.reads_per_host_op "$folder/$one.json")"
done
echo "What fio and the array said: $folder"
