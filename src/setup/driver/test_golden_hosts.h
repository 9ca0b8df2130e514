// The hosts whose plans are stored as golden files.
#pragma once

#include <cstdint>
#include <vector>

namespace kgpu::driver {

// A host and the request for it.
struct GoldenHost {
  const char* name = "";
  const char* os_release = "";
  const char* kernel = "";
  uint16_t gpu = 0x20b5;  // an A100
  unsigned count = 1;
  bool has_secure_boot = false;
  bool has_nouveau = false;
  const char* driver = "";       // the loaded one, with open modules
  bool is_by_installer = false;  // NVIDIA's installer installed it
  const char* packages = "";     // that are installed, a word each: "name=version"
  const char* file = "";         // --source
  const char* cuda = "";
  const char* version = "";
  const char* source = "";
  const char* module = "";
  const char* toolkit = "";
  bool has_display = false;
  const char* arch = "x86_64";
};

std::vector<GoldenHost> GoldenHosts();

}  // namespace kgpu::driver
