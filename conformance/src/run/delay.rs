//! How long the real server takes until a write is in effect.

/// What the real server acts on only after its informers have seen it.
const SEEN_LATER: [&str; 8] = [
    "admissionregistration.k8s.io",
    "rbac.authorization.k8s.io",
    "/limitranges",
    "/resourcequotas",
    "/runtimeclasses",
    "/storageclasses",
    "/ingressclasses",
    "/priorityclasses",
];

/// How many times longer than webhooks and roles admission policies take on the real server, which looks for new ones every second.
pub(super) const POLICY_DELAYS: u32 = 7;

/// Why the real server acts on a write only after it has answered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Delay {
    /// Its informers have to see the object.
    Informers,
    /// Admission policies are read again every second.
    Policies,
}

/// How long the real server may take to act on what a request writes; `None` if the write is in effect with its answer.
pub(super) fn delay(request: &str) -> Option<Delay> {
    let names = |part: &str| request.contains(part);
    if names("admissionpolic") {
        Some(Delay::Policies)
    } else if SEEN_LATER.into_iter().any(names) {
        Some(Delay::Informers)
    } else {
        None
    }
}
