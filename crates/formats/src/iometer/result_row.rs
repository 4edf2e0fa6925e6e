//! A line of results.

/// A line of `results.csv`. Its kind decides which groups of columns are filled: sums have latency bins, processors
/// only their load.
///
/// ```
/// use strewn_formats::iometer::{Measured, ResultRow, RowKind};
///
/// let mut measured = Measured::from_counts(1200.0, 4_800_000, 1_200_000, 54_460_416_000, 13_615_104_000);
/// measured.average_ms.total = 30.8;
/// let row = ResultRow {
///     access_specification: "File Server".into(),
///     measured: Some(measured),
///     ..ResultRow::new(RowKind::All, "All")
/// };
/// let cells = row.cells();
/// assert_eq!(&cells[..3], ["ALL", "All", "File Server"]);
/// assert_eq!((cells[6].as_str(), cells[17].as_str()), ("5000.000000", "30.800000"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ResultRow {
    /// What the line is about.
    pub kind: RowKind,
    /// Its name. Commas and line ends are written as spaces, as Iometer does.
    pub name: String,
    /// The access specification, empty for disks and processors.
    pub access_specification: String,
    /// Managers at work.
    pub managers: Option<u32>,
    /// Workers at work.
    pub workers: Option<u32>,
    /// Disks accessed.
    pub disks: Option<u32>,
    /// What was measured.
    pub measured: Option<Measured>,
    /// The same in ticks of the processor's clock.
    pub raw: Option<RawFigures>,
    /// The first sector accessed; -1 if the lines summed up differ.
    pub starting_sector: Option<i64>,
    /// Sectors accessed, 0 for the whole disk; -1 if the lines summed up differ.
    pub maximum_size_sectors: Option<i64>,
    /// Accesses outstanding; -1 if the lines summed up differ.
    pub queue_depth: Option<i64>,
    /// Load of processors and network.
    pub load: LoadFigures,
    /// Number of accesses by latency; see [`latency_bin`].
    pub latency_bins: Option<[u64; LATENCY_BIN_COUNT]>,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowKind {
    /// All managers together.
    All,
    /// A manager.
    Manager,
    /// A processor of a manager.
    Processor,
    /// A worker.
    Worker,
    /// A disk that a worker accessed.
    Disk,
    /// A connection that a worker accessed.
    Network,
}

impl RowKind {
    pub(super) const WORDS: [(Self, &'static str); 6] = [
        (Self::All, "ALL"),
        (Self::Manager, "MANAGER"),
        (Self::Processor, "PROCESSOR"),
        (Self::Worker, "WORKER"),
        (Self::Disk, "DISK"),
        (Self::Network, "NETWORK"),
    ];

    /// Returns the word that a file has for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::All => "ALL",
            Self::Manager => "MANAGER",
            Self::Processor => "PROCESSOR",
            Self::Worker => "WORKER",
            Self::Disk => "DISK",
            Self::Network => "NETWORK",
        }
    }
}

/// What was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Accesses a second.
    pub iops: Throughput,
    /// 2^20 bytes a second.
    pub mib_per_second: Throughput,
    /// 10^6 bytes a second.
    pub mb_per_second: Throughput,
    /// Transactions a second: an access and its reply, over a network.
    pub transactions_per_second: f64,
    /// Connections a second, over a network.
    pub connections_per_second: f64,
    /// Means of response times, in milliseconds.
    pub average_ms: ResponseTimes,
    /// The longest response times, in milliseconds.
    pub maximum_ms: ResponseTimes,
    /// Accesses that failed.
    pub errors: u64,
    /// Reads that failed.
    pub read_errors: u64,
    /// Writes that failed.
    pub write_errors: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Accesses that read.
    pub reads: u64,
    /// Accesses that wrote.
    pub writes: u64,
    /// Connections made.
    pub connections: u64,
    /// The setting for the test of connection rate; -1 if there is none.
    pub transactions_per_connection: i64,
}

impl Measured {
    /// Computes rates from counts and a time. Iometer counts an access as a transaction of its own only over a network,
    /// so those columns stay 0.
    ///
    /// ```
    /// use strewn_formats::iometer::Measured;
    ///
    /// let measured = Measured::from_counts(2.0, 100, 300, 104_857_600, 0);
    /// assert_eq!((measured.iops.total, measured.iops.read), (200.0, 50.0));
    /// assert_eq!((measured.mib_per_second.read, measured.mb_per_second.write), (50.0, 0.0));
    /// ```
    #[must_use]
    pub fn from_counts(
        seconds: f64,
        reads: u64,
        writes: u64,
        bytes_read: u64,
        bytes_written: u64,
    ) -> Self {
        let rate = |read: u64, write: u64, unit: f64| {
            let per_second = |count: u64| {
                if seconds > 0.0 { count as f64 / unit / seconds } else { 0.0 }
            };
            let (read, write) = (per_second(read), per_second(write));
            Throughput { total: read + write, read, write }
        };
        Self {
            iops: rate(reads, writes, 1.0),
            mib_per_second: rate(bytes_read, bytes_written, 1_048_576.0),
            mb_per_second: rate(bytes_read, bytes_written, 1_000_000.0),
            bytes_read,
            bytes_written,
            reads,
            writes,
            transactions_per_connection: -1,
            ..Self::default()
        }
    }
}

/// A rate of all accesses, of reads and of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Throughput {
    /// Of all.
    pub total: f64,
    /// Of reads.
    pub read: f64,
    /// Of writes.
    pub write: f64,
}

/// Times of all accesses, of reads, of writes, of transactions and of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResponseTimes {
    /// Of all accesses.
    pub total: f64,
    /// Of reads.
    pub read: f64,
    /// Of writes.
    pub write: f64,
    /// Of transactions.
    pub transaction: f64,
    /// Of connections.
    pub connection: f64,
}

/// Times in ticks of the processor's clock, whose rate is [`LoadFigures::processor_speed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawFigures {
    /// Sum over reads.
    pub total_read: u64,
    /// Sum over writes.
    pub total_write: u64,
    /// Sum over transactions.
    pub total_transaction: u64,
    /// Sum over connections.
    pub total_connection: u64,
    /// Longest of a read.
    pub maximum_read: u64,
    /// Longest of a write.
    pub maximum_write: u64,
    /// Longest of a transaction.
    pub maximum_transaction: u64,
    /// Longest of a connection.
    pub maximum_connection: u64,
    /// Length of the test.
    pub run_time: u64,
}

/// Load of processors and network, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadFigures {
    /// Percent of the time.
    pub utilization_percent: Option<f64>,
    /// Percent of the time in user mode.
    pub user_percent: Option<f64>,
    /// Percent of the time in privileged mode.
    pub privileged_percent: Option<f64>,
    /// Percent of the time in deferred procedure calls.
    pub deferred_percent: Option<f64>,
    /// Percent of the time in interrupts.
    pub interrupt_percent: Option<f64>,
    /// Ticks of the processor's clock in a second.
    pub processor_speed: Option<f64>,
    /// Interrupts a second.
    pub interrupts_per_second: Option<f64>,
    /// Accesses a second for each percent of utilization.
    pub effectiveness: Option<f64>,
    /// Packets a second.
    pub packets_per_second: Option<f64>,
    /// Packets with errors.
    pub packet_errors: Option<f64>,
    /// Segments retransmitted per second.
    pub segments_retransmitted_per_second: Option<f64>,
}

/// Number of latency bins.
pub const LATENCY_BIN_COUNT: usize = 21;

/// Returns the latency bin of an access that took `ns`. The bins end at 50, 100, 200 and 500 us, 1, 2, 5, 10, 15, 20,
/// 30, 50, 100, 200 and 500 ms, 1, 2, 4.7, 5 and 10 s; the last one has no end.
///
/// ```
/// use strewn_formats::iometer::latency_bin;
///
/// assert_eq!([0, 49_999, 50_000, 12_000_000, u64::MAX].map(latency_bin), [0, 0, 1, 8, 20]);
/// ```
#[must_use]
pub fn latency_bin(ns: u64) -> usize {
    const ENDS_US: [u64; LATENCY_BIN_COUNT - 1] = [
        50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000,
        200_000, 500_000, 1_000_000, 2_000_000, 4_700_000, 5_000_000, 10_000_000,
    ];
    ENDS_US.partition_point(|end_us| end_us * 1000 <= ns)
}

impl ResultRow {
    /// Creates a line without figures.
    #[must_use]
    pub fn new(kind: RowKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            access_specification: String::new(),
            managers: None,
            workers: None,
            disks: None,
            measured: None,
            raw: None,
            starting_sector: None,
            maximum_size_sectors: None,
            queue_depth: None,
            load: LoadFigures::default(),
            latency_bins: None,
        }
    }

    /// Returns the cells of the line, in the order of [`RESULT_COLUMNS`](super::RESULT_COLUMNS): all 80, or without the
    /// latency bins if there are none, as Iometer writes such lines.
    #[must_use]
    pub fn cells(&self) -> Vec<String> {
        let plain = |name: &str| name.replace([',', '\n', '\r'], " ");
        let mut cells =
            vec![self.kind.word().to_owned(), plain(&self.name), plain(&self.access_specification)];
        push(
            &mut cells,
            [self.managers, self.workers, self.disks].map(|count| count.map(i64::from)),
        );
        let measured = self.measured.as_ref();
        push_numbers(
            &mut cells,
            measured,
            |m| {
                let Throughput { total, read, write } = m.iops;
                let (binary, decimal) = (m.mib_per_second, m.mb_per_second);
                let (average, maximum) = (m.average_ms, m.maximum_ms);
                [
                    [total, read, write, binary.total, binary.read].as_slice(),
                    &[binary.write, decimal.total, decimal.read, decimal.write],
                    &[m.transactions_per_second, m.connections_per_second],
                    &[average.total, average.read, average.write],
                    &[average.transaction, average.connection],
                    &[maximum.total, maximum.read, maximum.write],
                    &[maximum.transaction, maximum.connection],
                ]
                .concat()
            },
            21,
        );
        let counts = measured.map(|m| {
            [
                m.errors,
                m.read_errors,
                m.write_errors,
                m.bytes_read,
                m.bytes_written,
                m.reads,
                m.writes,
                m.connections,
            ]
        });
        push(&mut cells, spread::<8, u64>(counts));
        push(&mut cells, [measured.map(|m| m.transactions_per_connection)]);
        let raw = self.raw.map(|r| {
            [
                r.total_read,
                r.total_write,
                r.total_transaction,
                r.total_connection,
                r.maximum_read,
                r.maximum_write,
                r.maximum_transaction,
                r.maximum_connection,
                r.run_time,
            ]
        });
        push(&mut cells, spread::<9, u64>(raw));
        push(&mut cells, [self.starting_sector, self.maximum_size_sectors, self.queue_depth]);
        let l = &self.load;
        let load = [
            l.utilization_percent,
            l.user_percent,
            l.privileged_percent,
            l.deferred_percent,
            l.interrupt_percent,
            l.processor_speed,
            l.interrupts_per_second,
            l.effectiveness,
            l.packets_per_second,
            l.packet_errors,
            l.segments_retransmitted_per_second,
        ];
        push(&mut cells, load.map(|figure| figure.map(decimals)));
        if let Some(bins) = self.latency_bins {
            push(&mut cells, bins.map(Some));
        }
        cells
    }
}

/// Prints a number with a fraction as Iometer does.
fn decimals(number: f64) -> String {
    format!("{number:.6}")
}

fn push<const N: usize, T: ToString>(cells: &mut Vec<String>, values: [Option<T>; N]) {
    cells.extend(values.map(|value| value.map(|value| value.to_string()).unwrap_or_default()));
}

fn push_numbers(
    cells: &mut Vec<String>,
    measured: Option<&Measured>,
    numbers: impl Fn(&Measured) -> Vec<f64>,
    count: usize,
) {
    match measured {
        Some(measured) => cells.extend(numbers(measured).into_iter().map(decimals)),
        None => cells.extend(std::iter::repeat_n(String::new(), count)),
    }
}

fn spread<const N: usize, T>(values: Option<[T; N]>) -> [Option<T>; N] {
    match values {
        Some(values) => values.map(Some),
        None => std::array::from_fn(|_| None),
    }
}
