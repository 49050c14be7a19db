// Temperature and clock of a GPU, if the driver's NVML is there: found at run time, no dependency.
#pragma once
#include <dlfcn.h>

#include <string>

class Nvml {
  public:
    /// `bus` as CUDA writes it: 0000:17:00.0.
    explicit Nvml(const std::string& bus) {
        library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
        if (!library_) return;
        int (*init)() = get<int (*)()>("nvmlInit_v2");
        auto handle = get<int (*)(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
        temperature_ = get<int (*)(void*, int, unsigned*)>("nvmlDeviceGetTemperature");
        clock_ = get<int (*)(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
        driver_ = get<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
        if (!init || !handle || init() != 0 || handle(bus.c_str(), &device_) != 0) device_ = nullptr;
    }

    /// Of the GPU's core, in degrees Celsius; -1 if nobody says.
    int temperature() const {
        unsigned value = 0;
        return device_ && temperature_ && temperature_(device_, 0, &value) == 0 ? int(value) : -1;
    }
    /// Of the SMs, in megahertz; -1 if nobody says.
    int clock() const {
        unsigned value = 0;
        return device_ && clock_ && clock_(device_, 1, &value) == 0 ? int(value) : -1;
    }
    std::string driver() const {
        char text[96] = "";
        return device_ && driver_ && driver_(text, sizeof text) == 0 ? text : "";
    }

  private:
    template <class F>
    F get(const char* name) const {
        return reinterpret_cast<F>(dlsym(library_, name));
    }

    void* library_ = nullptr;
    void* device_ = nullptr;
    int (*temperature_)(void*, int, unsigned*) = nullptr;
    int (*clock_)(void*, int, unsigned*) = nullptr;
    int (*driver_)(char*, unsigned) = nullptr;
};
