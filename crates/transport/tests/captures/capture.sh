#!/usr/bin/env bash
# Runs real servers and clients of iSCSI, NFSv3, SMB1 and SMB2/3, captures what they send, and writes counts.toml.
#
#   capture.sh [OUTPUT]      OUTPUT defaults to counts.toml beside this script
#
# Needs root on Debian 12 and the packages in PACKAGES. Everything runs in namespaces of its own: a private loopback,
# a private /run, private processes. Nothing outside changes, and whatever is left running dies with the namespace.
# CAPTURE_ONLY=iscsi, nfs3 or smb runs one protocol. CAPTURE_KEEP=DIRECTORY keeps the captures that fail their checks.
set -euo pipefail

readonly PACKAGES=(tgt libiscsi7 libiscsi-dev nfs-ganesha nfs-ganesha-vfs rpcbind libnfs13 libnfs-utils samba smbclient
    tshark ethtool iproute2 gcc python3)
readonly MTU_BYTES=1500
readonly SMALL_BYTES=256000
readonly FILE_BYTES=$((64 * 1024 * 1024))
readonly FILE_OPERATION_BYTES=262144
readonly ATTEMPTS=3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here

fail() {
    echo "capture.sh: $*" >&2
    exit 1
}

# ------------------------------------------------------------------------------------------ outside the namespaces

outside() {
    local output=${1:-$here/counts.toml} package cpus temporary child status=0
    [[ $EUID -eq 0 ]] || fail "must run as root, to make namespaces and to capture"
    for package in "${PACKAGES[@]}"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q ' installed$' ||
            fail "package $package is missing: apt-get install ${PACKAGES[*]}"
    done
    # Client and server share one processor: on two, both put segments on the loopback at once, and segments overtake
    # each other. tshark may use all processors.
    cpus=$(taskset --cpu-list --pid $$)
    export CAPTURE_CPUS=${cpus##*: }
    temporary=$(mktemp -d)
    unshare --net --mount --uts --pid --fork --mount-proc --kill-child \
        taskset --cpu-list "${CAPTURE_CPUS%%[-,]*}" bash "${BASH_SOURCE[0]}" --inside "$temporary" &
    child=$!
    # The child is the namespaces' first process, or its parent: when it dies, so does all that runs in them.
    # shellcheck disable=SC2064  # the values as they are now
    trap "kill -KILL $child 2>/dev/null || true; wait $child 2>/dev/null || true; rm -rf '$temporary'" EXIT
    trap 'exit 1' INT TERM HUP
    wait "$child" || status=$?
    # shellcheck disable=SC2064
    trap "rm -rf '$temporary'" EXIT
    [[ $status -eq 0 ]] || fail "stopped; $output is unchanged"
    mv "$temporary/counts.toml" "$output"
    echo "wrote $output" >&2
}

# ------------------------------------------------------------------------------------------- inside the namespaces

prepare() {
    hostname host # names that a protocol carries must not depend on the machine
    ip link set lo mtu "$MTU_BYTES" up
    # Without these, the loopback would show segments of up to 64 KiB that no wire carries.
    ethtool -K lo tso off gso off gro off 2>/dev/null
    # A tail loss probe repeats a segment that was not lost. Timers of a busy machine make it common.
    echo 0 >/proc/sys/net/ipv4/tcp_early_retrans
    mount -t tmpfs tmpfs /run
    mkdir -p /run/tgtd /run/rpcbind /run/ganesha /var/lib/nfs
    mount -t tmpfs tmpfs /var/lib/nfs
    mkdir -p /var/lib/nfs/ganesha
    head -c "$SMALL_BYTES" /dev/urandom >small
    head -c "$FILE_BYTES" /dev/urandom >file
    # -rdynamic: the client's own __snprintf_chk must be visible to libiscsi.
    gcc -O1 -Wall -Wextra -Werror -rdynamic -o iscsi_client "$here/iscsi_client.c" -liscsi
}

# wait_until WHAT COMMAND...: at most 20 s.
wait_until() {
    local what=$1 attempt
    shift
    for ((attempt = 0; attempt < 200; attempt++)); do
        if "$@"; then return; fi
        sleep 0.1
    done
    fail "$what: not ready after 20 s"
}

is_listening() {
    [[ -n $(ss -Hltn "sport = :$1") ]]
}

is_idle() {
    local before
    before=$(stat -c %s capture.pcapng)
    sleep 0.5
    [[ $before == $(stat -c %s capture.pcapng) ]]
}

# run_case PROTOCOL SETTING OPERATION BYTES CLIENT COMMAND...
#
# A capture that lacks packets fails its checks, and is made again up to ATTEMPTS times.
run_case() {
    local protocol=$1 setting=$2 operation=$3 bytes=$4 client=$5 attempt
    shift 5
    for ((attempt = 1; attempt <= ATTEMPTS; attempt++)); do
        echo "$protocol/$setting/$operation-$bytes" >&2
        capture "$@"
        if "$here/count_pdus.py" --capture capture.pcapng --protocol "$protocol" --setting "$setting" \
            --operation "$operation" --bytes "$bytes" --client "$client" >case.toml; then
            cat case.toml >>counts.toml
            return
        fi
        [[ -z ${CAPTURE_KEEP:-} ]] || cp capture.pcapng "$CAPTURE_KEEP/${protocol}_${setting}_$operation-$bytes.pcapng"
    done
    fail "$protocol/$setting/$operation-$bytes: $ATTEMPTS captures failed their checks"
}

# capture COMMAND...: all TCP packets while the command runs.
capture() {
    local tshark
    rm -f capture.pcapng copy
    taskset --cpu-list "$CAPTURE_CPUS" tshark -q -i lo -f tcp -B 256 -w capture.pcapng 2>tshark.log &
    tshark=$!
    wait_until tshark test -s capture.pcapng
    "$@" >client.log 2>&1 || {
        cat client.log >&2
        fail "the client failed"
    }
    wait_until "the capture" is_idle
    kill -INT "$tshark"
    wait "$tshark" || true
}

same() {
    cmp "$@" || fail "what arrived is not what was sent"
}

stop() {
    kill -KILL "$@" 2>/dev/null || true
    wait "$@" 2>/dev/null || true
}

# ------------------------------------------------------------------------------------------------------------ iSCSI

readonly TARGET=iqn.2000-01.example:target

# iscsi SETTING "TARGET_KEY=VALUE..." INITIAL_R2T IMMEDIATE_DATA HEADER_DIGEST HOST_MAX_RECV_DATA_SEGMENT_BYTES
iscsi() {
    local setting=$1 target_keys=$2 key server size operation_bytes
    shift 2
    tgtd -f >tgtd.log 2>&1 &
    server=$!
    wait_until tgtd is_listening 3260
    truncate -s "$FILE_BYTES" lun
    tgtadm --lld iscsi --op new --mode target --tid 1 -T "$TARGET"
    tgtadm --lld iscsi --op new --mode logicalunit --tid 1 --lun 1 -b "$PWD/lun" --bstype rdwr
    tgtadm --lld iscsi --op bind --mode target --tid 1 -I ALL
    for key in $target_keys; do
        tgtadm --lld iscsi --op update --mode target --tid 1 --name "${key%=*}" --value "${key#*=}"
    done
    for size in small file; do
        operation_bytes=$SMALL_BYTES
        [[ $size == small ]] || operation_bytes=$FILE_OPERATION_BYTES
        iscsi_case write "$size"
        same -n "$(stat -c %s "$size")" "$size" lun
        iscsi_case read "$size"
        same "$size" copy
    done
    stop "$server"
}

# Uses the variables of `iscsi`: the settings, the server's keys and the client's.
iscsi_case() {
    local operation=$1 source=$2 bytes
    bytes=$(stat -c %s "$source")
    [[ $operation == write ]] || source=copy
    run_case iscsi "$setting" "$operation" "$bytes" \
        "iscsi_client (libiscsi): SCSI commands of $operation_bytes bytes, one at a time" \
        ./iscsi_client 127.0.0.1:3260 "$TARGET" "$operation" "$source" "$bytes" "$operation_bytes" "${client_keys[@]}"
}

iscsi_settings() {
    local client_keys
    client_keys=(No Yes None 262144)
    iscsi defaults ""
    iscsi large-segments "MaxRecvDataSegmentLength=262144"
    iscsi unsolicited-data "MaxRecvDataSegmentLength=16384 InitialR2T=No"
    iscsi small-bursts "MaxRecvDataSegmentLength=65536 FirstBurstLength=16384 MaxBurstLength=65536"
    client_keys=(Yes No None 262144)
    iscsi no-immediate-data "ImmediateData=No InitialR2T=Yes"
    client_keys=(No Yes None 8192)
    iscsi small-segments "MaxRecvDataSegmentLength=8192"
    client_keys=(No Yes CRC32C 262144)
    iscsi header-digest "HeaderDigest=CRC32C"
}

# ------------------------------------------------------------------------------------------------------------ NFSv3

# nfs SETTING "LIMITS OF THE EXPORT"
nfs() {
    local setting=$1 limits=$2 server size
    mkdir -p export
    chmod 777 export
    rm -f export/*
    cat >ganesha.conf <<END
NFS_CORE_PARAM {
    Protocols = 3;
    MNT_Port = 20048;
    Enable_NLM = false;
    Enable_RQUOTA = false;
    mount_path_pseudo = true;
}
EXPORT {
    Export_Id = 1;
    Path = $PWD/export;
    Pseudo = /export;
    Protocols = 3;
    Transports = TCP;
    Access_Type = RW;
    Squash = No_Root_Squash;
    SecType = sys;
    $limits
    FSAL { Name = VFS; }
}
END
    ganesha.nfsd -F -f ganesha.conf -L "$PWD/ganesha.log" -N NIV_EVENT -p "$PWD/ganesha.pid" &
    server=$!
    wait_until ganesha.nfsd is_listening 2049
    wait_until "the mount service" is_listening 20048
    for size in small file; do
        run_case nfs3 "$setting" write "$(stat -c %s "$size")" "nfs-cp (libnfs)" \
            nfs-cp "$size" "nfs://127.0.0.1/export/$size"
        same "$size" "export/$size"
        run_case nfs3 "$setting" read "$(stat -c %s "$size")" "nfs-cp (libnfs)" \
            nfs-cp "nfs://127.0.0.1/export/$size" copy
        same "$size" copy
    done
    stop "$server"
}

nfs_settings() {
    rpcbind -f -w &
    wait_until rpcbind is_listening 111
    nfs defaults ""
    nfs transfers-of-32-kib "MaxRead = 32768; PrefRead = 32768; MaxWrite = 32768; PrefWrite = 32768;"
}

# -------------------------------------------------------------------------------------------------------------- SMB

# smb SETTING DIALECT "FURTHER SETTINGS OF THE SERVER"
smb() {
    local setting=$1 dialect=$2 further=$3 server size
    local client=(smbclient //127.0.0.1/share --no-pass --configfile=smb.conf -m "$dialect" -c)
    rm -rf share smb
    mkdir -p share smb
    cat >smb.conf <<END
[global]
    netbios name = server
    workgroup = WORKGROUP
    server role = standalone server
    private dir = $PWD/smb
    state directory = $PWD/smb
    cache directory = $PWD/smb
    lock directory = $PWD/smb
    pid directory = $PWD/smb
    ncalrpc dir = $PWD/smb/ncalrpc
    log file = $PWD/smb/log
    interfaces = lo
    bind interfaces only = yes
    smb ports = 445
    server min protocol = NT1
    client min protocol = NT1
    server signing = disabled
    client signing = disabled
    server smb encrypt = off
    client smb encrypt = off
    map to guest = Bad User
    # Asynchronous reads and writes give interim responses when they take long, which depends on the machine.
    aio read size = 0
    aio write size = 0
    load printers = no
    disable spoolss = yes
    $further
[share]
    path = $PWD/share
    guest ok = yes
    read only = no
    force user = root
END
    smbd --foreground --no-process-group --configfile=smb.conf >smbd.log 2>&1 &
    server=$!
    wait_until smbd is_listening 445
    for size in small file; do
        run_case smb "$setting" write "$(stat -c %s "$size")" "smbclient put" "${client[@]}" "put $size"
        same "$size" "share/$size"
        run_case smb "$setting" read "$(stat -c %s "$size")" "smbclient get" "${client[@]}" "get $size copy"
        same "$size" copy
    done
    stop "$server"
}

smb_settings() {
    smb smb1 NT1 ""
    smb smb1-without-large-transfers NT1 "large readwrite = no"
    smb smb2.0.2 SMB2_02 ""
    smb smb2.1 SMB2_10 ""
    smb smb2.1-transfers-of-1-mib SMB2_10 "smb2 max read = 1048576
    smb2 max write = 1048576
    smb2 max trans = 1048576"
    smb smb3.1.1 SMB3_11 ""
}

# ----------------------------------------------------------------------------------------------------------- output

version() {
    dpkg-query -W -f='${Version}' "$1"
}

print_header() {
    cat <<END
# PDUs and bytes of real clients and servers. Written by capture.sh; README.md says what each field means.
# Inside \`tcp\`, stream_bytes is exact. The other numbers of \`tcp\` depend on timing and on the loopback's MTU.

[tools]
tgt = "$(version tgt)"
libiscsi = "$(version libiscsi7)"
nfs-ganesha = "$(version nfs-ganesha)"
libnfs = "$(version libnfs13)"
samba = "$(version samba)"
smbclient = "$(version smbclient)"
tshark = "$(version tshark)"
linux = "$(uname -r | grep -o '^[0-9]*\.[0-9]*')"

[loopback]
mtu_bytes = $MTU_BYTES
segmentation_offload = false

END
}

inside() {
    cd "$1"
    prepare
    print_header >counts.toml
    local protocol=${CAPTURE_ONLY:-all}
    [[ $protocol =~ ^(all|iscsi)$ ]] && iscsi_settings
    [[ $protocol =~ ^(all|nfs3)$ ]] && nfs_settings
    [[ $protocol =~ ^(all|smb)$ ]] && smb_settings
    python3 -c 'import tomllib; tomllib.load(open("counts.toml", "rb"))' || fail "counts.toml is no TOML"
}

if [[ ${1:-} == --inside ]]; then
    inside "$2"
else
    outside "$@"
fi
