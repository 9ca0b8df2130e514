// The least that a state server must do, for tests of the library alone: hello with a memfd, and a
// message to every client after each change.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "src/base/unique_fd.h"
#include "testing/driver/state.h"
#include "testing/temp_dir.h"

namespace kgpu::sim {

// Listens below `root` from construction to destruction, on a thread of its own.
class TinyServer {
 public:
  explicit TinyServer(const TempDir& root);
  ~TinyServer();
  TinyServer(const TinyServer&) = delete;
  TinyServer& operator=(const TinyServer&) = delete;

  // Changes the state under its seqlock, then wakes the clients. Thread: any.
  void Change(const std::function<void(SimState&)>& change);
  // Adds an event to the ring, as part of a change.
  static void Push(SimState& state, uint32_t slot, uint64_t type, uint64_t data);

 private:
  void Serve();
  void Greet();

  UniqueFd memory_;
  SimState* state_ = nullptr;
  UniqueFd listener_;
  UniqueFd stop_;
  std::mutex mutex_;
  std::vector<UniqueFd> clients_;
  std::jthread thread_;
};

// A GPU with plausible values: minor, UUID, serial and bus follow from `index`.
void FillGpu(SimGpu& gpu, uint32_t index);

}  // namespace kgpu::sim
