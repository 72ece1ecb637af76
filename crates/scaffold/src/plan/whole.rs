//! Files that belong to one thing: written, merged, moved and removed as a whole.

use super::listing::{self, Listing};
use super::{Files, Obstacle, Planner, ReadError};
use crate::File;
use crate::code::{State, Whole};
use crate::merge::merge;

/// Files that a new repository often has: they stay as they are.
const KEPT: [&str; 3] = ["README.md", ".gitignore", ".dockerignore"];

impl<F: Files> Planner<'_, F> {
    pub(super) fn wholes(&mut self, old: &State, new: &State) -> Result<(), ReadError> {
        for gone in old.wholes.iter().filter(|whole| new.find(&whole.key).is_none()) {
            self.take_away(&gone.file)?;
        }
        for whole in &new.wholes {
            match old.find(&whole.key) {
                Some(_) if whole.first_state => {}
                None if whole.first_state => self.add_missing(&whole.file)?,
                Some(before) => self.change(before, whole)?,
                None => self.add(&whole.file)?,
            }
        }
        Ok(())
    }

    fn take_away(&mut self, file: &File) -> Result<(), ReadError> {
        match self.files.read(&file.path)? {
            Some(there) if there == file.content || file.regenerated => self.remove(&file.path),
            Some(there) => {
                if let Some(listing) = Listing::between(&file.path, &file.content, "")
                    && (!self.force || listing.apply(&there).is_ok())
                {
                    return self.relist(&file.path, &listing, &there);
                }
                if self.force {
                    return self.remove(&file.path);
                }
                self.obstacles.push(Obstacle::Edited(file.path.clone()));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Has a listing list what it has to, beside what its user lists. One that is empty then goes.
    fn relist(&mut self, path: &str, listing: &Listing, there: &str) -> Result<(), ReadError> {
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
            return self.relist(&file.path, &listing, there);
        }
        match there {
            Some(_) if KEPT.contains(&file.path.as_str()) => Ok(()),
            Some(there) if there != file.content && !file.regenerated && !self.force => {
                self.obstacles.push(Obstacle::Exists(file.path.clone()));
                Ok(())
            }
            _ => self.write(file.clone()),
        }
    }

    /// Writes a file where there is none: what is there was made from the code.
    fn add_missing(&mut self, file: &File) -> Result<(), ReadError> {
        match self.read(&file.path)? {
            Some(_) => Ok(()),
            None => self.write(file.clone()),
        }
    }

    fn change(&mut self, before: &Whole, after: &Whole) -> Result<(), ReadError> {
        let (old, new) = (&before.file, &after.file);
        let anew = self.force && self.anew.as_ref().is_some_and(|kind| after.key.ends_with(kind));
        if old == new && !anew {
            return Ok(());
        }
        let Some(there) = self.files.read(&old.path)? else {
            return self.add(new);
        };
        if there != old.content
            && let Some(listing) = Listing::between(&old.path, &old.content, &new.content)
            && (!self.force || listing.apply(&there).is_ok())
        {
            return self.relist(&old.path, &listing, &there);
        }
        let content = match merge(&old.content, &new.content, &there) {
            _ if new.regenerated || anew => new.content.clone(),
            Ok(merged) => merged,
            Err(_) if self.force => new.content.clone(),
            // Prose is its writer's: where it was rewritten it stays so.
            Err(_) if old.path == "README.md" => return Ok(()),
            Err(conflict) => {
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
