//! Segments as Apache Parquet: the table of `segments.csv` with types.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::data::results::Results;
use crate::rendering::csv::segment_columns;

/// Columns of words; all others are numbers.
const WORDS: [&str; 3] = ["array", "layout", "phase"];

/// Writes the table of [`write_segments_csv`](crate::write_segments_csv) as Parquet: the same columns in the same
/// order, words as strings and every number as a 64-bit float, null where an array has no such measurement. The same
/// results give the same bytes.
///
/// # Errors
///
/// If `writer` fails.
pub fn write_segments_parquet(
    results: &Results,
    writer: impl Write + Send,
) -> Result<(), ParquetError> {
    let columns = segment_columns(results);
    let fields = columns.iter().map(|(name, _)| field(name)).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("segments").with_fields(fields).build()?;
    let properties = WriterProperties::builder()
        .set_created_by(format!("strewn {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::UNCOMPRESSED);
    let mut file =
        SerializedFileWriter::new(writer, Arc::new(schema), Arc::new(properties.build()))?;
    let mut rows = file.next_row_group()?;
    for (name, values) in &columns {
        let Some(mut column) = rows.next_column()? else { break };
        let there: Vec<i16> = values.iter().map(|value| i16::from(!value.is_empty())).collect();
        let present = values.iter().filter(|value| !value.is_empty());
        if WORDS.contains(name) {
            let words: Vec<ByteArray> = present.map(|word| word.as_str().into()).collect();
            column.typed::<ByteArrayType>().write_batch(&words, Some(&there), None)?;
        } else {
            let numbers = present.map(|number| number.parse::<f64>());
            let numbers: Vec<f64> = numbers
                .collect::<Result<_, _>>()
                .map_err(|error| ParquetError::General(format!("column {name}: {error}")))?;
            column.typed::<DoubleType>().write_batch(&numbers, Some(&there), None)?;
        }
        column.close()?;
    }
    rows.close()?;
    file.close()?;
    Ok(())
}

fn field(name: &str) -> Result<Arc<Type>, ParquetError> {
    let words = WORDS.contains(&name);
    let physical = if words { PhysicalType::BYTE_ARRAY } else { PhysicalType::DOUBLE };
    let field = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(words.then_some(LogicalType::String));
    Ok(Arc::new(field.build()?))
}
