//! `--arch auto`: the search of `identify` chooses the model of a check.

use anyhow::Result;

use super::chooser::{Choice, Chooser};
use super::identify::in_search_options;
use super::progress::Bar;
use crate::check::Check;
use crate::identify::auto::{self, Auto};
use crate::report::Chosen;

/// The search of `identify`.
pub struct Search;

impl Chooser for Search {
    fn choose(&self, check: &Check) -> Result<Choice> {
        if !auto::is_requested(check) {
            return Ok(Choice::Named);
        }
        let found = auto::choose(check, &mut |_| None, &Bar::new());
        Ok(match in_search_options(found)? {
            Auto::Found(check, chosen) => Choice::Found(check, chosen),
            Auto::Nothing(tested) => Choice::Nothing(tested),
        })
    }

    fn confirm(&self, check: &Check, reported: &Chosen) -> Result<Vec<String>> {
        in_search_options(auto::confirm(check, reported, &Bar::new()))
    }
}
