//! Products of a compressed A: each row is the dense product of what its metadata keep.

use tcverify::num::Format;

use crate::support::random::Random;
use crate::support::{Folder, Members, Npy, claims, table};

/// A unit, the formats, how many elements are kept of how many, and what else is said.
struct Unit {
    words: &'static str,
    format: Format,
    chunk: [usize; 2],
    /// Block of the scales.
    block: Option<usize>,
}

const UNITS: [Unit; 12] = table! {
    unit("--arch a100 --dtype fp16", Format::Fp16, [4, 2]),
    unit("--arch a100 --dtype bf16 --engine exact", Format::Bf16, [4, 2]),
    unit("--arch a100 --dtype tf32", Format::Tf32, [2, 1]),
    unit("--arch a100 --dtype int4", Format::Int4, [8, 4]),
    unit("--arch rtx-4090 --dtype e4m3", Format::E4m3, [4, 2]),
    unit("--arch h100 --dtype e5m2", Format::E5m2, [4, 2]),
    unit("--arch h100 --dtype int8", Format::Int8, [4, 2]),
    unit("--arch h100 --dtype fp16 --acc fp16", Format::Fp16, [4, 2]),
    unit("--arch b200 --dtype fp16", Format::Fp16, [4, 2]),
    unit("--arch b200 --dtype e2m3", Format::E2m3, [4, 2]),
    unit("--arch h100 --dtype fp16 --schedule cutlass-splitk-parallel --split-k 2 --tile-k 32 --d-dtype fp16", Format::Fp16, [4, 2]),
    Unit { block: Some(32), ..unit("--arch b200 --dtype e2m1 --scale-dtype ue8m0 --scale-block 32 --instruction tcgen05-mxf4",
        Format::E2m1, [8, 4]) },
};

const fn unit(words: &'static str, format: Format, chunk: [usize; 2]) -> Unit {
    Unit {
        words,
        format,
        chunk,
        block: None,
    }
}

/// Two positions, the lower bits first.
const LEGAL: [u8; 7] = [0x4, 0x8, 0xc, 0x9, 0x6, 0xd, 0xe];

/// The elements of a chunk that a selector keeps.
fn kept(selector: u8, [of, _]: [usize; 2]) -> Vec<usize> {
    if of == 2 {
        // Halves of elements: 0 and 1 are the first element, 2 and 3 the other.
        return vec![usize::from(selector & 3) / 2];
    }
    let run = of / 4;
    let positions = [selector & 3, selector >> 2].map(usize::from);
    positions
        .into_iter()
        .flat_map(|at| run * at..run * (at + 1))
        .collect()
}

/// A compressed product as a folder, and for each row of A the k that it keeps.
struct Sparse {
    folder: Folder,
    rows: Vec<Vec<usize>>,
    shape: [usize; 3],
    options: String,
}

/// Operands with numbers that need rounding, and with any bits in rows of B that some row of A leaves out.
fn product(unit: &Unit, [m, n, chunks]: [usize; 3], batch: &[usize]) -> Sparse {
    let [of, keep] = unit.chunk;
    let (k, kept_k) = (of * chunks, keep * chunks);
    let matrices: usize = batch.iter().product();
    let mut random = Random::named(unit.words);
    let folder = Folder::new();
    let whole = |shape: [usize; 2]| [batch, &shape[..]].concat();
    let text = |shape: [usize; 2]| {
        let axes: Vec<_> = whole(shape).iter().map(usize::to_string).collect();
        axes.join("x")
    };
    let format = unit.format;
    for (role, shape) in [("a", [m, kept_k]), ("b", [k, n])] {
        let words = format!(
            "generate generate:{}:normal:{} --dtype {format} --role {role} -o {role}.npy",
            random.below(1000),
            text(shape)
        );
        folder.passes(&words);
    }
    let selectors: Vec<u8> = (0..matrices * m * chunks)
        .map(|_| match of {
            2 => [0x4, 0xe][random.below(2)],
            _ => LEGAL[random.below(7)],
        })
        .collect();
    let bytes = selectors
        .chunks(2)
        .map(|two| two[0] | two[1] << 4)
        .collect();
    let words = whole([m, chunks / 8]);
    folder.save("meta.npy", &Npy::new("<u4", &words, bytes));
    let rows = selectors.chunks(chunks).map(|row| {
        let chunk = |(i, &selector): (usize, &u8)| {
            let first = of * i;
            kept(selector, unit.chunk)
                .into_iter()
                .map(move |at| first + at)
        };
        row.iter().enumerate().flat_map(chunk).collect()
    });
    let mut options = unit.words.to_owned();
    if let Some(block) = unit.block {
        let blocks = kept_k / block;
        for (role, shape) in [("scale_a", [m, blocks]), ("scale_b", [blocks, n])] {
            let words = format!(
                "generate generate:3:normal:{} --dtype ue8m0 --role {} -o {role}.npy",
                text(shape),
                role.replace('_', "-")
            );
            folder.passes(&words);
        }
        options += " --scale-a scale_a.npy --scale-b scale_b.npy";
    }
    Sparse {
        rows: rows.collect(),
        folder,
        shape: [m, n, k],
        options,
    }
}

impl Sparse {
    /// What follows the header of an array.
    fn data(&self, name: &str, bytes: usize) -> Vec<u8> {
        let file = self.folder.read(name);
        file[file.len() - bytes..].to_vec()
    }

    fn replayed(&self) -> Vec<u8> {
        let words = format!(
            "replay {} a.npy b.npy --sparse-a meta.npy -o d.npy",
            self.options
        );
        self.folder.passes(&words);
        self.folder.read("d.npy")
    }

    /// Every row by itself, as the dense product of what it keeps.
    fn by_rows(&self, unit: &Unit, matrices: usize) -> Vec<u8> {
        let [m, n, k] = self.shape;
        let kept_k = self.rows[0].len();
        let width = unit.format.bytes();
        let header = self.folder.read("a.npy");
        let type_of_a = &descr(&header);
        let a = self.data("a.npy", matrices * m * kept_k * width);
        let b = self.data("b.npy", matrices * k * n * width);
        let mut all = Vec::new();
        for (i, row) in self.rows.iter().enumerate() {
            let matrix = i / m;
            let of_a = a[i * kept_k * width..][..kept_k * width].to_vec();
            let line = |&k_of_b: &usize| &b[(matrix * k + k_of_b) * n * width..][..n * width];
            let of_b = row.iter().flat_map(line).copied().collect();
            self.folder
                .save("a1.npy", &Npy::new(type_of_a, &[1, kept_k], of_a));
            self.folder
                .save("b1.npy", &Npy::new(type_of_a, &[kept_k, n], of_b));
            let mut options = self.options.clone();
            if let Some(block) = unit.block {
                let blocks = kept_k / block;
                let scales = self.data("scale_a.npy", m * blocks);
                let own = scales[i * blocks..][..blocks].to_vec();
                self.folder
                    .save("sa1.npy", &Npy::new("|u1", &[1, blocks], own));
                options = options.replace("scale_a.npy", "sa1.npy");
            }
            let words = format!("replay {options} a1.npy b1.npy -o d1.npy");
            self.folder.passes(&words);
            let d = self.folder.read("d1.npy");
            let bytes = n * descr(&d)[2..].parse::<usize>().expect("a width");
            all.extend(&d[d.len() - bytes..]);
        }
        all
    }
}

/// The type of an array's elements, as its header says.
fn descr(file: &[u8]) -> String {
    let header = String::from_utf8_lossy(&file[..128]);
    let (_, rest) = header.split_once("'descr': '").expect("a header");
    rest.split_once('\'').expect("a type").0.to_owned()
}

#[test]
fn every_row_is_the_dense_product_of_what_it_keeps() {
    for unit in &UNITS {
        let chunks = if unit.block.is_some() { 16 } else { 24 };
        let sparse = product(unit, [5, 19, chunks], &[]);
        let d = sparse.replayed();
        let rows = sparse.by_rows(unit, 1);
        assert_eq!(d[d.len() - rows.len()..], rows, "{}", unit.words);
        // The report says that it is sparse, and how that is known.
        let words = format!(
            "check {} a.npy b.npy d.npy --sparse-a meta.npy --json -",
            sparse.options
        );
        let report = sparse.folder.json(&words);
        let constants = report["rule"]["model"].list("constants");
        let known = constants
            .iter()
            .find(|c| c["name"] == "sparse")
            .expect("a constant");
        assert_eq!(
            known["value"], report["rule"]["product"]["sparse"],
            "{}",
            unit.words
        );
        assert_eq!(report["rule"]["product"]["k"], sparse.rows[0].len());
        let evidence = report["rule"]["model"].string("evidence");
        assert!(["inferred", "published"].contains(&evidence), "{evidence}");
    }
}

#[test]
fn batches_have_their_own_metadata() {
    let unit = &UNITS[0];
    let sparse = product(unit, [3, 7, 16], &[2]);
    let d = sparse.replayed();
    let rows = sparse.by_rows(unit, 2);
    assert_eq!(d[d.len() - rows.len()..], rows);
}

/// Another selection is another product, and so is the dense rule on A with zeros between.
#[test]
fn another_selection_differs() {
    let sparse = product(&UNITS[0], [5, 19, 24], &[]);
    sparse.replayed();
    let check = format!("check {} a.npy b.npy d.npy --sparse-a", sparse.options);
    sparse.folder.passes(&format!("{check} meta.npy"));
    let words = [5 * 3 * 4];
    let same = Npy::new("<u4", &[5, 3], vec![0x44; words[0]]);
    sparse.folder.save("other.npy", &same);
    claims! {sparse.folder, "{check} other.npy --verbose | 1 | all other causes (A is compressed)"}
    // An element step by step, of either.
    let explain = format!(
        "explain {} a.npy b.npy d.npy --at 2,3 --sparse-a",
        sparse.options
    );
    sparse.folder.passes(&format!("{explain} meta.npy"));
    sparse.folder.differs(&format!("{explain} other.npy"));
    // Rows, columns and samples of it.
    for part in ["--rows 1..3", "--cols 4..9", "--sample 20 --seed 3"] {
        sparse.folder.passes(&format!("{check} meta.npy {part}"));
        sparse.folder.differs(&format!("{check} other.npy {part}"));
    }
}

/// What nothing keeps has no effect, whatever it is.
#[test]
fn what_is_left_out_is_absent() {
    let unit = &UNITS[0];
    let sparse = product(unit, [1, 19, 24], &[]);
    let before = sparse.replayed();
    let mut b = sparse.folder.read("b.npy");
    let start = b.len() - 24 * 4 * 19 * 2;
    let mut random = Random::named("specials");
    for k in (0..24 * 4).filter(|k| !sparse.rows[0].contains(k)) {
        for column in 0..19 {
            let code: u16 = [0x7c00, 0xfc00, 0x7e00, 0xfe01][random.below(4)];
            b[start + (k * 19 + column) * 2..][..2].copy_from_slice(&code.to_le_bytes());
        }
    }
    sparse.folder.write("b.npy", b);
    assert_eq!(sparse.replayed(), before);
}

/// PyTorch's order of the words of metadata is that of CUTLASS.
#[test]
fn cutlass_has_the_words_elsewhere() {
    let unit = &UNITS[0];
    let (m, chunks) = (64, 32);
    let sparse = product(unit, [m, 9, chunks], &[]);
    let before = sparse.replayed();
    let words = chunks / 4;
    let plain = sparse.data("meta.npy", m * words * 2);
    let mut swizzled = vec![0; plain.len()];
    for row in 0..m {
        for column in 0..words {
            // `sparse_semi_structured_to_dense` of PyTorch: where it gathers the word of a row from.
            let at = column % 2 * 2
                + column / 2 * 2 * m
                + row % 8 * 8
                + [0, 1, 4, 5][row / 8 % 4]
                + row / 32 * 64;
            swizzled[2 * at..][..2].copy_from_slice(&plain[2 * (row * words + column)..][..2]);
        }
    }
    let meta = Npy::new("<i2", &[m, words], swizzled);
    sparse.folder.save("torch.npy", &meta);
    let replay = format!("replay {} a.npy b.npy --sparse-a torch.npy", sparse.options);
    let folder = &sparse.folder;
    folder.passes(&format!("{replay} --sparse-layout cutlass -o d2.npy"));
    assert_eq!(folder.read("d2.npy"), before);
    folder.passes(&format!("{replay} -o d3.npy"));
    assert_ne!(folder.read("d3.npy"), before);
}

#[test]
fn what_is_no_sparse_product_is_refused() {
    let sparse = product(&UNITS[0], [5, 19, 24], &[]);
    sparse.replayed();
    let folder = &sparse.folder;
    folder.save("short.npy", &Npy::new("<u4", &[5, 2], vec![0x44; 40]));
    folder.save("bad.npy", &Npy::new("<u4", &[5, 3], vec![0x45; 60]));
    folder.save("turned.npy", &Npy::new("<u4", &[3, 5], vec![0x44; 60]));
    folder.save("line.npy", &Npy::new("<u4", &[15], vec![0x44; 60]));
    folder.save("floats.npy", &Npy::new("<f4", &[5, 3], vec![0x44; 60]));
    let product = "--dtype fp16 a.npy b.npy d.npy";
    claims! {folder, "
        each ~ | 2
        check --arch a100 {product} --sparse-a short.npy | short.npy | 10 words of 32 bits | 15
        check --arch a100 {product} --sparse-a turned.npy | turned.npy | it is 3x5 | an A of 5x48
        check --arch a100 {product} --sparse-a line.npy | line.npy | it is 15 | an A of 5x48
        check --arch a100 {product} --sparse-a floats.npy | floats.npy | fp32 | words of integers
        check --arch a100 {product} --sparse-a bad.npy | bad.npy | row 0, chunk 0 | 0x5
        check --arch v100 {product} --sparse-a meta.npy | volta | no known sparse form
        check --arch a100 {product} | inner dimensions differ
        check --arch a100 {product} --sparse-layout cutlass | --sparse-a
        check --arch a100 {product} --sparse-a meta.npy --sparse-layout cutlass
            | multiple of 32 rows
        check --arch a100 {product} --sparse-a none.npy | none.npy
        commit --arch a100 {product} --sparse-a meta.npy -o c.json | committed
        identify {product} --sparse-a meta.npy
            | the search does not cover products of a compressed A
        check --arch auto {product} --sparse-a meta.npy
            | the search does not cover products of a compressed A
        shard plan -n 2 --block-rows 1 --arch a100 {product} --sparse-a meta.npy -o p.json
            | compressed
    "}
}
