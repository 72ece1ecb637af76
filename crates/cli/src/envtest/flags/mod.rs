//! Command lines of Go programs: a table of flags, and what a command line says by the rules of the package that reads it.

mod go;
mod pflag;
mod value;

use std::collections::BTreeMap;

use value::list;

/// A flag, as the program's own code or help has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    pub(super) name: &'static str,
    /// A letter, or nothing.
    shorthand: &'static str,
    /// The name of its type: `string`, `bool`, `stringSlice`, …
    pub(super) kind: &'static str,
    pub(super) default: &'static str,
    /// Its value where none is given; nothing if one must be.
    implied: &'static str,
}

/// The flags of a program.
pub(super) struct Table(Vec<Flag>);

impl Table {
    /// Reads the lines that begin with `flag`; others are about something else.
    pub(super) fn read(facts: &'static str) -> Self {
        let flags = facts.lines().filter_map(|line| {
            let mut fields = line.split('\t');
            let mut next = || fields.next().unwrap_or_default();
            (next() == "flag").then(|| Flag {
                name: next(),
                shorthand: next(),
                kind: next(),
                // The section of the help comes next.
                default: [next(), next()][1],
                implied: next(),
            })
        });
        Table(flags.collect())
    }

    pub(super) fn flags(&self) -> &[Flag] {
        &self.0
    }

    /// Adds a flag that the facts do not have.
    pub(super) fn add(&mut self, name: &'static str, kind: &'static str) {
        self.0.push(Flag {
            name,
            shorthand: "",
            kind,
            default: "",
            implied: "",
        });
    }

    pub(super) fn get(&self, name: &str) -> Option<&Flag> {
        self.0.iter().find(|flag| flag.name == name)
    }
}

/// What a command line says.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// The values of flags, in the order in which they were given.
    values: BTreeMap<&'static str, Vec<String>>,
    /// What is no flag.
    pub(super) arguments: Vec<String>,
}

impl Given {
    /// Reads a command line as pflag does, which Kubernetes' programs use. The error is its sentence.
    pub(super) fn by_pflag(table: &Table, arguments: &[String]) -> Result<Self, String> {
        pflag::parse(table, arguments)
    }

    /// Reads a command line as Go's own package does, which etcd uses. The error is its sentence.
    pub(super) fn by_go(table: &Table, arguments: &[String]) -> Result<Self, String> {
        go::parse(table, arguments)
    }

    fn set(&mut self, flag: &Flag, value: &str) {
        self.values.entry(flag.name).or_default().push(value.to_owned());
    }

    /// The flags that were given, with all their values.
    pub(super) fn flags(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        self.values.iter().map(|(name, values)| (*name, values.as_slice()))
    }

    /// The last value of a flag, if it was given.
    pub(super) fn last(&self, name: &str) -> Option<&str> {
        self.values.get(name)?.last().map(String::as_str)
    }

    /// The last value of a flag if it was given and is not empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.last(name).filter(|text| !text.is_empty())
    }

    /// All values of a flag, as they were given.
    pub(super) fn all(&self, name: &str) -> &[String] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// All items of a flag that takes lists with commas.
    pub(super) fn items(&self, name: &str) -> Vec<String> {
        let values = self.all(name).iter();
        values.flat_map(|value| list(value).unwrap_or_default()).collect()
    }

    /// Whether a flag is on; `default` if it was not given.
    pub(super) fn is_on(&self, name: &str, default: bool) -> bool {
        let value = self.last(name).and_then(|text| value::boolean(text).ok());
        value.unwrap_or(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_flags_and_nothing_else() {
        let table = Table::read(
            "flag\tv\tv\tLevel\tlogs\t0\t\tfalse\ngate\tX\tGA\ttrue\ttrue\nflag\tanonymous-auth\t\tbool\ta\tfalse\ttrue\tfalse\n",
        );
        let names: Vec<_> = table
            .flags()
            .iter()
            .map(|flag| (flag.name, flag.kind, flag.default))
            .collect();
        assert_eq!(names, [("v", "Level", "0"), ("anonymous-auth", "bool", "false")]);
        assert!(table.get("v").is_some() && table.get("X").is_none());
    }
}
