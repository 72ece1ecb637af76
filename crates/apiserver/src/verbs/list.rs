//! `list`: a collection at one revision, whole or in pages (R2–R6, R10).

use std::sync::Arc;

use http::StatusCode;
use kubewright_codec::json;
use kubewright_store::{Record, Revision, Snapshot, SnapshotError};
use kubewright_tables::{ListMeta, Table};

use crate::custom::conversion::{ConversionCache, NeededConversions, Unfinished, with_conversions};
use crate::object;
use crate::registry::Resource;
use crate::request::call::{Call, record_text, record_value};
use crate::request::list_options::{ListOptions, VersionMatch};
use crate::wire::continue_token::Continue;
use crate::wire::respond::Reply;
use crate::wire::status::{Result, Status};
use crate::wire::table;

pub(crate) async fn list(call: &Call<'_>) -> Result<Reply> {
    let options = ListOptions::parse(call.query, call.target, false)?;
    // Rows are made of the objects themselves: a list that is written only to be read again takes as long and as much again.
    if let Some(table) = table::wanted(call.target, call.output, call.query)? {
        return table_page(call, &options, &table).await;
    }
    let (_, reply) = page(call, &options).await?;
    Ok(reply)
}

/// The page that the options ask for as a Table.
async fn table_page(call: &Call<'_>, options: &ListOptions, table: &Table) -> Result<Reply> {
    let (snapshot, after, first) = snapshot(call, options).await?;
    let resource = call.resource();
    let now = call.server.clock.now();
    let read = |cache: &ConversionCache| {
        let from = (after.as_deref(), first.as_deref());
        let page = Page::read(call, options, &snapshot, from, cache)?;
        let revision = page.revision.to_string();
        let next = page.next.as_ref().map(Continue::encode).unwrap_or_default();
        let meta = ListMeta {
            resource_version: &revision,
            continue_token: &next,
            remaining_item_count: page.remaining.map(|remaining| remaining as u64),
        };
        let mut gathered = NeededConversions::default();
        let mut text = Vec::new();
        let objects = page
            .records
            .iter()
            .filter_map(|record| gathered.take(record_value(resource, record, record.revision, cache)));
        let written = table.write_list(&mut text, &meta, objects, now);
        gathered.check()?;
        written.map_err(table::refusal)?;
        Ok(Reply::table(text))
    };
    with_conversions(call.server, resource, read).await
}

/// A page of a list.
struct Page {
    records: Vec<Arc<Record>>,
    revision: Revision,
    next: Option<Continue>,
    remaining: Option<usize>,
}

/// Reads the page that the options ask for: its objects, and the answer that shows them.
pub(crate) async fn page(call: &Call<'_>, options: &ListOptions) -> Result<(Vec<Arc<Record>>, Reply)> {
    let (snapshot, after, first) = snapshot(call, options).await?;
    let resource = call.resource();
    let read = |cache: &ConversionCache| {
        let from = (after.as_deref(), first.as_deref());
        let page = Page::read(call, options, &snapshot, from, cache)?;
        let text = page.text(resource, cache)?;
        Ok((page.records, Reply::new(StatusCode::OK, text)))
    };
    with_conversions(call.server, resource, read).await
}

/// The state to read, the key behind which to begin, and the key at which to begin if that itself is meant.
async fn snapshot(call: &Call<'_>, options: &ListOptions) -> Result<(Snapshot, Option<String>, Option<String>)> {
    let store = &call.server.store;
    let table = call.resource().table;
    if !options.continue_token.is_empty() {
        let token = Continue::decode(&options.continue_token)?;
        if !matches!(options.resource_version.as_str(), "" | "0") {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let after = Some(object::key(call.target.namespace, &token.after));
        let snapshot = match token.revision {
            None => store.snapshot(table),
            Some(revision) => store
                .snapshot_at(table, revision)
                .map_err(|error| expired(call, error, Some(&token)))?,
        };
        let first = after.clone().filter(|_| token.inclusive);
        return Ok((snapshot, after, first));
    }
    let Some(revision) = options.revision()? else {
        return Ok((store.snapshot(table), None, None));
    };
    call.server.wait_for_revision(revision).await?;
    let exact =
        options.version_match == Some(VersionMatch::Exact) || (options.version_match.is_none() && options.limit > 0);
    if exact {
        let snapshot = store
            .snapshot_at(table, revision)
            .map_err(|error| expired(call, error, None))?;
        return Ok((snapshot, None, None));
    }
    Ok((store.snapshot(table), None, None))
}

/// The revision is gone; a paged list may go on inconsistently with the token in the answer (R5).
fn expired(call: &Call<'_>, error: SnapshotError, token: Option<&Continue>) -> Box<Status> {
    let SnapshotError::Compacted(_) = error else {
        return Status::too_large_resource_version(u64::MAX, call.server.store.revision().0);
    };
    let Some(token) = token else {
        return Status::expired("The resourceVersion for the provided list is too old.");
    };
    let mut status = Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
         results. Continuing with the provided token results in an inconsistent list - objects that were created, \
         modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    status.continue_token = Some(
        Continue {
            revision: None,
            ..token.clone()
        }
        .encode(),
    );
    status
}

impl Page {
    fn read(
        call: &Call<'_>,
        options: &ListOptions,
        snapshot: &Snapshot,
        (after, first): (Option<&str>, Option<&str>),
        cache: &ConversionCache,
    ) -> std::result::Result<Page, Unfinished> {
        let resource = call.resource();
        let namespace = Some(call.target.namespace).filter(|namespace| !namespace.is_empty());
        // Upstream answers "any version" from its cache, which knows no pages.
        let limit = if options.limit > 0 && options.resource_version != "0" {
            options.limit
        } else {
            usize::MAX
        };
        let selection = &options.selection;
        let by_key = selection.fields.exact_name().is_some() && (namespace.is_some() || !resource.namespaced);
        let converts = resource
            .custom()
            .is_some_and(|version| version.kind.webhook().is_some());
        let mut records = Vec::new();
        let mut gathered = NeededConversions::default();
        let mut more = false;
        let first = first.and_then(|key| snapshot.get(key));
        for record in first.into_iter().chain(snapshot.records(namespace, after)) {
            // Whether what follows is selected is not looked at: the next page may be empty. An object that is asked for
            // by its name is read by its key.
            if records.len() == limit {
                more = !by_key;
                break;
            }
            // What cannot be converted cannot be read, also to find that it is not selected.
            if converts {
                gathered.take(record_text(resource, record, record.revision, cache));
            }
            if gathered.take(selection.matches(record, cache)) == Some(true) {
                records.push(Arc::clone(record));
            }
        }
        gathered.check()?;
        let last = records.last().map(|record| record.key.to_string()).filter(|_| more);
        let revision = snapshot.revision();
        let remaining = last
            .as_deref()
            .filter(|_| selection.is_everything())
            .map(|last| snapshot.count(namespace, Some(last)));
        // The token names the place below the collection that was asked for.
        let next = last.map(|last| Continue {
            revision: Some(revision),
            inclusive: false,
            after: namespace
                .and_then(|ns| last.strip_prefix(ns)?.strip_prefix('/').map(str::to_owned))
                .unwrap_or(last),
        });
        Ok(Page {
            records,
            revision,
            next,
            remaining,
        })
    }

    /// The list's text: stored bytes behind a head, copied once. A list of a built-in kind has the order of its Go type, one of custom
    /// resources has sorted keys.
    fn text(&self, resource: &Resource, cache: &ConversionCache) -> std::result::Result<Vec<u8>, Unfinished> {
        let bytes: usize = self.records.iter().map(|record| record.body.len() + 48).sum();
        let mut text = Vec::with_capacity(bytes + 256);
        if resource.custom().is_some() {
            text.extend_from_slice(br#"{"apiVersion":""#);
            text.extend_from_slice(resource.api_version.as_bytes());
            text.extend_from_slice(br#"","items":"#);
            self.items(&mut text, resource, cache)?;
            text.extend_from_slice(br#","kind":""#);
            text.extend_from_slice(resource.list_kind.as_bytes());
            // Upstream's lists of custom resources are maps, in which this key is always set.
            text.extend_from_slice(br#"","metadata":{"continue":"#);
            let next = self.next.as_ref().map(Continue::encode);
            json::write_string(next.as_deref().unwrap_or_default(), &mut text);
            self.remaining(&mut text);
            text.extend_from_slice(br#","resourceVersion":""#);
            text.extend_from_slice(self.revision.to_string().as_bytes());
            text.extend_from_slice(b"\"}}\n");
            return Ok(text);
        }
        text.extend_from_slice(br#"{"kind":""#);
        text.extend_from_slice(resource.list_kind.as_bytes());
        text.extend_from_slice(br#"","apiVersion":""#);
        text.extend_from_slice(resource.api_version.as_bytes());
        text.extend_from_slice(br#"","metadata":{"resourceVersion":""#);
        text.extend_from_slice(self.revision.to_string().as_bytes());
        text.push(b'"');
        if let Some(next) = &self.next {
            text.extend_from_slice(br#","continue":"#);
            json::write_string(&next.encode(), &mut text);
        }
        self.remaining(&mut text);
        text.extend_from_slice(br#"},"items":"#);
        self.items(&mut text, resource, cache)?;
        text.extend_from_slice(b"}\n");
        Ok(text)
    }

    fn remaining(&self, text: &mut Vec<u8>) {
        if let Some(remaining) = self.remaining {
            text.extend_from_slice(format!(r#","remainingItemCount":{remaining}"#).as_bytes());
        }
    }

    fn items(
        &self,
        text: &mut Vec<u8>,
        resource: &Resource,
        cache: &ConversionCache,
    ) -> std::result::Result<(), Unfinished> {
        text.push(b'[');
        for (at, record) in self.records.iter().enumerate() {
            if at > 0 {
                text.push(b',');
            }
            item(text, resource, record, cache)?;
        }
        text.push(b']');
        Ok(())
    }
}

/// An item of a built-in's list carries no type of its own (R10).
fn item(
    text: &mut Vec<u8>,
    resource: &Resource,
    record: &Record,
    cache: &ConversionCache,
) -> std::result::Result<(), Unfinished> {
    // An item of a custom resource carries its type.
    let type_meta = if resource.custom().is_some() {
        resource.type_meta.as_str()
    } else {
        ""
    };
    if resource.serves_as_stored(record) {
        object::splice(text, type_meta, record.revision, record);
        return Ok(());
    }
    let whole = record_text(resource, record, record.revision, cache)?;
    let mut value = object::parsed(&whole);
    if type_meta.is_empty()
        && let Some(object) = value.as_object_mut()
    {
        object.remove("kind");
        object.remove("apiVersion");
    }
    match resource.ty() {
        Some(ty) => kubewright_schema::write_json(ty, &value, text),
        None => json::write(&value, text),
    }
    Ok(())
}
