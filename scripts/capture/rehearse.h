// Before anything is captured: a product of small integers, of which no unit rounds any, must come out
// right. It shows that fragments, descriptors and the chain are where they should be.
#pragma once
#include "table.h"

inline u64 code_of(FormatName name, int value) {
    Format f = format_of(name);
    if (f.integer()) return u64(int64_t(value)) & ((1ull << f.fraction_bits) - 1);
    if (value == 0) return 0;
    u64 sign = value < 0 ? f.sign_mask() : 0;
    u64 magnitude = value < 0 ? -value : value, e = 0;
    while (magnitude >> (e + 1)) e++;
    u64 fraction = magnitude << f.fraction_bits >> e & ((1ull << f.fraction_bits) - 1);
    return sign | ((f.bias + e) << f.fraction_bits | fraction) << f.ignored_bits;
}

/// 0, 1, 2 and, where there is a sign, -1: every element format has them.
inline std::vector<int> small_integers(FormatName name, u64 count, Role role) {
    bool sign = format_of(name).specials != UNSIGNED;
    std::vector<int> all(count);
    for (u64 i = 0; i < count; i++) all[i] = int(word_of(20, role, i) % (sign ? 4 : 3)) - sign;
    return all;
}

inline std::vector<u8> codes_of(FormatName name, const std::vector<int>& values) {
    int bytes = format_of(name).bytes;
    std::vector<u8> out(values.size() * bytes);
    for (size_t i = 0; i < values.size(); i++) put(&out[i * bytes], code_of(name, values[i]), bytes);
    return out;
}

inline void rehearse(const Unit& unit) {
    // More than a tile each way, and partial tiles.
    const u64 m = unit.rows + 5, n = 2 * unit.columns + 3, k = 2 * unit.k + 1;
    std::vector<int> a = small_integers(unit.a, m * k, ROLE_A), b = small_integers(unit.b, k * n, ROLE_B);
    std::vector<int> c = small_integers(unit.accumulator, m * n, ROLE_C), d = c;
    // Scales of 1 and 2.
    const u64 block = unit.block ? unit.block : k, blocks = (k + block - 1) / block;
    std::vector<int> scale_a(m * blocks, 1), scale_b(blocks * n, 1);
    if (unit.block) {
        for (u64 i = 0; i < m * blocks; i++) scale_a[i] += word_of(20, ROLE_SCALE_A, i) % 2;
        for (u64 i = 0; i < blocks * n; i++) scale_b[i] += word_of(20, ROLE_SCALE_B, i) % 2;
    }
    for (u64 i = 0; i < m; i++)
        for (u64 j = 0; j < n; j++)
            for (u64 at = 0; at < k; at++)
                d[i * n + j] += a[i * k + at] * b[at * n + j] * scale_a[i * blocks + at / block] *
                                scale_b[at / block * n + j];
    DeviceBytes a_there(codes_of(unit.a, a)), b_there(codes_of(unit.b, b)), c_there(codes_of(unit.accumulator, c));
    std::vector<u8> expected = codes_of(unit.accumulator, d);
    DeviceBytes d_there(expected.size());
    const FormatName scale = unit.block ? unit.scale : UE8M0;
    DeviceBytes scale_a_there(codes_of(scale, scale_a)), scale_b_there(codes_of(scale, scale_b));
    run(unit, {a_there.at(), b_there.at(), c_there.at(), d_there.at(), 1, m, n, k, format_of(unit.a).bytes,
               format_of(unit.b).bytes, format_of(unit.accumulator).bytes, scale_a_there.at(), scale_b_there.at(),
               int(block)});
    if (d_there.bytes() != expected)
        throw std::runtime_error(unit.ptx + ": a product of small integers came out wrong; this is a mistake of "
                                            "this program, and nothing was captured");
}
