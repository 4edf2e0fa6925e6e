//! Logical volumes of LVM: their segments as `lvs` lists them in JSON.
//!
//! ```json
//! {"report": [{"lv": [{"vg_name": "data", "lv_name": "vm", "lv_path": "/dev/data/vm", "vg_extent_size": "4194304",
//!     "segtype": "linear", "stripe_size": "0", "seg_start_pe": "0", "seg_size_pe": "256",
//!     "seg_pe_ranges": "/dev/sda2:1024-1279"}]}]}
//! ```

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::lvm_columns::{Area, areas, exact_size, number, text};
use crate::error::FileError;
use crate::extent::{Address, Extent, Place};
use crate::space::{AddressSpace, Device, LocatedDevice, ParityLayout, StripeMap};

/// The command whose output is read.
pub(super) const ARGUMENTS: [&str; 8] = [
    "-a",
    "--segments",
    "--units=b",
    "--nosuffix",
    "--reportformat",
    "json",
    "-o",
    "vg_name,lv_name,lv_path,vg_extent_size,segtype,stripe_size,seg_start_pe,seg_size_pe,seg_pe_ranges",
];
/// The shortest stripe of LVM is of a sector, and mostly of 4 KiB and more.
const LEAST_STRIPE_BYTES: u64 = 512;
/// More segments than this are no listing.
const MOST_SEGMENTS: usize = 1 << 20;

/// A logical volume, or a part of one that LVM has on physical volumes by itself: an image of a RAID, the data of a
/// thin pool or of a cache.
#[derive(Debug, Clone)]
pub struct LogicalVolume {
    /// Its path, and in brackets the name of the part.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// Its segments.
    pub extents: Vec<Extent>,
    /// The physical volumes. Addresses count from their first physical extent.
    pub space: AddressSpace,
    /// What falls short.
    pub notes: Vec<String>,
}

/// The volumes of a listing.
#[derive(Debug)]
pub struct VolumeListing {
    /// By volume group and name.
    volumes: BTreeMap<(String, String), Volume>,
}

#[derive(Debug, Default)]
struct Volume {
    path: Option<String>,
    /// Not listed without `-a`.
    is_hidden: bool,
    segments: Vec<Segment>,
}

#[derive(Debug, Clone)]
struct Segment {
    kind: String,
    offset: u64,
    bytes: u64,
    stripe_bytes: u64,
    extent_bytes: u64,
    areas: Vec<Area>,
}

/// Returns whether a text begins like a report of LVM.
#[must_use]
pub fn is_volume_listing(text: &str) -> bool {
    text.contains("\"report\"") && text.lines().any(|line| line.trim_start().starts_with('{'))
}

fn remedy() -> String {
    format!("give the output of `lvs {}`", ARGUMENTS.join(" "))
}

impl VolumeListing {
    /// Parses the output of `lvs` with the columns that are needed, which errors call `name`. Lines before the report
    /// are warnings.
    ///
    /// # Errors
    /// If it is not whole, a column is missing, or a figure is none; the message names the volume.
    pub fn parse(name: &str, text: &str) -> Result<Self, FileError> {
        let wrong = |what: String| FileError::input(format!("{name}: {what}"), remedy());
        let begins = |line: &&str| line.trim_start().starts_with('{');
        let skipped = text.lines().take_while(|line| !begins(line)).count();
        let json: String = text.split_inclusive('\n').skip(skipped).collect();
        let mut values = serde_json::Deserializer::from_str(&json).into_iter::<Value>();
        let value = match values.next() {
            Some(Ok(value)) => value,
            Some(Err(error)) if error.is_eof() => {
                return Err(wrong("the listing breaks off".to_owned()));
            }
            Some(Err(error)) => {
                return Err(wrong(format!("line {}: {error}", skipped + error.line())));
            }
            None => return Err(wrong("there is no report in it".to_owned())),
        };
        let reports = value.get("report").and_then(Value::as_array);
        let rows = reports.into_iter().flatten().filter_map(Value::as_object);
        let rows = rows.flat_map(Map::values).filter_map(Value::as_array).flatten();
        let mut volumes: BTreeMap<(String, String), Volume> = BTreeMap::new();
        for (row, number) in rows.filter_map(Value::as_object).zip(1..=MOST_SEGMENTS) {
            let (Some(group), Some(volume)) = (text_of(row, "vg_name"), text_of(row, "lv_name"))
            else {
                return Err(wrong(format!("row {number} has no vg_name or no lv_name")));
            };
            let plain = volume.trim_start_matches('[').trim_end_matches(']');
            let segment = Segment::of(row)
                .map_err(|what| wrong(format!("row {number}, volume {group}/{plain}: {what}")))?;
            let entry = volumes.entry((group.to_owned(), plain.to_owned())).or_default();
            entry.is_hidden |= plain != volume;
            if let Some(path) = text_of(row, "lv_path") {
                entry.path = Some(path.to_owned());
            }
            entry.segments.push(segment);
        }
        if volumes.is_empty() {
            return Err(wrong("no segment of a volume is listed".to_owned()));
        }
        volumes.values_mut().for_each(|volume| volume.segments.sort_by_key(|one| one.offset));
        Ok(Self { volumes })
    }

    /// The volumes that are not parts of others, by path.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        let visible = self.volumes.iter().filter(|(_, volume)| !volume.is_hidden);
        visible.map(|(names, volume)| volume.path(names)).collect()
    }

    /// The volume of a path, such as `/dev/data/vm`, `/dev/mapper/data-vm` or `data/vm`: itself if it lies on physical
    /// volumes, or is a RAID 5 or 6 each of whose images is in one piece, and otherwise its parts that do. `locate`
    /// tells the device of a physical volume.
    ///
    /// # Errors
    /// If there is none, or none of its parts is on a physical volume.
    pub fn volume(
        &self,
        path: &str,
        locate: &dyn Fn(&str) -> LocatedDevice,
    ) -> Result<Vec<LogicalVolume>, FileError> {
        let found = self.volumes.iter().find(|(names, volume)| volume.is_called(names, path));
        let Some((names, volume)) = found else {
            let all = self.paths();
            let shown: Vec<&str> = all.iter().take(8).map(String::as_str).collect();
            return Err(FileError::input(
                format!("there is no logical volume {path}"),
                format!("give one of {}", shown.join(", ")),
            ));
        };
        if let Some(whole) = self.with_parity(&names.0, volume) {
            return Ok(vec![whole.logical_volume(volume.path(names), locate)]);
        }
        let mut parts: Vec<&(String, String)> = vec![names];
        let mut position = 0;
        while let Some(part) = parts.get(position).copied() {
            for segment in self.volumes.get(part).iter().flat_map(|volume| &volume.segments) {
                for area in &segment.areas {
                    let below = self.below(&part.0, area);
                    parts.extend(below.filter(|below| !parts.contains(below)));
                }
            }
            position += 1;
        }
        let shown = volume.path(names);
        let on_devices = parts.into_iter().filter_map(|part| {
            let volume = self.volumes.get(part)?;
            let areas = || volume.segments.iter().flat_map(|segment| &segment.areas);
            let is_on_devices =
                areas().next().is_some() && areas().all(|area| self.below(&part.0, area).is_none());
            let name = if part == names { shown.clone() } else { format!("{shown} ({})", part.1) };
            is_on_devices.then(|| volume.logical_volume(name, locate))
        });
        let on_devices: Vec<LogicalVolume> = on_devices.collect();
        if on_devices.is_empty() {
            let kind = volume.segments.first().map_or("", |segment| segment.kind.as_str());
            return Err(FileError::input(
                format!("{shown}: of {kind} volumes LVM does not say where their bytes lie"),
                "give its pool, or the volume it is a snapshot of",
            ));
        }
        Ok(on_devices)
    }

    /// A RAID 5 or 6 on the devices of its images; none for other kinds, and if an image is in several pieces.
    fn with_parity(&self, group: &str, volume: &Volume) -> Option<Volume> {
        let on_device = |segment: &Segment, area: &Area| {
            let image = self.volumes.get(self.below(group, area)?)?;
            let [piece] = image.segments.as_slice() else { return None };
            let [place] = piece.areas.as_slice() else { return None };
            let is_same_unit = piece.offset == 0 && piece.extent_bytes == segment.extent_bytes;
            let is_on_device = self.below(group, place).is_none() && is_same_unit;
            let first = place.first.checked_add(area.first).filter(|_| is_on_device)?;
            Some(Area { name: place.name.clone(), first })
        };
        let segments = volume.segments.iter().map(|segment| {
            let parity = ParityLayout::of_lvm(&segment.kind)?;
            let is_enough = segment.areas.len() as u64 > parity.parities();
            let areas = segment.areas.iter().map(|area| on_device(segment, area));
            let areas = areas.collect::<Option<Vec<_>>>().filter(|_| is_enough)?;
            Some(Segment { areas, ..segment.clone() })
        });
        let segments = segments.collect::<Option<Vec<_>>>()?;
        let is_any = !segments.is_empty();
        is_any.then(|| Volume { path: volume.path.clone(), is_hidden: volume.is_hidden, segments })
    }

    /// The volume that an area is of, if it is of none of the devices.
    fn below(&self, group: &str, area: &Area) -> Option<&(String, String)> {
        let key = (group.to_owned(), area.name.clone());
        self.volumes.get_key_value(&key).map(|(key, _)| key)
    }
}

fn text_of<'a>(row: &'a Map<String, Value>, column: &str) -> Option<&'a str> {
    row.get(column).and_then(text).filter(|text| !text.is_empty())
}

impl Segment {
    fn of(row: &Map<String, Value>) -> Result<Self, String> {
        let figure = |column: &str| {
            let value = row.get(column).ok_or_else(|| format!("there is no column {column}"))?;
            number(value).ok_or_else(|| format!("{column} is {value}, which is no number"))
        };
        let size = |column: &str| {
            let value = row.get(column).ok_or_else(|| format!("there is no column {column}"))?;
            exact_size(value).ok_or_else(|| format!("{column} is {value}, which is no size"))
        };
        let extent_bytes = size("vg_extent_size")?;
        let bytes = |extents: u64| {
            extents.checked_mul(extent_bytes).ok_or_else(|| "it ends beyond 2^64 bytes".to_owned())
        };
        let ranges = row.get("seg_pe_ranges").and_then(text);
        let ranges = ranges.ok_or_else(|| "there is no column seg_pe_ranges".to_owned())?;
        let areas = areas(ranges)
            .ok_or_else(|| format!("seg_pe_ranges is {ranges:?}, not DEVICE:FIRST-LAST …"))?;
        let segment = Self {
            kind: text_of(row, "segtype").unwrap_or("unknown").to_owned(),
            offset: bytes(figure("seg_start_pe")?)?,
            bytes: bytes(figure("seg_size_pe")?)?,
            stripe_bytes: row.get("stripe_size").and_then(exact_size).unwrap_or(0),
            extent_bytes,
            areas,
        };
        if segment.offset.checked_add(segment.bytes).is_none() {
            return Err("it ends beyond 2^64 bytes".to_owned());
        }
        Ok(segment)
    }
}

impl Volume {
    fn path(&self, (group, name): &(String, String)) -> String {
        self.path.clone().unwrap_or_else(|| format!("/dev/{group}/{name}"))
    }

    fn is_called(&self, names: &(String, String), path: &str) -> bool {
        let (group, name) = names;
        // The device mapper doubles hyphens within names.
        let mapped =
            || format!("/dev/mapper/{}-{}", group.replace('-', "--"), name.replace('-', "--"));
        let names =
            [self.path(names), format!("/dev/{group}/{name}"), format!("{group}/{name}"), mapped()];
        names.iter().any(|known| known == path)
    }

    fn logical_volume(
        &self,
        name: String,
        locate: &dyn Fn(&str) -> LocatedDevice,
    ) -> LogicalVolume {
        let mut devices: Vec<&str> = Vec::new();
        for area in self.segments.iter().flat_map(|segment| &segment.areas) {
            if !devices.contains(&area.name.as_str()) && devices.len() < usize::from(u16::MAX) {
                devices.push(&area.name);
            }
        }
        let mut maps: Vec<StripeMap> = (0..devices.len() as u16).map(StripeMap::whole).collect();
        let device_of = |area: &Area| devices.iter().position(|device| *device == area.name);
        let (mut extents, mut notes) = (Vec::new(), Vec::new());
        for segment in &self.segments {
            let first_byte = |area: &Area| area.first.saturating_mul(segment.extent_bytes);
            let address = match segment.areas.as_slice() {
                [] => None,
                [only] => device_of(only)
                    .and_then(|device| u16::try_from(device).ok())
                    .map(|volume| Address { volume, byte: first_byte(only) }),
                all if segment.stripe_bytes >= LEAST_STRIPE_BYTES => {
                    let columns = all.iter().filter_map(|area| {
                        Some((u16::try_from(device_of(area)?).ok()?, first_byte(area)))
                    });
                    let columns = columns.collect();
                    let volume = u16::try_from(maps.len()).ok();
                    let parity = ParityLayout::of_lvm(&segment.kind);
                    if parity.is_some() {
                        notes.push("parity is not counted, which writes read and write".to_owned());
                    }
                    maps.push(StripeMap { stripe_bytes: segment.stripe_bytes, columns, parity });
                    volume.map(|volume| Address { volume, byte: 0 })
                }
                _ => None,
            };
            if segment.bytes == 0 {
                continue;
            }
            let place = address.map_or(Place::Unknown, Place::At);
            if address.is_none() {
                notes.push(format!("a segment of the kind {} has no known place", segment.kind));
            }
            extents.push(Extent {
                offset: segment.offset,
                bytes: segment.bytes,
                place,
                shared: false,
            });
        }
        notes.dedup();
        // Extents that overlap would be counted twice: a listing of a volume that is being converted.
        let mut end = 0;
        extents.retain(|extent| {
            let is_next = extent.offset >= end;
            end = end.max(extent.end());
            is_next
        });
        let devices = devices.iter().map(|device| locate(device)).collect();
        LogicalVolume {
            name,
            bytes: end,
            extents,
            space: AddressSpace::striped(devices, maps),
            notes,
        }
    }
}

/// A physical volume of a listing from another machine.
#[must_use]
pub fn listed_device(name: &str) -> LocatedDevice {
    Device { name: name.to_owned(), ..Device::default() }.into()
}
