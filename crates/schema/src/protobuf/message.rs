//! The order of a struct's fields in protobuf. JSON shows the fields of an embedded struct as the outer one's own, protobuf
//! keeps them in a message of their own.

use crate::model::{Field, Struct};

/// What a message has at its field numbers, ordered by number.
#[derive(Debug)]
pub(crate) struct Message {
    slots: Box<[(u16, Slot)]>,
}

/// What a field number stands for.
#[derive(Debug)]
pub(crate) enum Slot {
    /// The field at that position of the struct.
    Field(u16),
    /// The message of an embedded struct, whose fields are among the outer struct's.
    Embedded { name: Box<str>, message: Message },
}

impl Message {
    /// The layout of a struct; `None` if it exists in JSON only.
    pub(super) fn of(structure: &Struct) -> Option<&Message> {
        let message = structure.message.get_or_init(|| {
            let positions: Vec<u16> = (0u16..).take(structure.fields.len()).collect();
            Message::inside(&structure.fields, &positions, 0)
        });
        (!message.slots.is_empty() || structure.fields.is_empty()).then_some(message)
    }

    /// The layout of the message that the fields at `positions` share at `depth`.
    fn inside(fields: &[Field], positions: &[u16], depth: usize) -> Message {
        let number = |position: &u16, depth: usize| {
            let numbers = fields[usize::from(*position)].number;
            numbers.get(depth).copied().unwrap_or_default()
        };
        let mut sorted: Vec<u16> = positions.iter().copied().filter(|at| number(at, depth) > 0).collect();
        sorted.sort_by_key(|at| number(at, depth));
        let slots = sorted
            .chunk_by(|a, b| number(a, depth) == number(b, depth))
            .map(|group| {
                let slot = if number(&group[0], depth + 1) == 0 {
                    Slot::Field(group[0])
                } else {
                    let via = &fields[usize::from(group[0])].via;
                    Slot::Embedded {
                        name: via.get(depth).cloned().unwrap_or_default(),
                        message: Message::inside(fields, group, depth + 1),
                    }
                };
                (number(&group[0], depth), slot)
            })
            .collect();
        Message { slots }
    }

    pub(super) fn slot(&self, number: i32) -> Option<&Slot> {
        let number = u16::try_from(number).ok()?;
        let found = self.slots.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(&self.slots[found].1)
    }

    pub(super) fn slots(&self) -> impl DoubleEndedIterator<Item = (u16, &Slot)> {
        self.slots.iter().map(|(number, slot)| (*number, slot))
    }
}
