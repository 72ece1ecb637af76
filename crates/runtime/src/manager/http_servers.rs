//! Probes, metrics and the debug page of a manager.

use super::debug::DebugPage;
use super::group::ServiceGroup;
use super::trace_page::{trace_events, trace_page};
use super::{Addresses, ManagerError};
use crate::informer::Cache;
use crate::metrics::{CertificateMetrics, Registry};
use crate::serve::{Authorizer, BindAddress, Certificates, Checks, HttpServer, Router, debug_page, metrics_page};
use crate::trace::Trace;

/// The HTTP servers of a manager, and what they show.
pub(super) struct HttpServers {
    pub(super) addresses: Addresses,
    pub(super) registry: Registry,
    pub(super) healthy: Checks,
    pub(super) ready: Checks,
    pub(super) cache: Cache,
    pub(super) debug: DebugPage,
    pub(super) trace: Trace,
    pub(super) kube: kube::Client,
    pub(super) certificate_metrics: CertificateMetrics,
}

impl HttpServers {
    /// Begins to listen.
    pub(super) async fn start(self, group: &mut ServiceGroup) -> Result<(), ManagerError> {
        let HttpServers {
            addresses,
            registry,
            healthy,
            ready,
            cache,
            debug,
            trace,
            kube,
            certificate_metrics,
        } = self;
        let is_debug_public = !addresses.debug.is_loopback();
        if is_debug_public && addresses.metrics_tls.is_none() {
            return Err(ManagerError::DebugNotLocal(addresses.debug));
        }
        healthy.add("ping", || async { Ok(()) });
        let filled = cache.clone();
        ready.add("caches", move || std::future::ready(are_filled(&filled)));
        let probes = Router::new()
            .route("/healthz", healthy.handler("/healthz"))
            .route("/healthz/", healthy.handler("/healthz"))
            .route("/readyz", ready.handler("/readyz"))
            .route("/readyz/", ready.handler("/readyz"));
        let mut metrics = Router::new().route("/metrics", metrics_page(registry));
        let authorizer = Authorizer::new(kube);
        let tls = addresses.metrics_tls.map(|(certificates, http2)| {
            metrics = authorizer.protect(std::mem::take(&mut metrics));
            (certificates.with_metrics(certificate_metrics), http2)
        });
        let mut debugging = Router::new()
            .route(
                "/debug/kubewright",
                debug_page(move || debug.value().unwrap_or_default()),
            )
            .route("/debug/kubewright/trace", trace_page(trace.clone()))
            .route("/debug/kubewright/trace/events", trace_events(trace, group.stop()));
        // Elsewhere than on this machine it is served as metrics are.
        let debug_tls = tls.clone().filter(|_| is_debug_public);
        if debug_tls.is_some() {
            debugging = authorizer.protect(debugging);
        }
        for (address, router, tls) in [
            (addresses.probes, probes, None),
            (addresses.metrics, metrics, tls),
            (addresses.debug, debugging, debug_tls),
        ] {
            serve(address, router, tls, group).await?;
        }
        Ok(())
    }
}

async fn serve(
    address: BindAddress,
    router: Router,
    tls: Option<(Certificates, bool)>,
    group: &mut ServiceGroup,
) -> Result<(), ManagerError> {
    let paths: Vec<_> = router.paths().map(str::to_owned).collect();
    let mut server = match HttpServer::bind(&address, router).await {
        Ok(Some(server)) => server,
        Ok(None) => return Ok(()),
        Err(source) => return Err(ManagerError::Listen { address, source }),
    };
    if let Some((certificates, http2)) = tls {
        server = server.with_tls(certificates, http2)?;
    }
    tracing::info!(address = %server.address(), ?paths, "listening");
    group.spawn(server.run(group.stop()));
    Ok(())
}

/// Filled are caches that have seen the state of their kind; a kind that is not served yet is not waited for.
fn are_filled(cache: &Cache) -> Result<(), String> {
    let late = cache
        .informers()
        .find(|informer| !informer.store().is_synced() && !informer.troubles().iter().any(|trouble| trouble.missing));
    let Some(informer) = late else {
        return Ok(());
    };
    let trouble = informer
        .troubles()
        .first()
        .map_or_else(String::new, |trouble| format!(": {trouble}"));
    Err(format!(
        "the cache of {} is not filled yet{trouble}",
        informer.store().kind()
    ))
}
