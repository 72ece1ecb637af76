//! `create`: POST to a collection (H3, H4, M13).

use kubewright_kinds::meta;

use super::addressed::place_in_namespace;
use super::answer::reply;
use crate::call::Call;
use crate::decode::{self, Expected};
use crate::manage;
use crate::object::{self};
use crate::status::Result;
use crate::wire::respond::Reply;
use crate::write::{self};
use crate::write_options::OptionsKind;

pub(crate) async fn create(call: &mut Call<'_>) -> Result<Reply> {
    let resource = call.resource();
    let (options, mut object) = decode::received(call, OptionsKind::Create, Expected::of(resource))?;
    write::default(resource, &mut object);
    if let Some(metadata) = object::metadata_mut(&mut object) {
        meta::wipe_system_fields(metadata);
    }
    place_in_namespace(call, &mut object)?;
    write::dedup_owners(&mut object, &mut call.warnings);
    let time = call.server.clock.stamp();
    let mut object = manage::update(resource, None, &options.manager, &time, None, object);
    resource.to_stored(&mut object);
    let written = write::create(call, object, options.dry_run).await?;
    reply(call, written).await
}
