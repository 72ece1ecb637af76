//! Pod templates as objects of their own.

use kubewright_apimachinery::field::{Errors, PathRef};
use serde_json::Value;

use crate::behaviour::{Behaviour, Create, Update};
use crate::pod::options::Options;
use crate::pod::template;
use crate::rules::access::{at, part, same};

pub(crate) struct PodTemplate;

impl Behaviour for PodTemplate {
    fn default(&self, object: &mut Value) {
        template::default(object.get_mut("template"));
    }

    fn prepare_create(&self, create: Create<'_>) {
        template::drop_disabled(create.object.get_mut("template"));
    }

    fn prepare_update(&self, update: Update<'_>) {
        template::drop_disabled(update.object.get_mut("template"));
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        let template = part(object, "template");
        template::validate(template, Options::default(), &PathRef::root("template"), errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        let template = part(object, "template");
        template::validate(
            template,
            Options::from_old(old.get("template")),
            &PathRef::root("template"),
            errors,
        );
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some_and(|old| same(at(object, &["template"]), at(old, &["template"]))) {
            return Vec::new();
        }
        template::warn(object.get("template"), &PathRef::root("template"))
    }
}
