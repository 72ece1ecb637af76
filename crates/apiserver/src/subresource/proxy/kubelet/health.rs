//! `/healthz`: the checks of a kubelet, all of which hold while its node is ready.

use http::{Response, StatusCode};

use crate::non_resource::health;
use crate::wire::body::Body;
use crate::wire::query::Query;
use crate::wire::respond;

/// The checks of a kubelet.
const CHECKS: [&str; 3] = ["ping", "log", "syncloop"];

/// Answers for all checks, or for one.
pub(super) fn answer(query: &Query, part: Option<&str>) -> Response<Body> {
    match part {
        None => respond::text(StatusCode::OK, health::all("healthz", &CHECKS, query)),
        Some(_) => health::one(),
    }
}
