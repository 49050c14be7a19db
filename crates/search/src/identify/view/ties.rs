//! Fits that this D cannot distinguish, grouped: arithmetics that fit under the same kernels are one tie, and the fits
//! of one kernel are one line.

use crate::emu::schedule::Overrides;
use crate::forms::InWords as _;
use crate::forms::view::phrase::listed;
use crate::identify::document::{Identification, Identified, IdentifiedSchedule, Named};
use crate::report::KernelDescription;

/// Arithmetics for the same formats that fit under the same kernels.
pub struct Tie<'a> {
    pub models: Vec<&'a Identified>,
    pub lines: Vec<Line<'a>>,
}

/// One kernel's fits.
pub struct Line<'a> {
    /// None if it is one chain over K.
    schedule: Option<&'a IdentifiedSchedule>,
    /// The kernel's settings, except numbers of slices and of multiprocessors that a search found.
    kernel: Option<KernelDescription>,
    variants: Vec<Variant>,
    /// Those that were found.
    multiprocessors: Vec<usize>,
    /// Positions among the fits, ascending; of all arithmetics of the tie.
    pub fits: Vec<usize>,
}

/// Fits of a kernel that differ in the number of slices alone.
#[derive(Clone, PartialEq)]
struct Variant {
    /// Its other overrides.
    rest: Overrides,
    slices: Vec<usize>,
}

/// All fits. Ties and lines are in the order of their first fits.
pub fn ties(found: &Identification) -> Vec<Tie<'_>> {
    let mut each: Vec<Tie> = Vec::new();
    for (position, fit) in found.fits.iter().enumerate() {
        let model = &fit.model;
        let same = |tie: &Tie| {
            let first = tie.models[0];
            first.sha256 == model.sha256
                && first.rounded_to == model.rounded_to
                && first.nearest == model.nearest
        };
        let at = each.iter().position(same).unwrap_or_else(|| {
            each.push(Tie {
                models: vec![model],
                lines: Vec::new(),
            });
            each.len() - 1
        });
        each[at].add(position, model);
    }
    let mut ties: Vec<Tie> = Vec::new();
    for tie in each {
        match ties.iter_mut().find(|known| known.is_like(&tie)) {
            Some(known) => known.join(tie),
            None => ties.push(tie),
        }
    }
    ties
}

impl<'a> Tie<'a> {
    fn add(&mut self, position: usize, model: &'a Identified) {
        let schedule = model.schedule.as_ref();
        let mut rest = schedule.map_or(Overrides::default(), |of| of.overrides.clone());
        let slices = rest.split_k.take();
        let kernel = schedule.and_then(|of| of.kernel.as_ref());
        let found = kernel.and_then(|kernel| {
            let mut settings = kernel.settings.iter();
            let found = settings.find(|setting| setting.is_found(MULTIPROCESSORS));
            found.and_then(|setting| setting.value.parse::<usize>().ok())
        });
        let kernel = kernel.map(without_counts);
        let same = |line: &Line| line.has(schedule, kernel.as_ref());
        let at = self.lines.iter().position(same).unwrap_or_else(|| {
            self.lines.push(Line {
                schedule,
                kernel,
                variants: Vec::new(),
                multiprocessors: Vec::new(),
                fits: Vec::new(),
            });
            self.lines.len() - 1
        });
        let line = &mut self.lines[at];
        line.fits.push(position);
        line.multiprocessors.extend(found);
        let known = line.variants.iter_mut();
        let mut known =
            known.filter(|of| of.rest == rest && of.slices.is_empty() == slices.is_none());
        match known.next() {
            Some(variant) => variant.slices.extend(slices),
            None => line.variants.push(Variant {
                rest,
                slices: slices.into_iter().collect(),
            }),
        }
    }

    /// Whether the same kernels fit. Models alone stay apart: they have no kernels to repeat.
    fn is_like(&self, other: &Tie) -> bool {
        if self.lines.iter().all(|line| line.schedule.is_none()) {
            return false;
        }
        let formats = |tie: &Tie| tie.models[0].formats();
        let line = |(x, y): (&Line, &Line)| x.is_like(y);
        formats(self) == formats(other)
            && self.lines.len() == other.lines.len()
            && self.lines.iter().zip(&other.lines).all(line)
    }

    fn join(&mut self, other: Tie<'a>) {
        self.models.extend(other.models);
        for (line, more) in self.lines.iter_mut().zip(other.lines) {
            line.fits.extend(more.fits);
        }
    }
}

impl Line<'_> {
    /// The kernel's settings, with all numbers of slices and of multiprocessors that were found.
    pub fn kernel(&self) -> Option<KernelDescription> {
        let mut kernel = self.schedule?.kernel.clone()?;
        let slices = self.variants.iter().flat_map(|variant| &variant.slices);
        let slices: Vec<usize> = slices.copied().collect();
        for (name, found) in [
            ("slices", &slices),
            (MULTIPROCESSORS, &self.multiprocessors),
        ] {
            for setting in &mut kernel.settings {
                if setting.is_found(name) && found.len() > 1 {
                    setting.value = runs(found);
                }
            }
        }
        Some(kernel)
    }

    fn has(
        &self,
        schedule: Option<&IdentifiedSchedule>,
        kernel: Option<&KernelDescription>,
    ) -> bool {
        let name = |schedule: &IdentifiedSchedule| schedule.name.clone();
        self.schedule.map(name) == schedule.map(name) && self.kernel.as_ref() == kernel
    }

    fn is_like(&self, other: &Line) -> bool {
        self.has(other.schedule, other.kernel.as_ref())
            && self.variants == other.variants
            && self.multiprocessors == other.multiprocessors
    }
}

impl std::fmt::Display for Line<'_> {
    /// `cublas-workspace: 2 to 5 and 8 slices; tile_k 128, 8 slices`, or what the kernel does, if the line is about
    /// one variant of it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(schedule) = self.schedule else {
            return f.write_str("one chain over K");
        };
        if self.multiprocessors.len() > 1 {
            let counts = runs(&self.multiprocessors);
            return write!(f, "{}: {counts} multiprocessors", schedule.name);
        }
        let one = self.variants.len() == 1 && self.variants[0].slices.len() <= 1;
        if one {
            return write!(f, "{schedule}: {}", schedule.spec.in_words());
        }
        let variants: Vec<_> = self.variants.iter().map(Variant::to_string).collect();
        write!(f, "{}: {}", schedule.name, variants.join("; "))
    }
}

impl std::fmt::Display for Variant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let comma = match (self.rest.is_empty(), self.slices.is_empty()) {
            (true, true) => return f.write_str("as it is"),
            (false, false) => ", ",
            _ => "",
        };
        write!(f, "{}{comma}", self.rest)?;
        if self.slices.is_empty() {
            Ok(())
        } else {
            write!(f, "{} slices", runs(&self.slices))
        }
    }
}

impl Identified {
    /// The name with the best evidence; the first, if several have it.
    pub fn best_name(&self) -> &Named {
        let name = self.names.iter().rev().max_by_key(|name| name.evidence);
        name.expect("every model has a name")
    }
}

/// A setting that a search finds.
const MULTIPROCESSORS: &str = "multiprocessors";

/// A kernel's settings, without numbers of slices and of multiprocessors that a search found.
fn without_counts(kernel: &KernelDescription) -> KernelDescription {
    let mut kernel = kernel.clone();
    kernel.order.clear();
    kernel.settings.retain(|setting| {
        !["slices", MULTIPROCESSORS]
            .iter()
            .any(|name| setting.is_found(name))
    });
    kernel
}

/// `2 to 5, 8 and 10`.
fn runs(numbers: &[usize]) -> String {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    let runs = numbers.chunk_by(|x, y| x + 1 == *y);
    let runs: Vec<String> = runs
        .flat_map(|run| match run {
            [first, _, .., last] => vec![format!("{first} to {last}")],
            few => few.iter().map(usize::to_string).collect(),
        })
        .collect();
    listed(&runs)
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn numbers_in_runs() {
        assert_eq!(runs(&[4]), "4");
        assert_eq!(runs(&[3, 2]), "2 and 3");
        assert_eq!(runs(&[2, 3, 4, 9, 5, 12]), "2 to 5, 9 and 12");
    }
}
