//! Expressions that select devices: what they may say of `device`, and upstream's words for those that cannot be compiled.

use std::sync::{Arc, OnceLock};

use kubewright_cel::{Env, ObjectType, Type};

/// What is wrong with an expression, if anything is.
pub(crate) fn check(expression: &str) -> Result<(), String> {
    let program = environment()
        .compile(expression)
        .map_err(|issues| format!("compilation failed: {issues}"))?;
    let found = match program.output_type() {
        // An attribute has no type before there is a device.
        Type::Bool | Type::Dyn => return Ok(()),
        Type::Null => "null_type".to_owned(),
        Type::Object(object) => object.name.clone(),
        other => other.to_string(),
    };
    Err(format!("must evaluate to bool or the unknown type, not {found}"))
}

fn environment() -> &'static Env {
    static ENV: OnceLock<Env> = OnceLock::new();
    ENV.get_or_init(|| Env::kubernetes().with_variable("device", device()))
}

fn device() -> Type {
    let object = |name: &str, fields| {
        Type::Object(Arc::new(ObjectType {
            name: format!("kubernetes.{name}"),
            fields,
        }))
    };
    let by_domain = |value| Type::map(Type::String, Type::map(Type::String, value));
    let fields = [
        ("driver", Type::String),
        ("attributes", by_domain(Type::Dyn)),
        ("capacity", by_domain(object("Quantity", None))),
        ("allowMultipleAllocations", Type::Bool),
    ];
    object(
        "DRADevice",
        Some(fields.map(|(name, of)| (name.to_owned(), of)).into_iter().collect()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_select_by_what_a_device_has() {
        for fine in [
            "device.driver == 'd.example.com'",
            "device.attributes['a'].b",
            "device.capacity['a'].b.isGreaterThan(quantity('1'))",
            "device.allowMultipleAllocations",
        ] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
    }

    #[test]
    fn what_is_no_condition_is_refused_by_its_type() {
        let refused = |expression: &str| check(expression).unwrap_err();
        assert_eq!(refused("1"), "must evaluate to bool or the unknown type, not int");
        assert_eq!(
            refused("null"),
            "must evaluate to bool or the unknown type, not null_type"
        );
        assert_eq!(
            refused("device"),
            "must evaluate to bool or the unknown type, not kubernetes.DRADevice"
        );
        assert!(refused("device.foo").contains("undefined field 'foo'"));
        assert!(refused("object.x == 1").contains("undeclared reference to 'object'"));
    }
}
