//! Options that say how a kernel chains the instruction, shared by every command that replays.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};

use super::args::any_float;
use super::command_line::{quoted, quoted_path};
use crate::emu::schedule::{
    Addend, Empty, Grain, Kernel, Level, Merge, Order, Partials, Parts, Residue, Schedule,
    ScheduleSpec, SliceLength, Start, Values,
};
use crate::emu::{Arithmetic, Problem};
use crate::num::Format;

/// Which kernel.
#[derive(Args, Clone)]
#[command(next_help_heading = "Schedule")]
pub struct ScheduleArgs {
    /// How the kernel chains the instruction over K: plain (default), cutlass-sm80, cublas-workspace,
    /// deepgemm-sm90 ...; 'tcverify schedules' describes them
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,

    /// A schedule of your own, in the schema of the built-in ones
    #[arg(long, value_name = "FILE.json", conflicts_with = "schedule")]
    schedule_file: Option<PathBuf>,

    /// k of a tile of the main loop
    #[arg(long, value_name = "K")]
    tile_k: Option<usize>,

    /// Which tile is the partial one where K is no multiple of it
    #[arg(long, value_name = "WHERE")]
    residue: Option<ResidueName>,

    /// Slices (or warps) that K is divided into
    #[arg(long, value_name = "N")]
    split_k: Option<usize>,

    /// How K is divided and slices come together, where the schedule does not divide it
    #[arg(long, value_name = "HOW", requires = "split_k")]
    split: Option<SplitName>,

    /// What slices are multiples of, where those are not whole tiles
    #[arg(long, value_name = "K")]
    grain: Option<usize>,

    /// In which order the sums of slices are added
    #[arg(long, value_name = "ORDER")]
    sum_order: Option<OrderName>,

    /// Products of an instruction, where those are fewer than the unit adds in one step
    #[arg(long, value_name = "K")]
    instruction_k: Option<usize>,

    /// What a workspace keeps partial sums in: f32, or D's format
    #[arg(long, value_name = "FORMAT")]
    partials: Option<PartialsName>,

    /// Workers (SMs) that share the tiles of a stream-K kernel
    #[arg(long, value_name = "N")]
    workers: Option<usize>,

    /// Add the accumulator to one in f32 every K products, or "never"
    #[arg(long, value_name = "K")]
    promote: Option<String>,

    /// The sum is multiplied with this in f32; a decimal number, inf, nan, or an f32 code such as 0x3f800000
    #[arg(long, value_name = "X", allow_hyphen_values = true, value_parser = parse_f32)]
    alpha: Option<F32>,

    /// C is multiplied with this and added to the finished sum, instead of starting the chain (default
    /// 1 where the schedule has an epilogue)
    #[arg(long, value_name = "X", allow_hyphen_values = true, requires = "c", value_parser = parse_f32)]
    beta: Option<F32>,

    /// FP8 results are multiplied with this in f32 before they are rounded, if the schedule's kernel does so
    #[arg(long, value_name = "X", allow_hyphen_values = true, value_parser = parse_f32)]
    scale_result: Option<F32>,

    /// One number for every column of D, added in f32 before the result is rounded
    #[arg(long, value_name = "BIAS.npy")]
    pub bias: Option<PathBuf>,

    /// Format of the bias, where its file cannot say it
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_float(), requires = "bias")]
    pub bias_dtype: Option<Format>,
}

/// The code of an f32, and the text it was given as.
#[derive(Clone, Debug, PartialEq, Eq)]
struct F32 {
    code: u32,
    text: String,
}

fn parse_f32(text: &str) -> Result<F32, String> {
    let code = match text.strip_prefix("0x") {
        Some(digits) if digits.len() == 8 => u32::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => text.parse().ok().map(f32::to_bits),
    };
    // A decimal number that is no f32 is a slip; an infinity has to be called one.
    let meant = |code: u32| {
        f32::from_bits(code).is_finite()
            || !text.contains(|c: char| c.is_ascii_digit())
            || text.starts_with("0x")
    };
    let code = code.filter(|&code| meant(code));
    let code = code.ok_or(
        "write a decimal number that an f32 can hold, inf, nan, or an f32 as 0x and 8 digits",
    )?;
    Ok(F32 {
        code,
        text: text.to_owned(),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ResidueName {
    First,
    FirstAligned,
    Last,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SplitName {
    /// Every slice is added to D as it is stored
    Serial,
    /// Partial sums are kept and added up at the end, from +0
    Workspace,
    /// Slices take tiles in turn; their sums are added up, from the first
    Interleaved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OrderName {
    Serial,
    Reverse,
    Pairwise,
    Adjacent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PartialsName {
    F32,
    Result,
}

/// A schedule with what the command line changes of it.
#[derive(Clone, Debug)]
pub struct Chosen {
    pub schedule: Schedule,
    /// Constants that options gave, and the options.
    pub given: BTreeMap<String, String>,
    alpha: Option<u32>,
    beta: Option<u32>,
    scale_result: Option<u32>,
}

impl ScheduleArgs {
    /// The schedule, as the options change it.
    pub fn choose(&self) -> Result<Chosen> {
        let schedule = match (&self.schedule, &self.schedule_file) {
            (Some(name), _) => Schedule::preset(name)?.clone(),
            (None, Some(path)) => read(path)?,
            (None, None) => Schedule::preset("plain")?.clone(),
        };
        let mut chosen = Chosen {
            schedule,
            given: BTreeMap::new(),
            alpha: self.alpha.as_ref().map(|alpha| alpha.code),
            beta: self.beta.as_ref().map(|beta| beta.code),
            scale_result: self.scale_result.as_ref().map(|scale| scale.code),
        };
        let name = chosen.schedule.name.clone();
        let Chosen {
            schedule, given, ..
        } = &mut chosen;
        let spec = &mut schedule.spec;
        let mut note = |constant: &str, option: String| given.insert(constant.into(), option);
        if let Some(tile) = self.tile_k {
            spec.tile_k = Some(tile);
            note("tile_k", format!("--tile-k {tile}"));
        }
        if let Some(residue) = self.residue {
            ensure!(
                spec.tile_k.is_some(),
                "--residue says which tile is the partial one, but schedule {name} has no tiles; say --tile-k"
            );
            spec.residue = match residue {
                ResidueName::First => Residue::First,
                ResidueName::FirstAligned => Residue::FirstAligned,
                ResidueName::Last => Residue::Last,
            };
            note("residue", format!("--residue {}", name_of(residue)));
        }
        if let Some(of) = self.instruction_k {
            spec.instruction_k = Some(of);
            note("instruction_k", format!("--instruction-k {of}"));
        }
        if let Some(kind) = self.split {
            spec.split = Some(kind.level());
            note("split", format!("--split {}", name_of(kind)));
        }
        if let Some(count) = self.split_k {
            let parts = spec.split.iter_mut().chain(&mut spec.inner);
            let mut counts = parts.filter_map(|level| match &mut level.parts {
                Parts::Slices { count, .. } | Parts::Interleaved { count, .. } => Some(count),
                _ => None,
            });
            let Some(open) = counts.next() else {
                bail!(
                    "--split-k {count}: schedule {name} does not split K into slices; say how with --split"
                );
            };
            *open = Some(count);
            let constant = match spec.split {
                Some(_) => "split.parts.count",
                None => "inner",
            };
            note(constant, format!("--split-k {count}"));
        }
        if let Some(k) = self.grain {
            let parts = spec.split.as_mut().map(|split| &mut split.parts);
            let Some(Parts::Slices { grain, .. } | Parts::Interleaved { grain, .. }) = parts else {
                bail!(
                    "--grain: schedule {name} does not split K into slices; say how with --split"
                );
            };
            *grain = Some(Grain::K(k));
            note("split.parts.grain", format!("--grain {k}"));
        }
        let mut merge = spec.split.as_mut().map(|split| &mut split.merge);
        if let Some(kept) = self.partials {
            let Some(Merge::Sum { partials, .. }) = &mut merge else {
                bail!("--partials: schedule {name} keeps no partial sums in a workspace");
            };
            *partials = match kept {
                PartialsName::F32 => Partials::F32,
                PartialsName::Result => Partials::Result,
            };
            note(
                "split.merge.partials",
                format!("--partials {}", name_of(kept)),
            );
        }
        if let Some(wanted) = self.sum_order {
            let Some(Merge::Sum { order, .. }) = &mut merge else {
                bail!("--sum-order: schedule {name} keeps no partial sums");
            };
            *order = match wanted {
                OrderName::Serial => Order::Serial,
                OrderName::Reverse => Order::Reverse,
                OrderName::Pairwise => Order::Pairwise,
                OrderName::Adjacent => Order::Adjacent,
            };
            note(
                "split.merge.order",
                format!("--sum-order {}", name_of(wanted)),
            );
        }
        if let Some(count) = self.workers {
            let Some(workers) = spec.workers() else {
                bail!("--workers: schedule {name} is not stream-K");
            };
            *workers = Some(count);
            note("split.parts.groups", format!("--workers {count}"));
        }
        if let Some(text) = &self.promote {
            let every = match text.as_str() {
                "never" => None,
                _ => Some(text.parse().with_context(|| {
                    format!("--promote {text:?}: write a number of k, or never")
                })?),
            };
            spec.set_promotion(every);
            note("inner", format!("--promote {text}"));
        }
        if spec.addend == Addend::Start && (self.alpha.is_some() || self.beta.is_some()) {
            // Only an epilogue has such factors.
            spec.addend = Addend::Epilogue;
            let option = if self.beta.is_some() {
                "--beta"
            } else {
                "--alpha"
            };
            note("addend", option.into());
        }
        spec.validate()
            .map_err(anyhow::Error::msg)
            .with_context(|| format!("schedule {name} with the options given"))?;
        if self.bias.is_some() && spec.is_in_place() {
            bail!("--bias with a serial split: nobody has published in which slice it is added");
        }
        Ok(chosen)
    }

    /// The options that choose this schedule.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut option = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                words.extend([name.to_owned(), value]);
            }
        };
        option("--schedule", self.schedule.as_deref().map(quoted));
        option(
            "--schedule-file",
            self.schedule_file.as_deref().map(quoted_path),
        );
        option("--tile-k", self.tile_k.map(|n| n.to_string()));
        option("--residue", self.residue.map(name_of));
        option("--split", self.split.map(name_of));
        option("--split-k", self.split_k.map(|n| n.to_string()));
        option("--partials", self.partials.map(name_of));
        option("--workers", self.workers.map(|n| n.to_string()));
        option("--grain", self.grain.map(|n| n.to_string()));
        option("--sum-order", self.sum_order.map(name_of));
        option("--instruction-k", self.instruction_k.map(|n| n.to_string()));
        option("--promote", self.promote.as_deref().map(quoted));
        option("--alpha", self.alpha.as_ref().map(|x| x.text.clone()));
        option("--beta", self.beta.as_ref().map(|x| x.text.clone()));
        option(
            "--scale-result",
            self.scale_result.as_ref().map(|x| x.text.clone()),
        );
        option("--bias", self.bias.as_deref().map(quoted_path));
        option(
            "--bias-dtype",
            self.bias_dtype.map(|format| format.to_string()),
        );
        words
    }
}

impl SplitName {
    /// Slices of whole tiles, however many.
    fn level(self) -> Level {
        let slices = Parts::Slices {
            count: None,
            grain: None,
            length: SliceLength::Ceil,
            empty: Empty::Zero,
        };
        let (parts, merge) = match self {
            SplitName::Serial => (slices, Merge::InPlace {}),
            SplitName::Workspace => (slices, Merge::serial(Start::Zero)),
            SplitName::Interleaved => {
                let parts = Parts::Interleaved {
                    count: None,
                    grain: None,
                    empty: Empty::Zero,
                };
                (parts, Merge::serial(Start::First))
            }
        };
        Level { parts, merge }
    }
}

fn name_of(value: impl ValueEnum) -> String {
    let value = value.to_possible_value().expect("none is skipped");
    value.get_name().to_owned()
}

impl Chosen {
    pub fn spec(&self) -> &ScheduleSpec {
        &self.schedule.spec
    }

    /// Whether scales belong to the kernel, not to the instruction.
    pub fn takes_scales(&self) -> bool {
        self.spec().scales.is_some()
    }

    /// Whether C is the epilogue's, and may have a format of its own.
    pub fn addend_is_late(&self) -> bool {
        self.spec().addend == Addend::Epilogue
    }

    /// Whether anything but a chain over K is asked for.
    pub fn is_plain(&self) -> bool {
        self.spec().is_plain()
            && self.alpha.is_none()
            && self.beta.is_none()
            && self.scale_result.is_none()
    }

    /// Alpha and beta; the rest comes from files.
    pub fn factors(&self) -> Values {
        let mut values = Values::default();
        values.alpha = self.alpha.unwrap_or(values.alpha);
        values.beta = self.beta.unwrap_or(values.beta);
        values.scale_result = self.scale_result;
        values
    }

    /// What stands between the instruction and D.
    ///
    /// # Errors
    /// If the schedule cannot be one of this product.
    pub fn kernel<'a>(
        &'a self,
        values: &'a Values,
        arithmetic: &Arithmetic,
        problem: &Problem,
        result: Format,
    ) -> Result<Option<Kernel<'a>>> {
        if self.is_plain() && !values.has_bias() {
            return Ok(None);
        }
        Kernel::check(self.spec(), values, arithmetic, problem, result)
            .map_err(anyhow::Error::msg)
            .with_context(|| format!("schedule {}", self.schedule.name))?;
        Ok(Some(Kernel::new(self.spec(), values, problem)))
    }
}

/// Reads a schedule file.
///
/// # Errors
/// A sentence naming the file and what is wrong with it.
pub fn read(path: &Path) -> Result<Schedule> {
    /// Larger than any schedule.
    const LARGEST: u64 = 16 << 20;
    let name = || path.display().to_string();
    let length = fs::metadata(path).with_context(name)?.len();
    ensure!(
        length <= LARGEST,
        "{}: has {length} bytes; no schedule file is that large",
        name()
    );
    let text = fs::read_to_string(path).with_context(name)?;
    Schedule::from_json(&text)
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("{}: is not a usable schedule file", name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_numbers_or_codes() {
        for (text, code) in [
            ("1", 0x3f80_0000),
            ("-0.5", 0xbf00_0000),
            ("0x80000000", 0x8000_0000),
            ("0.1", 0x3dcc_cccd),
            ("inf", 0x7f80_0000),
            ("-inf", 0xff80_0000),
            ("0x7f800000", 0x7f80_0000),
            ("0xffc00001", 0xffc0_0001),
        ] {
            assert_eq!(parse_f32(text).unwrap().code, code);
        }
        for wrong in ["", "x", "0x1", "0x1ffffffff", "1e99", "-1e39"] {
            assert!(parse_f32(wrong).is_err(), "{wrong:?}");
        }
    }
}
