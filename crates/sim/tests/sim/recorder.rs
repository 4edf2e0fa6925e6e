//! Hosts of one's own, on a recorder.

use std::ops::ControlFlow;

use strewn_array::{Direction, HostOperation, LunId, OperationId};
use strewn_base::state::{SavedState, SavedValue, StateError, StateReader, StateWriter};
use strewn_sim::{AccessesError, ClosedLoop, Host, HostMeasures, Moved, Recorder, Segment};
use strewn_workload::{Access, AccessSpecification, AccessStream};

use crate::workers::{FILE_SECTORS, MS, simulation};

/// A closed loop once more.
struct OwnLoop {
    stream: AccessStream,
    outstanding: u32,
    recorder: Recorder,
}

impl OwnLoop {
    fn issue(&mut self, now_ns: u64) -> HostOperation<()> {
        let access = self.stream.next_access();
        self.recorder.issue(now_ns, LunId(0), access)
    }
}

impl Host for OwnLoop {
    fn first(&mut self) -> Option<HostOperation<()>> {
        (self.recorder.outstanding() < self.outstanding).then(|| self.issue(0))
    }

    fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.recorder.answered(now_ns, id);
        Some(self.issue(now_ns))
    }

    fn refused(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.recorder.refused(now_ns, id);
        Some(self.issue(now_ns))
    }

    fn issued(&self) -> Moved {
        self.recorder.issued()
    }

    fn answered_in_segment(&self) -> u64 {
        self.recorder.answered_in_segment()
    }

    fn end_segment(&mut self, _start_ns: u64, end_ns: u64) -> HostMeasures {
        self.recorder.end_segment(end_ns)
    }

    fn save_state(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        self.stream.save(to)?;
        self.recorder.write(to)
    }

    fn restore_state(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.stream.restore(from)?;
        self.recorder = Recorder::read(from)?;
        Ok(())
    }
}

fn accesses() -> AccessStream {
    let specification = AccessSpecification::shipped("file-server").unwrap();
    AccessStream::new(&specification, 0, FILE_SECTORS, 7).unwrap()
}

fn own_loop() -> OwnLoop {
    OwnLoop { stream: accesses(), outstanding: 16, recorder: Recorder::new() }
}

fn segments<A: strewn_array::AnyArray<()>, H: Host>(
    simulation: &mut strewn_sim::Simulation<A, H>,
    count: u32,
) -> Vec<Segment> {
    let run = |_| {
        let mut go_on = |_| ControlFlow::Continue(());
        let segment = simulation.run_segment(1_000 * MS, &mut go_on).unwrap();
        assert!(segment.laws.hold(), "{:?}", segment.laws);
        segment
    };
    (0..count).map(run).collect()
}

#[test]
fn a_recorder_measures_what_the_closed_loop_measures() {
    let theirs = segments(&mut simulation(ClosedLoop::new(accesses(), 16)), 3);
    let mut simulation = simulation(own_loop());
    let own = segments(&mut simulation, 3);
    for (own, theirs) in own.iter().zip(&theirs) {
        assert_eq!((own.operations, own.bytes), (theirs.operations, theirs.bytes));
        assert_eq!(own.response, theirs.response);
        assert!((own.mean_outstanding - theirs.mean_outstanding).abs() < 1e-9);
        let by_direction = own.by_direction.as_ref().unwrap();
        let answered: u64 = by_direction.iter().map(|one| one.answered.count).sum();
        assert_eq!(answered, own.operations);
    }
    assert_eq!(simulation.host().recorder.outstanding(), 16);
    let issued = simulation.into_host().recorder.issued().count;
    assert_eq!(issued, own.iter().map(|segment| segment.operations).sum::<u64>() + 16);
}

#[test]
fn a_host_is_saved_with_its_recorder() {
    let mut whole = simulation(own_loop());
    segments(&mut whole, 1);
    let mut bytes = Vec::new();
    let mut writer = StateWriter::new(&mut bytes);
    whole.save(&mut writer).unwrap();
    writer.finish().unwrap();
    let mut continued = simulation(own_loop());
    let mut reader = StateReader::new(&bytes);
    continued.restore(&mut reader).unwrap();
    reader.finish().unwrap();
    let expected = format!("{:?}", segments(&mut whole, 2));
    assert_eq!(format!("{:?}", segments(&mut continued, 2)), expected);
}

/// Reads by the clock, two at a time; each answer is followed by a write at once, and one 5 ms later.
#[derive(Default)]
struct Clocked {
    recorder: Recorder,
    issued_ns: Vec<u64>,
    ended: Vec<(u64, Access)>,
}

fn access(sector: u64, direction: Direction) -> Access {
    Access { sector, sectors: 8, direction }
}

impl Host for Clocked {
    fn begin_segment(&mut self, now_ns: u64, index: u32) {
        for place in 0..(if index == 1 { 4 } else { 0 }) {
            let at_ns = now_ns + place / 2 * 50 * MS;
            self.recorder.schedule(at_ns, LunId(0), access(place * 800, Direction::Read));
        }
    }

    fn next_issue_ns(&self) -> u64 {
        self.recorder.next_issue_ns()
    }

    fn issue_due(&mut self, now_ns: u64) -> Result<Option<HostOperation<()>>, AccessesError> {
        self.issued_ns.push(now_ns);
        Ok(self.recorder.issue_due(now_ns))
    }

    fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        let ended = self.recorder.answered(now_ns, id);
        assert_eq!(ended.issued_ns + ended.response_ns, now_ns);
        self.ended.push((ended.issued_ns, ended.access));
        if ended.access.direction == Direction::Read {
            for delay_ns in [0, 5 * MS] {
                let write = access(ended.access.sector + 8, Direction::Write);
                self.recorder.schedule(now_ns + delay_ns, ended.lun, write);
            }
        }
        None
    }

    fn refused(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.recorder.refused(now_ns, id);
        None
    }

    fn is_done(&self) -> bool {
        self.recorder.is_idle()
    }

    fn issued(&self) -> Moved {
        self.recorder.issued()
    }

    fn answered_in_segment(&self) -> u64 {
        self.recorder.answered_in_segment()
    }

    fn end_segment(&mut self, _start_ns: u64, end_ns: u64) -> HostMeasures {
        self.recorder.end_segment(end_ns)
    }
}

#[test]
fn scheduled_operations_are_issued_when_they_are_due() {
    let mut simulation = simulation(Clocked::default());
    let segment = segments(&mut simulation, 1).remove(0);
    assert!(simulation.is_done());
    assert_eq!((segment.operations, segment.bytes), (12, 12 * 4096));
    let host = simulation.into_host();
    assert_eq!(host.issued_ns.len(), 12);
    assert!(host.issued_ns.is_sorted());
    let of = |direction| {
        let of = host.ended.iter().filter(move |(_, access)| access.direction == direction);
        let mut at_ns: Vec<u64> = of.map(|(at_ns, _)| *at_ns).collect();
        at_ns.sort_unstable();
        at_ns
    };
    assert_eq!(of(Direction::Read), [0, 0, 50 * MS, 50 * MS]);
    let writes = of(Direction::Write);
    assert_eq!(writes.len(), 8);
    for at_ns in &writes {
        let has_other = writes.iter().any(|other| other.abs_diff(*at_ns) == 5 * MS);
        assert!(has_other, "{at_ns} in {writes:?}");
    }
}

#[test]
#[should_panic(expected = "operation 3 is not outstanding")]
fn an_answer_to_nothing_is_refused() {
    let mut recorder = Recorder::new();
    let _ = recorder.issue(0, LunId(0), access(0, Direction::Read));
    recorder.answered(5, OperationId(3));
}
