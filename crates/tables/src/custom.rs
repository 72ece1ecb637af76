//! Columns of custom resources, from `additionalPrinterColumns` of their definition (C13).

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::age;
use crate::builtin::metadata_columns;
use crate::column::Column;
use crate::jsonpath::{JsonPath, JsonPathValue};
use crate::read::{int, text, text_or};
use crate::row::{Cell, Row};

/// The columns of one version of a custom resource, compiled once.
#[derive(Clone, Debug)]
pub struct Columns {
    columns: Vec<Column>,
    /// The path of every column behind the name.
    paths: Vec<JsonPath>,
}

impl Columns {
    /// Compiles the value of `additionalPrinterColumns`. Without any the age is shown; a path that cannot be parsed ends
    /// the columns.
    pub fn new(printer_columns: &Value) -> Self {
        match printer_columns.as_array() {
            Some(columns) if !columns.is_empty() => Self::compile(columns),
            _ => Self::compile(&[age_column()]),
        }
    }

    /// The columns of the scale subresource.
    pub fn of_scale() -> Self {
        Self::compile(&[
            json!({
                "name": "Desired",
                "type": "integer",
                "description": "Number of desired replicas",
                "jsonPath": ".spec.replicas",
            }),
            json!({
                "name": "Available",
                "type": "integer",
                "description": "Number of actual replicas",
                "jsonPath": ".status.replicas",
            }),
            age_column(),
        ])
    }

    fn compile(definitions: &[Value]) -> Self {
        let name = Column {
            name: "Name".into(),
            kind: "string".into(),
            format: "name".into(),
            description: metadata_columns()
                .0
                .map(|name| name.description.clone())
                .unwrap_or_default(),
            priority: 0,
        };
        let mut compiled = Columns {
            columns: vec![name],
            paths: Vec::new(),
        };
        for definition in definitions {
            let path = text(&definition["jsonPath"]);
            let Ok(parsed) = JsonPath::parse(&format!("{{{path}}}")) else {
                break;
            };
            let meaning = format!("Custom resource definition column (in JSONPath format): {path}");
            compiled.paths.push(parsed);
            compiled.columns.push(Column {
                name: text(&definition["name"]).to_owned().into(),
                kind: text(&definition["type"]).to_owned().into(),
                format: text(&definition["format"]).to_owned().into(),
                description: text_or(&definition["description"], &meaning).to_owned().into(),
                priority: i32::try_from(int(&definition["priority"])).unwrap_or_default(),
            });
        }
        compiled
    }

    /// The name and the columns of the definition.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// An object's row; a cell whose path finds nothing, or a value of another type, is null.
    pub fn row(&self, object: &Value, now: Timestamp) -> Row {
        let mut cells = vec![Value::from(text(&object["metadata"]["name"]))];
        let columns = self.columns.iter().skip(1);
        cells.extend(columns.zip(&self.paths).map(|(column, path)| {
            path.first(object)
                .map_or(Value::Null, |found| cell(&column.kind, &found, now))
        }));
        cells.into()
    }
}

fn age_column() -> Value {
    json!({
        "name": "Age",
        "type": "date",
        "description": metadata_columns().1.map(|age| age.description.clone()).unwrap_or_default(),
        "jsonPath": ".metadata.creationTimestamp",
    })
}

fn cell(kind: &str, found: &JsonPathValue<'_>, now: Timestamp) -> Cell {
    match kind {
        "string" => found.print().into(),
        "integer" => match found.number() {
            Some(Number::Integer(integer)) => integer.into(),
            Some(Number::Float(float)) => truncated(float).into(),
            None => Value::Null,
        },
        "number" => match found.number() {
            Some(Number::Integer(integer)) => Value::from(integer as f64),
            Some(Number::Float(float)) => Value::from(float),
            None => Value::Null,
        },
        "boolean" => found.boolean().map_or(Value::Null, Value::from),
        "date" => found
            .text()
            .map_or(Value::Null, |text| age::since_text(text, now).into()),
        _ => Value::Null,
    }
}

/// A number as Go's decoder holds it.
pub(crate) enum Number {
    Integer(i64),
    Float(f64),
}

/// Go's conversion on the machines that matter: what does not fit is the smallest integer.
fn truncated(float: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&float) {
        float as i64
    } else {
        i64::MIN
    }
}
