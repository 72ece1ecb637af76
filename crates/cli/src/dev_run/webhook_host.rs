//! Under which name or address the cluster reaches this machine, to call the webhooks of an operator that runs here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use kubewright_cluster::ServerAddress;
use tokio::process::Command;

/// How long a container engine may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The container engines, with how they are asked for the gateways of a network.
const ENGINES: [(&str, &str); 2] = [
    ("docker", "{{range .IPAM.Config}}{{.Gateway}} {{end}}"),
    ("podman", "{{range .Subnets}}{{.Gateway}} {{end}}"),
];

/// A name or address of this machine, and how it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WebhookHost {
    pub(super) host: String,
    /// Completes "webhooks are called at HOST, ".
    pub(super) why: String,
}

/// What was found out on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Facts {
    /// The address of this machine on the way to the API server.
    on_the_way: Option<IpAddr>,
    /// The gateway of the cluster's container network.
    gateway: Option<IpAddr>,
    /// The engine runs in a virtual machine: its gateway is in there too, and not this machine.
    is_engine_virtual: bool,
    /// The engine that knows the network is podman.
    is_podman: bool,
}

/// Tools that run their nodes in a virtual machine, behind a port of this machine, and how the machine is called in there: the beginning
/// of the names of their contexts, the host, and who says so.
const VIRTUAL_NODES: [(&str, &str, &str); 5] = [
    ("docker-desktop", "host.docker.internal", "Docker Desktop"),
    ("rancher-desktop", "host.docker.internal", "Rancher Desktop"),
    ("orbstack", "host.docker.internal", "OrbStack"),
    ("colima", "host.lima.internal", "Colima"),
    ("lima", "host.lima.internal", "Lima"),
];

/// The host for a cluster.
pub(super) async fn find(server: &ServerAddress) -> WebhookHost {
    let mut facts = Facts::default();
    if !is_loopback(&server.host) {
        facts.on_the_way = address_towards(&server.host, server.port);
    } else if let Some(network) = network_of(server) {
        for (engine, format) in ENGINES {
            facts.gateway = gateway(Path::new(engine), &network, format).await;
            if facts.gateway.is_some() {
                facts.is_engine_virtual = is_virtual(Path::new(engine)).await;
                facts.is_podman = engine == "podman";
                break;
            }
        }
        facts.is_engine_virtual |= cfg!(not(target_os = "linux"));
    }
    choose(server, &facts)
}

fn choose(server: &ServerAddress, facts: &Facts) -> WebhookHost {
    let chosen = |host: String, why: String| WebhookHost { host, why };
    let here = |why: String| chosen(Ipv4Addr::LOCALHOST.to_string(), why);
    if !is_loopback(&server.host) {
        return match facts.on_the_way {
            Some(address) if address.is_loopback() => here(format!("where the API server is, too: {}", server.host)),
            Some(address) => {
                let why = format!("this machine on its way to the API server at {}", server.host);
                chosen(address.to_string(), why)
            }
            None => here(format!("since no way to the API server at {} is known", server.host)),
        };
    }
    // The API server is behind a port of this machine: in a container or in a virtual machine, or a process.
    if server.is_minikube || server.context == "minikube" {
        let why = "this machine as nodes of minikube know it".to_owned();
        return chosen("host.minikube.internal".to_owned(), why);
    }
    let is_of = |tool: &str| server.context == tool || server.context.starts_with(&format!("{tool}-"));
    if let Some((_, host, tool)) = VIRTUAL_NODES.iter().find(|(context, ..)| is_of(context)) {
        return chosen((*host).to_owned(), format!("this machine as {tool} knows it"));
    }
    let Some(network) = network_of(server) else {
        return here(format!(
            "where the API server seems to be, too: its address is {}",
            server.host
        ));
    };
    match facts.gateway {
        Some(gateway) if !facts.is_engine_virtual => {
            let why = format!("the gateway of the container network {network}");
            chosen(gateway.to_string(), why)
        }
        _ if server.context.starts_with("k3d-") => {
            let why = "this machine as nodes of k3d know it".to_owned();
            chosen("host.k3d.internal".to_owned(), why)
        }
        _ => {
            let host = if facts.is_podman {
                "host.containers.internal"
            } else {
                "host.docker.internal"
            };
            chosen(host.to_owned(), "this machine as containers know it".to_owned())
        }
    }
}

/// The container network of a cluster of kind or k3d.
fn network_of(server: &ServerAddress) -> Option<String> {
    let context = &server.context;
    if context.starts_with("k3d-") {
        // k3d calls the network of a cluster as it calls the context.
        return Some(context.clone());
    }
    let kinds = std::env::var("KIND_EXPERIMENTAL_DOCKER_NETWORK").ok();
    context
        .starts_with("kind-")
        .then(|| kinds.unwrap_or_else(|| "kind".to_owned()))
}

fn is_loopback(host: &str) -> bool {
    // k3d writes 0.0.0.0 where it means every address of this machine.
    let is_here = |address: IpAddr| address.is_loopback() || address.is_unspecified();
    host == "localhost" || host.parse().is_ok_and(is_here)
}

/// The address that packets to a host leave from. Nothing is sent: a UDP socket that is connected only knows its route.
fn address_towards(host: &str, port: u16) -> Option<IpAddr> {
    let from: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    from.into_iter().find_map(|from| {
        let socket = UdpSocket::bind((from, 0)).ok()?;
        socket.connect((host, port)).ok()?;
        Some(socket.local_addr().ok()?.ip())
    })
}

async fn gateway(engine: &Path, network: &str, format: &str) -> Option<IpAddr> {
    let told = ask(engine, &["network", "inspect", network, "--format", format]).await?;
    let gateways: Vec<IpAddr> = told.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    gateways.iter().find(|gateway| gateway.is_ipv4()).copied()
}

/// Whether the engine is Docker Desktop's, which runs in a virtual machine on every system.
async fn is_virtual(engine: &Path) -> bool {
    let told = ask(engine, &["info", "--format", "{{.OperatingSystem}}"]).await;
    told.is_some_and(|system| system.contains("Docker Desktop"))
}

async fn ask(program: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(context: &str, host: &str) -> ServerAddress {
        ServerAddress {
            context: context.to_owned(),
            host: host.to_owned(),
            port: 6443,
            is_minikube: false,
        }
    }

    fn chosen(server: &ServerAddress, facts: &Facts) -> String {
        choose(server, facts).host
    }

    #[test]
    fn a_node_elsewhere_is_answered_at_the_address_by_which_it_is_reached() {
        let facts = Facts {
            on_the_way: Some([192, 168, 49, 1].into()),
            ..Facts::default()
        };
        // minikube's virtual machine, or its container, is reached by its own address.
        let mut minikube = server("minikube", "192.168.49.2");
        minikube.is_minikube = true;
        assert_eq!(chosen(&minikube, &facts), "192.168.49.1");
        assert_eq!(chosen(&server("prod", "api.example.com"), &facts), "192.168.49.1");
        let lost = choose(&server("prod", "api.example.com"), &Facts::default());
        assert_eq!(
            (lost.host.as_str(), lost.why.as_str()),
            (
                "127.0.0.1",
                "since no way to the API server at api.example.com is known"
            )
        );
    }

    #[test]
    fn a_node_in_a_container_calls_the_gateway_of_its_network() {
        let mut facts = Facts {
            gateway: Some([172, 18, 0, 1].into()),
            ..Facts::default()
        };
        let (kind, k3d) = (server("kind-dev", "127.0.0.1"), server("k3d-dev", "0.0.0.0"));
        assert_eq!(chosen(&kind, &facts), "172.18.0.1");
        let why = choose(&kind, &facts).why;
        assert_eq!(why, "the gateway of the container network kind");
        assert_eq!(chosen(&k3d, &facts), "172.18.0.1");
        // In Docker Desktop the gateway is in its virtual machine.
        facts.is_engine_virtual = true;
        assert_eq!(chosen(&kind, &facts), "host.docker.internal");
        assert_eq!(chosen(&k3d, &facts), "host.k3d.internal");
        assert_eq!(
            chosen(&server("docker-desktop", "127.0.0.1"), &facts),
            "host.docker.internal"
        );
    }

    #[test]
    fn nodes_of_minikube_behind_a_port_of_this_machine_know_it_by_name() {
        let mut profile = server("sandbox", "127.0.0.1");
        profile.is_minikube = true;
        assert_eq!(chosen(&profile, &Facts::default()), "host.minikube.internal");
    }

    #[test]
    fn nodes_in_a_virtual_machine_know_this_machine_by_the_name_of_their_tool() {
        for (context, host) in [
            ("rancher-desktop", "host.docker.internal"),
            ("orbstack", "host.docker.internal"),
            ("colima", "host.lima.internal"),
            ("colima-shop", "host.lima.internal"),
            ("lima-k3s", "host.lima.internal"),
        ] {
            assert_eq!(
                chosen(&server(context, "127.0.0.1"), &Facts::default()),
                host,
                "{context}"
            );
        }
        let why = choose(&server("colima", "127.0.0.1"), &Facts::default()).why;
        assert_eq!(why, "this machine as Colima knows it");
        // The machine of podman, in which kind has its nodes.
        let facts = Facts {
            gateway: Some([10, 89, 0, 1].into()),
            is_engine_virtual: true,
            is_podman: true,
            ..Facts::default()
        };
        assert_eq!(
            chosen(&server("kind-dev", "127.0.0.1"), &facts),
            "host.containers.internal"
        );
        // A cluster that is reached by an address of its own is answered the same way, whatever its name is.
        let facts = Facts {
            on_the_way: Some([192, 168, 64, 1].into()),
            ..Facts::default()
        };
        assert_eq!(chosen(&server("colima", "192.168.64.2"), &facts), "192.168.64.1");
    }

    #[test]
    fn an_api_server_on_this_machine_calls_it_as_such() {
        for host in ["127.0.0.1", "::1", "localhost"] {
            let here = choose(&server("kubewright", host), &Facts::default());
            assert_eq!(here.host, "127.0.0.1");
            assert_eq!(
                here.why,
                format!("where the API server seems to be, too: its address is {host}")
            );
        }
    }

    #[test]
    fn a_route_is_known_without_sending_anything() {
        assert_eq!(address_towards("127.0.0.1", 6443), Some([127, 0, 0, 1].into()));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn an_engine_is_asked_for_the_gateways_of_the_network() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let (engine, calls) = (folder.path().join("docker"), folder.path().join("calls"));
        let script = format!(
            "#!/bin/sh\necho \"$*\" >>{}\ncase \"$1\" in network) echo 'fc00:f853:ccd:e793::1 172.18.0.1 ' ;; \
             info) echo 'Docker Desktop' ;; esac\n",
            calls.display()
        );
        std::fs::write(&engine, script).unwrap();
        std::fs::set_permissions(&engine, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(
            gateway(&engine, "kind", ENGINES[0].1).await,
            Some([172, 18, 0, 1].into())
        );
        assert!(is_virtual(&engine).await);
        assert_eq!(
            std::fs::read_to_string(calls).unwrap(),
            "network inspect kind --format {{range .IPAM.Config}}{{.Gateway}} {{end}}\ninfo --format {{.OperatingSystem}}\n"
        );
        assert_eq!(gateway(Path::new("/no/such/engine"), "kind", "").await, None);
    }
}
