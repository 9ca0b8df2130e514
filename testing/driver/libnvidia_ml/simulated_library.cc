#include "testing/driver/libnvidia_ml/simulated_library.h"

#include <sys/stat.h>

#include <filesystem>
#include <stdexcept>

namespace kgpu::sim {

// A major number that no driver has: open(2) answers ENXIO, as without hardware.
constexpr unsigned kNoDriver = 511;

SimulatedLibrary::SimulatedLibrary(uint32_t gpus, const std::string& version) {
  MakeNode("dev/nvidiactl", 255);
  for (uint32_t i = 0; i < gpus; ++i) {
    MakeNode("dev/nvidia" + std::to_string(i), i);
  }
  (void)chmod(root_.path().c_str(), 0755);
  const std::string file =
      root_.At("usr/lib64/libnvidia-ml.so." + (version.empty() ? "1" : version));
  root_.MakeDir("usr/lib64");
  std::filesystem::copy_file(KGPU_NVIDIA_ML, file);
  handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    throw std::runtime_error(dlerror());  // NOLINT(concurrency-mt-unsafe): no thread yet
  }
}

void SimulatedLibrary::MakeNode(const std::string& path, unsigned minor) {
  has_nodes_ = has_nodes_ && root_.MakeCharDevice(path, kNoDriver, minor);
  if (has_nodes_) {
    (void)chmod(root_.At(path).c_str(), 0666);
  }
}

SimulatedLibrary::~SimulatedLibrary() {
  // Unloading without nvmlShutdown leaks the session, as with NVIDIA's library.
  while (Call<nvml::Return()>("nvmlShutdown") == nvml::kSuccess) {
  }
  dlclose(handle_);
}

uint32_t SimulatedLibrary::Count() const {
  uint32_t count = 0;
  (void)Call<nvml::DeviceGetCountFn>("nvmlDeviceGetCount_v2", &count);
  return count;
}

nvml::Device SimulatedLibrary::Gpu(uint32_t index) const {
  nvml::Device device = nullptr;
  (void)Call<nvml::DeviceGetHandleByIndexFn>("nvmlDeviceGetHandleByIndex_v2", index, &device);
  return device;
}

nvml::Return SimulatedLibrary::Temperature(nvml::Device device, uint32_t& celsius) const {
  return Call<nvml::Return(nvml::Device, int32_t, uint32_t*)>("nvmlDeviceGetTemperature", device, 0,
                                                              &celsius);
}

}  // namespace kgpu::sim
