//! All cases of a batch, judged: small ones side by side, large ones one after another.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::state::{Entry, Read, State};
use super::{BatchError, Case, Pages};
use crate::batch::report::{Batch, BatchCase};
use crate::check::{Attention, CheckError, Progress, Resources, Source};
use crate::deadline::{Deadline, interruptible};
use crate::forms::{Store, View};
use crate::policy::AdmissionPolicy;
use crate::report::Rule;

/// Cases whose files have no more bytes than this in sum run side by side, a thread each: most of
/// their time is spent on files, which a single case cannot share out.
const SMALL: u64 = 1 << 20;

/// Why a case that the policy's time ended, or that had none left, has no verdict.
const LATE: &str = "no verdict: stopped at its time limit";

/// What is the same for every case.
#[derive(Clone, Copy)]
struct Terms<'a> {
    policy: Option<&'a AdmissionPolicy>,
    /// When the policy's time is over.
    deadline: Deadline,
    pages: Option<&'a Pages>,
    /// What somebody reads of a case without a page.
    attention: Attention<'a>,
    /// Where texts of reports go.
    store: &'a Arc<Store>,
}

/// A case, until its verdict takes its place; in the end all of them stay where they are.
#[allow(clippy::large_enum_variant)]
enum Place {
    Open(Case),
    Judged(BatchCase),
}

/// Steps that a check takes, however much work it is.
const STEPS: u64 = 1000;

/// The share that one check has in the progress of a batch; all of it once it is dropped.
struct Share<'a> {
    whole: &'a dyn Progress,
    work: AtomicU64,
    done: AtomicU64,
}

impl<'a> Share<'a> {
    fn of(whole: &'a dyn Progress) -> Share<'a> {
        Share {
            whole,
            work: AtomicU64::new(1),
            done: AtomicU64::new(0),
        }
    }
}

impl Progress for Share<'_> {
    fn begin(&self, work: u64) {
        self.work.store(work.max(1), Ordering::Relaxed);
    }

    fn advance(&self, more: u64) {
        let work = self.work.load(Ordering::Relaxed);
        let before = self.done.fetch_add(more, Ordering::Relaxed);
        let steps =
            |done: u64| (u128::from(done.min(work)) * u128::from(STEPS) / u128::from(work)) as u64;
        self.whole
            .advance(steps(before.saturating_add(more)) - steps(before));
    }

    fn interrupted(&self) -> bool {
        self.whole.interrupted()
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.advance(self.work.load(Ordering::Relaxed));
    }
}

/// Judges all cases, in any order, returns them in their own order, and frees each request. Files are opened and hashed
/// once. The policy that the cases were read under has limits of work and time, too. Refused cases follow the others,
/// without a verdict. For [`Attention::Verdict`] nothing is kept.
///
/// # Errors
/// If the state cannot be kept, or it was interrupted; a case without a verdict is part of the result.
pub fn run(
    (cases, refused): (Vec<Case>, Vec<(String, String)>),
    state: &State,
    resources: &Resources,
    policy: Option<&AdmissionPolicy>,
    (pages, attention): (Option<&Pages>, Attention),
    progress: &dyn Progress,
) -> Result<Batch, BatchError> {
    let deadline = Deadline::current().or(Deadline::after(policy.and_then(AdmissionPolicy::time)));
    let run = deadline.within(|| {
        run_within(
            deadline,
            cases,
            state,
            resources,
            (policy, pages, attention),
            progress,
        )
    });
    let mut cases = run.map_err(no_threads)??;
    let refused = refused.into_iter();
    cases.extend(refused.map(|(name, reason)| BatchCase::unjudged(&name, reason)));
    Ok(Batch::of(cases))
}

fn no_threads(error: impl std::fmt::Display) -> BatchError {
    BatchError::Other(format!("worker threads cannot be started: {error}"))
}

fn run_within(
    deadline: Deadline,
    cases: Vec<Case>,
    state: &State,
    resources: &Resources,
    (policy, pages, attention): (Option<&AdmissionPolicy>, Option<&Pages>, Attention),
    progress: &dyn Progress,
) -> Result<Vec<BatchCase>, BatchError> {
    let store = Arc::new(Store::default());
    let terms = Terms {
        store: &store,
        policy,
        deadline,
        pages,
        attention,
    };
    progress.begin(cases.len() as u64 * STEPS);
    let trouble = Mutex::new(None);
    let (small, large): (Vec<usize>, Vec<usize>) =
        (0..cases.len()).partition(|&i| bytes(&cases[i]) <= SMALL);
    let places: Vec<Mutex<Place>> = cases
        .into_iter()
        .map(|case| Mutex::new(Place::Open(case)))
        .collect();
    let one = |i: usize| {
        let mut place = places[i].lock().unwrap_or_else(PoisonError::into_inner);
        let Place::Open(case) = &*place else {
            return true;
        };
        let expected = case.expect;
        match judged((i, case), state, resources, terms, progress) {
            Ok(mut case) => {
                case.expected = expected;
                *place = Place::Judged(case);
                true
            }
            Err(error) => {
                *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                false
            }
        }
    };
    let next = AtomicUsize::new(0);
    let threads = rayon::current_num_threads().min(small.len());
    // Threads with a pool of one each: in a common pool, a case that waits for its parts would begin another case
    // meanwhile, and that one the next.
    std::thread::scope(|scope| -> Result<(), BatchError> {
        for _ in 0..threads {
            let pool = deadline.pool(1).map_err(no_threads)?;
            let (next, small, one) = (&next, &small, &one);
            scope.spawn(move || {
                pool.install(|| {
                    while let Some(&i) = small.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if !one(i) {
                            break;
                        }
                    }
                });
            });
        }
        Ok(())
    })?;
    for &i in &large {
        if !one(i) {
            break;
        }
    }
    if let Some(error) = trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let places = places.into_iter();
    let done = places.map(|place| match place.into_inner() {
        Ok(Place::Judged(case)) => Some(case),
        _ => None,
    });
    let done: Option<Vec<BatchCase>> = done.collect();
    let lost =
        || BatchError::Other("a case was lost; this is a bug in tcverify, please report it".into());
    done.ok_or_else(lost)
}

/// Bytes of the files of a case; generated cases count as large.
fn bytes(case: &Case) -> u64 {
    let sizes = case.request.sources().into_values();
    let sizes = sizes.map(|source| match source {
        Source::File(path) => {
            let about = std::fs::metadata(crate::io::on_disk(&path));
            about.map_or(0, |about| about.len())
        }
        Source::Generated(_) | Source::Memory => u64::MAX,
    });
    sizes.fold(0, u64::saturating_add)
}

/// The verdict on a case, or why there is none; an error only if it cannot be kept.
fn judged(
    (place, case): (usize, &Case),
    state: &State,
    resources: &Resources,
    terms: Terms,
    progress: &dyn Progress,
) -> Result<BatchCase, BatchError> {
    let share = Share::of(progress);
    if progress.interrupted() {
        return Err(BatchError::Interrupted);
    }
    let late = || Ok(BatchCase::unjudged(&case.name, LATE.into()));
    if terms.deadline.is_over() {
        return late();
    }
    let put_away = |case: BatchCase| {
        let kept = case.put_away(terms.store);
        kept.map_err(|error| {
            BatchError::Other(format!(
                "reports cannot be kept in a temporary file: {error}"
            ))
        })
    };
    let Ok(known) = interruptible(|| state.recall(case, resources)) else {
        return late();
    };
    if let Some(known) = known? {
        let Some(pages) = terms.pages else {
            return put_away(known);
        };
        // The page of a case that differs shows what no report holds, so the case is judged again.
        if let Ok(Some(report)) = known.agreeing() {
            let written = pages.write(place, View::of(&report));
            written.map_err(BatchError::File)?;
            return put_away(known);
        }
    }
    // A case that panics has no verdict, and stops no other.
    let found = catch_unwind(AssertUnwindSafe(|| {
        let judged = interruptible(|| judge((place, case), resources, terms, &share));
        judged.unwrap_or_else(|ended| Err(describe(CheckError::ended(ended))))
    }));
    let found = found
        .unwrap_or_else(|_| Err("tcverify failed on this case; please report this bug".into()));
    if found.is_err() && progress.interrupted() {
        return Err(BatchError::Interrupted);
    }
    match found {
        Ok((judged, entry)) => {
            if let Some(entry) = entry {
                state.keep(&entry)?;
            }
            put_away(judged)
        }
        Err(reason) => Ok(BatchCase::unjudged(&case.name, reason)),
    }
}

fn describe(error: CheckError) -> String {
    match error {
        CheckError::Interrupted => LATE.to_owned(),
        error => error.to_string(),
    }
}

fn judge(
    (place, case): (usize, &Case),
    resources: &Resources,
    terms: Terms,
    progress: &dyn Progress,
) -> Result<(BatchCase, Option<Entry>), String> {
    let prepared = case.request.prepare(resources).map_err(describe)?;
    if let (Some(stated), Rule::Product(rule)) = (case.k, prepared.rule()) {
        let k = rule.product.k as u64;
        if stated != k {
            return Err(format!("case.json says that k is {stated}, but k is {k}"));
        }
    }
    if let Some(policy) = terms.policy {
        let admitted = policy.admit_prepared(&*prepared);
        admitted.map_err(|error| error.to_string())?;
    }
    let mapping = terms.pages.and_then(|_| prepared.mapping());
    let attention = match &mapping {
        Some(mapping) => Attention::Observed(mapping),
        None if terms.pages.is_some() => Attention::Report,
        None => terms.attention,
    };
    let is_kept = !matches!(attention, Attention::Verdict);
    let judged = prepared.judge(attention, progress);
    let judged = judged.map_err(describe)?;
    let next = prepared.next_commands(&judged.report);
    if let Some(pages) = terms.pages {
        let with = prepared.page(&judged.report, mapping).map_err(describe)?;
        let view = View::of(&judged.report).pictured(&with).then(next.clone());
        let written = pages.write(place, view);
        written.map_err(|error| format!("{error:#}"))?;
    }
    let report = judged.report;
    if !is_kept {
        // Nobody keeps it, and what it was judged from was not hashed.
        let judged = BatchCase::judged(&case.name, &report, next);
        return Ok((judged.map_err(|error| error.to_string())?, None));
    }
    // What is generated follows from the request.
    let files = prepared.by_role().iter();
    let files = files.filter(|(_, array)| !array.source.file().is_made());
    let files = files.map(|(role, array)| Read {
        path: array.source.path().to_owned(),
        sha256: report.inputs[role].file_sha256.clone(),
    });
    let mut files: Vec<Read> = files.collect();
    // What a case was judged against is a file like the others.
    let committed = case.request.committed().zip(report.commitment.as_ref());
    files.extend(committed.map(|((_, path), committed)| Read {
        path: path.to_owned(),
        sha256: committed.file_sha256.clone(),
    }));
    let judged = BatchCase::judged(&case.name, &report, next).map_err(|error| error.to_string())?;
    let basis = prepared.basis().map_err(|error| error.to_string())?;
    let entry = Entry::of(case, &basis, files, &judged);
    Ok((judged, entry))
}
