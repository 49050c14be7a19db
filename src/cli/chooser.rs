//! Whoever chooses the model of a check that names no unit (`--arch auto`), without which every other check works.

use anyhow::Result;

use crate::check::Check;
use crate::report::Chosen;

/// What a chooser says of a check.
pub enum Choice {
    /// The check names its unit.
    Named,
    /// The check by the first model that gives D, and all that give it.
    Found(Box<Check>, Chosen),
    /// No model gives D, of so many that were tested.
    Nothing(usize),
}

/// A search for models that give a captured D.
pub trait Chooser: Sync {
    /// Searches, if the check leaves the choice to D.
    fn choose(&self, check: &Check) -> Result<Choice>;

    /// Searches anew; sentences with JSON paths say where a report differs from what is found.
    fn confirm(&self, check: &Check, reported: &Chosen) -> Result<Vec<String>>;
}
