//! Texts that are mostly well-typed expressions over the schema of the driver, and objects for it.

use serde_json::{Map, Value as Json, json};

use crate::random::Random;

/// The schema expressions are made for.
pub(crate) fn schema() -> Json {
    json!({"type": "object", "properties": {
        "a": {"type": "integer"},
        "b": {"type": "string", "maxLength": 20},
        "c": {"type": "boolean"},
        "n": {"type": "number", "nullable": true},
        "t": {"type": "string", "format": "date-time"},
        "d": {"type": "string", "format": "duration"},
        "y": {"type": "string", "format": "byte"},
        "i": {"x-kubernetes-int-or-string": true},
        "p": {"x-kubernetes-preserve-unknown-fields": true},
        "l": {"type": "array", "maxItems": 10, "items": {"type": "string"}},
        "k": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        "o": {"type": "object", "properties": {"x": {"type": "integer"}, "my-field": {"type": "string"}}},
        "q": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items":
            {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}},
    }})
}

/// What a generated expression is meant to be.
#[derive(Clone, Copy)]
enum Kind {
    Bool,
    Int,
    Double,
    Text,
    Texts,
    Ints,
    Map,
    Time,
    Duration,
    Optional,
    Library,
}

const KINDS: [Kind; 11] = [
    Kind::Bool,
    Kind::Int,
    Kind::Double,
    Kind::Text,
    Kind::Texts,
    Kind::Ints,
    Kind::Map,
    Kind::Time,
    Kind::Duration,
    Kind::Optional,
    Kind::Library,
];

const STRINGS: &[&str] = &[
    "''",
    "'a'",
    "'x/y'",
    "'[a-z]+('",
    "'^[a-z]+$'",
    "'1Gi'",
    "'10.0.0.0/8'",
    "'::1'",
    "'1.2.3'",
    "'https://a.b/c?d=e'",
    "'1h'",
    "'2020-01-01T00:00:00Z'",
    "'é€😀'",
    "r'\\d'",
    "'\\u00e9\\x41\\101'",
    "'%s %d %.3f'",
    "'Europe/Berlin'",
    "'-08:00'",
    "self.b",
    "self.?b.orValue('')",
    "string(self.a)",
    "'dns1123Label'",
    "\"\"\"three\nlines\"\"\"",
];
const INTS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "10",
    "0x1f",
    "9223372036854775807",
    "-9223372036854775808",
    "self.a",
    "size(self.l)",
    "self.o.x",
    "int(self.n)",
    "size(self.b)",
    "self.m['a']",
    "self.k[0]",
    "self.t.getHours('Asia/Tokyo')",
];
const OPERATORS: &[&str] = &["+", "-", "*", "/", "%"];
const RELATIONS: &[&str] = &["==", "!=", "<", "<=", ">", ">="];

pub(crate) struct Generator<'r> {
    pub(crate) random: &'r mut Random,
    scope: Vec<String>,
}

impl<'r> Generator<'r> {
    pub(crate) fn new(random: &'r mut Random) -> Self {
        Self {
            random,
            scope: Vec::new(),
        }
    }

    /// One expression, most of the time a condition.
    pub(crate) fn expression(&mut self) -> String {
        let kind = if self.random.once_in(4) {
            self.any_kind()
        } else {
            Kind::Bool
        };
        let depth = 1 + self.random.below(5);
        self.of(kind, depth)
    }

    fn any_kind(&mut self) -> Kind {
        KINDS[self.random.below(KINDS.len())]
    }

    fn of(&mut self, kind: Kind, depth: usize) -> String {
        // Now and then the wrong type, or a name that may not exist.
        let kind = if self.random.once_in(60) { self.any_kind() } else { kind };
        if !self.scope.is_empty() && self.random.once_in(4) {
            let at = self.random.below(self.scope.len());
            return self.scope[at].clone();
        }
        if depth > 0 && self.random.once_in(25) {
            let condition = self.of(Kind::Bool, depth - 1);
            let (then, otherwise) = (self.of(kind, depth - 1), self.of(kind, depth - 1));
            return format!("({condition} ? {then} : {otherwise})");
        }
        if depth > 0 && self.random.once_in(25) {
            return self.bound(kind, depth - 1);
        }
        if depth > 0 && self.random.once_in(30) {
            return format!("dyn({})", self.of(kind, depth - 1));
        }
        let down = depth.saturating_sub(1);
        match kind {
            Kind::Bool => self.bool(depth),
            Kind::Int => self.int(depth),
            Kind::Double => match self.random.below(if depth == 0 { 3 } else { 6 }) {
                0 => "self.n".to_owned(),
                1 => "1.5".to_owned(),
                2 => "-0.0".to_owned(),
                3 => format!("double({})", self.of(Kind::Int, down)),
                4 => format!("double({})", self.of(Kind::Text, down)),
                _ => self.infix(OPERATORS, Kind::Double, down),
            },
            Kind::Text => self.text(depth),
            Kind::Texts => self.texts(depth),
            Kind::Ints => self.ints(depth),
            Kind::Map => match self.random.below(if depth == 0 { 2 } else { 4 }) {
                0 => "self.m".to_owned(),
                1 => "{}".to_owned(),
                2 => format!(
                    "{{{}: {}, 'k': {}}}",
                    self.of(Kind::Text, down),
                    self.of(Kind::Int, down),
                    self.of(Kind::Int, down)
                ),
                _ => self.looped("self.m", "transformMap", 2, Kind::Int, down),
            },
            Kind::Time => match self.random.below(if depth == 0 { 2 } else { 4 }) {
                0 => "self.t".to_owned(),
                1 => "timestamp('1970-01-01T00:00:00Z')".to_owned(),
                2 => format!("timestamp({})", self.of(Kind::Int, down)),
                _ => format!("({} + {})", self.of(Kind::Time, down), self.of(Kind::Duration, down)),
            },
            Kind::Duration => match self.random.below(if depth == 0 { 2 } else { 4 }) {
                0 => "self.d".to_owned(),
                1 => "duration('1h1m0.5s')".to_owned(),
                2 => format!("({} - {})", self.of(Kind::Time, down), self.of(Kind::Time, down)),
                _ => format!("duration({})", self.of(Kind::Text, down)),
            },
            Kind::Optional => match self.random.below(if depth == 0 { 3 } else { 6 }) {
                0 => "self.?b".to_owned(),
                1 => "optional.none()".to_owned(),
                2 => "self.?m['z']".to_owned(),
                3 => format!("optional.of({})", self.of(Kind::Text, down)),
                4 => format!("optional.ofNonZeroValue({})", self.of(Kind::Text, down)),
                _ => {
                    let target = self.of(Kind::Optional, down);
                    self.scope.push("w".to_owned());
                    let body = self.of(Kind::Text, down);
                    self.scope.pop();
                    format!("{target}.optMap(w, {body})")
                }
            },
            Kind::Library => self.library(depth),
        }
    }

    fn infix(&mut self, operators: &[&'static str], kind: Kind, depth: usize) -> String {
        let (left, right) = (self.of(kind, depth), self.of(kind, depth));
        let operator = self.random.pick(operators);
        if self.random.once_in(3) {
            format!("{left} {operator} {right}")
        } else {
            format!("({left}{operator}{right})")
        }
    }

    fn bool(&mut self, depth: usize) -> String {
        let down = depth.saturating_sub(1);
        if depth == 0 {
            return self
                .random
                .pick(&[
                    "true",
                    "false",
                    "self.c",
                    "has(self.b)",
                    "has(self.o.x)",
                    "self.l == []",
                ])
                .to_owned();
        }
        match self.random.below(16) {
            0 => format!("!{}", self.of(Kind::Bool, down)),
            1 | 2 => self.infix(&["&&", "||"], Kind::Bool, down),
            3 => {
                let kind = self.any_kind();
                self.infix(RELATIONS, kind, down)
            }
            4 => self.infix(RELATIONS, Kind::Int, down),
            5 => format!("{} in {}", self.of(Kind::Text, down), self.of(Kind::Texts, down)),
            6 => format!("{} in {}", self.of(Kind::Int, down), self.of(Kind::Ints, down)),
            7 => format!("{}.matches({})", self.of(Kind::Text, down), self.of(Kind::Text, down)),
            8 => {
                let name = self.random.pick(&["startsWith", "endsWith", "contains"]);
                format!("{}.{name}({})", self.of(Kind::Text, down), self.of(Kind::Text, down))
            }
            9 | 10 => {
                let name = self.random.pick(&["all", "exists", "exists_one"]);
                let list = self.of(Kind::Texts, down);
                self.looped(&list, name, 1, Kind::Bool, down)
            }
            11 => {
                let name = self.random.pick(&["all", "exists", "existsOne"]);
                let range = self.random.pick(&["self.m", "self.l", "self.q"]);
                self.looped(range, name, 2, Kind::Bool, down)
            }
            12 => format!("{}.hasValue()", self.of(Kind::Optional, down)),
            13 => {
                let name = self.random.pick(&["isIP", "isCIDR", "isQuantity", "isURL", "isSemver"]);
                format!("{name}({})", self.of(Kind::Text, down))
            }
            14 => {
                let name = self
                    .random
                    .pick(&["sets.contains", "sets.intersects", "sets.equivalent"]);
                format!("{name}({}, {})", self.of(Kind::Ints, down), self.of(Kind::Ints, down))
            }
            _ => format!("{} == {}", self.of(Kind::Library, down), self.of(Kind::Library, down)),
        }
    }

    fn int(&mut self, depth: usize) -> String {
        let down = depth.saturating_sub(1);
        if depth == 0 || self.random.once_in(3) {
            return self.random.pick(INTS).to_owned();
        }
        match self.random.below(8) {
            0..=2 => self.infix(OPERATORS, Kind::Int, down),
            3 => format!("size({})", self.of(Kind::Texts, down)),
            4 => format!("int({})", self.of(Kind::Text, down)),
            5 => format!("-{}", self.of(Kind::Int, down)),
            6 => {
                let name = self
                    .random
                    .pick(&["getFullYear", "getDayOfYear", "getMilliseconds", "getHours", "getDate"]);
                format!("{}.{name}()", self.of(Kind::Time, down))
            }
            _ => {
                let name = self.random.pick(&["indexOf", "lastIndexOf"]);
                format!("{}.{name}({})", self.of(Kind::Text, down), self.of(Kind::Text, down))
            }
        }
    }

    fn text(&mut self, depth: usize) -> String {
        let down = depth.saturating_sub(1);
        if depth == 0 || self.random.once_in(3) {
            return self.random.pick(STRINGS).to_owned();
        }
        match self.random.below(9) {
            0 => format!("({} + {})", self.of(Kind::Text, down), self.of(Kind::Text, down)),
            1 => {
                let kind = self.any_kind();
                format!("string({})", self.of(kind, down))
            }
            2 => format!(
                "{}.substring({}, {})",
                self.of(Kind::Text, down),
                self.of(Kind::Int, down),
                self.of(Kind::Int, down)
            ),
            3 => format!(
                "{}.replace({}, {})",
                self.of(Kind::Text, down),
                self.of(Kind::Text, down),
                self.of(Kind::Text, down)
            ),
            4 => format!("{}.join({})", self.of(Kind::Texts, down), self.of(Kind::Text, down)),
            5 => {
                let kind = self.any_kind();
                format!(
                    "{}.format([{}, {}])",
                    self.of(Kind::Text, down),
                    self.of(kind, down),
                    self.of(Kind::Int, down)
                )
            }
            6 => format!("{}.find({})", self.of(Kind::Text, down), self.of(Kind::Text, down)),
            7 => format!(
                "{}.orValue({})",
                self.of(Kind::Optional, down),
                self.of(Kind::Text, down)
            ),
            _ => {
                let name = self.random.pick(&["lowerAscii", "upperAscii", "trim", "reverse"]);
                format!("{}.{name}()", self.of(Kind::Text, down))
            }
        }
    }

    fn texts(&mut self, depth: usize) -> String {
        let down = depth.saturating_sub(1);
        if depth == 0 {
            return self
                .random
                .pick(&["self.l", "['a', 'b']", "[]", "self.m.map(k, k)"])
                .to_owned();
        }
        match self.random.below(8) {
            0 => format!("[{}, ?{}]", self.of(Kind::Text, down), self.of(Kind::Optional, down)),
            1 => format!("({} + {})", self.of(Kind::Texts, down), self.of(Kind::Texts, down)),
            2 => format!("{}.split({})", self.of(Kind::Text, down), self.of(Kind::Text, down)),
            3 => {
                let list = self.of(Kind::Texts, down);
                self.looped(&list, "filter", 1, Kind::Bool, down)
            }
            4 => {
                let list = self.of(Kind::Texts, down);
                self.looped(&list, "map", 1, Kind::Text, down)
            }
            5 => format!(
                "{}.findAll({}, {})",
                self.of(Kind::Text, down),
                self.of(Kind::Text, down),
                self.of(Kind::Int, down)
            ),
            6 => {
                let list = self.of(Kind::Texts, down);
                self.looped(&list, "sortBy", 1, Kind::Text, down)
            }
            _ => {
                let name = self.random.pick(&["sort", "distinct", "reverse", "flatten"]);
                format!("{}.{name}()", self.of(Kind::Texts, down))
            }
        }
    }

    fn ints(&mut self, depth: usize) -> String {
        let down = depth.saturating_sub(1);
        if depth == 0 {
            return self
                .random
                .pick(&["self.k", "[1, 2, 3]", "self.q.map(e, e.v)", "[]"])
                .to_owned();
        }
        match self.random.below(5) {
            0 => format!("[{}, {}]", self.of(Kind::Int, down), self.of(Kind::Int, down)),
            1 => format!("({} + {})", self.of(Kind::Ints, down), self.of(Kind::Ints, down)),
            2 => format!(
                "{}.slice({}, {})",
                self.of(Kind::Ints, down),
                self.of(Kind::Int, down),
                self.of(Kind::Int, down)
            ),
            3 => {
                let list = self.of(Kind::Ints, down);
                self.looped(&list, "transformList", 2, Kind::Int, down)
            }
            _ => format!("lists.range({})", self.random.below(30)),
        }
    }

    fn library(&mut self, depth: usize) -> String {
        let down = depth.saturating_sub(1);
        let text = self.of(Kind::Text, down);
        match self.random.below(10) {
            0 => format!("quantity({text})"),
            1 => format!("quantity({text}).add({})", self.of(Kind::Int, down)),
            2 => format!("ip({text})"),
            3 => format!("cidr({text}).masked()"),
            4 => format!("url({text}).getEscapedPath()"),
            5 => format!("semver({text}).major()"),
            6 => format!("format.named({text})"),
            7 => format!("format.dns1123Label().validate({text})"),
            8 => format!("cidr({text}).containsIP({})", self.of(Kind::Text, down)),
            _ => format!("google.protobuf.Value{{string_value: {text}}}"),
        }
    }

    fn looped(&mut self, range: &str, name: &str, variables: usize, body: Kind, depth: usize) -> String {
        let first = format!("v{}", self.scope.len());
        self.scope.push(first.clone());
        let second = format!("v{}", self.scope.len());
        if variables == 2 {
            self.scope.push(second.clone());
        }
        let body = self.of(body, depth);
        self.scope.truncate(self.scope.len() - variables);
        match variables {
            1 => format!("{range}.{name}({first}, {body})"),
            _ => format!("{range}.{name}({first}, {second}, {body})"),
        }
    }

    fn bound(&mut self, kind: Kind, depth: usize) -> String {
        let value_kind = self.any_kind();
        let value = self.of(value_kind, depth);
        let name = format!("b{}", self.scope.len());
        self.scope.push(name.clone());
        let body = self.of(kind, depth);
        self.scope.pop();
        format!("cel.bind({name}, {value}, {body})")
    }
}

/// An object that mostly fits the schema.
pub(crate) fn object(random: &mut Random) -> Json {
    let mut fields = Map::new();
    let text = |random: &mut Random| {
        Json::from(random.pick(&["", "a", "abc", "1Gi", "10.0.0.1", "é", "2020-01-01T00:00:00Z"]))
    };
    for (name, _) in schema()["properties"].as_object().into_iter().flatten() {
        if random.once_in(4) {
            continue;
        }
        let value = if random.once_in(30) {
            anything(random, 2)
        } else {
            match name.as_str() {
                "a" => json!(random.next() as i64 >> random.below(63)),
                "c" => json!(random.once_in(2)),
                "n" => random
                    .pick(&[&json!(null), &json!(1), &json!(1.5), &json!(-1e300)])
                    .clone(),
                "t" => json!("2024-02-29T23:59:59.123Z"),
                "d" => json!("1h30m"),
                "y" => json!("YWJj"),
                "i" => random.pick(&[&json!(1), &json!("50%")]).clone(),
                "l" => Json::Array((0..random.below(4)).map(|_| text(random)).collect()),
                "k" => json!([1, 2, random.below(9)]),
                "m" => json!({"a": random.below(5), "b-c": 2}),
                "o" => json!({"x": random.below(100), "my-field": "v"}),
                "q" => json!([{"k": "a", "v": random.below(3)}, {"k": "b"}]),
                "p" => anything(random, 3),
                _ => text(random),
            }
        };
        fields.insert(name.clone(), value);
    }
    Json::Object(fields)
}

fn anything(random: &mut Random, depth: usize) -> Json {
    match random.below(if depth == 0 { 5 } else { 7 }) {
        0 => Json::Null,
        1 => json!(random.once_in(2)),
        2 => json!(random.next() as i64),
        3 => json!(random.next() as f64 / 3.0),
        4 => json!(random.pick(&["", "text", "\u{0}", "😀"])),
        5 => Json::Array((0..random.below(3)).map(|_| anything(random, depth - 1)).collect()),
        _ => json!({"a": anything(random, depth - 1), "": anything(random, depth - 1)}),
    }
}
