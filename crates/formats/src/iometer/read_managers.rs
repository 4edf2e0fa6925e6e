//! The section of managers, workers and targets.

use crate::text::{ErrorKind, FileFormatError, quoted};

use super::cursor::{Cursor, Value, begins};
use super::{DataPattern, Manager, Target, TargetSettings, Worker, WorkerKind};

const SECTION: &str = "MANAGER LIST";

pub(super) fn managers(cursor: &mut Cursor) -> Result<Vec<Manager>, FileFormatError> {
    let mut managers = Vec::new();
    loop {
        let key = key(cursor, "'END manager list")?;
        if key.is("'END manager list") {
            return Ok(managers);
        }
        if !key.is("'Manager ID, manager name") {
            return Err(cursor.unexpected_last(SECTION));
        }
        let help = "write the number and the name of the manager, such as 1,HOST";
        let mut value = cursor.value_of(&key.text, help)?;
        let (id, name) = (value.number_32("manager ID", help)?, value.text());
        managers.push(manager(cursor, id, name)?);
    }
}

fn manager(cursor: &mut Cursor, id: u32, name: String) -> Result<Manager, FileFormatError> {
    let (network_address, workers) = (String::new(), Vec::new());
    let mut manager = Manager { id, name, network_address, workers };
    loop {
        let key = key(cursor, "'End manager")?;
        if key.is("'End manager") {
            return Ok(manager);
        } else if key.is("'Manager network address") {
            manager.network_address = cursor.value().map(|value| value.text()).unwrap_or_default();
        } else if key.is("'Worker") {
            manager.workers.push(worker(cursor)?);
        } else {
            return Err(cursor.unexpected_last(SECTION));
        }
    }
}

fn worker(cursor: &mut Cursor) -> Result<Worker, FileFormatError> {
    let mut worker = Worker {
        name: cursor.value().map(|value| value.text()).unwrap_or_default(),
        kind: WorkerKind::Disk,
        settings: None,
        assigned_specifications: None,
        targets: None,
    };
    loop {
        let key = key(cursor, "'End worker")?;
        if key.is("'End worker") {
            return Ok(worker);
        } else if key.is("'Worker type") {
            let mut value = cursor.value_of(&key.text, "write DISK")?;
            worker.kind = kind(&mut value, "worker type")?;
        } else if key.is("'Default target settings for worker") {
            worker.settings = Some(settings(cursor)?);
        } else if key.is("'Assigned access specs") {
            worker.assigned_specifications = Some(assigned(cursor)?);
        } else if key.is("'Target assignments") {
            worker.targets = Some(targets(cursor)?);
        } else {
            return Err(cursor.unexpected_last(SECTION));
        }
    }
}

/// Reads `DISK`, `NETWORK,TCP` or `NETWORK,VI`, with or without spaces.
fn kind(value: &mut Value<'_>, name: &str) -> Result<WorkerKind, FileFormatError> {
    let text = value.rest;
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let found = WorkerKind::WORDS.iter().find(|(_, word)| compact.eq_ignore_ascii_case(word));
    found.map(|(kind, _)| *kind).ok_or_else(|| {
        let message = format!("{name}: {} is not one of its values", quoted(text));
        let help = "write DISK, NETWORK,TCP or NETWORK,VI";
        value.line.error_of(text, ErrorKind::UnknownName, message, help)
    })
}

fn settings(cursor: &mut Cursor) -> Result<TargetSettings, FileFormatError> {
    let mut settings = TargetSettings { outstanding_ios: 1, ..TargetSettings::default() };
    loop {
        let key = key(cursor, "'End default target settings for worker")?;
        if key.is("'End default target settings for worker") {
            return Ok(settings);
        } else if begins(&key.text, "'Number of outstanding IOs") {
            let has_seed = key.text.to_ascii_lowercase().ends_with("fixed seed value");
            let help = "write, such as, 16,DISABLED,1,DISABLED,0";
            let mut value = cursor.value_of(&key.text, help)?;
            settings.outstanding_ios = value.number_32("number of outstanding IOs", help)?;
            let tests_connections = value.enabled_or_disabled("test connection rate")?;
            let transactions = value.number_32("transactions per connection", help)?;
            settings.connection_rate = tests_connections.then_some(transactions);
            settings.idle_transactions_per_connection =
                if tests_connections { 0 } else { transactions };
            if has_seed {
                let is_fixed = value.enabled_or_disabled("use fixed seed")?;
                let seed = value.number("fixed seed value", u64::MAX, help)?;
                settings.fixed_seed = is_fixed.then_some(seed);
                settings.idle_seed = if is_fixed { 0 } else { seed };
            }
        } else if begins(&key.text, "'Disk maximum size,starting sector") {
            let help = "write sectors, such as 0,0, and the number of a data pattern";
            let mut value = cursor.value_of(&key.text, help)?;
            settings.maximum_size_sectors = value.number("disk maximum size", u64::MAX, help)?;
            settings.starting_sector = value.number("starting sector", u64::MAX, help)?;
            if key.text.to_ascii_lowercase().ends_with("data pattern") {
                settings.data_pattern = Some(value.one_of("data pattern", DataPattern::WORDS)?);
            }
        } else if key.is("'Local network interface") {
            let interface = cursor.value().map(|value| value.text()).unwrap_or_default();
            settings.local_network_interface = Some(interface);
        } else if key.is("'VI outstanding IOs") {
            let help = "write a number, such as 8";
            let mut value = cursor.value_of(&key.text, help)?;
            settings.vi_outstanding_ios = Some(value.number_32("VI outstanding IOs", help)?);
        } else {
            return Err(cursor.unexpected_last(SECTION));
        }
    }
}

/// Reads one name per line.
fn assigned(cursor: &mut Cursor) -> Result<Vec<String>, FileFormatError> {
    const END: &str = "'End assigned access specs";
    let mut names = Vec::new();
    loop {
        let Some(line) = cursor.peek() else { return Err(cursor.ended_within(SECTION, END)) };
        let text = line.text.trim();
        if text.eq_ignore_ascii_case(END) {
            cursor.pass();
            return Ok(names);
        }
        if text.starts_with('\'') {
            return Err(cursor.unexpected(&line, "the list of assigned access specs"));
        }
        names.push(text.to_owned());
        cursor.pass();
    }
}

fn targets(cursor: &mut Cursor) -> Result<Vec<Target>, FileFormatError> {
    let mut targets = Vec::new();
    loop {
        let key = key(cursor, "'End target assignments")?;
        if key.is("'End target assignments") {
            return Ok(targets);
        }
        if !key.is("'Target") {
            return Err(cursor.unexpected_last(SECTION));
        }
        targets.push(target(cursor)?);
    }
}

fn target(cursor: &mut Cursor) -> Result<Target, FileFormatError> {
    let name = cursor.value().map(|value| value.text()).unwrap_or_default();
    let mut target = Target { name, kind: WorkerKind::Disk, manager: None };
    loop {
        let key = key(cursor, "'End target")?;
        if key.is("'End target") {
            return Ok(target);
        } else if key.is("'Target type") {
            let mut value = cursor.value_of(&key.text, "write DISK")?;
            target.kind = kind(&mut value, "target type")?;
        } else if key.is("'Target manager ID, manager name") {
            let help = "write the number and the name of the manager, such as 1,HOST";
            let mut value = cursor.value_of(&key.text, help)?;
            let (id, name) = (value.number_32("manager ID", help)?, value.text());
            target.manager = Some((id, name));
        } else {
            return Err(cursor.unexpected_last(SECTION));
        }
    }
}

/// A line with a key.
struct Key {
    text: String,
}

impl Key {
    fn is(&self, known: &str) -> bool {
        self.text.eq_ignore_ascii_case(known)
    }
}

/// Reads the next line, which must be a key. `end` is the line that ends the list it is in.
fn key(cursor: &mut Cursor, end: &str) -> Result<Key, FileFormatError> {
    let Some(line) = cursor.peek() else { return Err(cursor.ended_within(SECTION, end)) };
    let key = Key { text: line.text.trim().to_owned() };
    cursor.pass();
    Ok(key)
}
