//! Carrying out a plan.
//!
//! A run may be killed at any point. The manifest therefore lists the old and the new hash of each output before the
//! first file is touched, and only the new ones after the last: whatever a killed run leaves is listed.

use super::disk;
use super::manifest::{self, Manifest, Record};
use super::obstacle::{Obstacle, Reason};
use super::plan::{Edits, Plan, State};
use super::report::{Fate, Report};
use super::target::OutputError;

impl Plan<'_> {
    /// Brings the disk up to date and says what was done.
    pub(super) fn write(mut self, edits: Edits) -> Result<Vec<Report>, OutputError> {
        self.refuse(edits)?;
        let path = |record| self.target.root.join(manifest::path_of(&self.target.project, record));
        let (committed, uncommitted) = (path(Record::Committed), path(Record::Uncommitted));
        let is_done = self.gone.is_empty() && self.outputs.iter().all(|(_, _, state)| *state == State::Same);
        if !is_done {
            for leftover in &self.leftovers {
                disk::remove(leftover, &self.target.root)?;
            }
            let mut both = Manifest::new(self.target);
            both.unfinished = true;
            self.before.iter().for_each(|before| both.add_all(before));
            both.add_all(&self.after);
            both.add_all(&self.uncommitted);
            // The next run reads both manifests, so that one of them is enough.
            manifest::write(&committed, &both.text(self.target))?;
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
        // The committed one last: until then it lists everything.
        for (path, after, is_wanted) in [
            (uncommitted, &self.uncommitted, !self.uncommitted.is_empty()),
            (committed, &self.after, self.before.is_some() || !self.outputs.is_empty()),
        ] {
            let found = disk::read(&path)?;
            let text = after.text(self.target);
            if (is_wanted || found.is_some()) && found.is_none_or(|found| found != text.as_bytes()) {
                manifest::write(&path, &text)?;
            }
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
