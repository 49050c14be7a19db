//! What a library's words say, on the command line; and products that a GPU computed, replayed from the
//! configurations that computed them.

use std::path::PathBuf;

use crate::support::case::codes;
use crate::support::engines::{engines, name};
use crate::support::{Folder, Run, say};
use rayon::prelude::*;
use serde_json::{Value, json};
use tcverify::emu::schedule::{BoundSchedule, Schedule, Values};
use tcverify::emu::{Catalogue, Engine, Problem, Replay};
use tcverify::io::Source;
use tcverify::libraries::{self, Options, Shape};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

const LOG: &str = "[2025-11-03 19:02:38][cublasLt][1][Trace][cublasLtMatmul] A=0X1 Adesc=[type=R_16BF rows=4096 cols=64 ld=4096] B=0X2 Bdesc=[type=R_16BF rows=4096 cols=32 ld=4096] C=0X3 Cdesc=[type=R_16BF rows=64 cols=32 ld=64] D=0X3 Ddesc=[type=R_16BF rows=64 cols=32 ld=64] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transa=OP_T] algo=[algoId=66 tile=MATMUL_TILE_64x32 stages=MATMUL_STAGES_64xAUTO reductionScheme=REDUCTION_SCHEME_COMPUTE_TYPE numSplitsK=3] workSpace=0X4 workSpaceSizeInBytes=24576 beta=0 outOfPlace=0 stream=0X0";

/// `tcverify kernels` with a text that has spaces.
fn kernels(folder: &Folder, command: &str, text: &str, more: &str) -> Run {
    folder.words(
        ["kernels", command, text]
            .into_iter()
            .chain(more.split_whitespace()),
    )
}

#[test]
fn explain_shows_every_word() {
    let folder = Folder::new();
    let run = kernels(&folder, "explain", LOG, "").expect(0);
    for words in [
        "product 32x64x4096",
        "numSplitsK=3",
        "at most 3 slices",
        "customOption=0",
        "default",
        "workSpaceSizeInBytes=24576",
        "slices in f32",
        "Ddesc.type=R_16BF",
        "How the order is known",
        "[bitequiv] github.com/",
    ] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("UNKNOWN"));
    let odd = LOG.replace("numSplitsK=3", "numSplitsK=3 wobble=7");
    let run = kernels(&folder, "explain", &odd, "").expect(0);
    assert!(run.stdout.contains("wobble=7") && run.stdout.contains("UNKNOWN"));
    let json = kernels(&folder, "explain", LOG, "--json").expect(0).json();
    assert_eq!(json["family"]["value"], "nvjet");
    assert_eq!(
        json["settings"]["split_k"],
        json!({"value": 3, "how": "stated", "from": "numSplitsK=3"})
    );
    assert_eq!(json["product"], json!({"m": 32, "n": 64, "k": 4096}));
}

#[test]
fn a_log_file_is_explained_line_by_line() {
    let folder = Folder::new();
    let other =
        "[cublasLt][1][Api][cublasLtMatmulAlgoGetHeuristic] maxWorkspaceSizeinBytes=33554432";
    folder.write(
        "lt.log",
        format!(
            "{other}\n{LOG}\nnoise\n{}\n",
            LOG.replace("algoId=66", "algoId=41")
        ),
    );
    let run = folder.tcverify("kernels explain --log lt.log").expect(0);
    assert!(
        run.stdout
            .contains("line 2: 32x64x4096, nvjet: 3 slices of 1408 k"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout
            .contains("line 4: 32x64x4096, unknown: no plan: the summation order of kernels of ALGO_ID 41 is not known"),
        "{}",
        run.stdout
    );
    folder.write("empty.log", "nothing\n");
    folder
        .tcverify("kernels explain --log empty.log")
        .refuses(&["CUBLASLT_LOG_LEVEL"]);
}

#[test]
fn plan_warns_of_the_dropped_remainder() {
    let folder = Folder::new();
    let text = "algo=66,stages=35,splitK=9,reduction=2";
    let run = kernels(&folder, "plan", text, "--dtype fp16 --shape 32x32x8648").expect(0);
    assert!(
        run.stdout
            .contains("warning: this D omits the last 8 k (from k=8640)"),
        "{}",
        run.stdout
    );
    let json = kernels(
        &folder,
        "plan",
        text,
        "--dtype fp16 --shape 32x32x8648 --json",
    )
    .expect(0)
    .json();
    assert_eq!(json["plan"]["lost"], json!({"count": 8, "first": 8640}));
    let whole = kernels(
        &folder,
        "plan",
        text,
        "--dtype fp16 --shape 32x32x8648 --whole-remainder",
    )
    .expect(0);
    assert!(!whole.stdout.contains("warning"), "{}", whole.stdout);
}

#[test]
fn a_plan_is_a_schedule_for_a_check() {
    let folder = Folder::new();
    let name = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn";
    let open = "--shape 100x2560x9728 --split-k 5 --reduction OUTPUT_TYPE --schedule order.json";
    let run = kernels(&folder, "plan", name, open).expect(0);
    assert!(run.stdout.contains("5 slices of 1984 k"), "{}", run.stdout);
    folder.tcverify("schedules --file order.json").expect(0);
    let json: Value = serde_json::from_slice(&folder.read("order.json")).unwrap();
    assert_eq!(json["spec"]["tile_k"], 64);
    let json = kernels(
        &folder,
        "plan",
        name,
        "--shape 100x2560x9728 --split-k 5 --reduction 4 --json",
    )
    .expect(0)
    .json();
    assert_eq!(json["plan"]["settings"]["split_k"]["how"], "given");
    assert_eq!(json["model"]["instruction"], "mma");
    assert_eq!(json["schedule"]["spec"]["tile_k"], 64);
}

#[test]
fn what_is_wrong_is_said_in_a_sentence() {
    let folder = Folder::new();
    let plan = |text: &str, more: &str, words: &[&str]| {
        kernels(&folder, "plan", text, more).refuses(words);
    };
    plan("algo=41", "--shape 1x2x3", &["ALGO_ID 41", "identify"]);
    plan(
        LOG,
        "--shape 32x64x4097",
        &["32x64x4096", "32x64x4097", "another product"],
    );
    plan(LOG, "--arch a100", &["sm_90 and later"]);
    plan(
        "algo=21,stages=15,splitK=99,reduction=2",
        "--dtype bf16 --shape 8x8x64",
        &["99 parts, but K is 64"],
    );
    plan(
        "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT",
        "--shape 8x8x64",
        &["slices", "--split-k"],
    );
    plan(
        "algo=66,splitK=4,reduction=2",
        "--dtype bf16 --shape 8x8x640 --split-k 5",
        &["4", "5"],
    );
    plan("algo=66", "--dtype bf16", &["--shape"]);
    plan("algo=66", "--dtype bf16 --shape 8x8x0", &["K is 0"]);
    plan(
        "algo=60,custom=0",
        "--arch mi300x --shape 8x8x64",
        &["cdna3"],
    );
    plan("gibberish", "--shape 8x8x8", &["gibberish", "kernels list"]);
    kernels(&folder, "explain", "algo=\u{1b}[31m", "").refuses(&["\\u{1b}"]);
}

#[test]
fn the_list_says_how_much_is_known() {
    let folder = Folder::new();
    let run = folder.tcverify("kernels list").expect(0);
    for words in [
        "captured  RTX 4060",
        "compared  H100",
        "published all",
        "ALGO_ID   66",
        "unknown:",
    ] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    let json = folder.tcverify("kernels list --json").expect(0).json();
    assert_eq!(json.as_array().unwrap().len(), libraries::FAMILIES.len());
}

#[test]
fn a_table_answers_for_a_log() {
    let folder = Folder::new();
    let entry = |workspace: u64, split: u32| {
        json!({"m": 32, "n": 64, "k": 8192, "a": "bf16", "b": "bf16", "d": "bf16", "layout": "nn", "workspace": workspace,
            "configuration": {"algo": 66, "tile": 15, "stages": 35, "split_k": split, "reduction": if split > 1 { 2 } else { 0 },
                "swizzle": 0, "custom": 0, "inner_shape": 0, "cluster_shape": 3}})
    };
    let table = json!({"schema": "tcverify.kernel-table/1", "gpu": "NVIDIA H100 PCIe", "capability": "9.0", "multiprocessors": 114,
        "library": {"name": "cublasLt", "version": "12.8.3"}, "entries": [entry(0, 1), entry(33_554_432, 4)]});
    folder.write("table.json", table.to_string());
    let plan =
        |more: &str| folder.tcverify(&format!("kernels plan --kernel-table table.json {more}"));
    let run = plan("--shape 32x64x8192 --workspace 33554432").expect(0);
    assert!(
        run.stdout.contains("4 slices of 2048 k")
            && run.stdout.contains("recorded on NVIDIA H100 PCIe"),
        "{}",
        run.stdout
    );
    plan("--shape 32x64x8192").refuses(&["differ in the workspace"]);
    plan("--shape 32x64x8191").refuses(&["it has no entry for 32x64x8191"]);
    folder.write("table.json", table.to_string().replace("/1", "/2"));
    plan("--shape 32x64x8192").refuses(&["tcverify.kernel-table/2"]);
}

/// A captured product and the configuration that computed it.
struct Product {
    about: Value,
    shape: Shape,
    a: Tensor,
    b: Tensor,
    d: Tensor,
}

impl Product {
    fn configuration(&self, custom: Option<u32>) -> String {
        let algo = if self.about["fast_accum"] == true {
            60
        } else {
            35
        };
        let pairwise = self.about["split_scheme"] == "pairwise";
        let custom = custom.unwrap_or(u32::from(pairwise));
        let split = &self.about["split_k"];
        format!("algo={algo},stages=16,splitK={split},reduction=2,custom={custom}")
    }

    fn differs(&self, text: &str, engine: Engine) -> bool {
        let options = Options {
            operands: Some([self.a.format(), self.b.format()]),
            ..Options::default()
        };
        let reading = libraries::read(text).expect("a configuration");
        let plan = reading.plan(&self.shape, &options).expect("a known family");
        let schedule: Schedule = plan.schedule().expect("a schedule");
        let model = plan.model();
        let architecture = Catalogue::builtin()
            .find(model.architecture.expect("Ada"))
            .unwrap();
        let operands = [self.a.format(), self.b.format()];
        let choice = architecture
            .select(model.instruction, operands, Some(Format::Fp32))
            .unwrap();
        let code = |field: &str| {
            let text = self.about[field].as_str()?;
            Some(u32::from_str_radix(text.trim_start_matches("0x"), 16).expect("a code"))
        };
        let mut values = Values::default();
        values.alpha = code("alpha").unwrap_or(values.alpha);
        values.scale_result = code("scale_result");
        let problem = Problem::new(self.a.planes(), self.b.planes().transposed(), None).unwrap();
        let replay = Replay {
            problem,
            arithmetic: &choice.arithmetic,
            convert_to: Some(self.d.format()),
            engine,
            kernel: Some(BoundSchedule::new(&schedule.spec, &values, &problem)),
        };
        codes(&replay.collect(&|_| {})) != codes(&self.d)
    }
}

/// Products with K above 0 that a GeForce RTX 4060 computed.
fn products() -> Option<Vec<Product>> {
    let Some(root) = std::env::var_os("TCVERIFY_VECTORS") else {
        say(format_args!(
            "SKIPPED: kernel-vectors from configurations: TCVERIFY_VECTORS is not set"
        ));
        return None;
    };
    let root = PathBuf::from(root).join("kernel-vectors");
    let list = std::fs::read_to_string(root.join("cases.json")).expect("the list");
    let list: Vec<Value> = serde_json::from_str(&list).expect("the list");
    let read = |about: Value| {
        let size = |key: &str| about[key].as_u64().expect("a size") as usize;
        let tensor = |key: &str| {
            let format = Format::from_name(about[&format!("{key}_dtype")].as_str()?)?;
            let source = Source::open(&root.join(about[key].as_str()?)).ok()?;
            source.tensor(format).ok()
        };
        Product {
            shape: Shape {
                m: size("m"),
                n: size("n"),
                k: size("k"),
            },
            a: tensor("a").expect("A"),
            b: tensor("b").expect("B"),
            d: tensor("d").expect("D"),
            about,
        }
    };
    let wanted = |about: &Value| about["kind"] != "mma" && about["k"] != 0;
    let products: Vec<Product> = list.into_par_iter().filter(wanted).map(read).collect();
    assert_eq!(products.len(), 1429);
    Some(products)
}

/// From the words of a configuration to the bits that the GPU computed.
#[test]
fn captured_products_follow_from_their_configurations() {
    let Some(products) = products() else { return };
    for engine in engines() {
        let wrong = products
            .par_iter()
            .filter(|p| p.differs(&p.configuration(None), engine));
        let wrong: Vec<_> = wrong
            .map(|product| product.about["id"].to_string())
            .collect();
        say(format_args!(
            "kernel-vectors from configurations: {} products, {} differ ({} engine)",
            products.len(),
            wrong.len(),
            name(engine)
        ));
        assert_eq!(wrong, [""; 0]);
    }
    // Words that are wrong in one decision give other bits for many.
    let engine = *engines().last().expect("one");
    let wrong = |text: &(dyn Fn(&Product) -> String + Sync)| {
        products
            .par_iter()
            .filter(|product| product.differs(&text(product), engine))
            .count()
    };
    let serial = wrong(&|product| product.configuration(Some(0)));
    let other = wrong(&|product| {
        let text = product.configuration(None);
        if text.contains("algo=35") {
            text.replace("algo=35", "algo=60")
        } else {
            text.replace("algo=60", "algo=35")
        }
    });
    let unsplit = wrong(&|product| {
        let split = format!("splitK={}", product.about["split_k"]);
        product.configuration(None).replace(&split, "splitK=1")
    });
    say(format_args!(
        "wrong words: {serial} differ without pairs, {other} with the other accumulation, {unsplit} without slices"
    ));
    assert!(
        serial > 20 && other > 40 && unsplit > 100,
        "{serial} {other} {unsplit}"
    );
}
