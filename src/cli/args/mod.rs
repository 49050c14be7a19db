//! Options that several commands share, and the fields of a request that they fill.

mod fields;
mod operation;
mod product;
mod set;

use std::path::Path;

use anyhow::Result;
use clap::Args;

pub use self::fields::{
    FormatArgs, KernelHints, LayoutArgs, ModelArgs, OperationJudgeArgs, ParameterArgs, RuleArgs,
};
pub use self::operation::{
    JudgedOperation, OperationArgs, OperationHint, WholeOperation, operation,
};
pub use self::product::{CheckArgs, OperandArgs, ProductArgs, ScheduleArgs, arithmetic};
pub use self::set::SetArgs;
use crate::check::{CheckError, Resources, option};
use crate::cli::show;
use crate::compose::{Examined, Request, describe};
use crate::engines::resources_of;
use crate::io::{Files, Outputs, Privacy, escaped_path};
use crate::memory::Limits;
use crate::policy::AdmissionPolicy;
use crate::role::Role;
use crate::sign::Signer;

/// What files may take.
#[derive(Args, Clone)]
#[command(next_help_heading = "Memory")]
pub struct MemoryArgs {
    /// Memory limit for operands: bytes, or with K, M, G or T (powers of 1024); by default three
    /// quarters of the machine's memory
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_memory: Option<u64>,

    /// Read every file into private memory that no other process can change, or reject it; by default
    /// files over 1 GiB are mapped
    #[arg(long)]
    private: bool,
}

impl MemoryArgs {
    /// The files of this run.
    pub fn files(&self) -> Files {
        self.files_under(None)
    }

    /// The files of this run, within a policy's limits.
    pub fn files_under(&self, policy: Option<&AdmissionPolicy>) -> Files {
        let privacy = if self.private {
            Privacy::Private
        } else {
            Privacy::Auto
        };
        let own = self.max_memory.unwrap_or(Limits::default().max_bytes);
        AdmissionPolicy::files(policy, privacy, own)
    }

    /// What the checks of this run share.
    pub fn resources(&self) -> Resources {
        resources_of(self.files())
    }

    /// A request with its files read.
    pub fn prepare(&self, request: &Request) -> Result<Box<dyn Examined>> {
        in_options_of(request, request.prepare(&self.resources()))
    }
}

/// `8G` as bytes.
pub fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(char, u32); 4] = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
    let upper = text.trim().to_ascii_uppercase();
    let short = upper.strip_suffix("IB").or(upper.strip_suffix('B'));
    let short = short.unwrap_or(&upper);
    let mut units = UNITS.iter();
    let unit = units.find_map(|(unit, shift)| Some((short.strip_suffix(*unit)?, *shift)));
    let (digits, shift) = unit.unwrap_or((short, 0));
    let bytes = digits.parse::<u64>().ok();
    let bytes = bytes.and_then(|n| n.checked_mul(1 << shift));
    bytes.ok_or_else(|| "write bytes, such as 8589934592, 512M or 8G".to_owned())
}

/// Reads the private key of whoever signs, which no output may overwrite.
pub fn signer(path: &Path, outputs: &mut Outputs) -> Result<Signer> {
    outputs.protect("the key", path);
    let signer = Signer::read(path)?;
    if let Some(warning) = Signer::exposure(path) {
        show::warning(&warning);
    }
    Ok(signer)
}

/// Refuses the name of another container for an output that is one `.npy` array.
pub fn is_npy(path: &Path) -> Result<()> {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let extension = extension.to_ascii_lowercase();
    anyhow::ensure!(
        !["npz", "safetensors"].contains(&extension.as_str()),
        "{}: the output is a .npy file, but its name ends in .{extension}; name it .npy",
        escaped_path(path)
    );
    Ok(())
}

/// The options that name what a command is about: a product or an operation.
pub trait RequestArgs: Args {
    /// The option that names what is written.
    const OUTPUT: &'static str = "output";

    fn request(&self) -> Result<Request>;
}

/// An error of a check or a search in terms of options.
pub fn in_options<T>(result: Result<T, CheckError>) -> Result<T> {
    result.map_err(|error| anyhow::Error::msg(describe(&error, option)))
}

/// An error in the words of a request's options: an operation's arrays are named, and have none.
pub fn in_options_of<T>(request: &Request, result: Result<T, CheckError>) -> Result<T> {
    match request {
        Request::Product(_) => in_options(result),
        Request::Operation(_) => in_operation_options(result),
    }
}

/// An error of an operation in terms of options and named arrays.
pub fn in_operation_options<T>(result: Result<T, CheckError>) -> Result<T> {
    let name = |field: &'static str| match field {
        "operation" => "--op".to_owned(),
        array if Role::of_field(array).is_some_and(|role| Role::OPERATION.contains(&role)) => {
            format!("{array}=FILE")
        }
        other => option(other),
    };
    result.map_err(|error| anyhow::Error::msg(describe(&error, name)))
}
