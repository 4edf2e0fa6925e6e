//! What an array's IOPS become if one constant of its model is another: measured once, stored beside the scenario.
//!
//! For each row, one constant is changed, the declared parameters are fitted again to the published segments, and every
//! segment is simulated again. A run reads the rows and makes bands of them.
//!
//! ```toml
//! schema = 1
//! scenario = "making-sense-of-wafl-4"
//! strewn = "0.1.0"
//! scale_down = 8
//!
//! [[array]]
//! name = "FAS2050"
//! settings = "1f3870be274f6c49"     # of the array and its workload, as a digest
//! fitted = [66.7, 108.5]            # the fitted parameters of the baseline
//! iops = [4873.0, 4511.0]           # the baseline, one figure a segment, from segment 1
//!
//! [[array.row]]
//! name = "buffer cache of 1 GiB"
//! constant = "FAS2050.write_anywhere.buffer_cache"
//! kind = "unknown"                  # or "fitted-row", "seed"
//! fitted = [67.7, 107.3]            # what the fitted parameters became
//! iops = [4871.0, 4472.0]
//!
//! [[array.row]]
//! name = "chunk of 32 blocks"
//! constant = "FAS2050.write_anywhere.chunk_blocks"
//! kind = "unknown"
//! no_fit = [-12.9, -15.1]           # errors of the fitted segments in percent: no fit was reached
//! ```

use crate::data::toml_text::{TomlError, TomlText};
use serde::{Deserialize, Serialize};
use std::path::Path;
use toml::Spanned;

/// The version of the format that this crate reads and writes.
pub const SENSITIVITY_SCHEMA: u32 = 1;

/// What changes of constants do to the IOPS of a scenario's arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// Name of the scenario.
    pub scenario: String,
    /// Version of the program that measured it.
    pub strewn: String,
    /// It was measured at 1/`scale_down` of full scale; 1 for full scale.
    pub scale_down: u32,
    /// The arrays, each with another name.
    pub arrays: Vec<ArraySensitivity>,
}

/// What changes of constants do to the IOPS of one array.
#[derive(Clone, Debug, PartialEq)]
pub struct ArraySensitivity {
    /// Name of the array, as in the scenario.
    pub name: String,
    /// A digest of all settings that the array's figures depend on. It is compared, never read.
    pub settings: String,
    /// The fitted parameters with no constant changed, in the scenario's order and units; empty if that is not
    /// recorded.
    pub fitted: Vec<f64>,
    /// Host operations per second with no constant changed, by segment, from segment 1.
    pub iops: Vec<f64>,
    /// One row for each change, each with another name.
    pub rows: Vec<SensitivityRow>,
}

/// One change of a constant, and what became of the array.
#[derive(Clone, Debug, PartialEq)]
pub struct SensitivityRow {
    /// The change, for a reader: "buffer cache of 1 GiB".
    pub name: String,
    /// The constant that was changed. Rows of one constant are alternatives: at most one of them is true.
    pub constant: String,
    /// What is uncertain about it. The same in all rows of a constant.
    pub kind: VariedKind,
    /// What the change did.
    pub outcome: RowOutcome,
}

/// Why a constant may be another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VariedKind {
    /// Nobody published it.
    Unknown,
    /// It is a published figure that parameters are fitted to, and such a figure scatters. A row moves it by one
    /// standard deviation.
    FittedRow,
    /// It is the seed of the random choices.
    Seed,
}

/// What a changed constant did to an array.
#[derive(Clone, Debug, PartialEq)]
pub enum RowOutcome {
    /// The array could be fitted.
    Fit {
        /// The fitted parameters, in the scenario's order and units; empty if the array has none.
        fitted: Vec<f64>,
        /// Host operations per second, by segment: as many figures as the baseline has.
        iops: Vec<f64>,
    },
    /// No values of the fitted parameters reproduce the fitted segments.
    NoFit {
        /// How far off each fitted segment's IOPS stayed, percent.
        errors_percent: Vec<f64>,
    },
}

impl Sensitivity {
    /// Reads the text of a file of sensitivities. `path` is used in messages only.
    ///
    /// # Errors
    ///
    /// If the text is not TOML, is of another schema, has an unknown field or lacks a required one; if a figure is not
    /// a positive number; if two arrays, or two rows of an array, share a name; if a row has another number of segments
    /// than the baseline, has both IOPS and `no_fit` or neither; or if rows of one constant differ in kind.
    pub fn from_toml(text: &str, path: impl AsRef<Path>) -> Result<Self, TomlError> {
        Self::read(&Reader(TomlText::new(text, path.as_ref())))
    }

    fn read(reader: &Reader) -> Result<Self, TomlError> {
        // The schema first: the shape of another one would only give a puzzling message.
        let SchemaOnly { schema } = reader.0.parse()?;
        if *schema.get_ref() != u64::from(SENSITIVITY_SCHEMA) {
            let message = format!(
                "schema {} cannot be read, only schema {SENSITIVITY_SCHEMA}",
                schema.get_ref()
            );
            return Err(reader.error(&schema, "schema", message));
        }
        let raw: RawSensitivity = reader.0.parse()?;
        if *raw.scale_down.get_ref() == 0 {
            let message = "is at least 1, which is full scale".to_owned();
            return Err(reader.error(&raw.scale_down, "scale_down", message));
        }
        let mut arrays: Vec<ArraySensitivity> = Vec::with_capacity(raw.array.len());
        for array in raw.array {
            if arrays.iter().any(|other| other.name == *array.name.get_ref()) {
                let message = format!("{:?} is already there", array.name.get_ref());
                return Err(reader.error(&array.name, "array.name", message));
            }
            arrays.push(reader.array(array)?);
        }
        Ok(Self {
            scenario: raw.scenario,
            strewn: raw.strewn,
            scale_down: raw.scale_down.into_inner(),
            arrays,
        })
    }

    /// Writes the text that [`from_toml`](Self::from_toml) reads: the same bytes for equal figures, each of which is
    /// read back to the last bit.
    ///
    /// ```
    /// use strewn_results::{ArraySensitivity, Sensitivity};
    ///
    /// let array = ArraySensitivity {
    ///     name: "FAS2050".to_owned(),
    ///     settings: "1f3870be274f6c49".to_owned(),
    ///     fitted: Vec::new(),
    ///     iops: vec![4873.0, 4511.0],
    ///     rows: Vec::new(),
    /// };
    /// let measured = Sensitivity {
    ///     scenario: "wafl".to_owned(),
    ///     strewn: "0.1.0".to_owned(),
    ///     scale_down: 8,
    ///     arrays: vec![array],
    /// };
    /// let text = measured.to_toml();
    /// assert!(text.contains("iops = [4873.0, 4511.0]\n"));
    /// assert_eq!(Sensitivity::from_toml(&text, "wafl.sensitivity.toml")?, measured);
    /// # Ok::<(), strewn_results::TomlError>(())
    /// ```
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = format!(
            "schema = {SENSITIVITY_SCHEMA}\nscenario = {}\nstrewn = {}\nscale_down = {}\n",
            string(&self.scenario),
            string(&self.strewn),
            self.scale_down
        );
        for array in &self.arrays {
            text += &format!(
                "\n[[array]]\nname = {}\nsettings = {}\n{}iops = {}\n",
                string(&array.name),
                string(&array.settings),
                match &array.fitted[..] {
                    [] => String::new(),
                    fitted => format!("fitted = {}\n", self::figures(fitted)),
                },
                figures(&array.iops)
            );
            for SensitivityRow { name, constant, kind, outcome } in &array.rows {
                text += &format!(
                    "\n[[array.row]]\nname = {}\nconstant = {}\nkind = \"{}\"\n",
                    string(name),
                    string(constant),
                    kind.as_str()
                );
                text += &match outcome {
                    RowOutcome::Fit { fitted, iops } => {
                        format!("fitted = {}\niops = {}\n", figures(fitted), figures(iops))
                    }
                    RowOutcome::NoFit { errors_percent } => {
                        format!("no_fit = {}\n", figures(errors_percent))
                    }
                };
            }
        }
        text
    }

    /// Returns what was measured of the array called `name`.
    #[must_use]
    pub fn array(&self, name: &str) -> Option<&ArraySensitivity> {
        self.arrays.iter().find(|array| array.name == name)
    }
}

impl VariedKind {
    /// Returns the word for it in the file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::FittedRow => "fitted-row",
            Self::Seed => "seed",
        }
    }
}

fn string(text: &str) -> toml::Value {
    toml::Value::String(text.to_owned())
}

fn figures(figures: &[f64]) -> toml::Value {
    toml::Value::Array(figures.iter().map(|figure| toml::Value::Float(*figure)).collect())
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: Spanned<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSensitivity {
    #[serde(rename = "schema")]
    _schema: u64,
    scenario: String,
    strewn: String,
    scale_down: Spanned<u32>,
    #[serde(default)]
    array: Vec<RawArray>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawArray {
    name: Spanned<String>,
    settings: String,
    #[serde(default)]
    fitted: Option<Spanned<Vec<f64>>>,
    iops: Spanned<Vec<f64>>,
    #[serde(default)]
    row: Vec<RawRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRow {
    name: Spanned<String>,
    constant: Spanned<String>,
    kind: VariedKind,
    #[serde(default)]
    fitted: Option<Spanned<Vec<f64>>>,
    iops: Option<Spanned<Vec<f64>>>,
    no_fit: Option<Spanned<Vec<f64>>>,
}

/// The text being read.
struct Reader<'a>(TomlText<'a>);

impl Reader<'_> {
    fn array(&self, raw: RawArray) -> Result<ArraySensitivity, TomlError> {
        self.positive(&raw.iops, "array.iops")?;
        if let Some(fitted) = &raw.fitted {
            self.finite(fitted, "array.fitted")?;
        }
        let mut rows: Vec<SensitivityRow> = Vec::with_capacity(raw.row.len());
        for row in raw.row {
            if rows.iter().any(|other| other.name == *row.name.get_ref()) {
                let message = format!("{:?} is already there", row.name.get_ref());
                return Err(self.error(&row.name, "array.row.name", message));
            }
            let mut of_constant =
                rows.iter().filter(|other| other.constant == *row.constant.get_ref());
            if let Some(other) = of_constant.find(|other| other.kind != row.kind) {
                let message = format!(
                    "of kind {:?} here, and {:?} in {:?}",
                    row.kind.as_str(),
                    other.kind.as_str(),
                    other.name
                );
                return Err(self.error(&row.constant, "array.row.constant", message));
            }
            rows.push(self.row(row, raw.iops.get_ref().len())?);
        }
        Ok(ArraySensitivity {
            name: raw.name.into_inner(),
            settings: raw.settings,
            fitted: raw.fitted.map(Spanned::into_inner).unwrap_or_default(),
            iops: raw.iops.into_inner(),
            rows,
        })
    }

    fn row(&self, raw: RawRow, segments: usize) -> Result<SensitivityRow, TomlError> {
        const ROW: &str = "array.row";
        if let Some(fitted) = &raw.fitted {
            self.finite(fitted, "array.row.fitted")?;
        }
        let outcome = match (raw.iops, raw.no_fit) {
            (Some(iops), None) => {
                self.positive(&iops, "array.row.iops")?;
                let found = iops.get_ref().len();
                if found != segments {
                    let message = format!("{found} segments, but the baseline has {segments}");
                    return Err(self.error(&iops, "array.row.iops", message));
                }
                let fitted = raw.fitted.map(Spanned::into_inner).unwrap_or_default();
                RowOutcome::Fit { fitted, iops: iops.into_inner() }
            }
            (None, Some(errors)) => {
                self.finite(&errors, "array.row.no_fit")?;
                if let Some(fitted) = &raw.fitted {
                    let message = "given beside no_fit, which says that there was no fit";
                    return Err(self.error(fitted, "array.row.fitted", message.to_owned()));
                }
                RowOutcome::NoFit { errors_percent: errors.into_inner() }
            }
            (Some(_), Some(errors)) => {
                let message = "given beside iops: a row has one of the two".to_owned();
                return Err(self.error(&errors, "array.row.no_fit", message));
            }
            (None, None) => {
                let message = "has neither iops nor no_fit".to_owned();
                return Err(self.error(&raw.name, ROW, message));
            }
        };
        Ok(SensitivityRow {
            name: raw.name.into_inner(),
            constant: raw.constant.into_inner(),
            kind: raw.kind,
            outcome,
        })
    }

    fn positive(&self, figures: &Spanned<Vec<f64>>, field: &str) -> Result<(), TomlError> {
        if figures.get_ref().is_empty() {
            return Err(self.error(figures, field, "no figures".to_owned()));
        }
        let is_wrong = |figure: &&f64| !(figure.is_finite() && **figure > 0.0);
        match figures.get_ref().iter().find(is_wrong) {
            Some(figure) => {
                Err(self.error(figures, field, format!("{figure} is not a positive number")))
            }
            None => Ok(()),
        }
    }

    fn finite(&self, figures: &Spanned<Vec<f64>>, field: &str) -> Result<(), TomlError> {
        match figures.get_ref().iter().find(|figure| !figure.is_finite()) {
            Some(figure) => Err(self.error(figures, field, format!("{figure} is not a number"))),
            None => Ok(()),
        }
    }

    fn error<T>(&self, place: &Spanned<T>, field: &str, message: String) -> TomlError {
        self.0.error(place.span(), field, message)
    }
}
