//! Files with a single purpose: created, merged, moved and removed as a whole.

use super::listing::{self, Listing};
use super::{Files, Obstacle, Planner, ReadError};
use crate::File;
use crate::code::{OwnedFile, ProjectFiles};
use crate::merge::{merge, merge_with_marks};

/// Files that a new repository often has already: they are not overwritten.
const KEPT_IF_PRESENT: [&str; 3] = ["README.md", ".gitignore", ".dockerignore"];

impl<F: Files> Planner<'_, F> {
    pub(super) fn owned_files(&mut self, old: &ProjectFiles, new: &ProjectFiles) -> Result<(), ReadError> {
        for gone in old.owned_files.iter().filter(|owned| new.find(&owned.key).is_none()) {
            // What `kubewright manifests` has written since, it removes too.
            let is_its_own = gone.only_if_missing && self.read(&gone.file.path)?.as_ref() != Some(&gone.file.content);
            if !is_its_own {
                self.remove_owned(&gone.file)?;
            }
        }
        for owned in &new.owned_files {
            match old.find(&owned.key) {
                Some(before) if owned.only_if_missing => self.change_untouched(&before.file, &owned.file)?,
                None if owned.only_if_missing => self.add_missing(&owned.file)?,
                Some(before) => self.change(before, owned)?,
                None => self.add(&owned.file)?,
            }
        }
        Ok(())
    }

    fn remove_owned(&mut self, file: &File) -> Result<(), ReadError> {
        match self.files.read(&file.path)? {
            Some(there) if there == file.content || file.regenerated => self.remove(&file.path),
            Some(there) => {
                if let Some(listing) = Listing::between(&file.path, &file.content, "")
                    && (!self.force || listing.apply(&there).is_ok())
                {
                    return self.update_listing(&file.path, &listing, &there);
                }
                if self.force {
                    return self.remove(&file.path);
                }
                if self.marks.is_some() {
                    self.keep(
                        &file.path,
                        "was edited, and nothing needs it any more: delete it if you do not",
                    );
                    return Ok(());
                }
                self.obstacles.push(Obstacle::Edited(file.path.clone()));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Updates the generated entries of a listing, and removes the file if no entry is left.
    fn update_listing(&mut self, path: &str, listing: &Listing, there: &str) -> Result<(), ReadError> {
        match listing.apply(there) {
            Ok(changed) if listing::is_blank(&changed) => self.remove(path),
            Ok(changed) => self.write(File::new(path, changed)),
            Err(error) => {
                let why = std::error::Error::source(&error).map(|source| format!(": {source}"));
                let why = format!("{error}{}", why.unwrap_or_default());
                self.obstacles
                    .push(Obstacle::List(path.to_owned(), why, listing.wanted()));
                Ok(())
            }
        }
    }

    fn add(&mut self, file: &File) -> Result<(), ReadError> {
        let there = self.read(&file.path)?;
        if let Some(there) = there.as_ref().filter(|_| file.path == listing::SAMPLES)
            && let Some(listing) = Listing::between(&file.path, "", &file.content)
            && (!self.force || listing.apply(there).is_ok())
        {
            return self.update_listing(&file.path, &listing, there);
        }
        match there {
            Some(_) if KEPT_IF_PRESENT.contains(&file.path.as_str()) => Ok(()),
            Some(there) if there != file.content && !file.regenerated && self.marks.is_some() => {
                self.keep(&file.path, "is your own, and stays in place of the new template");
                Ok(())
            }
            Some(there) if there != file.content && !file.regenerated && !self.force => {
                self.obstacles.push(Obstacle::Exists(file.path.clone()));
                Ok(())
            }
            _ => self.write(file.clone()),
        }
    }

    /// Changes a file that `kubewright manifests` keeps up to date, if it has not written it yet.
    fn change_untouched(&mut self, before: &File, after: &File) -> Result<(), ReadError> {
        match self.read(&before.path)? {
            Some(there) if there == before.content => self.write(after.clone()),
            _ => Ok(()),
        }
    }

    /// Writes a file only if it does not exist: `kubewright manifests` keeps it up to date.
    fn add_missing(&mut self, file: &File) -> Result<(), ReadError> {
        match self.read(&file.path)? {
            Some(_) => Ok(()),
            None => self.write(file.clone()),
        }
    }

    fn change(&mut self, before: &OwnedFile, after: &OwnedFile) -> Result<(), ReadError> {
        let (old, new) = (&before.file, &after.file);
        let anew = self.force && self.anew.as_ref().is_some_and(|kind| after.key.ends_with(kind));
        if old == new && !anew {
            return Ok(());
        }
        let Some(there) = self.files.read(&old.path)? else {
            if self.marks.is_some() {
                self.keep(&old.path, "was removed, and stays so");
                return Ok(());
            }
            return self.add(new);
        };
        if self.marks.is_some() && after.is_users_code && there != old.content {
            return Ok(());
        }
        let must_apply = self.force || self.marks.is_some();
        if there != old.content
            && let Some(listing) = Listing::between(&old.path, &old.content, &new.content)
            && (!must_apply || listing.apply(&there).is_ok())
        {
            return self.update_listing(&old.path, &listing, &there);
        }
        let content = match merge(&old.content, &new.content, &there) {
            _ if new.regenerated || anew => new.content.clone(),
            Ok(merged) => merged,
            Err(_) if self.force => new.content.clone(),
            // A README that the user rewrote stays as it is.
            Err(_) if old.path == "README.md" => {
                self.keep(&old.path, "was rewritten, and stays as it is");
                return Ok(());
            }
            Err(conflict) => {
                if let Some(marks) = &self.marks {
                    let (content, _) = merge_with_marks(&old.content, &new.content, &there, marks);
                    self.conflicts.push(old.path.clone());
                    return self.write(File { content, ..new.clone() });
                }
                self.obstacles
                    .push(Obstacle::Conflict(old.path.clone(), conflict.wanted));
                return Ok(());
            }
        };
        if old.path != new.path {
            self.remove(&old.path)?;
            return self.add(&File { content, ..new.clone() });
        }
        self.write(File { content, ..new.clone() })
    }
}
