//! The fields of an operation, each declared once, as `src/check/declaration.rs` declares those of a product.

/// Hands all groups of an operation's fields to a macro; arrays are named by their roles.
#[macro_export]
macro_rules! operation_fields {
    ($make:ident) => {
        $crate::with_judging! { $make, Operation, OperationJudgeArgs, [
            /// Which operation.
            #[command()]
            ParameterArgs {
                /// Operation: rms_norm, softmax, silu, attention ... ('tcverify ops')
                #[arg(long = "op", value_name = "NAME", required = true, help_heading = "Operation")]
                operation: String,
                /// GPU or architecture whose tensor core multiplies (attention)
                #[arg(long, value_name = "NAME", help_heading = "Operation")]
                arch: String,
                /// Format of the arrays, if their files do not state it
                #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format())]
                dtype: Format,
                /// Epsilon, added to the variance (norms)
                #[arg(long, value_name = "X", allow_hyphen_values = true, help_heading = "Parameters")]
                eps: F32,
                /// Factor of scores (attention); by default 1/sqrt(d)
                #[arg(long, value_name = "X", allow_hyphen_values = true, help_heading = "Parameters")]
                softmax_scale: F32,
                /// Causal mask: a query sees only keys up to its own position (attention)
                #[arg(long, action = ArgAction::SetTrue, help_heading = "Parameters")]
                causal: bool,
                /// Axes: bshd (batch, tokens, heads, elements) or bhsd; by default the variant's (attention, rope)
                #[arg(long, value_name = "AXES", value_parser = word::<Layout>(), help_heading = "Parameters")]
                layout: Layout,
                /// Rotate neighbouring elements instead of halves (rope)
                #[arg(long, action = ArgAction::SetTrue, help_heading = "Parameters")]
                interleaved: bool,
                /// Number of elements that share a scale (quantize_fp8); by default 128
                #[arg(long, value_name = "N", help_heading = "Parameters")]
                group: usize,
                /// Rows of Q and keys of a block, such as 128x64, instead of the variant's (attention)
                #[arg(long, value_name = "MxN", help_heading = "Parameters")]
                tile: String,
                /// Result to judge, not a file: residual (fused rms_norm), scale (quantize_fp8), row_max or row_sum
                /// (FlashAttention-4); by default y
                #[arg(long, value_name = "NAME", help_heading = "Parameters")]
                output: String,
                /// Engine: "fast" ("auto", too) or "exact", which give the same bits; "gpu" is refused here
                #[arg(long, value_name = "ENGINE", default_value = "fast", value_parser = word::<EngineChoice>())]
                engine: EngineChoice,
            }

            /// The variant.
            #[command(next_help_heading = "Operation")]
            RuleArgs {
                /// Variant; by default the operation's first one
                #[arg(long, value_name = "NAME")]
                variant: String,
                /// Your own variant file instead (docs/layers.md)
                #[arg(long, value_name = "FILE.json", conflicts_with = "variant")]
                variant_file: PathBuf,
            }

            /// What the result should be.
            #[command()]
            DigestArgs {
                /// SHA-256 of the result's canonical payload, instead of the result
                #[arg(long, value_name = "HEX", help_heading = "Comparison")]
                y_digest: String,
            }
        ], [] }
    };
}
