// Which element of a tile each lane holds (PTX ISA, "Matrix Fragments for mma.*" and "wgmma: Register
// Fragments"), as functions of lane and element number; an element's register is element / elements a
// register. Used by the kernels, and by selfcheck.cpp, which puts tiles together on the host.
#pragma once
#include "portable.h"

/// mma of 8 or 16 rows and 8 columns, from m8n8k4 (FP64) to m16n8k64. Registers of A and B hold
/// `REGISTER` bits (64 for FP64, else 32), elements `BITS`.
template <int ROWS_, int K_, int BITS, int ACC_BITS, int REGISTER = 32>
struct Rows {
    static const int LANES = 32, ROWS = ROWS_, COLUMNS = 8, K = K_;
    static const int PER = REGISTER / BITS;
    static const int A_ELEMENTS = ROWS * K / 32, B_ELEMENTS = COLUMNS * K / 32, D_ELEMENTS = ROWS * 8 / 32;
    static const int D_PER = REGISTER / ACC_BITS;
    /// How many lanes hold the same element of B.
    static const int B_COPIES = 1;

    BOTH static Place a(int lane, int element) {
        int part = element % PER, index = element / PER;
        const int groups = ROWS / 8;
        return {lane / 4 + 8 * (index % groups), lane % 4 * PER + part + 4 * PER * (index / groups)};
    }
    /// Row: k.
    BOTH static Place b(int lane, int element) {
        int part = element % PER, index = element / PER;
        return {lane % 4 * PER + part + 4 * PER * index, lane / 4};
    }
    BOTH static Place d(int lane, int element) {
        return {lane / 4 + 8 * (element / 2), lane % 4 * 2 + element % 2};
    }
};

/// Which row's, or column's, scales a lane holds for block-scaled mma, one byte a block of k from the lowest on; with
/// thread and byte selectors 0 two lanes of four have A's, one has B's, and the others the same (PTX ISA, "Block Scaling").
struct ScaleLanes {
    BOTH static int a_row(int lane) { return lane / 4 + 8 * (lane % 2); }
    BOTH static int b_column(int lane) { return lane / 4; }
};

/// Volta's m8n8k4: four quad pairs multiply 8x8 tiles of their own. Here quad pair p has rows 8p to
/// 8p+7 of one 32x8 tile, and all have the same B.
template <int ACC_BITS>
struct QuadPairs {
    static const int LANES = 32, ROWS = 32, COLUMNS = 8, K = 4;
    static const int PER = 2, A_ELEMENTS = 4, B_ELEMENTS = 4, D_ELEMENTS = 8, D_PER = 32 / ACC_BITS;
    static const int B_COPIES = 4;

    BOTH static int pair(int lane) { return lane % 16 / 4; }
    /// Lanes 0-15 have the first four rows (or columns), lanes 16-31 the others.
    BOTH static int within(int lane) { return lane % 4 + lane / 16 * 4; }

    BOTH static Place a(int lane, int element) { return {8 * pair(lane) + within(lane), element}; }
    BOTH static Place b(int lane, int element) { return {element, within(lane)}; }
    BOTH static Place d(int lane, int element) {
        if (ACC_BITS == 16) return {8 * pair(lane) + within(lane), element};
        int row = (lane & 1) + (element & 2) + lane / 16 * 4;
        return {8 * pair(lane) + row, (element & 4) + (lane & 2) + (element & 1)};
    }
};

/// A and B in shared memory, 32 bytes of k a row, no swizzle, K-major: core matrices of 8 rows of 16 bytes, each
/// contiguous (PTX ISA, "Shared Memory Matrix Layout" of wgmma, "Canonical Layouts" of tcgen05). Here the two along k
/// are neighbours, and pairs follow each other down the rows.
struct CoreMatrices {
    static const int CORE = 128, ALONG_K = CORE, ALONG_ROWS = 2 * CORE;

    /// Where a byte lies: `byte` 0 to 31 of a row of A, or of a column of B.
    BOTH static int shared(int row, int byte) {
        return row / 8 * ALONG_ROWS + byte / 16 * ALONG_K + row % 8 * 16 + byte % 16;
    }
};

/// wgmma of 64 rows and 8 columns.
template <int K_, int ACC_BITS>
struct WarpGroup : CoreMatrices {
    static const int LANES = 128, ROWS = 64, COLUMNS = 8, K = K_;
    static const int D_ELEMENTS = 4, D_PER = 32 / ACC_BITS;

    BOTH static Place d(int lane, int element) {
        int warp = lane / 32, in_warp = lane % 32;
        return {16 * warp + in_warp / 4 + 8 * (element / 2), in_warp % 4 * 2 + element % 2};
    }
};

/// tcgen05.mma of 128 rows and 16 columns by one block of four warps. A row of D is a lane of tensor memory, a column a
/// word of it, FP16 in its lower half (PTX ISA, "Layout D" and "Packing format for matrix D"); thread i has lane i.
template <int K_>
struct TensorMemory : CoreMatrices {
    static const int LANES = 128, ROWS = 128, COLUMNS = 16, K = K_;
    static const int D_ELEMENTS = COLUMNS, D_PER = 1;
    /// Elements in 16 bytes of shared memory, whatever their size.
    static const int PER = K / 2;

    BOTH static Place d(int lane, int element) { return {lane, element}; }

    /// Row of A whose scales word `word`, 0 to 3, of a lane has, one byte a block of k from the lowest on; the four
    /// quarters of 32 lanes have the same (PTX ISA, "Scale Factor A ID"). Columns of B likewise.
    BOTH static int scale_row(int lane, int word) { return lane % 32 + 32 * word; }
};

/// AMD's mfma of 16 rows and 16 columns by the 64 lanes of a wavefront, four groups of 16: group g has the g-th quarter of
/// k, and of D in FP32 rows 4g to 4g+3, in FP64 rows g, g+4, g+8 and g+12 (the ISA documents of CDNA, "Matrix
/// Arithmetic Instructions"). `BITS` of an element of A and B, `REGISTER` as for Rows.
template <int K_, int BITS, int REGISTER>
struct Blocks {
    static const int LANES = 64, ROWS = 16, COLUMNS = 16, K = K_;
    static const int PER = REGISTER / BITS;
    static const int A_ELEMENTS = K / 4, B_ELEMENTS = K / 4, D_ELEMENTS = 4, D_PER = 1;
    static const int B_COPIES = 1;

    BOTH static Place a(int lane, int element) { return {lane % 16, lane / 16 * A_ELEMENTS + element}; }
    BOTH static Place b(int lane, int element) { return {lane / 16 * B_ELEMENTS + element, lane % 16}; }
    BOTH static Place d(int lane, int element) {
        if (BITS == 64) return {lane / 16 + 4 * element, lane % 16};
        return {lane / 16 * 4 + element, lane % 16};
    }
};
