//! All figures of a part of results: whether each can become JSON, which has no numbers that are infinite or no numbers
//! at all, and each with fewer digits.

use crate::data::number::rounded;
use serde::de::DeserializeOwned;
use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Value;
use std::fmt;

/// Returns whether every figure of a value is a number, and finite.
pub(crate) fn is_finite(value: &impl Serialize) -> bool {
    value.serialize(Finite).is_ok()
}

/// Returns a part of results with every figure that is not a count [`rounded`] to `significant_digits`. JSON tells
/// them apart: counts are whole numbers there.
pub(crate) fn with_rounded_figures<Part: Serialize + DeserializeOwned>(
    part: Part,
    significant_digits: usize,
) -> Part {
    // A figure that is no number is refused when it is written.
    if !is_finite(&part) {
        return part;
    }
    let json = serde_json::to_value(&part).map(|mut json| {
        round_all(&mut json, significant_digits);
        json
    });
    json.and_then(serde_json::from_value).unwrap_or(part)
}

fn round_all(json: &mut Value, significant_digits: usize) {
    match json {
        Value::Number(number) if number.is_f64() => {
            let figure = number.as_f64().map(|figure| rounded(figure, significant_digits));
            *json = figure.map_or(Value::Null, Value::from);
        }
        Value::Array(all) => all.iter_mut().for_each(|one| round_all(one, significant_digits)),
        Value::Object(all) => {
            all.values_mut().for_each(|one| round_all(one, significant_digits));
        }
        _ => {}
    }
}

/// Looks at every figure, and writes nothing.
#[derive(Clone, Copy)]
struct Finite;

/// A figure is infinite, or not a number.
#[derive(Debug)]
struct NotFinite;

impl fmt::Display for NotFinite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("infinite or not a number")
    }
}

impl std::error::Error for NotFinite {}

impl serde::ser::Error for NotFinite {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

type Checked = Result<(), NotFinite>;

macro_rules! any {
    ($($name:ident($of:ty)),*) => {
        $(fn $name(self, _: $of) -> Checked { Ok(()) })*
    };
}

impl Serializer for Finite {
    type Ok = ();
    type Error = NotFinite;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fn serialize_f64(self, figure: f64) -> Checked {
        if figure.is_finite() { Ok(()) } else { Err(NotFinite::custom("")) }
    }

    fn serialize_f32(self, figure: f32) -> Checked {
        self.serialize_f64(figure.into())
    }

    any!(serialize_bool(bool), serialize_char(char), serialize_str(&str), serialize_bytes(&[u8]));
    any!(serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64));
    any!(serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64));
    any!(serialize_unit_struct(&'static str));

    fn serialize_none(self) -> Checked {
        Ok(())
    }

    fn serialize_unit(self) -> Checked {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Checked {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Checked {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Checked {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Checked {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, NotFinite> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, NotFinite> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, NotFinite> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, NotFinite> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, NotFinite> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, NotFinite> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, NotFinite> {
        Ok(self)
    }
}

macro_rules! parts {
    ($($of:ident { $($name:ident $(($field:ty))?),* })*) => {
        $(impl $of for Finite {
            type Ok = ();
            type Error = NotFinite;

            $(fn $name<T: Serialize + ?Sized>(&mut self, $(_: $field,)? value: &T) -> Checked {
                value.serialize(*self)
            })*

            fn end(self) -> Checked {
                Ok(())
            }
        })*
    };
}

parts! {
    SerializeSeq { serialize_element }
    SerializeTuple { serialize_element }
    SerializeTupleStruct { serialize_field }
    SerializeTupleVariant { serialize_field }
    SerializeMap { serialize_key, serialize_value }
    SerializeStruct { serialize_field(&'static str) }
    SerializeStructVariant { serialize_field(&'static str) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn figures_are_rounded_wherever_they_are_and_counts_are_not() {
        type Part = (u64, BTreeMap<String, Vec<(f64, Option<f64>, u32)>>);
        let part = |figure: f64, whole: f64| -> Part {
            let all = vec![(figure, Some(figure), 1_234_567), (whole, None, 0)];
            (u64::MAX, BTreeMap::from([("a".to_owned(), all)]))
        };
        assert_eq!(with_rounded_figures(part(1.234_567, 5.0), 3), part(1.23, 5.0));
        assert_eq!(with_rounded_figures(part(1.234_567, f64::INFINITY), 3).1["a"][0].0, 1.234_567);
    }

    #[test]
    fn a_figure_is_found_wherever_it_is() {
        #[derive(serde::Serialize)]
        enum Kind {
            One(f64),
            Several { figures: (f64, Option<f32>) },
        }
        let map = |figure: f64| BTreeMap::from([("a", vec![Kind::One(1.0), Kind::One(figure)])]);
        assert!(is_finite(&map(-0.0)) && is_finite(&Option::<f64>::None));
        for figure in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!is_finite(&map(figure)));
            assert!(!is_finite(&Kind::Several { figures: (0.0, Some(figure as f32)) }));
            assert!(!is_finite(&[(figure, "text")]));
        }
    }
}
