//! Products of a library by what it says of its kernels.

use tcverify::screen::{Condition, Injection, Level, Route, Simulated, Suite, judge, simulate};

use crate::support::{Folder, Says, claims, ran};

const BF16: &str = "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT";
const FP16: &str = "nvjet_sm90_hsh_128x128_64x4_2x1_v_bz_TNN";

fn made(folder: &Folder, name: &str, options: &str) -> Suite {
    claims! {folder, "screen make --arch h100 -o {name} {options} --quiet | 0"}
    Suite::read(&folder.path(name)).unwrap().0
}

fn digest(suite: &Suite, product: &str) -> tcverify::io::tree::Hash {
    let found = suite.products.iter().find(|p| p.name == product);
    found.expect("a product of a library").sha256
}

/// Words are of the products that they fit, and D is that of the kernel's order; the others stay one chain.
#[test]
#[ignore = "long"]
fn a_kernel_is_of_the_products_it_fits() {
    let folder = Folder::new();
    let chain = super::suite("h100", Level::Quick);
    let options = format!("--kernel {BF16} --kernel {FP16} --split-k 3");
    let said = ran! {folder, "screen make --arch h100 -o kernels.json {options}"}.expect(0);
    let kernels = Suite::read(&folder.path("kernels.json")).unwrap().0;
    let same = |product: &str| digest(&chain, product) == digest(&kernels, product);
    assert!(!same("library.bf16"));
    // One chain in tiles is one chain.
    assert!(same("library.fp16") && same("library.tf32") && same("library.int8"));
    let words = |product: &str| {
        let found = kernels.products.iter().find(|p| p.name == product);
        found.unwrap().check.kernel.clone()
    };
    assert_eq!(words("library.bf16").as_deref(), Some(BF16));
    assert_eq!(words("library.fp16").as_deref(), Some(FP16));
    assert_eq!(words("library.tf32"), None);
    // As the schedule of the same order, and not as one of another.
    let split = |slices: u32| {
        let options = format!("--schedule cublas-nvjet-splitk --split-k {slices}");
        made(&folder, &format!("{slices}.json"), &options)
    };
    assert_eq!(
        digest(&split(3), "library.bf16"),
        digest(&kernels, "library.bf16")
    );
    assert_ne!(
        digest(&split(4), "library.bf16"),
        digest(&kernels, "library.bf16")
    );
    // What is said of each.
    said.says_all([
        &format!("library.bf16   right by kernel {BF16}\n")[..],
        "library.tf32   right by one chain over K\n",
    ]);
}

/// A node whose library computes otherwise has another kernel, and a broken unit is broken all the same.
#[test]
fn another_order_than_the_kernel_s_is_no_fault() {
    let folder = Folder::new();
    let options = format!("--kernel {BF16} --split-k 3");
    let mut suite = made(&folder, "suite.json", &options);
    suite.products.retain(|p| p.route == Route::Library);
    let computed = simulate(&suite, &()).unwrap();
    let device = |host: &str, inject: Option<&str>| {
        let device = Simulated {
            host: host.into(),
            injection: inject.map(|text| text.parse::<Injection>().unwrap()),
            ..Simulated::default()
        };
        let results = computed.run(&device).unwrap();
        (format!("{host}.json"), results)
    };
    let all = vec![
        device("a-right", None),
        device("b-chain", Some("schedule:plain")),
        device("c-split", Some("schedule:cublas-nvjet-splitk,split-k=2")),
    ];
    let fleet = judge(&suite, suite.id(), all, &[]).unwrap();
    let conditions: Vec<_> = fleet.gpus.iter().map(|gpu| gpu.condition).collect();
    let expected = [
        Condition::Clean,
        Condition::AnotherKernel,
        Condition::AnotherKernel,
    ];
    assert_eq!(conditions, expected, "{fleet:#?}");
    fleet.gpus[1].said.says("one chain over K");
    // The same wrong D with a bit of it changed is no kernel's.
    let mut broken = device("d-broken", Some("schedule:plain"));
    broken.1.failures[0].d_sha256 = tcverify::io::tree::Hash([7; 32]);
    let fleet = judge(&suite, suite.id(), vec![broken], &[]).unwrap();
    assert_ne!(
        fleet.gpus[0].condition,
        Condition::AnotherKernel,
        "{fleet:#?}"
    );
    assert_ne!(fleet.gpus[0].condition, Condition::Clean, "{fleet:#?}");
}

/// One sentence each, and no suite.
#[test]
fn words_that_do_not_fit() {
    let folder = Folder::new();
    let make = |options: &str| {
        folder.tcverify(&format!("screen make --arch h100 -o suite.json {options}"))
    };
    claims! {folder, "screen make --arch h100 -o suite.json --kernel nonsense | refused
    | the kernel nonsense fits no library product of the suite | kernels list"}
    // What it leaves open is asked for, of the product that it is about.
    make(&format!("--kernel {BF16}"))
        .refuses(&["fits no library product of the suite", "give `split_k`"]);
    make("--kernel nvjet_sm80_tst_64x104_64x10_4x1_v_bz_TNT")
        .refuses(&["fits no library product of the suite"]);
    let two = format!(
        "--kernel {FP16} --kernel nvjet_sm90_hsh_128x128_64x4_2x1_v_bz_splitK_TNN --split-k 2"
    );
    make(&two).refuses(&["two kernels fit library.fp16", "orders differ"]);
    make("--split-k 3").refuses(&["split_k"]);
    make("--whole-remainder").refuses(&["`whole_remainder` needs `kernel`, which is missing"]);
    let both = make(&format!("--kernel {BF16} --schedule cublas-workspace")).expect(2);
    both.stderr.says("cannot be used with");
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}
