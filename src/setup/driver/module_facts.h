// Parses the output of kernel module tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kgpu::driver {

// From modinfo's output; missing fields are empty.
struct ModuleInfo {
  std::string path;      // "filename"
  std::string version;   // "535.309.01"
  std::string license;   // "NVIDIA", "Dual MIT/GPL" (the open ones)
  std::string vermagic;  // "6.1.0-56-amd64 SMP preempt mod_unload modversions"
  std::string signer;

  // The kernel that it is built for: vermagic's first word.
  std::string kernel() const;
  bool operator==(const ModuleInfo&) const = default;
};
// Source: modinfo(8).
ModuleInfo ParseModinfo(std::string_view text);

// A line of `dkms status`.
struct DkmsEntry {
  std::string module;   // "nvidia-current"
  std::string version;  // "535.309.01"
  std::string kernel;   // empty: added only
  std::string arch;
  std::string state;      // "added", "built", "installed", "broken"
  std::string warning{};  // what it says besides: "Diff between built and installed module!"
  bool operator==(const DkmsEntry&) const = default;
};
// Both forms: "nvidia/535.1, 6.1.0-9-amd64, x86_64: installed" and, before dkms 3, "nvidia, 535.1,
// 6.1.0-9-amd64, x86_64: installed". Skips other lines. Source: dkms(8).
std::vector<DkmsEntry> ParseDkmsStatus(std::string_view text);

}  // namespace kgpu::driver
