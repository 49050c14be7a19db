//! Weights of 4 and 8 bits: dequantised here once more, and multiplied by Marlin's order without them.

use serde_json::{Value, json};

use crate::support::random::Random;
use crate::support::{Folder, Members, Npy, claims, le16, table, words};

/// Operands whose second half of K takes the first half away, so that D shows the order of additions.
pub struct Product {
    pub folder: Folder,
    k: usize,
    n: usize,
    /// Codes minus zero points.
    integers: Vec<f32>,
    scales: Vec<f32>,
}

pub fn product(bits: u32, zeros: bool, [m, n, k]: [usize; 3], groups: usize) -> Product {
    let folder = Folder::new();
    let mut random = Random::named(&format!("{bits} {zeros} {m} {n} {k} {groups}"));
    let a = format!("generate generate:7:normal:{m}x{k} --dtype fp16 --role a -q -o a.npy");
    folder.passes(&a);
    // The second half of every row is the first one, negative.
    let mut bytes = folder.read("a.npy");
    let start = bytes.len() - 2 * m * k;
    for row in bytes[start..].chunks_mut(2 * k) {
        let (first, second) = row.split_at_mut(k);
        second.copy_from_slice(first);
        second
            .iter_mut()
            .skip(1)
            .step_by(2)
            .for_each(|byte| *byte ^= 0x80);
    }
    folder.write("a.npy", bytes);
    let most = (1 << bits) - 1;
    let half: Vec<u8> = (0..k / 2 * n)
        .map(|_| random.between(0, most) as u8)
        .collect();
    let codes = [half.clone(), half].concat();
    // Groups of the second half are those of the first one.
    let own = groups.div_ceil(2) * n;
    let scales: Vec<f32> = (0..own)
        .map(|_| half::f16::from_f32(random.between(500, 2000) as f32 * 1e-5).to_f32())
        .collect();
    let points: Vec<u8> = (0..own).map(|_| random.between(0, most) as u8).collect();
    let scales: Vec<f32> = (0..groups * n).map(|i| scales[i % own]).collect();
    let points: Vec<u8> = (0..groups * n).map(|i| points[i % own]).collect();
    folder.save("b.npy", &Npy::new("|u1", &[k, n], codes.clone()));
    folder.f16("s.npy", &[groups, n], &scales);
    let middle = (1 << (bits - 1)) as f32;
    let zero = |row: usize, column: usize| {
        let point = points[row / (k / groups) * n + column];
        if zeros { point.into() } else { middle }
    };
    let integers = (0..k * n).map(|i| f32::from(codes[i]) - zero(i / n, i % n));
    let integers = integers.collect();
    folder.save("z.npy", &Npy::new("|u1", &[groups, n], points));
    Product {
        folder,
        k,
        n,
        integers,
        scales,
    }
}

pub const KERNEL: &str = "--arch a100 --dtype fp16 --scale-b s.npy --kernel";

impl Product {
    /// D by the command, by both engines.
    pub fn replayed(&self, options: &str) -> Vec<u8> {
        let [exact, fast] = ["exact", "fast"].map(|engine| {
            let command = format!("replay --engine {engine} {options} -q -o {engine}.npy");
            self.folder.passes(&command);
            self.folder.read(&format!("{engine}.npy"))
        });
        assert!(exact == fast, "{options}");
        exact
    }

    /// A plain operand, and the plan's schedule without scales.
    fn plain(&self, plan: &str, values: &[f32]) {
        let codes = values
            .iter()
            .map(|value| half::f16::from_f32(*value).to_bits());
        let codes = le16(&codes.collect::<Vec<_>>());
        self.folder
            .save("w.npy", &Npy::new("<f2", &[self.k, self.n], codes));
        claims! {self.folder, "kernels plan {plan} --dtype fp16 --schedule order.json | 0"}
        let mut order: Value = self.folder.document("order.json");
        order["spec"].as_object_mut().unwrap().remove("scales");
        order["known_by"].as_object_mut().unwrap().remove("scales");
        self.folder.write("order.json", order.to_string());
    }
}

const PLAIN: &str =
    "--arch a100 --dtype fp16 --instruction mma --schedule-file order.json a.npy w.npy";

#[test]
fn scales_of_groups_come_before_the_product() {
    for (bits, zeros, kind) in [
        (4, false, "u4b8"),
        (4, true, "u4"),
        (8, false, "u8b128"),
        (8, true, "u8"),
    ] {
        let all = product(bits, zeros, [5, 256, 1024], 8);
        let scaled: Vec<f32> = (0..all.k * all.n)
            .map(|i| all.integers[i] * all.scales[i / all.n / 128 * all.n + i % all.n])
            .collect();
        for (kernel, sms) in [("marlin-vllm", 3), ("marlin-vllm,64x128x128", 5)] {
            let plan = format!("{kernel},{kind},g128 --shape 5x256x1024 --multiprocessors {sms}");
            all.plain(&plan, &scaled);
            let wanted = all.replayed(&format!("{PLAIN} --d-dtype fp16"));
            let zero_b = if zeros { "--zero-b z.npy" } else { "" };
            let given = format!(
                "{KERNEL} {kernel} --set multiprocessors={sms} --weights {kind} {zero_b} a.npy b.npy"
            );
            assert!(all.replayed(&given) == wanted, "{kind} {kernel}");
            let folder = &all.folder;
            folder.write("d.npy", wanted);
            folder.passes(&format!("check {given} d.npy"));
            // Another number of multiprocessors, another reduction, other codes.
            let other = given.replace(&format!("processors={sms}"), "processors=1");
            folder.differs(&format!("check {other} d.npy"));
            folder.differs(&format!("check {given} d.npy --set reduction=OUTPUT_TYPE"));
        }
    }
}

#[test]
fn scales_of_columns_come_after_it() {
    let half = |x: f32| half::f16::from_f32(x);
    for (bits, kind, sms) in [(4, "u4b8", 3), (8, "u8b128", 1)] {
        let all = product(bits, false, [5, 128, 512], 1);
        let plan = format!("marlin-vllm,{kind},g-1 --shape 5x128x512 --multiprocessors {sms}");
        all.plain(&plan, &all.integers);
        // 4 bits: rounded, then scaled. 8 bits: the sum of the only slice is scaled.
        let dtype = if bits == 4 { "fp16" } else { "fp32" };
        let sums = all.replayed(&format!("{PLAIN} --d-dtype {dtype}"));
        let sums = sums[128..].chunks(dtype[2..].parse::<usize>().unwrap() / 8);
        let d = sums.enumerate().map(|(i, bytes)| {
            let sum = match *bytes {
                [x, y] => half::f16::from_le_bytes([x, y]).to_f32(),
                _ => f32::from_le_bytes(bytes.try_into().unwrap()),
            };
            half(sum * all.scales[i % all.n]).to_bits()
        });
        let d = le16(&d.collect::<Vec<_>>());
        all.folder
            .save("d.npy", &Npy::new("<f2", &[5, 128], d.clone()));
        let given = format!(
            "{KERNEL} marlin-vllm --set multiprocessors={sms} --weights {kind} a.npy b.npy"
        );
        all.folder.passes(&format!("check {given} d.npy"));
        all.replayed(&given);
        // The bias is added to what is rounded.
        let bias: Vec<f32> = (0..all.n).map(|i| i as f32 * 1e-4).collect();
        let bias: Vec<f32> = bias.into_iter().map(|x| half(x).to_f32()).collect();
        all.folder.f16("bias.npy", &[all.n], &bias);
        let with_bias = d.chunks(2).enumerate().map(|(i, bytes)| {
            let d = half::f16::from_le_bytes([bytes[0], bytes[1]]).to_f32();
            half(d + bias[i % all.n]).to_bits()
        });
        let with_bias = le16(&with_bias.collect::<Vec<_>>());
        all.folder
            .save("e.npy", &Npy::new("<f2", &[5, 128], with_bias));
        let given = format!("{given} --bias bias.npy");
        all.folder.passes(&format!("check {given} e.npy"));
        all.folder.differs(&format!("check {given} d.npy"));
    }
}

/// Of 8 bits: the sum of every block is scaled before blocks are added, from the last one on.
#[test]
fn scales_of_columns_come_before_blocks_are_added() {
    let all = product(8, false, [5, 128, 512], 1);
    let plan = "marlin-vllm,128x128x256,u8b128,g-1 --shape 5x128x512 --multiprocessors 4";
    all.plain(plan, &all.integers);
    let order: Value = serde_json::from_slice(&all.folder.read("order.json")).unwrap();
    // A tile of K for each block.
    let blocks: Vec<Vec<f32>> = (0..4)
        .map(|block| {
            let mut alone = order.clone();
            let range = [128 * block, 128 * (block + 1)];
            alone["spec"]["split"]["parts"] = json!({"kind": "ranges", "parts": [[range]]});
            all.folder.write("order.json", alone.to_string());
            let sums = all.replayed(&format!("{PLAIN} --d-dtype fp32"));
            let sums = sums[128..].chunks(4);
            let sums = sums.map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
            sums.collect()
        })
        .collect();
    let d = |early: bool, name: &str| {
        let codes = (0..5 * all.n).map(|i| {
            let scale = all.scales[i % all.n];
            let [before, after] = if early { [scale, 1.0] } else { [1.0, scale] };
            let sums = blocks.iter().rev().map(|sums| sums[i] * before);
            let sum = sums.reduce(|x, y| x + y).unwrap();
            half::f16::from_f32(sum * after).to_bits()
        });
        let codes = le16(&codes.collect::<Vec<_>>());
        all.folder.save(name, &Npy::new("<f2", &[5, 128], codes));
    };
    d(true, "d.npy");
    d(false, "late.npy");
    let given = "--set multiprocessors=4 --weights u8b128 a.npy b.npy";
    for (name, code) in [("d.npy", 0), ("late.npy", 1)] {
        // One tile of 128 columns: with so many multiprocessors narrower ones are chosen.
        let check = format!("check {KERNEL} marlin-vllm,128x128x256 {given} {name}");
        all.folder.tcverify(&check).expect(code);
    }
}

/// Weights as NxK, with scales and zero points alike.
#[test]
fn weights_may_lie_transposed() {
    let all = product(4, true, [3, 128, 512], 4);
    let given = format!("{KERNEL} marlin-vllm --set multiprocessors=108 --weights u4 --zero-b");
    let wanted = all.replayed(&format!("{given} z.npy a.npy b.npy"));
    let folder = &all.folder;
    for (name, rows, width, descr) in [
        ("b", all.k, 1, "|u1"),
        ("z", 4, 1, "|u1"),
        ("s", 4, 2, "<f2"),
    ] {
        let bytes = folder.read(&format!("{name}.npy"))[128..].to_vec();
        let at = |row: usize, column: usize| {
            let first = (row * all.n + column) * width;
            bytes[first..first + width].to_vec()
        };
        let turned = (0..all.n).flat_map(|column| (0..rows).flat_map(move |row| [(row, column)]));
        let turned = turned.flat_map(|(row, column)| at(row, column)).collect();
        folder.save(
            &format!("{name}.npy"),
            &Npy::new(descr, &[all.n, rows], turned),
        );
    }
    let turned = all.replayed(&format!("{given} z.npy --transpose-b a.npy b.npy"));
    assert!(turned == wanted);
}

#[test]
fn what_fits_no_weights_is_refused() {
    let all = product(4, true, [3, 128, 512], 4);
    let folder = &all.folder;
    for (name, descr, shape, byte) in table! {
        // Tokens of two sequences are rows of one product.
        ("t.npy", "<f2", &[2, 3, 512][..], 0),
        ("w.npy", "<f4", &[3, 512], 0),
        ("v.npy", "<f4", &[4, 128], 0),
        ("n.npy", "<u1", &[4, 128], 0x38),
        ("o8.npy", "<u1", &[3, 512], 0x38),
        // Packed codes.
        ("p.npy", "<i4", &[64, 128], 0),
        ("q.npy", "<i4", &[512, 16], 0),
        ("r.npy", "<i4", &[128, 64], 0),
    } {
        let width: usize = descr[2..].parse().unwrap();
        let bytes = vec![byte; width * shape.iter().product::<usize>()];
        folder.save(name, &Npy::new(descr, shape, bytes));
    }
    let mut bytes = folder.read("b.npy");
    bytes[200] = 16;
    folder.write("c.npy", bytes);
    let marlin = "--set multiprocessors=108 --kernel marlin-vllm -o o.npy";
    claims! {folder, "
        each replay --arch a100 --dtype fp16 ~ {marlin} | refused
        --scale-b s.npy --weights u4 a.npy b.npy | --zero-b
        --scale-b s.npy --weights u4b8 --zero-b z.npy a.npy b.npy | z.npy | zero point 8
        --zero-b z.npy a.npy b.npy | --zero-b | --weights
        --zero-b z.npy --weights u4 a.npy b.npy | --scale-b
        --scale-b s.npy --weights u4b8 --scale-a s.npy a.npy b.npy | --weights | --scale-a
        --scale-b z.npy --weights u4b8 a.npy b.npy | z.npy
        --scale-b b.npy --weights u4b8 a.npy b.npy | b.npy
        --scale-b s.npy --weights u4b8 t.npy b.npy | t.npy | two axes
        --scale-b s.npy --weights u4b8 a.npy p.npy | p.npy | (b[:, None] >> 4 * np.arange(8)[:, None] & 15)
        --scale-b s.npy --weights u4b8 a.npy q.npy | q.npy | [0, 4, 1, 5, 2, 6, 3, 7]
        --scale-b s.npy --weights u4b8 --transpose-b a.npy r.npy | r.npy | reshape(len(b), -1)
        --scale-b s.npy --weights u4b8 a.npy c.npy | c.npy | no code of 4 bits

        # Weights become FP16 or BF16, as A is, and nothing else.
        each replay ~ --weights u4b8 -o o.npy | refused | --weights become operands in A's format, fp16 or bf16
        --arch h100 --dtype e4m3 --scale-b n.npy o8.npy b.npy
        --arch h100 --dtype e4m3 --dtype-b e5m2 --scale-b n.npy o8.npy b.npy
        --arch h100 --dtype int8 --scale-b n.npy o8.npy b.npy
        --arch ieee-fma --dtype fp32 --scale-b v.npy w.npy b.npy
        --arch h100 --dtype tf32 --scale-b v.npy w.npy b.npy
    "}
    assert!(!folder.path("o.npy").exists());
}

#[test]
fn a_product_of_weights_is_judged_in_parts() {
    let folder = Folder::new();
    let mut random = Random::named("weights in parts");
    let [m, n, k] = [48, 128, 512];
    // Products that cancel: where D is cut, another order of the sums would show.
    let number =
        |random: &mut Random| random.between(-999, 999) as f32 * 2f32.powi(random.between(-9, 3));
    let a: Vec<f32> = (0..m * k).map(|_| number(&mut random)).collect();
    let scale = |_| random.between(1, 99) as f32 / 1024.0;
    let scales: Vec<f32> = (0..k / 128 * n).map(scale).collect();
    let codes: Vec<u8> = (0..k * n).map(|_| random.below(16) as u8).collect();
    folder.f16("a.npy", &[m, k], &a);
    folder.f16("s.npy", &[k / 128, n], &scales);
    folder.save("b.npy", &Npy::new("<u1", &[k, n], codes));
    let of = "--arch a100 --dtype fp16 --set multiprocessors=108 --kernel marlin-vllm --weights u4b8 --scale-b s.npy \
              a.npy b.npy";
    folder.replay(of, "d.npy");
    for outcome in ["0", "1 | [47, 127]"] {
        claims! {folder, "
            shard plan {of} d.npy --block-rows 16 --shards 3 -o plan.json | 0
            shard run plan.json 0 -o p0.json | 0
            shard run plan.json 1 -o p1.json | 0
            shard run plan.json 2 -o p2.json | 0
            shard merge plan.json p0.json p1.json p2.json -o merged.json | {outcome}
        "}
        folder.flip("d.npy", "d.npy", 2, 1);
    }
    // Another code of the weights is another product.
    claims! {folder, "shard plan {of} d.npy --block-rows 16 --shards 3 -o plan.json | 0"}
    for changed in ["b.npy", "s.npy"] {
        let own = folder.read(changed);
        folder.flip(changed, changed, own.len() - 200, 1);
        claims! {folder, "shard run plan.json 1 -o p1.json | refused | {changed} | is not the array"}
        folder.write(changed, own);
    }
}

/// The kernel's text is of one row, whether that is a matrix or a vector.
#[test]
fn a_row_of_weights_may_be_a_vector() {
    let Product { folder, k, n, .. } = product(4, false, [1, 128, 512], 4);
    let of = "--arch a100 --dtype fp16 --set multiprocessors=108 --kernel marlin-vllm --weights u4b8 --scale-b s.npy";
    folder.replay(&format!("{of} a.npy b.npy"), "d.npy");
    folder.save("av.npy", &Npy::new("<f2", &[k], folder.payload("a.npy")));
    folder.save(
        "bv.npy",
        &Npy::new("|u1", &[1, k, n], folder.payload("b.npy")),
    );
    folder.save("dv.npy", &Npy::new("<f2", &[n], folder.payload("d.npy")));
    folder.flip("dv.npy", "wrong.npy", 1, 1);
    claims! {folder, "
        each check {of} ~
        av.npy b.npy dv.npy | 0
        a.npy bv.npy d.npy | 0
        av.npy bv.npy d.npy | 0
        av.npy bv.npy wrong.npy | 1
    "}
}

/// An audit reads no kernel's text: the report's schedule, as a file, is what the auditor states. With one scale a column
/// it scales the sums, by those of B alone.
#[test]
fn an_audit_states_the_schedule() {
    for groups in [1, 4] {
        let Product { folder, .. } = product(4, false, [6, 128, 512], groups);
        // Sums that do not cancel, so that their scales count.
        folder.generate("a fp16 7:normal:6x512");
        let unit = "--arch a100 --dtype fp16 --weights u4b8";
        let of = format!(
            "{unit} --set multiprocessors=108 --kernel marlin-vllm --scale-b s.npy a.npy b.npy"
        );
        folder.replay(&of, "d.npy");
        claims! {folder, "check {of} d.npy --json r.json | 0"}
        let mut file = folder.document("r.json")["rule"]["schedule"].clone();
        let without = |value: &Value, keep: &dyn Fn(&str) -> bool| -> Value {
            let all = value.as_object().unwrap().clone().into_iter();
            all.filter(|(key, _)| keep(key)).collect()
        };
        let constants = file.list("constants").iter();
        let known = constants.map(|known| {
            (
                known.string("name").to_owned(),
                without(known, &|key| key != "name" && key != "value"),
            )
        });
        file["known_by"] = known.collect();
        file["schema"] = json!("tcverify.schedule/1");
        let fields =
            words! {"schema | name | title | evidence | sources | notes | known_by | spec"};
        folder.write(
            "mine.json",
            without(&file, &|key| fields.contains(&key)).to_string(),
        );
        let stated = format!("{unit} --d-dtype fp16 --schedule-file mine.json --with scale_b");
        let audit = |own: &str, outcome: &str| {
            claims! {folder, "
                commit {of} d.npy -o c.json | 0
                audit challenge c.json --beacon 8430af44c2b90c8d --elements 768 -o ch.json | 0
                audit open {of} d.npy --commitment c.json --challenge ch.json -o o.bin | 0
                audit verify {own} --commitment c.json --own-challenge ch.json o.bin | {outcome}
            "}
        };
        audit(&stated, "0 | ^IDENTICAL  all 768");
        // Weights become 16-bit floats; a schedule of its own, or none, is not the committed one.
        audit(&stated.replace("--dtype fp16", "--dtype int8"), "1");
        audit(&stated.replace("--schedule-file mine.json", ""), "1");
        folder.flip("d.npy", "d.npy", 1, 1);
        audit(&stated, "1");
    }
}
