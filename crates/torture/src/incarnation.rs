//! One incarnation of an array, from its start to its end.

use std::collections::BTreeMap;

use strewn_raid::SpindleIndex;

use strewn_base::{Rng, SECTOR_BYTES};

use crate::changes::draw_change;
use crate::end::End;
use crate::harness::Harness;
use crate::host::{Host, NamedTarget};
use crate::image::Version;
use crate::model::ImageName;
use crate::rng::{SpreadDraws, stream};
use crate::schedule::Schedule;
use strewn_live::administration::{
    Change, ChangeError, Inventory, LunName, SnapshotName, VolumeName,
};
use strewn_live::configuration::ArrayConfig;
use strewn_live::device::{DeviceIndex, Devices};
use strewn_live::engine::{HostRequest, LiveArray, RequestId, TargetId};
use strewn_live::format::MemberState;
use strewn_live::restart::{
    RestartError, RestartOptions, restart_in_place, restart_write_anywhere,
};
use strewn_live::running::RunningArray;

/// Sectors per read when the whole LUN is read.
const SCAN_SECTORS: u64 = 512;

/// The power failed, or a check failed.
enum Stop {
    Ended(End),
    Wrong(String),
}

impl From<String> for Stop {
    fn from(what: String) -> Self {
        Self::Wrong(what)
    }
}

type Array<'a, A> = RunningArray<&'a mut Harness, A>;

/// The array from one start to the next crash, stop or shutdown.
pub(crate) struct Incarnation<'a> {
    schedule: &'a mut Schedule,
    rng: Rng,
    host: Host,
    luns: Vec<NamedTarget>,
    in_snapshots: Vec<NamedTarget>,
    /// The versions that a scan has read so far.
    scan: Option<BTreeMap<ImageName, Vec<Version>>>,
    is_last: bool,
}

impl<'a> Incarnation<'a> {
    pub(crate) fn new(schedule: &'a mut Schedule, is_last: bool) -> Self {
        let mut rng = stream(schedule.rng.bits(), 2);
        let plan = &schedule.plan;
        let mut host = Host::new(&mut rng, plan.lun_sectors(), plan.most_sectors);
        host.may_lack_space = plan.full;
        let (luns, in_snapshots) = (Vec::new(), Vec::new());
        Self { schedule, rng, host, luns, in_snapshots, scan: None, is_last }
    }

    pub(crate) fn run_all(self, harness: &mut Harness) -> Result<End, String> {
        let Some(label) = self.schedule.label(&harness.devices)? else {
            return Err("no device has a label".to_owned());
        };
        self.schedule.trace(|| format!("label {} {:?}", label.sequence, label.members));
        let lun_sectors = self.schedule.plan.lun_sectors();
        let beginning = RestartOptions::new(label, lun_sectors);
        match self.schedule.plan.config.clone() {
            ArrayConfig::WriteAnywhere(config) => {
                self.run_as(harness, |harness| restart_write_anywhere(harness, &beginning, &config))
            }
            ArrayConfig::InPlace(config) => {
                self.run_as(harness, |harness| restart_in_place(harness, &beginning, &config))
            }
        }
    }

    fn run_as<A: LiveArray>(
        mut self,
        harness: &mut Harness,
        start: impl FnOnce(&mut Harness) -> Result<Array<'_, A>, RestartError>,
    ) -> Result<End, String> {
        self.host.supports_unmap = A::SUPPORTS_UNMAP;
        let array = match start(&mut *harness) {
            Ok(array) => array,
            Err(error) => {
                let no_room = matches!(&error, RestartError::Stopped(why) if why.contains("space"))
                    || error.to_string().contains("no space");
                return match () {
                    () if harness.hung.is_some() => Err(String::new()),
                    () if harness.is_off => Ok(End::CrashAtStart),
                    () if no_room && self.schedule.plan.full => {
                        harness.drain();
                        Ok(End::Stopped)
                    }
                    () => Err(format!("the array does not start: {error}")),
                };
            }
        };
        let end = match self.run(array) {
            Ok(end) | Err(Stop::Ended(end)) => end,
            Err(Stop::Wrong(what)) => return Err(what),
        };
        self.host.abandon(&mut self.schedule.shadow);
        self.schedule.summary.refused_for_space += self.host.refused_for_space;
        self.schedule.summary.refused_when_full += self.host.refused_when_full;
        if end == End::Stopped {
            match self.rng.one_in(2) {
                true => harness.cut(),
                false => harness.drain(),
            }
        }
        Ok(end)
    }

    fn run<A: LiveArray>(&mut self, mut array: Array<'_, A>) -> Result<End, Stop> {
        // The start has brought both devices of the log to equal contents.
        let lost = &array.devices_mut().lost;
        self.schedule.weak_log = self.schedule.weak_log.filter(|log| lost.contains(log));
        for DeviceIndex(spindle) in self.schedule.stale.iter().copied() {
            let member = &array.engine().label().members[usize::from(spindle)];
            if member.state == MemberState::Present {
                return Err(Stop::Wrong(format!("the old copy of spindle {spindle} is trusted")));
            }
        }
        let before = array.engine().superblock().consistency_point;
        self.host.piece_sectors = array.engine().piece_sectors();
        self.adopt(&array)?;
        self.scan(&mut array)?;
        self.check(&mut array)?;
        let changes = self.schedule.plan.changes;
        if !changes {
            self.change_snapshots(&mut array)?;
        }
        let mut left = match self.is_last {
            true => 0,
            false => self.schedule.plan.operations,
        };
        let mut replace_in = self.rng.spread(1..400);
        let mut change_in = if changes { self.rng.spread(1..40) } else { u64::MAX };
        while left > 0 || self.host.outstanding() > 0 {
            let depth = self.schedule.plan.depth as usize;
            while left > 0 && change_in > 0 && self.host.outstanding() < depth {
                left -= 1;
                self.schedule.summary.requests += 1;
                change_in -= 1;
                let shadow = &mut self.schedule.shadow;
                let drawn = self.host.draw(&mut self.rng, shadow, &self.luns);
                let Some((id, target, request)) = drawn else { break };
                self.submit(&mut array, id, target, request);
            }
            if change_in == 0 {
                self.change(&mut array)?;
                change_in = self.rng.spread(1..40);
            }
            if left > 0 && self.rng.one_in(200) {
                let now_ns = array.now_ns();
                array.engine_mut().bring_to_spindles(now_ns);
            }
            self.poll(&mut array)?;
            replace_in = replace_in.saturating_sub(1);
            if replace_in == 0 {
                self.replace(&mut array);
                replace_in = self.rng.spread(1..400);
            }
        }
        self.schedule.summary.consistency_points +=
            array.engine().superblock().consistency_point - before;
        if self.is_last || self.rng.one_in(2) {
            self.rebuild(&mut array)?;
        }
        if self.is_last {
            self.scan(&mut array)?;
        }
        array.shut_down().map_err(|why| self.stopped(&mut array, &why))?;
        self.schedule.shadow.changed = None;
        self.check(&mut array)?;
        Ok(End::ShutDown)
    }

    fn submit<A: LiveArray>(
        &mut self,
        array: &mut Array<'_, A>,
        id: RequestId,
        target: TargetId,
        request: HostRequest,
    ) {
        self.schedule.trace(|| match &request {
            HostRequest::Write { first_sector, data } => {
                let end = first_sector + data.len() as u64 / SECTOR_BYTES;
                format!("{} {}: Write({first_sector}..{end})", id.0, target.0)
            }
            request => format!("{} {}: {request:?}", id.0, target.0),
        });
        array.submit(id, target, request);
    }

    /// Returns what it means that the array has stopped.
    fn stopped<A: LiveArray>(&self, array: &mut Array<'_, A>, why: &str) -> Stop {
        match () {
            () if array.devices_mut().is_off => Stop::Ended(End::Crash),
            () if self.schedule.plan.full && why.contains("space") => Stop::Ended(End::Stopped),
            () => Stop::Wrong(format!("the array has stopped: {why}")),
        }
    }

    fn poll<A: LiveArray>(&mut self, array: &mut Array<'_, A>) -> Result<(), Stop> {
        array.poll(None);
        if array.devices_mut().is_off {
            return Err(Stop::Ended(End::Crash));
        }
        let mut answers = Vec::new();
        array.engine_mut().take_answers(&mut answers);
        for (id, answer) in answers {
            self.schedule.trace(|| match &answer {
                Ok(_) => format!("{} done", id.0),
                Err(error) => format!("{} {error}", id.0),
            });
            let found = self.host.on_answer(id, answer, &mut self.schedule.shadow)?;
            if let (Some((of, first, found)), Some(scan)) = (found, &mut self.scan)
                && let Some(scan) = scan.get_mut(&of)
            {
                scan[first as usize..][..found.len()].copy_from_slice(&found);
            }
        }
        let stopped = array.engine().stopped().map(str::to_owned);
        stopped.map_or(Ok(()), |why| Err(self.stopped(array, &why)))
    }

    /// Reads all LUNs, and LUNs in snapshots unless the array has only one LUN, and compares them with what the host
    /// was told.
    fn scan<A: LiveArray>(&mut self, array: &mut Array<'_, A>) -> Result<(), Stop> {
        let mut scanned = self.luns.clone();
        if self.schedule.plan.changes {
            scanned.extend_from_slice(&self.in_snapshots);
        }
        let sectors_of = |one: &NamedTarget| self.schedule.shadow.model.image(&one.name).sectors();
        let mut reads = Vec::new();
        for one in &scanned {
            let sectors = sectors_of(one);
            for first in (0..sectors).step_by(SCAN_SECTORS as usize) {
                reads.push((one.clone(), first..(first + SCAN_SECTORS).min(sectors)));
            }
        }
        let empty = |one: &NamedTarget| (one.name.clone(), vec![0; sectors_of(one) as usize]);
        self.scan = Some(scanned.iter().map(empty).collect());
        let mut reads = reads.into_iter().peekable();
        while reads.peek().is_some() || self.host.outstanding() > 0 {
            while self.host.outstanding() < 4
                && let Some((NamedTarget { name, target }, sectors)) = reads.next()
            {
                let (id, request) = self.host.read(name, sectors, &self.schedule.shadow);
                array.submit(id, target, request);
            }
            self.poll(array)?;
        }
        for (name, found) in self.scan.take().unwrap_or_default() {
            let image = self.schedule.shadow.model.image_mut(&name);
            image.reconcile(&found).map_err(|what| format!("{name}: {what}"))?;
        }
        Ok(())
    }

    /// Finds out what the array has: an interrupted change is done or not.
    fn adopt<A: LiveArray>(&mut self, array: &Array<'_, A>) -> Result<(), Stop> {
        let inventory = array.inventory();
        self.schedule.shadow.adopt(&inventory)?;
        let (luns, in_snapshots) = targets_of(&inventory).into_iter().partition(is_lun);
        (self.luns, self.in_snapshots) = (luns, in_snapshots);
        Ok(())
    }

    /// May delete a snapshot, and may take one. The whole LUN must be known and on the spindles.
    fn change_snapshots<A: LiveArray>(&mut self, array: &mut Array<'_, A>) -> Result<(), Stop> {
        let snapshots = &self.schedule.shadow.model.snapshots;
        let snapshots: Vec<SnapshotName> = snapshots.iter().cloned().collect();
        if !snapshots.is_empty() && self.rng.one_in(3) {
            let snapshot = self.rng.pick(&snapshots).clone();
            self.administer(array, Change::DeleteSnapshot { snapshot })?;
        }
        if A::SUPPORTS_UNMAP && self.rng.one_in(2) {
            let taken_unix_seconds = self.schedule.incarnation;
            let name =
                SnapshotName::new(VolumeName::first(), &format!("life {taken_unix_seconds}"));
            let Ok(snapshot) = name else { return Ok(()) };
            self.administer(array, Change::TakeSnapshot { snapshot, taken_unix_seconds })?;
        }
        Ok(())
    }

    /// Waits for all answers, and makes a change.
    fn change<A: LiveArray>(&mut self, array: &mut Array<'_, A>) -> Result<(), Stop> {
        while self.host.outstanding() > 0 {
            self.poll(array)?;
        }
        if self.schedule.shadow.changed.is_some() {
            // The last change still waits for space.
            match array.catch_up() {
                Ok(()) => self.schedule.shadow.changed = None,
                Err(why) if array.engine().stopped().is_some() => {
                    return Err(self.stopped(array, &why));
                }
                Err(_) => return Ok(()),
            }
        }
        match draw_change(&mut self.rng, &self.schedule.shadow.model) {
            Some(change) => self.administer(array, change),
            None => Ok(()),
        }
    }

    /// Carries out a change. If the array refuses it, nothing may have changed; if the power fails meanwhile, it is
    /// done or not.
    fn administer<A: LiveArray>(
        &mut self,
        array: &mut Array<'_, A>,
        change: Change,
    ) -> Result<(), Stop> {
        self.schedule.trace(|| format!("{change:?}"));
        let after = self.schedule.shadow.model.after(&change);
        self.schedule.shadow.changed = after.clone().ok();
        let done = array.administer(change.clone());
        self.schedule.trace(|| match &done {
            Ok(()) => "changed".to_owned(),
            Err(error) => format!("not changed: {error}"),
        });
        match done {
            Ok(()) => {
                let summary = &mut self.schedule.summary;
                summary.changes += 1;
                summary.snapshots += u64::from(matches!(change, Change::TakeSnapshot { .. }));
                let after = after.map_err(|why| format!("{change:?} is made, although {why}"))?;
                self.schedule.shadow.model = after;
            }
            Err(ChangeError::NoSpace(_)) if self.goes_on_without_space(array) => {
                return self.adopt_unwritten(array);
            }
            Err(ChangeError::Stopped(why) | ChangeError::NoSpace(why)) => {
                return Err(self.stopped(array, &why));
            }
            Err(error) if error.is_of_contents() => self.schedule.summary.changes_refused += 1,
            Err(error) => return Err(Stop::Wrong(format!("{change:?} fails: {error}"))),
        }
        self.schedule.shadow.changed = None;
        self.adopt(array)
    }

    fn goes_on_without_space<A: LiveArray>(&mut self, array: &mut Array<'_, A>) -> bool {
        let Schedule { plan, .. } = &self.schedule;
        plan.full && plan.changes && !array.devices_mut().is_off && self.rng.one_in(2)
    }

    /// Goes on with what the array has after a change that could not be written. If it was made, it takes effect when
    /// there is space; nothing is acknowledged before that.
    fn adopt_unwritten<A: LiveArray>(&mut self, array: &Array<'_, A>) -> Result<(), Stop> {
        let before = self.schedule.shadow.model.clone();
        let is_made = !before.describes(&array.inventory());
        self.adopt(array)?;
        self.schedule.shadow.changed = is_made.then_some(before);
        Ok(())
    }

    /// Checks the spindles, if nothing is in flight to them.
    fn check<A: LiveArray>(&mut self, array: &mut Array<'_, A>) -> Result<(), Stop> {
        if !array.engine().is_clean() || array.is_waiting() {
            return Ok(());
        }
        let label = array.engine().label().clone();
        let harness: &Harness = array.devices_mut();
        self.schedule.check(harness, &label)?;
        Ok(())
    }

    /// Replaces a spindle that the array has lost by a blank device.
    fn replace<A: LiveArray>(&mut self, array: &mut Array<'_, A>) {
        let members = &array.engine().label().members;
        let failed = members.iter().position(|member| member.state == MemberState::Failed);
        let Some(spindle) = failed else { return };
        self.schedule.trace(|| format!("spindle {spindle} is replaced"));
        let blank = self.schedule.plan.blank(spindle as u16);
        let device = DeviceIndex(spindle as u16);
        let mut harness: &mut Harness = array.devices_mut();
        Devices::replace(&mut harness, device, blank);
        let now_ns = array.now_ns();
        array.engine_mut().replaced(now_ns, SpindleIndex(spindle as u16));
    }

    /// Waits until every lost spindle is replaced and rebuilt.
    fn rebuild<A: LiveArray>(&mut self, array: &mut Array<'_, A>) -> Result<(), Stop> {
        let mut turns = 0u64;
        let begin_ns = array.now_ns();
        loop {
            self.replace(array);
            let members = &array.engine().label().members;
            if members.iter().all(|member| member.state == MemberState::Present) {
                self.schedule.summary.rebuilds += u64::from(turns > 0);
                return Ok(());
            }
            if let Some(why) = array.obstacle(begin_ns) {
                return Err(self.stopped(array, &why));
            }
            turns += 1;
            if turns > 1_000_000 {
                return Err(Stop::Wrong("a rebuild does not come to its end".to_owned()));
            }
            self.poll(array)?;
        }
    }
}

/// Returns all LUNs, and those in snapshots.
pub(crate) fn targets_of(inventory: &Inventory) -> Vec<NamedTarget> {
    let mut targets = Vec::new();
    for volume in &inventory.volumes {
        for lun in &volume.luns {
            if let Ok(name) = LunName::new(volume.name.clone(), &lun.name) {
                targets.push(NamedTarget { name: ImageName::Lun(name), target: lun.target });
            }
        }
        for snapshot in &volume.snapshots {
            let Ok(name) = SnapshotName::new(volume.name.clone(), &snapshot.name) else { continue };
            for lun in &snapshot.luns {
                let name = ImageName::InSnapshot(name.clone(), lun.name.clone());
                targets.extend(lun.target.map(|target| NamedTarget { name, target }));
            }
        }
    }
    targets
}

fn is_lun(target: &NamedTarget) -> bool {
    target.name.is_lun()
}
