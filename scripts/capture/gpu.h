// The CUDA runtime with every error a sentence, memory that frees itself, and what the machine is.
#pragma once
#include <cuda_runtime.h>

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
        if (length_ == 0) return;
        checked(cudaMemcpy(at_, bytes.data(), length_, cudaMemcpyHostToDevice), "Copying to the GPU failed");
    }
    ~DeviceBytes() { cudaFree(at_); }
    DeviceBytes(const DeviceBytes&) = delete;
    DeviceBytes& operator=(const DeviceBytes&) = delete;

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

/// Chooses a GPU and returns its compute capability: 90 for 9.0.
inline int use_gpu(int index, cudaDeviceProp& properties) {
    int count = 0;
    checked(cudaGetDeviceCount(&count), "No GPU can be used");
    if (index >= count) throw std::runtime_error("There is no GPU " + std::to_string(index));
    checked(cudaSetDevice(index), "The GPU cannot be used");
    checked(cudaGetDeviceProperties(&properties, index), "The GPU does not say what it is");
    return properties.major * 10 + properties.minor;
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
