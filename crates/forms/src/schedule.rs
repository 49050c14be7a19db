//! A schedule in one line for people.

use tcverify_emu::schedule::{
    AddendAt, BiasAdded, Combine, Cut, Function, Grain, GrainByK, Group, Merge, Multiply,
    NanBecomes, Order, Partials, Parts, Per, Raster, Residue, ScaledAt, ScheduleSpec, SliceLength,
    Start, TermFormat, WithoutC, ZeroPoint,
};

/// What there are words for.
pub trait InWords {
    /// One line, without a full stop.
    fn in_words(&self) -> String;
}

impl InWords for ScheduleSpec {
    fn in_words(&self) -> String {
        let mut parts = Vec::new();
        parts.push(match (&self.split, self.fixed_point) {
            (None, Some(fixed)) => format!(
                "FP64 operands as {} slices of 8 bits on a grid per row and column; exact sums of INT8 products by \
                 diagonals, the least significant first",
                number(fixed.slices)
            ),
            (None, None) => "one chain over K".to_owned(),
            (Some(split), _) => format!("{}, {}", split.parts.in_words(), split.merge.in_words()),
        });
        if let Some(tile) = self.tile_k {
            parts.push(match self.residue {
                Residue::Last => format!("tiles of {tile}, a partial one last"),
                Residue::First => format!("tiles of {tile}, a partial one first"),
                Residue::FirstAligned => {
                    format!("tiles of {tile}, a partial one first and padded in front")
                }
            });
        }
        if let Some(of) = self.instruction_k {
            parts.push(format!("instructions of {of} k"));
        }
        if let Some(order) = &self.order {
            let shown: Vec<_> = order.iter().take(8).map(usize::to_string).collect();
            parts.push(format!(
                "every {} k in the order {}, ...",
                order.len(),
                shown.join(" ")
            ));
        }
        if let Some(terms) = &self.split_terms {
            let format = match terms.format {
                TermFormat::Tf32 => "",
                TermFormat::Bf16 => "BF16 ",
            };
            let scaled = match terms.scale {
                0 => String::new(),
                scale => format!(" scaled by 2^{scale}, and the accumulator back"),
            };
            let nan = match terms.nan_before_last {
                None => "",
                Some(NanBecomes::Zero) => ", NaN of all but the last is 0",
            };
            parts.push(format!(
                "{} products of {format}terms{scaled} for every {} k{nan}",
                terms.products.len(),
                terms.every
            ));
        }
        for level in &self.inner {
            parts.push(match (&level.parts, &level.merge) {
                (
                    Parts::Blocks { length, first },
                    Merge::Sum {
                        order: Order::Serial,
                        start,
                        ..
                    },
                ) => {
                    let first =
                        first.map_or(String::new(), |first| format!(" (first after {first})"));
                    let from = match start {
                        Start::Zero => "",
                        Start::First => " that starts from the first",
                    };
                    format!("added to an f32 accumulator{from} every {length} k{first}")
                }
                (parts, merge) => {
                    format!("inside a part {}, {}", parts.in_words(), merge.in_words())
                }
            });
        }
        if let Some(of) = self.zero_point {
            parts.push(match of {
                ZeroPoint::PerTensor => "minus an integer per column".into(),
                ZeroPoint::PerRow => "minus an integer per row times one per column".into(),
            });
        }
        parts.extend(scales(self));
        parts.extend(epilogue(self));
        parts.join("; ")
    }
}

fn scales(spec: &ScheduleSpec) -> Option<String> {
    let scales = spec.scales.as_ref()?;
    let per = match scales.per {
        Per::Tensor => "per tensor".to_owned(),
        Per::Row => "per row and column".to_owned(),
        Per::RowOrTensor => "per row and column, or one for all of D".to_owned(),
        Per::Block { rows, columns, k } => {
            format!("per {rows}x{k} of A and {k}x{columns} of B")
        }
    };
    let how = match scales.multiply {
        Multiply::Joint => "sum * (sA*sB)",
        Multiply::JointFma => "fma(sum, sA*sB, main)",
        Multiply::AThenB => "(sum*sA) * sB",
        Multiply::BThenA => "(sum*sB) * sA",
        Multiply::AThenBFma => "fma(sum*sA, sB, main)",
        Multiply::Alpha => return Some(format!("scales {per}: alpha is sA*sB")),
        Multiply::BAlone => "sum * sB",
    };
    let at = match scales.at {
        ScaledAt::Promotion => "when promoted",
        ScaledAt::Parts => "of each part",
        ScaledAt::Epilogue => "at the end",
        ScaledAt::Result => "rounded to D's format, and again after it",
    };
    Some(format!("scales {per}: {how} {at}"))
}

fn epilogue(spec: &ScheduleSpec) -> Vec<String> {
    let mut parts = Vec::new();
    if spec.addend == AddendAt::Epilogue {
        parts.push(match (spec.epilogue.combine, spec.epilogue.without_c) {
            (Combine::Fma, WithoutC::Multiply) => "epilogue fma(alpha, sum, beta*C)".into(),
            (Combine::Fma, WithoutC::AddZero) => {
                "epilogue fma(alpha, sum, beta*C), +0 without C".into()
            }
            (Combine::Separate, _) => "epilogue alpha*sum + beta*C".into(),
        });
    }
    match spec.epilogue.bias {
        BiasAdded::Add => {}
        BiasAdded::Fused => parts.push("the bias in one fma with the last scale".into()),
        BiasAdded::FusedOrZero => {
            parts.push("the bias, or +0, in one fma with the last scale".into());
        }
        BiasAdded::AfterRounding => {
            parts.push("the bias added to what is rounded to D's format".into());
        }
    }
    parts.extend(spec.epilogue.function.map(|function| {
        match function {
            Function::Relu => "relu (NaN gives +0)",
            Function::ReluNan => "relu",
            Function::Gelu => "gelu",
            Function::Silu => "silu",
        }
        .to_owned()
    }));
    if spec.epilogue.result_scale.is_some() {
        parts.push("FP8 results multiplied by their scale".into());
    }
    parts
}

impl InWords for Parts {
    fn in_words(&self) -> String {
        match self {
            Parts::Whole {} => "one chain over K".into(),
            Parts::Slices {
                count,
                grain,
                length,
                ..
            } => {
                let length = match length {
                    SliceLength::Ceil => "",
                    SliceLength::Floor => ", the last one longer",
                    SliceLength::Balanced => ", the first ones longer",
                    SliceLength::CeilOfFloor => ", which may stop short of the end of K",
                };
                format!(
                    "{} slices of K{}{length}",
                    number(*count),
                    in_grains(*grain)
                )
            }
            Parts::Interleaved { count, grain, .. } => {
                let grain = match grain {
                    None => "tiles".to_owned(),
                    Some(Grain::K(1)) => "every k".to_owned(),
                    Some(Grain::K(k)) => format!("stripes of {k} k"),
                    Some(Grain::ByK(GrainByK { wide, narrow })) => {
                        format!("stripes of {wide} or {narrow} k")
                    }
                };
                format!("{} parts take {grain} round-robin", number(*count))
            }
            Parts::Blocks { length, .. } => format!("blocks of {length} k"),
            Parts::Leaves { length, cut } => match cut {
                Cut::Halves => format!("halves of halves of K, to leaves of {length} k at most"),
                Cut::Blocks => format!("leaves of {length} k"),
                Cut::BlocksThenHalves => format!("blocks of {length} k, the last two alike"),
            },
            Parts::Ranges { parts } => format!("{} parts of K as listed", parts.len()),
            Parts::Shared { workers, grain } => {
                let grain = match grain {
                    None => String::new(),
                    Some(1) => " in equal stripes".to_owned(),
                    Some(grain) => format!(" in equal stripes of multiples of {grain}"),
                };
                format!("{} workers share tiles{grain}", number(*workers))
            }
            Parts::Tiles {
                tile: [rows, columns],
                raster,
                groups,
            } => {
                let along = match raster {
                    Raster::AlongRows => "rows",
                    Raster::AlongColumns => "columns",
                };
                let group = |Group { tiles, parts }: &Group| match tiles {
                    Some(tiles) => format!("{tiles}: {}", parts.in_words()),
                    None => parts.in_words(),
                };
                let groups: Vec<_> = groups.iter().map(group).collect();
                format!(
                    "tiles of D of {rows}x{columns} along {along}: {}",
                    groups.join("; the next ")
                )
            }
        }
    }
}

impl InWords for Merge {
    fn in_words(&self) -> String {
        let Merge::Sum {
            order,
            start,
            partials,
            sums,
        } = self
        else {
            return "each added to D as it is stored".into();
        };
        let kept = match partials {
            Partials::F32 => "",
            Partials::Result => "kept in D's format, ",
            Partials::Fp16 => "kept in FP16, ",
            Partials::Bf16 => "kept in BF16, ",
        };
        let from = match start {
            Start::First => "",
            Start::Zero => " from 0",
        };
        let order = match order {
            Order::Serial => "",
            Order::Reverse => ", last first",
            Order::Pairwise => " in pairs",
            Order::Adjacent => ", neighbours first",
            Order::Halved => " as a tree of halves",
            Order::RunsThenAdjacent => " in runs, then neighbours",
            Order::Butterfly => " by a butterfly",
            Order::Folds(_) => " in folds",
            Order::Listed(_) => " as listed",
        };
        let rounded = match sums {
            Partials::F32 => "",
            Partials::Result => ", every sum rounded to D's format",
            Partials::Fp16 => ", every sum rounded to FP16",
            Partials::Bf16 => ", every sum rounded to BF16",
        };
        format!("{kept}added in f32{from}{order}{rounded}")
    }
}

fn in_grains(grain: Option<Grain>) -> String {
    match grain {
        None => String::new(),
        Some(Grain::K(k)) => format!(" in grains of {k}"),
        Some(Grain::ByK(GrainByK { wide, narrow })) => format!(" in grains of {wide} or {narrow}"),
    }
}

/// A number that may be open.
fn number(count: Option<usize>) -> String {
    count.map_or("?".into(), |count| count.to_string())
}
