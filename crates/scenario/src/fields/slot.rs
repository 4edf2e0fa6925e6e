//! The place of a value in a scenario.

use crate::setting_value::SettingValue;

/// The place of a setting's value, in base units: bytes, nanoseconds, the words of a choice.
pub trait Slot {
    /// Returns the value; none if the setting is not set.
    fn get(&self) -> Option<SettingValue>;

    /// Sets a value that the setting's kind allows.
    fn set(&mut self, value: SettingValue);

    /// Makes a setting that may be absent so.
    fn clear(&mut self) {}
}

/// A type whose values are words in a scenario.
pub trait Words: Copy + PartialEq + 'static {
    /// Each word, and what it means.
    const WORDS: &'static [(&'static str, Self)];

    /// Returns the word for the value.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, meaning)| *meaning == self).map_or("", |(word, _)| word)
    }
}

impl<T: Words> Slot for T {
    fn get(&self) -> Option<SettingValue> {
        Some(self.word().into())
    }

    fn set(&mut self, value: SettingValue) {
        let SettingValue::Text(text) = value else { return };
        if let Some((_, meaning)) = T::WORDS.iter().find(|(word, _)| *word == text) {
            *self = *meaning;
        }
    }
}

/// A value of one type in the place of another: whole numbers in a narrower type, lists of them.
trait Single: Sized + Clone {
    fn to(&self) -> SettingValue;
    fn of(value: SettingValue) -> Option<Self>;
}

macro_rules! whole {
    ($($type:ty)*) => { $(
        impl Single for $type {
            fn to(&self) -> SettingValue {
                (*self).into()
            }

            fn of(value: SettingValue) -> Option<Self> {
                match value {
                    SettingValue::Count(count) => Self::try_from(count).ok(),
                    _ => None,
                }
            }
        }
    )* };
}

whole!(u8 u16 u32 u64);

impl Single for f64 {
    fn to(&self) -> SettingValue {
        (*self).into()
    }

    fn of(value: SettingValue) -> Option<Self> {
        match value {
            SettingValue::Number(number) => Some(number),
            // A time, as a cost.
            SettingValue::Count(count) => Some(count as f64),
            _ => None,
        }
    }
}

impl Single for bool {
    fn to(&self) -> SettingValue {
        (*self).into()
    }

    fn of(value: SettingValue) -> Option<Self> {
        match value {
            SettingValue::Flag(flag) => Some(flag),
            _ => None,
        }
    }
}

impl Single for String {
    fn to(&self) -> SettingValue {
        self.as_str().into()
    }

    fn of(value: SettingValue) -> Option<Self> {
        match value {
            SettingValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

macro_rules! slots {
    ($($type:ty)*) => { $(
        impl Slot for $type {
            fn get(&self) -> Option<SettingValue> {
                Some(self.to())
            }

            fn set(&mut self, value: SettingValue) {
                if let Some(value) = Self::of(value) {
                    *self = value;
                }
            }
        }

        impl Slot for Option<$type> {
            fn get(&self) -> Option<SettingValue> {
                self.as_ref().map(Single::to)
            }

            fn set(&mut self, value: SettingValue) {
                *self = <$type>::of(value);
            }

            fn clear(&mut self) {
                *self = None;
            }
        }

        impl Slot for Vec<$type> {
            fn get(&self) -> Option<SettingValue> {
                (!self.is_empty()).then(|| SettingValue::List(self.iter().map(Single::to).collect()))
            }

            fn set(&mut self, value: SettingValue) {
                if let SettingValue::List(values) = value {
                    *self = values.into_iter().filter_map(<$type>::of).collect();
                }
            }

            fn clear(&mut self) {
                Vec::clear(self);
            }
        }
    )* };
}

slots!(u8 u16 u32 u64 f64 bool String);

/// The place of a limit, of which `u64::MAX` is none.
pub struct Limit<'l>(pub &'l mut u64);

impl Slot for Limit<'_> {
    fn get(&self) -> Option<SettingValue> {
        (*self.0 < u64::MAX).then(|| (*self.0).into())
    }

    fn set(&mut self, value: SettingValue) {
        Slot::set(self.0, value);
    }

    fn clear(&mut self) {
        *self.0 = u64::MAX;
    }
}

/// The place of a number that is not there if it is zero.
pub struct UnlessZero<'n>(pub &'n mut u64);

impl Slot for UnlessZero<'_> {
    fn get(&self) -> Option<SettingValue> {
        (*self.0 > 0).then(|| (*self.0).into())
    }

    fn set(&mut self, value: SettingValue) {
        Slot::set(self.0, value);
    }

    fn clear(&mut self) {
        *self.0 = 0;
    }
}
