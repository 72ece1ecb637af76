//! Integers as Go converts them where an object is not decoded but converted: what does not fit into 32 bits loses the others.

use kubewright_schema::{Scalar, TypeRef};
use serde_json::Value;

/// Cuts every integer of a value to the size that its type has.
pub(crate) fn cut(ty: TypeRef<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let below = ty.field_named(name).map(kubewright_schema::FieldRef::type_ref);
                if let Some(below) = below.or_else(|| ty.element()) {
                    cut(below, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(below) = ty.element() {
                for item in items {
                    cut(below, item);
                }
            }
        }
        Value::Number(number) => {
            if let (Some(Scalar::Int(32)), Some(integer)) = (ty.scalar(), number.as_i64())
                && i32::try_from(integer).is_err()
            {
                *value = Value::from(integer as i32);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use kubewright_schema::Types;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_loses_its_upper_bits() {
        let deployment = Types::builtin().kind("apps", "v1", "Deployment").unwrap();
        let mut object = json!({"spec": {
            "replicas": 9_007_199_254_740_993_i64,
            "template": {"spec": {"activeDeadlineSeconds": 2_147_483_648_i64, "containers": [{"ports": [{"hostPort": 2_147_483_648_i64}]}]}},
        }});
        cut(deployment, &mut object);
        assert_eq!(object["spec"]["replicas"], 1);
        let spec = &object["spec"]["template"]["spec"];
        assert_eq!(spec["activeDeadlineSeconds"], 2_147_483_648_i64);
        assert_eq!(spec["containers"][0]["ports"][0]["hostPort"], i32::MIN);
    }
}
