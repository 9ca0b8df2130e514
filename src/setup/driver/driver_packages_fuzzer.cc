#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/host/facts/installed_packages.h"
#include "src/setup/driver/apt_sources.h"
#include "src/setup/driver/repo_files.h"

namespace {

void CheckPackages(const kgpu::host::Packages& packages, size_t size) {
  for (const auto& [name, package] : packages) {
    // The result holds nothing that was not in the input.
    if (name.empty() || name.size() + package.version.size() > size) {
      __builtin_trap();
    }
    (void)kgpu::host::UpstreamVersion(package.version);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckPackages(kgpu::host::ParseDpkgStatus(text), size);
  CheckPackages(kgpu::host::ParseRpmList(text), size);
  for (const kgpu::driver::AptSource& source : kgpu::driver::ParseAptList(text, "f")) {
    if (source.uri.empty() || source.suite.empty()) {
      __builtin_trap();
    }
  }
  (void)kgpu::driver::ParseAptParagraphs(text.substr(0, 4096), "f");
  (void)kgpu::driver::ParseRepoFile(text, "f");
  return 0;
}
