//! `update`: PUT of an object or its status (H3, M3, M8–M10, W8).

use super::answer::{at_version, reply};
use crate::request;
use crate::request::call::Call;
use crate::request::write_options::OptionsKind;
use crate::wire::respond::Reply;
use crate::wire::status::Result;
use crate::write::addressed::{check_name, check_uid, place_in_namespace};
use crate::write::decode::{self, ExpectedKind};
use crate::write::defaults::{dedup_owners, default};
use crate::write::managed_fields::FieldWriter;
use crate::write::{self, IfMissing, Mode};

pub(crate) async fn update(call: &mut Call<'_>) -> Result<Reply> {
    let resource = call.resource();
    let (options, mut object) = decode::received(call, OptionsKind::Update, ExpectedKind::of(resource))?;
    default(resource, &mut object);
    if let Some(logged) = call.annotations.logged() {
        logged.request_object(resource.ty(), &object);
    }
    place_in_namespace(call, &mut object)?;
    check_name(call, &object)?;
    request::check_name(call.target.name)?;
    request::check_namespace(call.target)?;
    dedup_owners(&mut object, &mut call.warnings);
    let time = call.server.clock.stamp();
    let may_create = resource.strategy().create_on_update && call.target.subresource.is_none();
    let mode = Mode {
        dry_run: options.dry_run,
        if_missing: IfMissing::create_if(may_create),
    };
    let writer = FieldWriter {
        resource,
        subresource: call.target.subresource,
        manager: &options.manager,
        time: &time,
    };
    let written = write::update(call, mode, |call, live, cache| {
        check_uid(call, &object, live, options.dry_run)?;
        let live = live.map(|live| at_version(resource, live));
        let mut new = writer.update(live.as_deref(), object.clone(), cache)?;
        resource.to_stored(&mut new);
        Ok(new)
    })
    .await?;
    reply(call, written).await
}
