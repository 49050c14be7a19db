//! Lines about a product, however its operands are stored, and lines that are about another.

use super::*;
use crate::check::Resources;
use crate::check::{
    KernelAnswers, ModelSource, Prepared, ScheduleRequest, ScheduleSource, Tensors,
};
use crate::emu::schedule::Overrides;
use crate::num::Format;
use crate::tensor::Tensor;

/// The call of a product of M = 6, N = 10 and K = 128 in BF16: the library's A is the row-major B, stored NxK.
fn line(columns: usize, format: &str, slices: usize) -> String {
    format!(
        "[2025-11-03 19:02:38][cublasLt][1][Trace][cublasLtMatmul] A=0X1 Adesc=[type={format} rows=128 cols={columns} ld=128] \
         B=0X2 Bdesc=[type={format} rows=128 cols=6 ld=128] C=0X3 Cdesc=[type=R_16BF rows={columns} cols=6 ld={columns}] \
         D=0X3 Ddesc=[type=R_16BF rows={columns} cols=6 ld={columns}] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F \
         transa=OP_T] algo=[algoId=66 tile=MATMUL_TILE_64x32 stages=MATMUL_STAGES_64xAUTO \
         reductionScheme=REDUCTION_SCHEME_COMPUTE_TYPE numSplitsK={slices}] workSpace=0X4 workSpaceSizeInBytes=24576 beta=0 \
         outOfPlace=0 stream=0X0\n"
    )
}

fn good() -> String {
    line(10, "R_16BF", 3)
}

fn shapes(a: &[usize], b: &[usize], transposed: [bool; 2]) -> StoredShapes {
    StoredShapes {
        a: a.to_vec(),
        b: b.to_vec(),
        transposed,
        groups: None,
    }
}

fn requested() -> StoredShapes {
    shapes(&[6, 128], &[10, 128], [false; 2])
}

const NONE: [bool; 2] = [false; 2];
const B: [bool; 2] = [false, true];

/// As the request states; or in any way in which they multiply.
#[test]
fn ways_to_store_operands() {
    let layouts = |a: [usize; 2], b: [usize; 2], transposed| {
        Shapes(&shapes(&a, &b, transposed)).possible_layouts()
    };
    assert_eq!(layouts([6, 8], [8, 10], NONE), [NONE]);
    assert_eq!(layouts([6, 8], [10, 8], NONE), [NONE, B]);
    assert_eq!(layouts([8, 6], [8, 10], NONE), [NONE, [true, false]]);
    assert_eq!(layouts([8, 6], [10, 8], NONE), [NONE, [true; 2]]);
    assert_eq!(layouts([6, 8], [10, 9], NONE), [NONE]);
    // What the request states is not guessed.
    assert_eq!(layouts([6, 8], [8, 10], B), [B]);
    let batch = Shapes(&shapes(&[3, 6, 8], &[8, 10], NONE)).product(NONE);
    let shape = |m| Shape { m, n: 10, k: 8 };
    assert_eq!(
        (batch.shape, batch.batches, batch.shared),
        (shape(6), 3, true)
    );
    assert_eq!(batch.possible_calls(), [(shape(6), 3), (shape(18), 1)]);
    let own = Shapes(&shapes(&[3, 6, 8], &[3, 8, 10], NONE)).product(NONE);
    assert_eq!(own.possible_calls(), [(shape(6), 3)]);
}

#[test]
fn the_line_of_a_log() {
    let options = Options {
        operands: Some([Format::Bf16; 2]),
        ..Options::default()
    };
    let asked_for = check(KernelSource::Text(String::new()));
    let found =
        |log: &str, shapes: &StoredShapes| of_log(log, &Shapes(shapes), &options, &asked_for);
    let (number, reading) = found(&good(), &requested()).expect("its line");
    assert_eq!(number, 1);
    assert_eq!(Shapes(&requested()).under(&reading), B);
    // The text is about this product under no other way.
    let stored = stored(B, &reading);
    assert!(
        stored.starts_with("B is stored NxK, as the text says"),
        "{stored}"
    );
    for (transposed, words) in [
        ([true, false], "A is stored KxM,"),
        ([true; 2], "A is stored KxM and B NxK,"),
    ] {
        assert!(super::stored(transposed, &reading).starts_with(words));
    }
    // Among others, and twice the same.
    let log = line(11, "R_16BF", 3) + "another line\n" + &good() + &good();
    assert_eq!(found(&log, &requested()).expect("its line").0, 3);
    for (log, shapes, said) in [
        (
            good() + &line(10, "R_16BF", 4),
            requested(),
            "lines 1 and 2 both describe this product, but with different kernels",
        ),
        (
            String::new(),
            requested(),
            "has no line that launches a product",
        ),
        (
            good(),
            shapes(&[6, 128], &[11, 128], B),
            "1 lines describe others, such as",
        ),
        (
            line(10, "R_16F", 3),
            requested(),
            "in these formats; 1 lines describe others",
        ),
    ] {
        let refused = found(&log, &shapes).expect_err("no line");
        assert!(refused.contains(said), "{refused}");
    }
}

fn check(said: KernelSource) -> Check {
    let mut check = Check::in_memory("hopper", Format::Bf16);
    check.schedule = ScheduleRequest {
        from: ScheduleSource::Kernel(Box::new(KernelRequest {
            source: said,
            answers: KernelAnswers::default(),
        })),
        overrides: Overrides::default(),
    };
    check
}

fn prepared(check: &Check) -> Result<Prepared, CheckError> {
    let zeros = |format, shape: [usize; 2]| {
        Tensor::from_codes(format, shape.to_vec(), &vec![0; shape[0] * shape[1]])
    };
    let (a, b) = (
        zeros(Format::Bf16, [6, 128]),
        zeros(Format::Bf16, [10, 128]),
    );
    Prepared::from_tensors(
        check,
        &Resources {
            texts: texts(),
            ..Resources::default()
        },
        Tensors::of(a, b, zeros(Format::Bf16, [6, 10])),
    )
}

/// The order of the sums, D's format and how B is stored are the text's, and the report says so.
#[test]
fn a_plan_from_a_text() {
    let check_of_text = check(KernelSource::Text(good()));
    let planned = prepared(&check_of_text).expect("a product");
    assert!(!planned.request().operands.transpose_b);
    assert!(planned.spelled_out().operands.transpose_b);
    let scheduling = planned.scheduling();
    assert_eq!(scheduling.result(), Some(Format::Bf16));
    assert_eq!(scheduling.said_sha256(), Some(sha256(good())));
    let description = scheduling.kernel_description().expect("a text");
    // Its begin: a page has no room for all of it.
    let shown = description.text.as_deref().expect("the text");
    assert!(good().starts_with(&shown[..100]), "{shown}");
    assert!(
        description
            .assumed
            .iter()
            .any(|one| one.starts_with("B is stored NxK"))
    );
    // Three slices: two of a tile and one of what is left.
    let report = planned.run(&()).expect("a verdict");
    assert!(
        report
            .rule
            .product()
            .expect("a product")
            .schedule
            .as_ref()
            .expect("a schedule")
            .kernel
            .is_some()
    );
    let spec = scheduling.spec().clone();
    assert_ne!(
        spec,
        prepared(&check(KernelSource::Text(line(10, "R_16BF", 2))))
            .unwrap()
            .scheduling()
            .spec()
            .clone()
    );

    // The instruction that the text says, and another.
    let own = scheduling.instruction();
    if let Some(own) = own {
        for (instruction, taken) in [(own.to_owned(), true), (format!("{own}x"), false)] {
            let mut check = check_of_text.clone();
            check.model.instruction = Some(instruction);
            let found = prepared(&check).map_err(|error| error.to_string());
            let refused = found
                .as_ref()
                .err()
                .is_some_and(|error| error.contains("the instruction"));
            assert_eq!(!refused, taken, "{:?}", found.err());
        }
    }
    // Alpha is not a part of a kernel's text.
    let mut scaled = check_of_text.clone();
    scaled.schedule.overrides.alpha = Some(crate::num::F32(0x4000_0000).into());
    let scaled = prepared(&scaled).expect("a product");
    assert_eq!(scaled.scheduling().factors().alpha, 0x4000_0000);
    let mut transposed = check_of_text.clone();
    transposed.operands.transpose_b = true;
    assert!(
        prepared(&transposed)
            .expect("a product")
            .scheduling()
            .kernel_description()
            .unwrap()
            .assumed
            .iter()
            .all(|one| !one.starts_with("B is"))
    );
}

/// Answers and formats reach the plan; a size of 0 does not.
#[test]
fn answers_are_options() {
    let request = KernelRequest {
        source: KernelSource::Text(good()),
        answers: KernelAnswers {
            accumulation: Some(Accumulation::Slow),
            multiprocessors: Some(8),
            whole_remainder: true,
            ..KernelAnswers::default()
        },
    };
    let mut check = Check::in_memory("h100", Format::E4m3);
    check.schedule.from = ScheduleSource::Kernel(Box::new(request));
    let options_of = |check: &Check| super::options_of(&RequestFields::from(check.clone()));
    check.model.dtype_b = Some(Format::E5m2);
    check.d_dtype = Some(Format::Fp16);
    check.schedule.overrides.split_k = Some(3);
    let options = options_of(&check).expect("options");
    assert_eq!(options.operands, Some([Format::E4m3, Format::E5m2]));
    assert_eq!(options.result, Some(Format::Fp16));
    assert_eq!(
        (options.split_k, options.multiprocessors),
        (Some(3), Some(8))
    );
    assert_eq!(
        (options.fast_accumulation, options.whole_remainder),
        (Some(false), true)
    );
    assert!(options.capability.is_some());
    check.schedule.overrides.split_k = Some(0);
    let refused = options_of(&check).expect_err("no slices").to_string();
    assert!(refused.contains("`split_k` is 0"), "{refused}");
    check.schedule.overrides.split_k = None;
    check.model.from = ModelSource::Catalogue("nothing".into());
    assert!(options_of(&check).is_err());
}

/// What is missing is asked for by its field, if it has one.
#[test]
fn missing_answers_name_a_field() {
    let missing = |ask: &'static str| {
        let error = KernelError::Missing {
            what: "something",
            why: "it decides".into(),
            ask,
        };
        field_error("kernel_log", &None, error)
    };
    for (ask, field) in [
        ("tile-k", "tile_k"),
        ("multiprocessors", "multiprocessors"),
        ("no-such", "kernel_log"),
    ] {
        match missing(ask) {
            CheckError::Request { field: found, .. } => assert_eq!(found, field),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn where_the_words_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.txt");
    std::fs::write(&path, good()).expect("a file");
    let table = KernelSource::Table {
        file: path.clone(),
        workspace: None,
    };
    for (said, field, text, at) in [
        (KernelSource::Text(good()), "kernel", &good()[..], None),
        (
            KernelSource::Log(path.clone()),
            "kernel_log",
            "",
            Some(&path),
        ),
        (table, "kernel_table", "", Some(&path)),
    ] {
        assert_eq!((said.field(), said.text(), said.path()), (field, text, at));
        assert_eq!(said.sha256().expect("it can be read"), sha256(good()));
    }
    let log = check(KernelSource::Log(path.clone()));
    let found = prepared(&log).expect("a product");
    let description = found
        .scheduling()
        .kernel_description()
        .expect("a text")
        .clone();
    let place = description.place.expect("a file");
    assert!(place.ends_with("log.txt, line 1"), "{place}");
    assert_eq!(description.text, None);
    std::fs::write(&path, line(10, "R_16BF", 4)).expect("a file");
    assert_ne!(
        KernelSource::Log(path).sha256().expect("it can be read"),
        sha256(good())
    );
}
