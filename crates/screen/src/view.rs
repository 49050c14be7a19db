//! The view of a judged fleet.

use super::challenge::Whose;
use super::fleet::{Condition, Fleet, Gpu, Wrong};
use crate::forms::view::{Card, Case, Fact, Picture, Section, Tone, View, grouped, of};
use crate::io::printable;
use crate::words::Word;

impl Fleet {
    /// The view of it.
    pub fn view(&self) -> View {
        let (faulty, all) = (self.faulty().count(), self.gpus.len());
        let (tone, word) = match (faulty, self.gpus.iter().all(|gpu| gpu.condition.right())) {
            (0, true) => (Tone::Good, "Clean"),
            (0, false) => (Tone::Unsure, "Needs attention"),
            _ => (Tone::Bad, "Faulty"),
        };
        let counts = self.counts();
        let counted: Vec<_> = counts
            .iter()
            .map(|(condition, count)| format!("{count} {}", describe(*condition)))
            .collect();
        let s = if all == 1 { "" } else { "s" };
        let suite = format!(
            "{} {}, {} products, {}",
            self.arch, self.level, self.products, self.suite
        );
        let mut facts = vec![
            Fact::new("suite", suite),
            Fact::new("trusted", self.trusted()),
        ];
        if let Some(route) = self.route {
            let only = format!("only products of the route {} had to be run", route.word());
            facts.push(Fact::caution("asked", only));
        }
        let simulated = self.gpus.iter().filter(|gpu| gpu.device.simulated).count();
        if simulated > 0 {
            facts.push(Fact::caution(
                "simulated",
                format!("{simulated} of them simulated: no GPU computed anything"),
            ));
        }
        let figures = counts
            .iter()
            .map(|(condition, count)| (describe(*condition), grouped(*count as u64)));
        View {
            schema: self.schema.clone(),
            tone,
            word: word.to_owned(),
            sentence: format!("{all} GPU{s}: {}", counted.join(", ")),
            about: vec![format!("Suite {} {}", self.arch, self.level)],
            figures: figures.collect(),
            sections: vec![Section {
                id: "suite",
                heading: "The suite".to_owned(),
                facts,
                ..Section::default()
            }],
            proves: "A clean GPU gave the correct bits for these products, at these temperatures, on the SMs that \
                     ran. It may still be wrong for others."
                .to_owned(),
            cases: self.gpus.iter().map(shown).collect(),
            noun: "GPU",
            test: [format!("tcverify screen {}", self.arch), "tcverify.screen".to_owned(), String::new()],
            ..View::default()
        }
    }

    /// Whose word the results are, counted.
    fn trusted(&self) -> String {
        let of = |whose| {
            self.gpus
                .iter()
                .filter(|gpu| gpu.trusted.whose == whose)
                .count()
        };
        let counts = [
            (of(Whose::OwnWord), "of a node's own word, not signed"),
            (of(Whose::Signed), "signed"),
            (
                of(Whose::Challenged),
                "signed, of products drawn after the node committed to its GPU",
            ),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<_> = counts
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        counts.join(", ")
    }

    /// How many GPUs are in which condition, the rare ones first.
    fn counts(&self) -> Vec<(Condition, usize)> {
        let all = Condition::ALL.iter().rev();
        let counted = all.map(|(condition, _, _)| (*condition, self.count(*condition)));
        counted.filter(|(_, count)| *count > 0).collect()
    }
}

/// A condition in plain words.
fn describe(condition: Condition) -> String {
    condition.word().replace('_', " ")
}

fn shown(gpu: &Gpu) -> Case {
    let device = &gpu.device;
    let right = gpu.condition.right();
    let fault = gpu.wrong.fits.first();
    let word = describe(gpu.condition);
    let host = device.host.split('.').next().unwrap_or_default();
    Case {
        name: format!("{}/{}", device.host, device.index),
        short: Some(format!("{host}/{}", device.index)),
        tone: match gpu.condition {
            condition if condition.right() => Tone::Good,
            condition if condition.faulty() => Tone::Bad,
            _ => Tone::Unsure,
        },
        state: gpu.condition.word().to_owned(),
        group: word.clone(),
        word,
        said: gpu.said.clone(),
        by: measured(gpu),
        class: "tcverify.screen".to_owned(),
        next: fault.filter(|_| !right).map(|fault| {
            let faulty = gpu.wrong.sms.first();
            let sms = faulty.map_or(1, |(sm, _)| *sm as usize + 1);
            let sms = sms.max(gpu.wrong.sms_seen);
            format!("tcverify screen run SUITE.json --device simulated --sms {sms} --inject {fault} -o OUT.json")
        }),
        card: (!right).then(|| card(gpu)),
        ..Case::default()
    }
}

/// How much of it was compared, and how warm it was.
fn measured(gpu: &Gpu) -> String {
    let heat = gpu.readings.as_ref().map(|readings| readings.temperature_c);
    let heat = heat.map_or(String::new(), |[low, high]| {
        format!(", {low} to {high} \u{b0}C")
    });
    format!(
        "{} results, {} wrong, {} SMs{heat}",
        grouped(gpu.compared),
        grouped(gpu.wrong_results),
        gpu.wrong.sms_seen
    )
}

fn card(gpu: &Gpu) -> Card {
    let (device, wrong) = (&gpu.device, &gpu.wrong);
    let uuid = device
        .uuid
        .as_ref()
        .map_or(String::new(), |uuid| format!(", {uuid}"));
    let mut facts = vec![
        Fact::new("device", format!("{}{uuid}", device.name)),
        Fact::detail("architecture", &device.architecture),
        Fact::detail(
            "answered",
            of(gpu.answered[0] as u64, gpu.answered[1] as u64),
        ),
        Fact::detail(
            "compared",
            format!("{} results, {} wrong", gpu.compared, gpu.wrong_results),
        ),
    ];
    facts.extend(
        device
            .driver
            .as_ref()
            .map(|driver| Fact::detail("driver", driver)),
    );
    facts.extend(gpu.trusted.key.map(|key| {
        let committed = gpu.trusted.committed.as_ref();
        let committed = committed.map_or(String::new(), |time| {
            format!(", which committed to this GPU at {}", printable(time))
        });
        Fact::detail("signed by", format!("{key}{committed}"))
    }));
    if let Some([low, high]) = wrong.temperature_c {
        let all = gpu.readings.as_ref().map(|readings| readings.temperature_c);
        let all = all.map_or(String::new(), |[low, high]| {
            format!(", in a run at {low} to {high} \u{b0}C")
        });
        facts.push(Fact::detail(
            "wrong at",
            format!("{low} to {high} \u{b0}C{all}"),
        ));
    }
    facts.extend(wrong.first.as_ref().map(|first| {
        let text = format!(
            "{}, tile {}, element [{}, {}]: {} instead of {}",
            first.product, first.tile, first.row, first.column, first.given, first.right
        );
        Fact::new("first", text)
    }));
    if !gpu.products_wrong.is_empty() {
        let shown: Vec<_> = gpu
            .products_wrong
            .iter()
            .take(5)
            .map(String::as_str)
            .collect();
        let more = match gpu.products_wrong.len().saturating_sub(5) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        facts.push(Fact::detail(
            "products",
            format!("{}{more}", shown.join(", ")),
        ));
    }
    facts.extend(gpu.cases.iter().take(3).map(|case| Fact::new("case", case)));
    Card {
        facts,
        pictures: if wrong.elements > 0 {
            pictures(wrong)
        } else {
            Vec::new()
        },
        ..Card::default()
    }
}

fn pictures(wrong: &Wrong) -> Vec<Picture> {
    let cells = |caption: &str, what, counts| Picture::Cells {
        caption: caption.to_owned(),
        what,
        counts,
    };
    let mut pictures = Vec::new();
    if !wrong.sms.is_empty() {
        let most = wrong
            .sms
            .iter()
            .map(|(sm, _)| *sm as usize + 1)
            .max()
            .unwrap_or(0);
        let sms = wrong.sms.iter().map(|&(sm, n)| (sm as usize, n));
        pictures.push(cells(
            "Wrong results by SM",
            "sm",
            counted(most.max(wrong.sms_seen).min(1024), sms),
        ));
    }
    pictures.push(cells(
        "Wrong elements by lane",
        "lane",
        counted(32, wrong.lanes.iter().copied()),
    ));
    let width = wrong
        .bits
        .iter()
        .map(|(bit, _, _)| *bit as usize + 1)
        .max()
        .unwrap_or(0)
        .clamp(32, 64);
    let mut bits = vec![[0; 2]; width];
    for (bit, ones, zeros) in &wrong.bits {
        if let Some(counts) = bits.get_mut(*bit as usize) {
            *counts = [*ones, *zeros];
        }
    }
    pictures.push(Picture::Bits {
        caption: "Bits of D that differ (strong: 1 for 0, faint: 0 for 1)".to_owned(),
        counts: bits,
    });
    pictures
}

/// Counts by number.
fn counted(most: usize, counts: impl Iterator<Item = (usize, u64)>) -> Vec<u64> {
    let mut all = vec![0; most];
    for (at, count) in counts {
        if let Some(cell) = all.get_mut(at) {
            *cell += count;
        }
    }
    all
}
