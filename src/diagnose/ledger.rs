//! What became of the hypotheses: refuted on this D, or not put to the test, and why.

use std::cell::RefCell;

/// Kept by all work of one diagnosis.
#[derive(Debug, Default)]
pub struct Ledger {
    refuted: RefCell<Vec<&'static str>>,
    open: RefCell<Vec<(&'static str, &'static str)>>,
}

impl Ledger {
    /// It was computed, and does not give this D.
    pub fn refute(&self, what: &'static str) {
        let mut refuted = self.refuted.borrow_mut();
        if !refuted.contains(&what) {
            refuted.push(what);
        }
    }

    /// It may give this D.
    pub fn leave(&self, what: &'static str, why: &'static str) {
        let mut open = self.open.borrow_mut();
        if !open.contains(&(what, why)) {
            open.push((what, why));
        }
    }

    /// What was refuted, wherever it was tested, and what was not tested, together with others for the same reason.
    pub fn said(&self) -> (Vec<&'static str>, Vec<String>) {
        let open = self.open.borrow();
        let mut refuted = self.refuted.borrow().clone();
        refuted.retain(|what| open.iter().all(|(left, _)| left != what));
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for (what, why) in open.iter() {
            match reasons.iter_mut().find(|(other, _)| other == why) {
                Some((_, all)) => all.push(what),
                None => reasons.push((why, vec![what])),
            }
        }
        let said = reasons.into_iter();
        let said = said.map(|(why, all)| format!("{} ({why})", all.join(", ")));
        (refuted, said.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_open_somewhere_is_not_refuted() {
        let ledger = Ledger::default();
        ledger.refute("one");
        ledger.refute("two");
        ledger.refute("two");
        ledger.leave("one", "no time");
        ledger.leave("three", "no time");
        let (refuted, open) = ledger.said();
        assert_eq!(refuted, ["two"]);
        assert_eq!(open, ["one, three (no time)"]);
    }
}
