//! Integers as Go converts them where an object is not decoded but converted: what does not fit into 32 bits loses the others, and a float
//! without a fraction is one.

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
            let Some(Scalar::Int(bits)) = ty.scalar() else { return };
            let integer = number.as_i64().or_else(|| number.as_f64().and_then(whole));
            if let Some(integer) = integer {
                *value = if bits == 32 {
                    Value::from(integer as i32)
                } else {
                    Value::from(integer)
                };
            }
        }
        _ => {}
    }
}

/// The integer that Go makes of a float without a fraction: the smallest one, where it fits into none.
fn whole(float: f64) -> Option<i64> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    (float.fract() == 0.0).then(|| {
        if (-BEYOND..BEYOND).contains(&float) {
            float as i64
        } else {
            i64::MIN
        }
    })
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

    #[test]
    fn floats_without_a_fraction_become_integers() {
        let deployment = Types::builtin().kind("apps", "v1", "Deployment").unwrap();
        let mut object = json!({"metadata": {"generation": 1e20}, "spec": {"replicas": 3.0, "minReadySeconds": 1.5, "progressDeadlineSeconds": 1e20}});
        cut(deployment, &mut object);
        assert_eq!(object["metadata"]["generation"], i64::MIN);
        assert_eq!(
            object["spec"],
            json!({"replicas": 3, "minReadySeconds": 1.5, "progressDeadlineSeconds": 0})
        );
    }
}
