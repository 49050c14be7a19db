// The host's half of capture.cu, checked without a GPU: g++ -std=c++17 -O1 selfcheck.cpp -o selfcheck
//   selfcheck layouts                                 every fragment layout covers its tile
//   selfcheck generate SEED CLASS SHAPE ROLE FORMAT OUT.npy    as tcgenerate.py does
//   selfcheck all SEED ROWSxCOLUMNS FOLDER            the same for all formats, classes and roles
//   selfcheck sha256 FILE
//   selfcheck npy IN.npy WIDTH OUT.npy                reads and writes again
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>

// product.cuh's device code, one thread after the other: of a step that computes its own elements they need no other.
#define DEVICE_CODE
#define __device__
#define __global__ [[maybe_unused]] static
static struct { unsigned x; } threadIdx, blockIdx, blockDim;
#include "descriptors.h"
#include "fragments.h"
#include "product.cuh"
#include "names.h"
#include "npy.h"
#include "sha256.h"

/// Tiles put together from fragments: every element must come up `copies` times, and none beyond the tile.
static void covers(const std::string& what, int lanes, int elements, int rows, int columns, int copies,
                   const std::function<Place(int, int)>& place) {
    std::map<std::pair<int, int>, int> seen;
    for (int lane = 0; lane < lanes; lane++)
        for (int e = 0; e < elements; e++) {
            Place at = place(lane, e);
            if (at.row < 0 || at.row >= rows || at.column < 0 || at.column >= columns)
                throw std::runtime_error(what + ": lane " + std::to_string(lane) + " lies outside the tile");
            seen[{at.row, at.column}]++;
        }
    if (seen.size() != size_t(rows * columns)) throw std::runtime_error(what + ": elements are missing");
    for (auto& one : seen)
        if (one.second != copies) throw std::runtime_error(what + ": elements repeat");
}

/// Multiplies as the hardware does (each lane's registers say which elements it holds), in integers.
template <class L>
static void multiplies(const std::string& what) {
    std::vector<int> a(L::ROWS * L::K), b(L::K * L::COLUMNS), d(L::ROWS * L::COLUMNS, 0);
    for (size_t i = 0; i < a.size(); i++) a[i] = int(mix(i) % 7) - 3;
    for (size_t i = 0; i < b.size(); i++) b[i] = int(mix(1000 + i) % 7) - 3;
    std::vector<int> a_tile(a.size()), b_tile(b.size());
    for (int lane = 0; lane < L::LANES; lane++) {
        for (int e = 0; e < L::A_ELEMENTS; e++) {
            Place at = L::a(lane, e);
            a_tile[at.row * L::K + at.column] = a[at.row * L::K + at.column];
        }
        for (int e = 0; e < L::B_ELEMENTS; e++) {
            Place at = L::b(lane, e);
            b_tile[at.row * L::COLUMNS + at.column] = b[at.row * L::COLUMNS + at.column];
        }
    }
    if (a_tile != a || b_tile != b) throw std::runtime_error(what + ": a tile is not its fragments");
    for (int lane = 0; lane < L::LANES; lane++)
        for (int e = 0; e < L::D_ELEMENTS; e++) {
            Place at = L::d(lane, e);
            for (int k = 0; k < L::K; k++)
                d[at.row * L::COLUMNS + at.column] +=
                    a_tile[at.row * L::K + k] * b_tile[k * L::COLUMNS + at.column];
        }
    for (int row = 0; row < L::ROWS; row++)
        for (int column = 0; column < L::COLUMNS; column++) {
            int sum = 0;
            for (int k = 0; k < L::K; k++) sum += a[row * L::K + k] * b[k * L::COLUMNS + column];
            if (d[row * L::COLUMNS + column] != sum) throw std::runtime_error(what + ": wrong product");
        }
}

template <class L>
static void mma_layout(const std::string& what) {
    covers(what + " A", L::LANES, L::A_ELEMENTS, L::ROWS, L::K, 1, L::a);
    covers(what + " B", L::LANES, L::B_ELEMENTS, L::K, L::COLUMNS, L::B_COPIES, L::b);
    covers(what + " D", L::LANES, L::D_ELEMENTS, L::ROWS, L::COLUMNS, 1, L::d);
    multiplies<L>(what);
}

template <class L>
static void wgmma_layout(const std::string& what) {
    covers(what + " D", L::LANES, L::D_ELEMENTS, L::ROWS, L::COLUMNS, 1, L::d);
    // Bytes of A in shared memory: a permutation of 64 rows of 32 bytes.
    covers(what + " A", 64, 32, 64 * 32, 1, 1, [](int row, int byte) { return Place{L::shared(row, byte), 0}; });
    covers(what + " B", 8, 32, 8 * 32, 1, 1, [](int row, int byte) { return Place{L::shared(row, byte), 0}; });
}

/// D on the bare sums of a layout, by small integers of one byte.
template <class L>
struct Sums {
    typedef L Layout;
    typedef u32 Register;
    struct Step {
        bool run(const Operands& operands, int lane, u64 row, u64 column, u64 k, u32* d) const {
            for (int e = 0; e < L::D_ELEMENTS; e++) {
                Place at = L::d(lane, e);
                for (int i = 0; i < L::K; i++) {
                    u64 product = operands.a_code(row + at.row, k + i) * operands.b_code(k + i, column + at.column);
                    d[e] += u32(product);
                }
            }
            return true;
        }
    };
};

/// A product as screening computes it, by one block as often as it fits the tile: every copy is right, and there are
/// no more.
template <class L>
static void repeats(const std::string& what, u64 copies) {
    const u64 m = 16, n = 8, k = 2 * L::K + 1;
    std::vector<u8> a(m * k), b(k * n), c(4 * m * n, 0), d(4 * m * n * (copies + 1), 0xa5);
    for (size_t i = 0; i < a.size(); i++) a[i] = mix(i) % 7;
    for (size_t i = 0; i < b.size(); i++) b[i] = mix(1000 + i) % 7;
    for (u64 i = 0; i < m * n; i++) c[4 * i] = i % 100;
    Operands operands = {a.data(), b.data(), c.data(), d.data(), 1, m, n, k, 1, 1, 4};
    if (operands.copies(L::ROWS, L::COLUMNS) != copies) throw std::runtime_error(what + ": other copies");
    u32 sm;
    int left_out = 0;
    for (threadIdx.x = 0; threadIdx.x < unsigned(L::LANES); threadIdx.x++) everywhere<Sums<L>>(operands, &sm, &left_out);
    for (u64 at = 0; at < copies * m * n; at++) {
        u64 row = at / n % m, column = at % n;
        u32 sum = c[4 * (at % (m * n))], found;
        for (u64 i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
        std::memcpy(&found, &d[4 * at], 4);
        if (found != sum || left_out) throw std::runtime_error(what + ": a copy is wrong");
    }
    for (u64 i = 4 * m * n * copies; i < d.size(); i++)
        if (d[i] != 0xa5) throw std::runtime_error(what + ": writes beyond its copies");
}

template <int K>
static void tensor_layout(const std::string& what) {
    typedef TensorMemory<K> L;
    covers(what + " D", L::LANES, L::D_ELEMENTS, L::ROWS, L::COLUMNS, 1, L::d);
    covers(what + " A", 128, 32, 128 * 32, 1, 1, [](int row, int byte) { return Place{L::shared(row, byte), 0}; });
    covers(what + " scales", 128, 4, 128, 1, 4, [](int lane, int word) { return Place{L::scale_row(lane, word), 0}; });
    repeats<L>(what, 16);
}

/// Fields of descriptors as the tables of the PTX ISA have them, and elements that cross a word.
static void descriptors() {
    auto is = [](const char* what, u32 found, u32 expected) {
        if (found != expected) throw std::runtime_error(std::string(what) + ": another instruction descriptor");
    };
    const u32 shape = 2u << 17 | 8u << 24;
    is("f16", instruction_descriptor(FP16, FP16, FP32, false, FORMATS, false), shape | 1u << 4);
    is("bf16 to f32", instruction_descriptor(BF16, BF16, FP32, false, FORMATS, false), shape | 1u << 4 | 1u << 7 | 1u << 10);
    is("f16 to f16", instruction_descriptor(FP16, FP16, FP16, false, FORMATS, false), shape);
    is("tf32", instruction_descriptor(TF32, TF32, FP32, false, FORMATS, false), shape | 1u << 4 | 2u << 7 | 2u << 10);
    is("e3m2*e2m1", instruction_descriptor(E3M2, E2M1, FP32, false, FORMATS, false), shape | 1u << 4 | 4u << 7 | 5u << 10);
    is("s8*u8, clamped", instruction_descriptor(INT8, UINT8, INT32, true, FORMATS, false), shape | 2u << 4 | 1u << 3 | 1u << 7);
    is("mxf8f6f4", instruction_descriptor(E5M2, E2M3, FP32, false, UE8M0, false), shape | 1u << 7 | 3u << 10 | 1u << 23);
    is("nvfp4", instruction_descriptor(E2M1, E2M1, FP32, false, UE4M3, true), shape | 1u << 7 | 1u << 10);
    Chunk six, four;
    for (int i = 0; i < 16; i++) six.put(i, 6, i + 40), four.put(i, 4, i);
    // Element 10 has bits 60 to 65.
    bool right = (six.low & 63) == 40 && (six.low >> 60 | (six.high & 3) << 4) == 50 && six.high >> 26 == 55;
    if (!right || six.high >> 32 || four.low != 0xfedcba9876543210ull || four.high)
        throw std::runtime_error("elements are packed otherwise");
}

/// Every row's and every column's scales are with some lane, A's of rows 8 apart with neighbours.
static void scale_lanes() {
    covers("scales of A", 32, 1, 16, 1, 2, [](int lane, int) { return Place{ScaleLanes::a_row(lane), 0}; });
    covers("scales of B", 32, 1, 8, 1, 4, [](int lane, int) { return Place{ScaleLanes::b_column(lane), 0}; });
}

/// Some lanes and registers as the figures of the PTX ISA give them.
static void figures() {
    auto is = [](const char* what, Place at, int row, int column) {
        if (at.row != row || at.column != column) throw std::runtime_error(std::string(what) + ": not the figure's");
    };
    is("m16n8k16 a7", Rows<16, 16, 16, 32>::a(31, 7), 15, 15);
    is("m16n8k16 a2", Rows<16, 16, 16, 32>::a(5, 2), 9, 2);
    is("m16n8k16 a4", Rows<16, 16, 16, 32>::a(5, 4), 1, 10);
    is("m16n8k16 b3", Rows<16, 16, 16, 32>::b(6, 3), 13, 1);
    is("m16n8k16 c2", Rows<16, 16, 16, 32>::d(7, 2), 9, 6);
    is("m16n8k8 tf32 a1", Rows<16, 8, 32, 32>::a(6, 1), 9, 2);
    is("m16n8k8 tf32 a2", Rows<16, 8, 32, 32>::a(6, 2), 1, 6);
    is("m16n8k32 a4", Rows<16, 32, 8, 32>::a(1, 4), 8, 4);
    is("m16n8k32 a9", Rows<16, 32, 8, 32>::a(1, 9), 0, 21);
    is("m16n8k32 b4", Rows<16, 32, 8, 32>::b(2, 4), 24, 0);
    is("m16n8k64 a8", Rows<16, 64, 4, 32>::a(3, 8), 8, 24);
    is("m8n8k4 f64 b", Rows<8, 4, 64, 64, 64>::b(6, 0), 2, 1);
    is("m8n8k4 a", QuadPairs<32>::a(17, 3), 5, 3);
    is("m8n8k4 c3", QuadPairs<32>::d(2, 3), 2, 3);
    is("m8n8k4 c5", QuadPairs<32>::d(19, 5), 5, 7);
    is("mfma f16 a", Blocks<16, 16, 32>::a(37, 2), 5, 10);
    is("mfma f16 b", Blocks<16, 16, 32>::b(37, 2), 10, 5);
    is("mfma fp8 a", Blocks<32, 8, 32>::a(17, 7), 1, 15);
    is("mfma f32 d", Blocks<4, 32, 32>::d(37, 3), 11, 5);
    is("mfma f64 d", Blocks<4, 64, 64>::d(37, 3), 14, 5);
    is("wgmma d2", WarpGroup<16, 32>::d(37, 2), 25, 2);
}

static void layouts() {
    mma_layout<QuadPairs<32>>("m8n8k4 f32");
    mma_layout<QuadPairs<16>>("m8n8k4 f16");
    mma_layout<Rows<16, 8, 16, 32>>("m16n8k8 f32");
    mma_layout<Rows<16, 8, 16, 16>>("m16n8k8 f16");
    mma_layout<Rows<16, 16, 16, 32>>("m16n8k16 f32");
    mma_layout<Rows<16, 16, 16, 16>>("m16n8k16 f16");
    mma_layout<Rows<16, 4, 32, 32>>("m16n8k4 tf32");
    mma_layout<Rows<16, 8, 32, 32>>("m16n8k8 tf32");
    mma_layout<Rows<16, 32, 8, 32>>("m16n8k32");
    mma_layout<Rows<16, 32, 8, 16>>("m16n8k32 f16");
    mma_layout<Rows<8, 16, 8, 32>>("m8n8k16");
    mma_layout<Rows<8, 32, 4, 32>>("m8n8k32");
    mma_layout<Rows<16, 64, 4, 32>>("m16n8k64");
    mma_layout<Rows<8, 4, 64, 64, 64>>("m8n8k4 f64");
    mma_layout<Blocks<16, 16, 32>>("mfma 16x16x16");
    mma_layout<Blocks<8, 16, 32>>("mfma 16x16x8 bf16");
    mma_layout<Blocks<32, 8, 32>>("mfma 16x16x32");
    mma_layout<Blocks<8, 32, 32>>("mfma 16x16x8 xf32");
    mma_layout<Blocks<4, 32, 32>>("mfma 16x16x4");
    mma_layout<Blocks<4, 64, 64>>("mfma 16x16x4 f64");
    tensor_layout<16>("tcgen05 f16");
    tensor_layout<8>("tcgen05 tf32");
    tensor_layout<32>("tcgen05 f8f6f4");
    tensor_layout<64>("tcgen05 mxf4");
    descriptors();
    repeats<Blocks<16, 16, 32>>("mfma", 2);
    repeats<QuadPairs<32>>("m8n8k4", 2);
    repeats<Rows<16, 16, 16, 32>>("m16n8k16", 1);
    scale_lanes();
    wgmma_layout<WarpGroup<16, 32>>("wgmma f32");
    wgmma_layout<WarpGroup<32, 16>>("wgmma f16");
    figures();
    std::cout << "layouts: every element once\n";
}

static std::vector<size_t> shape_of(const std::string& text) {
    std::vector<size_t> shape;
    std::istringstream axes(text);
    for (std::string axis; std::getline(axes, axis, 'x');) shape.push_back(std::stoull(axis));
    return shape;
}

static Array operand(u64 seed, Class kind, const std::vector<size_t>& shape, Role role, FormatName name) {
    Format f = format_of(name);
    Array array{std::string(f.bytes == 1 ? "|u" : "<u") + std::to_string(f.bytes), shape, {}};
    u64 columns = shape.back(), elements = array.elements();
    array.bytes.resize(elements * f.bytes);
    for (u64 i = 0; i < elements; i++) {
        u64 code = generated(f, seed, kind, role, i / columns, i % columns, columns);
        put(&array.bytes[i * f.bytes], code, f.bytes);
    }
    return array;
}

int main(int count, char** words) try {
    std::vector<std::string> arg(words + 1, words + count);
    if (arg.size() == 1 && arg[0] == "layouts") {
        layouts();
    } else if (arg.size() == 7 && arg[0] == "generate") {
        write_npy(arg[6], operand(std::stoull(arg[1]), Class(find(CLASS_NAMES, arg[2], "class")), shape_of(arg[3]),
                                  Role(find(ROLE_NAMES, arg[4], "role")),
                                  FormatName(find(FORMAT_NAMES, arg[5], "format"))));
    } else if (arg.size() == 4 && arg[0] == "all") {
        for (int f = 0; f < FORMATS; f++)
            for (int c = 0; c < CLASSES; c++)
                for (int r = 0; r < ROLES; r++)
                    write_npy(arg[3] + "/" + FORMAT_NAMES[f] + "." + CLASS_NAMES[c] + "." + ROLE_NAMES[r] + ".npy",
                              operand(std::stoull(arg[1]), Class(c), shape_of(arg[2]), Role(r), FormatName(f)));
    } else if (arg.size() == 2 && arg[0] == "sha256") {
        std::string file = read_whole(arg[1]);
        std::cout << sha256(file.data(), file.size()) << "\n";
    } else if (arg.size() == 4 && arg[0] == "npy") {
        write_npy(arg[3], read_npy(arg[1], std::stoull(arg[2])));
    } else {
        throw std::runtime_error("see the head of selfcheck.cpp");
    }
    return 0;
} catch (const std::exception& error) {
    std::cerr << "selfcheck: " << error.what() << "\n";
    return 2;
}
