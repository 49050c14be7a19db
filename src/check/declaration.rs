//! The fields of a check, each declared once.
//!
//! A row gives a field its name in documents and in Python, its option (`-` for `_`) with help, its value and its
//! place in a printed command line, which is that of the row. [`RequestFields`](super::RequestFields) is made of the rows in
//! `fields.rs`, the options of `tcverify check` in `cli::args`, the rows of `docs/request.md` and the annotations of
//! `python/tcverify/_request.py` by a test. `#[arg(...)]` is clap's, and says how a command line takes the field; only
//! the program reads it. One with `skip` is rare: `--set NAME=VALUE` gives it.

/// Puts the group that products and operations share between a request's own groups, and hands all to a macro.
#[macro_export]
macro_rules! with_judging {
    ($make:ident, $request:ident, $judge:ident, [$($before:tt)*], [$($after:tt)*]) => {
        $make! {
            $request;
            $($before)*

            /// How a result is judged, of a product or of an operation.
            #[command()]
            $judge {
                /// Whether NaN bits must agree exactly, or all NaNs count as equal
                #[arg(
                    long,
                    value_name = "HOW",
                    default_value = "exact",
                    help_heading = "Comparison",
                    value_parser = word::<Strictness>()
                )]
                nan: Strictness,
                /// Whether signs of zeros must agree exactly, or +0 and -0 count as equal
                #[arg(
                    long,
                    value_name = "HOW",
                    default_value = "exact",
                    help_heading = "Comparison",
                    value_parser = word::<Strictness>()
                )]
                zero: Strictness,
                /// First check that operands, model and D match a commitment ('tcverify commit'); if one does not,
                /// the exit code is 1 and there is no report
                #[arg(long, value_name = "C.json", help_heading = "Comparison")]
                against: PathBuf,
                /// Compare N random elements instead of all; the report states what that proves. Needs --seed-from
                /// and --beacon, or --seed
                #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Part of D")]
                sample: u64,
                /// Seed of the draw. Choose it after you received D: whoever knows it earlier can cheat on all
                /// other elements
                #[arg(long, value_name = "S", help_heading = "Part of D")]
                seed: u64,
                /// Draw by this commitment ('tcverify commit') and --beacon: the seed is derived from the SHA-256 of
                /// both, so that nobody can choose it. Operands, model and D must match the commitment, as with
                /// --against
                #[arg(long, value_name = "C.json", help_heading = "Part of D")]
                seed_from: PathBuf,
                /// A public value that nobody could know when the commitment was published, such as the next round of
                /// drand or a pulse of the NIST beacon
                #[arg(long, value_name = "VALUE", allow_hyphen_values = true, help_heading = "Part of D")]
                beacon: String,
                /// Only these rows of D, counted from 0, end excluded: 128..256, 128.. or 7
                #[arg(long, value_name = "ROWS", help_heading = "Part of D")]
                rows: Span,
                /// Only these columns of D
                #[arg(long, value_name = "COLUMNS", help_heading = "Part of D")]
                cols: Span,
                /// Only this rectangle of D: ROWS,COLUMNS, such as 0..128,64..
                #[arg(long, value_name = "ROWS,COLUMNS", help_heading = "Part of D")]
                region: String,
                /// Number of mismatches to list
                #[arg(long, value_name = "N", default_value = "10", help_heading = "Report")]
                max_mismatches: usize,
                /// Report the reproduced D by the root of its Merkle tree, like a commitment and 'tcverify
                /// shard merge', instead of the SHA-256 of its payload
                #[arg(long, action = ArgAction::SetTrue, help_heading = "Report")]
                tree: bool,
                /// Rows of D per block of the tree; by default about 1 MiB of rows
                #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Report")]
                block_rows: u64,
                /// Do not search for causes if D differs
                #[arg(long, action = ArgAction::SetTrue, help_heading = "Report")]
                no_causes: bool,
            }

            $($after)*
        }
    };
}

/// Hands all groups of a product's fields to a macro.
#[macro_export]
macro_rules! product_fields {
    ($make:ident) => {
        $crate::with_judging! { $make, RequestFields, JudgeArgs, [
            /// Which arithmetic.
            #[command(next_help_heading = "Model")]
            ModelArgs {
                /// Architecture, compute capability or GPU: hopper, sm_90, h100, cdna3, mi300x ... 'check' also
                /// accepts "auto": it searches a model that gives D, and the report says so
                #[arg(long, value_name = "NAME", value_parser = arch_names(), hide_possible_values = true)]
                arch: String,
                /// Architecture file, your own or from 'tcverify infer', instead of the catalogue
                #[arg(long, value_name = "FILE.json", conflicts_with = "arch")]
                model: PathBuf,
                /// Instruction: mma, wgmma, tcgen05, mfma ...; by default the architecture's own for the operands
                #[arg(long, value_name = "NAME", value_parser = instruction_names(), hide_possible_values = true)]
                instruction: String,
                /// Format of A and B; needed if neither their files nor a kernel text states it
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = operand_format())]
                dtype: Format,
                /// Format of B, if it differs from A's
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = operand_format())]
                dtype_b: Format,
                /// Format the instruction accumulates in and returns: f32 (default), f16 or bf16; f64 for FP64, s32
                /// for integers
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = accumulator_format())]
                acc: Format,
                /// Format of C, if it differs from the accumulator's (gpgpu-sim; a kernel's epilogue) and the file
                /// does not state it
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_float())]
                c_dtype: Format,
                /// Format of the scales of --scale-a and --scale-b: ue8m0 or ue4m3
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = scale_format())]
                scale_dtype: Format,
                /// Number of consecutive k that share a scale, if a unit supports several: 16 or 32
                #[arg(long, value_name = "K")]
                scale_block: usize,
                /// ttnn's configurations as Python prints them: WormholeComputeKernelConfig(math_fidelity=...,
                /// fp32_dest_acc_en=..., packer_l1_acc=...), then a program config with in0_block_w. They determine
                /// the instruction and the accumulator
                #[arg(long, value_name = "TEXT", help_heading = "Tenstorrent's kernels")]
                ttnn: String,
                /// Tiles of 32 k per block (in0_block_w of the program config); between blocks Dst goes through L1
                #[arg(skip)]
                in0_block_w: usize,
                /// The packer adds the sums of blocks in L1 (packer_l1_acc of the compute kernel config)
                #[arg(skip)]
                packer_l1_acc: bool,
                /// How FP32 sums are read back from L1, which depends on the version of tt-metal: "exact"
                /// (UnpackToDestFp32), or truncated to "tf32" or "bf16" through SrcA
                #[arg(skip)]
                reload: Reload,
                /// FPMR.LSCALE: products of FP8 count times 2^-N; 0 to 127, or to 15 if D is FP16
                #[arg(skip)]
                lscale: u32,
                /// FPMR.OSM: 1 if an overflow gives the largest finite number instead of infinity
                #[arg(skip)]
                osm: u32,
            }

            /// Where a schedule is described.
            #[command(next_help_heading = "Schedule")]
            PresetArgs {
                /// How the kernel chains the instruction over K: plain (default), cutlass-sm80, cublas-workspace,
                /// deepgemm-sm90 ...; 'tcverify schedules' describes them
                #[arg(long, value_name = "NAME", value_parser = schedule_names(), hide_possible_values = true)]
                schedule: String,
                /// Your own schedule, in the schema of the built-in ones
                #[arg(long, value_name = "FILE.json", conflicts_with = "schedule")]
                schedule_file: PathBuf,
            }

            /// What a library says of its kernel, in place of a schedule.
            #[command(next_help_heading = "Kernel, from what the library says")]
            KernelArgs {
                /// A cuBLASLt log line, a configuration (algo=66,stages=35,splitK=3,reduction=2), JSON, or a kernel
                /// name. It gives the model, the order of the sums and D's format; --split-k, --tile-k and
                /// rare settings give what it lacks. 'tcverify kernels explain TEXT' explains it
                #[arg(long, value_name = "TEXT")]
                kernel: String,
                /// A cuBLASLt log (CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=...); the line for this product is
                /// used
                #[arg(long, value_name = "FILE")]
                kernel_log: PathBuf,
                /// A table recorded on a GPU by scripts/capture/record_kernels.py
                #[arg(long, value_name = "FILE.json")]
                kernel_table: PathBuf,
                /// Workspace of the library in bytes, to choose among the answers of a table
                #[arg(skip)]
                workspace: u64,
            }

            /// What the text may leave open, beside slices and tiles.
            #[command()]
            KernelHints {
                /// How slices are added: NONE, INPLACE, COMPUTE_TYPE, OUTPUT_TYPE, or 0, 1, 2, 4
                #[arg(long, value_name = "SCHEME", value_parser = parse_scheme)]
                reduction: Scheme,
                /// How CUTLASS cuts K: universal (cuBLAS too), serial-tiles, parallel-tiles
                #[arg(long, value_name = "HOW", value_parser = parse_partition)]
                partition: Partition,
                /// CUSTOM_OPTION of the configuration
                #[arg(long, value_name = "N")]
                custom: u32,
                /// FP8 accumulation
                #[arg(long, value_name = "HOW", value_parser = word::<Accumulation>())]
                accumulation: Accumulation,
                /// Multiprocessors of the GPU
                #[arg(long, value_name = "N")]
                multiprocessors: u32,
                /// Iterations by which a workgroup's loop over K is rotated (AMD, StaggerU)
                #[arg(long, value_name = "TURNS")]
                rotation: usize,
                /// Slices reach the end of K, as in a library without the dropped-remainder defect
                #[arg(long, action = ArgAction::SetTrue)]
                whole_remainder: bool,
            }

            /// Changes to a schedule, and its values.
            #[command(next_help_heading = "Schedule")]
            ChangeArgs {
                /// K of a tile of the main loop
                #[arg(long, value_name = "K")]
                tile_k: usize,
                /// Position of the partial tile if K is not a multiple of the tile
                #[arg(skip)]
                residue: ResidueChoice,
                /// Products per instruction, if fewer than the unit adds in one step
                #[arg(skip)]
                instruction_k: usize,
                /// How K is split and slices are added, if the schedule does not split K
                #[arg(skip)]
                split: SplitChoice,
                /// Slices of 8 bits that FP64 operands are taken apart into, if the schedule does that (5 to 10)
                #[arg(long, value_name = "N")]
                slices: usize,
                /// Number of slices (or warps) of K
                #[arg(long, value_name = "N")]
                split_k: usize,
                /// Slices are multiples of this many k, if not of whole tiles
                #[arg(skip)]
                grain: usize,
                /// Format of partial sums in a workspace: f32, or D's format
                #[arg(skip)]
                partials: PartialsChoice,
                /// Order in which the sums of slices are added
                #[arg(skip)]
                sum_order: OrderChoice,
                /// Number of workers (SMs) that share the tiles of a stream-K kernel
                #[arg(skip)]
                workers: usize,
                /// Add the accumulator to an f32 accumulator every K products, or "never"
                #[arg(skip)]
                promote: PromoteChoice,
                /// Factor of the sum, in f32: a decimal number, inf, or an f32 code such as 0x3f800000
                #[arg(long, value_name = "X", allow_hyphen_values = true)]
                alpha: Factor,
                /// Factor of C, which is then added to the finished sum instead of starting the chain (default 1
                /// if the schedule has an epilogue)
                #[arg(long, value_name = "X", allow_hyphen_values = true)]
                beta: Factor,
                /// Factor of FP8 results, in f32 before rounding, if the schedule's kernel has one
                #[arg(long, value_name = "X", allow_hyphen_values = true)]
                scale_result: F32,
                /// Function of each element, in f32 before the result is rounded
                #[arg(long, value_name = "NAME", value_parser = word::<ActivationChoice>())]
                activation: ActivationChoice,
                /// Zero points of A's rows (int8 operands): one int32 per row of D, multiplied by those of
                /// --azp-adj (vLLM's azp)
                #[arg(long, value_name = "AZP.npy", requires = "azp_adj")]
                azp: Source,
                /// Contribution of zero points to integer sums: one int32 per column of D, subtracted before the
                /// scales (vLLM's azp_adj: the sums of B's columns, times the zero point if A has one)
                #[arg(long, value_name = "ADJ.npy")]
                azp_adj: Source,
            }

            /// How D is stored.
            #[command()]
            FormatArgs {
                /// Format of D: the accumulator's, or (from f32) fp16 or bf16 by one rounding to nearest (ties to
                /// even; Tenstorrent's bf16: away); a schedule's epilogue also allows fp8. Needed only if the file
                /// does not state it
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format(), help_heading = "Comparison")]
                d_dtype: Format,
            }

            /// What D should be, and what a report says of an identical D.
            #[command()]
            ResultArgs {
                /// Judge by the SHA-256 of D's canonical payload instead of a file
                #[arg(long, value_name = "SHA256", value_parser = parse_sha256, help_heading = "Comparison")]
                d_digest: String,
                /// Do not search the catalogue for other arithmetics that give the same D
                #[arg(long, action = ArgAction::SetTrue, help_heading = "Report")]
                no_ambiguity: bool,
            }
        ], [
            /// The engine that computes.
            #[command()]
            EngineArgs {
                /// Engine: "fast" (vector kernels, and the exact engine where they do not apply), "exact", or, for 'check'
                /// and 'replay', "gpu" ('tcverify engines') and "auto" (a GPU if it pays). All give the same bits
                #[arg(
                    long,
                    value_name = "WHICH",
                    default_value = "fast",
                    help_heading = "Operands",
                    value_parser = word::<EngineChoice>()
                )]
                engine: EngineChoice,
            }

            /// What is multiplied beside A and B, and how all of it is stored.
            #[command()]
            LayoutArgs {
                /// C, of D's shape and the accumulator's format (or --c-dtype); without it C is +0
                #[arg(long, value_name = "C.npy", help_heading = "Operands")]
                c: Source,
                /// One number per column of D, added in f32 before the result is rounded
                #[arg(long, value_name = "BIAS.npy", help_heading = "Operands")]
                bias: Source,
                /// Format of the bias, if its file does not state it
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_float(), help_heading = "Operands")]
                bias_dtype: Format,
                /// Scales of A, Mx(K/block), stored like A: (K/block)xM with --transpose-a. With a schedule that
                /// scales: f32, one per row, or one for all if the kernel repeats it (vLLM's)
                #[arg(long, value_name = "SA.npy", help_heading = "Operands")]
                scale_a: Source,
                /// Scales of B, (K/block)xN, stored like B: Nx(K/block) with --transpose-b. With such a schedule one
                /// per column, or one for all
                #[arg(long, value_name = "SB.npy", help_heading = "Operands")]
                scale_b: Source,
                /// B holds codes of weights, which the kernel dequantises. --scale-b then has the scales of groups of k,
                /// (K/group)xN in A's format, and --kernel names the kernel (marlin-vllm)
                #[arg(long, value_name = "KIND", help_heading = "Operands", value_parser = word::<Weights>())]
                weights: Weights,
                /// Zero points of weights, a code for each scale
                #[arg(long, value_name = "ZB.npy", help_heading = "Operands")]
                zero_b: Source,
                /// Metadata of a compressed A, which holds only the kept columns (2:4 sparsity, mma.sp): words of
                /// 4-bit selectors. K is then the uncompressed one, and B has all rows. Only 'check', 'replay' and
                /// 'explain' use it
                #[arg(long, value_name = "META.npy", help_heading = "Operands")]
                sparse_a: Source,
                /// Layout of the metadata: "words" (default; the selectors of a row in sequence) or "cutlass" (as in
                /// PyTorch's to_sparse_semi_structured)
                #[arg(
                    long,
                    value_name = "HOW",
                    help_heading = "Operands",
                    default_value = "words",
                    requires = "sparse_a",
                    value_parser = word::<SparseLayout>()
                )]
                sparse_layout: SparseLayout,
                /// A is stored KxM
                #[arg(long, action = ArgAction::SetTrue, help_heading = "Operands")]
                transpose_a: bool,
                /// B is stored NxK, as weights often are
                #[arg(long, action = ArgAction::SetTrue, help_heading = "Operands")]
                transpose_b: bool,
                /// How to treat FP32 bits that TF32 and XF32 lack
                #[arg(
                    long,
                    value_name = "HOW",
                    help_heading = "Operands",
                    default_value = "truncate",
                    value_parser = word::<Tf32Input>()
                )]
                tf32_input: Tf32Input,
            }

            /// The matrices that are multiplied.
            #[command()]
            MatrixArgs {
                /// A, MxK (or KxM with --transpose-a): x.npy, x.npz#name or x.safetensors#name; leading axes are
                /// a batch, a vector is a row
                #[arg(value_name = "A.npy", required = true)]
                a: Source,
                /// B, KxN (or NxK with --transpose-b), as for A; a vector is a column
                #[arg(value_name = "B.npy", required = true)]
                b: Source,
            }

            /// What a GPU computed.
            #[command()]
            CapturedArgs {
                /// The captured D: x.npy, x.npz#name or x.safetensors#name
                #[arg(value_name = "D.npy", help_heading = None::<&str>)]
                d: Source,
            }
        ] }
    };
}
