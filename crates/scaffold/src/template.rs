//! Templates: text with `{{names}}`, and blocks of lines that are there only if a flag is set.

/// The values of a template.
#[derive(Default)]
pub(crate) struct TemplateValues {
    texts: Vec<(&'static str, String)>,
    flags: Vec<(&'static str, bool)>,
}

impl TemplateValues {
    pub(crate) fn text(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.texts.push((name, value.into()));
        self
    }

    pub(crate) fn flag(mut self, name: &'static str, value: bool) -> Self {
        self.flags.push((name, value));
        self
    }
}

/// Fills in a template. A line `{{#if flag}}` or `{{#if !flag}}` begins a block that ends at `{{/if}}`; blocks nest. A name
/// within text that nobody set stays as it is, which the golden files would show.
pub(crate) fn fill(template: &str, values: &TemplateValues) -> String {
    let mut out = String::with_capacity(template.len());
    // For each open block, whether it is shown.
    let mut shown: Vec<bool> = Vec::new();
    for line in template.split_inclusive('\n') {
        let word = line.trim();
        if let Some(condition) = word.strip_prefix("{{#if ").and_then(|rest| rest.strip_suffix("}}")) {
            shown.push(holds(condition, values));
        } else if word == "{{/if}}" {
            shown.pop();
        } else if shown.iter().all(|shown| *shown) {
            out.push_str(&substitute(line, values));
        }
    }
    out
}

fn holds(condition: &str, values: &TemplateValues) -> bool {
    let (name, wanted) = match condition.strip_prefix('!') {
        Some(name) => (name, false),
        None => (condition, true),
    };
    let value = values.flags.iter().find(|(flag, _)| *flag == name);
    value.is_some_and(|(_, value)| *value) == wanted
}

fn substitute(line: &str, values: &TemplateValues) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("{{") {
        let (before, after) = rest.split_at(start);
        out.push_str(before);
        let found = after[2..].find("}}").and_then(|end| {
            let name = &after[2..2 + end];
            let value = values.texts.iter().find(|(known, _)| *known == name)?;
            Some((value.1.as_str(), 2 + end + 2))
        });
        if let Some((value, length)) = found {
            out.push_str(value);
            rest = &after[length..];
        } else {
            out.push_str("{{");
            rest = &after[2..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in_and_blocks_chosen() {
        let values = TemplateValues::default().text("kind", "Bar").flag("webhook", true);
        let template = "a {{kind}} b\n{{#if webhook}}\nyes\n{{#if !webhook}}\nnever\n{{/if}}\n{{/if}}\n{{#if other}}\nno\n{{/if}}\nend {{x}}\n";
        assert_eq!(fill(template, &values), "a Bar b\nyes\nend {{x}}\n");
    }

    #[test]
    fn what_a_value_says_is_not_filled_in_again() {
        let values = TemplateValues::default().text("image", "{{kind}}").text("kind", "Bar");
        assert_eq!(fill("{{image}} {{kind}}", &values), "{{kind}} Bar");
    }
}
