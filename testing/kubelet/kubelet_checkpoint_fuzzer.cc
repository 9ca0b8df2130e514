// The stub kubelet's two files: its checkpoint, and the pods that outlive it. What reads must
// print, and read back as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "testing/kubelet/checkpoint.h"
#include "testing/kubelet/state_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace kubelet = kgpu::kubelet;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto checkpoint = kubelet::ParseCheckpoint(text, "fuzz"); checkpoint.ok()) {
    const auto again = kubelet::ParseCheckpoint(kubelet::PrintCheckpoint(*checkpoint), "again");
    if (!again.ok() || *again != *checkpoint) {
      std::abort();
    }
  }
  if (const auto state = kubelet::ParseNodeState(text, "fuzz"); state.ok()) {
    const std::string printed = kubelet::PrintNodeState(*state);
    const auto again = kubelet::ParseNodeState(printed, "again");
    if (!again.ok() || kubelet::PrintNodeState(*again) != printed) {
      std::abort();
    }
  }
  return 0;
}
