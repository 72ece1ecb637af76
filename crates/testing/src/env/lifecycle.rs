//! Starts, restarts and stops the manager of an environment; forks and ends the environment.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use kubewright_apiserver::ApiServer;
use kubewright_runtime::mapper::RestMapper;

use super::{TestEnv, clean, live, trace};
use crate::control_plane::{ControlPlane, Embedded};
use crate::fail::{fail, or_fail};
use crate::install::SERVICE_PORT;
use crate::manager::{ManagerInputs, RunningManager};
use crate::running_controllers::RunningControllers;
use crate::traffic::Traffic;
use crate::{Error, audit, report};

impl TestEnv {
    /// The embedded server, for what is not common to all control planes.
    #[track_caller]
    pub fn server(&self) -> ApiServer {
        let at = Location::caller();
        self.try_server().unwrap_or_else(|error| fail(at, &error.text()))
    }

    /// As [`server`](Self::server), but returns the error instead of failing the test.
    pub fn try_server(&self) -> Result<ApiServer, Error> {
        self.control_plane()?.server().cloned().ok_or(Error::EmbeddedOnly {
            what: "the server itself",
            mode: self.mode_name(),
            remedy: "use `env.client()`",
        })
    }

    /// Starts the manager after [`TestEnv::stop_manager`].
    #[track_caller]
    pub fn start_manager(&self) -> impl Future<Output = ()> {
        or_fail(Location::caller(), self.try_start_manager())
    }

    /// As [`start_manager`](Self::start_manager), but returns the error instead of failing the test.
    pub async fn try_start_manager(&self) -> Result<(), Error> {
        if self.manager.lock().is_some() {
            return Ok(());
        }
        let running = self.new_manager().await?;
        *self.manager.lock() = Some(running);
        Ok(())
    }

    /// Has the server read the roles and bindings that it decides about the operator by: its forks begin with what it has read.
    pub(crate) async fn read_roles(&self) -> Result<(), Error> {
        if let Some(installation) = &self.installation {
            let (namespace, account) = (&installation.namespace, &installation.account);
            let kube = self
                .control_plane()?
                .account(namespace, account, &Traffic::new())
                .await?;
            let versions = kube.apiserver_version().await;
            versions.map_err(|error| Error::kube("/version", error))?;
        }
        Ok(())
    }

    /// Starts a second replica, which waits for the lease of the first.
    pub(super) async fn start_standby(&self) -> Result<(), Error> {
        let running = self.new_manager().await?;
        *self.standby.lock() = Some(running);
        Ok(())
    }

    /// The second replica is the manager from now on, if there is one.
    pub(crate) fn promote_standby(&self) -> bool {
        let standby = self.standby.lock().take();
        let is_there = standby.is_some();
        if is_there {
            *self.manager.lock() = standby;
        }
        is_there
    }

    async fn new_manager(&self) -> Result<RunningManager, Error> {
        let (Some(operator), Some(installation)) = (&self.operator, &self.installation) else {
            return Err(Error::NoManager);
        };
        let starts = self.starts.fetch_add(1, Ordering::Relaxed);
        let renewed = self.settings.renewed.as_ref().map(|renewed| renewed());
        let candidate = format!("replica-{starts}");
        let wanted = ManagerInputs {
            operator: renewed.as_ref().unwrap_or(operator),
            installation,
            control_plane: self.control_plane()?,
            traffic: &self.traffic,
            trace: &self.trace,
            seed: self.settings.seed.map(|seed| seed.wrapping_add(starts)),
            clock: self.settings.operator_clock,
            configure: &*self.settings.configure,
            candidate: self.settings.replicated.then_some(&candidate),
        };
        RunningManager::start(&wanted).await
    }

    /// Stops the manager, as when its Pod is deleted: it finishes what it is at. What happens now it will not see.
    pub async fn stop_manager(&self) {
        let running = self.manager.lock().take();
        if let Some(running) = running {
            running.stop().await;
        }
    }

    /// Ends the manager at once, as when its process is killed.
    pub(crate) fn kill_manager(&self) {
        drop(self.manager.lock().take());
    }

    /// Stops the manager and starts it again: it comes to the same state, whatever it missed. The cluster's controllers go on.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_runtime::operator::Operator;
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::start(Operator::new("shop")).await;
    /// env.restart_manager().await;
    /// # }
    /// ```
    #[track_caller]
    pub fn restart_manager(&self) -> impl Future<Output = ()> {
        or_fail(Location::caller(), self.try_restart_manager())
    }

    /// As [`restart_manager`](Self::restart_manager), but returns the error instead of failing the test.
    pub async fn try_restart_manager(&self) -> Result<(), Error> {
        self.stop_manager().await;
        self.try_start_manager().await
    }

    /// A copy of the whole cluster with a manager and controllers of its own, which start afresh. The two go their own ways from
    /// here on; the clock is the same.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// env.apply("{apiVersion: v1, kind: Secret, metadata: {name: a}}").await;
    /// let other = env.fork().await;
    /// other.delete::<Secret>("a").await;
    /// assert!(env.get_opt::<Secret>("a").await.is_some());
    /// # }
    /// ```
    #[track_caller]
    pub fn fork(&self) -> impl Future<Output = TestEnv> {
        or_fail(Location::caller(), self.try_fork())
    }

    /// As [`fork`](Self::fork), but returns the error instead of failing the test.
    pub async fn try_fork(&self) -> Result<TestEnv, Error> {
        let Some(server) = self.control_plane()?.server() else {
            return Err(Error::EmbeddedOnly {
                what: "a fork",
                mode: self.mode_name(),
                remedy: "start a second environment instead",
            });
        };
        let control_plane = ControlPlane::Embedded(Embedded::of(server.fork()));
        let env = TestEnv {
            client: live(control_plane.admin()).with_clock(self.settings.clock),
            mapper: RestMapper::new(control_plane.admin()),
            trace: trace(&control_plane),
            control_plane: Some(control_plane),
            operator: self.operator.clone(),
            installation: self.installation.clone(),
            extra: self.extra.clone(),
            settings: self.settings.clone(),
            namespace: self.namespace.clone(),
            traffic: Traffic::new(),
            manager: parking_lot::Mutex::new(None),
            standby: parking_lot::Mutex::new(None),
            controllers: parking_lot::Mutex::new(None),
            started: self.started,
            starts: AtomicU64::new(0),
            external: self.external.clone(),
        };
        if self.manager.lock().is_some() {
            env.try_start_manager().await?;
        }
        env.start_controllers()?;
        Ok(env)
    }

    /// Kubernetes' own controllers belong to a control plane of the test: they stop with it. A cluster has its own.
    pub(super) fn start_controllers(&self) -> Result<(), Error> {
        let Some(kube) = self.control_plane()?.controllers_client(&self.traffic) else {
            return Ok(());
        };
        let mut controllers = self.settings.controllers.clone();
        if controllers.is_empty() {
            return Ok(());
        }
        if let Some(seed) = self.settings.seed {
            controllers = controllers.seed(seed);
        }
        if let Some(authority) = self.control_plane()?.authority() {
            controllers = controllers.root_ca(authority);
        }
        if let Some(authority) = self.control_plane()?.signing_authority() {
            controllers = controllers.or_signing_authority(authority);
        }
        let embedded = self.control_plane()?.server();
        *self.controllers.lock() = Some(RunningControllers::start(&controllers, kube, embedded)?);
        Ok(())
    }

    /// Ends the environment in good order. Dropping it is enough, but does not wait for the manager.
    pub async fn stop(mut self) {
        // Controllers have nothing to finish, and their writes would keep the manager busy.
        drop(self.controllers.lock().take());
        self.stop_manager().await;
        self.write_audit();
        if let Some(control_plane) = self.control_plane.take() {
            self.forget_services(&control_plane);
            if let ControlPlane::Existing(_) = &control_plane {
                clean::remove(&self.client, &self.namespace, self.installed()).await;
            }
            control_plane.stop().await;
        }
        self.verify();
    }

    /// The embedded server holds what answers for the operator's Services, and that holds clients of the server: without this, neither
    /// would ever be freed.
    fn forget_services(&self, control_plane: &ControlPlane) {
        if let (Some(server), Some(installation)) = (control_plane.server(), &self.installation) {
            for service in [&installation.webhook_service, &installation.extension_service] {
                server.forget_service(&installation.namespace, service, SERVICE_PORT);
            }
        }
    }

    fn installed(&self) -> impl Iterator<Item = &serde_json::Value> {
        let installed = self
            .installation
            .iter()
            .flat_map(|installation| installation.objects.iter());
        installed.chain(&self.extra)
    }

    /// Whether an object of this name was installed for the operator.
    pub(crate) fn has_installed(&self, name: &str) -> bool {
        self.installed().any(|object| object["metadata"]["name"] == name)
    }

    fn write_audit(&self) {
        let Some(operator) = &self.operator else { return };
        if let Err(error) = audit::write(operator.name(), &self.settings.test, &self.traffic.requests()) {
            eprintln!("KUBEWRIGHT_AUDIT: {error}");
        }
    }

    /// Fails the test if the manager was refused something and the test has not taken the refusals.
    fn verify(&self) {
        let refusals = self.traffic.refusals();
        if self.settings.refusals_fail && !refusals.is_empty() && !std::thread::panicking() {
            self.traffic.take_refusals();
            fail(self.started, &report::refused(&refusals));
        }
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        let Some(control_plane) = self.control_plane.take() else {
            return;
        };
        drop(self.controllers.lock().take());
        drop(self.manager.lock().take());
        drop(self.standby.lock().take());
        self.forget_services(&control_plane);
        self.write_audit();
        if let ControlPlane::Existing(existing) = &control_plane {
            clean::remove_later(existing.config(), &self.namespace, self.installed());
        }
        drop(control_plane);
        self.verify();
    }
}
