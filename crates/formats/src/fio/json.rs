//! JSON as fio lays it out, and maps whose order counts.

use std::fmt;
use std::io;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};

/// Reads a map whose entries keep their order.
pub(super) fn in_order<'de, V, D>(deserializer: D) -> Result<Vec<(String, V)>, D::Error>
where
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct InOrder<V>(std::marker::PhantomData<V>);
    impl<'de, V: Deserialize<'de>> Visitor<'de> for InOrder<V> {
        type Value = Vec<(String, V)>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = map.next_entry()? {
                entries.push(entry);
            }
            Ok(entries)
        }
    }
    deserializer.deserialize_map(InOrder(std::marker::PhantomData))
}

/// Options as a map.
pub(super) mod pairs {
    use super::*;

    pub(in crate::fio) fn serialize<S: Serializer>(
        pairs: &[(String, String)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
    }

    pub(in crate::fio) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, String)>, D::Error> {
        in_order(deserializer)
    }
}

/// Percentages as keys with six decimals.
pub(super) mod percentiles {
    use super::*;
    use serde::de::Error;

    pub(in crate::fio) fn serialize<S: Serializer>(
        percentiles: &Option<Vec<(f64, u64)>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let percentiles = percentiles.as_deref().unwrap_or_default();
        let mut map = serializer.serialize_map(Some(percentiles.len()))?;
        for (percent, ns) in percentiles {
            map.serialize_entry(&format!("{percent:.6}"), ns)?;
        }
        map.end()
    }

    pub(in crate::fio) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<(f64, u64)>>, D::Error> {
        let entries = in_order::<u64, D>(deserializer)?.into_iter();
        let percentiles = entries.map(|(percent, ns)| match percent.parse() {
            Ok(percent) => Ok((percent, ns)),
            Err(_) => Err(D::Error::custom(format!("`{percent}` is not a percentage"))),
        });
        percentiles.collect::<Result<_, _>>().map(Some)
    }
}

/// JSON as fio lays it out.
#[derive(Default)]
pub(super) struct FioFormatter {
    pretty: serde_json::ser::PrettyFormatter<'static>,
}

impl serde_json::ser::Formatter for FioFormatter {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write!(writer, "{value:.6}")
    }

    /// Returns an error: no value is null, so this is a number that is not finite.
    fn write_null<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        Err(io::ErrorKind::InvalidData.into())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.pretty.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.pretty.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b" : ")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.pretty.end_object_value(writer)
    }
}
