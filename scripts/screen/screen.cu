// Runs a suite of 'tcverify screen make' on one GPU: docs/screening.md.
//   nvcc -std=c++17 -O2 -arch=native -o screen screen.cu      (Hopper: -arch=sm_90a; B200: sm_100a; RTX Blackwell: sm_120a)
//   hipcc -x hip -std=c++17 -O2 --offload-arch=native -o screen screen.cu         (AMD)
#define TCVERIFY_SCREEN

#include <unistd.h>

#include <iostream>

#include "../capture/options.h"
#include "../capture/rehearse.h"
#include "run.h"
#include "sensors.h"

static const char* USAGE = R"(screen SUITE.json [--device N] [--seconds S] [--stop] [--host NAME] [--force] -o RESULTS.json
    Runs the suite, once at the least and for S seconds (0), on GPU N (0), and compares digests. --stop ends at the
    first difference. A, B, C and D of wrong products go to RESULTS.json.cases/.
Exit codes: 0 every result is right, 1 one is wrong or a rehearsal failed, 2 anything else.
)";

static void generate(FormatName name, const Spec& spec, Role role, DeviceBytes& out) {
    u64 elements = spec.rows * spec.columns, blocks = (elements + 255) / 256;
    fill<<<unsigned(blocks), 256>>>(format_of(name), spec.seed, spec.kind, role, elements, spec.columns, out.at());
    checked(cudaGetLastError(), "Starting the generator failed");
}

/// The whole product by blocks on all SMs, as often as it takes to see each; the others once.
static Answers compute(const Product& product, const Unit& unit, int multiprocessors) {
    int a_bytes = format_of(unit.a).bytes, b_bytes = format_of(unit.b).bytes;
    int d_bytes = format_of(unit.accumulator).bytes;
    DeviceBytes a(product.m * product.k * a_bytes), b(product.k * product.n * b_bytes);
    DeviceBytes c(product.of_c.there ? product.d_bytes() : 0);
    generate(unit.a, product.of_a, ROLE_A, a);
    generate(unit.b, product.of_b, ROLE_B, b);
    if (product.of_c.there) generate(unit.accumulator, product.of_c, ROLE_C, c);
    const bool scaled = unit.block != 0;
    DeviceBytes scale_a(product.m * product.blocks()), scale_b(product.blocks() * product.n);
    if (scaled) {
        generate(unit.scale, product.of_scale_a, ROLE_SCALE_A, scale_a);
        generate(unit.scale, product.of_scale_b, ROLE_SCALE_B, scale_b);
    }
    const unsigned slots = product.every_sm ? unsigned(2 * multiprocessors) : 1;
    DeviceBytes sms(slots * 4);
    Operands operands = {a.at(), b.at(), product.of_c.there ? c.at() : nullptr, nullptr, 1, product.m, product.n,
                         product.k, a_bytes, b_bytes, d_bytes, scale_a.at(), scale_b.at(), scaled ? unit.block : 1};
    // Where the product is smaller than the instruction, it fills it several times.
    const u64 copies = product.every_sm ? operands.copies(unit.rows, unit.columns) : 1;
    DeviceBytes d(slots * copies * product.d_bytes());
    operands.d = d.at();
    Answers answers;
    if (!product.every_sm) {
        run(unit, operands);
        answers.all = d.bytes();
        answers.sms.assign(1, -1);
        return answers;
    }
    std::set<int> seen;
    for (int round = 0; round < 4 && int(seen.size()) < multiprocessors; round++) {
        DeviceBytes left_out(std::vector<u8>(4, 0));
        // What an earlier round left must not pass for an answer.
        checked(cudaMemset(d.at(), 0xa5, slots * copies * product.d_bytes()), "Clearing D failed");
        unit.everywhere(operands, reinterpret_cast<u32*>(sms.at()), slots, reinterpret_cast<int*>(left_out.at()));
        checked(cudaGetLastError(), "Starting " + unit.name() + " failed");
        checked(cudaDeviceSynchronize(), "Running " + unit.name() + " failed");
        if (left_out.bytes()[0] != 0) throw std::runtime_error("This program was compiled without " + unit.name());
        std::vector<u8> all = d.bytes(), ids = sms.bytes();
        answers.all.insert(answers.all.end(), all.begin(), all.end());
        for (unsigned slot = 0; slot < slots; slot++) {
            u32 sm;
            std::memcpy(&sm, &ids[4 * slot], 4);
            answers.sms.insert(answers.sms.end(), copies, int(sm));
            seen.insert(int(sm));
        }
    }
    return answers;
}

/// Small integers as products of a suite are computed: by a block, as often as they fill its tile.
static void rehearse_everywhere(const Unit& unit) {
    // 64 rows of wgmma, else 16: crates/screen/src/make.rs.
    Rehearsal one(unit, unit.instruction.compare(0, 5, "wgmma") == 0 ? 64 : 16, 8, 2 * unit.k);
    DeviceBytes sms(4), left_out(std::vector<u8>(4, 0));
    Operands operands = one.operands(sms);
    DeviceBytes d(operands.copies(unit.rows, unit.columns) * one.expected.size());
    operands.d = d.at();
    unit.everywhere(operands, reinterpret_cast<u32*>(sms.at()), 1, reinterpret_cast<int*>(left_out.at()));
    checked(cudaGetLastError(), "Starting " + unit.name() + " failed");
    checked(cudaDeviceSynchronize(), "Running " + unit.name() + " failed");
    one.compare(d.bytes());
}

/// Multiplies nothing, to learn whether this program was compiled with the instruction.
static bool compiled(const Unit& unit) {
    DeviceBytes a(64 * 64 * 8), b(64 * 64 * 8), d(64 * 64 * 8);
    try {
        run(unit, {a.at(), b.at(), nullptr, d.at(), 1, 1, 1, 1, format_of(unit.a).bytes, format_of(unit.b).bytes,
                   format_of(unit.accumulator).bytes, a.at(), b.at(), unit.block ? unit.block : 1});
    } catch (const std::runtime_error& error) {
        if (std::string(error.what()).find("compiled without") != std::string::npos) return false;
        throw;
    }
    return true;
}

#ifdef __HIP__
typedef Amdgpu Sensors;
static std::string uuid_of(const cudaDeviceProp&, const Sensors& sensors) {
    return sensors.unique().empty() ? "" : "GPU-" + sensors.unique();
}
#else
typedef Nvml Sensors;
static std::string uuid_of(const cudaDeviceProp& properties, const Sensors&) {
    std::string text = "GPU-";
    for (int i = 0; i < 16; i++) {
        char byte[4];
        std::snprintf(byte, sizeof byte, "%02x", (unsigned char)properties.uuid.bytes[i]);
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += byte;
    }
    return text;
}
#endif

int main(int count, char** words) try {
    Options options(count, words, {"--device", "--seconds", "--host", "-o"}, {"--stop", "--force", "--help", "-h"});
    if (options.has("--help") || options.has("-h")) return std::cout << USAGE, 0;
    if (options.plain.size() != 1) throw std::runtime_error("One suite is expected; --help says more");
    const std::string output = options.need("-o");
    if (!options.has("--force") && std::ifstream(output).good())
        throw std::runtime_error(output + ": is there already; --force replaces it");
    double seconds = double(whole_number(options.get("--seconds", "0"), "number of seconds"));
    Suite suite = read_suite(read_whole(options.plain[0]));

    Machine machine;
    cudaDeviceProp properties;
    machine.index = unsigned(whole_number(options.get("--device", "0"), "GPU"));
    int capability = use_gpu(int(machine.index), properties);
    machine.architecture = architecture_of(capability);
    if (!suite.suits(machine.architecture))
        throw std::runtime_error("the suite is for " + suite.arch + "; this GPU is " + machine.architecture);
    char host[256] = "", bus[32] = "";
    gethostname(host, sizeof host - 1);
    machine.host = options.get("--host", host);
    machine.name = properties.name;
    machine.multiprocessors = unsigned(properties.multiProcessorCount);
    machine.program = "screen.cu, " + compiled_by();
    checked(cudaDeviceGetPCIBusId(bus, sizeof bus, int(machine.index)), "The GPU does not say where it is");
    Sensors sensors(bus);
    machine.uuid = uuid_of(properties, sensors);
    machine.driver = sensors.driver();
    machine.sense = [&](int& degrees, int& clock) { degrees = sensors.temperature(), clock = sensors.clock(); };

    // Every unit once: small integers, which no unit rounds, show that the program is right before it judges.
    std::map<const Unit*, std::string> rehearsed;
    bool all_rehearsed = true;
    auto unit = [&](const Product& p) -> const Unit& {
        // The catalogue's mma-m8n8k4 is a shape of mma here.
        size_t at = p.instruction.find("-m");
        bool shape = at != std::string::npos && std::isdigit((unsigned char)p.instruction[at + 2]);
        return choose(p.instruction.substr(0, shape ? at : std::string::npos),
                      shape ? p.instruction.substr(at + 1) : "", p.a, p.b, p.accumulator, capability, p.scale,
                      int(p.block));
    };
    machine.reason = [&](const Product& product) -> std::string {
        if (product.library) return "a library computes it: tcverify_screen.py";
        try {
            const Unit& chosen = unit(product);
            auto known = rehearsed.find(&chosen);
            if (known != rehearsed.end()) return known->second;
            std::string& reason = rehearsed[&chosen];
            if (!compiled(chosen)) return reason = "this program was compiled without " + chosen.name();
            try {
                rehearse(chosen);
                rehearse_everywhere(chosen);
            } catch (const WrongRehearsal& wrong) {
                all_rehearsed = false;
                reason = wrong.what();
                std::cerr << "screen: " << reason << "\n";
            }
            return reason;
        } catch (const NoSuchUnit& none) {
            return none.what();
        }
    };
    machine.compute = [&](const Product& product) {
        return compute(product, unit(product), properties.multiProcessorCount);
    };

    Screening screening(suite, machine, output, options.has("--stop"));
    bool right = screening.run(seconds);
    write_file(output, screening.results(), {});
    if (suite.blind)
        std::cout << "ANSWERED  " << screening.compared() << " results  " << output << "\n";
    else
        std::cout << (right ? "RIGHT  " : "WRONG  ") << screening.wrong() << " of " << screening.compared()
                  << " results are wrong  " << output << "\n";
    return right && all_rehearsed ? 0 : 1;
} catch (const std::exception& error) {
    std::cerr << "screen: " << error.what() << "\n";
    return 2;
}
