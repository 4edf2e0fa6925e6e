//! The kind of an array of a scenario, whatever it is.

use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::ops::Deref;
use std::sync::{PoisonError, RwLock};

use crate::array::Array;
use crate::fields::{Fields, Table, faults_of, is_key, keys_of, table};
use crate::kinds::{InPlace, Kind, WriteAnywhere, Zfs};

/// Makes one of a kind, without any settings.
type New = fn() -> ArrayLayout;

/// The kinds that ship, in the order in which the schema and messages have them.
const KINDS: &[New] = &[
    // At a new address: a copy-on-write layout over parity groups.
    ArrayLayout::new::<WriteAnywhere>,
    // At its old address: VRAID-5 over redundancy sets, RAID-5 or RAID-0.
    ArrayLayout::new::<InPlace>,
    // At a new address: metaslabs of a pool's vdevs, a stripe for each block in RAID-Z.
    ArrayLayout::new::<Zfs>,
];

/// Those that the program adds.
static ADDED: RwLock<Vec<New>> = RwLock::new(Vec::new());

/// Adds a kind of arrays to those that scenarios may have, for the whole process and before the first is read.
///
/// # Panics
/// If an array has its key already, if it is no key of TOML, or if a setting is declared wrongly: twice, or with a
/// default that is no value of it.
pub fn add<K: Kind + Default>() {
    let mut kind = K::default();
    let key = kind.table().0;
    assert!(is_key(key), "`{key}` is no key: give lower-case letters, digits and _");
    assert!(!keys_of(&mut Array::default()).contains(&key), "there is [array.{key}]");
    assert!(ArrayLayout::all().iter().all(|kind| kind.table().0 != key), "there is [array.{key}]");
    let faults = faults_of(&mut kind);
    assert!(faults.is_empty(), "[array.{key}]: {}", faults.join("; "));
    ADDED.write().unwrap_or_else(PoisonError::into_inner).push(ArrayLayout::new::<K>);
}

/// The kind of an array, with its settings: where it writes an overwritten block, and what it consists of.
pub struct ArrayLayout(Box<dyn Kind>);

impl<K: Kind> From<K> for ArrayLayout {
    fn from(kind: K) -> Self {
        Self(Box::new(kind))
    }
}

impl Clone for ArrayLayout {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

impl PartialEq for ArrayLayout {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_like(&**other)
    }
}

impl Debug for ArrayLayout {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        // Its settings are listed by name; deriving this of all of them would make the page larger.
        formatter.write_str(self.table().0)
    }
}

impl Deref for ArrayLayout {
    type Target = dyn Kind;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl ArrayLayout {
    fn new<K: Kind + Default>() -> Self {
        K::default().into()
    }

    /// One of every kind, without any settings.
    pub(crate) fn all() -> Vec<Self> {
        let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
        KINDS.iter().chain(added.iter()).map(|new| new()).collect()
    }

    /// Returns its settings as those of a kind, if it is of that kind.
    #[must_use]
    pub fn get<K: Kind>(&self) -> Option<&K> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// The same, to be changed.
    #[must_use]
    pub fn get_mut<K: Kind>(&mut self) -> Option<&mut K> {
        (&mut *self.0 as &mut dyn Any).downcast_mut()
    }

    /// Returns the write-anywhere layout, if it is one.
    #[must_use]
    pub fn write_anywhere(&self) -> Option<&WriteAnywhere> {
        self.get()
    }

    /// Returns the in-place layout, if it is one.
    #[must_use]
    pub fn in_place(&self) -> Option<&InPlace> {
        self.get()
    }

    fn table_mut(&mut self) -> &mut dyn Table {
        &mut *self.0
    }

    /// Takes the kind whose table a text has; of several, the first. `f` reads the table of the array.
    pub(crate) fn begin(&mut self, f: &mut Fields<'_>) {
        let given = Self::all().into_iter().find(|kind| f.has(kind.table().0));
        if let Some(given) = given {
            *self = given;
        }
    }

    /// Goes over the table of its kind, of which an array must have exactly one.
    pub(crate) fn fields(&mut self, f: &mut Fields<'_>) {
        if f.describes() {
            for mut kind in Self::all() {
                let (key, about) = kind.table();
                f.part(table(key, about), kind.table_mut());
            }
            return;
        }
        if f.reads() && !Self::has_one(f) {
            return;
        }
        let (key, about) = self.table();
        f.part(table(key, about), self.table_mut());
    }

    /// Returns whether a text has the table of one kind, and notes a problem if not.
    fn has_one(f: &mut Fields<'_>) -> bool {
        let keys: Vec<&'static str> = Self::all().iter().map(|kind| kind.table().0).collect();
        let tables: Vec<String> = keys.iter().map(|key| format!("[array.{key}]")).collect();
        f.requires_one_of(&keys, &format!("add {} and its keys", tables.join(" or ")));
        keys.iter().for_each(|key| f.passes_over(key));
        let given: Vec<&'static str> = keys.into_iter().filter(|key| f.has(key)).collect();
        if let [first, second, ..] = given[..] {
            // A controller has the table of its kind, which the text need not give.
            let (first, second) =
                if f.is_given(second) { (first, second) } else { (second, first) };
            if f.is_given(first) != f.is_given(second) {
                f.refuses(
                    second,
                    &format!(
                        "the controller is that of {} {} array",
                        article(first),
                        first.replace('_', "-")
                    ),
                    &format!("leave out `controller`, or [array.{second}]"),
                );
                return false;
            }
            // It is unknown which of them is meant, so none is checked further.
            f.refuses(
                second,
                &format!(
                    "the array has both {} {first} and {} {second} layout",
                    article(first),
                    article(second)
                ),
                &format!("keep one of [array.{first}] and [array.{second}]"),
            );
            return false;
        }
        true
    }
}

pub(super) fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}
