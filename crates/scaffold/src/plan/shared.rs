//! Files with lines of several kinds: module declarations, and `lib.rs` with `operator()`.

use std::collections::BTreeSet;

use super::modules::{self, Declaration};
use super::{Files, Obstacle, Planner, ReadError, calls};
use crate::File;
use crate::code::{LIBRARY, ModuleFile, ProjectFiles};

impl<F: Files> Planner<'_, F> {
    /// Updates module declarations, deepest first: a folder whose file still has lines stays declared.
    pub(super) fn modules(&mut self, old: &ProjectFiles, new: &ProjectFiles) -> Result<(), ReadError> {
        let paths: BTreeSet<&str> = old
            .modules
            .iter()
            .chain(&new.modules)
            .map(|file| file.path.as_str())
            .collect();
        let mut paths: Vec<&str> = paths.into_iter().collect();
        paths.sort_by_key(|path| std::cmp::Reverse(path.matches('/').count()));
        for path in paths {
            let declared = |state: &ProjectFiles| -> Vec<Declaration> {
                let file = state.modules.iter().find(|file| file.path == path);
                file.map(|file| file.declarations.clone()).unwrap_or_default()
            };
            let (before, after) = (declared(old), declared(new));
            if before == after {
                continue;
            }
            let known = old.modules.iter().chain(&new.modules).find(|file| file.path == path);
            if let Some(known) = known {
                self.declare(known, &before, &after)?;
            }
        }
        Ok(())
    }

    fn declare(&mut self, file: &ModuleFile, before: &[Declaration], after: &[Declaration]) -> Result<(), ReadError> {
        let Some(text) = self.read(&file.path)? else {
            if after.is_empty() {
                return Ok(());
            }
            if file.path == LIBRARY {
                let lines = after.iter().map(|declaration| declaration.line.clone()).collect();
                self.obstacles.push(Obstacle::Gone(file.path.clone(), lines));
                return Ok(());
            }
            let text = modules::render(&file.head, after);
            return self.write(File::new(&file.path, text));
        };
        let mut changed = text.clone();
        for gone in before.iter().filter(|declaration| !after.contains(declaration)) {
            if !self.is_still_used(file, gone)? {
                changed = modules::remove(&changed, gone);
            }
        }
        for added in after {
            changed = modules::insert(&changed, added);
        }
        if after.is_empty() && file.path != LIBRARY && modules::is_empty(&changed) {
            return self.remove(&file.path);
        }
        if changed == text {
            return Ok(());
        }
        self.write(File::new(&file.path, changed))
    }

    /// Whether the folder of a module still has a file with lines that a user wrote.
    fn is_still_used(&self, file: &ModuleFile, gone: &Declaration) -> Result<bool, ReadError> {
        let Some(name) = gone
            .line
            .strip_prefix("pub mod ")
            .and_then(|rest| rest.strip_suffix(';'))
        else {
            return Ok(false);
        };
        let folder = file.path.trim_end_matches("mod.rs").trim_end_matches("lib.rs");
        Ok(self.read(&format!("{folder}{name}/mod.rs"))?.is_some())
    }

    /// Updates the calls in `operator()`.
    pub(super) fn library(&mut self, old: &ProjectFiles, new: &ProjectFiles) -> Result<(), ReadError> {
        let added: Vec<String> = new
            .calls
            .iter()
            .filter(|call| !old.calls.contains(call))
            .cloned()
            .collect();
        let gone: Vec<&String> = old.calls.iter().filter(|call| !new.calls.contains(call)).collect();
        if added.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let Some(mut text) = self.read(LIBRARY)? else {
            if !added.is_empty() {
                self.obstacles.push(Obstacle::Gone(LIBRARY.to_owned(), added));
            }
            return Ok(());
        };
        for call in gone {
            match calls::remove(&text, call) {
                Some(without) => text = without,
                None if self.force => {}
                None => self.obstacles.push(Obstacle::Missing(LIBRARY.to_owned(), call.clone())),
            }
        }
        if let Ok(with) = calls::insert(&text, &added) {
            return self.write(File::new(LIBRARY, with));
        }
        self.obstacles.push(Obstacle::NoMarker(LIBRARY.to_owned(), added));
        Ok(())
    }
}
