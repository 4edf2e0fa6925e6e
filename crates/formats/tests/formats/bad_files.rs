//! The messages about bad files: where, what, and what to do.

use strewn_formats::FileFormatError;
use strewn_formats::fio::{IologReader, JobFile};
use strewn_formats::iometer::{Configuration, Results};
use strewn_formats::trace::{TraceFormat, TraceOptions, TraceReader};

fn check(cases: &[(&str, &str)], read: impl Fn(&[u8]) -> Result<(), FileFormatError>) {
    for (text, expected) in cases {
        match read(text.as_bytes()) {
            Ok(()) => panic!("read: {text:?}"),
            Err(error) => assert_eq!(error.to_string(), *expected, "{text:?}"),
        }
    }
}

#[test]
fn configurations_of_iometer() {
    let read = |bytes: &[u8]| Configuration::read(bytes, Some("a.icf")).map(drop);
    check(
        &[
            (
                "",
                "a.icf: the file is empty; give an Iometer configuration, which begins with `Version 1.1.0`",
            ),
            (
                "[job]\n",
                "a.icf:1: `[job]` is not the version of an Iometer configuration; begin the file with `Version 1.1.0`",
            ),
            (
                "Version 1.1\n",
                "a.icf:1: `Version 1.1` is not the version of an Iometer configuration; begin the file with `Version 1.1.0`",
            ),
            (
                "Version 1.99999999999.0\n",
                "a.icf:1: `Version 1.99999999999.0` is not the version of an Iometer configuration; begin the file with `Version 1.1.0`",
            ),
            (
                "Version 1.1.0\n'ACESS SPECIFICATIONS ====\n",
                "a.icf:2:1: there is no section `ACESS SPECIFICATIONS`; did you mean `ACCESS SPECIFICATIONS`?",
            ),
            (
                "Version 1.1.0\n4096,100\n",
                "a.icf:2:1: `4096,100` stands outside of the sections; put it into one of TEST SETUP, RESULTS DISPLAY, ACCESS SPECIFICATIONS, MANAGER LIST, or a ' before it",
            ),
            (
                "Version 1.1.0\n'TEST SETUP ==\n'Run Tme\n\t0 0 1\n",
                "a.icf:3:1: TEST SETUP has no key `'Run Tme`; did you mean `'Run Time`?",
            ),
            (
                "Version 1.1.0\n'TEST SETUP ==\n'Run Time\n\t0 0\n",
                "a.icf:4:5: seconds is empty; write hours, minutes and seconds, such as 0 20 0",
            ),
            (
                "Version 1.1.0\n'TEST SETUP ==\n'Run Time\n\t0 -1 0\n",
                "a.icf:4:4: minutes: `-1` is negative; write hours, minutes and seconds, such as 0 20 0",
            ),
            (
                "Version 1.1.0\n'TEST SETUP ==\n'Run Time\n'END test setup\n",
                "a.icf:3: Run Time is without a value; write hours, minutes and seconds, such as 0 20 0",
            ),
            (
                "Version 1.1.0\n'TEST SETUP ==\n'Test Type\n\tNORMALLY\n",
                "a.icf:4:2: test type: `NORMALLY` is not one of its values; did you mean `NORMAL`?",
            ),
            (
                "Version 1.1.0\n'TEST SETUP ==\n'Test Type\n\tNORMAL\n",
                "a.icf:4: the file ends within TEST SETUP; it is cut short, or the line `'END test setup` is missing",
            ),
            (
                "Version 1.1.0\n'TEST SETUP ==\n'END test setup\n'TEST SETUP ==\n",
                "a.icf:4: there is a second section TEST SETUP; take one of the two out",
            ),
            (
                "Version 1.1.0\n'RESULTS DISPLAY ==\n'Bar chart 7 statistic\n\tx\n",
                "a.icf:3:1: RESULTS DISPLAY has no key `'Bar chart 7 statistic`; did you mean `'Bar chart 1 statistic`?",
            ),
            (
                "Version 1.1.0\n'ACCESS SPECIFICATIONS ==\n'Access specification name,default assignment\n\tOLTP\n",
                "a.icf:4:2: `OLTP` is without its default assignment; write `OLTP,NONE`",
            ),
            (
                "Version 1.1.0\n'ACCESS SPECIFICATIONS ==\n'Access specification name,default assignment\n\tOLTP,NON\n",
                "a.icf:4:7: default assignment: `NON` is not one of its values; did you mean `NONE`?",
            ),
            (
                "Version 1.1.0\n'ACCESS SPECIFICATIONS ==\n'Access specification name,default assignment\n\tOLTP,NONE\n'size\n\t%iK,100,0,0,0,1,0,0\n",
                "a.icf:6:2: size: `%iK` is not a whole number; write bytes without a unit, such as 4096",
            ),
            (
                "Version 1.1.0\n'ACCESS SPECIFICATIONS ==\n'Access specification name,default assignment\n\tOLTP,NONE\n'size\n\t4096,101,0,0,0,1,0,0\n",
                "a.icf:6:7: % of size: `101` is more than 100; write a percentage, 0 to 100",
            ),
            (
                "Version 1.1.0\n'ACCESS SPECIFICATIONS ==\n'Access specification name,default assignment\n\tOLTP,NONE\n'size\n\t4096,95,0,0,0,1,0,0\n'END access specifications\n",
                "a.icf:4:2: the lines of access specification `OLTP` take 95 % of accesses; make their `% of size` add up to 100",
            ),
            (
                "Version 1.1.0\n'ACCESS SPECIFICATIONS ==\n'Access specification name,default assignment\n\tOLTP,NONE\n'size\n\t4096,100,0,0,0,1,0\n",
                "a.icf:6:2: 7 fields, where a line of a specification has 8; write size,% of size,% reads,% random,delay,burst,align,reply, such as 4096,100,67,100,0,1,0,0",
            ),
            (
                "Version 1998.02.01\n'ACCESS SPECIFICATIONS ==\n2048 100 67 100 0\n",
                "a.icf:3:1: 5 fields, where a line of that time has 6; write size % of size % reads % random delay burst, such as 2048 100 67 100 0 1",
            ),
            (
                "Version 1998.02.01\n'ACCESS SPECIFICATIONS ==\n2048 60 67 100 0 1\n2048 60 67 100 0 1\n",
                "a.icf:4:1: the lines up to here take 120 % of accesses; make the `% of size` of each specification add up to 100",
            ),
            (
                "Version 1998.02.01\n'ACCESS SPECIFICATIONS ==\n2048 60 67 100 0 1\n'END access specifications\n",
                "a.icf:4: the lines of the last specification take 60 % of accesses; make their `% of size` add up to 100",
            ),
            (
                "Version 1.1.0\n'MANAGER LIST ==\n'Manager ID, manager name\n\tHOST\n",
                "a.icf:4:2: manager ID: `HOST` is not a whole number; write the number and the name of the manager, such as 1,HOST",
            ),
            (
                "Version 1.1.0\n'MANAGER LIST ==\n'Manager ID, manager name\n\t1,HOST\n'Worker\n\tW\n'Worker type\n\tTCP\n",
                "a.icf:8:2: worker type: `TCP` is not one of its values; write DISK, NETWORK,TCP or NETWORK,VI",
            ),
            (
                "Version 1.1.0\n'MANAGER LIST ==\n'Manager ID, manager name\n\t1,HOST\n'Worker\n\tW\n'Default target settings for worker\n'Number of outstanding IOs,test connection rate,transactions per connection\n\t1,MAYBE,1\n",
                "a.icf:9:4: test connection rate: `MAYBE` is neither ENABLED nor DISABLED; write ENABLED or DISABLED",
            ),
            (
                "Version 1.1.0\n'MANAGER LIST ==\n'Manager ID, manager name\n\t1,HOST\n'Worker\n\tW\n'Assigned access specs\n\tx\n'End worker\n",
                "a.icf:9:1: the list of assigned access specs has no key `'End worker`; its place is elsewhere: is the end of what stands before it missing?",
            ),
        ],
        read,
    );
}

#[test]
fn results_of_iometer() {
    let read = |bytes: &[u8]| Results::read(bytes, Some("r.csv")).map(drop);
    let start = "'Test Type,Test Description\n0,\n'Results\n";
    check(
        &[
            (
                "",
                "r.csv: there are no results; give a results.csv of Iometer, which begins with `'Test Type,Test Description`",
            ),
            (
                "'Version\n1.1.0\n",
                "r.csv:1:1: `'Version` comes before the type of the test; begin the file with `'Test Type,Test Description`",
            ),
            (
                "'Test Type,Test Description\nx,\n",
                "r.csv:2:1: test type: `x` is not one of its values; write one of NORMAL, CYCLE_TARGETS, CYCLE_WORKERS, INCREMENT_TARGETS_PARALLEL, INCREMENT_TARGETS_SERIAL, CYCLE_WORKERS_AND_TARGETS, CYCLE_OUTSTANDING_IOS, CYCLE_OUTSTANDING_IOS_AND_TARGETS",
            ),
            (
                &format!("{start}ALL,All\n"),
                "r.csv:4:1: `ALL,All` belongs to no key; put the key that it belongs to before it, such as 'Results and the columns",
            ),
            (
                &format!("{start}'Target Type,IOps\n"),
                "r.csv:4: no column is called Target Name; name the columns as Iometer does",
            ),
            (
                &format!("{start}'Target Type,Target Name,IOps,iops\n"),
                "r.csv:4:31: a second column is called `iops`; take one of the two out",
            ),
            (
                &format!("{start}'Target Type,Target Name,IOps\nALL,All,nan\n"),
                "r.csv:5:9: IOps: `nan` is not a number in range; write a number, or nothing",
            ),
            (
                &format!("{start}'Target Type,Target Name,IOps\nALL,All,1,2\n"),
                "r.csv:5:11: there are more fields than the 3 columns; a name with a comma in it? Put a space for it",
            ),
            (
                &format!("{start}'Target Type,Target Name,IOps\nDISC,D:,1\n"),
                "r.csv:5:1: Target Type: `DISC` is not one of its values; write one of ALL, MANAGER, PROCESSOR, WORKER, DISK, NETWORK",
            ),
            (
                &format!("{start}'Target Type,Target Name,IOps\nALL,All,1\n"),
                "r.csv:5: the file ends within a test; it is cut short, or the line `'Time Stamp` is missing",
            ),
        ],
        read,
    );
}

#[test]
fn job_files_of_fio() {
    let read = |bytes: &[u8]| JobFile::read(bytes, Some("a.fio")).map(drop);
    check(
        &[
            (
                "",
                "a.fio: there is no job; begin one with its name in brackets, such as [random-reads]",
            ),
            (
                "[global]\nbs=4k\n",
                "a.fio: there is no job; begin one with its name in brackets, such as [random-reads]",
            ),
            (
                "bs=4k\n",
                "a.fio:1:1: an option stands before the first section; begin the file with [global] or the name of a job in brackets",
            ),
            (
                "[a\n",
                "a.fio:1:1: the bracket is not closed; write the name of the job in brackets, such as [random-reads]",
            ),
            (
                "[a] b\n",
                "a.fio:1:1: the section is not a name in brackets; write the name of the job in brackets, such as [random-reads]",
            ),
            (
                "[a]\ninclude b.fio\n",
                "a.fio:2:1: other files are not included; put the lines of the other file in its place",
            ),
            (
                "[a]\n iodepht=4\n",
                "a.fio:2:2: `iodepht` is not an option of fio; did you mean `iodepth`?",
            ),
            (
                "[a]\nIODepth=4\n",
                "a.fio:2:1: `IODepth` is not an option of fio; options are in small letters: write `iodepth`",
            ),
            (
                "[a]\nxyzzyx=4\n",
                "a.fio:2:1: `xyzzyx` is not an option of fio; check it against `fio --cmdhelp=all`, or take the line out",
            ),
            ("[a]\nbs\n", "a.fio:2:1: `bs` is without a value; write `bs=` and the value"),
            (
                "[a]\nbs=${SIZE}\n",
                "a.fio:2:4: bs: `${SIZE}` takes a value from elsewhere; variables of the environment are not looked at: write the value",
            ),
            (
                "[a]\nbs=(4*1024)\n",
                "a.fio:2:4: bs: `(4*1024)` is an expression, which is not worked out here; write the number that it comes to",
            ),
            (
                "[a]\nbs=4x\n",
                "a.fio:2:4: bs: `4x` has a unit that is not one of fio's; write a whole number with a unit of fio's (k, m, g, t, p; kb; kib), such as 64k",
            ),
            (
                "[a]\nbs=4k,0\n",
                "a.fio:2:7: bs: `0` is not from 1 to 4294967295; write a number from 1 to 4294967295",
            ),
            (
                "[a]\nbs=1,2,3,4\n",
                "a.fio:2:10: there are more than three values; give one for reads, one for writes and one for trims",
            ),
            (
                "[a]\nsize=-1\n",
                "a.fio:2:6: size: `-1` is negative; write a whole number with a unit of fio's (k, m, g, t, p; kb; kib), such as 64k",
            ),
            (
                "[a]\nsize=1.5g\n",
                "a.fio:2:6: size: `1.5g` is not a whole number; write a whole number with a unit of fio's (k, m, g, t, p; kb; kib), such as 64k",
            ),
            (
                "[a]\nsize=20000p\n",
                "a.fio:2:6: size: `20000p` is more than 2^64; write a whole number with a unit of fio's (k, m, g, t, p; kb; kib), such as 64k",
            ),
            (
                "[a]\nsize=3z\n",
                "a.fio:2:6: size: `3z` counts zones; zoned devices are not simulated: write bytes or a percentage",
            ),
            (
                "[a]\nsize=120%\n",
                "a.fio:2:6: size: `120` is not from 0 to 100; write a number from 0 to 100",
            ),
            (
                "[a]\nrw=randraed\n",
                "a.fio:2:4: rw: `randraed` is not one of its values; did you mean `randread`?",
            ),
            (
                "[a]\nrwmixread=101\n",
                "a.fio:2:11: rwmixread: `101` is not from 0 to 100; write a number from 0 to 100",
            ),
            (
                "[a]\nbssplit=4k/50:8k/60\n",
                "a.fio:2:9: bssplit: the percentages add up to 110; make them 100, or leave one empty for what is left",
            ),
            (
                "[a]\nbssplit=4k/50:8k/40\n",
                "a.fio:2:9: bssplit: the percentages add up to 90; make them 100, or leave one empty for what is left",
            ),
            (
                "[a]\nbsrange=4k\n",
                "a.fio:2:9: bsrange: `4k` is not a range; write the least and the greatest size, such as 4k-64k",
            ),
            (
                "[a]\nrandom_distribution=zipf:1.0\n",
                "a.fio:2:26: random_distribution: fio has no zipf with a theta of 1; write 0.99 or 1.01",
            ),
            (
                "[a]\nrandom_distribution=zipf:nan\n",
                "a.fio:2:26: random_distribution: `nan` is not zipf's theta; write a number above 0 and up to 1000000",
            ),
            (
                "[a]\nrandom_distribution=zip:1\n",
                "a.fio:2:21: random_distribution: `zip` is not one of fio's; did you mean `zipf`?",
            ),
            (
                "[a]\nrandom_distribution=pareto\n",
                "a.fio:2:21: random_distribution: pareto is without its power; write one, such as pareto:0.2",
            ),
            (
                "[a]\nrandom_distribution=zoned:60/10:30/90\n",
                "a.fio:2:27: random_distribution: the zones add up to 90 % of accesses; make them 100",
            ),
            (
                "[a]\nrandom_distribution=zoned:100/90\n",
                "a.fio:2:27: random_distribution: the zones add up to 90 % of the region; make them 100",
            ),
            (
                "[a]\nruntime=1:30\n",
                "a.fio:2:9: runtime: `1:30` has a unit that is not one of fio's times; write a whole number of seconds, or one with d, h, m, s, ms or us",
            ),
            (
                "[a]\nruntime=999999999999999d\n",
                "a.fio:2:9: runtime: `999999999999999d` is more than 2^64 microseconds; write a whole number of seconds, or one with d, h, m, s, ms or us",
            ),
            (
                "[a]\niodepth=0\n",
                "a.fio:2:9: iodepth: `0` is not from 1 to 4294967295; write a number from 1 to 4294967295",
            ),
            (
                "[a]\nrandseed=abc\n",
                "a.fio:2:10: randseed: `abc` is not a whole number; write a whole number",
            ),
            (
                "[a]\ntime_based=yes\n",
                "a.fio:2:12: time_based: `yes` is neither 0 nor 1; write `time_based` alone, or with 0 or 1",
            ),
            (
                "[a]\nkb_base=512\n",
                "a.fio:2:9: kb_base: `512` is neither 1000 nor 1024; write 1024 or 1000",
            ),
        ],
        read,
    );
}

#[test]
fn iologs_of_fio() {
    let read = |bytes: &[u8]| {
        IologReader::new(bytes, Some("a.log"))?.find_map(Result::err).map_or(Ok(()), Err)
    };
    let header = "the first line is `fio version 2 iolog` or `fio version 3 iolog`";
    check(
        &[
            ("", &format!("a.log: the log is empty; {header}")),
            ("read 0 4096\n", &format!("a.log:1: `read 0 4096` does not begin an iolog; {header}")),
            (
                "fio version 4 iolog\n",
                &format!("a.log:1: `fio version 4 iolog` is not a version that is known; {header}"),
            ),
            (
                "fio version 2 iolog\nf read 0 1\n",
                "a.log:2:1: `f` was not added; put a line with the action `add` for it before this one",
            ),
            (
                "fio version 2 iolog\nf add\nf raed 0 1\n",
                "a.log:3:3: `raed` is not an action; did you mean `read`?",
            ),
            (
                "fio version 2 iolog\nf add\nf read 0\n",
                "a.log:3: the length is missing; a line is `file action` or `file action offset length`",
            ),
            (
                "fio version 2 iolog\nf add\nf read 0 1 2\n",
                "a.log:3:12: `2` follows the length; a line is `file action` or `file action offset length`",
            ),
            (
                "fio version 2 iolog\nf add\nf wait 99999999999999999\n",
                "a.log:3:8: wait: `99999999999999999` is more than 2^64 us; write the millisecond at which the wait ends",
            ),
            (
                "fio version 3 iolog\n1 f add\nx f read 0 1\n",
                "a.log:3:1: timestamp: `x` is not a whole number; write microseconds from the start of the log",
            ),
            (
                "fio version 3 iolog\n1 f add\n2 f wait 5 0\n",
                "a.log:3:5: version 3 has no `wait`; leave the line out: timestamps say when the next one happens",
            ),
            (
                "fio version 3 iolog\n1 f add\n2 f read -1 0\n",
                "a.log:3:10: offset: `-1` is negative; write bytes, such as 4096",
            ),
        ],
        read,
    );
}

#[test]
fn traces() {
    let read = |format: Option<TraceFormat>| {
        move |bytes: &[u8]| {
            let name = Some("t".to_owned());
            let options = TraceOptions { name, format, ..TraceOptions::default() };
            TraceReader::new(bytes, options)?.find_map(Result::err).map_or(Ok(()), Err)
        }
    };
    let formats =
        "msr, spc, blkparse, disksim, fio-iolog, columns, alibaba, tencent, vscsi, blktrace";
    check(
        &[
            ("", "t: the trace is empty; give a trace with a line for each request"),
            ("\n\n", "t: the trace is empty; give a trace with a line for each request"),
            (
                "hello\n",
                &format!(
                    "t:1: `hello` begins no trace that is known; say which format it is, one of {formats}"
                ),
            ),
            // Nearly Tencent's format.
            (
                "1538323200,12910952,128,7,1063\n",
                &format!(
                    "t:1: `1538323200,12910952,128,7,1063` begins no trace that is known; say which format it is, one of {formats}"
                ),
            ),
        ],
        read(None),
    );
    let fields =
        "a line of an MSR trace is Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";
    check(
        &[
            ("1,a,0,Read,0\n", &format!("t:1: Size is missing; {fields}")),
            ("1,a,0,Read,0,1,2,3\n", &format!("t:1: there are more than 7 fields; {fields}")),
            (
                "1,a,0,Raed,0,1,2\n",
                "t:1:7: Type: `Raed` is neither Read nor Write; write Read or Write",
            ),
            (
                "-1,a,0,Read,0,1,2\n",
                "t:1:1: Timestamp: `-1` is negative; write a Windows file time, in 100 ns",
            ),
            (
                "1,a,0,Read,18446744073709551615,1,2\n",
                "t:1: 1 bytes from byte 18446744073709551615 end past 2^64; check the offset and the size",
            ),
            (
                "1,a,0,Read,0,512,2\n18446744073709551615,a,0,Read,0,512,2\n",
                "t:2: the record arrives more than 2^64 nanoseconds after the first; check the times of this line and of the first one",
            ),
            (
                "1,é,0,Read,x,1,2\n",
                "t:1:12: Offset: `x` is not a whole number; write bytes, such as 4096",
            ),
        ],
        read(Some(TraceFormat::Msr)),
    );
    check(
        &[
            (
                "0,1,512,r\n",
                "t:1: Timestamp is missing; a line of an SPC trace is ASU,LBA,Size,Opcode,Timestamp",
            ),
            ("0,1,512,x,0.0\n", "t:1:9: Opcode: `x` is neither r nor w; write r or w"),
            (
                "0,1,512,r,nan\n",
                "t:1:11: Timestamp: `nan` is not a number; write seconds from the start, such as 0.026214",
            ),
            (
                "0,36028797018963968,512,r,0\n",
                "t:1:3: LBA: `36028797018963968` is more than 36028797018963967; write a block of 512 bytes, such as 2048",
            ),
        ],
        read(Some(TraceFormat::Spc)),
    );
    let fields = "a line of a DiskSim ASCII trace is: time device block blocks flags";
    check(
        &[
            ("0.5 0 0 8\n", &format!("t:1: flags is missing; {fields}")),
            ("0.5 0 0 8 1 2\n", &format!("t:1:13: `2` follows the flags; {fields}")),
            (
                "0.5 0 0 8 read\n",
                "t:1:11: flags: `read` is not a hexadecimal number; write 1 for a read, 0 for a write",
            ),
            (
                "-0.5 0 0 8 1\n",
                "t:1:1: time: `-0.5` is negative; write milliseconds from the start, such as 13.191135",
            ),
        ],
        read(Some(TraceFormat::DiskSim)),
    );
    let fields =
        "a line of blkparse is: major,minor cpu sequence time pid action RWBS sector + sectors";
    check(
        &[
            (
                "8:0 1 1 0.0 1 D R 8 + 8\n",
                &format!("t:1:1: device: `8:0` is not major,minor; {fields}"),
            ),
            ("8,0 1 1 0.0 1\n", &format!("t:1: action is missing; {fields}")),
            (
                "8,0 1 1 0.0 1 D R 8 8\n",
                &format!("t:1:21: there is `8` where a + is due; {fields}"),
            ),
            (
                "8,0 1 1 0.0 1 D RW 8 + 8\n",
                &format!("t:1:17: RWBS: `RW` both reads and writes; {fields}"),
            ),
            (
                "9999,0 1 1 0.0 1 D R 8 + 8\n",
                "t:1:1: major number: `9999` is more than 4095; write the numbers of a device, such as 8,0",
            ),
        ],
        read(Some(TraceFormat::Blkparse)),
    );
    let columns =
        "the first line names the columns; arrival_ms, lba, sectors and rw must be among them";
    check(
        &[
            ("id,lba\n", &format!("t:1: no column is called arrival_ms; {columns}")),
            (
                "lba,arrival_ms,lba,sectors,rw\n",
                "t:1:16: a second column is called lba; give the columns different names",
            ),
            (
                "arrival_ms,lba,sectors,rw\n1,2,3\n",
                "t:2: 3 fields, where the first line names 4; give every line as many fields as there are columns; a field with a comma in it is quoted",
            ),
            (
                "arrival_ms,lba,sectors,rw\n1,2,3,T\n",
                "t:2:7: rw: `T` is neither read nor write; write R or W",
            ),
        ],
        read(Some(TraceFormat::Columns)),
    );
}

#[test]
fn files_that_are_no_text() {
    let utf_16: Vec<u8> =
        "\u{feff}Version 1.1.0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let error = Configuration::read(utf_16.as_slice(), Some("a.icf")).unwrap_err().to_string();
    assert_eq!(
        error,
        "a.icf:1: the file is in UTF-16LE; save it as UTF-8, or convert it with `iconv -f UTF-16 -t \
         UTF-8`"
    );
    let error = JobFile::read(&b"[caf\xe9]\n"[..], Some("a.fio")).unwrap_err().to_string();
    assert_eq!(
        error,
        "a.fio:1:5: byte 0xe9 is not UTF-8; save the file as UTF-8, or convert it with `iconv -f \
         WINDOWS-1252 -t UTF-8`"
    );
    let binary = [0x7f, b'E', b'L', b'F', 0xff, 0, 0, 0];
    let error = TraceReader::new(&binary[..], TraceOptions::default()).unwrap_err();
    assert!(error.help().ends_with("that blktrace and vscsi write, and no others"));
}

#[test]
fn every_option_that_fio_would_not_accept_is_found() {
    let text = "[global]\niodpeth=8\n[a]\nbs=4kk\nrw=read\n[b]\nkb_base=512\n";
    let error = JobFile::parse(text, "a.fio").unwrap_err();
    let found = std::iter::once(&error).chain(error.others());
    let lines: Vec<Option<u64>> = found.map(|error| error.position().line()).collect();
    assert_eq!(lines, [Some(2), Some(4), Some(7)]);
}

/// What a tired person may give in place of a trace.
#[test]
fn traces_of_other_shapes_are_refused_with_a_remedy() {
    let mut tar = vec![0; 1024];
    tar[257..262].copy_from_slice(b"ustar");
    let mut event = vec![0; 48];
    event[..4].copy_from_slice(&0x6561_7407_u32.to_le_bytes());
    let with = |bytes: &[u8], change: fn(&mut Vec<u8>)| {
        let mut bytes = bytes.to_vec();
        change(&mut bytes);
        bytes
    };
    let mut record = vec![0; 64];
    (record[15], record[47]) = (1, 1);
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (tar, "t: this is a tar archive; extract it with `tar -xf`"),
        (b"PK\x03\x04rest".to_vec(), "t: this is a zip archive; extract it with `unzip`"),
        (b"\xfd7zXZ\0rest".to_vec(), "t: this is xz data; decompress the file with `xz -d`"),
        (b"BZh91AY".to_vec(), "t: this is bzip2 data; decompress"),
        (b"PAR1".to_vec(), "t: this is a Parquet file; convert it to CSV"),
        (
            b"3;R;0;4096;15\n".to_vec(),
            "t:1: `3;R;0;4096;15` begins no trace that is known; its fields are separated by semicolons",
        ),
        (
            b"3\tR\t0\t4096\t15\n".to_vec(),
            "t:1: `3\\tR\\t0\\t4096\\t15` begins no trace that is known; its fields are separated by tabs",
        ),
        (
            b"time,volume,size\n1,2,3\n".to_vec(),
            "t:1: `time,volume,size` begins no trace that is known; if this line has the names of columns",
        ),
        (
            b"3,R,0,4096,15\n5,0,8,1,3\n".to_vec(),
            "t:2:3: opcode: `0` is neither R nor W; write R or W",
        ),
        (
            b"3,R,0,4096,15\n3,R,0,4096\n".to_vec(),
            "t:2: timestamp is missing; a line of an Alibaba trace is",
        ),
        (b"3,R,0,4096,15,7\n".to_vec(), "t:1: `3,R,0,4096,15,7` begins no trace that is known"),
        (b"5,0,8,1,3\n5,0,8,2,3\n".to_vec(), "t:2:7: IOType: `2` is neither 0 nor 1"),
        (
            b"5,0,8,1,3\n5,0,8,1\n".to_vec(),
            "t:2: VolumeID is missing; a line of a Tencent trace is",
        ),
        (
            event[..40].to_vec(),
            "t:1: the file ends within the record at byte 0, after 40 of 48 bytes; the file is cut short",
        ),
        (
            with(&event, |event| event[46] = 9),
            "t:1: the file ends within what follows the event at byte 0; the file is cut short",
        ),
        (
            with(&event, |event| event[0] = 8),
            "t:1: the event at byte 0 is of version 8 of blktrace; version 7 is read",
        ),
        (
            with(&event, |event| event.extend([0; 48])),
            "t:2: the event at byte 48 begins with 0x00000000 and not 0x65617400",
        ),
        (
            with(&record, |record| record.extend([0; 32])),
            "t:3: the record at byte 64 has version 0x0000 and command 0x0000, where the first has version 1",
        ),
        (
            with(&record, |record| record.truncate(63)),
            "t:2: the file ends within the record at byte 32, after 31 of 32 bytes",
        ),
    ];
    for (bytes, expected) in cases {
        let options = TraceOptions { name: Some("t".into()), ..TraceOptions::default() };
        let error = match TraceReader::new(bytes.as_slice(), options) {
            Ok(mut reader) => reader.find_map(Result::err).unwrap(),
            Err(error) => error,
        };
        assert!(error.to_string().starts_with(expected), "{error}\nand not\n{expected}");
    }
    let options = TraceOptions { format: Some(TraceFormat::Blktrace), ..TraceOptions::default() };
    let error = TraceReader::new(&b"3,R,0,4096,15\n"[..], options).unwrap_err();
    assert_eq!(error.message(), "the file does not begin as a trace of blktrace");
}
