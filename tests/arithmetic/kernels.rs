//! Vector kernels of kinds of step that are not fused dot-adds: the bits of the exact engine where
//! their preconditions end, a wrong constant noticed, and a NaN that costs nothing.

use rayon::prelude::*;
use serde_json::{Value, json};
use tcverify::emu::{Arithmetic, Catalogue, Engine, Problem, Replay};
use tcverify::kernels::{self, Platform};
use tcverify::num::{Format, convert_exact};
use tcverify::tensor::Tensor;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // SplitMix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A number with an exponent between these, or the format's nearest.
    fn number(&mut self, format: Format, low: i32, high: i32) -> u64 {
        let exponent = low + self.below((high - low + 1) as u64) as i32;
        let exponent = exponent.clamp(format.min_exponent(), format.max_exponent());
        let fraction = self.next() & ((1 << format.fraction_bits()) - 1);
        let magnitude = ((exponent + format.bias()) as u64) << format.fraction_bits() | fraction;
        let magnitude = magnitude.min(format.max_finite(false) >> format.ignored_bits());
        let sign = if self.below(2) == 0 {
            0
        } else {
            format.sign_mask()
        };
        magnitude << format.ignored_bits() | sign
    }
}

/// Operands, C and scales.
struct Case {
    a: Tensor,
    b: Tensor,
    c: Option<Tensor>,
    scales: Option<(Tensor, Tensor, usize)>,
}

impl Case {
    fn replay<T>(
        &self,
        arithmetic: &Arithmetic,
        engine: Engine,
        run: impl FnOnce(&Replay) -> T,
    ) -> T {
        let c = self.c.as_ref().map(Tensor::planes);
        let mut problem = Problem::new(self.a.planes(), self.b.planes(), c).unwrap();
        if let Some((a, b, block)) = &self.scales {
            problem = problem.with_scales(a.planes(), b.planes(), *block).unwrap();
        }
        run(&Replay {
            problem,
            arithmetic,
            convert_to: None,
            engine,
            kernel: None,
        })
    }

    fn codes(&self, arithmetic: &Arithmetic, engine: Engine) -> Vec<u8> {
        let collect = |replay: &Replay| replay.collect(&|_| {}).as_payload().unwrap().to_vec();
        self.replay(arithmetic, engine, collect)
    }

    fn compare(&self, arithmetic: &Arithmetic, what: &str) {
        let expected = self.codes(arithmetic, Engine::Exact);
        for platform in Platform::available() {
            let found = self.codes(arithmetic, platform.engine());
            let width = arithmetic.accumulator.bytes();
            let pairs = expected.chunks(width).zip(found.chunks(width));
            let at = pairs.enumerate().find(|(_, (x, y))| x != y);
            let name = platform.name();
            assert!(
                at.is_none(),
                "{name} {what} {at:x?}\n{}",
                arithmetic.canonical_json()
            );
        }
    }
}

/// Every arithmetic that has a kernel other than integers', the first operands of each rule.
fn arithmetics() -> Vec<Arithmetic> {
    let mut all: Vec<Arithmetic> = Vec::new();
    for architecture in Catalogue::builtin().architectures() {
        for rule in architecture.instructions.iter().flat_map(|i| &i.rules) {
            let arithmetic = Arithmetic::of(rule, rule.operands[0]);
            let float = !arithmetic.accumulator.is_integer();
            if float && kernels::plan(&arithmetic).is_some() && !all.contains(&arithmetic) {
                all.push(arithmetic);
            }
        }
    }
    all
}

/// A product whose operands' exponents lie within `spread` of `middle`, C's within `spread_c` of
/// `middle_c`.
fn case(
    arithmetic: &Arithmetic,
    [m, n, k]: [usize; 3],
    [middle, spread]: [i32; 2],
    c: Option<[i32; 2]>,
    random: &mut Random,
) -> Case {
    let zeros = random.below(3);
    let mut matrix = |format: Format, rows: usize, columns: usize| {
        let codes: Vec<_> = (0..rows * columns)
            .map(|_| match random.below(8) {
                0 if zeros == 0 => format.zero(random.below(2) == 0),
                _ => random.number(format, middle - spread, middle + spread),
            })
            .collect();
        Tensor::from_codes(format, vec![rows, columns], &codes)
    };
    let (a, b) = (matrix(arithmetic.a, m, k), matrix(arithmetic.b, k, n));
    let scales = arithmetic.scale.map(|scale| {
        let blocks = k.div_ceil(scale.block);
        let bias = scale.format.bias();
        let mut scales = |rows: usize, columns: usize| {
            let codes: Vec<_> = (0..rows * columns)
                .map(|_| {
                    let by = random.below(2 * spread as u64 + 1) as i32 - spread + middle;
                    let field = (bias + by).clamp(0, 14.max(2 * bias)) as u64;
                    let fraction = random.next() & ((1 << scale.format.fraction_bits()) - 1);
                    let code = field << scale.format.fraction_bits() | fraction;
                    code.min(scale.format.max_finite(false))
                })
                .collect();
            Tensor::from_codes(scale.format, vec![rows, columns], &codes)
        };
        (scales(m, blocks), scales(blocks, n), scale.block)
    });
    let c = c.map(|[middle, spread]| {
        let format = arithmetic.addend();
        let codes: Vec<_> = (0..m * n)
            .map(|_| random.number(format, middle - spread, middle + spread))
            .collect();
        Tensor::from_codes(format, vec![m, n], &codes)
    });
    Case { a, b, c, scales }
}

/// C from far below the products to far above, and operands from one binade to many. Models that differ in what a kernel
/// does not see, such as the K of their instructions, get a tenth of the cases, but for one.
#[test]
#[ignore = "long"]
fn wherever_c_lies() {
    let mut seen = Vec::new();
    let models: Vec<_> = arithmetics()
        .into_iter()
        .map(|arithmetic| {
            let kernel = (kernels::plan(&arithmetic), arithmetic.formats());
            let again = seen.contains(&kernel);
            seen.push(kernel);
            (arithmetic, again)
        })
        .collect();
    models
        .par_iter()
        .enumerate()
        .for_each(|(index, (arithmetic, again))| {
            let mut random = Random(1 + index as u64);
            for spread in [0, 3, 9, 20, 60] {
                for middle in [-40, 0, 12] {
                    for middle_c in [-150, -126, -60, -30, -20, -10, 0, 10, 20, 30, 40, 126] {
                        if !again || random.below(10) == 0 {
                            let operands = [middle, spread];
                            far_from_c(arithmetic, operands, middle_c, &mut random);
                        }
                    }
                }
            }
        });
}

/// Compares a product whose C lies so many binades from it.
fn far_from_c(
    arithmetic: &Arithmetic,
    [middle, spread]: [i32; 2],
    middle_c: i32,
    random: &mut Random,
) {
    let longest = arithmetic.longest_k().unwrap_or(300);
    let few = 1 + random.below(9) as usize;
    let many = 16 + random.below(60) as usize;
    let k = (1 + random.below(90) as usize).min(longest);
    let shape = match random.below(4) {
        0 => [many, few, k],
        _ => [few, many, k],
    };
    let c = Some([middle_c + middle, 2]);
    let case = case(arithmetic, shape, [middle, spread], c, random);
    case.compare(
        arithmetic,
        &format!("{middle} {spread} {middle_c} {shape:?}"),
    );
}

/// Small integers: sums are exact, ties among them, and cancel often.
#[test]
fn ties_and_cancellation() {
    let mut random = Random(2);
    for arithmetic in arithmetics().into_iter().filter(|a| a.scale.is_none()) {
        let longest = arithmetic.longest_k().unwrap_or(300);
        let code =
            |format: Format, value: f64| convert_exact(Format::Fp64, value.to_bits(), format);
        for _ in 0..6 {
            let [m, n, k] = [7, 40, (3 + random.below(80) as usize).min(longest)];
            let mut matrix = |format: Format, rows: usize, columns: usize| {
                let codes: Vec<_> = (0..rows * columns)
                    .map(|_| code(format, random.below(7) as f64 - 3.0).unwrap_or(0))
                    .collect();
                Tensor::from_codes(format, vec![rows, columns], &codes)
            };
            let (a, b) = (matrix(arithmetic.a, m, k), matrix(arithmetic.b, k, n));
            // Halves of units in the last place beside the products.
            let format = arithmetic.addend();
            let codes: Vec<_> = (0..m * n)
                .map(|_| {
                    let step = 2f64.powi(random.below(4) as i32 - 2);
                    let large = 2f64.powi(format.fraction_bits() as i32 + 1);
                    let value = (large + step * random.below(64) as f64) as f32;
                    let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
                    code(format, f64::from(value) * sign).unwrap_or(0)
                })
                .collect();
            let c = Some(Tensor::from_codes(format, vec![m, n], &codes));
            let case = Case {
                a,
                b,
                c,
                scales: None,
            };
            case.compare(&arithmetic, "small integers");
        }
    }
}

/// One constant changed: the kernel computes the changed model, and that differs.
#[test]
fn wrong_constants_make_a_difference() {
    let mut random = Random(3);
    for (arch, instruction, operands, name, wrong) in [
        ("cdna1", None, Format::Fp16, "group", json!(2)),
        ("cdna2", None, Format::Fp16, "group", json!(2)),
        ("cdna3", None, Format::Fp16, "group", json!(4)),
        ("cdna3", None, Format::E4m3fnuz, "sums", json!(1)),
        ("gpgpu-sim", None, Format::Fp16, "span", json!(8)),
        (
            "vortex-tfr",
            Some("fedp"),
            Format::Fp16,
            "addend",
            json!("hidden_bit"),
        ),
        (
            "vortex-tfr",
            Some("fedp"),
            Format::Fp16,
            "fraction_bits",
            json!(23),
        ),
    ] {
        let arch = Catalogue::builtin().find(arch).unwrap();
        let right = arch
            .select(instruction, [operands; 2], None)
            .unwrap()
            .arithmetic;
        let mut changed = serde_json::to_value(&right).unwrap();
        let constant: &mut Value = &mut changed["step"][name];
        assert!(!constant.is_null(), "{name}");
        *constant = wrong;
        let wrong: Arithmetic = serde_json::from_value(changed).unwrap();
        wrong.check().unwrap_or_else(|_| panic!("{name}"));
        assert!(kernels::plan(&wrong).is_some(), "{name}");
        // Two sums differ from one where some terms lie far below others.
        let spread = if name == "sums" { 14 } else { 3 };
        let case = case(&right, [9, 70, 64], [0, spread], None, &mut random);
        let expected = case.codes(&right, Engine::Exact);
        case.compare(&right, name);
        case.compare(&wrong, name);
        for platform in Platform::available() {
            let found = case.codes(&wrong, platform.engine());
            let differing = expected
                .chunks(4)
                .zip(found.chunks(4))
                .filter(|(x, y)| x != y);
            assert!(differing.count() > 0, "{} {name}", platform.name());
        }
    }
}

/// A NaN in a large A leaves everything else to the kernels.
#[test]
fn one_nan_stays_with_the_kernels() {
    let mut random = Random(4);
    for (arch, operands) in [
        ("cdna1", Format::Fp16),
        ("cdna2", Format::Bf16),
        ("cdna3", Format::Fp16),
        ("cdna3", Format::E4m3fnuz),
        ("exact", Format::Fp16),
        ("ieee-fma", Format::Fp64),
        ("vortex-tfr", Format::Fp16),
    ] {
        let arch = Catalogue::builtin().find(arch).unwrap();
        let arithmetic = arch.select(None, [operands; 2], None).unwrap().arithmetic;
        let n = 256;
        let mut case = case(&arithmetic, [n; 3], [0, 2], None, &mut random);
        let mut codes: Vec<_> = (0..n * n).map(|_| random.number(operands, -2, 2)).collect();
        let nan = (0..=u64::from(u16::MAX)).rev().map(|code| match operands {
            Format::Fp64 => f64::NAN.to_bits(),
            _ => code & operands.max_code(),
        });
        codes[n * n / 2 + 7] = nan
            .into_iter()
            .find(|&c| operands.unpack(c).is_nan())
            .unwrap();
        case.a = Tensor::from_codes(operands, vec![n, n], &codes);
        for platform in Platform::available() {
            let share = case.replay(&arithmetic, platform.engine(), |r| r.exact_share());
            let name = platform.name();
            assert!(
                share.exact * 1000 <= share.total,
                "{name} {operands} {share:?}"
            );
        }
    }
}
