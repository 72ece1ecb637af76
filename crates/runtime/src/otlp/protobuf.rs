//! Spans in the protobuf of OTLP. The numbers of fields are those of `opentelemetry/proto/trace/v1/trace.proto` and of the files that it imports.

use std::time::Duration;

use super::SCOPE;
use super::answer::Answer;
use super::span::{Attribute, AttributeValue, Link, STATUS_ERROR, Span, SpanEvent};
use super::wire::{Field, Message, fields};

/// The body of a request with these spans.
pub(super) fn request(resource: &[Attribute], spans: &[Span]) -> Vec<u8> {
    let mut request = Message::default();
    request.message(1, |of_resource| {
        of_resource.message(1, |message| attributes(message, 1, resource));
        of_resource.message(2, |of_scope| {
            let (name, version) = SCOPE;
            of_scope.message(1, |scope| {
                scope.text(1, name);
                scope.text(2, version);
            });
            for one in spans {
                of_scope.message(2, |message| span(message, one));
            }
        });
    });
    request.into_bytes()
}

/// What a collector says of a request that it took.
pub(super) fn answer(body: &[u8]) -> Answer {
    let mut answer = Answer::default();
    let partial = fields(body).find_map(|(number, field)| match field {
        Field::Bytes(partial) if number == 1 => Some(partial),
        _ => None,
    });
    for (number, field) in fields(partial.unwrap_or_default()) {
        match (number, field) {
            (1, Field::Varint(rejected)) => answer.rejected = rejected,
            (2, Field::Bytes(message)) => answer.message = String::from_utf8_lossy(message).into_owned(),
            _ => {}
        }
    }
    answer
}

/// What a collector says of a request that it refused: a `google.rpc.Status`.
pub(super) fn refusal(body: &[u8]) -> Option<String> {
    fields(body).find_map(|(number, field)| match field {
        Field::Bytes(message) if number == 2 => Some(String::from_utf8_lossy(message).into_owned()),
        _ => None,
    })
}

fn span(message: &mut Message, span: &Span) {
    message.bytes(1, &span.context.trace.to_be_bytes());
    message.bytes(2, &span.context.span.to_be_bytes());
    if let Some(parent) = span.parent {
        message.bytes(4, &parent.to_be_bytes());
    }
    message.text(5, &span.name);
    message.varint(6, span.kind as u64);
    message.fixed64(7, nanoseconds(span.began));
    message.fixed64(8, nanoseconds(span.ended));
    attributes(message, 9, &span.attributes);
    for one in &span.events {
        message.message(11, |message| event(message, one));
    }
    if span.dropped_events > 0 {
        message.varint(12, span.dropped_events.into());
    }
    for one in &span.links {
        message.message(13, |message| link(message, one));
    }
    if let Some(why) = &span.failure {
        message.message(15, |status| {
            status.text(2, why);
            status.varint(3, STATUS_ERROR.into());
        });
    }
}

fn event(message: &mut Message, event: &SpanEvent) {
    message.fixed64(1, nanoseconds(event.at));
    message.text(2, &event.name);
    attributes(message, 3, &event.attributes);
}

fn link(message: &mut Message, link: &Link) {
    message.bytes(1, &link.to.trace.to_be_bytes());
    message.bytes(2, &link.to.span.to_be_bytes());
    attributes(message, 4, &link.attributes);
}

fn attributes(message: &mut Message, number: u32, attributes: &[Attribute]) {
    for attribute in attributes {
        message.message(number, |pair| {
            pair.text(1, &attribute.key);
            pair.message(2, |message| value(message, &attribute.value));
        });
    }
}

/// One of several fields, which is written even if it has the value that a reader would assume.
fn value(message: &mut Message, value: &AttributeValue) {
    match value {
        AttributeValue::Text(text) => message.text(1, text),
        AttributeValue::Bool(value) => message.varint(2, u64::from(*value)),
        AttributeValue::Integer(value) => message.varint(3, *value),
        AttributeValue::Double(value) => message.fixed64(4, value.to_bits()),
        AttributeValue::Texts(texts) => message.message(5, |array| {
            for text in texts {
                array.message(1, |message| message.text(1, text));
            }
        }),
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
