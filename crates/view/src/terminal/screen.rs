//! What is on the screen: a list of rows. Some lead somewhere; what has to be asked of the model is said by [`Screen::wanted`].

use ratatui_core::text::Line;

/// What is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Screen {
    /// The tree of objects, of all kinds or of one.
    Objects {
        kind: Option<String>,
    },
    /// The timeline: all reconciles, or those of a controller or of an object.
    Reconciles(Scope),
    /// A reconcile by its id.
    Reconcile(String),
    /// An object by its uid: in words, or as it is.
    Describe(String),
    Yaml(String),
    /// What differs between two revisions of an object.
    Change {
        uid: String,
        from: u64,
        to: u64,
    },
    /// What came, went and changed in the cluster since a revision, until another one or until now.
    Between {
        from: u64,
        to: Option<u64>,
    },
    Warnings,
    Controllers,
    /// What the command, the compiler and the operator say.
    Log,
    /// What a Pod writes, by its uid.
    PodLog(String),
    /// What the compiler says.
    Build,
    Help,
}

/// Which reconciles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    Controller(String),
    /// Of the object with this key, `shop/web`.
    Key(String),
}

/// What the model has to be asked for, so that a screen can be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Reconcile(String),
    Object(String),
    /// What differs between two revisions of an object.
    Change {
        uid: String,
        from: u64,
        to: u64,
    },
    /// What differs between two moments of the cluster.
    Between {
        from: u64,
        to: u64,
    },
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Row {
    /// An object of the tree, that deep.
    Object {
        uid: String,
        depth: usize,
    },
    /// A reconcile by its order.
    Reconcile(u64),
    Warning(String),
    Controller(String),
    /// A line of text, which may lead somewhere.
    Text(Line<'static>, Option<Screen>),
}

impl Row {
    /// What stays the same while rows come and go around it. Lines of text have nothing.
    pub(super) fn anchor(&self) -> Option<String> {
        match self {
            Row::Object { uid, .. } => Some(uid.clone()),
            Row::Reconcile(order) => Some(order.to_string()),
            Row::Warning(id) => Some(id.clone()),
            Row::Controller(name) => Some(name.clone()),
            Row::Text(..) => None,
        }
    }
}

impl Screen {
    /// What the model has to be asked for.
    pub(super) fn wanted(&self) -> Option<Wanted> {
        match self {
            Screen::Reconcile(id) => Some(Wanted::Reconcile(id.clone())),
            Screen::Describe(uid) | Screen::Yaml(uid) => Some(Wanted::Object(uid.clone())),
            Screen::Change { uid, from, to } => Some(Wanted::Change {
                uid: uid.clone(),
                from: *from,
                to: *to,
            }),
            Screen::Between { from, to } => Some(Wanted::Between {
                from: *from,
                to: to.unwrap_or(u64::MAX),
            }),
            _ => None,
        }
    }

    /// Whether it grows at its end, where one wants to be.
    pub(super) fn is_log(&self) -> bool {
        matches!(self, Screen::Log | Screen::PodLog(_))
    }
}

/// The screen that a command names, as k9s has it; `None` if there is none.
pub(super) fn named(command: &str) -> Option<Screen> {
    Some(match command {
        "objects" | "object" | "obj" | "tree" | "all" => Screen::Objects { kind: None },
        "reconciles" | "reconcile" | "rec" | "timeline" => Screen::Reconciles(Scope::All),
        "warnings" | "warning" | "warn" => Screen::Warnings,
        "controllers" | "controller" | "ctl" | "queues" => Screen::Controllers,
        "logs" | "log" => Screen::Log,
        "build" | "errors" => Screen::Build,
        "help" | "h" | "?" => Screen::Help,
        _ => return None,
    })
}

/// Whether a word of a command means a kind: its name, its plural or the short name that kubectl has for it.
pub(super) fn means_kind(word: &str, kind: &str) -> bool {
    const SHORT: [(&str, &str); 16] = [
        ("cm", "configmap"),
        ("crd", "customresourcedefinition"),
        ("deploy", "deployment"),
        ("ds", "daemonset"),
        ("ep", "endpoints"),
        ("ev", "event"),
        ("hpa", "horizontalpodautoscaler"),
        ("ing", "ingress"),
        ("ns", "namespace"),
        ("no", "node"),
        ("po", "pod"),
        ("pvc", "persistentvolumeclaim"),
        ("rs", "replicaset"),
        ("sa", "serviceaccount"),
        ("sts", "statefulset"),
        ("svc", "service"),
    ];
    let kind = kind.to_lowercase();
    let plural = match kind.strip_suffix('y') {
        Some(stem) if !kind.ends_with("ay") && !kind.ends_with("ey") => format!("{stem}ies"),
        _ if kind.ends_with('s') => format!("{kind}es"),
        _ => format!("{kind}s"),
    };
    word == kind || word == plural || SHORT.iter().any(|(short, long)| *short == word && *long == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_meant_by_its_names() {
        for word in ["pod", "pods", "po"] {
            assert!(means_kind(word, "Pod"), "{word}");
        }
        assert!(means_kind("networkpolicies", "NetworkPolicy") && means_kind("ingresses", "Ingress"));
        assert!(!means_kind("po", "Policy") && !means_kind("", "Pod"));
    }
}
