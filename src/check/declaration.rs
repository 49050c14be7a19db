//! The fields of a check, each declared once.
//!
//! A row gives a field its name in documents and in Python, its option (`-` for `_`) with help, its value and its
//! place in a printed command line, which is that of the row. [`Fields`](super::Fields) is made of the rows in
//! `fields.rs`, the options of `tcverify check` in `cli::args`, the rows of `docs/request.md` and the annotations of
//! `python/tcverify/_request.py` by a test. `#[arg(...)]` is clap's, and says how a command line takes the field; only
//! the program reads it.

/// Hands all groups of fields to a macro.
macro_rules! product_fields {
    ($make:ident) => {
        $make! {
            /// Which arithmetic.
            #[command(next_help_heading = "Model")]
            ModelArgs {
                /// Architecture, compute capability or GPU: hopper, sm_90, h100, cdna3, mi300x ...; of 'check' also
                /// "auto": 'identify' finds one that gives D, and the report says so
                #[arg(long, value_name = "NAME", value_parser = arch_names(), hide_possible_values = true)]
                arch: String,
                /// Architecture file, such as 'tcverify infer' writes or you do, in place of the catalogue
                #[arg(long, value_name = "FILE.json", conflicts_with = "arch")]
                model: PathBuf,
                /// Instruction: mma, wgmma, tcgen05, mfma ...; by default the architecture's own for the operands
                #[arg(long, value_name = "NAME", value_parser = instruction_names(), hide_possible_values = true)]
                instruction: String,
                /// Format of A and B; needed where neither their files nor a kernel's text say it
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = operand_format())]
                dtype: Format,
                /// Format of B, where it differs from A's
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = operand_format())]
                dtype_b: Format,
                /// Format the instruction accumulates in and returns: f32 (default), f16, f64 for FP64, s32 for
                /// integers
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = accumulator_format())]
                acc: Format,
                /// Format of C, where it is another than D's (gpgpu-sim; a kernel's epilogue) and the file cannot
                /// say it
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_float())]
                c_dtype: Format,
                /// Format of the scales of --scale-a and --scale-b: ue8m0 or ue4m3
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = scale_format())]
                scale_dtype: Format,
                /// How many consecutive k share a scale, where a unit has several: 16 or 32
                #[arg(long, value_name = "K")]
                scale_block: usize,
                /// ttnn's configurations as Python prints them: WormholeComputeKernelConfig(math_fidelity=..., fp32_dest_acc_en=...,
                /// packer_l1_acc=...), a program config with in0_block_w behind it: they say instruction and accumulator
                #[arg(long, value_name = "TEXT", help_heading = "Tenstorrent's kernels")]
                ttnn: String,
                /// Blocks of so many tiles of 32 k (in0_block_w of the program config): between blocks Dst goes through L1
                #[arg(long, value_name = "TILES", help_heading = "Tenstorrent's kernels")]
                in0_block_w: usize,
                /// The packer adds the sums of blocks in L1 (packer_l1_acc of the compute kernel config)
                #[arg(long, action = ArgAction::SetTrue, help_heading = "Tenstorrent's kernels", requires = "in0_block_w")]
                packer_l1_acc: bool,
                /// How FP32 sums come back from L1, which depends on tt-metal's version: "exact" (UnpackToDestFp32), or cut to
                /// "tf32" or "bf16" by way of SrcA
                #[arg(long, value_name = "HOW", help_heading = "Tenstorrent's kernels", value_parser = word::<Reload>())]
                reload: Reload,
            }

            /// Where a schedule is described.
            #[command(next_help_heading = "Schedule")]
            PresetArgs {
                /// How the kernel chains the instruction over K: plain (default), cutlass-sm80, cublas-workspace,
                /// deepgemm-sm90 ...; 'tcverify schedules' describes them
                #[arg(long, value_name = "NAME", value_parser = schedule_names(), hide_possible_values = true)]
                schedule: String,
                /// A schedule of your own, in the schema of the built-in ones
                #[arg(long, value_name = "FILE.json", conflicts_with = "schedule")]
                schedule_file: PathBuf,
            }

            /// What a library says of its kernel, in place of a schedule.
            #[command(next_help_heading = "Kernel, from what the library says")]
            KernelArgs {
                /// A cuBLASLt log line, a configuration (algo=66,stages=35,splitK=3,reduction=2), JSON, or a kernel's
                /// name: it gives model, order of the sums and D's format; --split-k, --tile-k and the options below say
                /// what it leaves open, and 'tcverify kernels explain TEXT' shows how it is read
                #[arg(long, value_name = "TEXT")]
                kernel: String,
                /// A log of cuBLASLt (CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=...): the line about this product
                #[arg(long, value_name = "FILE")]
                kernel_log: PathBuf,
                /// A table recorded on a GPU by scripts/capture/record_kernels.py
                #[arg(long, value_name = "FILE.json")]
                kernel_table: PathBuf,
                /// Bytes of workspace that the library was given, to choose among answers of a table
                #[arg(long, value_name = "BYTES")]
                workspace: u64,
            }

            /// What the text may leave open, beside slices and tiles.
            #[command()]
            Unsaid {
                /// How slices meet: NONE, INPLACE, COMPUTE_TYPE, OUTPUT_TYPE, or 0, 1, 2, 4
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
                /// Turns by which a workgroup's loop over K is rotated (AMD, StaggerU)
                #[arg(long, value_name = "TURNS")]
                rotation: usize,
                /// Slices that reach the end of K, as a library without the defect of the lost tail cuts them
                #[arg(long, action = ArgAction::SetTrue)]
                whole_tail: bool,
            }

            /// What is otherwise than a schedule says, and what it works with.
            #[command(next_help_heading = "Schedule")]
            ChangeArgs {
                /// k of a tile of the main loop
                #[arg(long, value_name = "K")]
                tile_k: usize,
                /// Which tile is the partial one where K is no multiple of it
                #[arg(long, value_name = "WHERE", value_parser = word::<ResidueChoice>())]
                residue: ResidueChoice,
                /// Products of an instruction, where those are fewer than the unit adds in one step
                #[arg(long, value_name = "K")]
                instruction_k: usize,
                /// How K is divided and slices come together, where the schedule does not divide it
                #[arg(long, value_name = "HOW", value_parser = word::<SplitChoice>())]
                split: SplitChoice,
                /// Slices (or warps) that K is divided into
                #[arg(long, value_name = "N")]
                split_k: usize,
                /// What slices are multiples of, where those are not whole tiles
                #[arg(long, value_name = "K")]
                grain: usize,
                /// What a workspace keeps partial sums in: f32, or D's format
                #[arg(long, value_name = "FORMAT", value_parser = word::<PartialsChoice>())]
                partials: PartialsChoice,
                /// In which order the sums of slices are added
                #[arg(long, value_name = "ORDER", value_parser = word::<OrderChoice>())]
                sum_order: OrderChoice,
                /// Workers (SMs) that share the tiles of a stream-K kernel
                #[arg(long, value_name = "N")]
                workers: usize,
                /// Add the accumulator to one in f32 every K products, or "never"
                #[arg(long, value_name = "K")]
                promote: PromoteChoice,
                /// The sum is multiplied with this in f32; a decimal number, inf, or an f32 code such as 0x3f800000
                #[arg(long, value_name = "X", allow_hyphen_values = true)]
                alpha: F32,
                /// C is multiplied with this and added to the finished sum, instead of starting the chain (default
                /// 1 where the schedule has an epilogue)
                #[arg(long, value_name = "X", allow_hyphen_values = true)]
                beta: F32,
                /// FP8 results are multiplied with this in f32 before they are rounded, if the schedule's kernel does so
                #[arg(long, value_name = "X", allow_hyphen_values = true)]
                scale_result: F32,
                /// A function of every element, in f32 before the result is rounded
                #[arg(long, value_name = "NAME", value_parser = word::<ActivationChoice>())]
                activation: ActivationChoice,
                /// One number for every column of D, added in f32 before the result is rounded
                #[arg(long, value_name = "BIAS.npy")]
                bias: Source,
                /// Format of the bias, where its file cannot say it
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_float())]
                bias_dtype: Format,
                /// Zero points of A's rows (int8 operands): one int32 for every row of D, multiplied with those of
                /// --azp-adj (vLLM's azp)
                #[arg(long, value_name = "AZP.npy", requires = "azp_adj")]
                azp: Source,
                /// What zero points add to integer sums: one int32 for every column of D, taken off before the scales
                /// (vLLM's azp_adj: B's columns added up, times the zero point where A has one)
                #[arg(long, value_name = "ADJ.npy")]
                azp_adj: Source,
            }

            /// What D is said to be, and what is said of one that does not differ.
            #[command()]
            ResultArgs {
                /// Format of D: the accumulator's, or (from f32) fp16 or bf16 by one rounding to nearest even; a
                /// schedule's epilogue also has fp8. Needed only where the file cannot say it
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = result_format(), help_heading = "Comparison")]
                d_dtype: Format,
                /// Judge by the SHA-256 of D's canonical payload instead of a file
                #[arg(long, value_name = "SHA256", value_parser = crate::io::parse_sha256, help_heading = "Comparison")]
                d_digest: String,
                /// Do not look for other arithmetics of the catalogue that give a D that does not differ
                #[arg(long, action = ArgAction::SetTrue, help_heading = "Report")]
                no_discrimination: bool,
            }

            /// How a result is judged, of a product or of an operation.
            #[command()]
            JudgeArgs {
                /// NaN bits must agree exactly, or any NaN will do for a NaN
                #[arg(
                    long,
                    value_name = "HOW",
                    default_value = "exact",
                    help_heading = "Comparison",
                    value_parser = word::<Strictness>()
                )]
                nan: Strictness,
                /// Signs of zeros must agree exactly, or either zero will do
                #[arg(
                    long,
                    value_name = "HOW",
                    default_value = "exact",
                    help_heading = "Comparison",
                    value_parser = word::<Strictness>()
                )]
                zero: Strictness,
                /// Make sure first that operands, model and D are those of a commitment ('tcverify commit'); if one
                /// is not, the exit code is 1 and there is no report
                #[arg(long, value_name = "C.json", help_heading = "Comparison")]
                against: PathBuf,
                /// Compare N random elements instead of all; the report says what that proves. Needs --seed-from and
                /// --beacon, or --seed
                #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Part of D")]
                sample: u64,
                /// Seed of the draw. Choose it after D has been handed over: who knows it before can spare the
                /// sample
                #[arg(long, value_name = "S", help_heading = "Part of D")]
                seed: u64,
                /// Draw by this commitment ('tcverify commit') and --beacon: the seed is of the SHA-256 of both, so that
                /// nobody could choose it. Operands, model and D must be those of the commitment, as with --against
                #[arg(long, value_name = "C.json", help_heading = "Part of D")]
                seed_from: PathBuf,
                /// A public value that nobody could know when the commitment was published, such as the next round of
                /// drand or a pulse of the NIST beacon
                #[arg(long, value_name = "VALUE", allow_hyphen_values = true, help_heading = "Part of D")]
                beacon: String,
                /// Only these rows of D, counted from 0, the end excluded: 128..256, 128.. or 7
                #[arg(long, value_name = "ROWS", help_heading = "Part of D")]
                rows: Span,
                /// Only these columns of D
                #[arg(long, value_name = "COLUMNS", help_heading = "Part of D")]
                cols: Span,
                /// Only this rectangle of D: ROWS,COLUMNS, such as 0..128,64..
                #[arg(long, value_name = "ROWS,COLUMNS", help_heading = "Part of D")]
                region: String,
                /// How many mismatches to list
                #[arg(long, value_name = "N", default_value = "10", help_heading = "Report")]
                max_mismatches: usize,
                /// Name the reproduced D by the root of its Merkle tree, as a commitment does, instead of the
                /// SHA-256 of its payload: what 'tcverify shard merge' reports, too
                #[arg(long, action = ArgAction::SetTrue, help_heading = "Report")]
                tree: bool,
                /// Rows of D in a block of the tree; by default as many as make about a mebibyte
                #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Report")]
                block_rows: u64,
                /// Do not look for what would give a D that differs
                #[arg(long, action = ArgAction::SetTrue, help_heading = "Report")]
                no_causes: bool,
            }

            /// Who computes.
            #[command()]
            EngineArgs {
                /// Who computes: "fast" (vector kernels, the exact engine where they do not apply) or "exact".
                /// Both give the same bits
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
                /// Scales of A, Mx(K/block): one for every block of k of every row; f32 with a schedule that scales, one for every
                /// row, or one for all where the kernel repeats it (vLLM's)
                #[arg(long, value_name = "SA.npy", help_heading = "Operands")]
                scale_a: Source,
                /// Scales of B, (K/block)xN; stored as B is, so Nx(K/block) with --transpose-b; with such a schedule one for every
                /// column, or one for all
                #[arg(long, value_name = "SB.npy", help_heading = "Operands")]
                scale_b: Source,
                /// Metadata of a compressed A, whose columns are the kept ones (2:4 sparsity, mma.sp): words of 4-bit
                /// selectors; K is then that of A, and B has all rows
                #[arg(long, value_name = "META.npy", help_heading = "Operands")]
                sparse_a: Source,
                /// How the metadata lie: "words" (default; the selectors of a row one after the other) or "cutlass" (as PyTorch's
                /// to_sparse_semi_structured has them)
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
                /// What to do with FP32 bits that TF32 and XF32 lack
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
                /// a batch
                #[arg(value_name = "A.npy", required = true)]
                a: Source,
                /// B, KxN (or NxK with --transpose-b), likewise
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
        }
    };
}

pub(crate) use product_fields;
