// Captures what a GPU's tensor cores compute, for tcverify: docs/capturing.md.
//   nvcc -std=c++17 -O2 -arch=native -o capture capture.cu      (Hopper: -arch=sm_90a, for wgmma)

#include <ctime>
#include <iostream>

#include "npy.h"
#include "options.h"
#include "rehearse.h"
#include "sha256.h"

static const char* USAGE = R"(capture answer PROBES --dtype F [--dtype-b F] [--acc f32|f16|f64|s32] -o d.npy
    Answers probes: PROBES holds a.npy (n,1,K), b.npy (n,K,1) and perhaps c.npy (n,1,1) and manifest.json; for block-scaled
    instructions also scale_a.npy (n,1,blocks) and scale_b.npy (n,blocks,1).
capture gemm --operands generate:SEED:CLASS --size MxNxK --dtype F [...] [-o d.npy | --digest]
    Multiplies generated operands, one chain an element. --with-c adds a C generated for the accumulator.
capture units
    Lists the instructions.
Options of both: --instruction mma|mma-satfinite|wgmma|wgmma-satfinite|ffma|
    tcgen05|tcgen05-satfinite (mma), of AMD mfma|mfma-bf16 (mfma), --shape m16n8k8 (the largest),
    --device N (0), --force (replace what is there). Block-scaled instructions: --instruction mma-mxf4|
mma-mxf4nvf4|mma-mxf8f6f4, the same of tcgen05-, --scale-dtype ue8m0|ue4m3 --scale-block K. Beside d.npy appears d.npy.json; --digest with -o d.npy
writes d.npy.json alone.
)";

struct Job {
    Unit unit;
    Json json;
    cudaDeviceProp properties;
};

static FormatName accumulator_of(const std::string& word, FormatName operand) {
    if (word == "f32") return FP32;
    if (word == "f16") return FP16;
    if (word == "f64") return FP64;
    if (word == "s32") return INT32;
    if (!word.empty()) throw std::runtime_error("\"" + word + "\" is no accumulator (f32, f16, f64, s32)");
    return format_of(operand).integer() ? INT32 : operand == FP64 ? FP64 : FP32;
}

static void refuse_to_replace(const Options& options) {
    const std::string path = options.get("-o", "");
    if (path.empty() || options.has("--force")) return;
    for (const std::string& one : {path, path + ".json"})
        if (std::ifstream(one).good()) throw std::runtime_error(one + ": is there already; --force replaces it");
}

/// Chooses GPU and unit, rehearses, and begins the provenance.
static Job begin(const Options& options) {
    refuse_to_replace(options);
    FormatName a = FormatName(find(FORMAT_NAMES, options.need("--dtype"), "format"));
    FormatName b = FormatName(find(FORMAT_NAMES, options.get("--dtype-b", FORMAT_NAMES[a]), "format"));
    FormatName accumulator = accumulator_of(options.get("--acc", ""), a);
    Job job;
    int capability = use_gpu(int(whole_number(options.get("--device", "0"), "GPU")), job.properties);
    FormatName scale = FORMATS;
    int block = 0;
    if (options.has("--scale-dtype") || options.has("--scale-block")) {
        scale = FormatName(find(FORMAT_NAMES, options.need("--scale-dtype"), "format"));
        block = int(whole_number(options.need("--scale-block"), "block"));
    }
    job.unit = choose(options.get("--instruction", IS_AMD ? "mfma" : "mma"), options.get("--shape", ""), a, b, accumulator, capability,
                      scale, block);
    rehearse(job.unit);

    Json& json = job.json;
    json.text("schema", "tcverify.capture/1");
    char date[32];
    std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    json.text("date", date);
    describe_gpu(json, job.properties);
    json.text("compiled_by", compiled_by());
    json.text("instruction", job.unit.instruction);
    json.text("ptx", job.unit.ptx);
    json.text("a", FORMAT_NAMES[a]);
    json.text("b", FORMAT_NAMES[b]);
    json.text("accumulator", FORMAT_NAMES[accumulator]);
    if (block != 0) {
        json.text("scale", FORMAT_NAMES[scale]);
        json.number("scale_block", block);
    }
    json.number("k_per_instruction", job.unit.k);
    json.text("order", "one chain over K: k ascending, C first, one accumulator");
    return job;
}

static std::string descr_of(FormatName accumulator) {
    return accumulator == FP16 ? "<f2" : accumulator == FP64 ? "<f8" : accumulator == INT32 ? "<i4" : "<f4";
}

/// Writes D, or its digest alone, and the provenance.
static void finish(Job& job, const Options& options, const Array& d) {
    std::string path = options.get("-o", ""), digest = sha256(d.bytes.data(), d.bytes.size());
    job.json.text("d_shape", shape_text(d.shape));
    job.json.text("d_sha256", digest);
    if (!path.empty()) {
        if (!options.has("--digest")) write_npy(path, d);
        write_file(path + ".json", job.json.whole(), {});
    }
    std::cout << digest << "  D, " << shape_text(d.shape) << "\n";
    if (path.empty()) std::cout << job.json.whole();
}

static void expect(const std::string& path, const Array& array, const std::vector<size_t>& shape) {
    if (array.shape != shape)
        throw std::runtime_error(path + ": is " + shape_text(array.shape) + ", not " + shape_text(shape));
}

/// The manifest's formats must be those asked for; it is read no further.
static void agree(const std::string& manifest, const std::string& key, FormatName name) {
    size_t at = manifest.find("\"" + key + "\":");
    size_t from = at == std::string::npos ? at : manifest.find('"', at + key.size() + 3);
    size_t to = from == std::string::npos ? from : manifest.find('"', from + 1);
    if (to == std::string::npos) throw std::runtime_error("manifest.json: says nothing of \"" + key + "\"");
    std::string word = manifest.substr(from + 1, to - from - 1);
    if (word != FORMAT_NAMES[name])
        throw std::runtime_error("manifest.json: \"" + key + "\" is " + word + ", not " + FORMAT_NAMES[name]);
}

static void answer(const Options& options) {
    if (options.plain.size() != 2) throw std::runtime_error("One directory of probes is expected");
    if (!options.has("-o")) throw std::runtime_error("-o is missing");
    Job job = begin(options);
    const Unit& unit = job.unit;
    auto path = [&](const char* name) { return options.plain[1] + "/" + name; };
    Array a = read_npy(path("a.npy"), format_of(unit.a).bytes);
    if (a.shape.size() != 3 || a.shape[1] != 1) throw std::runtime_error(path("a.npy") + ": is not n x 1 x K");
    size_t n = a.shape[0], k = a.shape[2];
    Array b = read_npy(path("b.npy"), format_of(unit.b).bytes), c;
    expect(path("b.npy"), b, {n, k, 1});
    bool addend = std::ifstream(path("c.npy")).good();
    if (addend) {
        c = read_npy(path("c.npy"), format_of(unit.accumulator).bytes);
        expect(path("c.npy"), c, {n, 1, 1});
    }
    Array scale_a, scale_b;
    if (unit.block) {
        const size_t blocks = (k + unit.block - 1) / unit.block;
        scale_a = read_npy(path("scale_a.npy"), 1), scale_b = read_npy(path("scale_b.npy"), 1);
        expect(path("scale_a.npy"), scale_a, {n, 1, blocks});
        expect(path("scale_b.npy"), scale_b, {n, blocks, 1});
    } else if (std::ifstream(path("scale_a.npy")).good()) {
        throw std::runtime_error(path("scale_a.npy") + ": these probes have scales; --scale-dtype and --scale-block say which");
    }
    if (std::ifstream(path("manifest.json")).good()) {
        std::string manifest = read_whole(path("manifest.json"));
        agree(manifest, "a", unit.a), agree(manifest, "b", unit.b), agree(manifest, "accumulator", unit.accumulator);
        // Of the scales, which are the only ones with a format of that name.
        if (unit.block) agree(manifest, "format", unit.scale);
        job.json.text("manifest_sha256", sha256(manifest.data(), manifest.size()));
    }
    job.json.text("operands", options.plain[1]);
    job.json.text("a_sha256", sha256(a.bytes.data(), a.bytes.size()));
    job.json.text("b_sha256", sha256(b.bytes.data(), b.bytes.size()));
    if (addend) job.json.text("c_sha256", sha256(c.bytes.data(), c.bytes.size()));
    if (unit.block) {
        job.json.text("scale_a_sha256", sha256(scale_a.bytes.data(), scale_a.bytes.size()));
        job.json.text("scale_b_sha256", sha256(scale_b.bytes.data(), scale_b.bytes.size()));
    }
    job.json.number("k", k);

    DeviceBytes a_there(a.bytes), b_there(b.bytes), c_there(c.bytes);
    int d_bytes = format_of(unit.accumulator).bytes;
    DeviceBytes d_there(n * d_bytes), scale_a_there(scale_a.bytes), scale_b_there(scale_b.bytes);
    run(unit, {a_there.at(), b_there.at(), addend ? c_there.at() : nullptr, d_there.at(), n, 1, 1, k,
               format_of(unit.a).bytes, format_of(unit.b).bytes, d_bytes, unit.block ? scale_a_there.at() : nullptr,
               scale_b_there.at(), unit.block ? unit.block : 1});
    finish(job, options, {descr_of(unit.accumulator), {n, 1, 1}, d_there.bytes()});
}

static void generate(FormatName name, u64 seed, Class kind, Role role, u64 rows, u64 columns, DeviceBytes& out) {
    u64 elements = rows * columns, blocks = (elements + 255) / 256;
    fill<<<unsigned(blocks), 256>>>(format_of(name), seed, kind, role, elements, columns, out.at());
    checked(cudaGetLastError(), "Starting the generator failed");
    checked(cudaDeviceSynchronize(), "Running the generator failed");
}

static std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts(1);
    for (char c : text) {
        if (c == at) parts.emplace_back();
        else parts.back() += c;
    }
    return parts;
}

static void gemm(const Options& options) {
    if (options.plain.size() != 1) throw std::runtime_error(options.plain[1] + ": gemm takes no files");
    if (!options.has("-o") && !options.has("--digest")) throw std::runtime_error("-o or --digest is missing");
    std::vector<std::string> spec = split(options.need("--operands"), ':'), size = split(options.need("--size"), 'x');
    if (spec.size() != 3 || spec[0] != "generate")
        throw std::runtime_error("--operands: generate:SEED:CLASS is expected");
    if (size.size() != 3) throw std::runtime_error("--size: MxNxK is expected");
    u64 seed = whole_number(spec[1], "seed"), axes[3];
    Class kind = Class(find(CLASS_NAMES, spec[2], "class"));
    for (int i = 0; i < 3; i++) {
        axes[i] = whole_number(size[i], "size");
        if (axes[i] == 0 || axes[i] > 1 << 20) throw std::runtime_error("--size: 1 to 1048576 each is expected");
    }
    const u64 m = axes[0], n = axes[1], k = axes[2], most = 1ull << 32;
    if (m * k > most || k * n > most || m * n > most) throw std::runtime_error("--size: more than 2^32 elements");

    Job job = begin(options);
    const Unit& unit = job.unit;
    int a_bytes = format_of(unit.a).bytes, b_bytes = format_of(unit.b).bytes;
    int d_bytes = format_of(unit.accumulator).bytes;
    bool addend = options.has("--with-c");
    DeviceBytes a(m * k * a_bytes), b(k * n * b_bytes), c(addend ? m * n * d_bytes : 0), d(m * n * d_bytes);
    generate(unit.a, seed, kind, ROLE_A, m, k, a);
    generate(unit.b, seed, kind, ROLE_B, k, n, b);
    if (addend) generate(unit.accumulator, seed, kind, ROLE_C, m, n, c);
    const u64 block = unit.block ? unit.block : 1, blocks = unit.block ? (k + block - 1) / block : 0;
    DeviceBytes scale_a(m * blocks), scale_b(blocks * n);
    if (unit.block) {
        generate(unit.scale, seed, kind, ROLE_SCALE_A, m, blocks, scale_a);
        generate(unit.scale, seed, kind, ROLE_SCALE_B, blocks, n, scale_b);
    }
    std::string prefix = "generate:" + spec[1] + ":" + spec[2] + ":";
    job.json.text("a_spec", prefix + size[0] + "x" + size[2]);
    job.json.text("b_spec", prefix + size[2] + "x" + size[1]);
    if (addend) job.json.text("c_spec", prefix + size[0] + "x" + size[1]);
    if (unit.block) {
        job.json.text("scale_a_spec", prefix + size[0] + "x" + std::to_string(blocks));
        job.json.text("scale_b_spec", prefix + std::to_string(blocks) + "x" + size[1]);
    }
    job.json.number("k", k);
    run(unit, {a.at(), b.at(), addend ? c.at() : nullptr, d.at(), 1, m, n, k, a_bytes, b_bytes, d_bytes, scale_a.at(),
               scale_b.at(), int(block)});
    finish(job, options, {descr_of(unit.accumulator), {m, n}, d.bytes()});
}

static void list() {
    for (const Unit& unit : units())
        std::cout << unit.instruction << " " << FORMAT_NAMES[unit.a] << "*" << FORMAT_NAMES[unit.b] << " -> "
                  << FORMAT_NAMES[unit.accumulator]
                  << (unit.block ? ", one " + FORMAT_NAMES[unit.scale] + " for " + std::to_string(unit.block) + " k" : "")
                  << "  " << architecture_of(unit.needs.capability)
                  << (!unit.needs.exact ? " on  " : IS_AMD ? " only  " : "a only  ") << unit.ptx << "\n";
}

int main(int count, char** words) try {
    Options options(count, words,
                    {"--instruction", "--shape", "--dtype", "--dtype-b", "--acc", "--device", "--operands", "--size",
                     "--scale-dtype", "--scale-block", "-o"},
                    {"--digest", "--with-c", "--force", "--help", "-h"});
    std::string command = options.plain.empty() ? "" : options.plain[0];
    if (options.has("--help") || options.has("-h")) std::cout << USAGE;
    else if (command == "answer") answer(options);
    else if (command == "gemm") gemm(options);
    else if (command == "units") list();
    else throw std::runtime_error("answer, gemm or units is expected; --help says more");
    return 0;
} catch (const std::exception& error) {
    std::cerr << "capture: " << error.what() << "\n";
    return 2;
}
