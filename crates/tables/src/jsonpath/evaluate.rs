//! Walking a template's nodes over an object. What upstream reports as an error is a misfit of the whole template.

use serde_json::Value;

use super::compare;
use super::parse::{Node, Slice};
use super::value::JsonPathValue;

/// How many values one evaluation may touch: nested `..` would otherwise multiply them.
const BUDGET: usize = 1 << 20;

/// Where an evaluation failed, and what it held then: an `exists` filter looks at that.
struct TypeMismatch<'a>(Vec<JsonPathValue<'a>>);

type WalkResult<'a> = Result<Vec<JsonPathValue<'a>>, TypeMismatch<'a>>;

/// What each node of the template finds.
pub(super) fn results<'a>(nodes: &'a [Node], object: &'a Value) -> Option<Vec<Vec<JsonPathValue<'a>>>> {
    let mut evaluation = Evaluation {
        begun: 0,
        inside: 0,
        ended: 0,
        last_end: 0,
        budget: BUDGET,
    };
    evaluation.template(nodes, 0, JsonPathValue::Json(object))
}

struct Evaluation {
    /// Loops that the last node opened.
    begun: usize,
    /// Loops that are running.
    inside: usize,
    /// Loops that the last node closed.
    ended: usize,
    /// The place of the `end` that was met last.
    last_end: usize,
    budget: usize,
}

impl Evaluation {
    /// Evaluates the nodes from `from` on, up to the end of the running loop.
    fn template<'a>(
        &mut self,
        nodes: &'a [Node],
        from: usize,
        data: JsonPathValue<'a>,
    ) -> Option<Vec<Vec<JsonPathValue<'a>>>> {
        let mut all = Vec::new();
        let mut at = from;
        while let Some(node) = nodes.get(at) {
            let found = self.walk(vec![data], node).ok()?;
            if self.ended > 0 && self.ended <= self.inside {
                self.ended -= 1;
                self.last_end = at;
                break;
            }
            if self.begun > 0 {
                self.begun -= 1;
                self.inside += 1;
                if found.is_empty() {
                    // The body is walked once on nothing, to find the loop's end.
                    self.template(nodes, at + 1, JsonPathValue::Nothing)?;
                }
                for value in found {
                    all.extend(self.template(nodes, at + 1, value)?);
                }
                self.inside -= 1;
                at = self.last_end.max(at) + 1;
                continue;
            }
            all.push(found);
            at += 1;
        }
        Some(all)
    }

    fn walk<'a>(&mut self, input: Vec<JsonPathValue<'a>>, node: &'a Node) -> WalkResult<'a> {
        self.spend(input.len() + 1)?;
        let each = |value: JsonPathValue<'a>| vec![value; input.len()];
        Ok(match node {
            Node::List(nodes) => return self.list(input, nodes),
            Node::Text(text) => vec![JsonPathValue::Text(text)],
            Node::Integer(integer) => each(JsonPathValue::Integer(*integer)),
            Node::Float(float) => each(JsonPathValue::Float(*float)),
            Node::Boolean(value) => each(JsonPathValue::Boolean(*value)),
            Node::Field(name) => input.iter().filter_map(|value| field(*value, name)).collect(),
            Node::Array(slice) => return self.array(input, *slice),
            Node::Wildcard => {
                let mut found = Vec::new();
                for value in input {
                    self.children(value, &mut found)?;
                }
                found
            }
            Node::Recursive => return self.recursive(input),
            Node::Filter { left, right, operator } => return self.filter(input, left, operator, right),
            Node::Union(alternatives) => {
                let mut found = Vec::new();
                for nodes in alternatives {
                    match self.list(input.clone(), nodes) {
                        Ok(some) => found.extend(some),
                        Err(_) => return Err(TypeMismatch(input)),
                    }
                }
                found
            }
            Node::Identifier(word) => match word.as_str() {
                "range" => {
                    self.begun += 1;
                    input
                }
                "end" if self.inside > 0 => {
                    self.ended += 1;
                    Vec::new()
                }
                "end" => return Err(TypeMismatch(Vec::new())),
                _ => return Err(TypeMismatch(input)),
            },
        })
    }

    fn list<'a>(&mut self, input: Vec<JsonPathValue<'a>>, nodes: &'a [Node]) -> WalkResult<'a> {
        nodes.iter().try_fold(input, |found, node| self.walk(found, node))
    }

    fn array<'a>(&mut self, input: Vec<JsonPathValue<'a>>, slice: Slice) -> WalkResult<'a> {
        let mut found = Vec::new();
        for value in &input {
            let items = match value {
                JsonPathValue::Json(Value::Null) => continue,
                JsonPathValue::Json(Value::Array(items)) => items,
                _ => return Err(TypeMismatch(input)),
            };
            let Some(range) = bounds(slice, items.len()) else {
                return Err(TypeMismatch(input));
            };
            if range.is_empty() {
                // Upstream ends here, without a look at the other inputs.
                return Ok(found);
            }
            let Ok(step) = usize::try_from(slice.step.unwrap_or(1)) else {
                return Err(TypeMismatch(input));
            };
            if step == 0 {
                return Err(TypeMismatch(input));
            }
            self.spend(range.len())?;
            found.extend(items[range].iter().step_by(step).map(JsonPathValue::Json));
        }
        Ok(found)
    }

    fn recursive<'a>(&mut self, input: Vec<JsonPathValue<'a>>) -> WalkResult<'a> {
        let mut found = Vec::new();
        // Depth first, in order: a stack of what is still to visit.
        let mut stack: Vec<JsonPathValue<'a>> = input.into_iter().rev().collect();
        while let Some(value) = stack.pop() {
            let mut children = Vec::new();
            self.children(value, &mut children)?;
            if !children.is_empty() {
                found.push(value);
                stack.extend(children.into_iter().rev());
            }
        }
        Ok(found)
    }

    /// The items of a list, the values of a map, the bytes of a string.
    fn children<'a>(
        &mut self,
        value: JsonPathValue<'a>,
        into: &mut Vec<JsonPathValue<'a>>,
    ) -> Result<(), TypeMismatch<'a>> {
        let before = into.len();
        match value {
            JsonPathValue::Json(Value::Array(items)) => into.extend(items.iter().map(JsonPathValue::Json)),
            JsonPathValue::Json(Value::Object(fields)) => into.extend(fields.values().map(JsonPathValue::Json)),
            JsonPathValue::Json(Value::String(text)) => into.extend(text.bytes().map(JsonPathValue::Byte)),
            JsonPathValue::Text(text) => into.extend(text.bytes().map(JsonPathValue::Byte)),
            _ => {}
        }
        self.spend(into.len() - before + 1)
    }

    fn filter<'a>(
        &mut self,
        input: Vec<JsonPathValue<'a>>,
        left: &'a [Node],
        operator: &str,
        right: &'a [Node],
    ) -> WalkResult<'a> {
        let mut found = Vec::new();
        for value in &input {
            let JsonPathValue::Json(Value::Array(items)) = value else {
                return Err(TypeMismatch(input));
            };
            for item in items.iter().map(JsonPathValue::Json) {
                let lefts = self.list(vec![item], left);
                if operator == "exists" {
                    let (Ok(lefts) | Err(TypeMismatch(lefts))) = lefts;
                    if !lefts.is_empty() {
                        found.push(item);
                    }
                    self.spend(1)?;
                    continue;
                }
                let Ok(lefts) = lefts else {
                    return Err(TypeMismatch(input));
                };
                let left = match lefts.as_slice() {
                    [] => continue,
                    [left] => *left,
                    _ => return Err(TypeMismatch(input)),
                };
                let Ok(rights) = self.list(vec![item], right) else {
                    return Err(TypeMismatch(input));
                };
                let right = match rights.as_slice() {
                    [] => continue,
                    [right] => *right,
                    _ => return Err(TypeMismatch(input)),
                };
                match compare::holds(left, operator, right) {
                    Some(true) => found.push(item),
                    Some(false) => {}
                    None => return Err(TypeMismatch(found)),
                }
            }
        }
        Ok(found)
    }

    fn spend<'a>(&mut self, values: usize) -> Result<(), TypeMismatch<'a>> {
        self.budget = self.budget.checked_sub(values).ok_or(TypeMismatch(Vec::new()))?;
        Ok(())
    }
}

/// The value of a map. A value that is not a map has no fields, which is not an error.
fn field<'a>(value: JsonPathValue<'a>, name: &str) -> Option<JsonPathValue<'a>> {
    match value {
        JsonPathValue::Json(Value::Object(fields)) => fields.get(name).map(JsonPathValue::Json),
        _ => None,
    }
}

/// The part of a list of this length that a slice means; `None` when it reaches beyond it.
fn bounds(slice: Slice, length: usize) -> Option<std::ops::Range<usize>> {
    let length = i64::try_from(length).ok()?;
    let mut from = slice.from.unwrap_or(0);
    if from < 0 {
        from += length;
    }
    let mut to = slice.to.unwrap_or(length);
    if to < 0 || (to == 0 && slice.to_is_derived) {
        to += length;
    }
    if from == to {
        return Some(0..0);
    }
    let fits = (0..length).contains(&from) && (0..=length).contains(&to) && from <= to;
    fits.then(|| Some(usize::try_from(from).ok()?..usize::try_from(to).ok()?))?
}
