//! Feature gates: this server is what kube-apiserver is with their defaults.

use super::super::flags::Given;
use super::FACTS;

struct Gate {
    default: bool,
    is_locked: bool,
}

fn gate(name: &str) -> Option<Gate> {
    FACTS.lines().find_map(|line| {
        let mut fields = line.strip_prefix("gate\t")?.split('\t');
        if fields.next()? != name {
            return None;
        }
        fields.next()?;
        Some(Gate {
            default: fields.next()? == "true",
            is_locked: fields.next()? == "true",
        })
    })
}

/// What is wrong with `--feature-gates`, in kube-apiserver's words where it refuses them itself.
pub(super) fn check(given: &Given) -> Result<(), String> {
    let all = given.all("feature-gates").iter().flat_map(|value| value.split(','));
    all.filter(|pair| !pair.is_empty()).try_for_each(|pair| {
        // A gate may be one of a component: `kube:Name=true`.
        let pair = pair.trim();
        let pair = pair.split_once(':').map_or(pair, |(_, pair)| pair.trim());
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("missing bool value for {pair}"))?;
        let (name, value) = (name.trim(), value.trim());
        let wanted = match value {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
            "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
            _ => {
                return Err(format!(
                    "invalid value of {name}={value}, err: strconv.ParseBool: parsing {value:?}: invalid syntax"
                ));
            }
        };
        let gate = gate(name).ok_or_else(|| format!("unrecognized feature gate: {name}"))?;
        if gate.default == wanted {
            return Ok(());
        }
        if gate.is_locked {
            let default = gate.default;
            return Err(format!(
                "cannot set feature gate {name} to {wanted}, feature is locked to {default}"
            ));
        }
        Err(format!(
            "--feature-gates={name}={wanted} is not possible here: this server is what Kubernetes is with {name}={}",
            gate.default
        ))
    })
}
