//! Small products through every engine.

use std::collections::HashSet;
use std::sync::OnceLock;

use tcverify::emu::schedule::{
    BoundSchedule, Scaling, ScheduleSpec, Values, presets, scale_shapes,
};
use tcverify::emu::{Arithmetic, Catalogue, Element, Engine, Problem, Replay};
use tcverify::kernels::Platform;
use tcverify::num::{Format, Kind as FormatKind};
use tcverify::random::SplitMix64;
use tcverify::tensor::Tensor;

use super::input::Input;

/// Multiply-adds of a product: of most, so that a second has hundreds of them, and of one in sixteen, which sees more
/// than one panel and strip. Small numbers, which short inputs have, are of the small ones.
const WORK: [usize; 2] = [1_000, 20_000];
const LARGE: usize = 15;

/// The model, the shape, the operands and the schedule, all from bytes.
pub fn engines(data: &[u8]) {
    let mut input = Input(data);
    let known = arithmetics();
    let arithmetic = &known[input.word() % known.len()];
    let m = 1 + input.byte() % 9;
    let n = 1 + input.byte() % 70;
    let most = arithmetic.longest_k().unwrap_or(usize::MAX);
    let word = input.word();
    let work = WORK[usize::from(word / 400 % 16 == LARGE)];
    let k = (1 + word % 400).min(work / (m * n)).max(1).min(most);
    let batch = 1 + input.byte() % 2;
    let kinds = [(); 3].map(|()| input.byte());
    let preset = input.byte();
    let spec = spec(preset, &mut input);
    let result = input.byte();
    let seed = input.code();
    let mut product = Product::new(arithmetic, [batch, m, n, k], kinds, seed);
    while !input.is_empty() {
        let [which, at] = [input.byte(), input.word()];
        product.set(which, at, input.code());
    }

    let problem = product.problem();
    let mut replay = product.replay(&problem, arithmetic);
    let rounded = [None, Some(Format::Fp16), Some(Format::Bf16)];
    if arithmetic.accumulator == Format::Fp32 {
        replay.convert_to = rounded[result % 3];
    }
    agree(&replay);
    if let Some(spec) = spec {
        with_kernel(&spec, replay, seed, |replay| agree(&replay));
    }
}

/// A preset, its open constants said, or none.
fn spec(which: usize, input: &mut Input) -> Option<ScheduleSpec> {
    let preset = presets().get(which.checked_sub(1)?)?;
    let mut spec = preset.spec.clone();
    let number = 1 + input.byte() % 8;
    if let Some(count) = spec.split_count() {
        *count = Some(number);
    }
    if let Some(workers) = spec.workers() {
        *workers = Some(number);
    }
    let tile = input.byte() % 4;
    if tile != 0 && spec.tile_k.is_some() {
        spec.tile_k = Some(32 << (tile - 1));
    }
    spec.validate().is_ok().then_some(spec)
}

/// Every rule of the catalogue with every pair of formats, once.
fn arithmetics() -> &'static [Arithmetic] {
    static ALL: OnceLock<Vec<Arithmetic>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut seen = HashSet::new();
        let architectures = Catalogue::builtin().architectures().iter();
        let rules = architectures.flat_map(|a| a.instructions.iter().flat_map(|i| &i.rules));
        let every = rules.flat_map(|rule| {
            let of = |&operands| Arithmetic::of(rule, operands);
            rule.operands.iter().map(of).collect::<Vec<_>>()
        });
        every.filter(|one| seen.insert(one.sha256())).collect()
    })
}

/// The operands of a product.
pub struct Product {
    a: Tensor,
    b: Tensor,
    c: Option<Tensor>,
    scales: Option<([Tensor; 2], usize)>,
}

impl Product {
    /// Any codes, without a batch and without C.
    pub fn draw(arithmetic: &Arithmetic, [m, n, k]: [usize; 3], seed: u64) -> Product {
        Product::new(arithmetic, [1, m, n, k], [1, 1, 0], seed)
    }

    fn new(
        arithmetic: &Arithmetic,
        [batch, m, n, k]: [usize; 4],
        kinds: [usize; 3],
        seed: u64,
    ) -> Product {
        let mut random = SplitMix64(seed);
        let mut tensor = |format, rows: usize, columns: usize, kind| {
            let codes = (0..batch * rows * columns).map(|i| code(format, kind, i, &mut random));
            let codes: Vec<_> = codes.collect();
            Tensor::from_codes(format, vec![batch, rows, columns], &codes)
        };
        let a = tensor(arithmetic.a, m, k, kinds[0]);
        let b = tensor(arithmetic.b, k, n, kinds[1]);
        let c = (kinds[2] != 0).then(|| tensor(arithmetic.addend(), m, n, kinds[2] - 1));
        let scales = arithmetic.scale.map(|scale| {
            let blocks = k.div_ceil(scale.block);
            let a = tensor(scale.format, m, blocks, kinds[0]);
            let b = tensor(scale.format, blocks, n, kinds[1]);
            ([a, b], scale.block)
        });
        Product { a, b, c, scales }
    }

    /// Another code at one place.
    fn set(&mut self, which: usize, at: usize, code: u64) {
        let mut all: Vec<&mut Tensor> = vec![&mut self.a, &mut self.b];
        all.extend(&mut self.c);
        if let Some((scales, _)) = &mut self.scales {
            all.extend(scales);
        }
        let count = all.len();
        let tensor = &mut *all[which % count];
        let format = tensor.format();
        let width = format.bytes();
        let mut payload = tensor.as_payload().expect("plainly stored").to_vec();
        let start = at % tensor.len() * width;
        let code = code & format.max_code();
        payload[start..start + width].copy_from_slice(&code.to_le_bytes()[..width]);
        *tensor = Tensor::from_payload(format, tensor.shape().to_vec(), payload);
    }

    pub fn problem(&self) -> Problem<'_> {
        let c = self.c.as_ref().map(Tensor::planes);
        let problem = Problem::new(self.a.planes(), self.b.planes(), c).expect("shapes that fit");
        match &self.scales {
            None => problem,
            Some(([a, b], block)) => {
                let scaled = problem.with_scales(a.planes(), b.planes(), *block);
                scaled.expect("a scale for every block")
            }
        }
    }

    pub fn replay<'a>(&self, problem: &Problem<'a>, arithmetic: &'a Arithmetic) -> Replay<'a> {
        Replay {
            problem: *problem,
            arithmetic,
            convert_to: None,
            engine: Engine::Exact,
            kernel: None,
        }
    }
}

/// A number of some kind.
fn code(format: Format, kind: usize, position: usize, random: &mut SplitMix64) -> u64 {
    let any = random.word();
    let code = any & format.max_code();
    if format.kind() != FormatKind::Float {
        return code;
    }
    let sign = format.sign(any >> 62 & 1 == 1);
    let field = |field: u64| {
        let fraction = any >> 20 & ((1 << format.fraction_bits()) - 1);
        (field << format.fraction_bits() | fraction) << format.ignored_bits() | sign
    };
    match kind % 9 {
        0 => field((format.bias() as u64).saturating_sub(any % 3)),
        1 => code,
        2 => format.max_finite(any & 1 == 1),
        3 => format.max_finite(position % 2 == 1),
        4 => field(0),
        // Infinities, where there are some.
        5 if any.is_multiple_of(16) => format.infinity(any >> 62 & 1 == 1).unwrap_or(code),
        5 => field(format.bias() as u64),
        6 => format.zero(any & 1 == 1),
        7 if any % 8 < 7 => format.zero(false),
        // The smallest normal numbers.
        8 => field(1 + any % 2),
        _ => code,
    }
}

/// A schedule on a small product of an instruction.
pub fn run_schedule(arch: &str, format: Format, spec: &ScheduleSpec) {
    let architecture = Catalogue::builtin().find(arch).expect("of the catalogue");
    let choice = architecture.select(None, [format; 2], None);
    let choice = choice.expect("of the catalogue");
    for (seed, k) in [40, 300].into_iter().enumerate() {
        let product = Product::draw(&choice.arithmetic, [3, 2, k], seed as u64);
        let problem = product.problem();
        let replay = product.replay(&problem, &choice.arithmetic);
        with_kernel(spec, replay, seed as u64, |replay| agree(&replay));
    }
}

/// The replay through a schedule, if that can be about it.
fn with_kernel(spec: &ScheduleSpec, replay: Replay, seed: u64, run: impl FnOnce(Replay)) {
    let problem = &replay.problem;
    let mut values = Values::default();
    if let Some(Scaling { per, .. }) = spec.scales {
        let Some(scales) = scales(scale_shapes(per, problem.m, problem.n, problem.k), seed) else {
            return;
        };
        let planes = [scales[0].planes(), scales[1].planes()];
        // One for all matrices of a batch is a vector only.
        let Ok(with) = values.with_scales(per, planes, problem) else {
            return;
        };
        values = with;
    }
    if let Err(reason) =
        BoundSchedule::check(spec, &values, replay.arithmetic, problem, replay.format())
    {
        return super::sentence(&reason);
    }
    let kernel = Some(BoundSchedule::new(spec, &values, problem));
    run(Replay { kernel, ..replay });
}

fn scales(shapes: [[usize; 2]; 2], seed: u64) -> Option<[Tensor; 2]> {
    let mut random = SplitMix64(!seed);
    let tensors = shapes.map(|[rows, columns]| {
        let count = rows.checked_mul(columns).filter(|&n| n <= WORK[1])?;
        let codes = (0..count).map(|i| code(Format::Fp32, 0, i, &mut random));
        let codes: Vec<_> = codes.collect();
        Some(Tensor::from_codes(
            Format::Fp32,
            vec![rows, columns],
            &codes,
        ))
    });
    let [a, b] = tensors;
    Some([a?, b?])
}

/// Every platform computes what the exact engine computes: all of D, a rectangle of it, and elements
/// alone.
///
/// All on a thread of the pool: to hand it hundreds of small tasks one by one takes longer than what they compute.
pub fn agree(replay: &Replay) {
    rayon::scope(|_| every_way(replay));
}

fn every_way(replay: &Replay) {
    let exact = Replay {
        engine: Engine::Exact,
        ..*replay
    };
    let expected = exact.collect(&|_| {});
    let (m, n) = (replay.problem.m, replay.problem.n);
    let last = replay.problem.batches() - 1;
    let (rows, columns) = (m / 3..m, n / 2..n.min(n / 2 + 9));
    let plane = expected.planes().plane(last);
    let rectangle: Vec<_> = rows
        .clone()
        .flat_map(|row| columns.clone().map(move |column| (row, column)))
        .collect();
    let wanted: Vec<_> = rectangle.iter().map(|&(r, c)| plane.code(r, c)).collect();
    let at: Vec<_> = rectangle
        .iter()
        .rev()
        .map(|&(row, column)| Element {
            batch: last,
            row,
            column,
        })
        .collect();
    let engines = Platform::available().into_iter().map(Platform::engine);
    for engine in engines.chain([Engine::Exact]) {
        let fast = Replay { engine, ..*replay };
        if !engine.is_exact() {
            let found = fast.collect(&|_| {});
            assert!(
                found.as_payload() == expected.as_payload(),
                "{engine:?}: D is not the exact engine's; {}",
                replay.arithmetic.canonical_json()
            );
        }
        let part = fast.part(last, rows.clone(), columns.clone(), &|_| {});
        assert_eq!(part, wanted, "{engine:?}: a part is not that of D");
        let mut alone = fast.elements(&at);
        alone.reverse();
        assert_eq!(alone, wanted, "{engine:?}: elements are not those of D");
        let few = fast.elements(&at[..at.len().min(2)]);
        let mut last_two: Vec<_> = wanted.iter().rev().take(2).copied().collect();
        last_two.truncate(few.len());
        assert_eq!(few, last_two, "{engine:?}: two elements are not those of D");
    }
}
