// The units as data for the host: which there are, what they need, and how to launch each.
#pragma once
#include "device.cuh"
#include "gpu.h"
#include "names.h"

struct Unit {
    std::string instruction;  // mma, mma-satfinite, mma-mxf4, wgmma, wgmma-satfinite, ffma
    std::string shape;        // m16n8k16
    FormatName a, b, accumulator;
    int rows, columns, k;
    Needs needs;
    std::string ptx;
    void (*launch)(const Operands&, int* left_out);
    /// By each of so many blocks; null but for scripts/screen.
    void (*everywhere)(const Operands&, u32* sms, unsigned blocks, int* left_out);
    /// Of block-scaled instructions: format of the scales, and the k that share one.
    FormatName scale = FORMATS;
    int block = 0;

    /// For people: formats, too, where the instruction's text has them not.
    std::string name() const {
        return ptx.compare(0, 7, "tcgen05") != 0 ? ptx
               : ptx + " (" + FORMAT_NAMES[a] + "*" + FORMAT_NAMES[b] + " -> " + FORMAT_NAMES[accumulator] + ")";
    }
    bool on(int capability) const {
        if (needs.exact) return capability == needs.capability || (needs.also && capability == needs.also);
        return capability >= needs.capability;
    }
};

template <class U>
void launch(const Operands& operands, int* left_out) {
    typedef typename U::Layout L;
    u64 columns = (operands.n + L::COLUMNS - 1) / L::COLUMNS, rows = (operands.m + L::ROWS - 1) / L::ROWS;
    u64 tiles = operands.batch * columns * rows;
    if (tiles == 0) return;
    if (tiles > 0x7fffffff) throw std::runtime_error("The product has more tiles than a launch can have");
    product<U><<<unsigned(tiles), L::LANES>>>(operands, left_out);
}

#ifdef TCVERIFY_SCREEN
template <class U>
void launch_everywhere(const Operands& operands, u32* sms, unsigned blocks, int* left_out) {
    // AMD's CUs have 64 KiB for their blocks: with more than half of it each, two do not share one.
    const unsigned reserved = IS_AMD ? 40 << 10 : 0;
    everywhere<U><<<blocks, U::Layout::LANES, reserved>>>(operands, sms, left_out);
}
#define EVERYWHERE(NAME) launch_everywhere<NAME>
#else
#define EVERYWHERE(NAME) nullptr
#endif

#ifndef __HIP__
inline Unit unit_of(FormatName a, FormatName b, FormatName acc, int rows, int columns, int k, Needs needs,
                    const std::string& ptx, void (*launch)(const Operands&, int*),
                    void (*everywhere)(const Operands&, u32*, unsigned, int*)) {
    std::string name = ptx.compare(0, 5, "wgmma") == 0 ? "wgmma" : "mma";
    if (ptx.find(".satfinite") != std::string::npos) name += "-satfinite";
    size_t scaled = ptx.find("kind::mx");
    if (scaled != std::string::npos) name += "-" + ptx.substr(scaled + 6, ptx.find('.', scaled) - scaled - 6);
    // The shape is the word that begins with m and a digit.
    size_t at = ptx.find(".m");
    while (at != std::string::npos && !(ptx[at + 2] >= '0' && ptx[at + 2] <= '9')) at = ptx.find(".m", at + 1);
    std::string shape = ptx.substr(at + 1, ptx.find('.', at + 1) - at - 1);
    return {name, shape, a, b, acc, rows, columns, k, needs, ptx, launch, everywhere};
}

#define MMA_ROW(NAME, A, B, ACC, LAYOUT_, REGISTER, REGISTERS, GUARD, PTX)                        \
    unit_of(A, B, ACC, NAME::Layout::ROWS, NAME::Layout::COLUMNS, NAME::Layout::K, NEEDS_##GUARD, \
            PTX, launch<NAME>, EVERYWHERE(NAME)),
#define WGMMA_ROW(NAME, A, B, ACC, LAYOUT_, REGISTERS, GUARD, PTX, REST)                          \
    unit_of(A, B, ACC, NAME::Layout::ROWS, NAME::Layout::COLUMNS, NAME::Layout::K, NEEDS_##GUARD, \
            PTX, launch<NAME>, EVERYWHERE(NAME)),
#define CORE_ROW(NAME, A, B, ACC, GUARD, TEXT)                                                            \
    Unit{"ffma", "m16n8k1", A, B, ACC, Cores::ROWS, Cores::COLUMNS, Cores::K, NEEDS_##GUARD, TEXT, launch<NAME>, \
         EVERYWHERE(NAME)},

inline Unit scaled_by(FormatName scale, int block, Unit unit) {
    unit.scale = scale, unit.block = block;
    return unit;
}
#define SCALED_ROW(NAME, A, B, SCALE, BLOCK, LAYOUT_, GUARD, PTX)                                      \
    scaled_by(SCALE, BLOCK, unit_of(A, B, FP32, NAME::Layout::ROWS, NAME::Layout::COLUMNS, NAME::Layout::K, \
                                    NEEDS_##GUARD, PTX, launch<NAME>, EVERYWHERE(NAME))),
#define TENSOR_ROW(NAME, A, B, ACC, K, SATURATES, GUARD, KIND)                                                    \
    Unit{SATURATES ? "tcgen05-satfinite" : "tcgen05", "m128n16k" #K, A, B, ACC, NAME::Layout::ROWS,               \
         NAME::Layout::COLUMNS, K, NEEDS_##GUARD, "tcgen05.mma.cta_group::1.kind::" KIND,           \
         launch<NAME>, EVERYWHERE(NAME)},
#define TENSOR_SCALED_ROW(NAME, A, B, SCALE, BLOCK, K, GUARD, KIND)                                                \
    scaled_by(SCALE, BLOCK,                                                                                        \
              Unit{"tcgen05-" + std::string(KIND).substr(0, std::string(KIND).find('.')), "m128n16k" #K, A, B, FP32, \
                   NAME::Layout::ROWS, NAME::Layout::COLUMNS, K, NEEDS_##GUARD,                      \
                   "tcgen05.mma.cta_group::1.kind::" KIND, launch<NAME>, EVERYWHERE(NAME)}),
#define ALL_UNITS                                                                            \
    MMA_UNITS(MMA_ROW) SCALED_UNITS(SCALED_ROW) CORE_UNITS(CORE_ROW) WGMMA_UNITS(WGMMA_ROW)  \
    TENSOR_UNITS(TENSOR_ROW) TENSOR_SCALED_UNITS(TENSOR_SCALED_ROW)
#else
#define MFMA_ROW(NAME, INSTRUCTION, A, B, ACC, LAYOUT_, REGISTER, A_OF, B_OF, D_OF, GUARD, BUILT_IN)        \
    Unit{INSTRUCTION, "16x16x" + std::to_string(NAME::Layout::K), A, B, ACC, 16, 16, NAME::Layout::K,       \
         NEEDS_##GUARD, #BUILT_IN, launch<NAME>, EVERYWHERE(NAME)},
#define ALL_UNITS MFMA_UNITS(MFMA_ROW)
#endif

inline const std::vector<Unit>& units() {
    static const std::vector<Unit> all = {ALL_UNITS};
    return all;
}

/// What was asked for is no instruction of this program, or of this GPU.
struct NoSuchUnit : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The unit that was asked for: of several shapes, the last (largest) that the GPU has. `scale` is FORMATS, and `block`
/// 0, where there are no scales.
inline const Unit& choose(const std::string& instruction, const std::string& shape, FormatName a, FormatName b,
                          FormatName accumulator, int capability, FormatName scale = FORMATS, int block = 0) {
    const Unit* best = nullptr;
    bool known = false;
    for (const Unit& unit : units()) {
        bool fits = unit.instruction == instruction && unit.a == a && unit.b == b &&
                    unit.accumulator == accumulator && (shape.empty() || unit.shape == shape) &&
                    unit.scale == scale && unit.block == block;
        known |= fits;
        if (fits && unit.on(capability)) best = &unit;
    }
    std::string what = instruction + (shape.empty() ? "" : " " + shape) + ", " + FORMAT_NAMES[a] + "*" +
                       FORMAT_NAMES[b] + " -> " + FORMAT_NAMES[accumulator];
    if (scale != FORMATS) what += ", one " + FORMAT_NAMES[scale] + " for " + std::to_string(block) + " k";
    if (!known) throw NoSuchUnit(what + ": this program has no such instruction; 'capture units' lists them");
    if (!best) throw NoSuchUnit(what + ": this GPU (" + architecture_of(capability) + ") has none");
    return *best;
}

inline void run(const Unit& unit, const Operands& operands) {
    DeviceBytes left_out(std::vector<u8>(4, 0));
    unit.launch(operands, reinterpret_cast<int*>(left_out.at()));
    checked(cudaGetLastError(), "Starting " + unit.name() + " failed");
    checked(cudaDeviceSynchronize(), "Running " + unit.name() + " failed");
    if (left_out.bytes()[0] != 0)
        throw std::runtime_error("This program was compiled without " + unit.name() +
                                 ": compile it for this GPU (nvcc -arch=native; for wgmma -arch=sm_90a, for tcgen05 sm_100a)");
}
