//! A product in files: operands, the result somebody got, and what they got it with.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tcverify::emu::step::Fpmr;
use tcverify::emu::{
    Arithmetic, Catalogue, Choice, Engine, Problem, Replay, Scale, ShapeError, Wanted, WantedScale,
};
use tcverify::io::npy::NpyFile;
use tcverify::num::Format;
use tcverify::tensor::Tensor;

#[derive(Clone)]
pub struct Case {
    /// The name of its directory.
    pub name: String,
    pub directory: PathBuf,
    pub arch: String,
    pub instruction: String,
    pub accumulator: Format,
    /// C's format.
    pub addend: Format,
    pub scale: Option<Scale>,
    /// The whole description.
    pub about: Value,
    pub a: Tensor,
    pub b: Tensor,
    pub c: Tensor,
    pub d: Tensor,
    /// Scales of A and of B.
    pub scales: Option<[Tensor; 2]>,
}

impl Case {
    /// Every case below a directory whose description is `wanted`, by name.
    pub fn read_all(root: &Path, wanted: impl Fn(&Value) -> bool) -> Vec<Case> {
        let entries = std::fs::read_dir(root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
        let mut directories: Vec<PathBuf> = entries
            .map(|entry| entry.expect("a directory can be listed").path())
            .filter(|path| path.is_dir())
            .collect();
        directories.sort();
        let described = directories.into_iter().map(|path| (describe(&path), path));
        described
            .filter(|(about, _)| wanted(about))
            .map(|(about, path)| Case::read(path, about))
            .collect()
    }

    fn read(directory: PathBuf, about: Value) -> Case {
        let text = |key: &str| about[key].as_str();
        let need = |key| text(key).unwrap_or_else(|| panic!("{}: no {key}", directory.display()));
        let accumulator = format(text("d_dtype").unwrap_or_else(|| need("acc")));
        let addend = text("c_dtype").map_or(accumulator, format);
        let scale = text("scale_dtype").map(|name| Scale {
            format: format(name),
            block: about["block"].as_u64().expect("scales have a block") as usize,
        });
        // NVIDIA's kinds of instruction are instructions of the catalogue.
        let kind = text("kind").map_or(String::new(), |kind| format!("-{kind}"));
        let tensor = |file: &str, format| {
            let opened = NpyFile::open(&directory.join(file));
            opened
                .and_then(|npy| npy.tensor(format))
                .unwrap_or_else(|e| panic!("{e:#}"))
        };
        Case {
            name: directory
                .file_name()
                .map_or("?".into(), |name| name.to_string_lossy().into()),
            arch: need("arch").to_owned(),
            instruction: text("instruction").map_or(String::new(), |i| i.to_owned() + &kind),
            accumulator,
            addend,
            scale,
            a: tensor("a.npy", format(need("a_dtype"))),
            b: tensor("b.npy", format(need("b_dtype"))),
            c: tensor("c.npy", addend),
            d: tensor("d.npy", accumulator),
            scales: scale.map(|s| ["sa.npy", "sb.npy"].map(|file| tensor(file, s.format))),
            directory,
            about,
        }
    }

    /// The catalogue's rule for the case.
    pub fn choice(&self) -> Choice<'static> {
        self.choice_on(&self.arch, &self.instruction)
    }

    /// The rule of another architecture or instruction for the same formats.
    pub fn choice_on(&self, arch: &str, instruction: &str) -> Choice<'static> {
        let operands = [self.a.format(), self.b.format()];
        let arch = Catalogue::builtin()
            .find(arch)
            .unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let wanted = Wanted {
            instruction: Some(instruction).filter(|name| !name.is_empty()),
            operands,
            accumulator: Some(self.accumulator),
            addend: Some(self.addend),
            scale: self.scale.map(|scale| WantedScale {
                format: Some(scale.format),
                block: Some(scale.block),
            }),
        };
        let mut choice = arch
            .choose(&wanted)
            .unwrap_or_else(|e| panic!("{}: {e}", self.name));
        if let (Some(lscale), Some(osm)) = (self.field("lscale"), self.field("osm")) {
            let step = &mut choice.arithmetic.step;
            step.set_fpmr(Fpmr {
                lscale,
                osm: osm == 1,
            });
        }
        choice
    }

    fn field(&self, name: &str) -> Option<u32> {
        self.about[name].as_u64().map(|number| number as u32)
    }

    /// The elements of D, in C order, that an arithmetic makes of the operands.
    pub fn replay(&self, arithmetic: &Arithmetic, engine: Engine) -> Vec<u64> {
        let checked = arithmetic.check();
        checked.unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let (a, b) = (self.a.planes(), self.b.planes());
        // Kernels take nothing as small as single dot products: these are a diagonal to them.
        if !engine.is_exact() && a.rows() * b.columns() == 1 {
            return self.replay_diagonals(arithmetic, engine);
        }
        let problem = Problem::new(a, b, Some(self.c.planes()));
        let problem = problem.and_then(|problem| match (&self.scales, self.scale) {
            (Some([a, b]), Some(scale)) => problem.with_scales(a.planes(), b.planes(), scale.block),
            _ => Ok(problem),
        });
        self.compute(problem, arithmetic, engine)
    }

    /// Dot products as diagonals of whole matrices.
    fn replay_diagonals(&self, arithmetic: &Arithmetic, engine: Engine) -> Vec<u64> {
        let (n, k) = (self.d.len(), self.a.planes().columns());
        let side = if n.is_multiple_of(50) { 50 } else { n };
        let stack = |tensor: &Tensor, columns| {
            let shape = vec![n / side, side, columns];
            Tensor::from_codes(tensor.format(), shape, &codes(tensor))
        };
        let (a, b) = (stack(&self.a, k), stack(&self.b, k));
        let addends = codes(&self.c);
        let across = addends.iter().flat_map(|&c| std::iter::repeat_n(c, side));
        let shape = vec![n / side, side, side];
        let c = Tensor::from_codes(self.c.format(), shape, &across.collect::<Vec<_>>());
        let problem = Problem::new(a.planes(), b.planes().transposed(), Some(c.planes()));
        let scales = self.scales.as_ref().zip(self.scale);
        let scales = scales.map(|([x, y], scale)| {
            let blocks = k.div_ceil(scale.block);
            ([x, y].map(|side| stack(side, blocks)), scale.block)
        });
        let problem = problem.and_then(|problem| match &scales {
            Some(([x, y], block)) => {
                problem.with_scales(x.planes(), y.planes().transposed(), *block)
            }
            None => Ok(problem),
        });
        let all = self.compute(problem, arithmetic, engine);
        let diagonal = |i: usize| all[i * side + i % side];
        (0..n).map(diagonal).collect()
    }

    fn compute(
        &self,
        problem: Result<Problem, ShapeError>,
        arithmetic: &Arithmetic,
        engine: Engine,
    ) -> Vec<u64> {
        let replay = Replay {
            problem: problem.unwrap_or_else(|e| panic!("{}: {e}", self.name)),
            arithmetic,
            convert_to: None,
            engine,
            kernel: None,
        };
        codes(&replay.collect(&|_| {}))
    }

    /// Positions of the elements of D that an arithmetic does not reproduce, in C order.
    pub fn differing(&self, arithmetic: &Arithmetic, engine: Engine) -> Vec<usize> {
        let (ours, theirs) = (self.replay(arithmetic, engine), codes(&self.d));
        assert_eq!(ours.len(), theirs.len(), "{}: elements of D", self.name);
        let positions = 0..ours.len();
        positions.filter(|&i| ours[i] != theirs[i]).collect()
    }

    /// How many elements of D an arithmetic does not reproduce, by the exact engine.
    pub fn mismatches(&self, arithmetic: &Arithmetic) -> usize {
        self.differing(arithmetic, Engine::Exact).len()
    }
}

/// A case is described by `case.json` or, with its sources, by `provenance.json`.
fn describe(directory: &Path) -> Value {
    let text = ["case.json", "provenance.json"]
        .iter()
        .find_map(|file| std::fs::read_to_string(directory.join(file)).ok())
        .unwrap_or_else(|| panic!("{} describes no case", directory.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
}

fn format(name: &str) -> Format {
    Format::from_name(name).unwrap_or_else(|| panic!("no format is called {name}"))
}

/// All codes of a tensor in C order.
pub fn codes(tensor: &Tensor) -> Vec<u64> {
    let planes = tensor.planes();
    let mut codes = Vec::with_capacity(tensor.len());
    for batch in 0..planes.batches() {
        let plane = planes.plane(batch);
        for row in 0..plane.rows {
            codes.extend((0..plane.columns).map(|column| plane.code(row, column)));
        }
    }
    codes
}
