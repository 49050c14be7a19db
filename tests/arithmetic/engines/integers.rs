//! Products of small integers, which every order of sums and every engine gives exactly: what is wrong then is where
//! something is, not how it is rounded.

use serde_json::{Value, json};
use tcverify::emu::schedule::{BoundSchedule, ScheduleSpec, Values};
use tcverify::emu::{Arithmetic, Catalogue, Element, Engine, Problem, Replay};
use tcverify::kernels::Platform;
use tcverify::num::{Format, Rounding, round_code};
use tcverify::tensor::Tensor;

/// A schedule of these fields, and what every schedule states.
pub fn spec(fields: &Value) -> ScheduleSpec {
    let mut whole = json!({
        "residue": "last", "addend": "start", "epilogue": {"combine": "fma"}, "nan": "7fffffff"
    });
    let fields = fields.as_object().expect("fields").clone();
    whole.as_object_mut().expect("fields").extend(fields);
    let spec: ScheduleSpec = serde_json::from_value(whole).expect("a spec");
    spec.validate().expect("what a kernel can follow");
    spec
}

/// Operands whose elements all differ from their neighbours, and the arithmetic.
pub struct Integers {
    shape: [usize; 4],
    pub arithmetic: Arithmetic,
    a: Tensor,
    b: Tensor,
    pub c: Tensor,
}

fn a(batch: usize, row: usize, k: usize) -> i64 {
    ((batch * 5 + row * 3 + k * 2 + row * k) % 7) as i64 - 3
}

fn b(batch: usize, k: usize, column: usize) -> i64 {
    ((batch * 3 + column * 5 + k * 4 + column * k) % 9) as i64 - 4
}

fn c(row: usize, column: usize) -> i64 {
    ((row * 7 + column * 3) % 11) as i64 - 5
}

fn coded(format: Format, x: i64) -> u64 {
    let int32 = u64::from(x as i32 as u32);
    round_code(Format::Int32, int32, format, Rounding::NearestEven, 0)
}

impl Integers {
    pub fn new(architecture: &str, format: Format, [batch, m, n, k]: [usize; 4]) -> Integers {
        let found = Catalogue::builtin()
            .find(architecture)
            .expect("of the catalogue");
        let choice = found
            .select(None, [format; 2], None)
            .expect("of the catalogue");
        let tensor =
            |format, rows: usize, columns: usize, number: &dyn Fn(usize, usize, usize) -> i64| {
                let at = |i: usize| number(i / columns / rows, i / columns % rows, i % columns);
                let codes = (0..batch * rows * columns).map(|i| coded(format, at(i)));
                Tensor::from_codes(
                    format,
                    vec![batch, rows, columns],
                    &codes.collect::<Vec<_>>(),
                )
            };
        let accumulator = choice.arithmetic.accumulator;
        Integers {
            shape: [batch, m, n, k],
            a: tensor(format, m, k, &a),
            b: tensor(format, k, n, &b),
            c: tensor(accumulator, m, n, &|_, row, column| c(row, column)),
            arithmetic: choice.arithmetic.clone(),
        }
    }

    /// Every element of D in `format`, times what `scale` says of its row and column.
    fn expected(
        &self,
        format: Format,
        with_c: bool,
        scale: impl Fn(usize, usize) -> i64,
    ) -> Vec<u64> {
        let [batch, m, n, k] = self.shape;
        let number = |i: usize| {
            let (at, row, column) = (i / n / m, i / n % m, i % n);
            let sum: i64 = (0..k).map(|k| a(at, row, k) * b(at, k, column)).sum();
            scale(row, column) * (sum + if with_c { c(row, column) } else { 0 })
        };
        (0..batch * m * n)
            .map(|i| coded(format, number(i)))
            .collect()
    }

    /// All of D, rows of it, rectangles and elements: each what is expected there.
    fn check(
        &self,
        spec: Option<&Value>,
        scales: Option<&[Tensor; 2]>,
        with_c: bool,
        expected: &[u64],
    ) {
        let [batch, m, n, _] = self.shape;
        let c = with_c.then(|| self.c.planes());
        let problem = Problem::new(self.a.planes(), self.b.planes(), c).expect("shapes that fit");
        let spec = spec.map(self::spec);
        let mut values = Values::default();
        if let (Some([a, b]), Some(spec)) = (scales, &spec) {
            let per = spec.scales.as_ref().expect("scales").per;
            let scales = [a.planes(), b.planes()];
            values = values
                .with_scales(per, scales, &problem)
                .expect("scales that fit");
        }
        let kernel = spec
            .as_ref()
            .map(|spec| BoundSchedule::new(spec, &values, &problem));
        let engines = Platform::available().into_iter().map(Platform::engine);
        for engine in engines.chain([Engine::Exact]) {
            let replay = Replay {
                problem,
                arithmetic: &self.arithmetic,
                convert_to: None,
                engine,
                kernel,
            };
            let all = replay.collect(&|_| {});
            let at = |i: usize| all.planes().plane(i / n / m).code(i / n % m, i % n);
            let found: Vec<u64> = (0..expected.len()).map(at).collect();
            assert_eq!(found, expected, "{engine:?} {spec:?}");

            // From the middle of a matrix into the next one.
            let rows = m / 2..batch * m;
            let mut found = Vec::new();
            let done = replay.rows(rows.clone(), &|_| {}, |band| {
                assert_eq!(band.first_row * n, rows.start * n + found.len() / 4);
                found.extend_from_slice(band.payload);
                Ok::<(), std::convert::Infallible>(())
            });
            let Ok(()) = done;
            let found: Vec<u64> = found
                .chunks(4)
                .map(|code| u32::from_le_bytes(code.try_into().unwrap()).into())
                .collect();
            assert_eq!(found, expected[rows.start * n..], "{engine:?} {spec:?}");

            // As many rows as there is room for, wherever that ends.
            for count in [1, 2, batch * m - 1] {
                let mut codes = vec![0; count * n];
                replay.fill(1, &mut codes, &|_| {});
                assert_eq!(codes, expected[n..(1 + count) * n], "{engine:?} {spec:?}");
            }

            let (rows, columns) = (1..m, n / 2 - 1..n - 1);
            let last = batch - 1;
            let wanted = |row: usize, column: usize| expected[(last * m + row) * n + column];
            let rectangle = rows
                .clone()
                .flat_map(|row| columns.clone().map(move |column| (row, column)));
            let rectangle: Vec<_> = rectangle.map(|(row, column)| wanted(row, column)).collect();
            let found = replay.part(last, rows, columns, &|_| {});
            assert_eq!(found, rectangle, "{engine:?} {spec:?}");

            // In no order, some twice: a few, and enough to be brought together.
            for count in [3, 40] {
                let drawn = |i: usize| Element {
                    batch: (i * 7 + 1) % batch,
                    row: (i * 5 + 2) % m,
                    column: (i * 11 + 3) % n,
                };
                let drawn: Vec<_> = (0..count).map(drawn).collect();
                let code = |at: &Element| expected[(at.batch * m + at.row) * n + at.column];
                let wanted: Vec<_> = drawn.iter().map(code).collect();
                assert_eq!(replay.elements(&drawn), wanted, "{engine:?} {spec:?}");
            }
        }
    }
}

#[test]
fn a_bare_chain() {
    let product = Integers::new("a100", Format::Fp16, [2, 5, 40, 19]);
    for with_c in [false, true] {
        let expected = product.expected(Format::Fp32, with_c, |_, _| 1);
        product.check(None, None, with_c, &expected);
    }
}

/// Tiles of D that are computed differently, narrower than the rectangles; groups of them that workers share.
#[test]
fn tiles_of_d() {
    let product = Integers::new("a100", Format::Fp16, [2, 7, 12, 37]);
    let expected = product.expected(Format::Fp32, false, |_, _| 1);
    for (raster, workers) in [("along_rows", 5), ("along_columns", 7)] {
        let split = json!({
            "parts": {"kind": "tiles", "tile": [2, 3], "raster": raster, "groups": [
                {"tiles": 3, "parts": {"kind": "whole"}},
                {"tiles": 2, "parts": {"kind": "slices", "count": 3, "length": "ceil", "empty": "zero"}},
                {"tiles": null, "parts": {"kind": "shared", "workers": workers}},
            ]},
            "merge": {"kind": "sum", "order": "serial", "start": "first"},
        });
        product.check(
            Some(&json!({"tile_k": 8, "split": split})),
            None,
            false,
            &expected,
        );
    }
}

/// C is in D once, wherever K is split.
#[test]
fn the_first_part_has_c() {
    let product = Integers::new("a100", Format::Fp16, [1, 4, 9, 35]);
    let expected = product.expected(Format::Fp32, true, |_, _| 1);
    let slices = json!({"kind": "slices", "count": 3, "length": "ceil", "empty": "zero"});
    let serial = json!({"kind": "sum", "order": "serial", "start": "zero"});
    // All of K is in the last of more parts than there are tiles.
    let last =
        json!({"kind": "slices", "count": 16, "grain": 8, "length": "floor", "empty": "zero"});
    let spec = json!({"split": {"parts": last, "merge": serial}});
    product.check(Some(&spec), None, true, &expected);
    for (addend, merge) in [
        ("start", json!({"kind": "in_place"})),
        ("epilogue", json!({"kind": "in_place"})),
        ("start", serial.clone()),
        ("epilogue", serial),
        (
            "start",
            json!({"kind": "sum", "order": "pairwise", "start": "first"}),
        ),
        (
            "epilogue",
            json!({"kind": "sum", "order": "adjacent", "start": "first"}),
        ),
    ] {
        let spec =
            json!({"tile_k": 8, "addend": addend, "split": {"parts": slices, "merge": merge}});
        product.check(Some(&spec), None, true, &expected);
    }
}

/// Whatever is added first: every part counts once, also where several are added by a kernel, and where some have no k.
#[test]
#[ignore = "long"]
fn orders_of_sums() {
    let product = Integers::new("a100", Format::Fp16, [1, 4, 9, 70]);
    let folds = json!({"folds": [{"how": "stride", "to": 4}, {"how": "halve", "to": 1}]});
    let turns = json!({"kind": "interleaved", "count": 8, "grain": 8, "empty": "zero"});
    let slices = |count: usize| json!({"kind": "slices", "count": count, "grain": 8, "length": "ceil", "empty": "zero"});
    for order in [
        json!("serial"),
        json!("reverse"),
        json!("pairwise"),
        json!("adjacent"),
        json!("butterfly"),
        folds,
    ] {
        let merge = json!({"kind": "sum", "order": order, "start": "first"});
        for parts in [slices(8), slices(16), turns.clone()] {
            let level = json!({"parts": parts, "merge": merge});
            for spec in [
                json!({"split": level}),
                json!({"inner": [level]}),
                json!({"split": level, "tile_k": 16, "order": [0, 2, 1, 3]}),
            ] {
                for with_c in [false, true] {
                    let expected = product.expected(Format::Fp32, with_c, |_, _| 1);
                    product.check(Some(&spec), None, with_c, &expected);
                }
            }
        }
    }
}

/// Each row has its scale, also where rows far apart are brought together, and each column; once.
#[test]
fn scales_of_rows_and_columns() {
    let [m, n] = [6, 11];
    let product = Integers::new("h100", Format::E4m3, [1, m, n, 48]);
    let (of_row, of_column) = (
        |row: usize| 1 << (row % 4),
        |column: usize| 1 << (column % 3),
    );
    let tensor = |shape: [usize; 2], scale: &dyn Fn(usize) -> i64| {
        let codes = (0..shape[0] * shape[1]).map(|i| coded(Format::Fp32, scale(i)));
        Tensor::from_codes(Format::Fp32, shape.to_vec(), &codes.collect::<Vec<_>>())
    };
    let scales = [tensor([m, 1], &of_row), tensor([1, n], &of_column)];
    let expected = product.expected(Format::Fp32, false, |row, column| {
        of_row(row) * of_column(column)
    });
    let blocks = json!({
        "parts": {"kind": "blocks", "length": 16},
        "merge": {"kind": "sum", "order": "serial", "start": "zero"},
    });
    let narrow = json!({
        "parts": {"kind": "blocks", "length": 8},
        "merge": {"kind": "sum", "order": "serial", "start": "zero"},
    });
    let halves = json!({
        "parts": {"kind": "slices", "count": 2, "grain": 8, "length": "ceil", "empty": "zero"},
        "merge": {"kind": "sum", "order": "serial", "start": "first"},
    });
    for (at, inner) in [
        ("epilogue", json!([])),
        ("epilogue", json!([blocks])),
        ("promotion", json!([blocks])),
        // Sums of threads, each of which promotes.
        ("promotion", json!([halves, blocks])),
        // Accumulators of several threads, promoted together; and such as are promoted twice, scaled the second time.
        ("promotion", json!([blocks, halves])),
        ("promotion", json!([blocks, narrow])),
    ] {
        for multiply in ["joint", "a_then_b", "b_then_a"] {
            let scaling = json!({"per": "row", "at": at, "multiply": multiply});
            let spec = json!({"scales": scaling, "inner": inner});
            product.check(Some(&spec), Some(&scales), false, &expected);
        }
    }
}
