//! A fleet of 64 with three faulty ones, and what else can be wrong.

use std::collections::HashMap;

use tcverify::check::RequestFields;
use tcverify::engines::resources;
use tcverify::forms::Layout;
use tcverify::random::SplitMix64;
use tcverify::screen::{
    Condition, Failure, Fleet, Injection, Kind, Level, Library, Place, Results, Simulated, Suite,
    WrongTile, judge, make, simulate,
};

use super::{folder, suite};
use crate::support::{Folder, Says, claims, say, table, words};

pub fn device(host: &str, inject: Option<&str>) -> Simulated {
    Simulated {
        host: host.into(),
        sms: 108,
        rounds: 3,
        injection: inject.map(|text| text.parse::<Injection>().unwrap()),
        ..Simulated::default()
    }
}

pub fn results(suite: &Suite, devices: &[Simulated]) -> Vec<(String, Results)> {
    let computed = simulate(suite, &()).unwrap();
    let run = |device: &Simulated| {
        let results = computed.run(device).unwrap();
        (format!("results/{}.json", device.host), results)
    };
    devices.iter().map(run).collect()
}

fn judged(suite: &Suite, devices: &[Simulated]) -> Fleet {
    judge(suite, suite.id(), results(suite, devices), &[]).unwrap()
}

/// Fails unless a GPU is in this condition, for these words.
#[track_caller]
fn found(fleet: &Fleet, gpu: usize, condition: Condition, words: &str) {
    let gpu = &fleet.gpus[gpu];
    assert_eq!(gpu.condition, condition, "{gpu:?}");
    gpu.said.says(words);
}

/// Which, where, and what kind.
#[test]
#[ignore = "long"]
fn three_faulty_ones_of_64() {
    let suite = suite("a100", Level::Quick);
    // The rest of the fleet has a library of its own in one node.
    let faults = HashMap::from([
        (17, "product:bit=13,stuck=1,k=3,lane=5,sm=77"),
        (33, "adder:bit=20,stuck=flip,lane=9,sm=3,one-in=200"),
        (50, "rounding:bit=3,stuck=0,lane=30,sm=100,above=70"),
        (60, "schedule:cublas-workspace,split-k=4"),
    ]);
    let one = |n| device(&format!("node{n:02}"), faults.get(&n).copied());
    let fleet = judged(&suite, &(0..64).map(one).collect::<Vec<_>>());
    assert_eq!(fleet.gpus.len(), 64);
    assert_eq!(fleet.count(Condition::Clean), 60);
    let faulty: Vec<_> = fleet.faulty().map(|gpu| gpu.device.host.as_str()).collect();
    assert_eq!(faulty, ["node17", "node33", "node50"]);
    for (gpu, condition, sm, lane, words) in table! {
        (17, Condition::Stuck, 77, 5, "bit 13 stuck at 1 of a product"),
        (33, Condition::Intermittent, 3, 9, "bit 20 inverted of the sum"),
        (50, Condition::Intermittent, 100, 30, "only at 75 °C and above"),
    } {
        found(&fleet, gpu, condition, words);
        let wrong = &fleet.gpus[gpu].wrong;
        assert_eq!(
            wrong.sms.iter().map(|(sm, _)| *sm).collect::<Vec<_>>(),
            [sm]
        );
        assert_eq!(
            wrong
                .lanes
                .iter()
                .map(|(lane, _)| *lane)
                .collect::<Vec<_>>(),
            [lane]
        );
    }
    assert_eq!(fleet.gpus[17].wrong.fits, [faults[&17]]);
    // Another order of sums is no fault.
    found(&fleet, 60, Condition::AnotherKernel, "cublas-workspace");
    fleet.gpus[60].said.lacks("faulty");

    let mut html = Vec::new();
    tcverify::forms::html(&fleet.view(), &mut html).unwrap();
    let html = String::from_utf8(html).unwrap();
    // What the script counts as it filters is there, too.
    html.says_all(words! {r#"
        <h1>Faulty</h1> | 64 GPUs: | no GPU computed anything | data-of="GPUs" | "GPUs by verdict and text"
    "#});
    // The script that sorts the table; the page is there to read without it.
    assert!(html.matches("<script").count() == 1 && !html.contains("://"));
    assert_eq!(html.matches("<section id=").count(), 4);
}

/// All of them alike are no 64 faults.
#[test]
fn all_alike_is_a_wrong_model() {
    let suite = suite("v100", Level::Quick);
    // No other model computes so: a bit of one lane, on the same SM of every device.
    let inject = Some("rounding:bit=7,stuck=1,lane=4,sm=0");
    let devices: Vec<_> = (0..4).map(|n| device(&format!("n{n}"), inject)).collect();
    let fleet = judged(&suite, &devices);
    assert_eq!(fleet.count(Condition::WrongModel), 4, "{fleet:?}");
    assert_eq!(fleet.faulty().count(), 0);
    // One of four is one.
    let mixed = [0, 1, 2, 3].map(|n| device(&format!("n{n}"), inject.filter(|_| n == 2)));
    let fleet = judged(&suite, &mixed);
    assert_eq!(fleet.count(Condition::Clean), 3);
    found(&fleet, 2, Condition::Stuck, "");
}

/// The arithmetic of another architecture on all SMs is named, and is no fault.
#[test]
fn another_architecture_is_another_model() {
    let devices = [device("n0", Some("model:v100")), device("n1", None)];
    let fleet = judged(&suite("a100", Level::Quick), &devices);
    found(&fleet, 0, Condition::AnotherKernel, "volta mma");
    found(&fleet, 1, Condition::Clean, "");
}

/// A kernel that nobody knows is wrong all over, each time: not one unit.
#[test]
#[ignore = "long"]
fn an_unknown_kernel_is_no_fault() {
    let suite = suite("a100", Level::Quick);
    for inject in
        words! {"schedule:cutlass-splitk-serial,split-k=3 | schedule:cublas-workspace,split-k=4"}
    {
        let known = results(&suite, &[device("n0", Some(inject))]);
        let mut unknown = known.clone();
        let fleet = judge(&suite, suite.id(), known, &[]).unwrap();
        found(&fleet, 0, Condition::AnotherKernel, "");
        // The same tiles, in a D that no schedule gives.
        for failure in &mut unknown[0].1.failures {
            failure.d_sha256 = tcverify::io::tree::Hash([7; 32]);
        }
        let fleet = judge(&suite, suite.id(), unknown, &[]).unwrap();
        found(&fleet, 0, Condition::Alike, "");
    }
}

/// Of results in which bits and lanes change nobody says a line is stuck.
#[test]
fn what_has_no_pattern_is_marginal() {
    let suite = suite("v100", Level::Quick);
    let mut of_one = results(&suite, &[device("n0", Some("adder:bit=9,lane=1,sm=2"))]);
    let other = device("n0", Some("rounding:bit=22,stuck=flip,lane=20,sm=2"));
    let other = results(&suite, &[other]).remove(0).1.failures;
    let placed = other.into_iter().filter(|failure| !failure.sms.is_empty());
    of_one[0].1.failures.extend(placed);
    of_one[0].1.halves = None;
    let fleet = judge(&suite, suite.id(), of_one, &[]).unwrap();
    found(&fleet, 0, Condition::Marginal, "in 2 lanes (1, 20) on SM 2");
    assert!(fleet.gpus[0].wrong.fits.is_empty());
}

/// Products that are wrong whenever they run may only have been run late: heat is not the reason.
#[test]
fn what_is_always_wrong_does_not_need_heat() {
    let suite = suite("v100", Level::Quick);
    let mut late = results(&suite, &[device("n0", Some("adder:bit=9,lane=1,sm=2"))]);
    let results = &mut late[0].1;
    results.failures.retain(|failure| !failure.sms.is_empty());
    results.halves = None;
    results.readings.as_mut().unwrap().temperature_c = [30, 60];
    for failure in &mut results.failures {
        failure.temperature_c = Some([60, 60]);
    }
    let fleet = judge(&suite, suite.id(), late, &[]).unwrap();
    let gpu = &fleet.gpus[0];
    assert_eq!(gpu.condition, Condition::Stuck, "{gpu:?}");
    gpu.said.lacks("and above");
}

/// Under a schedule no fault is injected, and none is told as tried.
#[test]
fn a_schedule_is_not_searched() {
    let library = Library {
        fields: RequestFields {
            schedule: Some("cutlass-splitk-serial".into()),
            split_k: Some(2),
            ..RequestFields::default()
        },
        ..Library::default()
    };
    let suite = make("h100", Level::Quick, &library, &()).unwrap();
    let folder = Folder::new();
    let product = "--arch h100 --dtype tf32 --schedule cutlass-splitk-serial --split-k 2";
    let operands = "generate:11:normal:256x256 generate:11:normal:256x256";
    claims! {folder, "replay {product} {operands} -q -o d.npy | 0"}
    let d = folder.read("d.npy");
    let d = &d[d.len() - 4 * 256 * 256..];
    let mut tile: Vec<u8> = Vec::new();
    for row in 0..32 {
        tile.extend(&d[4 * 256 * row..][..4 * 32]);
    }
    for i in (0..32 * 32).filter(|i| i / 32 % 8 == 1 && i % 8 / 2 == 1) {
        tile[4 * i + 1] |= 1 << 5;
    }
    let mut results = results(&suite, &[device("n0", None)]);
    let hex = tile.iter().map(|byte| format!("{byte:02x}"));
    results[0].1.halves = None;
    results[0].1.failures.push(Failure {
        product: "library.tf32".into(),
        d_sha256: tcverify::io::tree::Hash([7; 32]),
        times: 1,
        sms: Vec::new(),
        temperature_c: None,
        tiles_different: 1,
        tiles: vec![WrongTile {
            index: 0,
            payload: Some(hex.collect()),
        }],
        case: None,
    });
    let fleet = judge(&suite, suite.id(), results, &[]).unwrap();
    let gpu = &fleet.gpus[0];
    assert_eq!(gpu.condition, Condition::Marginal, "{gpu:?}");
    let said = "under a schedule, in which no fault can be injected";
    assert!(gpu.said.contains(said), "{}", gpu.said);
}

/// A GPU whose result holds no tile does not hide what another GPU's tile tells.
#[test]
fn a_missing_tile_tells_nothing_of_others() {
    let suite = suite("a100", Level::Quick);
    let devices = [
        device("n0", Some("model:v100")),
        device("n1", Some("model:v100")),
        device("n2", None),
        device("n3", None),
    ];
    let mut all = results(&suite, &devices);
    for failure in &mut all[0].1.failures {
        for tile in &mut failure.tiles {
            tile.payload = None;
        }
    }
    let fleet = judge(&suite, suite.id(), all, &[]).unwrap();
    let other = |n: usize| fleet.gpus[n].condition == Condition::AnotherKernel;
    assert!(!other(0) && other(1), "{:?}", fleet.gpus[1]);
}

/// Who left an instruction out says why, as one whose rehearsal failed: that is no clean GPU, and no faulty one.
#[test]
fn what_was_left_out_is_told() {
    let suite = suite("v100", Level::Quick);
    let mut one = results(&suite, &[device("n0", None)]);
    let left_out = |name: &str| name.starts_with("mma.fp16.fp16.fp16.");
    let names: Vec<_> = suite.products.iter().map(|p| p.name.clone()).collect();
    one[0].1.runs.retain(|ran| !left_out(&ran.product));
    for name in names.iter().filter(|name| left_out(name)) {
        let why = "mma: a product of small integers came out wrong\u{1b}[2J";
        one[0].1.left_out.push((name.clone(), why.into()));
    }
    let fleet = judge(&suite, suite.id(), one, &[]).unwrap();
    let gpu = &fleet.gpus[0];
    assert_eq!(gpu.condition, Condition::Incomplete, "{gpu:?}");
    gpu.said
        .says("were not run: mma: a product of small integers came out wrong\\u{1b}");
}

/// Every form that the command writes.
#[test]
fn the_command_judges() {
    let folder = folder();
    folder.create("results");
    let run = |name: &str, more: &str, code| {
        let command = format!(
            "screen run suite.json --device simulated --host {name} -o results/{name}.json --quiet {more}"
        );
        folder.tcverify(&command).expect(code);
    };
    run("good", "", 0);
    run("bad", "--inject product:bit=3,stuck=1,k=2,lane=7,sm=5", 1);
    let written = "--json fleet.json --html fleet.html --prometheus fleet.prom --junit fleet.xml";
    claims! {folder, r"screen judge --suite suite.json results {written} | 1
        | ^FAULTY  2 GPUs: 1 stuck, 1 clean\n | always in lane 7 on SM 5
        | bit 3 stuck at 1 of a product (product 2 of a step) | simulated 2"}
    let text = |name: &str| folder.text(name);
    let fleet: Fleet = serde_json::from_str(&text("fleet.json")).unwrap();
    assert_eq!(fleet.gpus.len(), 2);
    let metrics = text("fleet.prom");
    metrics.says("tcverify_screen_faulty{host=\"bad\",gpu=\"0\",uuid=\"\"} 1\n");
    metrics.says("tcverify_screen_faulty{host=\"good\",gpu=\"0\",uuid=\"\"} 0\n");
    let xml = text("fleet.xml");
    xml.says("tests=\"2\" skipped=\"0\" failures=\"1\" errors=\"0\"");
    xml.says("<failure message=\"always in lane 7");

    let folder: Folder = folder;
    folder.remove("results/bad.json");
    claims! {folder, r"screen judge --suite suite.json results | 0 | ^CLEAN  1 GPU:\_"}
}

/// A name from a node becomes no markup and no command of a terminal.
#[test]
fn names_of_nodes_are_data() {
    let suite = suite("v100", Level::Quick);
    let mut all = results(&suite, &[device("n", Some("adder:bit=9"))]);
    all[0].1.device.host = "<b>\"&\u{1b}[31m".into();
    all[0].1.device.name = "</td><script>alert(1)</script>".into();
    let fleet = judge(&suite, suite.id(), all, &[]).unwrap();
    let mut out = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    let view = fleet.view();
    tcverify::forms::html(&view, &mut out[0]).unwrap();
    tcverify::forms::junit(&view, &mut out[1]).unwrap();
    tcverify::screen::prometheus(&fleet, &mut out[2]).unwrap();
    out[3] = view.plain_text(Layout::default()).into_bytes();
    for text in &out {
        assert!(!text.contains(&0x1b), "{}", String::from_utf8_lossy(text));
    }
    for text in &out[..2] {
        let text = String::from_utf8_lossy(text);
        text.lacks("<b>");
        text.lacks("<script>alert");
    }
}

/// What one fault does is called that: an inverted bit, a lost number, one beside a stray bit, one in every few columns.
#[test]
#[ignore = "long"]
fn single_faults_are_named() {
    let suite = suite("v100", Level::Quick);
    for (inject, condition, fits, said) in table! {
        ("operand:bit=4,stuck=flip,k=0,lane=30,sm=0", Condition::Stuck, true, "bit 4 inverted of an operand of A"),
        ("product:zero,k=3,lane=5,sm=2", Condition::Stuck, true, "zero in place of a product (product 3 of a step)"),
        ("adder:zero,columns=1/4,sm=0,one-in=20", Condition::Intermittent, true, "in column 1 of every 4"),
        ("product:bit=5+6+7,stuck=flip,k=2,lane=5,sm=2", Condition::Stuck, true,
            "bits 5, 6, 7 inverted of a product (product 2 of a step)"),
        // Of bits that are inverted together no single one is the fault, and these are no neighbours.
        ("rounding:bit=20+22+25,stuck=flip,lane=3,sm=0", Condition::Marginal, false,
            "no stuck or inverted bit, no lost number (always or in few steps of an element)"),
    } {
        let fleet = judged(&suite, &[device("n", Some(inject))]);
        let gpu = &fleet.gpus[0];
        assert_eq!(gpu.condition, condition, "{inject}: {gpu:?}");
        assert!(gpu.said.contains(said), "{inject}: {}", gpu.said);
        let named = inject.split(",one-in").next().unwrap().to_owned();
        let mine = gpu.wrong.fits.contains(&named);
        assert_eq!(mine, fits, "{inject}: {:?}", gpu.wrong.fits);
    }
}

/// Faults in the published mix (half of them lost numbers, several bits besides) are found, and the judgement names the very
/// fault or one that gives the same bits. docs/screening-coverage.md has the counts.
#[test]
fn published_faults_are_named() {
    let mut suite = suite("v100", Level::Quick);
    suite.products.retain(|product| {
        product.check.acc == Some(tcverify::num::Format::Fp32) && product.family != "load"
    });
    let check = suite.check(&suite.products[0]).unwrap();
    let prepared = check.prepare(&resources()).unwrap();
    let arithmetic = &prepared.model().arithmetic;
    let mut random = SplitMix64(36);
    let mut injected = Vec::new();
    for place in [
        Place::Operand,
        Place::Product,
        Place::Aligner,
        Place::Adder,
        Place::Rounding,
    ] {
        let faults = Kind::Published.drawn((arithmetic, place), 8, &mut random);
        injected.extend(faults.iter().map(ToString::to_string));
    }
    let devices = injected.iter().enumerate();
    let devices: Vec<_> = devices
        .map(|(i, fault)| device(&format!("n{i:02}"), Some(fault)))
        .collect();
    let fleet = judged(&suite, &devices);
    let [mut found, mut stuck, mut named] = [0; 3];
    for (fault, gpu) in injected.iter().zip(&fleet.gpus) {
        found += usize::from(gpu.condition.faulty());
        stuck += usize::from(gpu.condition == Condition::Stuck);
        named += usize::from(gpu.wrong.fits.contains(fault));
        if gpu.condition != Condition::Stuck {
            say(format_args!("{fault}: {}", gpu.said));
        }
    }
    say(format_args!(
        "of {}: found {found}, stuck {stuck}, named {named}",
        injected.len()
    ));
    assert!(
        found >= 39 && stuck >= 36 && named >= 30,
        "{found} {stuck} {named}"
    );
}

/// A stray bit elsewhere does not hide what gives all the others.
#[test]
fn a_stray_bit_hides_no_stuck_one() {
    let suite = suite("v100", Level::Quick);
    let fault = "product:bit=8,stuck=1,k=2,lane=5,sm=1";
    let mut all = results(&suite, &[device("n", Some(fault))]);
    let (_, results) = &mut all[0];
    let tile = results
        .failures
        .iter_mut()
        .find_map(|failure| failure.tiles.first_mut()?.payload.as_mut())
        .expect("a tile");
    // One bit of the tile's last element.
    let last = tile.pop().expect("a digit").to_digit(16).expect("a digit");
    tile.push(char::from_digit(last ^ 1, 16).expect("a digit"));
    let gpu = &judge(&suite, suite.id(), all, &[]).unwrap().gpus[0];
    assert_eq!(gpu.condition, Condition::Stuck, "{gpu:?}");
    assert!(
        gpu.wrong.fits.contains(&fault.to_owned()),
        "{:?}",
        gpu.wrong.fits
    );
    let but_one = format!(
        "{} of {} wrong elements",
        gpu.wrong.elements - 1,
        gpu.wrong.elements
    );
    assert!(gpu.said.contains(&but_one), "{}", gpu.said);
}
