// Words of the command line, in the order of the enumerations they stand for.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

static const std::vector<std::string> FORMAT_NAMES = {
    "fp16",     "bf16",     "tf32", "xf32", "fp32", "fp64",  "e5m2",  "e4m3", "e4m3fnuz",
    "e5m2fnuz", "e3m2",     "e2m3", "e2m1", "ue8m0", "ue4m3", "int8", "uint8", "int4", "uint4", "int32"};
static const std::vector<std::string> CLASS_NAMES = {"normal", "wide", "subnormal", "special", "cancel",
                                                     "toggle", "carry", "align", "alternate", "stagger"};
static const std::vector<std::string> ROLE_NAMES = {"a", "b", "c", "scale-a", "scale-b"};

inline int find(const std::vector<std::string>& names, const std::string& name, const std::string& what) {
    std::string all;
    for (size_t i = 0; i < names.size(); i++) {
        if (names[i] == name) return int(i);
        all += (i ? ", " : "") + names[i];
    }
    throw std::runtime_error("\"" + name + "\" is no " + what + " (" + all + ")");
}
