// The simulated host's /dev/kmsg: a FIFO into which the server writes what NVIDIA's kernel module
// would write. Like the device after a seek to its end, it gives a reader what comes after it was
// opened. Unlike the device, one read may return several records, or part of one, and two readers
// share the records.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "testing/driver/state.h"

namespace kgpu::simhost {

// The text after "NVRM: " for an XID on `gpu`, in the module's wording.
std::string XidLine(const sim::SimGpu& gpu, const sim::SimEvent& event);

// Lives on the loop's thread. Lines that nobody reads, or that do not fit into the FIFO, are
// lost.
class KernelLog {
 public:
  explicit KernelLog(std::string path) : path_(std::move(path)) {}

  // Creates the FIFO; a program that writes to one without readers must not die from it.
  Status Make();
  // Writes a line for each XID that is in `now` but not in `before`.
  void Notify(const sim::SimState& before, const sim::SimState& now);
  // The next Notify writes nothing.
  void SkipNext() { is_skipping_ = true; }

 private:
  void Write(std::string_view text);
  bool Open();

  std::string path_;
  UniqueFd fd_;
  uint64_t sequence_ = 0;
  std::set<uint32_t> named_;  // slots of GPUs that a line has named
  bool is_skipping_ = false;
};

}  // namespace kgpu::simhost
