//! What the one renderer of commands writes, the command line reads back as the same check; and so do
//! documents.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::args::CheckArgs;
use crate::check::{
    Check, Claim, Draw, EngineChoice, KernelAnswers, KernelRequest, KernelSaid, ModelSource,
    Naming, ScheduleRequest, ScheduleSource, Scope, Seed, Source, Span, Tf32Input, TtnnRequest,
    Verb, command_line, shell_line,
};
use crate::emu::schedule::{
    ActivationChoice, OrderChoice, Overrides, PartialsChoice, PromoteChoice, ResidueChoice,
    SplitChoice,
};
use crate::emu::step::Reload;
use crate::generate::Spec;
use crate::kernel::{Accumulation, Partition, Scheme};
use crate::num::{F32, Format};
use crate::report::Policy;
use crate::role::Role;
use crate::words::Word;

#[derive(Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    check: CheckArgs,
}

fn word<T: Word + std::fmt::Debug>() -> impl Strategy<Value = T> {
    select(T::ALL).prop_map(|(value, _, _)| value)
}

/// Names that shells, options and containers have plans for.
fn path() -> impl Strategy<Value = PathBuf> {
    let part = select(vec![
        "a.npy",
        "x.npz#q",
        "w.safetensors#layer.0",
        "it's",
        "two words",
        "$HOME",
        "a=b",
        "ü",
        "#",
        "*",
        "\\",
        "..",
        "-n",
        "\"",
        "a\tb",
        "--arch",
    ]);
    (vec(part, 1..4), any::<bool>()).prop_map(|(parts, absolute)| {
        let path: PathBuf = parts.iter().collect();
        match absolute {
            true => PathBuf::from("/tmp").join(path),
            false => PathBuf::from("in").join(path),
        }
    })
}

fn source() -> impl Strategy<Value = Source> {
    let spec = (any::<u64>(), word(), vec(1usize..9, 2..4));
    prop_oneof![
        path().prop_map(Source::File),
        spec.prop_map(|(seed, class, shape)| Source::Generated(Spec { seed, class, shape })),
    ]
}

fn factor() -> impl Strategy<Value = F32> {
    prop_oneof![
        any::<u32>().prop_map(F32),
        select(vec![0, 1 << 31, 0x7f80_0000, 0xff80_0000, 1]).prop_map(F32),
    ]
}

fn span() -> impl Strategy<Value = Span> {
    (0usize..50, of(0usize..50)).prop_map(|(start, end)| Span { start, end })
}

fn overrides() -> impl Strategy<Value = Overrides> {
    let promote = prop_oneof![
        Just(PromoteChoice::Never),
        (1usize..999).prop_map(PromoteChoice::Every)
    ];
    let numbers = [0; 5].map(|_| of(1usize..999));
    let words = (
        of(word::<ResidueChoice>()),
        of(word::<SplitChoice>()),
        of(word::<PartialsChoice>()),
        of(word::<OrderChoice>()),
        of(word::<ActivationChoice>()),
    );
    let factors = [0; 3].map(|_| of(factor()));
    (numbers, words, of(promote), factors).prop_map(|(numbers, words, promote, factors)| {
        let [tile_k, instruction_k, split_k, grain, workers] = numbers;
        let (residue, split, partials, sum_order, activation) = words;
        let [alpha, beta, scale_result] = factors;
        Overrides {
            tile_k,
            residue,
            instruction_k,
            split_k,
            // Of nothing that is split.
            split: split.filter(|_| split_k.is_some()),
            grain,
            partials,
            sum_order,
            workers,
            promote,
            alpha,
            beta,
            scale_result,
            activation,
        }
    })
}

fn schedule() -> impl Strategy<Value = ScheduleRequest> {
    let from = prop_oneof![
        Just(ScheduleSource::Plain),
        select(vec!["plain", "cutlass-sm80", "no such"])
            .prop_map(|name| ScheduleSource::Preset(name.into())),
        path().prop_map(ScheduleSource::File),
        (kernel_said(), kernel_answers())
            .prop_map(|(said, answers)| KernelRequest { said, answers })
            .prop_map(|kernel| ScheduleSource::Kernel(Box::new(kernel))),
    ];
    (from, overrides()).prop_map(|(from, overrides)| {
        let overrides = match from {
            ScheduleSource::Kernel(_) => Overrides {
                // What is left open; a change would be another kernel.
                tile_k: overrides.tile_k,
                instruction_k: overrides.instruction_k,
                split_k: overrides.split_k,
                alpha: overrides.alpha,
                beta: overrides.beta,
                scale_result: overrides.scale_result,
                ..Overrides::default()
            },
            _ => overrides,
        };
        ScheduleRequest { from, overrides }
    })
}

/// Words that a shell and an option have plans for; whether they are a kernel's nobody has asked yet.
fn kernel_said() -> impl Strategy<Value = KernelSaid> {
    let text = select(vec![
        "algo=66,stages=35",
        "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT",
        "[Trace] A=0X1 Adesc=[type=R_16BF rows=4 cols=6] 'x'",
        "-dash",
        "--arch",
        "{\"algo\": 66}",
        "",
    ]);
    prop_oneof![
        text.prop_map(|text| KernelSaid::Text(text.into())),
        path().prop_map(KernelSaid::Log),
        (path(), of(any::<u64>()))
            .prop_map(|(file, workspace)| KernelSaid::Table { file, workspace }),
    ]
}

fn kernel_answers() -> impl Strategy<Value = KernelAnswers> {
    let partitions = [
        Partition::Universal,
        Partition::SerialTiles,
        Partition::ParallelTiles,
    ];
    (
        of(select(Scheme::ALL.to_vec())),
        of(select(partitions.to_vec())),
        of(word::<Accumulation>()),
        of(any::<u32>()),
        of(1u32..200),
        of(0usize..9),
        any::<bool>(),
    )
        .prop_map(
            |(
                reduction,
                partition,
                accumulation,
                custom,
                multiprocessors,
                rotation,
                whole_tail,
            )| {
                KernelAnswers {
                    reduction,
                    partition,
                    custom,
                    accumulation,
                    multiprocessors,
                    rotation,
                    whole_tail,
                }
            },
        )
}

fn check() -> impl Strategy<Value = Check> {
    use Format::*;
    let operands = (
        source(),
        source(),
        of(source()),
        of([source(), source()]),
        of(source()),
    );
    let flags = any::<[bool; 8]>();
    let formats = (
        select(vec![Fp16, Bf16, Tf32, E4m3, E2m1, Fp64, Int8]),
        of(select(vec![Fp16, E5m2])),
        of(select(vec![Fp32, Fp16, Fp64, Int32])),
        of(select(vec![Fp32, Bf16])),
        of(select(vec![Ue8m0, Ue4m3])),
        of(select(vec![Fp32, Fp16, Bf16, E4m3, E5m2, Fp64, Int32])),
        of(select(vec![Fp32, Bf16])),
    );
    let ttnn = (
        of("[A-Z(][ -~]{1,9}"),
        of((1usize..9, any::<bool>())),
        of(word::<Reload>()),
    );
    let model = (
        of(path()),
        of(select(vec!["mma", "wgmma"])),
        of(1usize..99),
        ttnn,
    );
    let claim = (path(), any::<bool>(), "[0-9a-f]{64}");
    let scope = (
        span(),
        span(),
        of((1u64..99, any::<u64>(), of((path(), "[!-~]{1,9}")))),
        0..4u8,
        of(1u64..99),
    );
    let more = (
        of(path()),
        word::<Tf32Input>(),
        word::<EngineChoice>(),
        0usize..30,
    );
    (
        operands,
        flags,
        formats,
        model,
        schedule(),
        claim,
        scope,
        more,
    )
        .prop_map(
            |(operands, flags, formats, model, schedule, claim, scope, more)| {
                let (a, b, c, scales, bias) = operands;
                let (dtype, dtype_b, acc, c_dtype, scale_dtype, d_dtype, bias_dtype) = formats;
                let (file, instruction, scale_block, (text, blocks, reload)) = model;
                let (d, by_digest, digest) = claim;
                let (rows, columns, draw, part, block_rows) = scope;
                let (against, tf32_input, engine, max_mismatches) = more;
                let [
                    transpose_a,
                    transpose_b,
                    any_nan,
                    any_zero,
                    causes,
                    tree,
                    discrimination,
                    ..,
                ] = flags;
                let mut check = Check::new("h100", dtype, [a, b, Source::File(d)]);
                let whole = by_digest || tree;
                check.claim = match by_digest {
                    true => Claim::PayloadSha256(digest),
                    false => check.claim,
                };
                check.operands.bias_dtype = bias_dtype.filter(|_| bias.is_some());
                let [scale_a, scale_b] = scales.map_or([None, None], |two| two.map(Some));
                for (role, source) in [
                    (Role::ScaleA, scale_a),
                    (Role::ScaleB, scale_b),
                    (Role::Bias, bias),
                ] {
                    check
                        .operands
                        .arrays
                        .extend(source.map(|source| (role, source)));
                }
                (check.operands.transpose_a, check.operands.transpose_b) =
                    (transpose_a, transpose_b);
                check.operands.tf32_input = tf32_input;
                if let Some(file) = file {
                    check.model.from = ModelSource::File(file);
                }
                check.model.dtype_b = dtype_b;
                check.model.instruction = instruction.map(str::to_owned);
                check.model.acc = acc;
                check.model.c_dtype = c_dtype;
                check.model.scale_dtype = scale_dtype;
                check.model.scale_block = scale_block;
                check.model.ttnn = TtnnRequest {
                    text,
                    in0_block_w: blocks.map(|(width, _)| width),
                    packer_l1_acc: blocks.is_some_and(|(_, l1)| l1),
                    reload,
                };
                check.schedule = schedule;
                // Of a C that is there.
                check.schedule.overrides.beta =
                    check.schedule.overrides.beta.filter(|_| c.is_some());
                check.operands.arrays.extend(c.map(|c| (Role::C, c)));
                check.d_dtype = d_dtype;
                check.policy = Policy {
                    any_nan: any_nan && !by_digest,
                    any_zero: any_zero && !by_digest,
                };
                if !whole {
                    check.scope = Scope {
                        rows: if part & 1 == 1 { rows } else { Span::ALL },
                        columns: if part & 2 == 2 { columns } else { Span::ALL },
                        sample: draw.map(|(elements, seed, beacon)| Draw {
                            elements,
                            seed: match beacon {
                                None => Seed::Number(seed),
                                Some((commitment, beacon)) => Seed::Beacon { commitment, beacon },
                            },
                        }),
                    };
                }
                check.naming = match tree && !by_digest {
                    true => Naming::Tree { block_rows },
                    false => Naming::Payload,
                };
                check.against = against.filter(|_| !by_digest && check.seed_from().is_none());
                (check.engine, check.max_mismatches) = (engine, max_mismatches);
                (check.causes, check.discrimination) = (causes, discrimination);
                check
            },
        )
}

fn parsed(words: &[OsString]) -> Check {
    assert_eq!(words[..2], ["tcverify", "check"]);
    let line = Line::try_parse_from(&words[2..]).unwrap_or_else(|e| panic!("{words:?}: {e}"));
    line.check
        .check()
        .unwrap_or_else(|e| panic!("{words:?}: {e}"))
}

proptest! {
    #[test]
    fn a_command_is_its_check(check in check()) {
        let words = command_line(Verb::Check, &check);
        prop_assert_eq!(parsed(&words), check.clone());
        // And as a person pastes it.
        let typed = shlex::split(&shell_line(&words)).expect("a shell takes it");
        let typed: Vec<OsString> = typed.into_iter().map(Into::into).collect();
        prop_assert_eq!(typed, words);
    }

    /// What a command has no option for is left out.
    #[test]
    fn other_commands_take_their_part_of_a_check(check in check()) {
        for verb in [Verb::Check, Verb::Explain, Verb::Replay, Verb::Commit] {
            let words = command_line(verb, &check);
            let command = super::Cli::command();
            let command = command.find_subcommand(words[1].to_str().expect("a name")).expect("a command").clone();
            let error = command.no_binary_name(true).try_get_matches_from(&words[2..]).err();
            let unknown = error.filter(|error| error.kind() == ErrorKind::UnknownArgument);
            prop_assert!(unknown.is_none(), "{words:?}: {unknown:?}");
        }
    }

    #[test]
    fn a_document_is_its_check(check in check()) {
        let text = serde_json::to_string(&check).expect("paths of UTF-8");
        prop_assert_eq!(serde_json::from_str::<Check>(&text).expect("what was written"), check);
    }
}

/// Bytes that are not UTF-8 pass through a command, and through no document.
#[cfg(unix)]
#[test]
fn a_path_is_bytes() {
    use std::os::unix::ffi::OsStringExt;
    let path = PathBuf::from(OsString::from_vec(b"a\xff.npy".to_vec()));
    let file = || Source::File(path.clone());
    let check = Check::new("h100", Format::Fp16, [file(), file(), file()]);
    assert_eq!(parsed(&command_line(Verb::Check, &check)), check);
    let error = serde_json::to_string(&check).unwrap_err().to_string();
    assert!(error.contains("UTF-8"), "{error}");
}

#[test]
fn a_path_is_no_option() {
    let files = ["-a.npy", "--nan", "-"].map(Source::from);
    let words = command_line(Verb::Check, &Check::new("h100", Format::Fp16, files));
    assert_eq!(words[words.len() - 3..], ["./-a.npy", "./--nan", "-"]);
}
