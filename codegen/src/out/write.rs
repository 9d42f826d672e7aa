//! Carrying out a plan.
//!
//! A run may be killed at any point. The manifest therefore lists the old and the new hash of each output before the
//! first file is touched, and only the new ones after the last: whatever a killed run leaves is listed.

use super::disk;
use super::manifest::{self, Manifest};
use super::obstacle::{Obstacle, Reason};
use super::plan::{Edits, Plan, State};
use super::report::{Fate, Report};
use super::target::OutputError;

impl Plan<'_> {
    /// Brings the disk up to date and says what was done.
    pub(super) fn write(mut self, edits: Edits) -> Result<Vec<Report>, OutputError> {
        self.refuse(edits)?;
        let manifest = self.target.root.join(manifest::path_of(&self.target.project));
        let text = self.after.text(self.target);
        let is_current = disk::read(&manifest)?.is_some_and(|found| found == text.as_bytes());
        let is_done = self.gone.is_empty() && self.outputs.iter().all(|(_, _, state)| *state == State::Same);
        if !is_done {
            for leftover in &self.leftovers {
                disk::remove(leftover, &self.target.root)?;
            }
            let mut both = Manifest::new(self.target);
            both.unfinished = true;
            self.before.iter().for_each(|before| both.add_all(before));
            both.add_all(&self.after);
            manifest::write(&manifest, &both.text(self.target))?;
        }
        let mut reports = Vec::new();
        let mut removed = Vec::new();
        for (path, real) in &self.gone {
            disk::remove(real, &self.target.root)?;
            removed.push(Report::new(Fate::Removed, path, ""));
        }
        for (output, real, state) in &self.outputs {
            let fate = match state {
                State::Same => Fate::Unchanged,
                State::Missing => Fate::Created,
                State::Outdated(_) | State::Edited(_) | State::Foreign(_) => Fate::Updated,
            };
            if fate != Fate::Unchanged {
                disk::replace(real, &output.text)?;
            }
            reports.push(Report::new(fate, &output.path, &output.note));
        }
        reports.append(&mut removed);
        let note = "changed since it was written; no output any more";
        reports.extend(self.left.iter().map(|path| Report::new(Fate::Left, path, note)));
        if !(is_current && is_done) && (self.before.is_some() || !self.outputs.is_empty()) {
            manifest::write(&manifest, &text)?;
        }
        Ok(reports)
    }

    /// Fails if anything is in the way.
    fn refuse(&mut self, edits: Edits) -> Result<(), OutputError> {
        let mut obstacles = std::mem::take(&mut self.obstacles);
        for (output, _, state) in &self.outputs {
            let reason = match state {
                State::Foreign(_) => Reason::Foreign,
                State::Edited(_) if edits == Edits::Refuse => Reason::Edited,
                _ => continue,
            };
            obstacles.push(Obstacle { path: output.path.clone(), reason });
        }
        if obstacles.is_empty() { Ok(()) } else { Err(OutputError::Blocked(obstacles)) }
    }
}
