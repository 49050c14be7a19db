// Products by the instructions of an Arm processor, one after the other, k ascending: docs/capturing-chips.md.
//
//     c++ -std=c++17 -O2 -o arm arm.cpp && ./arm FOLDER "the processor's name"
//
// Writes a case folder for every instruction that the processor has and every class of operands. The words below are what
// an assembler makes of the text beside them, so that no compiler needs to know the instruction.
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "generate.cuh"
#include "json.h"
#include "names.h"
#include "npy.h"

#ifndef __aarch64__
#error "this program runs on 64-bit Arm"
#endif

/// Adds the products of a tile to D: rows of A, columns of B, of so many bytes, one after the other.
typedef void (*Instruction)(const u8* a, const u8* b, u8* d);

#define OPERANDS register const u8 *x0 __asm__("x0") = a, *x1 __asm__("x1") = b; register u8* x2 __asm__("x2") = d
#define REGISTERS "v0", "v1", "v2", "memory"

#define VECTORS(words) [](const u8* a, const u8* b, u8* d) { \
    OPERANDS; \
    __asm__ volatile("ldr q0, [x2]\n ldr q1, [x0]\n ldr q2, [x1]\n" words "str q0, [x2]\n" \
        : : "r"(x0), "r"(x1), "r"(x2) : REGISTERS); \
}

// Four 32-bit lanes of an SVE vector of any length.
#define SCALABLE(word) [](const u8* a, const u8* b, u8* d) { \
    OPERANDS; \
    __asm__ volatile( \
        ".inst 0x2598e080\n"  /* ptrue p0.s, vl4 */ \
        ".inst 0xa540a040\n"  /* ld1w {z0.s}, p0/z, [x2] */ \
        ".inst 0xa540a001\n"  /* ld1w {z1.s}, p0/z, [x0] */ \
        ".inst 0xa540a022\n"  /* ld1w {z2.s}, p0/z, [x1] */ \
        ".inst " word "\n" \
        ".inst 0xe540e040\n"  /* st1w {z0.s}, p0, [x2] */ \
        : : "r"(x0), "r"(x1), "r"(x2) : REGISTERS); \
}

// smstart clears every vector.
#define ALL_REGISTERS "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", \
    "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", \
    "x3", "x4", "x12", "cc", "memory"

// All of a square of ZA, of 32-bit elements.
#define OUTER(word) [](const u8* a, const u8* b, u8* d) { \
    OPERANDS; \
    __asm__ volatile( \
        ".inst 0xd503477f\n"  /* smstart */ \
        ".inst 0x04bf5823\n"  /* rdsvl x3, #1 */ \
        ".inst 0x2518e3e0\n"  /* ptrue p0.b */ \
        ".inst 0x85804000\n"  /* ldr z0, [x0] */ \
        ".inst 0x85804021\n"  /* ldr z1, [x1] */ \
        "mov x4, x2\n mov w12, #0\n" \
        "1: .inst 0xe09f0040\n"  /* ld1w {za0h.s[w12, 0]}, p0/z, [x2] */ \
        "add x2, x2, x3\n add w12, w12, #1\n cmp w3, w12, lsl #2\n b.ne 1b\n" \
        ".inst " word "\n" \
        "mov x2, x4\n mov w12, #0\n" \
        "2: .inst 0xe0bf0040\n"  /* st1w {za0h.s[w12, 0]}, p0, [x2] */ \
        "add x2, x2, x3\n add w12, w12, #1\n cmp w3, w12, lsl #2\n b.ne 2b\n" \
        ".inst 0xd503467f\n"  /* smstop */ \
        : "+r"(x2) : "r"(x0), "r"(x1) : ALL_REGISTERS); \
}

struct Unit {
    const char* name;
    FormatName a, b, d;
    /// Of a tile; 0 of a square of ZA. A row that is alone lies there once for every column.
    u64 rows, columns, k;
    Instruction run;
    bool bf16 = false;  // FPCR.EBF decides
    bool fp8 = false;   // FPMR decides
    u64 lscale = 0, osm = 0;

    /// FPMR: what the codes of both operands are, OSM and LSCALE.
    u64 fpmr() const { return (a == E4M3) | (b == E4M3) << 3 | osm << 14 | lscale << 16; }
};

#define FDOT4 VECTORS(".inst 0x4e02fc20\n")    /* fdot v0.4s, v1.16b, v2.16b */
#define FDOT2 VECTORS(".inst 0x4e42fc20\n")    /* fdot v0.8h, v1.16b, v2.16b */
#define FMMLA32 VECTORS(".inst 0x6e82ec20\n")  /* fmmla v0.4s, v1.16b, v2.16b */
#define FMMLA16 VECTORS(".inst 0x6e02ec20\n")  /* fmmla v0.8h, v1.16b, v2.16b: a product in each half */

static const Unit UNITS[] = {
    {"bfdot", BF16, BF16, FP32, 1, 4, 2, VECTORS(".inst 0x6e42fc20\n") /* bfdot v0.4s, v1.8h, v2.8h */, true},
    {"bfmmla", BF16, BF16, FP32, 2, 2, 4, VECTORS(".inst 0x6e42ec20\n") /* bfmmla v0.4s, v1.8h, v2.8h */, true},
    {"bfmlal", BF16, BF16, FP32, 1, 4, 2,
     VECTORS(".inst 0x2ec2fc20\n .inst 0x6ec2fc20\n") /* bfmlalb, bfmlalt v0.4s, v1.8h, v2.8h */},
    {"sdot", INT8, INT8, INT32, 1, 4, 4, VECTORS(".inst 0x4e829420\n") /* sdot v0.4s, v1.16b, v2.16b */},
    {"udot", UINT8, UINT8, INT32, 1, 4, 4, VECTORS(".inst 0x6e829420\n") /* udot v0.4s, v1.16b, v2.16b */},
    {"usdot", UINT8, INT8, INT32, 1, 4, 4, VECTORS(".inst 0x4e829c20\n") /* usdot v0.4s, v1.16b, v2.16b */},
    {"smmla", INT8, INT8, INT32, 2, 2, 8, VECTORS(".inst 0x4e82a420\n") /* smmla v0.4s, v1.16b, v2.16b */},
    {"ummla", UINT8, UINT8, INT32, 2, 2, 8, VECTORS(".inst 0x6e82a420\n") /* ummla v0.4s, v1.16b, v2.16b */},
    {"usmmla", UINT8, INT8, INT32, 2, 2, 8, VECTORS(".inst 0x4e82ac20\n") /* usmmla v0.4s, v1.16b, v2.16b */},
    {"fdot4", E4M3, E4M3, FP32, 1, 4, 4, FDOT4, false, true},
    {"fdot4", E5M2, E4M3, FP32, 1, 4, 4, FDOT4, false, true, 7},
    {"fdot2", E4M3, E5M2, FP16, 1, 8, 2, FDOT2, false, true, 15},
    {"fdot2", E4M3, E4M3, FP16, 1, 8, 2, FDOT2, false, true, 0, 1},
    {"fmmla-f32", E4M3, E4M3, FP32, 2, 2, 8, FMMLA32, false, true},
    {"fmmla-f32", E5M2, E5M2, FP32, 2, 2, 8, FMMLA32, false, true, 3},
    {"fmmla-f16", E4M3, E4M3, FP16, 2, 2, 4, FMMLA16, false, true},
    {"fmmla-f16", E5M2, E4M3, FP16, 2, 2, 4, FMMLA16, false, true, 3, 1},
    {"fmmla", FP32, FP32, FP32, 2, 2, 2, SCALABLE("0x64a2e420") /* fmmla z0.s, z1.s, z2.s */},
    {"bfmopa", BF16, BF16, FP32, 0, 0, 2, OUTER("0x81810000") /* bfmopa za0.s, p0/m, p0/m, z0.h, z1.h */, true},
    {"fmopa-f16", FP16, FP16, FP32, 0, 0, 2, OUTER("0x81a10000") /* fmopa za0.s, p0/m, p0/m, z0.h, z1.h */},
    {"fmopa-f32", FP32, FP32, FP32, 0, 0, 1, OUTER("0x80810000") /* fmopa za0.s, p0/m, p0/m, z0.s, z1.s */},
    {"smopa", INT8, INT8, INT32, 0, 0, 4, OUTER("0xa0810000") /* smopa za0.s, p0/m, p0/m, z0.b, z1.b */},
    {"umopa", UINT8, UINT8, INT32, 0, 0, 4, OUTER("0xa1a10000") /* umopa za0.s, p0/m, p0/m, z0.b, z1.b */},
    {"usmopa", UINT8, INT8, INT32, 0, 0, 4, OUTER("0xa1810000") /* usmopa za0.s, p0/m, p0/m, z0.b, z1.b */},
    {"sumopa", INT8, UINT8, INT32, 0, 0, 4, OUTER("0xa0a10000") /* sumopa za0.s, p0/m, p0/m, z0.b, z1.b */},
};

static sigjmp_buf unknown;

static void illegal(int) { siglongjmp(unknown, 1); }

/// Whether the processor has what `what` runs.
template <class F>
static bool has(F what) {
    if (sigsetjmp(unknown, 1)) return false;
    what();
    return true;
}

static u64 fpcr() {
    u64 x;
    __asm__ volatile("mrs %0, fpcr" : "=r"(x));
    return x;
}

static void set_fpcr(u64 x) { __asm__ volatile("msr fpcr, %0" : : "r"(x) : "memory"); }

static const u64 EBF = 1 << 13;

static void set_fpmr(u64 x) { __asm__ volatile("msr s3_3_c4_c4_2, %0" : : "r"(x) : "memory"); }

/// Elements of 32 bits of a vector in streaming mode.
static u64 streaming() {
    register u64 x3 __asm__("x3");
    __asm__ volatile(".inst 0x04bf5823" /* rdsvl x3, #1 */ : "=r"(x3));
    return x3 / 4;
}

static const u64 M = 64, N = 64, K = 16;

static Array operand(FormatName name, Class kind, Role role, u64 rows, u64 columns) {
    Format format = format_of(name);
    Array array;
    // Codes of what NumPy has no type for.
    array.descr = name == BF16 ? "<u2" : name == INT32 ? "<i4" : name == INT8 ? "|i1" : format.bytes == 1 ? "|u1"
                                       : "<f" + std::to_string(format.bytes);
    array.shape = {rows, columns};
    array.bytes.resize(rows * columns * format.bytes);
    for (u64 i = 0; i < rows * columns; i++)
        put(&array.bytes[i * format.bytes], generated(format, 1, kind, role, i / columns, i % columns, columns), format.bytes);
    return array;
}

/// D = A * B + C; D holds C.
static void product(const Unit& unit, u64 rows, u64 columns, const Array& a, const Array& b, Array& d) {
    const u64 a_bytes = format_of(unit.a).bytes, b_bytes = format_of(unit.b).bytes, d_bytes = format_of(unit.d).bytes;
    // At least a register.
    std::vector<u8> left(std::max(rows, columns) * unit.k * a_bytes + 16), right(columns * unit.k * b_bytes + 16);
    std::vector<u8> sums(rows * columns * d_bytes + 16);
    for (u64 row = 0; row < M; row += rows)
        for (u64 column = 0; column < N; column += columns) {
            auto sum = [&](u64 i) { return &d.bytes[((row + i / columns) * N + column + i % columns) * d_bytes]; };
            for (u64 i = 0; i < rows * columns; i++) std::memcpy(&sums[i * d_bytes], sum(i), d_bytes);
            for (u64 k = 0; k < K; k += unit.k) {
                for (u64 i = 0; i + 16 < left.size(); i++) {
                    u64 at = i / (unit.k * a_bytes);
                    left[i] = a.bytes[((row + at % rows) * K + k) * a_bytes + i % (unit.k * a_bytes)];
                }
                for (u64 i = 0; i + 16 < right.size(); i++) {
                    u64 at = i / b_bytes;
                    right[i] = b.bytes[((k + at % unit.k) * N + column + at / unit.k) * b_bytes + i % b_bytes];
                }
                unit.run(left.data(), right.data(), sums.data());
            }
            for (u64 i = 0; i < rows * columns; i++) std::memcpy(sum(i), &sums[i * d_bytes], d_bytes);
        }
}

static void capture(const Unit& unit, const std::string& name, u64 square, const std::string& folder, const std::string& source) {
    std::string which = name;
    if (unit.fp8) which += "-" + FORMAT_NAMES[unit.a] + "-" + FORMAT_NAMES[unit.b];
    for (Class kind : {NORMAL, WIDE, SUBNORMAL, SPECIAL, CANCEL, CARRY}) {
        const std::string at = folder + "/" + which + "-" + CLASS_NAMES[kind];
        std::filesystem::create_directories(at);
        Array a = operand(unit.a, kind, ROLE_A, M, K), b = operand(unit.b, kind, ROLE_B, K, N);
        Array c = operand(unit.d, kind, ROLE_C, M, N), d = c;
        product(unit, unit.rows ? unit.rows : square, unit.rows ? unit.columns : square, a, b, d);
        write_npy(at + "/a.npy", a), write_npy(at + "/b.npy", b);
        write_npy(at + "/c.npy", c), write_npy(at + "/d.npy", d);
        char state[40];
        std::snprintf(state, sizeof state, "FPCR %llx", fpcr());
        Json about;
        about.text("arch", "arm"), about.text("instruction", name);
        about.text("a_dtype", FORMAT_NAMES[unit.a]), about.text("b_dtype", FORMAT_NAMES[unit.b]);
        about.text("c_dtype", FORMAT_NAMES[unit.d]), about.text("d_dtype", FORMAT_NAMES[unit.d]);
        if (unit.fp8) about.number("lscale", unit.lscale), about.number("osm", unit.osm);
        about.text("source", source), about.text("note", state);
        const std::string text = about.whole();
        write_file(at + "/case.json", text, {});
    }
    std::cout << which << "\n";
}

int main(int count, char** words) try {
    if (count != 3) throw std::runtime_error("usage: arm FOLDER \"the processor's name\"");
    std::signal(SIGILL, illegal);
    const u64 before = fpcr();
    u64 square = 0;
    has([&] { square = streaming(); });
    for (const Unit& unit : UNITS) {
        const u64 rows = unit.rows ? unit.rows : square;
        std::vector<u8> a(64 * rows + 64), b(a), d(4 * rows * std::max<u64>(rows, 4));
        auto run = [&] {
            if (unit.fp8) set_fpmr(unit.fpmr());
            unit.run(a.data(), b.data(), d.data());
        };
        if (!rows || M % rows || !has(run)) {
            std::cout << unit.name << ": not here\n";
            continue;
        }
        capture(unit, unit.name, square, words[1], words[2]);
        if (!unit.bf16) continue;
        set_fpcr(before | EBF);
        if (fpcr() & EBF) capture(unit, unit.name + std::string("-ebf"), square, words[1], words[2]);
        set_fpcr(before);
    }
} catch (const std::exception& error) {
    std::cerr << "arm: " << error.what() << "\n";
    return 2;
}
