//! The parts of an object that have paths of their own.

/// A subresource, as a path names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subresource<'a> {
    Approval,
    Attach,
    Binding,
    EphemeralContainers,
    Eviction,
    Exec,
    Finalize,
    Log,
    PortForward,
    Proxy,
    Resize,
    Scale,
    Status,
    Token,
    /// What no resource has, but a path may say.
    Unknown(&'a str),
}

impl<'a> Subresource<'a> {
    /// The subresource of a path's segment; `None` for the empty one.
    pub(crate) fn parse(segment: &'a str) -> Option<Self> {
        Some(match segment {
            "" => return None,
            "approval" => Subresource::Approval,
            "attach" => Subresource::Attach,
            "binding" => Subresource::Binding,
            "ephemeralcontainers" => Subresource::EphemeralContainers,
            "eviction" => Subresource::Eviction,
            "exec" => Subresource::Exec,
            "finalize" => Subresource::Finalize,
            "log" => Subresource::Log,
            "portforward" => Subresource::PortForward,
            "proxy" => Subresource::Proxy,
            "resize" => Subresource::Resize,
            "scale" => Subresource::Scale,
            "status" => Subresource::Status,
            "token" => Subresource::Token,
            other => Subresource::Unknown(other),
        })
    }

    /// Its name in paths.
    pub(crate) fn name(self) -> &'a str {
        match self {
            Subresource::Unknown(name) => name,
            known => known.known_name(),
        }
    }

    /// Its name in paths; empty for what no resource has.
    pub(crate) fn known_name(self) -> &'static str {
        match self {
            Subresource::Approval => "approval",
            Subresource::Attach => "attach",
            Subresource::Binding => "binding",
            Subresource::EphemeralContainers => "ephemeralcontainers",
            Subresource::Eviction => "eviction",
            Subresource::Exec => "exec",
            Subresource::Finalize => "finalize",
            Subresource::Log => "log",
            Subresource::PortForward => "portforward",
            Subresource::Proxy => "proxy",
            Subresource::Resize => "resize",
            Subresource::Scale => "scale",
            Subresource::Status => "status",
            Subresource::Token => "token",
            Subresource::Unknown(_) => "",
        }
    }

    /// Whether a request for it is a connection that may stay open, which has no deadline.
    pub(crate) fn is_long_running(self) -> bool {
        matches!(
            self,
            Subresource::Attach | Subresource::Exec | Subresource::Log | Subresource::PortForward | Subresource::Proxy
        )
    }
}

/// The name of a subresource in paths, or nothing for the object itself: how managedFields and `kinds` know it.
pub(crate) fn name_of(subresource: Option<Subresource<'_>>) -> &str {
    subresource.map_or("", Subresource::name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subresource_of_a_built_in_is_known_by_its_name() {
        let parts = kubewright_schema::resources()
            .iter()
            .flat_map(|resource| &resource.subresources);
        let mut count = 0;
        for part in parts {
            let known = Subresource::parse(part.name).unwrap();
            assert_eq!(known.known_name(), part.name);
            count += 1;
        }
        assert!(count > 14);
        assert_eq!(Subresource::parse("logs").map(Subresource::name), Some("logs"));
        assert_eq!(Subresource::parse(""), None);
    }
}
