// The same bytes as a kubelet's configuration, as a file of its flags, as its checkpoint and as the
// status of an agent. What is taken out is out, and nothing else.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/diagnose/doctor/kubelet_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu::doctor;  // NOLINT(google-build-using-namespace): a fuzz target alone
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string gate = "DevicePlugins";
  if (const auto edited = ConfigWithout(bytes, {gate})) {
    const auto config = ParseKubeletConfig(*edited, "");
    if (!config.ok() || config->gates.contains(gate)) {
      __builtin_trap();
    }
  }
  const std::string flags = FlagsWithout(bytes, {gate}, {"--container-runtime"});
  if (!FlagValues(flags, "--container-runtime").empty()) {
    __builtin_trap();
  }
  for (const std::string& value : FlagValues(flags, "--feature-gates")) {
    if (ParseGates(value).contains(gate)) {
      __builtin_trap();
    }
  }
  (void)ParseDeviceCheckpoint(bytes, "");
  (void)ParseAgentStatus(bytes);
  return 0;
}
