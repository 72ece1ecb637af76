//! `create`: POST to a collection (H3, H4, M13).

use kubewright_kinds::meta;

use super::answer::reply;
use crate::custom::conversion::{ConversionCache, consume_with_conversions};
use crate::object;
use crate::request::call::Call;
use crate::request::write_options::OptionsKind;
use crate::wire::respond::Reply;
use crate::wire::status::Result;
use crate::write;
use crate::write::addressed::place_in_namespace;
use crate::write::decode::{self, ExpectedKind};
use crate::write::defaults::{dedup_owners, default};
use crate::write::managed_fields::FieldWriter;

pub(crate) async fn create(call: &mut Call<'_>) -> Result<Reply> {
    let resource = call.resource();
    let (options, mut object) = decode::received(call, OptionsKind::Create, ExpectedKind::of(resource))?;
    default(resource, &mut object);
    if let Some(logged) = call.annotations.logged() {
        logged.request_object(resource.ty(), &object);
    }
    if let Some(metadata) = object::metadata_mut(&mut object) {
        meta::wipe_system_fields(metadata);
    }
    place_in_namespace(call, &mut object)?;
    dedup_owners(&mut object, &mut call.warnings);
    let time = call.server.clock.stamp();
    let writer = FieldWriter {
        resource,
        subresource: None,
        manager: &options.manager,
        time: &time,
    };
    let update = |object, cache: &ConversionCache| writer.update(None, object, cache);
    let mut object = consume_with_conversions(call.server, resource, object, update).await?;
    resource.to_stored(&mut object);
    let written = write::create(call, object, options.dry_run).await?;
    reply(call, written).await
}
