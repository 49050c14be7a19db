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

/// A product of small integers that came out wrong.
struct WrongRehearsal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A product of small integers: operands on the GPU, and what D must be.
struct Rehearsal {
    const Unit& unit;
    u64 m, n, k, block;
    DeviceBytes a, b, c, scale_a, scale_b;
    std::vector<u8> expected;

    Rehearsal(const Unit& unit, u64 m, u64 n, u64 k)
        : unit(unit), m(m), n(n), k(k), block(unit.block ? unit.block : k), a(m * k * format_of(unit.a).bytes),
          b(k * n * format_of(unit.b).bytes), c(m * n * format_of(unit.accumulator).bytes), scale_a(m * blocks()),
          scale_b(blocks() * n) {
        std::vector<int> a_there = small_integers(unit.a, m * k, ROLE_A), b_there = small_integers(unit.b, k * n, ROLE_B);
        std::vector<int> d = small_integers(unit.accumulator, m * n, ROLE_C);
        // Scales of 1 and 2.
        std::vector<int> of_a(m * blocks(), 1), of_b(blocks() * n, 1);
        if (unit.block) {
            for (u64 i = 0; i < of_a.size(); i++) of_a[i] += word_of(20, ROLE_SCALE_A, i) % 2;
            for (u64 i = 0; i < of_b.size(); i++) of_b[i] += word_of(20, ROLE_SCALE_B, i) % 2;
        }
        const FormatName scale = unit.block ? unit.scale : UE8M0;
        a.fill(codes_of(unit.a, a_there)), b.fill(codes_of(unit.b, b_there)), c.fill(codes_of(unit.accumulator, d));
        scale_a.fill(codes_of(scale, of_a)), scale_b.fill(codes_of(scale, of_b));
        for (u64 i = 0; i < m; i++)
            for (u64 j = 0; j < n; j++)
                for (u64 at = 0; at < k; at++)
                    d[i * n + j] += a_there[i * k + at] * b_there[at * n + j] * of_a[i * blocks() + at / block] *
                                    of_b[at / block * n + j];
        expected = codes_of(unit.accumulator, d);
    }
    u64 blocks() const { return (k + block - 1) / block; }
    Operands operands(const DeviceBytes& d) const {
        return {a.at(), b.at(), c.at(), d.at(), 1, m, n, k, format_of(unit.a).bytes, format_of(unit.b).bytes,
                format_of(unit.accumulator).bytes, scale_a.at(), scale_b.at(), int(block)};
    }
    /// `found` is D, as often as it was computed.
    void compare(const std::vector<u8>& found) const {
        for (size_t at = 0; at < found.size(); at += expected.size())
            if (!std::equal(expected.begin(), expected.end(), found.begin() + at))
                throw WrongRehearsal(unit.name() + ": a product of small integers came out wrong, which no unit rounds; this "
                                                   "program is mistaken, or this GPU badly broken");
    }
};

inline void rehearse(const Unit& unit) {
    // More than a tile each way, and partial tiles.
    Rehearsal one(unit, unit.rows + 5, 2 * unit.columns + 3, 2 * unit.k + 1);
    DeviceBytes d(one.expected.size());
    run(unit, one.operands(d));
    one.compare(d.bytes());
}
