//! Object RAID over shelves of blades: the shipped scenario at an eighth of its length, and threads of a workload.

use strewn::results::{Results, RowStatus};

use crate::common::{Folder, PROJECT};

/// MB/s of 10 gigabit Ethernet's frames, less those of TCP and IP.
const WIRE_MB_PER_S: f64 = 1_187.0;

fn figure(results: &Results, row: &str) -> f64 {
    let found = results.published_rows.iter().find(|one| one.name == row);
    found.unwrap_or_else(|| panic!("no row {row}")).simulated.unwrap()
}

#[test]
fn what_stops_clients_is_their_cores_their_wire_or_the_drives() {
    let scenario = format!("{PROJECT}/scenarios/panasas-arista.toml");
    let words = ["run", &scenario, "--quick", "--json"];
    let results = Results::from_json(&Folder::new().strewn(&words).succeeded()).unwrap();
    let of = |status| results.published_rows.iter().filter(|row| row.status == status).count();
    assert_eq!((of(RowStatus::Fitted), of(RowStatus::Predicted)), (3, 10));

    // One thread waits for its own copies: ten times the wire is less than five times the figure.
    let one = figure(&results, "1 client, 1 thread, 3 shelves, 10GbE: read");
    let gigabit = figure(&results, "1 client, 1 thread, 3 shelves, gigabit: read");
    assert!(one < 5.0 * gigabit, "{one} {gigabit}");
    // Parity crosses the wire of its client.
    let gigabit_write = figure(&results, "1 client, 1 thread, 3 shelves, gigabit: write");
    assert!(gigabit_write < 0.95 * gigabit, "{gigabit_write} {gigabit}");
    // Eight threads fill the wire, an eighth of it with parity.
    let eight = figure(&results, "1 client, 8 threads, 3 shelves: write");
    assert!((0.95..1.0).contains(&(eight / (WIRE_MB_PER_S * 8.0 / 9.0))), "{eight}");
    // More shelves have more drives.
    for direction in ["read", "write"] {
        let one = figure(&results, &format!("8 clients, 3 threads, 1 shelf: {direction}"));
        let two = figure(&results, &format!("8 clients, 6 threads, 2 shelves: {direction}"));
        let three = figure(&results, &format!("8 clients, 8 threads, 3 shelves: {direction}"));
        assert!(1.4 * one < two && 1.1 * two < three, "{one} {two} {three}");
    }
}

/// A LUN that is read in order by a workload with so many threads.
fn threads(threads: &str) -> String {
    format!(
        "schema = 1\nname = \"threads\"\ntitle = \"Threads\"\nseed = 1\nsegments = 1\nsegment = \"2 s\"\n\
         [[workload]]\nname = \"reads\"\nlun = \"one\"\nfile = \"1 GiB\"\noutstanding = 1\n{threads}\
         [[workload.access]]\nbytes = \"64 KiB\"\npercent = 100\nread_percent = 100\nrandom_percent = 0\n\
         [[array]]\nname = \"eva\"\ncontroller = \"eva4400\"\n\
         [[array.lun]]\nname = \"one\"\nsize = \"2 GiB\"\n"
    )
}

#[test]
fn each_thread_of_a_workload_reads_a_part_of_its_own() {
    let run = |text: &str| {
        let folder = Folder::new();
        folder.write("threads.toml", text);
        let printed = folder.strewn(&["run", "threads.toml", "--json"]).succeeded();
        Results::from_json(&printed).unwrap().arrays.remove(0)
    };
    let one = run(&threads(""));
    let four = run(&threads("threads = 4\n"));
    assert_eq!((one.outstanding, four.outstanding), (1, 4));
    let (one, four) = (&one.segments[0], &four.segments[0]);
    assert!(four.iops > 2.0 * one.iops, "{} {}", four.iops, one.iops);
    // Each is read ahead by itself, so all of them read in order.
    let read_ahead = four.cache.read_ahead.unwrap();
    assert!(2 * read_ahead.used > read_ahead.blocks, "{read_ahead:?}");

    let folder = Folder::new();
    for (line, says) in [
        ("threads = 0\n", "is zero"),
        ("threads = 2000\n", "give at most 1024"),
        ("threads = 2\noperations_per_second = 5\n", "is given beside operations_per_second"),
    ] {
        folder.write("threads.toml", &threads(line));
        folder.strewn(&["run", "threads.toml"]).refused(&["threads: ", says]);
    }
    folder.write("threads.toml", &threads("threads = 1024\n").replace("1 GiB", "32 MiB"));
    folder.strewn(&["run", "threads.toml"]).refused(&["for each of 1024 threads"]);
}
