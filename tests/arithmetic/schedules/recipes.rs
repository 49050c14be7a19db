//! Random specs: engines agree, and an element, a part and the whole are the same.

use std::sync::atomic::{self, AtomicUsize};

use rayon::prelude::*;
use tcverify::emu::schedule::{
    AddendAt, BiasAdded, BoundSchedule, Combine, Empty, Epilogue, Fold, FoldKind, Function, Grain,
    GrainByK, Group, Level, Merge, Multiply, Order, Partials, Parts, Per, Raster, Residue,
    ResultScale, ScaledAt, Scaling, ScheduleSpec, SliceLength, SplitTerms, Start, Term, TermFormat,
    TermRounding, WithoutC,
};
use tcverify::emu::{Arithmetic, Catalogue, Element, Engine, Replay};
use tcverify::kernels::Platform;
use tcverify::num::Format::{Bf16, E4m3, E5m2, Fp16, Fp32, Int32, Tf32, Xf32};

use super::operands::KINDS;
use super::product::{ONE, Product, Shape, Unit, Wish, shape};
use crate::support::case::codes;
use crate::support::random::Random;

/// Every arithmetic that schedules are known for.
fn units() -> Vec<Unit> {
    let mut units = Vec::new();
    for architecture in Catalogue::builtin().architectures() {
        for instruction in &architecture.instructions {
            for rule in &instruction.rules {
                for &operands in &rule.operands {
                    let arithmetic = Arithmetic::of(rule, operands);
                    let drawn = |format| {
                        let known = [Fp16, Bf16, Tf32, Xf32, Fp32, E4m3, E5m2];
                        known.contains(&format)
                            || format.to_string().ends_with("int8")
                            || format.to_string().ends_with("fnuz")
                    };
                    if matches!(rule.accumulator, Fp32 | Int32)
                        && rule.addend.is_none()
                        && rule.scale.is_none()
                        && operands.into_iter().all(drawn)
                    {
                        let name = format!("{} {}", architecture.name, instruction.name);
                        units.push(Unit { name, arithmetic });
                    }
                }
            }
        }
    }
    units
}

/// Slices or interleaved parts, for a unit that takes so many products in a step.
fn counted(span: usize, inner: bool, random: &mut Random) -> Parts {
    let count = Some(1 + random.below(6));
    let empty = random.pick(&[Empty::Skipped, Empty::Zero]);
    let grains = [
        None,
        Some(Grain::K(span)),
        Some(Grain::K(3 * span)),
        Some(Grain::ByK(GrainByK {
            wide: 4 * span,
            narrow: span,
        })),
    ];
    let mut grain = random.pick(&grains);
    if random.once_in(2) {
        return Parts::Interleaved {
            count,
            grain,
            empty,
        };
    }
    let lengths = [
        SliceLength::Ceil,
        SliceLength::Floor,
        SliceLength::Balanced,
        SliceLength::CeilOfFloor,
    ];
    let length = lengths[random.below(if inner { 3 } else { 4 })];
    if !inner && random.once_in(4) {
        grain = Some(Grain::K(1 + random.below(20)));
    }
    Parts::Slices {
        count,
        grain,
        length,
        empty,
    }
}

fn merge(inner: bool, random: &mut Random) -> Merge {
    if !inner && random.once_in(5) {
        return Merge::InPlace {};
    }
    let fold = |how, to| Fold { how, to };
    let orders = [
        Order::Serial,
        Order::Serial,
        Order::Reverse,
        Order::Pairwise,
        Order::Adjacent,
        Order::Halved,
        Order::RunsThenAdjacent,
        Order::Butterfly,
        Order::Folds(vec![
            fold(FoldKind::Stride, 4),
            fold(FoldKind::Halve, 2),
            fold(FoldKind::Stride, 1),
        ]),
    ];
    let order = orders[random.below(orders.len())].clone();
    let one_by_one = matches!(order, Order::Serial | Order::Reverse);
    Merge::Sum {
        order,
        start: if one_by_one {
            random.pick(&[Start::First, Start::Zero])
        } else {
            Start::First
        },
        partials: if inner {
            Partials::F32
        } else {
            random.pick(&[Partials::F32, Partials::Result])
        },
        sums: if inner {
            Partials::F32
        } else {
            random.pick(&[Partials::F32, Partials::F32, Partials::Bf16, Partials::Fp16])
        },
    }
}

fn split(span: usize, tile: usize, random: &mut Random) -> Option<Level> {
    let parts = match random.below(6) {
        0 | 1 => counted(span, false, random),
        2 => Parts::Ranges {
            // Out of order, with a gap; only of a K that is long enough.
            parts: vec![
                vec![[tile, 60.max(tile + 1)]],
                vec![[0, tile.min(30)], [61, 65]],
            ],
        },
        3 => Parts::Tiles {
            tile: [1 + random.below(6), 1 + random.below(40)],
            raster: random.pick(&[Raster::AlongRows, Raster::AlongColumns]),
            groups: {
                let shared = Parts::Shared {
                    workers: Some(1 + random.below(9)),
                    grain: None,
                };
                let mut groups = vec![Group {
                    tiles: None,
                    parts: shared,
                }];
                if random.once_in(2) {
                    let parts = if random.once_in(2) {
                        Parts::Whole {}
                    } else {
                        counted(span, false, random)
                    };
                    let tiles = Some(random.below(5));
                    groups.insert(0, Group { tiles, parts });
                }
                groups
            },
        },
        _ => return None,
    };
    let merge = merge(false, random);
    Some(Level { parts, merge })
}

fn inner(span: usize, terms: Option<&SplitTerms>, random: &mut Random) -> Vec<Level> {
    let mut levels = Vec::new();
    let step = terms.map_or(span, |terms| terms.every);
    if random.once_in(3) {
        let merge = merge(true, random);
        let parts = counted(step, true, random);
        levels.push(Level { parts, merge });
    }
    if random.once_in(2) {
        let length = step * (1 + random.below(3));
        let first = random.once_in(3).then_some(step);
        let parts = Parts::Blocks { length, first };
        let start = random.pick(&[Start::Zero, Start::Zero, Start::First]);
        let merge = Merge::serial(start);
        levels.push(Level { parts, merge });
    }
    levels
}

/// Anything that the vocabulary has; most of it makes sense.
fn spec(unit: &Unit, random: &mut Random) -> ScheduleSpec {
    let span = unit.arithmetic.step.span();
    let integers = unit.arithmetic.accumulator == Int32;
    let tile = span * random.pick(&[1, 2, 4]) * random.pick(&[1, 3]);
    let wide = matches!(unit.arithmetic.a, Tf32 | Xf32) && unit.arithmetic.a == unit.arithmetic.b;
    let order = random.once_in(3).then(|| {
        let length = [tile, span][random.below(2)];
        let mut order: Vec<usize> = (0..length).collect();
        (1..length).for_each(|i| order.swap(i, random.below(i + 1)));
        order
    });
    let rounding = |random: &mut Random| random.pick(&[TermRounding::Rz, TermRounding::Rna]);
    let term = |random: &mut Random| random.pick(&[Term::Hi, Term::Lo]);
    let split_terms = (wide && random.once_in(2)).then(|| SplitTerms {
        every: [span, tile][random.below(2)],
        format: TermFormat::Tf32,
        mid: None,
        scale: 0,
        nan_before_last: None,
        hi: rounding(random),
        lo: rounding(random),
        products: (0..1 + random.below(4))
            .map(|_| [term(random), term(random)])
            .collect(),
    });
    let inner = if integers {
        Vec::new()
    } else {
        inner(span, split_terms.as_ref(), random)
    };
    let promoted = inner.iter().find_map(|level| match &level.parts {
        Parts::Blocks { length, .. } => Some(*length),
        _ => None,
    });
    let (rows, columns) = (1 + random.below(3), 1 + random.below(5));
    let scales = random.once_in(3).then(|| Scaling {
        per: random.pick(&[
            Per::Tensor,
            Per::Row,
            Per::Block {
                rows,
                columns,
                k: promoted.unwrap_or(span),
            },
        ]),
        at: random.pick(&[ScaledAt::Promotion, ScaledAt::Epilogue]),
        multiply: random.pick(&[
            Multiply::Joint,
            Multiply::JointFma,
            Multiply::AThenB,
            Multiply::BThenA,
            Multiply::AThenBFma,
            Multiply::Alpha,
        ]),
    });
    let epilogue = integers || random.once_in(2);
    ScheduleSpec {
        tile_k: Some(tile),
        residue: random.pick(&[Residue::First, Residue::FirstAligned, Residue::Last]),
        instruction_k: match random.below(4) {
            0 if span.is_multiple_of(2) => Some(span / 2),
            1 => Some(span),
            _ => None,
        },
        order,
        split_terms,
        fixed_point: None,
        split: if integers {
            None
        } else {
            split(span, tile, random)
        },
        inner,
        scales,
        addend: if epilogue {
            AddendAt::Epilogue
        } else {
            AddendAt::Start
        },
        epilogue: Epilogue {
            combine: random.pick(&[Combine::Fma, Combine::Separate]),
            without_c: random.pick(&[WithoutC::Multiply, WithoutC::AddZero]),
            bias: random.pick(&[BiasAdded::Add, BiasAdded::Add, BiasAdded::Fused]),
            function: random.pick(&[None, None, Some(Function::Relu), Some(Function::ReluNan)]),
            result_scale: random.once_in(2).then_some(ResultScale::Fp8),
        },
        ..ScheduleSpec::plain()
    }
}

const SHAPES: [Shape; 7] = [
    shape(3, 5, 1),
    shape(1, 37, 65),
    shape(9, 1, 70),
    shape(6, 33, 97),
    shape(17, 40, 130),
    Shape {
        batch: Some(2),
        m: 5,
        n: 36,
        k: 61,
    },
    Shape {
        batch: Some(3),
        m: 2,
        n: 3,
        k: 200,
    },
];

fn agree(unit: &Unit, draw: usize) -> bool {
    let case = format!("{} {} {draw}", unit.name, unit.arithmetic.a);
    let mut random = Random::named(&case);
    let spec = spec(unit, &mut random);
    if spec.validate().is_err() {
        return false;
    }
    let late = spec.addend == AddendAt::Epilogue;
    let addend = unit.arithmetic.addend();
    let wish = Wish {
        c: random.once_in(2).then(|| {
            if late {
                random.pick(&[Fp32, Fp16, Bf16])
            } else {
                addend
            }
        }),
        bias: !spec.is_in_place() && random.once_in(3),
        per: spec.scales.as_ref().map(|scaling| scaling.per),
        alpha: random.pick(&[ONE, 0x3f2a_aaab, 0xc000_0000]),
        beta: random.pick(&[ONE, 0, 0xbe99_999a]),
        result: random.pick(&[Fp32, Fp32, Fp16, Bf16, E4m3, E5m2]),
        scale_result: (spec.epilogue.result_scale.is_some() && random.once_in(2))
            .then_some(0x3f99_999a),
        ..Wish::plain(random.pick(&SHAPES), random.pick(&KINDS))
    };
    let product = Product::draw(unit, wish, &mut random);
    let Shape { m, n, .. } = wish.shape;
    let batches = wish.shape.batch.unwrap_or(1);
    product.with(unit, &spec, |problem, values| {
        let checked = BoundSchedule::check(&spec, values, &unit.arithmetic, problem, wish.result);
        match checked {
            Err(reason) if FORESEEN.iter().any(|words| reason.contains(words)) => return false,
            checked => checked.unwrap_or_else(|e| panic!("{case}: {e}: {spec:?}")),
        }
        let replay = |engine| Replay {
            problem: *problem,
            arithmetic: &unit.arithmetic,
            convert_to: Some(wish.result),
            engine,
            kernel: Some(BoundSchedule::new(&spec, values, problem)),
        };
        let whole = codes(&replay(Engine::Exact).collect(&|_| {}));
        for platform in Platform::available() {
            let fast = codes(&replay(platform.engine()).collect(&|_| {}));
            assert!(
                fast == whole,
                "{case}, {}: {spec:?}, {wish:?}",
                platform.name()
            );
        }
        let fast = Platform::available()
            .pop()
            .map_or(Engine::Exact, Platform::engine);
        for engine in [Engine::Exact, fast] {
            // Few are computed one by one, many together.
            for count in [2, 25] {
                let mut at = Vec::new();
                for _ in 0..count {
                    at.push(Element {
                        batch: random.below(batches),
                        row: random.below(m),
                        column: random.below(n),
                    });
                }
                let found = replay(engine).elements(&at);
                for (element, found) in at.iter().zip(found) {
                    let &Element { batch, row, column } = element;
                    let wanted = whole[(batch * m + row) * n + column];
                    assert_eq!(found, wanted, "{case}: {element:?}, {spec:?}, {wish:?}");
                }
            }
            let batch = random.below(batches);
            let (top, left) = (random.below(m), random.below(n));
            let rows = top..top + 1 + random.below(m - top);
            let columns = left..left + 1 + random.below(n - left);
            let part = replay(engine).part(batch, rows.clone(), columns.clone(), &|_| {});
            let row = |row: usize| &whole[(batch * m + row) * n..][columns.clone()];
            let wanted: Vec<u64> = rows.flat_map(row).copied().collect();
            assert!(part == wanted, "{case}: a part, {spec:?}, {wish:?}");
        }
        true
    })
}

/// What a spec that is drawn may have against a product that is.
const FORESEEN: [&str; 4] = [
    "goes up to k",
    "fewer than the",
    "alpha is the product of the scales",
    "the bias is fused with the last scale",
];

#[test]
#[ignore = "long"]
fn engines_parts_and_elements_agree() {
    let units = units();
    assert!(units.len() > 40, "{}", units.len());
    let compared = AtomicUsize::new(0);
    units.par_iter().for_each(|unit| {
        let agreed = (0..DRAWS).filter(|&draw| agree(unit, draw)).count();
        assert!(agreed > 0, "no spec drawn is one: {}", unit.name);
        compared.fetch_add(agreed, atomic::Ordering::Relaxed);
    });
    let compared = compared.into_inner();
    assert!(compared > units.len() * DRAWS / 5, "{compared} specs");
}

/// Recipes drawn for each arithmetic.
const DRAWS: usize = 24;
