// What a GPU's functions of one FP32 number give for all 2^32 patterns, as digests, for tcverify: docs/capturing-layers.md.
//   nvcc -std=c++17 -O2 -arch=native -o sweep sweep.cu
// Not with --use_fast_math: libdevice's functions would be others.

#include <ctime>
#include <functional>
#include <future>
#include <iostream>
#include <thread>

#include "functions.cuh"
#include "gpu.h"
#include "npy.h"
#include "options.h"
#include "sha256.h"

static const char* USAGE = R"(sweep OPERATION VARIANT -o gpu.json [--blocks FIRST-LAST]
    The SHA-256 of the results of each block of 2^24 patterns (block 63: 3f000000 to 3fffffff), 256 of them.
sweep OPERATION VARIANT --save BLOCK
    BLOCK.x.npy and BLOCK.y.npy: a block's patterns and results.
sweep list
    Lists operations and variants.
Options: --device N (0), --force (replace what is there).
)";

static const u64 BLOCK = 1ull << 24;

struct Function {
    std::string operation, variant, code;
    int needs;
    u32 in, out;
    std::function<void(u32, u32, u32*)> run;
};

template <class F>
static void launch(u32 first, u32 count, u32* out) {
    results<F><<<(count + 255) / 256, 256>>>(first, count, out);
    checked(cudaGetLastError(), "Starting the function failed");
    checked(cudaDeviceSynchronize(), "Running the function failed");
}

static std::vector<Function> functions() {
    std::vector<Function> all;
#define PTX_ROW(NAME, OPERATION, VARIANT, NEEDS, PTX, IN, OUT) \
    all.push_back({OPERATION, VARIANT, PTX, NEEDS, IN, OUT, launch<NAME>});
#define LIBDEVICE_ROW(NAME, OPERATION, VARIANT, NEEDS, FUNCTION, IN, OUT) \
    all.push_back({OPERATION, VARIANT, "libdevice's " #FUNCTION, NEEDS, IN, OUT, launch<NAME>});
    PTX_FUNCTIONS(PTX_ROW)
    LIBDEVICE_FUNCTIONS(LIBDEVICE_ROW)
    return all;
}

static std::vector<u8> block_of(const Function& function, u32 block, DeviceBytes& there) {
    function.run(block << 24, u32(BLOCK), reinterpret_cast<u32*>(there.at()));
    return there.bytes();
}

static void refuse_to_replace(const std::vector<std::string>& paths, const Options& options) {
    for (const std::string& path : paths)
        if (!options.has("--force") && std::ifstream(path).good())
            throw std::runtime_error(path + ": is there already; --force replaces it");
}

/// The first and last block of --blocks.
static std::pair<u32, u32> range_of(const Options& options) {
    std::string text = options.get("--blocks", "0-255");
    size_t dash = text.find('-');
    u64 first = whole_number(text.substr(0, dash), "block");
    u64 last = dash == std::string::npos ? first : whole_number(text.substr(dash + 1), "block");
    if (first > last || last > 255) throw std::runtime_error("--blocks: FIRST-LAST, 0 to 255, is expected");
    return {u32(first), u32(last)};
}

/// One result that is exact, before anything else is believed.
static void rehearse(const Function& function) {
    DeviceBytes there(4);
    function.run(function.in, 1, reinterpret_cast<u32*>(there.at()));
    u32 found;
    std::memcpy(&found, there.bytes().data(), 4);
    if (found == function.out) return;
    char text[96];
    std::snprintf(text, sizeof text, "%08x gives %08x, and not %08x: this is not the function", function.in, found,
                  function.out);
    throw std::runtime_error(text);
}

static void save(const Function& function, u32 block, const Options& options) {
    std::string x = std::to_string(block) + ".x.npy", y = std::to_string(block) + ".y.npy";
    refuse_to_replace({x, y}, options);
    DeviceBytes there(4 * BLOCK);
    std::vector<u8> patterns(4 * BLOCK);
    for (u64 i = 0; i < BLOCK; i++) {
        u32 pattern = block << 24 | u32(i);
        std::memcpy(&patterns[4 * i], &pattern, 4);
    }
    write_npy(x, {"<f4", {4096, 4096}, patterns});
    write_npy(y, {"<f4", {4096, 4096}, block_of(function, block, there)});
}

static void sweep(const Function& function, const cudaDeviceProp& properties, const Options& options) {
    const std::string path = options.need("-o");
    refuse_to_replace({path}, options);
    auto [first, last] = range_of(options);
    DeviceBytes there(4 * BLOCK);
    Json blocks;
    const u32 together = std::max(1u, std::min(16u, std::thread::hardware_concurrency()));
    for (u32 block = first; block <= last; block += together) {
        // The GPU computes while others are hashed.
        std::vector<std::future<std::string>> digests;
        for (u32 one = block; one <= last && one < block + together; one++)
            digests.push_back(std::async(std::launch::async, [bytes = block_of(function, one, there)] {
                return sha256(bytes.data(), bytes.size());
            }));
        for (size_t i = 0; i < digests.size(); i++) blocks.text(std::to_string(block + i), digests[i].get());
        std::cerr << "\r" << std::min(last + 1, block + together) - first << " of " << last + 1 - first << std::flush;
    }
    std::cerr << "\n";
    Json by, json;
    char date[32];
    std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    by.text("date", date);
    describe_gpu(by, properties);
    by.text("nvcc", std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__));
    by.text("function", function.code);
    json.text("schema", "tcverify.sweep/1");
    json.text("operation", function.operation);
    json.text("variant", function.variant);
    json.object("computed_by", by);
    json.object("blocks", blocks);
    write_file(path, json.whole(), {});
}

int main(int count, char** words) try {
    Options options(count, words, {"--device", "--blocks", "--save", "-o"}, {"--force", "--help", "-h"});
    const std::vector<std::string>& plain = options.plain;
    if (options.has("--help") || options.has("-h")) {
        std::cout << USAGE;
        return 0;
    }
    if (plain.size() == 1 && plain[0] == "list") {
        for (const Function& f : functions())
            std::cout << f.operation << " " << f.variant << "  " << f.code << ", from sm_" << f.needs << " on\n";
        return 0;
    }
    if (plain.size() != 2) throw std::runtime_error("an operation and a variant are expected; --help says more");
    for (const Function& function : functions()) {
        if (function.operation != plain[0] || function.variant != plain[1]) continue;
        cudaDeviceProp properties;
        int capability = use_gpu(int(whole_number(options.get("--device", "0"), "GPU")), properties);
        if (capability < function.needs)
            throw std::runtime_error(function.code + " needs sm_" + std::to_string(function.needs));
        rehearse(function);
        if (!options.has("--save")) sweep(function, properties, options);
        else {
            u64 block = whole_number(options.get("--save", ""), "block");
            if (block > 255) throw std::runtime_error("--save: a block from 0 to 255 is expected");
            save(function, u32(block), options);
        }
        return 0;
    }
    throw std::runtime_error("there is no " + plain[0] + " " + plain[1] + "; 'sweep list' has all");
} catch (const std::exception& error) {
    std::cerr << "sweep: " << error.what() << "\n";
    return 2;
}
