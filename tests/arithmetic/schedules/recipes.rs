//! Random recipes: engines agree, and an element, a part and the whole are the same.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use tcverify::emu::schedule::{
    Addend, Combine, Epilogue, Kernel, Multiply, PartRounding, Partials, Passes, Per, Piece,
    Promote, Raster, Recipe, Residue, ScaledAt, Scaling, Split,
};
use tcverify::emu::{Arithmetic, Catalogue, Element, Engine, Platform, Replay};
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

/// Anything that the vocabulary has; most of it makes sense.
fn recipe(unit: &Unit, random: &mut Random) -> Recipe {
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
    let rounding = |random: &mut Random| random.pick(&[PartRounding::Rz, PartRounding::Rna]);
    let piece = |random: &mut Random| random.pick(&[Piece::Big, Piece::Small]);
    let passes = (wide && random.once_in(2)).then(|| Passes {
        every: [span, tile][random.below(2)],
        big: rounding(random),
        small: rounding(random),
        products: (0..1 + random.below(4))
            .map(|_| [piece(random), piece(random)])
            .collect(),
    });
    let slices = Some(1 + random.below(6));
    let split = match random.below(6) {
        1 => Split::Serial { slices },
        2 => Split::Workspace {
            slices,
            partials: random.pick(&[Partials::F32, Partials::Result]),
        },
        3 => Split::Sliced {
            warps: 1 + random.below(4),
            stripe: span,
        },
        4 => Split::Chunks {
            starts: vec![0, tile, tile * (2 + random.below(3))],
        },
        5 => Split::Stream {
            workers: Some(1 + random.below(9)),
            tile: [1 + random.below(6), 1 + random.below(40)],
            raster: random.pick(&[Raster::AlongRows, Raster::AlongColumns]),
        },
        _ => Split::None {},
    };
    let every = passes.as_ref().map_or(span, |passes| passes.every) * (1 + random.below(3));
    let promote = random.once_in(2).then(|| Promote {
        every,
        first: random
            .once_in(3)
            .then(|| passes.as_ref().map_or(span, |passes| passes.every)),
    });
    let (rows, columns) = (1 + random.below(3), 1 + random.below(5));
    let scales = random.once_in(2).then(|| Scaling {
        per: random.pick(&[
            Per::Tensor,
            Per::Row,
            Per::Block {
                rows,
                columns,
                k: every,
            },
        ]),
        at: random.pick(&[ScaledAt::Promotion, ScaledAt::Epilogue]),
        multiply: random.pick(&[
            Multiply::Joint,
            Multiply::JointFma,
            Multiply::AThenB,
            Multiply::BThenA,
            Multiply::AThenBFma,
        ]),
    });
    let epilogue = integers || random.once_in(2);
    Recipe {
        tile_k: Some(tile),
        residue: random.pick(&[Residue::First, Residue::FirstAligned, Residue::Last]),
        order,
        passes,
        split: if integers { Split::None {} } else { split },
        promote: promote.filter(|_| !integers),
        scales,
        addend: if epilogue {
            Addend::Epilogue
        } else {
            Addend::Start
        },
        epilogue: Epilogue {
            combine: random.pick(&[Combine::Fma, Combine::Separate]),
        },
        ..Recipe::plain()
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
    let recipe = recipe(unit, &mut random);
    if recipe.check().is_err() {
        return false;
    }
    let late = recipe.addend == Addend::Epilogue;
    let serial = matches!(recipe.split, Split::Serial { .. });
    let addend = unit.arithmetic.addend();
    let wish = Wish {
        c: random.once_in(2).then(|| match late {
            true => random.pick(&[Fp32, Fp16, Bf16]),
            false => addend,
        }),
        bias: !serial && random.once_in(3),
        per: recipe.scales.as_ref().map(|scaling| scaling.per),
        alpha: random.pick(&[ONE, 0x3f2a_aaab, 0xc000_0000]),
        beta: random.pick(&[ONE, 0, 0xbe99_999a]),
        result: random.pick(&[Fp32, Fp32, Fp16, Bf16, E4m3, E5m2]),
        ..Wish::plain(random.pick(&SHAPES), random.pick(&KINDS))
    };
    let product = Product::draw(unit, wish, &mut random);
    let Shape { m, n, .. } = wish.shape;
    let batches = wish.shape.batch.unwrap_or(1);
    product.with(unit, &recipe, |problem, values| {
        let checked = Kernel::check(&recipe, values, &unit.arithmetic, problem, wish.result);
        checked.unwrap_or_else(|e| panic!("{case}: {e}: {recipe:?}"));
        let replay = |engine| Replay {
            problem: *problem,
            arithmetic: &unit.arithmetic,
            convert_to: Some(wish.result),
            engine,
            kernel: Some(Kernel::new(&recipe, values, problem)),
        };
        let whole = codes(&replay(Engine::Exact).collect(&|_| {}));
        for platform in Platform::available() {
            let fast = codes(&replay(Engine::Fast(platform)).collect(&|_| {}));
            assert!(
                fast == whole,
                "{case}, {}: {recipe:?}, {wish:?}",
                platform.name()
            );
        }
        let fast = Platform::available()
            .pop()
            .map_or(Engine::Exact, Engine::Fast);
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
                    assert_eq!(found, wanted, "{case}: {element:?}, {recipe:?}, {wish:?}");
                }
            }
            let batch = random.below(batches);
            let (top, left) = (random.below(m), random.below(n));
            let rows = top..top + 1 + random.below(m - top);
            let columns = left..left + 1 + random.below(n - left);
            let part = replay(engine).part(batch, rows.clone(), columns.clone(), &|_| {});
            let row = |row: usize| &whole[(batch * m + row) * n..][columns.clone()];
            let wanted: Vec<u64> = rows.flat_map(row).copied().collect();
            assert!(part == wanted, "{case}: a part, {recipe:?}, {wish:?}");
        }
    });
    true
}

#[test]
fn engines_parts_and_elements_agree() {
    let units = units();
    assert!(units.len() > 40, "{}", units.len());
    let compared = AtomicUsize::new(0);
    units.par_iter().for_each(|unit| {
        let agreed = (0..DRAWS).filter(|&draw| agree(unit, draw)).count();
        assert!(agreed > 0, "no recipe drawn is one: {}", unit.name);
        compared.fetch_add(agreed, Ordering::Relaxed);
    });
    let compared = compared.into_inner();
    assert!(compared > units.len() * DRAWS / 3, "{compared} recipes");
}

/// Recipes drawn for each arithmetic.
const DRAWS: usize = 16;
