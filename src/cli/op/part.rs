//! Rows, samples, and what a sample is drawn by.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
#[command(next_help_heading = "Part of the result")]
pub struct PartArgs {
    /// Compare N random elements instead of all; the report says what that proves. Needs --seed-from and --beacon, or
    /// --seed. Rows that hold one of them are computed, the others are not
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub sample: Option<u64>,

    /// Seed of the draw. Choose it after the result has been handed over: who knows it before can spare the sample
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,

    /// Draw by this commitment (--commit) and --beacon: the seed is of the SHA-256 of both, so that nobody could choose
    /// it. Rule, arrays and result must be those of the commitment
    #[arg(long, value_name = "C.json")]
    pub seed_from: Option<PathBuf>,

    /// A public value that nobody could know when the commitment was published, such as the next round of drand
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub beacon: Option<String>,

    /// Only these rows, counted from 0, the end excluded: 128..256, 128.. or 7; of more than two axes, in every matrix of the
    /// last two
    #[arg(long, value_name = "ROWS")]
    pub rows: Option<String>,

    /// Write a commitment to rule, arrays and result, and compute nothing: to be published before a beacon's value is known
    #[arg(
        long,
        value_name = "C.json",
        conflicts_with_all = ["seed", "seed_from", "beacon", "at", "identify", "replay", "sweep", "sweep_against"]
    )]
    pub commit: Option<PathBuf>,
}

impl PartArgs {
    /// The option that asks for a part.
    pub fn asked(&self) -> Option<&'static str> {
        match (&self.rows, self.sample) {
            (Some(_), _) => Some("--rows"),
            (None, Some(_)) => Some("--sample"),
            (None, None) => None,
        }
    }
}
