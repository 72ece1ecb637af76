//! Spans in the JSON of OTLP: the names of the protocol's messages in camel case, ids in hexadecimal digits, 64-bit numbers as texts.

use std::time::Duration;

use serde_json::{Value, json};

use super::SCOPE;
use super::answer::Answer;
use super::span::{Attribute, AttributeValue, Link, STATUS_ERROR, Span, SpanEvent};

/// The body of a request with these spans.
pub(super) fn request(resource: &[Attribute], spans: &[Span]) -> Vec<u8> {
    let spans: Vec<Value> = spans.iter().map(span).collect();
    let (name, version) = SCOPE;
    let body = json!({
        "resourceSpans": [{
            "resource": { "attributes": attributes(resource) },
            "scopeSpans": [{ "scope": { "name": name, "version": version }, "spans": spans }],
        }],
    });
    body.to_string().into_bytes()
}

/// What a collector says of a request that it took.
pub(super) fn answer(body: &[u8]) -> Answer {
    let body = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let partial = &body["partialSuccess"];
    let rejected = &partial["rejectedSpans"];
    // A number or, as all 64-bit numbers should be, a text.
    let rejected = rejected.as_u64().or_else(|| rejected.as_str()?.parse().ok());
    Answer {
        rejected: rejected.unwrap_or(0),
        message: partial["errorMessage"].as_str().unwrap_or_default().to_owned(),
    }
}

/// What a collector says of a request that it refused.
pub(super) fn refusal(body: &[u8]) -> Option<String> {
    let status = serde_json::from_slice::<Value>(body).ok()?;
    status["message"].as_str().map(str::to_owned)
}

fn span(span: &Span) -> Value {
    let mut value = json!({
        "traceId": trace_id(span.context.trace), "spanId": span_id(span.context.span), "name": span.name, "kind": span.kind as u8,
        "startTimeUnixNano": nanoseconds(span.began), "endTimeUnixNano": nanoseconds(span.ended),
        "attributes": attributes(&span.attributes), "events": span.events.iter().map(event).collect::<Vec<_>>(),
        "droppedEventsCount": span.dropped_events, "links": span.links.iter().map(link).collect::<Vec<_>>(),
    });
    if let Some(parent) = span.parent {
        value["parentSpanId"] = span_id(parent).into();
    }
    if let Some(why) = &span.failure {
        value["status"] = json!({ "code": STATUS_ERROR, "message": why });
    }
    value
}

fn event(event: &SpanEvent) -> Value {
    json!({ "timeUnixNano": nanoseconds(event.at), "name": event.name, "attributes": attributes(&event.attributes) })
}

fn link(link: &Link) -> Value {
    json!({
        "traceId": trace_id(link.to.trace), "spanId": span_id(link.to.span), "attributes": attributes(&link.attributes),
    })
}

fn attributes(attributes: &[Attribute]) -> Vec<Value> {
    let pairs = attributes.iter();
    pairs
        .map(|attribute| json!({ "key": attribute.key, "value": value(&attribute.value) }))
        .collect()
}

fn value(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::Text(text) => json!({ "stringValue": text }),
        AttributeValue::Texts(texts) => {
            let values: Vec<Value> = texts.iter().map(|text| json!({ "stringValue": text })).collect();
            json!({ "arrayValue": { "values": values } })
        }
        AttributeValue::Bool(value) => json!({ "boolValue": value }),
        AttributeValue::Integer(value) => json!({ "intValue": value.to_string() }),
        AttributeValue::Double(value) => json!({ "doubleValue": value }),
    }
}

fn trace_id(id: u128) -> String {
    format!("{id:032x}")
}

fn span_id(id: u64) -> String {
    format!("{id:016x}")
}

fn nanoseconds(time: Duration) -> String {
    time.as_nanos().to_string()
}
