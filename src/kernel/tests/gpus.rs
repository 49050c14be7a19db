//! Whose kernels they are.

use super::*;

/// What was compared on Hopper and Blackwell alone is an assumption elsewhere, and gemv's table is theirs.
#[test]
fn other_gpus_are_an_assumption() {
    let shape = Shape { m: 1, n: 8, k: 300 };
    let on = |text: &str, gpu: &str| {
        let mut options = Options::default();
        options.on(gpu).expect("of the catalogue");
        read(text).unwrap().plan(&shape, &options)
    };
    for text in ["algo=16", "algo=11,custom=0", "algo=14,splitK=3"] {
        for gpu in ["sm_90", "sm_100", "blackwell"] {
            assert!(on(text, gpu).unwrap().assumed.is_empty(), "{text} {gpu}");
        }
        for gpu in ["sm_86", "sm_120", "ampere"] {
            let assumed = on(text, gpu).unwrap().assumed.join("");
            assert!(assumed.contains("were compared"), "{text} {gpu}: {assumed}");
        }
    }
    assert!(on("algo=13,custom=48", "hopper").is_ok());
    for gpu in ["sm_86", "ampere"] {
        let refused = on("algo=13,custom=48", gpu).unwrap_err();
        assert!(
            refused.to_string().contains("gemv kernels on sm_8"),
            "{refused}"
        );
    }
}
