// Running a suite, without a word of CUDA: what is compared, what is kept, what is written.
#pragma once
#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <numeric>
#include <set>

#include "../capture/generate.cuh"
#include "../capture/names.h"
#include "../capture/npy.h"
#include "suite.h"

/// Seed, class and shape of an operand.
struct Spec {
    bool there = false;
    u64 seed = 0;
    Class kind = NORMAL;
    u64 rows = 0, columns = 0;

    static Spec of(const Value& value, const std::string& what) {
        Spec spec;
        if (value.kind == Value::NOTHING) return spec;
        std::vector<std::string> parts(1);
        for (char c : value.word(what)) {
            if (c == ':') parts.emplace_back();
            else parts.back() += c;
        }
        size_t x = parts.size() == 4 ? parts[3].find('x') : std::string::npos;
        if (parts[0] != "generate" || x == std::string::npos)
            throw std::runtime_error("the suite: " + what + " is no generated operand");
        spec.there = true;
        spec.seed = std::stoull(parts[1]);
        spec.kind = Class(find(CLASS_NAMES, parts[2], "class"));
        spec.rows = std::stoull(parts[3]);
        spec.columns = std::stoull(parts[3].substr(x + 1));
        return spec;
    }
};

struct Product {
    std::string name, instruction, sha256;
    bool library = false, every_sm = false;
    FormatName a = FP16, b = FP16, accumulator = FP32, d = FP32;
    /// FORMATS and 0 without scales.
    FormatName scale = FORMATS;
    u64 block = 0;
    u64 m = 0, n = 0, k = 0, tile_rows = 0, tile_columns = 0;
    Spec of_a, of_b, of_c, of_scale_a, of_scale_b;
    std::vector<std::string> leaves;

    u64 d_bytes() const { return m * n * format_of(d).bytes; }
    u64 blocks() const { return block ? (k + block - 1) / block : 0; }

    /// The payload of a tile of D.
    std::vector<u8> tile(const u8* all, u64 index) const {
        u64 across = (n + tile_columns - 1) / tile_columns, width = format_of(d).bytes;
        u64 row = index / across * tile_rows, column = index % across * tile_columns;
        u64 end = std::min(row + tile_rows, m), right = std::min(column + tile_columns, n);
        std::vector<u8> out;
        for (; row < end; row++)
            out.insert(out.end(), all + (row * n + column) * width, all + (row * n + right) * width);
        return out;
    }
};

struct Suite {
    std::string tool, digest, arch;
    std::vector<std::string> also;
    std::vector<Product> products;
    /// A challenge does not say what is right: every D is an answer.
    bool blind = false;

    bool suits(const std::string& architecture) const {
        return architecture == arch || std::find(also.begin(), also.end(), architecture) != also.end();
    }
};

inline FormatName format_named(const Value& value, FormatName otherwise) {
    return value.kind == Value::TEXT ? FormatName(find(FORMAT_NAMES, value.text, "format")) : otherwise;
}

inline Suite read_suite(const std::string& text) {
    Sealed sealed = unseal(text, "tcverify.screen-suite/1");
    const Value& content = sealed.content;
    Suite suite{sealed.tool, sealed.digest, content["arch"].word("arch"), {}, {}, content["challenge"].kind == Value::OBJECT};
    for (const Value& name : content["also"].list) suite.also.push_back(name.word("also"));
    for (const Value& one : content["products"].list) {
        const Value& check = one["check"];
        Product p;
        p.name = one["name"].word("name");
        p.library = one["route"].word("route") != "instruction";
        p.every_sm = one["placement"].word("placement") == "every_sm";
        p.instruction = check["instruction"].word_or("");
        p.a = format_named(check["dtype"], FP16);
        p.b = format_named(check["dtype_b"], p.a);
        p.d = format_named(one["d"], FP32);
        p.accumulator = format_named(check["acc"], p.d);
        p.m = one["m"].number("m"), p.n = one["n"].number("n"), p.k = one["k"].number("k");
        // Products of a library are tcverify_screen.py's; their operands may be files.
        if (!p.library)
            p.of_a = Spec::of(check["a"], "a"), p.of_b = Spec::of(check["b"], "b"), p.of_c = Spec::of(check["c"], "c");
        if (!p.library && check["scale_dtype"].kind == Value::TEXT) {
            p.scale = format_named(check["scale_dtype"], FORMATS), p.block = check["scale_block"].number("scale_block");
            p.of_scale_a = Spec::of(check["scale_a"], "scale_a"), p.of_scale_b = Spec::of(check["scale_b"], "scale_b");
        }
        p.sha256 = one["sha256"].word("sha256");
        if (one["tile"].list.size() != 2) throw std::runtime_error("the suite: " + p.name + " has no tile");
        p.tile_rows = one["tile"].list[0].number("tile"), p.tile_columns = one["tile"].list[1].number("tile");
        for (const Value& leaf : one["leaves"].list) p.leaves.push_back(leaf.word("leaf"));
        u64 most = 1 << 16;
        bool sizes = p.m && p.n && p.k && p.m <= most && p.n <= most && p.k <= most && p.tile_rows && p.tile_columns;
        if (!sizes || p.leaves.size() != ((p.m - 1) / p.tile_rows + 1) * ((p.n - 1) / p.tile_columns + 1))
            throw std::runtime_error("the suite: " + p.name + " has sizes that do not fit");
        if (!p.library && (!p.of_a.there || !p.of_b.there || p.of_a.rows != p.m || p.of_a.columns != p.k || p.of_b.rows != p.k ||
            p.of_b.columns != p.n))
            throw std::runtime_error("the suite: " + p.name + " has operands that do not fit");
        if (p.scale != FORMATS &&
            (format_of(p.scale).specials != SCALE || p.block == 0 || p.block > most || !p.of_scale_a.there ||
             !p.of_scale_b.there || p.of_scale_a.rows != p.m || p.of_scale_a.columns != p.blocks() ||
             p.of_scale_b.rows != p.blocks() || p.of_scale_b.columns != p.n))
            throw std::runtime_error("the suite: " + p.name + " has scales that do not fit");
        suite.products.push_back(p);
    }
    if (suite.products.empty()) throw std::runtime_error("the suite has no products");
    return suite;
}

/// D as often as it was computed, one after the other, and the SM of each; -1 where several had a part in it.
struct Answers {
    std::vector<u8> all;
    std::vector<int> sms;
};

/// What runs products. `reason` of what it cannot, is not empty.
struct Machine {
    std::string host, name, architecture, uuid, driver, program;
    unsigned index = 0, multiprocessors = 0;
    std::function<std::string(const Product&)> reason;
    std::function<Answers(const Product&)> compute;
    /// Degrees and megahertz; -1 where nobody says.
    std::function<void(int&, int&)> sense;
};

struct Wrong {
    std::string product, digest, folder;
    u64 times = 0, tiles = 0;
    std::set<int> sms;
    int coldest = -1, hottest = -1;
    std::vector<std::pair<u64, std::string>> shown;
};

/// As the results of tcverify have it: crates/screen/src/results.rs.
const size_t MOST_FAILURES = 128, MOST_TILES = 4, MOST_TILE_BYTES = 1 << 14, MOST_CASES = 8;

class Screening {
  public:
    Screening(const Suite& suite, const Machine& machine, const std::string& output, bool stop)
        : suite_(suite), machine_(machine), output_(output), stop_(stop), runs_(suite.products.size(), 0), on_(suite.products.size()) {}

    /// Runs for so many seconds, the whole suite once at the least. Returns whether all was right.
    bool run(double seconds) {
        auto start = std::chrono::steady_clock::now();
        auto passed = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        };
        for (const Product& product : suite_.products) {
            std::string reason = machine_.reason(product);
            if (!reason.empty()) left_out_.push_back({product.name, reason});
            reasons_.push_back(reason);
        }
        if (left_out_.size() == suite_.products.size())
            throw std::runtime_error("this program can compute no product of the suite: " + left_out_[0].second);
        do {
            u64 before = wrong();
            for (size_t i = 0; i < suite_.products.size() && !stopped_; i++)
                if (reasons_[i].empty()) compare(suite_.products[i], i);
            rounds_.push_back(wrong() - before);
        } while (passed() < seconds && !stopped_);
        seconds_ = passed();
        return wrong_.empty() || suite_.blind;
    }

    u64 compared() const {
        u64 all = 0;
        for (u64 one : runs_) all += one;
        return all;
    }
    u64 wrong() const {
        u64 all = more_;
        for (const Wrong& one : wrong_) all += one.times;
        return all;
    }

    /// The results, sealed.
    std::string results() const {
        Writer w;
        auto text_or_null = [&](const std::string& text) { text.empty() ? w.raw("null") : w.text(text); };
        w.open('{').key("suite").text(suite_.digest).key("device").open('{');
        w.key("host").text(machine_.host).key("index").number(machine_.index).key("name").text(machine_.name);
        w.key("architecture").text(machine_.architecture).key("uuid"), text_or_null(machine_.uuid);
        w.key("driver"), text_or_null(machine_.driver);
        w.key("multiprocessors").number(machine_.multiprocessors);
        w.key("program").text(machine_.program).key("simulated").raw("false").close('}');
        w.key("runs").open('[');
        for (size_t i = 0; i < runs_.size(); i++)
            if (runs_[i] > 0) {
                w.open('{').key("product").text(suite_.products[i].name).key("compared").number(runs_[i]);
                w.key("sms").number(on_[i].size()).close('}');
            }
        w.close(']').key("left_out").open('[');
        for (auto& one : left_out_) w.open('[').text(one.first).text(one.second).close(']');
        w.close(']').key("sms").open('[');
        for (int sm : sms_) w.number(sm);
        w.close(']').key("failures").open('[');
        for (const Wrong& one : wrong_) {
            w.open('{').key("product").text(one.product).key("d_sha256").text(one.digest);
            w.key("times").number(one.times).key("sms").open('[');
            for (int sm : one.sms) w.number(sm);
            w.close(']').key("temperature_c"), range(w, one.coldest, one.hottest);
            w.key("tiles_different").number(one.tiles).key("tiles").open('[');
            for (auto& tile : one.shown) {
                w.open('{').key("index").number(tile.first).key("payload"), text_or_null(tile.second);
                w.close('}');
            }
            w.close(']').key("case"), text_or_null(one.folder);
            w.close('}');
        }
        w.close(']').key("more_failures").number(more_).key("halves");
        if (rounds_.size() < 2) {
            w.raw("null");
        } else {
            auto middle = rounds_.begin() + (rounds_.size() + 1) / 2;
            u64 first = std::accumulate(rounds_.begin(), middle, u64(0)), second = std::accumulate(middle, rounds_.end(), u64(0));
            w.open('[').number(first).number(second).close(']');
        }
        w.key("readings");
        if (coldest_ < 0) {
            w.raw("null");
        } else {
            w.open('{').key("temperature_c"), range(w, coldest_, hottest_);
            w.key("sm_clock_mhz"), range(w, slowest_, fastest_);
            w.close('}');
        }
        char seconds[32];
        std::snprintf(seconds, sizeof seconds, "%.3f", seconds_);
        w.key("seconds").raw(seconds).key("stopped").raw(stopped_ ? "true" : "false").close('}');
        return seal("tcverify.screen-results/1", suite_.tool, w.out);
    }

  private:
    static void range(Writer& w, int low, int high) {
        if (low < 0) w.raw("null");
        else w.open('[').number(low).number(high).close(']');
    }
    static void widen(int value, int& low, int& high) {
        if (value < 0) return;
        low = low < 0 ? value : std::min(low, value);
        high = std::max(high, value);
    }

    void compare(const Product& product, size_t index) {
        Answers answers = machine_.compute(product);
        int degrees = -1, clock = -1;
        machine_.sense(degrees, clock);
        widen(degrees, coldest_, hottest_);
        widen(clock, slowest_, fastest_);
        const u64 length = product.d_bytes();
        const u8* known = nullptr;
        for (size_t slot = 0; slot < answers.sms.size(); slot++) {
            const u8* d = answers.all.data() + slot * length;
            runs_[index]++;
            if (answers.sms[slot] >= 0) sms_.insert(answers.sms[slot]), on_[index].insert(answers.sms[slot]);
            if (known && std::memcmp(known, d, length) == 0) continue;
            std::string digest = ::sha256(d, length);
            if (digest == product.sha256) {
                known = d;
                continue;
            }
            differs(product, d, digest, answers.sms[slot], degrees);
        }
    }

    void differs(const Product& product, const u8* d, const std::string& digest, int sm, int degrees) {
        if (stop_ && !suite_.blind) stopped_ = true;
        Wrong* found = nullptr;
        for (Wrong& one : wrong_)
            if (one.product == product.name && one.digest == digest) found = &one;
        if (!found && wrong_.size() == MOST_FAILURES) {
            more_++;
            return;
        }
        if (!found) {
            Wrong one;
            one.product = product.name, one.digest = digest;
            for (u64 i = 0; i < product.leaves.size(); i++) {
                std::vector<u8> tile = product.tile(d, i);
                if (leaf_of(tile) == product.leaves[i]) continue;
                one.tiles++;
                if (one.shown.size() < MOST_TILES)
                    one.shown.push_back({i, tile.size() <= MOST_TILE_BYTES ? hexadecimal(tile) : ""});
            }
            if (wrong_.size() < MOST_CASES && !suite_.blind) one.folder = keep(product, d, digest);
            wrong_.push_back(one);
            found = &wrong_.back();
        }
        found->times++;
        if (sm >= 0) found->sms.insert(sm);
        widen(degrees, found->coldest, found->hottest);
    }

    static std::string hexadecimal(const std::vector<u8>& bytes) {
        std::string out;
        for (u8 byte : bytes) out += "0123456789abcdef"[byte >> 4], out += "0123456789abcdef"[byte & 15];
        return out;
    }

    /// A, B, C and D as a folder that 'tcverify batch' takes.
    std::string keep(const Product& product, const u8* d, const std::string& digest) const {
        std::string name = output_.substr(output_.find_last_of('/') + 1) + ".cases";
        std::string all = output_ + ".cases", folder = all + "/" + product.name + "-" + digest.substr(0, 8);
        mkdir(all.c_str(), 0777);
        mkdir(folder.c_str(), 0777);
        operand(folder + "/a.npy", product.a, product.of_a, ROLE_A);
        operand(folder + "/b.npy", product.b, product.of_b, ROLE_B);
        if (product.of_c.there) operand(folder + "/c.npy", product.accumulator, product.of_c, ROLE_C);
        if (product.scale != FORMATS) {
            operand(folder + "/sa.npy", product.scale, product.of_scale_a, ROLE_SCALE_A);
            operand(folder + "/sb.npy", product.scale, product.of_scale_b, ROLE_SCALE_B);
        }
        Array array;
        array.descr = product.d == FP16   ? "<f2"
                      : product.d == FP64 ? "<f8"
                      : product.d == INT32 ? "<i4"
                                           : "<f4";
        array.shape = {size_t(product.m), size_t(product.n)};
        array.bytes.assign(d, d + product.d_bytes());
        write_npy(folder + "/d.npy", array);
        Writer w;
        w.open('{').key("arch").text(suite_.arch).key("instruction").text(product.instruction);
        w.key("dtype").text(FORMAT_NAMES[product.a]).key("dtype_b").text(FORMAT_NAMES[product.b]);
        w.key("acc").text(FORMAT_NAMES[product.accumulator]);
        if (product.scale != FORMATS)
            w.key("scale_dtype").text(FORMAT_NAMES[product.scale]).key("scale_block").number(product.block);
        w.close('}');
        write_file(folder + "/case.json", w.out + "\n", {});
        return name + folder.substr(all.size());
    }

    static void operand(const std::string& path, FormatName name, const Spec& spec, Role role) {
        Format f = format_of(name);
        Array array;
        array.descr = (f.bytes == 1 ? "|u" : "<u") + std::to_string(f.bytes);
        array.shape = {size_t(spec.rows), size_t(spec.columns)};
        array.bytes.resize(spec.rows * spec.columns * f.bytes);
        for (u64 i = 0; i < spec.rows * spec.columns; i++)
            put(&array.bytes[i * f.bytes],
                generated(f, spec.seed, spec.kind, role, i / spec.columns, i % spec.columns, spec.columns), f.bytes);
        write_npy(path, array);
    }

    const Suite& suite_;
    const Machine& machine_;
    std::string output_;
    bool stop_, stopped_ = false;
    std::vector<u64> runs_;
    /// SMs that computed each product.
    std::vector<std::set<int>> on_;
    std::vector<std::string> reasons_;
    std::vector<std::pair<std::string, std::string>> left_out_;
    std::set<int> sms_;
    std::vector<Wrong> wrong_;
    u64 more_ = 0;
    /// Wrong results of each run of the suite.
    std::vector<u64> rounds_;
    int coldest_ = -1, hottest_ = -1, slowest_ = -1, fastest_ = -1;
    double seconds_ = 0;
};
