//! Amounts by the names of resources.

use std::collections::BTreeMap;

use kubewright_quantity::Quantity;
use serde_json::{Map, Value};

/// Amounts by the names of resources, in the order of the names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceList(BTreeMap<String, Quantity>);

impl ResourceList {
    /// Reads a JSON object. What is no quantity is left out: the server checks objects before it counts them.
    pub fn read(value: Option<&Value>) -> ResourceList {
        let fields = value.and_then(Value::as_object);
        let amounts = fields.into_iter().flatten().filter_map(|(name, amount)| {
            let amount = match amount {
                Value::String(text) => Quantity::parse(text).ok(),
                Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
                _ => None,
            };
            Some((name.clone(), amount?))
        });
        ResourceList(amounts.collect())
    }

    /// The JSON object of these amounts.
    pub fn to_value(&self) -> Value {
        let fields = self
            .0
            .iter()
            .map(|(name, amount)| (name.clone(), amount.to_string().into()));
        Value::Object(fields.collect::<Map<_, _>>())
    }

    /// The amount of a resource.
    pub fn get(&self, name: &str) -> Option<&Quantity> {
        self.0.get(name)
    }

    /// Sets an amount.
    pub fn set(&mut self, name: impl Into<String>, amount: Quantity) {
        self.0.insert(name.into(), amount);
    }

    /// The names and amounts, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Quantity)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), amount))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds each amount of `other`.
    pub fn add(&mut self, other: &ResourceList) {
        for (name, amount) in &other.0 {
            match self.0.get_mut(name) {
                Some(own) => own.add(amount),
                None => drop(self.0.insert(name.clone(), amount.clone())),
            }
        }
    }

    /// Takes each amount of `other` that is greater than its own.
    pub fn raise_to(&mut self, other: &ResourceList) {
        for (name, amount) in &other.0 {
            if self.0.get(name).is_none_or(|own| amount > own) {
                self.0.insert(name.clone(), amount.clone());
            }
        }
    }

    /// These amounts less those of `other`, never below zero.
    pub(crate) fn less(&self, other: &ResourceList) -> ResourceList {
        let zero = Quantity::from_int(0);
        let mut rest = self.clone();
        for (name, amount) in &mut rest.0 {
            if let Some(other) = other.get(name) {
                amount.sub(other);
            }
            if *amount <= zero {
                *amount = zero.clone();
            }
        }
        rest
    }

    /// Only the amounts of these resources.
    pub(crate) fn only(&self, keep: impl Fn(&str) -> bool) -> ResourceList {
        let kept = self.0.iter().filter(|(name, _)| keep(name));
        ResourceList(kept.map(|(name, amount)| (name.clone(), amount.clone())).collect())
    }

    /// As upstream prints amounts in refusals.
    pub(crate) fn printed(&self) -> String {
        let parts: Vec<String> = self.0.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
        parts.join(",")
    }
}

impl<'n> FromIterator<(&'n str, Quantity)> for ResourceList {
    fn from_iter<I: IntoIterator<Item = (&'n str, Quantity)>>(amounts: I) -> Self {
        ResourceList(
            amounts
                .into_iter()
                .map(|(name, amount)| (name.to_owned(), amount))
                .collect(),
        )
    }
}
