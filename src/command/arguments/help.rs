//! What the help of each command says below its options: what the command prints, and examples.
//!
//! `-h` fits a screen: the options that most people need, what is printed, three examples. `--help` and the manual add
//! the other options, the details of each, further examples and the exit codes.

use clap::Command;

/// What the help of a command says below its options.
struct Help {
    /// The words of the command after `strewn`.
    command: &'static str,
    /// What it prints and writes, in sentences. Broken by hand: help is not wrapped.
    prints: &'static str,
    examples: [&'static str; 3],
    /// What only `--help` has: further examples, notes, exit codes.
    details: &'static [&'static str],
}

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed: an operational law violated, a simulation stuck, a file that could not be written
  2    bad input, nothing written: an invalid scenario or flag, an output directory that is not
       empty, too little memory
  3    failures exceeded an array's parity: its complete segments are printed and written, marked as
       partial, with the data lost
  130  stopped by Ctrl-C, SIGTERM or SIGHUP: complete segments are printed and written, marked as
       partial; a second signal ends the program at once";

const BENCH_EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed
  2    bad input: an invalid scenario or flag, too little memory
  130  stopped by Ctrl-C, SIGTERM or SIGHUP";

const REPORT_EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed: a file could not be written
  2    bad input, nothing written: missing or unreadable results, runs without a common array, an
       output directory that is not empty";

const WRITE_EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed: a file could not be written
  2    bad input, nothing written: an invalid flag, a file that exists";

const FILE_EXIT_CODES: &str = "\
Exit codes:
  0    everything was looked at
  1    some of it was not, as said on standard error; or a file could not be written
  2    bad input, nothing written
  130  stopped by Ctrl-C, SIGTERM or SIGHUP: what was looked at is printed and written";

const SPINDLE_EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed: a drive could not be read or fitted, or a file could not be written
  2    bad input, nothing written: an invalid profile, trace or flag, an output that exists, a device
       that does not rotate
  130  stopped by Ctrl-C, SIGTERM or SIGHUP: nothing was written";

const TRACE_EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed: a file could not be written
  2    bad input, nothing written: a file that is no trace, a line of it that is no operation, a
       volume that it does not have, an output directory that is not empty
  130  stopped by Ctrl-C, SIGTERM or SIGHUP: nothing was written";

const ARRAY_EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed: a device could not be read or written, or data are lost or damaged
  2    bad input, nothing written: no array, an array that is in use or degraded, a device that is
       not empty, sizes that do not fit, a log that has lost records";

const DEGRADED: &str = "\
While the array is served, the process that serves it makes the change, and clients notice nothing.";

/// One for each command; a test finds any that is missing.
const HELP: &[Help] = &[
    Help {
        command: "",
        prints: "\
Tables and messages go to the terminal; --out DIR adds a report, charts and files of figures.
`strewn COMMAND -h` is short, `strewn COMMAND --help` is complete.",
        examples: [
            "strewn run scenarios/making-sense-of-wafl-4.toml --quick",
            "strewn run scenarios/making-sense-of-wafl-4.toml --out results   # results/report.html",
            "strewn new --list   # scenarios of your own start here",
        ],
        details: &[EXIT_CODES],
    },
    Help {
        command: "run",
        prints: "\
Prints a table for each array, with a row for each segment: IOPS, response times, spindle commands;
then where a loss came from. With --out, report.html has it all, with charts and a map.",
        examples: [
            "strewn run scenarios/making-sense-of-wafl-4.toml --quick",
            "strewn run scenarios/making-sense-of-wafl-4.toml --out results",
            "strewn run scenarios/making-sense-of-wafl-4.toml --quick --set policy=first-fit",
        ],
        details: &[
            "\
Further examples:
  strewn run scenarios/making-sense-of-wafl-4.toml --quick --replicates 8
  strewn run scenarios/rebuild.toml --quick --segments 5
  strewn run scenarios/rebuild.toml --save saved
  strewn run --resume saved --out results   # once it was stopped
  strewn run scenarios/making-sense-of-wafl-4.toml --quick --json | jq '.arrays[].segments[].iops'
  sed 's/^seed = 1$/seed = 2/' my.toml | strewn run -
  strewn run scenarios/making-sense-of-wafl-4.toml --access-spec iometer.icf:'4 KiB reads'
  strewn run scenarios/making-sense-of-wafl-4.toml --trace disk0.csv.gz --wrap
  strewn run scenarios/making-sense-of-wafl-4.toml --trace io_traces.csv.zst \
    --trace-volumes hottest:8 --trace-sizes device_size.csv",
            EXIT_CODES,
        ],
    },
    Help {
        command: "new",
        prints: "\
Writes a complete scenario with comments, which runs as it is and which you then edit. Prints the
name of the file and the command that runs it. Files are never overwritten without --force.",
        examples: [
            "strewn new --list",
            "strewn new my-array && strewn run my-array.toml --quick",
            "strewn new --from raid-5 --out my-raid.toml",
        ],
        details: &[
            "\
Further examples:
  strewn new my-filer --from fas2050
  strewn new --from aging --out - | strewn run - --quick",
            WRITE_EXIT_CODES,
        ],
    },
    Help {
        command: "calibrate",
        prints: "\
Prints the values of the fitted parameters and the error of each published figure that they were
fitted to, and writes the values into the scenario's file.",
        examples: [
            "strewn calibrate scenarios/making-sense-of-wafl-4.toml --dry-run",
            "strewn calibrate my-scenario.toml",
            "strewn calibrate my-scenario.toml --jobs 2",
        ],
        details: &[EXIT_CODES],
    },
    Help {
        command: "sensitivity",
        prints: "\
Prints a table: what each change of a seed, a fitted row or an unpublished constant does to the
predictions. Writes it to SCENARIO.sensitivity.toml, from which `strewn run` draws bands.",
        examples: [
            "strewn sensitivity scenarios/making-sense-of-wafl-4.toml --quick --dry-run",
            "strewn sensitivity my-scenario.toml --quick",
            "strewn sensitivity my-scenario.toml --jobs 2",
        ],
        details: &[EXIT_CODES],
    },
    Help {
        command: "bench",
        prints: "\
Prints the speed of each array's simulation, its memory, how long the whole run will take, and in
which part of the program the time goes.",
        examples: [
            "strewn bench scenarios/making-sense-of-wafl-4.toml",
            "strewn bench scenarios/making-sense-of-wafl-4.toml --quick",
            "strewn bench scenarios/making-sense-of-wafl-4.toml --array FAS2050 --seconds 20 --json",
        ],
        details: &[
            BENCH_EXIT_CODES,
            "Run nothing else meanwhile: programs on other cores slow memory down.",
        ],
    },
    Help {
        command: "playground",
        prints: "\
Writes one HTML file. It opens from disk or from any web server, and needs no network. Prints the
name and the size of the file.",
        examples: [
            "strewn playground --out playground.html",
            "strewn playground --out playground.html --force",
            "strewn playground --out playground.html --module strewn_playground.wasm",
        ],
        details: &[
            "\
In a clone of Strewn's repository this builds the simulation as WebAssembly, which takes up to two
minutes the first time.",
            WRITE_EXIT_CODES,
        ],
    },
    Help {
        command: "report",
        prints: "Prints the names of the files that it writes: report.html, charts, the table of segments.",
        examples: [
            "strewn report results",
            "strewn report results --png --chart-size 1600x900 --theme dark",
            "strewn report results --table markdown --columns iops,p99_ms,layout_score",
        ],
        details: &[REPORT_EXIT_CODES],
    },
    Help {
        command: "compare",
        prints: "\
Prints what the runs set differently, and for each array a table of the figures of every run with
the difference from the first, in percent.",
        examples: [
            "strewn compare results other-results",
            "strewn compare seed-1 seed-2 seed-3 --out comparison",
            "strewn compare results other-results --json",
        ],
        details: &[REPORT_EXIT_CODES],
    },
    Help {
        command: "claims",
        prints: "\
Prints Markdown: each claim of a document with its verdict (reproduced, contradicted, not testable,
without results), the simulated figure and the bounds that the claim's words set.",
        examples: [
            "strewn claims results/* > claims.md",
            "strewn claims results/* --claims my-claims.toml",
            "strewn claims --check results/*   # fails if a verdict is not the one stated",
        ],
        details: &[
            "\
To run every scenario that claims need:
  for name in $(strewn claims --list); do strewn run scenarios/$name.toml --out results/$name; done",
            REPORT_EXIT_CODES,
        ],
    },
    Help {
        command: "sweep",
        prints: "\
Prints a table with a row for each setting, with means over seeds and 95 % intervals. DIR has it as
report.html, with charts, and the results of every run.",
        examples: [
            "strewn sweep study.toml --out results --dry-run   # what it will take",
            "strewn sweep study.toml --out results",
            "strewn sweep --resume results   # after Ctrl-C, or a crash",
        ],
        details: &[
            "\
Further example:
  strewn sweep study.toml --out results --slurm && sbatch results/sweep.sbatch",
            EXIT_CODES,
        ],
    },
    Help {
        command: "study",
        prints: "\
Prints the table of each study, as `strewn sweep` does. DIR/NAME/report.html has it with its charts.",
        examples: [
            "strewn study --list",
            "strewn study alignment --out results",
            "strewn study --all --out results --pages docs/studies",
        ],
        details: &[EXIT_CODES],
    },
    Help {
        command: "sweep-point",
        prints: "\
Prints how many runs it did and how many were there already. `strewn sweep --resume DIR` then makes
the table and the report of all runs.",
        examples: [
            "strewn sweep-point results --index 7",
            "strewn sweep-point results --index 0 --runs-each 4",
            "SLURM_ARRAY_TASK_ID=7 strewn sweep-point results",
        ],
        details: &[EXIT_CODES],
    },
    Help {
        command: "file",
        prints: "\
Prints a row for each file: its extents, its layout score, spindle commands per request, and IOPS on
a drive, now and if it were contiguous; then the totals.",
        examples: [
            "strewn file /var/lib/libvirt/images/*.qcow2",
            "strewn file database.ibd --read 1MiB --sequential --on nearline-7200-16tb",
            "strewn file /srv --top 20 --nice",
        ],
        details: &[
            "\
Further examples:
  strewn file vm.raw --json > before.json && btrfs filesystem defragment vm.raw
  strewn file vm.raw --compare before.json
  strewn file vm.raw --predict \"2 GiB of 8 KiB random writes\"
  strewn file vm.raw --every \"1 h\" --append history.csv",
            FILE_EXIT_CODES,
        ],
    },
    Help {
        command: "spindle",
        prints: "\
Prints a drive's geometry, seek curve, zones and IOPS; with --closed-loop or --replay, its IOPS and
response times; with --fit, what was fitted; with --list, the drives that ship.",
        examples: [
            "strewn spindle --list",
            "strewn spindle seagate-cheetah-15k5-st3146855fc --closed-loop 16 --scheduler sptf",
            "strewn spindle --fit /dev/sdb --out mine.toml",
        ],
        details: &[
            "\
Further examples:
  strewn spindle --print nearline-7200-16tb > mine.toml
  strewn spindle --out mine.toml --from-datasheet \
    'rpm=10000 capacity=\"600 GB\" seek=\"3.7 ms\" outer=\"204 MB/s\" inner=\"125 MB/s\"'",
            SPINDLE_EXIT_CODES,
        ],
    },
    Help {
        command: "trace",
        prints: "\
Prints the format, volumes, rates, sizes, footprint, order and bursts of a trace, what was left out
of it, and its own response times if it has some. With --out, also charts over time and by size.",
        examples: [
            "strewn trace io_traces.csv.zst",
            "strewn trace web_0.csv.gz --out web_0 --png",
            "strewn trace io_traces.csv.zst --volumes hottest:8 --json | jq .footprint",
        ],
        details: &[
            "\
Further examples:
  strewn trace sda.blktrace.0 --trace-action queued
  strewn run scenario.toml --trace io_traces.csv.zst --trace-volumes hottest:8   # replays them",
            TRACE_EXIT_CODES,
        ],
    },
    Help {
        command: "array",
        prints: "Prints what was done, one line each. `strewn array status DIR` shows an array's condition.",
        examples: [
            "strewn array create a --layout raid-dp --data-spindles 6 --spindle-size 512MiB --lun-size 1GiB",
            "strewn array serve a --socket /tmp/a.sock",
            "strewn array status a",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array create",
        prints: "Prints the identifier of the array, its layout and the size of its LUN.",
        examples: [
            "strewn array create a --layout raid-dp --data-spindles 6 --spindle-size 512MiB --lun-size 1GiB",
            "strewn array create a --layout raid-5 --spindles /dev/sdb,/dev/sdc,/dev/sdd --lun-size 1GiB",
            "strewn array create a --layout vraid-5 --data-spindles 8 --spindle-size 1GiB --lun-size 2GiB",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array status",
        prints: "\
Prints the layout, whether the array is whole, degraded or unusable, and a line for each spindle,
log device, volume, LUN and snapshot.",
        examples: [
            "strewn array status my-array",
            "strewn array status my-array --json",
            "strewn array status my-array --json | jq .condition",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array serve",
        prints: "\
Prints the address that it listens on, and a warning when a device fails. When it is interrupted, it
writes everything to the spindles, says so and ends.",
        examples: [
            "strewn array serve my-array --socket /tmp/my-array.sock",
            "strewn array serve my-array --tcp 127.0.0.1:10809",
            "strewn array serve my-array --socket /tmp/my-array.sock --metrics 127.0.0.1:9610",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array run",
        prints: "\
Prints a table with a row for each segment, as `strewn run` does, measured on real devices. The
workload overwrites what the LUN holds if it writes, and so does --fill.",
        examples: [
            "strewn array run /srv/array --out results",
            "strewn array run /srv/array --random-write 4KiB --outstanding 32",
            "strewn array run /srv/array --trace disk0.csv.gz --wrap",
        ],
        details: &[EXIT_CODES],
    },
    Help {
        command: "array check",
        prints: "\
Prints how many blocks and stripes were looked at, and a line for each finding. The array must not
be in use.",
        examples: [
            "strewn array check my-array",
            "strewn array check my-array --json",
            "strewn array check my-array --degraded",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array scrub",
        prints: "\
Prints how many stripes were read, how many blocks were bad, and how many of them were repaired.
The array must not be in use.",
        examples: [
            "strewn array scrub my-array",
            "strewn array scrub my-array --json",
            "strewn array scrub my-array --degraded",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array replace",
        prints: "Prints the progress of the rebuild, and the device that has taken the place of the old one.",
        examples: [
            "strewn array replace my-array 3",
            "strewn array replace my-array 3 --with /dev/sdx",
            "strewn array replace my-array log-b",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array add-group",
        prints: "Prints the numbers of the new spindles, and how many groups the array has now.",
        examples: [
            "strewn array add-group my-array   # like the first group",
            "strewn array add-group my-array --data-spindles 8 --spindle-size 2GiB",
            "strewn array add-group my-array --layout raid-4 --spindles /dev/sdf,/dev/sdg,/dev/sdh",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array fail",
        prints: "\
Prints that the spindle is marked. The array is then degraded until `strewn array replace` rebuilds
the spindle on another device.",
        examples: [
            "strewn array fail my-array 3",
            "strewn array fail my-array 3 && strewn array status my-array",
            "strewn array fail my-array 3 && strewn array replace my-array 3",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array volume",
        prints: "Prints what was done, in one line. A volume holds LUNs, and has snapshots and clones.",
        examples: [
            "strewn array volume create my-array databases --size 1GiB",
            "strewn array volume list my-array",
            "strewn array volume delete my-array databases",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array volume create",
        prints: "Prints that the volume is created. `strewn array lun create` puts a LUN into it.",
        examples: [
            "strewn array volume create my-array databases",
            "strewn array volume create my-array databases --size 1GiB",
            "strewn array volume create my-array archive --size 1TiB --thin",
        ],
        details: &[DEGRADED, ARRAY_EXIT_CODES],
    },
    Help {
        command: "array volume list",
        prints: "Prints a line for each volume: its name, its size, how many LUNs and snapshots it has.",
        examples: [
            "strewn array volume list my-array",
            "strewn array volume list my-array --json",
            "strewn array volume list my-array --json | jq .",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array volume resize",
        prints: "Prints that the volume is resized. Its LUNs keep their sizes, and must fit.",
        examples: [
            "strewn array volume resize my-array databases --size 2GiB",
            "strewn array volume resize my-array databases --size 512MiB",
            "strewn array volume resize my-array databases --size 2GiB --degraded",
        ],
        details: &[DEGRADED, ARRAY_EXIT_CODES],
    },
    Help {
        command: "array volume delete",
        prints: "Prints that the volume is deleted. Delete its LUNs and snapshots first.",
        examples: [
            "strewn array volume delete my-array databases",
            "strewn array volume delete my-array databases --degraded",
            "strewn array volume delete my-array databases && strewn array volume list my-array",
        ],
        details: &[DEGRADED, ARRAY_EXIT_CODES],
    },
    Help {
        command: "array lun",
        prints: "Prints what was done, in one line. A LUN is called VOLUME/LUN.",
        examples: [
            "strewn array lun create my-array databases/log --size 256MiB",
            "strewn array lun list my-array",
            "strewn array lun delete my-array databases/log",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array lun create",
        prints: "Prints that the LUN is created. It reads as zeros until it is written.",
        examples: [
            "strewn array lun create my-array volume/second --size 256MiB",
            "strewn array lun create my-array databases/log --size 256MiB",
            "strewn array lun create my-array databases/log --size 256MiB --degraded",
        ],
        details: &[DEGRADED, ARRAY_EXIT_CODES],
    },
    Help {
        command: "array lun list",
        prints: "Prints a line for each LUN: its name and its size.",
        examples: [
            "strewn array lun list my-array",
            "strewn array lun list my-array --json",
            "strewn array lun list my-array --json | jq .",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array lun resize",
        prints: "Prints that the LUN is resized. It can shrink as long as no block in use would be cut off.",
        examples: [
            "strewn array lun resize my-array databases/log --size 512MiB",
            "strewn array lun resize my-array databases/log --size 128MiB",
            "strewn array lun resize my-array databases/log --size 512MiB --degraded",
        ],
        details: &[DEGRADED, ARRAY_EXIT_CODES],
    },
    Help {
        command: "array lun delete",
        prints: "Prints that the LUN is deleted.",
        examples: [
            "strewn array lun delete my-array databases/log",
            "strewn array lun delete my-array databases/log --degraded",
            "strewn array lun delete my-array databases/log && strewn array lun list my-array",
        ],
        details: &[DEGRADED, ARRAY_EXIT_CODES],
    },
    Help {
        command: "array snapshot",
        prints: "Prints what was done, in one line. A snapshot is called VOLUME@SNAPSHOT.",
        examples: [
            "strewn array snapshot create my-array databases@monday",
            "strewn array snapshot list my-array",
            "strewn array snapshot copy my-array databases/log@monday log.img",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array snapshot create",
        prints: "Prints that the snapshot is taken. It keeps all LUNs of the volume as they are now.",
        examples: [
            "strewn array snapshot create my-array monday",
            "strewn array snapshot create my-array databases@monday",
            "strewn array snapshot create my-array databases@monday --degraded",
        ],
        details: &[DEGRADED, ARRAY_EXIT_CODES],
    },
    Help {
        command: "array snapshot list",
        prints: "Prints a line for each snapshot: its name, and when it was taken.",
        examples: [
            "strewn array snapshot list my-array",
            "strewn array snapshot list my-array --json",
            "strewn array snapshot list my-array --json | jq .",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array snapshot delete",
        prints: "Prints that the snapshot is deleted. Its blocks become free in the background.",
        examples: [
            "strewn array snapshot delete my-array monday",
            "strewn array snapshot delete my-array databases@monday",
            "strewn array snapshot delete my-array databases@monday --degraded",
        ],
        details: &[DEGRADED, ARRAY_EXIT_CODES],
    },
    Help {
        command: "array snapshot copy",
        prints: "\
Prints how many blocks were copied. The file is sparse: a loop device or qemu can open it.",
        examples: [
            "strewn array snapshot copy my-array monday lun.img",
            "strewn array snapshot copy my-array databases/log@monday log.img",
            "strewn array snapshot copy my-array databases/log@monday log.img --force",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array clone",
        prints: "Prints what was done, in one line. A clone is a volume with the LUNs of a snapshot.",
        examples: [
            "strewn array clone create my-array test --of databases@monday",
            "strewn array volume list my-array",
            "strewn array clone delete my-array test",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "array clone create",
        prints: "Prints that the volume is created. Nothing is copied until one of the two is overwritten.",
        examples: [
            "strewn array clone create my-array test --of monday",
            "strewn array clone create my-array test --of databases@monday",
            "strewn array clone create my-array test --of databases@monday --degraded",
        ],
        details: &[DEGRADED, ARRAY_EXIT_CODES],
    },
    Help {
        command: "array clone delete",
        prints: "Prints that the volume is deleted. The snapshot that it was made of stays.",
        examples: [
            "strewn array clone delete my-array test",
            "strewn array clone delete my-array test --degraded",
            "strewn array clone delete my-array test && strewn array volume list my-array",
        ],
        details: &[DEGRADED, ARRAY_EXIT_CODES],
    },
    Help {
        command: "array destroy",
        prints: "\
Prints what is destroyed. Files of the array are deleted; block devices lose their labels. Without
--yes it only says what the array holds.",
        examples: [
            "strewn array destroy my-array",
            "strewn array destroy my-array --yes",
            "strewn array status my-array && strewn array destroy my-array --yes",
        ],
        details: &[ARRAY_EXIT_CODES],
    },
    Help {
        command: "schema",
        prints: "\
Prints the schema, for editors with Even Better TOML or taplo. A scenario begins with:
#:schema scenario.schema.json",
        examples: [
            "strewn schema > scenario.schema.json",
            "strewn schema | jq '.properties | keys'",
            "strewn schema --markdown > settings.md",
        ],
        details: &[],
    },
    Help {
        command: "completions",
        prints: "Prints a script that the shell reads when it starts.",
        examples: [
            "strewn completions bash > ~/.local/share/bash-completion/completions/strewn",
            "strewn completions fish > ~/.config/fish/completions/strewn.fish",
            "strewn completions zsh > ~/.zfunc/_strewn",
        ],
        details: &[],
    },
    Help {
        command: "man",
        prints: "Prints the pages of all commands, one after another, as troff.",
        examples: [
            "strewn man > ~/.local/share/man/man1/strewn.1",
            "strewn man | man -l -",
            "strewn man | groff -man -T utf8 | less -R",
        ],
        details: &[],
    },
];

/// Returns the command with its help and that of its subcommands.
pub(super) fn with_help(command: Command) -> Command {
    described(command, "")
}

/// `words` are those of the command after `strewn`.
fn described(command: Command, words: &str) -> Command {
    let names = command.get_subcommands().map(|verb| verb.get_name().to_owned());
    let names: Vec<String> = names.collect();
    let command = names.into_iter().fold(command, |command, name| {
        let words = format!("{words} {name}");
        command.mut_subcommand(name, |verb| described(verb, words.trim_start()))
    });
    match HELP.iter().find(|help| help.command == words) {
        Some(help) => command.after_help(help.short()).after_long_help(help.long()),
        None => command,
    }
}

impl Help {
    fn short(&self) -> String {
        format!("{}\n\nExamples:\n  {}", self.prints, self.examples.join("\n  "))
    }

    fn long(&self) -> String {
        std::iter::once(self.short().as_str())
            .chain(self.details.iter().copied())
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(command: &Command, words: &str) -> Vec<String> {
        let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help");
        let below = verbs
            .flat_map(|verb| commands(verb, format!("{words} {}", verb.get_name()).trim_start()));
        std::iter::once(words.to_owned()).chain(below).collect()
    }

    #[test]
    fn every_command_has_help_and_nothing_else_has() {
        let mut found = commands(&super::super::command(), "");
        // A platform may lack commands.
        if cfg!(target_os = "linux") {
            let mut known: Vec<&str> = HELP.iter().map(|help| help.command).collect();
            known.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, known);
        }
    }

    /// Words of a shell, as far as examples use them: quotes, and nothing after the first command.
    fn first_command(example: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for letter in example.chars() {
            match (quote, letter) {
                (None, '|' | '>' | '&' | '#') => break,
                (None, '\'' | '"') => quote = Some(letter),
                (Some(mark), _) if mark == letter => quote = None,
                (None, ' ') => words.push(String::new()),
                _ => words.last_mut().unwrap().push(letter),
            }
        }
        words.retain(|word| !word.is_empty() && !word.starts_with("SLURM_"));
        words
    }

    #[test]
    fn every_example_is_a_command_line() {
        for help in HELP {
            let details = help.details.iter().flat_map(|text| text.lines());
            let further = details.filter_map(|line| line.strip_prefix("  strewn "));
            let further = further.map(|rest| format!("strewn {rest}"));
            let examples = help.examples.iter().map(|&example| example.to_owned());
            for example in examples.chain(further) {
                let words = first_command(&example);
                let own = help.command.split(' ').next().unwrap_or_default();
                assert!(words[0] == "strewn" && words.iter().any(|word| word.contains(own)));
                let parsed = super::super::command().try_get_matches_from(&words);
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
        }
    }
}
