//! Tables as Apache Parquet: those of `segments.csv` and `sweep.csv`, with types.

use std::io::Write;
use std::sync::Arc;
use strewn_results::{Column, Results, Sweep};

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::columns::{FileColumn, segment_columns};
use crate::sweep_csv::sweep_columns;

/// Writes the table of [`write_segments_csv`](crate::write_segments_csv) as Parquet: the same columns in the same
/// order, words as strings and every number as a 64-bit float, null where an array has no such measurement. The same
/// results give the same bytes.
///
/// # Errors
///
/// If `writer` fails.
pub fn write_segments_parquet(
    results: &Results,
    chosen: &[&'static Column],
    writer: impl Write + Send,
) -> Result<(), ParquetError> {
    write_table("segments", &segment_columns(results, chosen), writer)
}

/// Writes the table of [`write_sweep_csv`](crate::write_sweep_csv) as Parquet, as [`write_segments_parquet`] does.
///
/// # Errors
///
/// If `writer` fails.
pub fn write_sweep_parquet(sweep: &Sweep, writer: impl Write + Send) -> Result<(), ParquetError> {
    write_table("sweep", &sweep_columns(sweep), writer)
}

fn write_table(
    name: &str,
    columns: &[FileColumn],
    writer: impl Write + Send,
) -> Result<(), ParquetError> {
    let fields = columns.iter().map(field).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder(name).with_fields(fields).build()?;
    let properties = WriterProperties::builder()
        .set_created_by(format!("strewn {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::UNCOMPRESSED);
    let mut file =
        SerializedFileWriter::new(writer, Arc::new(schema), Arc::new(properties.build()))?;
    let mut rows = file.next_row_group()?;
    for FileColumn { name, is_words, entries } in columns {
        let Some(mut column) = rows.next_column()? else { break };
        let there: Vec<i16> = entries.iter().map(|entry| i16::from(!entry.is_empty())).collect();
        let present = entries.iter().filter(|entry| !entry.is_empty());
        if *is_words {
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

fn field(column: &FileColumn) -> Result<Arc<Type>, ParquetError> {
    let words = column.is_words;
    let physical = if words { PhysicalType::BYTE_ARRAY } else { PhysicalType::DOUBLE };
    let field = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(words.then_some(LogicalType::String));
    Ok(Arc::new(field.build()?))
}
