//! Values that a schema allows: one of a Rust type, or a structural one.

use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::{Map, Number, Value, json};

/// How many values an object may consist of before only what is required is added.
const BUDGET: usize = 400;

/// Makes values. Small ones and full ones come first, then anything between.
pub(super) struct Generator {
    random: StdRng,
    /// How likely an optional field is there, in percent.
    fullness: u32,
    budget: usize,
}

impl Generator {
    pub(super) fn new(mut random: StdRng, case: usize) -> Self {
        let fullness = match case {
            0 => 0,
            1 => 100,
            _ => [20, 50, 80][random.random_range(0..3)],
        };
        Generator {
            random,
            fullness,
            budget: BUDGET,
        }
    }

    /// A value that the schema allows, as far as it is understood. The depth is that of the schema.
    pub(super) fn value(&mut self, schema: &Value) -> Value {
        self.budget = self.budget.saturating_sub(1);
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(settled) = self.settled(schema) {
            return self.value(&settled);
        }
        if let Some(values) = schema["enum"].as_array().filter(|values| !values.is_empty()) {
            return values[self.below(values.len())].clone();
        }
        if schema["nullable"] == true && !self.percent(self.fullness.max(50)) {
            return Value::Null;
        }
        if schema["x-kubernetes-int-or-string"] == true {
            return if self.percent(50) {
                json!(self.below(1000))
            } else {
                json!(self.text(&json!({})))
            };
        }
        match kind(schema) {
            Some("object") => self.object(schema),
            Some("array") => self.array(schema),
            Some("boolean") => self.percent(50).into(),
            Some("integer") => self.integer(schema),
            Some("number") => self.number(schema),
            Some("string") => self.text(schema).into(),
            _ if schema["properties"].is_object() => self.object(schema),
            _ => self.anything(),
        }
    }

    /// The schema with one of its alternatives, if those say more than what is required; and with all that must hold at once.
    fn settled(&mut self, schema: &Value) -> Option<Value> {
        let whole = schema.as_object()?;
        if let Some(parts) = whole.get("allOf").and_then(Value::as_array) {
            let mut rest = whole.clone();
            rest.remove("allOf");
            for part in parts {
                join(&mut rest, part);
            }
            return Some(rest.into());
        }
        let keyword = ["oneOf", "anyOf"]
            .into_iter()
            .find(|keyword| whole.contains_key(*keyword))?;
        let alternatives = whole[keyword].as_array()?;
        let says_more = |part: &Value| {
            ["properties", "type", "const", "enum"]
                .iter()
                .any(|word| part.get(word).is_some())
        };
        if alternatives.is_empty() || !alternatives.iter().any(says_more) {
            return None;
        }
        let chosen = &alternatives[self.below(alternatives.len())];
        let mut rest = whole.clone();
        rest.remove(keyword);
        join(&mut rest, chosen);
        Some(rest.into())
    }

    fn object(&mut self, schema: &Value) -> Value {
        let mut members = Map::new();
        let choice = self.choice(schema);
        if let Some(properties) = schema["properties"].as_object() {
            for (name, property) in properties {
                let wanted = match choice.as_ref().and_then(|choice| choice.says(name)) {
                    Some(wanted) => wanted,
                    None => is_required(schema, name) || (self.budget > 0 && self.percent(self.fullness)),
                };
                if wanted {
                    members.insert(name.clone(), self.value(property));
                }
            }
        }
        if let values @ Value::Object(_) = &schema["additionalProperties"] {
            for _ in 0..self.length(schema, "minProperties", "maxProperties") {
                let key = ["a", "key", "app.example.com/name", "x-y"][self.below(4)].to_owned();
                let value = self.value(values);
                members.insert(key, value);
            }
        }
        Value::Object(members)
    }

    /// One of the alternatives, as enums with data have them.
    fn choice(&mut self, schema: &Value) -> Option<ChosenAlternative> {
        let alternatives = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())?;
        let named: Vec<Vec<String>> = alternatives.iter().map(required).collect();
        if named.iter().all(Vec::is_empty) {
            return None;
        }
        let chosen = named[self.below(named.len())].clone();
        let others = named
            .into_iter()
            .flatten()
            .filter(|name| !chosen.contains(name))
            .collect();
        Some(ChosenAlternative { chosen, others })
    }

    fn array(&mut self, schema: &Value) -> Value {
        let length = self.length(schema, "minItems", "maxItems");
        let mut elements = Vec::new();
        for _ in 0..length {
            let element = self.value(&schema["items"]);
            let unique = schema["uniqueItems"] == true || schema["x-kubernetes-list-type"] == "set";
            if !(unique && elements.contains(&element)) {
                elements.push(element);
            }
        }
        Value::Array(elements)
    }

    fn length(&mut self, schema: &Value, least: &str, most: &str) -> usize {
        let least = schema[least].as_u64().unwrap_or(0) as usize;
        let most = schema[most].as_u64().map_or(usize::MAX, |most| most as usize);
        let wanted = if self.budget == 0 || self.fullness == 0 {
            0
        } else {
            self.below(4)
        };
        wanted.clamp(least.min(64), most.max(least).min(64))
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let (low, high) = match schema["format"].as_str() {
            Some("int8") => (i64::from(i8::MIN), i64::from(i8::MAX)),
            Some("int16") => (i64::from(i16::MIN), i64::from(i16::MAX)),
            Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
            Some("uint8") => (0, i64::from(u8::MAX)),
            Some("uint16") => (0, i64::from(u16::MAX)),
            Some("uint32") => (0, i64::from(u32::MAX)),
            Some("uint64" | "uint") => (0, i64::MAX),
            _ => (i64::MIN, i64::MAX),
        };
        let bound = |name: &str| schema[name].as_f64().map(|bound| bound as i64);
        let low = bound("minimum").map_or(low, |least| least.max(low));
        let high = bound("maximum").map_or(high, |most| most.min(high));
        let high = high.max(low);
        let value = match self.below(8) {
            0 => low,
            1 => high,
            2..=5 => self.random.random_range(0..100),
            _ => self.random.random_range(low..=high),
        };
        value.clamp(low, high).into()
    }

    fn number(&mut self, schema: &Value) -> Value {
        let low = schema["minimum"].as_f64().unwrap_or(-1e6);
        let high = schema["maximum"].as_f64().unwrap_or(1e6).max(low);
        // Fractions of two: they survive single precision as well.
        let value = self.random.random_range(-4096..4096);
        let value = (f64::from(value) / 8.0).clamp(low, high);
        Number::from_f64(value).map_or(Value::Null, Value::Number)
    }

    fn text(&mut self, schema: &Value) -> String {
        // What a pattern allows is not made up, but its example is known to fit.
        if let (Some(example), Some(_)) = (schema["example"].as_str(), schema.get("pattern")) {
            return example.to_owned();
        }
        let number = self.below(60);
        match schema["format"].as_str() {
            Some("date-time") => return format!("2026-01-{:02}T10:{number:02}:00Z", self.below(28) + 1),
            Some("date") => return format!("2026-01-{:02}", self.below(28) + 1),
            Some("uuid") => return format!("8b5c1e4e-6d0a-4c55-9d0c-5d1b8e1c7a{number:02}"),
            Some("ipv4" | "ip") => return format!("10.0.0.{number}"),
            Some("ipv6") => return format!("fd00::{number}"),
            Some("cidr") => return format!("10.{number}.0.0/16"),
            Some("uri" | "url") => return format!("https://example.com/{number}"),
            Some("byte") => return ["", "AA==", "aGVsbG8="][self.below(3)].to_owned(),
            Some("duration") => return format!("{number}s"),
            _ => {}
        }
        let text = match self.below(12) {
            0 => String::new(),
            1 => "a".to_owned(),
            2 => number.to_string(),
            3 => format!("{number}Mi"),
            4 => format!("{number}m"),
            5 => "true".to_owned(),
            6 => format!("name-{number}"),
            7 => format!("https://example.com/{number}"),
            8 => "grüße \u{1f980} \"quoted\"\n".to_owned(),
            9 => format!("Word{number}"),
            10 => format!("2026-01-01T10:{number:02}:00Z"),
            _ => format!("{number}/text with spaces"),
        };
        let least = schema["minLength"].as_u64().unwrap_or(0).min(256) as usize;
        let most = schema["maxLength"].as_u64().map_or(usize::MAX, |most| most as usize);
        let padded = text.chars().chain(std::iter::repeat('x'));
        let length = text.chars().count().clamp(least, most.max(least));
        padded.take(length).collect()
    }

    /// Where the schema says nothing.
    fn anything(&mut self) -> Value {
        match self.below(6) {
            0 => json!({}),
            1 => json!({ "any": self.below(9) }),
            2 => json!([1, "two"]),
            3 => json!(self.below(100)),
            4 => json!(true),
            _ => json!("text"),
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random.random_range(0..limit.max(1))
    }

    fn percent(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }
}

/// The type of a value; of several the first that is not null.
fn kind(schema: &Value) -> Option<&str> {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        kind => kind.as_str(),
    }
}

/// Adds to a schema what another says of the same value.
fn join(schema: &mut Map<String, Value>, more: &Value) {
    for (key, value) in more.as_object().into_iter().flatten() {
        match (schema.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => {
                known.extend(more.iter().map(|(name, schema)| (name.clone(), schema.clone())));
            }
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => known.extend(more.iter().cloned()),
            _ => {
                schema.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The alternative that was chosen for an object.
struct ChosenAlternative {
    chosen: Vec<String>,
    others: Vec<String>,
}

impl ChosenAlternative {
    /// Whether the alternative requires a property or forbids it.
    fn says(&self, name: &str) -> Option<bool> {
        let is = |names: &[String]| names.iter().any(|known| known == name);
        is(&self.chosen)
            .then_some(true)
            .or_else(|| is(&self.others).then_some(false))
    }
}

fn required(schema: &Value) -> Vec<String> {
    let names = schema["required"].as_array();
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"]
        .as_array()
        .is_some_and(|names| names.iter().any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;

    fn values(schema: &Value) -> Vec<Value> {
        let make = |case| Generator::new(StdRng::seed_from_u64(case as u64), case).value(schema);
        (0..200).map(make).collect()
    }

    #[test]
    fn bounds_of_numbers_texts_and_lists_are_kept() {
        let schema = json!({ "type": "array", "minItems": 1, "maxItems": 2, "items": {
            "type": "object", "required": ["size", "name"], "properties": {
                "size": { "type": "integer", "format": "int32", "minimum": 3, "maximum": 9 },
                "name": { "type": "string", "minLength": 2, "maxLength": 4 },
            },
        } });
        for value in values(&schema) {
            let elements = value.as_array().unwrap();
            assert!((1..=2).contains(&elements.len()));
            for element in elements {
                assert!((3..=9).contains(&element["size"].as_i64().unwrap()));
                assert!((2..=4).contains(&element["name"].as_str().unwrap().chars().count()));
            }
        }
    }

    #[test]
    fn a_text_with_a_pattern_is_its_example() {
        let schema = json!({ "type": "string", "pattern": "^[a-z]+/[0-9]+$", "example": "orders/3" });
        assert!(values(&schema).iter().all(|value| value == "orders/3"));
    }

    #[test]
    fn one_of_the_alternatives_is_chosen_and_each_is_some_time() {
        let schema = json!({ "type": "object", "oneOf": [{ "required": ["a"] }, { "required": ["b"] }], "properties": {
            "a": { "type": "boolean" }, "b": { "type": "boolean" },
        } });
        let values = values(&schema);
        assert!(values.iter().all(|value| value.as_object().unwrap().len() == 1));
        assert!(values.iter().any(|value| value.get("a").is_some()));
        assert!(values.iter().any(|value| value.get("b").is_some()));
    }

    #[test]
    fn an_alternative_brings_its_own_properties_and_what_must_hold_at_once_is_joined() {
        let schema = json!({ "required": ["size"], "properties": { "size": { "type": ["integer", "null"] } }, "oneOf": [
            { "properties": { "kind": { "const": "a" }, "more": { "type": "boolean" } }, "required": ["kind", "more"] },
            { "allOf": [{ "properties": { "kind": { "enum": ["b"] } }, "required": ["kind"] }] },
        ] });
        let values = values(&schema);
        assert!(
            values
                .iter()
                .all(|value| value["size"].is_i64() && value["more"].is_boolean() == (value["kind"] == "a"))
        );
        assert!(values.iter().any(|value| value["kind"] == "a") && values.iter().any(|value| value["kind"] == "b"));
    }

    #[test]
    fn the_first_value_is_the_least_and_the_second_has_everything() {
        let schema = json!({ "type": "object", "required": ["a"], "properties": {
            "a": { "type": "boolean" }, "b": { "type": "object", "properties": { "c": { "type": "integer" } } },
        } });
        let values = values(&schema);
        assert!(values[0].get("b").is_none());
        assert!(values[1]["b"]["c"].is_i64());
        assert!(values.iter().any(|value| value["b"] == json!({})));
    }
}
