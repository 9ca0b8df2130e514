// The simulated host's /dev/kmsg: a FIFO into which the server writes what NVIDIA's kernel module
// would write. Like the device to somebody who seeks to its end, it gives a reader what comes after
// it was opened. Unlike the device, one read may give several records, or part of one, and with two
// readers each gets some.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "testing/driver/state.h"

namespace kgpu::simhost {

// The text behind "NVRM: " of an XID on `gpu`, as the module words it.
std::string XidLine(const sim::SimGpu& gpu, const sim::SimEvent& event);

// Lives on the loop's thread. Lines that nobody reads, or that do not fit into the FIFO any more,
// are lost.
class KernelLog {
 public:
  explicit KernelLog(std::string path) : path_(std::move(path)) {}

  // Makes the FIFO; a program that writes to one without readers must not die of it.
  Status Make();
  // Writes a line for each XID that is in `now` and not in `before`.
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
