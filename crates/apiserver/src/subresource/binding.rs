//! `pods/binding` and `bindings`: a scheduler puts a pod on a node.

use http::StatusCode;
use kubewright_apimachinery::field::aggregate;
use kubewright_kinds::pod::binding;
use serde_json::json;

use super::body_kind;
use crate::admit::BodyKind;
use crate::object::{self, meta_text};
use crate::registry::BuiltInId;
use crate::request::HandlerOutput;
use crate::request::call::Call;
use crate::request::write_options::OptionsKind;
use crate::wire::respond::Reply;
use crate::wire::status::{GroupResource, Result, Status};
use crate::write::addressed::place_in_namespace;
use crate::write::decode;

pub(super) async fn create(call: &mut Call<'_>) -> Result<HandlerOutput> {
    let expected = decode::expected("", "v1", "Binding")?;
    let (options, mut wanted) = decode::received(call, OptionsKind::Create, expected)?;
    place_in_namespace(call, &mut wanted)?;
    let given = meta_text(&wanted, "name");
    let name = if call.target.name.is_empty() {
        given.to_owned()
    } else {
        call.target.name.to_owned()
    };
    if !given.is_empty() && given != name {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    if call.server.has_dynamic_admission() {
        wanted = body_kind::owned(call, BodyKind::BINDING, &options.manager, wanted);
    }
    body_kind::mutate(call, BodyKind::BINDING, &name, &mut wanted, options.dry_run).await?;
    body_kind::validate(call, BodyKind::BINDING, &name, &wanted, options.dry_run).await?;
    if let Some(message) = aggregate(&binding::validate(&wanted)) {
        return Err(Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", message));
    }
    if call.target.lacks_namespace {
        return Err(Status::namespace_required());
    }
    let pods = BuiltInId::Pods.resource();
    let key = object::key(call.target.namespace, &name);
    let time = call.server.clock.stamp();
    loop {
        let store = &call.server.store;
        let record = store
            .get(pods.table, &key)
            .ok_or_else(|| Status::not_found(pods.about(), &name))?;
        let mut pod = object::to_value(pods, &record, record.revision);
        binding::apply(&mut pod, &wanted, &time).map_err(|why| {
            Status::conflict(
                GroupResource {
                    group: "",
                    resource: "pods/binding",
                },
                &name,
                &why,
            )
        })?;
        if options.dry_run
            || store
                .update(pods.table, &key, record.revision, object::to_built_in_draft(pods, &pod))
                .is_ok()
        {
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
            });
            return Ok(Reply::value(StatusCode::CREATED, &status).into());
        }
    }
}
