{{header}}{{doc}}

{{imports}}
{{#if !foreign}}

use {{use}};
{{/if}}
{{#if admits}}

/// What judges {{a_kind}} before it is stored.
pub fn webhook() -> Webhook<{{kind}}> {
    {{webhook}}
}
{{/if}}
{{#if converts}}

/// The versions of {{a_kind}}: every other one is converted to this one and back, as its
/// `#[convert(…)]` says.
pub fn conversion() -> Conversion {
    {{conversion}}
}
{{/if}}
{{#if defaults}}

/// Fills in what {{a_kind}} leaves open.
pub struct {{kind}}Defaulter;

{{impl_defaulter}}
    {{set_defaults}}
        // Set what is not set, as in `object.spec.size.get_or_insert(1)`.
        let _ = object;
        Ok(())
    }
}
{{/if}}
{{#if validates}}

/// Refuses {{a_kind}} that cannot be right.
pub struct {{kind}}Validator;

impl {{kind}}Validator {
    fn validate(_object: &{{kind}}) -> Verdict {
        // Add what is wrong, as in
        // `errors.push(FieldError::required(&Path::new("spec").child("size"), "say how many"))`.
        let errors = ErrorList::new();
        errors.verdict()
    }
}

{{impl_validator}}
    {{validate_create}}
        Self::validate(object)
    }

    {{validate_update}}
        Self::validate(object)
    }
}
{{/if}}
