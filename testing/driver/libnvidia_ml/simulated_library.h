// The built library inside a simulated host of the test, loaded as clients load it.
#pragma once

#include <dlfcn.h>

#include <string>

#include "testing/driver/nvml_abi_more.h"
#include "testing/driver/running_server.h"
#include "testing/driver/sample_state.h"
#include "testing/temp_dir.h"

namespace kgpu::sim {

inline constexpr char kVersion[] = "535.261.03";

// A host with device nodes for `gpus` GPUs and the library; the server is started separately. Each
// object has its own copy of the library, and so its own library state in memory.
class SimulatedLibrary {
 public:
  explicit SimulatedLibrary(uint32_t gpus, const std::string& version = kVersion);
  ~SimulatedLibrary();
  SimulatedLibrary(const SimulatedLibrary&) = delete;
  SimulatedLibrary& operator=(const SimulatedLibrary&) = delete;

  // False if this machine does not allow us to create device nodes: tests then skip.
  bool has_nodes() const { return has_nodes_; }
  const TempDir& root() const { return root_; }

  // Calls a function of type `Fn`; the name must exist.
  template <typename Fn, typename... Args>
  auto Call(const char* name, Args... args) const {
    return reinterpret_cast<Fn*>(dlsym(handle_, name))(args...);
  }
  bool Has(const char* name) const { return dlsym(handle_, name) != nullptr; }

  nvml::Return Init() const { return Call<nvml::InitFn>("nvmlInit_v2"); }
  nvml::Return Shutdown() const { return Call<nvml::ShutdownFn>("nvmlShutdown"); }
  uint32_t Count() const;
  // The handle of a GPU, null if there is none.
  nvml::Device Gpu(uint32_t index) const;
  nvml::Return Temperature(nvml::Device device, uint32_t& celsius) const;

 private:
  void MakeNode(const std::string& path, unsigned minor);

  TempDir root_;
  bool has_nodes_ = true;
  void* handle_ = nullptr;
};

}  // namespace kgpu::sim
