// The CUDA runtime with every error a sentence, memory that frees itself, and what the machine is.
#pragma once
#ifndef __HIP__
#include <cuda_runtime.h>
#endif

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "json.h"
#include "portable.h"

inline void checked(cudaError_t result, const std::string& what) {
    if (result == cudaSuccess) return;
    throw std::runtime_error(what + ": " + cudaGetErrorString(result) + " (" + cudaGetErrorName(result) + ")");
}

class DeviceBytes {
  public:
    explicit DeviceBytes(size_t length) : length_(length) {
        if (length == 0) return;
        checked(cudaMalloc(&at_, length), "Allocating " + std::to_string(length) + " bytes on the GPU failed");
    }
    explicit DeviceBytes(const std::vector<u8>& bytes) : DeviceBytes(bytes.size()) {
        fill(bytes);
    }
    ~DeviceBytes() { (void)cudaFree(at_); }
    DeviceBytes(const DeviceBytes&) = delete;
    DeviceBytes& operator=(const DeviceBytes&) = delete;

    /// Replaces the content, which is as long.
    void fill(const std::vector<u8>& bytes) {
        if (bytes.size() != length_) throw std::runtime_error("Other bytes than memory was allocated for");
        if (length_ == 0) return;
        checked(cudaMemcpy(at_, bytes.data(), length_, cudaMemcpyHostToDevice), "Copying to the GPU failed");
    }
    u8* at() const { return static_cast<u8*>(at_); }
    std::vector<u8> bytes() const {
        std::vector<u8> all(length_);
        if (length_ > 0)
            checked(cudaMemcpy(all.data(), at_, length_, cudaMemcpyDeviceToHost), "Copying from the GPU failed");
        return all;
    }

  private:
    void* at_ = nullptr;
    size_t length_;
};

#ifdef __HIP__
const bool IS_AMD = true;
inline std::string compiled_by() { return "HIP " + std::to_string(HIP_VERSION_MAJOR) + "." + std::to_string(HIP_VERSION_MINOR); }
#else
const bool IS_AMD = false;
inline std::string compiled_by() {
    return "CUDA " + std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__);
}
#endif

/// The catalogue's name of a compute capability: sm_90, gfx90a.
inline std::string architecture_of(int capability) {
    if (!IS_AMD) return "sm_" + std::to_string(capability);
    char text[16];
    std::snprintf(text, sizeof text, "gfx%x", unsigned(capability));
    return text;
}

/// Chooses a GPU and returns its compute capability: 90 for 9.0; of AMD 0x90a for gfx90a.
inline int use_gpu(int index, cudaDeviceProp& properties) {
    int count = 0;
    checked(cudaGetDeviceCount(&count), "No GPU can be used");
    if (index >= count) throw std::runtime_error("There is no GPU " + std::to_string(index));
    checked(cudaSetDevice(index), "The GPU cannot be used");
    checked(cudaGetDeviceProperties(&properties, index), "The GPU does not say what it is");
#ifdef __HIP__
    // "gfx90a:sramecc+:xnack-"
    const std::string name = properties.gcnArchName;
    return int(std::strtol(name.compare(0, 3, "gfx") == 0 ? name.c_str() + 3 : "0", nullptr, 16));
#else
    return properties.major * 10 + properties.minor;
#endif
}

inline void describe_gpu(Json& json, const cudaDeviceProp& properties) {
    int driver = 0, runtime = 0;
    checked(cudaDriverGetVersion(&driver), "The driver does not say its version");
    checked(cudaRuntimeGetVersion(&runtime), "The CUDA runtime does not say its version");
    auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
    json.text("gpu", properties.name);
    json.text("compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor));
    json.number("multiprocessors", properties.multiProcessorCount);
    json.text("driver_supports_cuda", version(driver));
    json.text("cuda_runtime", version(runtime));
    std::ifstream proc("/proc/driver/nvidia/version");
    std::string line;
    if (std::getline(proc, line)) json.text("driver", line);
}
