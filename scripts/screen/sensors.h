// Temperature and clock of a GPU: NVIDIA's by the driver's NVML, found at run time; AMD's by what the kernel's driver shows
// as files. No dependency.
#pragma once
#include <dirent.h>
#include <dlfcn.h>

#include <fstream>
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

/// Files of the amdgpu driver; `root` is / but in tests.
class Amdgpu {
  public:
    explicit Amdgpu(const std::string& bus, const std::string& root = "") : root_(root) {
        device_ = root + "/sys/bus/pci/devices/" + bus;
        DIR* all = opendir((device_ + "/hwmon").c_str());
        while (dirent* one = all ? readdir(all) : nullptr)
            if (one->d_name[0] != '.') sensors_ = device_ + "/hwmon/" + one->d_name;
        if (all) closedir(all);
    }

    /// Of the junction, else of the edge, in degrees Celsius; -1 if nobody says.
    int temperature() const {
        long junction = number(sensors_ + "/temp2_input"), edge = number(sensors_ + "/temp1_input");
        long found = junction >= 0 ? junction : edge;
        return found < 0 ? -1 : int(found / 1000);
    }
    /// Of the compute units, in megahertz; -1 if nobody says.
    int clock() const {
        long found = number(sensors_ + "/freq1_input");
        return found < 0 ? -1 : int(found / 1000000);
    }
    std::string driver() const { return word(root_ + "/sys/module/amdgpu/version"); }
    /// What the driver calls the unique ID; empty if it has none.
    std::string unique() const { return word(device_ + "/unique_id"); }

  private:
    static std::string word(const std::string& path) {
        std::string text;
        std::ifstream(path) >> text;
        return text;
    }
    static long number(const std::string& path) {
        long value = -1;
        std::ifstream file(path);
        return file >> value ? value : -1;
    }

    std::string root_, device_, sensors_;
};
