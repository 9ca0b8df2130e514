#include "tests/monitoring/prometheus_programs.h"

#include <unistd.h>

#include <fmt/format.h>

namespace kgpu::monitoring {

std::string PrometheusProgram(const std::string& name) {
  for (const char* top : {"", KGPU_SOURCE_DIR "/build/prometheus"}) {
    std::string path = fmt::format("{}/usr/bin/{}", top, name);
    if (access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return "";
}

}  // namespace kgpu::monitoring
