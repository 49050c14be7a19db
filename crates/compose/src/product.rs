//! What is known of a product beside its verdict.

use super::{Diagnosed, Examined, Explained, Request, ambiguity, suggest};
use crate::check::{CheckError, Part, Prepared, Verb, shell_line};
use crate::commit::{Along, CommittedRule, CommittedSchedule};
use crate::explain::{Explanation, Question, Wish, position};
use crate::io::tree::Hash;
use crate::report::{Ambiguity, Conclusion, Verdict};
use crate::role::Role;

/// The longest K that a page explains: more takes long, and memory.
const MAX_EXPLAINED_K: usize = 1 << 20;

/// How an element of D is computed, and how it compares with the D that was read.
pub fn explanation(
    prepared: &Prepared,
    index: &[usize],
    wish: Wish,
) -> Result<Explanation, CheckError> {
    let shape = prepared.problem().d_shape();
    let inside = index.len() == shape.len() && index.iter().zip(&shape).all(|(i, n)| i < n);
    if !inside {
        let reason = format!("D is {shape:?} and has no element {index:?}");
        return Err(CheckError::request("d", reason));
    }
    if slices(prepared) {
        let reason =
            "an element of FP64 slices is a sum of exact integers, of which no steps are shown";
        return Err(CheckError::request("schedule", reason));
    }
    Ok(question(prepared, index, wish, |question| {
        question.answer()
    }))
}

/// Whether the schedule takes FP64 operands apart.
fn slices(prepared: &Prepared) -> bool {
    prepared.scheduling().wide_result().is_some()
}

/// Asks how an element of D is computed.
fn question<T>(
    prepared: &Prepared,
    index: &[usize],
    wish: Wish,
    ask: impl FnOnce(Question) -> T,
) -> T {
    let (choice, problem) = (prepared.choice(), prepared.problem());
    let (batch, row, column) = position(&problem, index);
    ask(Question {
        choice: &choice,
        file: prepared.model().file(),
        problem: &problem,
        product: prepared.product(),
        index: index.to_vec(),
        format: prepared.replay().format(),
        given: prepared
            .d()
            .map(|d| d.planes().plane(batch).code(row, column)),
        wish,
        kernel: prepared.kernel().zip(prepared.scheduled()),
    })
}

impl Examined for Prepared {
    fn reported_request(&self) -> Request {
        self.reported_check().into()
    }

    fn spelled_out(&self) -> Request {
        Prepared::spelled_out(self).into()
    }

    fn diagnosed(&self, found: &Conclusion, part: Option<&Part>) -> Diagnosed {
        suggest::diagnosed(self, found, part)
    }

    fn ambiguity(&self, verdict: Verdict, part: Option<&Part>) -> Option<Ambiguity> {
        ambiguity::ambiguity_of(self, verdict, part)
    }

    fn explained(&self, index: &[usize], wish: Wish) -> Result<Explained, CheckError> {
        let explanation = explanation(self, index, wish)?;
        Ok(Explained::Product(Box::new(explanation)))
    }

    fn explained_steps(&self) -> usize {
        if slices(self) {
            return 0;
        }
        let first = vec![0; self.problem().d_shape().len()];
        question(self, &first, Wish::default(), |question| question.steps())
    }

    fn is_explained(&self) -> bool {
        !slices(self)
    }

    fn is_explained_on_pages(&self) -> bool {
        self.problem().k <= MAX_EXPLAINED_K && self.is_explained()
    }

    fn searches(&self) -> Option<String> {
        let request = Examined::spelled_out(self);
        Some(shell_line(request.command_line(Verb::Identify)))
    }

    fn committed_rule(&self) -> Result<CommittedRule, CheckError> {
        if self.model().sparse().is_some() {
            let reason = "a product of a compressed A cannot be committed to: openings do not support its metadata \
                yet";
            return Err(CheckError::request("sparse_a", reason));
        }
        let sha256 = self.model().arithmetic.sha256();
        Ok(CommittedRule::Product {
            model_sha256: Hash::parse(&sha256).expect("a SHA-256"),
            schedule: self
                .kernel()
                .map(|kernel| CommittedSchedule::of(kernel.spec, kernel.values)),
            product: self.product(),
        })
    }

    fn along(&self, role: Role) -> Along {
        let [transpose_a, transpose_b] = self.arrays().transpose();
        let weights = self.request().operands.weights.is_some();
        let whole = weights || self.scheduling().takes_scales();
        match role {
            Role::ScaleA | Role::ScaleB if whole => Along::Whole,
            Role::A | Role::ScaleA if transpose_a => Along::Columns,
            Role::A | Role::ScaleA | Role::C => Along::Rows,
            Role::B | Role::ScaleB if transpose_b => Along::Rows,
            Role::B | Role::ScaleB => Along::Columns,
            _ => Along::Whole,
        }
    }
}
