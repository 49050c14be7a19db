//! Products of Tenstorrent's unit as people ask for them: fidelity, Dst and blocks of K, by options or as ttnn prints them.

use crate::support::{Folder, Says, claims, read_rows};

const KERNEL: &str = "--arch blackhole --dtype bf16 --instruction hifi2 --acc fp32 --set in0_block_w=2 --set packer_l1_acc --set reload=exact";

/// BF16 operands of 24x256 by 256x20, and the D of a kernel.
fn product(kernel: &str) -> Folder {
    let folder = Folder::new();
    let generate = "--dtype bf16 --role";
    for words in [
        format!("generate generate:1:normal:24x256 {generate} a -o a.npy"),
        format!("generate generate:2:normal:256x20 {generate} b -o b.npy"),
        format!("replay {kernel} a.npy b.npy -o d.npy"),
    ] {
        folder.passes(&words);
    }
    folder
}

fn config(fidelity: &str, fp32: &str, l1: &str, width: usize) -> String {
    format!(
        "ttnn.WormholeComputeKernelConfig(math_fidelity=ttnn.MathFidelity.{fidelity}, math_approx_mode=False, \
         fp32_dest_acc_en={fp32}, packer_l1_acc={l1}), MatmulMultiCoreReuseMultiCastProgramConfig(\
         compute_with_storage_grid_size=(8, 7), in0_block_w={width}, out_subblock_h=1, fused_activation=None)"
    )
}

#[test]
fn a_configuration_says_what_the_options_say() {
    let folder = product(KERNEL);
    folder.passes(&format!("check {KERNEL} a.npy b.npy d.npy"));
    let check = |config: &str, reload: &str| {
        let words = "check --arch blackhole --dtype bf16 a.npy b.npy d.npy --set";
        let words = words.split(' ').map(str::to_owned);
        let more = [format!("reload={reload}"), "--ttnn".into(), config.into()];
        let words = words.chain(more);
        folder.words(words)
    };
    let same = config("HiFi2", "True", "True", 2);
    let run = check(&same, "exact").expect(0);
    run.says("blackhole hifi2, bf16*bf16 -> fp32");
    run.says("through memory every 64 k");
    for (config, reload) in [
        (config("HiFi2", "True", "False", 2), "tf32"),
        (config("HiFi2", "True", "True", 1), "exact"),
        (config("HiFi4", "True", "True", 2), "exact"),
        (same, "bf16"),
    ] {
        check(&config, reload).expect(1);
    }
}

#[test]
fn everything_else_takes_such_a_kernel() {
    let folder = product(KERNEL);
    let product = format!("{KERNEL} a.npy b.npy d.npy");
    for words in [
        format!("check {product} --json report.json"),
        "verify-report report.json".to_owned(),
        format!("explain {product} --at 2,3"),
        format!("check {product} --sample 20 --seed 3"),
        format!("commit {product} -o c.json"),
        format!("check {product} --against c.json"),
    ] {
        folder.passes(&words);
    }
    // The request of a report says what decides bits.
    let report = folder.text("report.json");
    let wrong = report.replacen("\"in0_block_w\": 2", "\"in0_block_w\": 4", 1);
    assert_ne!(report, wrong);
    folder.write("wrong.json", wrong.into_bytes());
    folder.differs("verify-report wrong.json");
}

/// An explanation goes through memory where the product does, and so does what a difference is explained by.
#[test]
fn elements_are_explained_in_blocks() {
    for (width, reload, l1) in [
        (1, "exact", " --set packer_l1_acc"),
        (1, "tf32", " --set packer_l1_acc"),
        (2, "tf32", ""),
        (1, "bf16", " --set packer_l1_acc"),
        (2, "bf16", ""),
    ] {
        let kernel = format!(
            "--arch blackhole --dtype bf16 --instruction hifi2 --acc fp32 --set in0_block_w={width}{l1} --set reload={reload}"
        );
        let folder = product(&kernel);
        let explain = format!("explain {kernel} a.npy b.npy --at 0,0");
        let run = folder.tcverify(&format!("{explain} d.npy --steps all"));
        let run = run.expect(0);
        let reloaded = run.stdout.contains("reloaded");
        assert_eq!(reloaded, reload != "exact", "{}", run.stdout);
        // Without one product.
        let mut a = folder.read("a.npy");
        let at = a.len() - 2 * (24 * 256 - 250);
        a[at..at + 2].fill(0);
        folder.write("less.npy", a);
        claims! {folder, "replay {kernel} less.npy b.npy -o less-d.npy | 0"}
        let run = folder.differs(&format!("{explain} less-d.npy"));
        let missing = run.stdout.contains("the product at k 250 is missing");
        assert!(missing, "{kernel}: {}", run.stdout);
    }
}

/// Blocks that change no bit, and ones that do.
#[test]
fn one_block_is_no_block() {
    let folder = product("--arch wormhole --dtype bf16 --instruction hifi3 --acc fp32");
    let check =
        "check --arch wormhole --dtype bf16 --instruction hifi3 --acc fp32 a.npy b.npy d.npy";
    for same in [
        "",
        "--set in0_block_w=8",
        "--set in0_block_w=2 --set reload=exact",
    ] {
        folder.passes(&format!("{check} {same}"));
    }
    for other in [
        "--set in0_block_w=2 --set reload=tf32",
        "--set in0_block_w=2 --set reload=exact --set packer_l1_acc",
    ] {
        folder.differs(&format!("{check} {other}"));
    }
}

#[test]
fn a_search_finds_fidelity_and_blocks() {
    let folder = product(KERNEL);
    let identify = "identify --dtype bf16 --schedules never a.npy b.npy d.npy";
    let run = folder.passes(&format!("{identify} --arch blackhole"));
    let options = "--instruction hifi2 --dtype bf16 --acc fp32 --set in0_block_w=2 --set packer_l1_acc --set reload=exact";
    let line = run.stdout.lines().find(|line| line.contains(options));
    let line = line
        .unwrap_or_else(|| panic!("no {options} in {}", run.stdout))
        .trim();
    folder.passes(line.strip_prefix("tcverify ").expect("a command"));
    // Without such a unit by name, blocks are not tried, and that is said.
    claims! {folder, "{identify} | 1 | unless --arch says wormhole"}
}

#[test]
fn what_is_open_or_impossible_is_refused() {
    let folder = product(KERNEL);
    let whole = config("HiFi2", "True", "True", 2);
    let apart = config("HiFi2", "True", "False", 2);
    let rows = "
        --arch wormhole --dtype bf16 | - | name the instruction
        --arch wormhole --dtype bf16 --instruction hifi2 | - | give --acc
        --arch wormhole --dtype bf16 --dtype-b fp16 --instruction hifi2 --acc fp32 | - | does not multiply
        --arch wormhole --dtype e4m3 --instruction hifi2 --acc fp32 | - | does not multiply
        --arch wormhole --dtype bf16 --instruction hifi2 --acc fp32 --set in0_block_w=3 --set reload=exact | -
            | not a multiple of blocks of 3
        --arch wormhole --dtype bf16 --instruction hifi2 --acc fp32 --set in0_block_w=0 --set reload=exact | -
            | blocks of 0
        --arch wormhole --dtype bf16 --instruction hifi2 --acc fp32 --set in0_block_w=2 | - | give --set reload
        --arch wormhole --dtype bf16 --instruction hifi2 --acc bf16 --set in0_block_w=2 --set reload=tf32 --d-digest 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
            | - | read back unchanged
        --arch wormhole --dtype bf16 --instruction hifi2 --acc fp32 --set packer_l1_acc | - | --set in0_block_w
        --arch a100 --dtype bf16 --set in0_block_w=2 | - | Tenstorrent
        --arch wormhole --dtype bf16 --instruction hifi2 --acc fp32 --set reload=tf32 | -
            | the number of tiles per block is missing
        --arch a100 --dtype bf16 --set reload=tf32 | - | --set reload: it applies only to Tenstorrent
        --arch wormhole --dtype bf16 --set in0_block_w=2 --set packer_l1_acc --set reload=exact | apart
            | --set packer_l1_acc is given, but --ttnn says False
        --arch auto --dtype bf16 --set in0_block_w=4 --set reload=tf32 | - | leave them out
        --arch a100 --dtype bf16 | whole | hifi2
        --arch wormhole --dtype bf16 --instruction hifi4 | whole | --instruction is hifi4
        --arch wormhole --dtype bf16 --set in0_block_w=4 | whole | --set in0_block_w is 4
        --arch wormhole --dtype bf16 | MathFidelity.HiFi2 | no argument
        --arch wormhole --dtype bf16 --set reload=exact
            | f(math_fidelity=HiFi2, fp32_dest_acc_en=True, packer_l1_acc=True)
            | the number of tiles per block is missing
    ";
    for [options, config, why] in read_rows(rows) {
        // A digest takes D's place.
        let d = if options.contains("--d-digest") {
            ""
        } else {
            "d.npy"
        };
        let words = format!("check {options} a.npy b.npy {d}");
        let words = words.split_whitespace();
        let run = match config {
            "-" => folder.words(words),
            "apart" => folder.words(words.chain(["--ttnn", &apart])),
            "whole" => folder.words(words.chain(["--ttnn", &whole])),
            config => folder.words(words.chain(["--ttnn", config])),
        };
        let run = run.expect(2);
        assert!(
            run.stderr.contains(why),
            "{options}: {why:?} is not in {}",
            run.stderr
        );
    }
    // How an FP32 Dst becomes FP16 is not known.
    assert!(folder.stderr("replay --arch wormhole --dtype bf16 --instruction hifi2 --acc fp32 --d-dtype fp16 a.npy b.npy -o x.npy").contains("not known"));
    assert!(!folder.path("x.npy").exists());
}

/// One element is a power of two that a sum of minus one unit would give: of Wormhole that is its known fault, of Blackhole it
/// is not.
#[test]
fn a_known_fault_is_named() {
    for (arch, named) in [("wormhole", true), ("blackhole", false)] {
        let kernel = format!("--arch {arch} --dtype bf16 --instruction hifi2 --acc fp32");
        let folder = product(&kernel);
        let whole = folder.read("d.npy");
        let mut found = Vec::new();
        for exponent in -4..16 {
            let mut d = whole.clone();
            let at = d.len() - 4 * 77;
            let value = -f32::from(2u8).powi(exponent);
            d[at..at + 4].copy_from_slice(&value.to_le_bytes());
            folder.write("wrong.npy", d);
            let run = folder.differs(&format!("check {kernel} a.npy b.npy wrong.npy"));
            if run.stdout.contains("the unit's known fault") {
                run.says("phase 1");
                found.push(exponent);
            }
        }
        // That of the last sum, which nothing follows.
        assert_eq!(found.len(), usize::from(named), "{arch}: {found:?}");
    }
}

/// What a packed tile stands for, as real numbers: of element (row, column) its code and its shared exponent.
fn packed_value(tiles: &[u8], bits: usize, [row, column]: [usize; 2], across: usize) -> f32 {
    let bytes = 64 + 128 * bits;
    let tile = &tiles[(row / 32 * across + column / 32) * bytes..][..bytes];
    let (row, column) = (row % 32, column % 32);
    // Faces: top left, top right, bottom left, bottom right.
    let line = (row / 16 * 2 + column / 16) * 16 + row % 16;
    let bit = (line * 16 + column % 16) * bits;
    let code = tile[64 + bit / 8] >> (bit % 8) & (0xff >> (8 - bits));
    let magnitude = code & (0x7f >> (8 - bits));
    let sign = if code >> (bits - 1) == 1 { -1.0 } else { 1.0 };
    sign * f32::from(magnitude) * 2f32.powi(i32::from(tile[line]) - 127 - (bits as i32 - 2))
}

#[test]
fn packed_tiles_become_numbers() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/capture/bfp_tiles.py");
    let folder = Folder::new();
    let python = |words: &str| {
        let mut python = folder.shell("python3");
        folder.run(python.args(["-B", script]).args(words.split(' ')))
    };
    if folder.shell("python3").arg("--version").output().is_err() {
        crate::support::say(format_args!("not checked: Python is not here"));
        return;
    }
    for bits in [8usize, 4, 2] {
        let mut random = tcverify::random::SplitMix64(bits as u64);
        let mut tiles = Vec::new();
        for _ in 0..2 * 3 {
            tiles.extend((0..64).map(|_| 100 + (random.word() % 40) as u8));
            tiles.extend((0..128 * bits).map(|_| random.word() as u8));
        }
        folder.write("t.bin", &tiles);
        python(&format!("t.bin --format bfp{bits} --shape 64x96 -o x.npy")).expect(0);
        let written = folder.read("x.npy");
        let codes = written[written.len() - 64 * 96 * 2..].chunks(2);
        let (mut zeros, mut moved) = (0, 0);
        for (at, code) in codes.enumerate() {
            let code = u16::from_le_bytes([code[0], code[1]]);
            let place = [at / 96, at % 96];
            let right = packed_value(&tiles, bits, place, 3);
            if right == 0.0 {
                // The chip has no -0.
                assert_eq!(code, if right.is_sign_negative() { 0xff80 } else { 0 });
                zeros += 1;
                continue;
            }
            let given = f32::from_bits(u32::from(code) << 16);
            assert_eq!(given, right, "bfp{bits} {place:?}");
            // Faces column by column would be another layout.
            let other = [
                place[0] / 32 * 32 + place[1] % 32,
                place[1] / 32 * 32 + place[0] % 32,
            ];
            moved += usize::from(packed_value(&tiles, bits, other, 3) != right);
        }
        assert!(zeros > 0 && moved > 2000, "{zeros} {moved}");
    }
    for (words, why) in [
        ("t.bin --format bfp8 --shape 64x96 -o y.npy", "the file has"),
        ("t.bin --format bfp2 --shape 64x90 -o y.npy", "whole tiles"),
        ("none --format bfp2 --shape 64x96 -o y.npy", "No such file"),
    ] {
        let run = python(words).expect(2);
        assert!(run.stderr.contains(why), "{run:#?}");
    }
    assert!(!folder.names().contains(&"y.npy".to_owned()));
}
