//! A GEMMDesc and the sum it describes: worked by hand, and by an evaluation that goes over single k.

use serde_json::{Value, json};

use super::expression::{Direct, Written};
use super::schedules::{agree, shape};
use super::*;
use crate::random::SplitMix64;

pub(super) fn matrix(more: Value) -> Value {
    let mut fields = json!({
        "operand_dtype": "float16", "accumulate_dtype": "float32", "output_dtype": "float16",
        "algorithm": "MMA_SYNC", "instruction_k": 4, "use_fast_accum": true,
    });
    merge(&mut fields, more);
    fields
}

pub(super) fn scalar(cuts: Value) -> Value {
    json!({
        "operand_dtype": "float32", "accumulate_dtype": "float32", "output_dtype": "float32",
        "algorithm": "SCALAR_FUSED_MULTIPLY_ADD", "k_cuts": cuts,
    })
}

pub(super) fn merge(fields: &mut Value, more: Value) {
    let Value::Object(more) = more else {
        panic!("an object")
    };
    fields.as_object_mut().unwrap().extend(more);
}

pub(super) fn cut(more: Value) -> Value {
    let mut fields = json!({"partial_dtype": "float32", "merge_dtype": "float32"});
    merge(&mut fields, more);
    fields
}

/// With fields of a text, whose cuts add in float32 unless they say otherwise.
fn with_cuts(mut fields: Value, more: &str) -> Value {
    let mut more: Value = serde_json::from_str(more.trim()).expect(more);
    let cuts = more.get_mut("k_cuts").and_then(Value::as_array_mut);
    for own in cuts.into_iter().flatten() {
        *own = cut(own.take());
    }
    merge(&mut fields, more);
    fields
}

pub(super) fn planned(fields: &Value, k: usize) -> Result<Plan, KernelError> {
    read(&fields.to_string())?.plan(&shape(k), &Options::default())
}

fn written(fields: &Value, k: usize) -> String {
    let plan = planned(fields, k).unwrap_or_else(|error| panic!("{fields}: {error}"));
    let sum = plan.evaluate(&Written);
    assert_eq!(sum, Direct { fields }.sum(k), "{fields}");
    agree(&fields.to_string(), shape(k), &Options::default(), 5).unwrap();
    sum.text()
}

/// The examples of pytorch's own page and those that follow from its rules; chains are written flat.
#[test]
fn worked_examples() {
    let table = r#"
        10 | matrix | {} | <d[0..3] d[4..7] d[8..9]>
        10 | matrix | {"k_loop_step": 4} | <d[0..1] d[2..5] d[6..9]>
        22 | matrix | {"k_loop_step": 8} | <d[0..3] d[4..5] d[6..9] d[10..13] d[14..17] d[18..21]>
        12 | matrix | {"use_fast_accum": false} | (((0 + d[0..3]) + d[4..7]) + d[8..11])
        12 | matrix | {"instruction_k": 2, "k_cuts": [{"span": 4}]} | ((<d[0..1] d[2..3]> + <d[4..5] d[6..7]>) + <d[8..9] d[10..11]>)
        12 | scalar | {"k_cuts": [{"span": 6}, {"span": 2}]} | (((<0 1> + <2 3>) + <4 5>) + ((<6 7> + <8 9>) + <10 11>))
        12 | scalar | {"k_cuts": [{"layout": "STRIDED", "span": 2, "count": 3}]} | ((<0 1 6 7> + <2 3 8 9>) + <4 5 10 11>)
        8 | scalar | {"k_cuts": [{"layout": "STRIDED", "span": 2, "count": 4, "merge": "PAIRWISE_TREE"}]} | ((<0 1> + <2 3>) + (<4 5> + <6 7>))
        8 | scalar | {"k_cuts": [{"layout": "STRIDED", "span": 2, "count": 2}, {"layout": "STRIDED", "span": 2, "count": 2}]} | ((<0 1> + <4 5>) + (<2 3> + <6 7>))
        8 | scalar | {"k_cuts": [{"layout": "STRIDED", "span": 1, "count": 2, "period": 3, "divisor": 1}]} | (<0 2 3 5 6> + <1 4 7>)
        8 | scalar | {"k_cuts": [{"layout": "STRIDED", "span": 1, "count": 2, "period": 3, "divisor": 2}]} | (<0 1 3 4 6 7> + <2 5>)
        20 | matrix | {"k_loop_step": 8, "k_cuts": [{"span": 8}]} | ((<d[0..3] d[4..7]> + <d[8..11] d[12..15]>) + d[16..19])
        "#;
    for row in table.lines().filter(|row| row.contains(" | ")) {
        let [k, unit, more, want] = row.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let unit = match unit {
            "matrix" => matrix(json!({})),
            _ => scalar(json!([])),
        };
        let fields = with_cuts(unit, more);
        assert_eq!(
            written(&fields, k.trim().parse().unwrap()),
            want,
            "{fields}"
        );
    }
    let span = |span: usize| cut(json!({"span": span}));
    // Asked for as five slices on a grain of 64: four are made.
    let plan = planned(&matrix(json!({"k_cuts": [span(256)]})), 1000).unwrap();
    assert_eq!(lengths(&plan), [256, 256, 256, 232]);
}

/// The second kernel of a dot product, of 37 blocks: every level reads a digit of one label, and some parts are
/// empty.
#[test]
fn digits_of_one_label() {
    let digit = |count: usize, divisor: usize| {
        cut(
            json!({"span": 2, "layout": "STRIDED", "count": count, "period": 37, "divisor": divisor}),
        )
    };
    let fields = scalar(json!([
        digit(4, 1),
        digit(8, 4),
        digit(2, 32),
        digit(2, 64)
    ]));
    let text = written(&fields, 150);
    assert!(text.contains("(<0 1 74 75 148 149> + 0)"), "{text}");
    let plan = planned(&fields, 150).unwrap();
    assert!(
        plan.assumed
            .iter()
            .any(|what| what.contains("k_cuts[1].period"))
    );
}

/// Random descriptions of up to four cuts.
struct Random(SplitMix64);

impl Random {
    fn below(&mut self, count: u64) -> usize {
        (self.0.word() % count) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64)]
    }

    fn cut(&mut self, level: usize, instruction_k: usize) -> Value {
        let span = instruction_k * (1 + self.below(6));
        let partial = match level {
            0 => self.pick(&["float32", "float32", "float64", "float16", "bfloat16"]),
            _ => self.pick(&["float32", "float64"]),
        };
        let merged = match level {
            0 if partial.starts_with("float3") => self.pick(&["float32", "float32", "bfloat16"]),
            _ => "float32",
        };
        let mut fields = json!({
            "span": span, "partial_dtype": partial, "merge_dtype": merged,
            "merge": self.pick(&["SEQUENTIAL", "SEQUENTIAL", "PAIRWISE_TREE"]),
        });
        if self.below(2) == 0 {
            let count = 2 + self.below(4);
            merge(&mut fields, json!({"layout": "STRIDED", "count": count}));
            if self.below(2) == 0 {
                let (period, divisor) = (1 + self.below(9), 1 + self.below(3));
                merge(&mut fields, json!({"period": period, "divisor": divisor}));
            }
        }
        fields
    }

    fn description(&mut self) -> Value {
        let is_matrix = self.below(3) > 0;
        let step = if is_matrix { self.pick(&[2, 4, 8]) } else { 1 };
        let levels = self.below(4);
        let cuts: Vec<Value> = (0..levels).map(|level| self.cut(level, step)).collect();
        let mut fields = if is_matrix {
            matrix(json!({"instruction_k": step, "use_fast_accum": self.below(2) == 0}))
        } else {
            scalar(json!([]))
        };
        if is_matrix && self.below(2) == 0 {
            let turn = step * (1 + self.below(5));
            merge(&mut fields, json!({"k_loop_step": turn}));
        }
        merge(
            &mut fields,
            json!({"k_cuts": cuts, "output_dtype": "bfloat16"}),
        );
        fields
    }
}

/// Plan, schedule and both engines are what a description says.
#[test]
fn random_descriptions() {
    let mut random = Random(SplitMix64(20));
    let (mut planned_of, mut nested, mut refused) = (0, 0, 0);
    for seed in 0..600 {
        let fields = random.description();
        let k = 1 + random.below(150);
        let plan = match planned(&fields, k) {
            Ok(plan) => plan,
            Err(KernelError::Unplanned { .. }) => {
                refused += 1;
                continue;
            }
            Err(error) => panic!("{fields}: {error}"),
        };
        planned_of += 1;
        let direct = Direct { fields: &fields };
        assert_eq!(plan.evaluate(&Written), direct.sum(k), "{fields}, {k}");
        assert_eq!(plan.covered(), k);
        nested += usize::from(plan.slices.iter().any(|slice| slice.lanes.len() > 1));
        match agree(&fields.to_string(), shape(k), &Options::default(), seed) {
            Ok(_) => {}
            // Sums of sums that are rounded: a plan, and no schedule.
            Err(KernelError::NoSchedule { why }) => {
                assert!(why.contains("partial_dtype"), "{why}");
            }
            Err(error) => panic!("{fields}: {error}"),
        }
    }
    assert!(
        planned_of > 250 && nested > 60 && refused > 20,
        "{planned_of} {nested} {refused}"
    );
}

/// What is another order has another digest and other bits.
#[test]
fn every_field_decides() {
    let bits = |fields: &Value, k: usize| -> Vec<u64> {
        let one = |seed| agree(&fields.to_string(), shape(k), &Options::default(), seed).unwrap();
        (0..12).map(one).collect()
    };
    let both = |row: &str| {
        let (one, other) = row.split_once(" | ").unwrap();
        [one, other].map(|more| with_cuts(matrix(json!({"instruction_k": 16})), more))
    };
    let rows = |table: &'static str| table.lines().filter(|row| row.contains(" | ")).map(both);
    let different = r#"
        {} | {"use_fast_accum": false}
        {} | {"k_loop_step": 64}
        {} | {"instruction_k": 8}
        {} | {"k_cuts": [{"span": 64}]}
        {"k_cuts": [{"span": 64}]} | {"k_cuts": [{"span": 80}]}
        {"k_cuts": [{"span": 64}]} | {"k_cuts": [{"span": 64}, {"span": 32}]}
        {"k_cuts": [{"span": 64}]} | {"k_cuts": [{"span": 64, "partial_dtype": "bfloat16"}]}
        {"k_cuts": [{"span": 64, "partial_dtype": "float16"}]} | {"k_cuts": [{"span": 64, "partial_dtype": "bfloat16"}]}
        {"k_cuts": [{"span": 64, "merge_dtype": "float16"}]} | {"k_cuts": [{"span": 64}]}
        {"k_cuts": [{"span": 16, "layout": "STRIDED", "count": 4}]} | {"k_cuts": [{"span": 16, "layout": "STRIDED", "count": 4, "merge": "PAIRWISE_TREE"}]}
        {"k_cuts": [{"span": 16, "layout": "STRIDED", "count": 4}]} | {"k_cuts": [{"span": 16, "layout": "STRIDED", "count": 3}]}
        {"k_cuts": [{"span": 16, "layout": "STRIDED", "count": 4}]} | {"k_cuts": [{"span": 16, "layout": "STRIDED", "count": 4, "period": 7}]}
        {"k_cuts": [{"span": 16, "layout": "STRIDED", "count": 4, "period": 7}]} | {"k_cuts": [{"span": 16, "layout": "STRIDED", "count": 4, "period": 7, "divisor": 2}]}
        "#;
    for [one, other] in rows(different) {
        let k = 256 + 40;
        let digest = |fields: &Value| planned(fields, k).unwrap().spec().unwrap().sha256();
        assert_ne!(digest(&one), digest(&other), "{one}\n{other}");
        assert_ne!(bits(&one, k), bits(&other, k), "{one}\n{other}");
    }
    let the_same = r#"
        {"k_cuts": [{"span": 16, "layout": "STRIDED", "count": 4}]} | {"k_cuts": [{"span": 16, "layout": "STRIDED", "count": 4, "period": 4}]}
        {} | {"k_loop_step": null, "k_cuts": [], "epilogue": "NONE", "input_precision": "ieee"}
        {"k_cuts": [{"span": 64}]} | {"k_cuts": [{"span": 64, "merge_order": "sequential", "layout": "KCutLayout.CONTIGUOUS", "period": null, "divisor": 1}]}
        "#;
    for [one, other] in rows(the_same) {
        let spec = |fields: &Value| planned(fields, 296).unwrap().spec().unwrap();
        assert_eq!(spec(&one), spec(&other), "{one}\n{other}");
    }
}

/// Which instruction a description names is computed.
#[test]
fn the_algorithm_is_the_instruction() {
    let on = |algorithm: &str, gpu: &str| {
        let fields = matrix(json!({"algorithm": algorithm, "instruction_k": 16}));
        let mut options = Options::default();
        options.on(gpu).unwrap();
        let plan = read(&fields.to_string())
            .unwrap()
            .plan(&shape(64), &options);
        plan.map(|plan| plan.model().instruction.unwrap().to_owned())
            .map_err(|error| error.to_string())
    };
    for (algorithm, gpu, instruction) in [
        ("MMA_SYNC", "sm_90", "mma"),
        ("WGMMA", "sm_90", "wgmma"),
        ("MMA_SYNC", "sm_80", "mma"),
        ("TCGEN05_MMA", "sm_100", "tcgen05"),
    ] {
        assert_eq!(on(algorithm, gpu).as_deref(), Ok(instruction));
    }
    assert!(
        on("WGMMA", "sm_80")
            .unwrap_err()
            .contains("wgmma instructions (WGMMA)")
    );
    assert!(on("TCGEN05_MMA", "sm_90").unwrap_err().contains("tcgen05"));
}

/// What is done to the finished sum.
#[test]
fn epilogues() {
    let spec = |epilogue: Value| {
        let fields = matrix(json!({"epilogue": epilogue}));
        planned(&fields, 100)
            .unwrap()
            .spec()
            .map_err(|error| error.to_string())
    };
    assert!(spec(json!(null)).is_ok());
    assert_eq!(spec(json!("none")), spec(json!(null)));
    assert!(spec(json!("IN_ACCUMULATOR")).is_ok());
    let after = spec(json!("EpilogueOrder.AFTER_ROUNDING")).unwrap_err();
    assert!(after.contains("epilogue is AFTER_ROUNDING"), "{after}");
    let stored = matrix(json!({
        "epilogue": "IN_ACCUMULATOR", "k_cuts": [cut(json!({"span": 16, "merge_dtype": "float16"}))],
    }));
    let refused = planned(&stored, 100).unwrap_err().to_string();
    assert!(refused.contains("k_cuts[0].merge_dtype"), "{refused}");
}

/// Integers add up to the same in any order; TF32 is the operands' format.
#[test]
fn other_operands() {
    let fields = json!({
        "operand_dtype": "torch.int8", "accumulate_dtype": "torch.int32", "output_dtype": "torch.int32",
        "algorithm": "MMA_SYNC", "instruction_k": 32, "use_fast_accum": false,
        "k_cuts": [{"span": 64, "partial_dtype": "torch.int32", "merge_dtype": "torch.int32"}],
    });
    let spec = planned(&fields, 100).unwrap().spec().unwrap();
    assert_eq!((spec.split, spec.inner.len()), (None, 0));
    let mut fields = matrix(json!({"operand_dtype": "float32", "input_precision": "TF32"}));
    let plan = planned(&fields, 100).unwrap();
    assert_eq!(plan.settings.operand(), Some(Format::Tf32));
    assert!(
        plan.assumed
            .iter()
            .any(|what| what.contains("--tf32-input"))
    );
    merge(&mut fields, json!({"input_precision": "IEEE"}));
    assert_eq!(
        planned(&fields, 100).unwrap().settings.operand(),
        Some(Format::Fp32)
    );
}

/// A plan of any library's words, written as a description, is the same sum.
#[test]
fn plans_are_written_as_descriptions() {
    let options = |gpu: &str| {
        let mut options = Options {
            result: Some(Format::Bf16),
            ..Options::default()
        };
        options.on(gpu).unwrap();
        options
    };
    let write = |text: &str, gpu: &str, k: usize| {
        let options = options(gpu);
        let text = if text.starts_with('{') {
            text.to_owned()
        } else {
            format!("{text},dtype=bf16")
        };
        let plan = read(&text).unwrap().plan(&shape(k), &options).unwrap();
        plan.gemm_desc().map_err(|error| error.to_string())
    };
    let cutlass = "family=cutlass,tile_k=32,instruction_k=16";
    for (text, gpu, k) in [
        ("algo=66,stages=35,splitK=3,reduction=2", "sm_90", 1000),
        ("algo=21,stages=13,splitK=2,reduction=2", "sm_80", 1000),
        ("algo=21,stages=13,splitK=5,reduction=4", "sm_80", 1000),
        ("algo=21,stages=7,splitK=3,reduction=1", "sm_80", 1003),
        ("algo=11,custom=0", "sm_90", 4096),
        ("algo=13,custom=48", "sm_90", 600),
        ("algo=13,custom=41", "sm_90", 600),
        ("algo=16", "sm_90", 600),
        (&format!("{cutlass},sliced=2,splitK=1"), "sm_80", 128),
    ] {
        let fields = write(text, gpu, k);
        // What follows from zero, or from empty lanes, has no words there.
        let Ok(fields) = fields else {
            assert!(["algo=11,custom=0"].contains(&text), "{text}: {fields:?}");
            continue;
        };
        let again = planned(&fields, k).unwrap();
        assert_eq!(
            again.evaluate(&Written),
            Direct { fields: &fields }.sum(k),
            "{text}"
        );
    }
    for (text, gpu, k, words) in [
        (
            "algo=66,stages=35,splitK=9,reduction=2",
            "sm_90",
            8648,
            "omits the last 8 k",
        ),
        (
            "algo=14,splitK=64",
            "sm_90",
            9000,
            "an order that GEMMDesc lacks",
        ),
    ] {
        let refused = write(text, gpu, k).unwrap_err();
        assert!(refused.contains(words), "{refused}");
    }
    let mut random = Random(SplitMix64(7));
    let mut count = 0;
    for _ in 0..200 {
        let fields = random.description();
        let Ok(plan) = planned(&fields, 100) else {
            continue;
        };
        let written = plan.gemm_desc().unwrap();
        let again = planned(&written, 100).unwrap();
        assert!(plan.is_equivalent_to(&again).unwrap());
        assert_eq!(plan.spec().ok(), again.spec().ok(), "{fields}\n{written}");
        count += 1;
    }
    assert!(count > 80, "{count}");
    let [one, other] =
        [true, false].map(|fast| planned(&matrix(json!({"use_fast_accum": fast})), 64).unwrap());
    assert!(!one.is_equivalent_to(&other).unwrap());
}

/// FP64 is neither described nor scheduled as f32, and words name what sums are kept in.
#[test]
fn sums_are_named() {
    let options = Options {
        capability: Some(Capability::new(8, 0)),
        split_k: Some(4),
        scheme: Some(Scheme::ComputeType),
        result: None,
        ..Options::default()
    };
    let of = |text: &str| read(text).unwrap().plan(&shape(64), &options).unwrap();
    let double = of("cutlass_80_tensorop_d884gemm_64x64_16x3_nn_align1");
    assert!(
        double.summary().contains("added in f64 in order"),
        "{}",
        double.summary()
    );
    assert!(matches!(
        double.gemm_desc(),
        Err(KernelError::NoDescription { .. })
    ));
    assert!(matches!(
        double.schedule(),
        Err(KernelError::NoSchedule { .. })
    ));
    let integers = of("cutlass_80_tensorop_i16832gemm_s8_128x128_64x4_tn_align16");
    assert!(
        integers.summary().contains("added in int32 in order"),
        "{}",
        integers.summary()
    );
}

#[test]
fn amd_has_no_description() {
    let mut options = Options {
        operands: Some([Format::Fp16; 2]),
        result: Some(Format::Fp16),
        ..Options::default()
    };
    options.on("cdna3").unwrap();
    let text = "DepthU=32,GSU=1,LSU=1,SU=0,MatrixInstruction=16x16x16";
    let plan = read(text).unwrap().plan(&shape(64), &options).unwrap();
    assert!(matches!(
        plan.gemm_desc(),
        Err(KernelError::NoDescription { .. })
    ));
}

/// A K near the limit has more groups than anybody counts.
#[test]
fn lines_of_a_long_sum_are_short_work() {
    let line = |k| {
        plan("algo=66,stages=35,dtype=bf16,splitK=1", k)
            .slice_lines(4)
            .concat()
    };
    assert!(!line(1 << 39).contains("residue"));
    let odd = line((1 << 39) + 40);
    assert!(
        odd.contains("residue 40: instruction 34359738370 has 8 of 16 k"),
        "{odd}"
    );
}
