// The state in a memfd: this process writes it under the seqlock, others map it read-only.
#pragma once

#include <memory>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

// Written by one thread. Source: memfd_create(2), fcntl(2) F_SEAL_FUTURE_WRITE.
class SharedState {
 public:
  static StatusOr<std::unique_ptr<SharedState>> Create();
  ~SharedState();
  SharedState(const SharedState&) = delete;
  SharedState& operator=(const SharedState&) = delete;

  // A descriptor that can only be mapped for reading; lives as long as this object.
  int read_only_fd() const { return read_only_.get(); }
  // Copies `state` in; readers retry meanwhile.
  void Write(const SimState& state);
  // The same for one process of one GPU.
  void WriteProcess(uint32_t slot, uint32_t index, const SimProcess& process);

 private:
  SharedState(UniqueFd read_only, SimState* mapped)
      : read_only_(std::move(read_only)), mapped_(mapped) {}

  UniqueFd read_only_;
  SimState* mapped_;
};

}  // namespace kgpu::sim
