//! What hipBLASLt says of Tensile's kernels.

use super::*;

/// The third number of a work group is LocalSplitU.
#[test]
fn work_groups_share_turns() {
    for text in [
        "DepthU: 32\nWorkGroup: [16, 8, 2]\nStaggerU: 0\nMatrixInstruction: [16, 16, 16, 1]",
        "DepthU=32,LSU=2,SU=0,MatrixInstruction=16x16x16",
        "Cijk_Ailk_Bljk_HHS_BH_MT64x64x32_MI16x16x16x1_SU0_MIWT4_4_WG16_8_2_WGM8",
    ] {
        let reading = read(text).unwrap();
        assert_eq!(statuses(&reading, Status::Unknown), [""; 0], "{text}");
        let plan = reading
            .plan(&shape(8, 8, 512), &Options::default())
            .unwrap();
        assert_eq!(plan.slices[0].lanes.len(), 2, "{text}");
    }
    assert!(said("DepthU=32,LSU=1,WorkGroup=16x16x2").contains("twice"));
    let custom = read("Custom_Cijk_Ailk_Bljk_HHS_BH_MT64x64x32_MI16x16x16x1_SU0").unwrap();
    assert_eq!(statuses(&custom, Status::Unknown), ["Custom"]);
}

#[test]
fn amd_in_names_and_fields() {
    let name = "Cijk_Ailk_Bljk_HHS_BH_MT256x128x64_MI16x16x16x1_SN_GSU3_GSUAMB_SU0_SK0_LSU1";
    let reading = read(name).unwrap();
    assert_eq!(
        reading.settings.operands.value().unwrap(),
        [Format::Fp16; 2]
    );
    let tensile = &reading.settings.tensile.as_ref().unwrap().value;
    assert_eq!(
        (tensile.depth_u, tensile.global_split_u, tensile.stagger_u),
        (Some(64), Some(3), Some(0))
    );
    let plan = reading
        .plan(&shape(8, 8, 500), &Options::default())
        .unwrap();
    let runs: Vec<Vec<_>> = plan
        .slices
        .iter()
        .map(|slice| slice.lanes[0].runs().collect())
        .collect();
    // 7 turns; the rest goes to group 7 mod 3.
    assert_eq!(runs[0], [0..64, 192..256, 384..448]);
    assert_eq!(runs[1], [64..128, 256..320, 448..500]);
    assert_eq!(runs[2], [128..192, 320..384]);
    assert!(plan.assumed.iter().any(|what| what.contains("inferred")));
    assert!(matches!(
        read("DepthU: 64, GlobalSplitU: 4, GlobalSplitUAlgorithm: SingleBuffer")
            .unwrap()
            .plan(&shape(8, 8, 500), &Options::default()),
        Err(KernelError::Undetermined { .. })
    ));
    assert!(matches!(
        read("DepthU=64,StreamK=3")
            .unwrap()
            .plan(&shape(8, 8, 500), &Options::default()),
        Err(KernelError::UnknownOrder { .. })
    ));
    let options = Options {
        capability: Some(Capability::new(9, 0)),
        ..Options::default()
    };
    assert!(matches!(
        reading.plan(&shape(8, 8, 500), &options),
        Err(KernelError::WrongGpu { .. })
    ));
}

/// GlobalSplitU 0 is no split, and says so; what is not said is assumed.
#[test]
fn splits_of_tensile_are_said() {
    let with = |text: &str, split_k| {
        let options = Options {
            split_k,
            ..Options::default()
        };
        read(text).unwrap().plan(&shape(8, 8, 512), &options)
    };
    let of = "DepthU=32,LSU=1,SU=0,MatrixInstruction=16x16x16";
    let off = format!("{of},GSU=0");
    assert_eq!(with(&off, None).unwrap().slices.len(), 1);
    assert!(matches!(
        with(&off, Some(4)),
        Err(KernelError::Contradiction { .. })
    ));
    assert!(said(&format!("{of},GSU=2,splitK=4")).contains("twice"));
    let assumed = with(of, None).unwrap().assumed.join("; ");
    assert!(assumed.contains("GlobalSplitU 1"), "{assumed}");
    let given = with(of, Some(4)).unwrap();
    assert_eq!(given.slices.len(), 4);
    assert!(!given.assumed.join("; ").contains("GlobalSplitU"));
    let stripes = with(
        "DepthU=32,LSU=4,GSU=1,SU=0,MatrixInstruction=16x16x16",
        None,
    );
    assert!(
        stripes
            .unwrap_err()
            .to_string()
            .contains("whole number of instructions")
    );
}
