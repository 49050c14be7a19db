// Every instruction that can be captured, one line each. MMA_UNITS, SCALED_UNITS and WGMMA_UNITS expand
//   MMA(name, A, B, accumulator, layout, register, registers, guard, text)
//   SCALED(name, A, B, scale, k that share one, layout, guard, text)
//   WGMMA(name, A, B, accumulator, layout, registers, guard, text, what follows the predicate)
// CORE_UNITS, TENSOR_UNITS and TENSOR_SCALED_UNITS say below what they expand.
// Where several lines fit a request, the last that the GPU has is taken, unless --shape names one.
#pragma once

// A type's word in PTX, and in this program.
#define PTX_FP16 "f16"
#define PTX_BF16 "bf16"
#define PTX_TF32 "tf32"
#define PTX_E4M3 "e4m3"
#define PTX_E5M2 "e5m2"
#define PTX_E3M2 "e3m2"
#define PTX_E2M3 "e2m3"
#define PTX_E2M1 "e2m1"
#define PTX_INT8 "s8"
#define PTX_UINT8 "u8"
#define PTX_INT4 "s4"
#define PTX_UINT4 "u4"
#define TYPES(D, A, B) "." D "." PTX_##A "." PTX_##B
#define ROW_COL ".row.col"
// A comma inside one macro argument.
#define LAYOUT(...) __VA_ARGS__

#define FLOAT_UNITS(X)                                                                                     \
    X(fp16_32_884, FP16, FP16, FP32, LAYOUT(QuadPairs<32>), u32, MMA_2_2_8, SM70,                         \
      "mma.sync.aligned.m8n8k4" ROW_COL TYPES("f32", FP16, FP16) ".f32")                                   \
    X(fp16_16_884, FP16, FP16, FP16, LAYOUT(QuadPairs<16>), u32, MMA_2_2_4, SM70,                         \
      "mma.sync.aligned.m8n8k4" ROW_COL TYPES("f16", FP16, FP16) ".f16")                                   \
    X(fp16_32_1688, FP16, FP16, FP32, LAYOUT(Rows<16, 8, 16, 32>), u32, MMA_2_1_4, SM75,                  \
      "mma.sync.aligned.m16n8k8" ROW_COL TYPES("f32", FP16, FP16) ".f32")                                  \
    X(fp16_16_1688, FP16, FP16, FP16, LAYOUT(Rows<16, 8, 16, 16>), u32, MMA_2_1_2, SM75,                  \
      "mma.sync.aligned.m16n8k8" ROW_COL TYPES("f16", FP16, FP16) ".f16")                                  \
    X(fp16_32_16816, FP16, FP16, FP32, LAYOUT(Rows<16, 16, 16, 32>), u32, MMA_4_2_4, SM80,                \
      "mma.sync.aligned.m16n8k16" ROW_COL TYPES("f32", FP16, FP16) ".f32")                                 \
    X(fp16_16_16816, FP16, FP16, FP16, LAYOUT(Rows<16, 16, 16, 16>), u32, MMA_4_2_2, SM80,                \
      "mma.sync.aligned.m16n8k16" ROW_COL TYPES("f16", FP16, FP16) ".f16")                                 \
    X(bf16_32_1688, BF16, BF16, FP32, LAYOUT(Rows<16, 8, 16, 32>), u32, MMA_2_1_4, SM80,                  \
      "mma.sync.aligned.m16n8k8" ROW_COL TYPES("f32", BF16, BF16) ".f32")                                  \
    X(bf16_32_16816, BF16, BF16, FP32, LAYOUT(Rows<16, 16, 16, 32>), u32, MMA_4_2_4, SM80,                \
      "mma.sync.aligned.m16n8k16" ROW_COL TYPES("f32", BF16, BF16) ".f32")                                 \
    X(tf32_32_1684, TF32, TF32, FP32, LAYOUT(Rows<16, 4, 32, 32>), u32, MMA_2_1_4, SM80,                  \
      "mma.sync.aligned.m16n8k4" ROW_COL TYPES("f32", TF32, TF32) ".f32")                                  \
    X(tf32_32_1688, TF32, TF32, FP32, LAYOUT(Rows<16, 8, 32, 32>), u32, MMA_4_2_4, SM80,                  \
      "mma.sync.aligned.m16n8k8" ROW_COL TYPES("f32", TF32, TF32) ".f32")                                  \
    X(fp64_64_884, FP64, FP64, FP64, LAYOUT(Rows<8, 4, 64, 64, 64>), u64, MMA_1_1_2_WIDE, SM80,           \
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64")

// FP8, and on sm_120a the formats of kind::f8f6f4.
#define BYTES_FLOAT(X, A, B, GUARD, GUARD16, KIND)                                                         \
    X(A##_##B##_32, A, B, FP32, LAYOUT(Rows<16, 32, 8, 32>), u32, MMA_4_2_4, GUARD,                        \
      "mma.sync.aligned" KIND ".m16n8k32" ROW_COL TYPES("f32", A, B) ".f32")                               \
    X(A##_##B##_16, A, B, FP16, LAYOUT(Rows<16, 32, 8, 16>), u32, MMA_4_2_2, GUARD16,                      \
      "mma.sync.aligned" KIND ".m16n8k32" ROW_COL TYPES("f16", A, B) ".f16")
#define FP8(X, A, B) BYTES_FLOAT(X, A, B, SM89, SM89_PTX87, "")
#define F8F6F4(X, A, B) BYTES_FLOAT(X, A, B, SM120A, SM120A, ".kind::f8f6f4")
#define FP8_UNITS(X) FP8(X, E4M3, E4M3) FP8(X, E4M3, E5M2) FP8(X, E5M2, E4M3) FP8(X, E5M2, E5M2)
#define SMALL_UNITS(X)                                                                                     \
    F8F6F4(X, E4M3, E3M2) F8F6F4(X, E4M3, E2M3) F8F6F4(X, E4M3, E2M1)                                      \
    F8F6F4(X, E5M2, E3M2) F8F6F4(X, E5M2, E2M3) F8F6F4(X, E5M2, E2M1)                                      \
    F8F6F4(X, E3M2, E4M3) F8F6F4(X, E3M2, E5M2) F8F6F4(X, E3M2, E3M2) F8F6F4(X, E3M2, E2M3)                \
    F8F6F4(X, E3M2, E2M1) F8F6F4(X, E2M3, E4M3) F8F6F4(X, E2M3, E5M2) F8F6F4(X, E2M3, E3M2)                \
    F8F6F4(X, E2M3, E2M3) F8F6F4(X, E2M3, E2M1) F8F6F4(X, E2M1, E4M3) F8F6F4(X, E2M1, E5M2)                \
    F8F6F4(X, E2M1, E3M2) F8F6F4(X, E2M1, E2M3) F8F6F4(X, E2M1, E2M1)

#define INTEGERS(X, A, B, SAT, NAME)                                                                       \
    X(A##_##B##_small##NAME, A, B, INT32, LAYOUT(Rows<8, 128 / BITS_##A, BITS_##A, 32>), u32, MMA_1_1_2,   \
      SM75, "mma.sync.aligned.m8n8k" K_SMALL_##A ROW_COL SAT TYPES("s32", A, B) ".s32")                   \
    X(A##_##B##_large##NAME, A, B, INT32, LAYOUT(Rows<16, 256 / BITS_##A, BITS_##A, 32>), u32, MMA_4_2_4,  \
      SM80, "mma.sync.aligned.m16n8k" K_LARGE_##A ROW_COL SAT TYPES("s32", A, B) ".s32")
#define BITS_INT8 8
#define BITS_UINT8 8
#define BITS_INT4 4
#define BITS_UINT4 4
#define K_SMALL_INT8 "16"
#define K_SMALL_UINT8 "16"
#define K_SMALL_INT4 "32"
#define K_SMALL_UINT4 "32"
#define K_LARGE_INT8 "32"
#define K_LARGE_UINT8 "32"
#define K_LARGE_INT4 "64"
#define K_LARGE_UINT4 "64"
#define BOTH_WAYS(X, A, B) INTEGERS(X, A, B, "", _wraps) INTEGERS(X, A, B, ".satfinite", _clamps)
#define INTEGER_UNITS(X)                                                                                   \
    BOTH_WAYS(X, INT8, INT8) BOTH_WAYS(X, INT8, UINT8) BOTH_WAYS(X, UINT8, INT8) BOTH_WAYS(X, UINT8, UINT8) \
    BOTH_WAYS(X, INT4, INT4) BOTH_WAYS(X, INT4, UINT4) BOTH_WAYS(X, UINT4, INT4) BOTH_WAYS(X, UINT4, UINT4)

// Block-scaled, on sm_120a. Names are the catalogue's.
#define PTX_UE8M0 "ue8m0"
#define PTX_UE4M3 "ue4m3"
#define MX8(X, A, B)                                                                                       \
    X(mx_##A##_##B, A, B, UE8M0, 32, LAYOUT(Rows<16, 32, 8, 32>), SM120A,                                  \
      "mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32" ROW_COL TYPES("f32", A, B)      \
      ".f32.ue8m0")
#define MX8_OF(X, A) MX8(X, A, E4M3) MX8(X, A, E5M2) MX8(X, A, E3M2) MX8(X, A, E2M3) MX8(X, A, E2M1)
#define MX4(X, NAME, KIND, VECTOR, SCALE, BLOCK, GUARD)                                                    \
    X(NAME, E2M1, E2M1, SCALE, BLOCK, LAYOUT(Rows<16, 64, 4, 32>), GUARD,                                  \
      "mma.sync.aligned.kind::" KIND ".block_scale.scale_vec::" VECTOR ".m16n8k64" ROW_COL                 \
      TYPES("f32", E2M1, E2M1) ".f32." PTX_##SCALE)
#define SCALED_UNITS(X)                                                                                    \
    MX8_OF(X, E4M3) MX8_OF(X, E5M2) MX8_OF(X, E3M2) MX8_OF(X, E2M3) MX8_OF(X, E2M1)                        \
    MX4(X, mxf4_32, "mxf4", "2X", UE8M0, 32, SM120A) MX4(X, nvf4_16, "mxf4nvf4", "4X", UE4M3, 16, SM120A)  \
    MX4(X, nvf4_mx_32, "mxf4nvf4", "2X", UE8M0, 32, SM120A)                                                \
    MX4(X, nvf4_mx_16, "mxf4nvf4", "4X", UE8M0, 16, SM120A_PTX91)

// CUDA cores, X(name, A, B, accumulator, guard, text): each lane has its elements of a tile of 16x8.
#define CORE_UNITS(X)                                         \
    X(ffma_fp32, FP32, FP32, FP32, SM70, "fma.rn.f32")        \
    X(ffma_fp16, FP16, FP16, FP32, SM70, "cvt.f32.f16, fma.rn.f32") \
    X(ffma_bf16, BF16, BF16, FP32, SM80, "shl.b32, fma.rn.f32")

#define MMA_UNITS(X) FLOAT_UNITS(X) FP8_UNITS(X) SMALL_UNITS(X) INTEGER_UNITS(X)

#define WGMMA_FP8(X, A, B)                                                                                 \
    X(wg_##A##_##B##_32, A, B, FP32, LAYOUT(WarpGroup<32, 32>), WGMMA_4, SM90A,                           \
      "wgmma.mma_async.sync.aligned.m64n8k32" TYPES("f32", A, B), ", 1, 1")                                \
    X(wg_##A##_##B##_16, A, B, FP16, LAYOUT(WarpGroup<32, 16>), WGMMA_2, SM90A,                           \
      "wgmma.mma_async.sync.aligned.m64n8k32" TYPES("f16", A, B), ", 1, 1")
#define WGMMA_INTEGER(X, A, B)                                                                             \
    X(wg_##A##_##B##_wraps, A, B, INT32, LAYOUT(WarpGroup<32, 32>), WGMMA_4, SM90A,                       \
      "wgmma.mma_async.sync.aligned.m64n8k32" TYPES("s32", A, B), "")                                      \
    X(wg_##A##_##B##_clamps, A, B, INT32, LAYOUT(WarpGroup<32, 32>), WGMMA_4, SM90A,                      \
      "wgmma.mma_async.sync.aligned.m64n8k32.satfinite" TYPES("s32", A, B), "")
#define WGMMA_UNITS(X)                                                                                     \
    X(wg_fp16_32, FP16, FP16, FP32, LAYOUT(WarpGroup<16, 32>), WGMMA_4, SM90A,                            \
      "wgmma.mma_async.sync.aligned.m64n8k16" TYPES("f32", FP16, FP16), ", 1, 1, 0, 0")                    \
    X(wg_fp16_16, FP16, FP16, FP16, LAYOUT(WarpGroup<16, 16>), WGMMA_2, SM90A,                            \
      "wgmma.mma_async.sync.aligned.m64n8k16" TYPES("f16", FP16, FP16), ", 1, 1, 0, 0")                    \
    X(wg_bf16_32, BF16, BF16, FP32, LAYOUT(WarpGroup<16, 32>), WGMMA_4, SM90A,                            \
      "wgmma.mma_async.sync.aligned.m64n8k16" TYPES("f32", BF16, BF16), ", 1, 1, 0, 0")                    \
    X(wg_tf32_32, TF32, TF32, FP32, LAYOUT(WarpGroup<8, 32>), WGMMA_4, SM90A,                             \
      "wgmma.mma_async.sync.aligned.m64n8k8" TYPES("f32", TF32, TF32), ", 1, 1")                           \
    WGMMA_FP8(X, E4M3, E4M3) WGMMA_FP8(X, E4M3, E5M2) WGMMA_FP8(X, E5M2, E4M3) WGMMA_FP8(X, E5M2, E5M2)    \
    WGMMA_INTEGER(X, INT8, INT8) WGMMA_INTEGER(X, INT8, UINT8)                                             \
    WGMMA_INTEGER(X, UINT8, INT8) WGMMA_INTEGER(X, UINT8, UINT8)

// tcgen05, X(name, A, B, accumulator, K, saturates, guard, kind) and, with scales, X(name, A, B, scale, k that share one,
// K, guard, kind).
#define TENSOR_BYTES(X, A, B)                                                                              \
    X(tensor_##A##_##B##_32, A, B, FP32, 32, false, SM100A, "f8f6f4")                                      \
    X(tensor_##A##_##B##_16, A, B, FP16, 32, false, SM100A, "f8f6f4")
#define TENSOR_BYTES_OF(X, A)                                                                              \
    TENSOR_BYTES(X, A, E4M3) TENSOR_BYTES(X, A, E5M2) TENSOR_BYTES(X, A, E3M2) TENSOR_BYTES(X, A, E2M3)    \
    TENSOR_BYTES(X, A, E2M1)
#define TENSOR_INTEGER(X, A, B)                                                                            \
    X(tensor_##A##_##B##_wraps, A, B, INT32, 32, false, SM100A_INTEGER, "i8")                              \
    X(tensor_##A##_##B##_clamps, A, B, INT32, 32, true, SM100A_INTEGER, "i8")
#define TENSOR_UNITS(X)                                                                                    \
    X(tensor_fp16_32, FP16, FP16, FP32, 16, false, SM100A, "f16")                                          \
    X(tensor_fp16_16, FP16, FP16, FP16, 16, false, SM100A, "f16")                                          \
    X(tensor_bf16_32, BF16, BF16, FP32, 16, false, SM100A, "f16")                                          \
    X(tensor_tf32_32, TF32, TF32, FP32, 8, false, SM100A, "tf32")                                          \
    TENSOR_BYTES_OF(X, E4M3) TENSOR_BYTES_OF(X, E5M2) TENSOR_BYTES_OF(X, E3M2) TENSOR_BYTES_OF(X, E2M3)    \
    TENSOR_BYTES_OF(X, E2M1)                                                                               \
    TENSOR_INTEGER(X, INT8, INT8) TENSOR_INTEGER(X, INT8, UINT8)                                           \
    TENSOR_INTEGER(X, UINT8, INT8) TENSOR_INTEGER(X, UINT8, UINT8)

#define TENSOR_MX8(X, A, B) X(tensor_mx_##A##_##B, A, B, UE8M0, 32, 32, SM100A, "mxf8f6f4.block_scale")
#define TENSOR_MX8_OF(X, A)                                                                                \
    TENSOR_MX8(X, A, E4M3) TENSOR_MX8(X, A, E5M2) TENSOR_MX8(X, A, E3M2) TENSOR_MX8(X, A, E2M3)            \
    TENSOR_MX8(X, A, E2M1)
#define TENSOR_SCALED_UNITS(X)                                                                             \
    TENSOR_MX8_OF(X, E4M3) TENSOR_MX8_OF(X, E5M2) TENSOR_MX8_OF(X, E3M2) TENSOR_MX8_OF(X, E2M3)            \
    TENSOR_MX8_OF(X, E2M1)                                                                                 \
    X(tensor_mxf4_32, E2M1, E2M1, UE8M0, 32, 64, SM100A, "mxf4.block_scale.block32")                       \
    X(tensor_nvf4_16, E2M1, E2M1, UE4M3, 16, 64, SM100A, "mxf4nvf4.block_scale.block16")                   \
    X(tensor_nvf4_mx_32, E2M1, E2M1, UE8M0, 32, 64, SM100A, "mxf4nvf4.block_scale.block32")                \
    X(tensor_nvf4_mx_16, E2M1, E2M1, UE8M0, 16, 64, SM100A, "mxf4nvf4.block_scale.block16")

// AMD, MFMA(name, instruction, A, B, accumulator, layout, register, the types of A, B and D, guard, built-in).
#define MFMA_FP8(X, A, B, TEXT)                                                                            \
    X(mfma_##A##_##B, "mfma", A, B, FP32, LAYOUT(Blocks<32, 8, 32>), u32, long, long, Floats4, ONLY_GFX942,     \
      __builtin_amdgcn_mfma_f32_16x16x32_##TEXT)
#define MFMA_UNITS(X)                                                                                      \
    X(mfma_fp16, "mfma", FP16, FP16, FP32, LAYOUT(Blocks<16, 16, 32>), u32, Halves4, Halves4, Floats4, GFX908, \
      __builtin_amdgcn_mfma_f32_16x16x16f16)                                                               \
    X(mfma_bf16_8, "mfma", BF16, BF16, FP32, LAYOUT(Blocks<8, 16, 32>), u32, Shorts2, Shorts2, Floats4,    \
      ONLY_GFX908, __builtin_amdgcn_mfma_f32_16x16x8bf16)                                                  \
    X(mfma_bf16_old, "mfma-bf16", BF16, BF16, FP32, LAYOUT(Blocks<8, 16, 32>), u32, Shorts2, Shorts2, Floats4, \
      ONLY_GFX90A, __builtin_amdgcn_mfma_f32_16x16x8bf16)                                                  \
    X(mfma_bf16_16, "mfma", BF16, BF16, FP32, LAYOUT(Blocks<16, 16, 32>), u32, Shorts4, Shorts4, Floats4,  \
      GFX90A, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k)                                                   \
    X(mfma_fp32, "mfma", FP32, FP32, FP32, LAYOUT(Blocks<4, 32, 32>), u32, float, float, Floats4, GFX908,  \
      __builtin_amdgcn_mfma_f32_16x16x4f32)                                                                \
    X(mfma_fp64, "mfma", FP64, FP64, FP64, LAYOUT(Blocks<4, 64, 64>), u64, double, double, Doubles4, GFX90A, \
      __builtin_amdgcn_mfma_f64_16x16x4f64)                                                                \
    X(mfma_xf32, "mfma", XF32, XF32, FP32, LAYOUT(Blocks<8, 32, 32>), u32, Floats2, Floats2, Floats4,      \
      ONLY_GFX942, __builtin_amdgcn_mfma_f32_16x16x8_xf32)                                                 \
    X(mfma_int8_old, "mfma", INT8, INT8, INT32, LAYOUT(Blocks<16, 8, 32>), u32, int, int, Ints4, ONLY_GFX908,  \
      __builtin_amdgcn_mfma_i32_16x16x16i8)                                                                \
    X(mfma_int8_16, "mfma", INT8, INT8, INT32, LAYOUT(Blocks<16, 8, 32>), u32, int, int, Ints4, ONLY_GFX90A,   \
      __builtin_amdgcn_mfma_i32_16x16x16i8)                                                                \
    X(mfma_int8_32, "mfma", INT8, INT8, INT32, LAYOUT(Blocks<32, 8, 32>), u32, long, long, Ints4, ONLY_GFX942, \
      __builtin_amdgcn_mfma_i32_16x16x32_i8)                                                               \
    MFMA_FP8(X, E4M3FNUZ, E4M3FNUZ, fp8_fp8) MFMA_FP8(X, E4M3FNUZ, E5M2FNUZ, fp8_bf8)                      \
    MFMA_FP8(X, E5M2FNUZ, E4M3FNUZ, bf8_fp8) MFMA_FP8(X, E5M2FNUZ, E5M2FNUZ, bf8_bf8)

/// The compute capability (AMD: gfx90a is 0x90a) a guard asks for; with `exact`, no later one will do but `also`.
struct Needs {
    int capability;
    bool exact;
    int also = 0;
};
#define NEEDS_SM70 {70, false}
#define NEEDS_SM75 {75, false}
#define NEEDS_SM80 {80, false}
#define NEEDS_SM89 {89, false}
#define NEEDS_SM89_PTX87 {89, false}
#define NEEDS_SM90A {90, true}
#define NEEDS_SM100A {100, true, 103}
#define NEEDS_SM100A_INTEGER {100, true}
#define NEEDS_SM120A {120, true, 121}
#define NEEDS_SM120A_PTX91 {120, true, 121}
#define NEEDS_GFX908 {0x908, false}
#define NEEDS_ONLY_GFX908 {0x908, true}
#define NEEDS_GFX90A {0x90a, false}
#define NEEDS_ONLY_GFX90A {0x90a, true}
#define NEEDS_ONLY_GFX942 {0x942, true}
