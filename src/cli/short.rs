//! What help shows: with `-h` one screen, an example and the options that most people need; with `--help` everything
//! in groups, the rare ones last.

use std::ffi::OsString;

use clap::{Arg, Command};

use super::groups;
use super::man::examples;

/// The groups of options that stand last in `--help`. Those of the command itself stand first.
const LAST: [&str; 9] = [
    "Report",
    "Schedule",
    "Kernel, from what the library says",
    "Part of D",
    "Tenstorrent's kernels",
    "Operation",
    "Memory",
    "Attestation",
    "Global options",
];

/// What `-h` shows of a product.
const PRODUCT: &str = "arch dtype acc c transpose_b d_dtype schedule split_k kernel set ";

/// What `-h` shows of an operation between products.
const OPERATION: &str = "operation variant dtype arch eps causal group ";

/// What `-h` shows of a command whose options fill more than a screen.
const FEW: [(&str, &str); 23] = [
    ("check", "bias sample json html brief quiet"),
    ("replay", "bias file quiet"),
    ("explain", "at steps json html"),
    ("commit", "file block_rows"),
    (
        "audit open",
        "commitment challenge without file arch dtype c transpose_b schedule kernel",
    ),
    (
        "audit verify",
        "commitment commitment_sha256 beacon elements a b with arch dtype schedule c transpose_b",
    ),
    ("shard plan", "shards signer output"),
    (
        "identify",
        "dtype d_dtype kernel architectures schedules budget quick json c transpose_b",
    ),
    (
        "compare",
        "a2 b2 dtype d_dtype kernel1 kernel2 c bias transpose_b accept policy max_mismatches json html quiet",
    ),
    (
        "batch",
        "resume policy verbose brief quiet json junit markdown github html",
    ),
    (
        "kernels plan",
        "shape arch dtype d_dtype split_k tile_k reduction schedule json",
    ),
    (
        "kernels same",
        "shape arch dtype d_dtype split_k tile_k reduction json",
    ),
    ("shard merge", "audit seed output json html brief quiet"),
    (
        "screen make",
        "arch suite schedule kernel split_k output quiet",
    ),
    ("screen run", "device inject rounds host gpu output quiet"),
    (
        "screen judge",
        "suite json html prometheus junit route trust quiet",
    ),
    ("check --op", "sample json html brief quiet"),
    ("identify --op", "quiet"),
    ("explain --op", "at json"),
    ("replay --op", "file quiet"),
    ("commit --op", "file block_rows"),
    (
        "audit open --op",
        "operation variant dtype commitment challenge without file",
    ),
    (
        "audit verify --op",
        "operation variant commitment commitment_sha256 beacon elements own json",
    ),
];

/// Sentences of `-h` in place of longer ones.
const SAID: [(&str, &str); 25] = [
    ("a", "A, MxK"),
    ("b", "B, KxN"),
    ("d", "The captured D, MxN"),
    ("acc", "Format of sums: f32 (default), f16, bf16, f64, s32"),
    (
        "arch",
        "GPU or architecture: h100, sm_90, mi300x ...; auto searches",
    ),
    ("architectures", "Search only this GPU or architecture"),
    ("bias", "One number per column of D"),
    ("brief", "Print the verdict alone, in one line"),
    ("c", "C, of D's shape; without it C is +0"),
    (
        "commitment_sha256",
        "SHA-256 of the commitment as it was published",
    ),
    ("d_dtype", "Format of D: fp32, fp16, bf16, e4m3 ..."),
    (
        "dtype",
        "Format of A and B: fp16, bf16, tf32, e4m3, int8 ...",
    ),
    ("elements", "Agreed number of elements"),
    ("html", "Write a page for a browser"),
    ("inject", "Fault of the device, such as product:bit=13,k=3"),
    ("json", "Write the report as JSON; \"-\": standard output"),
    ("kernel", "Kernel's name, or the line of a cuBLASLt log"),
    ("policy", "Rules for cases of others: \"strict\", or a file"),
    ("quiet", "Print nothing; the exit code tells"),
    ("resume", "Keep verdicts here, and judge only what changed"),
    ("sample", "Compare N random elements; needs a --seed"),
    ("schedule", "Order of the sums, from 'tcverify schedules'"),
    ("schedules", "When to search schedules: auto, always, never"),
    ("split_k", "Number of slices of K"),
    ("with", "Arrays of the result that you have no copy of"),
];

/// A program whose help is short if the words ask for `-h`.
pub fn tailored(command: Command, words: &[OsString], suffix: &str) -> Command {
    let mut letters = words.iter().filter_map(|word| word.to_str());
    let short =
        letters.any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('h'));
    tailor(command, short, "", suffix, &[])
}

fn tailor(command: Command, short: bool, path: &str, suffix: &str, above: &[String]) -> Command {
    let mut helps = above.to_vec();
    helps.push(
        command
            .get_after_long_help()
            .map(ToString::to_string)
            .unwrap_or_default(),
    );
    let command = if short && !path.is_empty() {
        screen(command, path, suffix, &helps)
    } else {
        in_order(command, suffix)
    };
    let command = if short && path.is_empty() && command.find_subcommand("batch").is_some() {
        command.help_template(groups::short_template())
    } else {
        command
    };
    command.mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        tailor(below, short, path.trim_start(), suffix, &helps)
    })
}

/// Rare groups last; a command about operations begins with them.
fn in_order(command: Command, suffix: &str) -> Command {
    let mut arguments: Vec<Arg> = command.get_arguments().cloned().collect();
    arguments.sort_by_key(|argument| {
        let heading = argument.get_help_heading();
        let heading = heading.filter(|heading| suffix.is_empty() || *heading != "Operation");
        let place = LAST.iter().position(|last| heading == Some(last));
        place.map_or(0, |place| place + 1)
    });
    let mut arguments = arguments.into_iter();
    command.mut_args(|one| arguments.next().unwrap_or(one))
}

/// One screen.
fn screen(command: Command, path: &str, suffix: &str, helps: &[String]) -> Command {
    let path = format!("{path}{suffix}");
    let few = FEW
        .iter()
        .find(|(name, _)| *name == path)
        .map(|(_, few)| *few);
    let kind = match path.as_str() {
        _ if path.starts_with("audit") => "",
        _ if !suffix.is_empty() => OPERATION,
        "check" | "replay" | "explain" | "commit" | "shard plan" => PRODUCT,
        _ => "",
    };
    let listed: Vec<&str> = [kind, few.unwrap_or_default()]
        .into_iter()
        .flat_map(str::split_whitespace)
        .collect();
    let mut hidden = 0;
    let command = command.mut_args(|argument| {
        let place = listed.iter().position(|id| argument.get_id() == id);
        let is_shown = match few {
            Some(_) => argument.is_positional() || argument.is_required_set() || place.is_some(),
            None => !argument.is_global_set(),
        };
        if !is_shown {
            hidden += 1;
            return argument.hide_short_help(true);
        }
        if few.is_none() {
            return argument;
        }
        let is_named = |id: &str| match id {
            "a" | "b" | "d" => argument.is_positional(),
            "arch" | "dtype" => suffix.is_empty(),
            _ => true,
        };
        let mut said = SAID.iter().filter(|(id, _)| is_named(id));
        let said = said.find(|(id, _)| argument.get_id() == id);
        let argument = argument
            .hide_possible_values(true)
            .hide_default_value(true)
            .help_heading(None::<&str>)
            .display_order(place.unwrap_or(0));
        match said {
            Some((_, said)) => argument.help(*said),
            None => argument,
        }
    });
    let bare = path.trim_end_matches(suffix);
    let called = match suffix {
        "" => format!("tcverify {path}"),
        _ => format!("tcverify {bare} --op NAME"),
    };
    let example = first_example(&examples(&format!("tcverify {bare}"), helps));
    let rest = match few {
        Some(_) => format!("{hidden} more options and more examples: {called} --help"),
        None => format!("More: {called} --help"),
    };
    command.after_help(format!("Example:\n{example}\n\n{rest}"))
}

/// The first command, and what it is for.
fn first_example(lines: &[String]) -> String {
    let is_command = |line: &String| line.trim_start().starts_with("tcverify ");
    let Some(start) = lines.iter().position(is_command) else {
        return String::new();
    };
    let (before, command) = lines.split_at(start);
    let goes_on = command.iter().take_while(|line| line.ends_with('\\'));
    let command = command.iter().take(goes_on.count() + 1);
    let shown = before.first().into_iter().chain(command);
    let shown: Vec<_> = shown.map(|line| format!("  {line}")).collect();
    shown.join("\n")
}
