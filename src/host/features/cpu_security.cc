// Confidential computing: of hosts, and of being a guest. Sources: Intel SDM volume 3D (SGX),
// parameters of kvm_intel and kvm_amd, the cgroup controller "misc", /sys/firmware/uv of s390.
#include <array>

#include "src/host/features/cpu_flags.h"
#include "src/host/features/cpu_parts.h"
#include "src/platform/base/strings.h"

namespace kgpu::features {
namespace {

// Modules write 1 or Y for yes.
bool IsOn(const Source& source, const std::string& path) {
  const std::optional<std::string> text = source.Text(path);
  return text && (text->starts_with('1') || text->starts_with('Y'));
}

// "sev 410" in lines of that kind.
std::optional<uint64_t> Capacity(std::string_view text, std::string_view resource) {
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() == 2 && words[0] == resource) {
      return ParseUint(words[1]);
    }
  }
  return std::nullopt;
}

std::string ReadCapacities(const Source& source) {
  for (const char* path : {"sys/fs/cgroup/misc.capacity", "sys/fs/cgroup/misc/misc.capacity"}) {
    if (std::optional<std::string> text = source.Text(path)) {
      return *std::move(text);
    }
  }
  return {};
}

struct Technology {
  const char* parameter;  // below sys/module
  const char* enabled;
  const char* resource;  // of the cgroup controller; empty for none
  const char* capacity;
};

constexpr std::array kTechnologies = std::to_array<Technology>({
    {"kvm_intel/parameters/tdx", "tdx.enabled", "tdx", "tdx.total_keys"},
    {"kvm_amd/parameters/sev", "sev.enabled", "sev", "sev.asids"},
    {"kvm_amd/parameters/sev_es", "sev.es.enabled", "sev_es", "sev.encrypted_state_ids"},
    {"kvm_amd/parameters/sev_snp", "sev.snp.enabled", "", ""},
});

}  // namespace

void ReadSecurity(const Source& source, const CpuLeaves* leaves) {
  Attributes& out = source.attributes("cpu.security");
  if (const uint64_t bytes = leaves != nullptr ? SgxMemory(*leaves) : 0; bytes > 0) {
    out["sgx.enabled"] = "true";
    out["sgx.epc"] = std::to_string(bytes);
  }
  if (leaves != nullptr && IsTdxGuest(*leaves)) {
    out["tdx.protected"] = "true";
  }
  std::optional<std::string> capacities;
  for (const auto& [parameter, enabled, resource, capacity] : kTechnologies) {
    if (!IsOn(source, fmt::format("sys/module/{}", parameter))) {
      continue;
    }
    out[enabled] = "true";
    if (!capacities) {
      capacities = ReadCapacities(source);
    }
    if (const std::optional<uint64_t> value = Capacity(*capacities, resource)) {
      out[capacity] = std::to_string(*value);
    }
  }
  if (source.Text("sys/firmware/uv/prot_virt_host") == "1") {
    out["se.enabled"] = "true";
  }
}

}  // namespace kgpu::features
