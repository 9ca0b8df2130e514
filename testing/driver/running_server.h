// Tests only: the state server on a thread of its own, as `kgpu-sim serve` runs it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "src/platform/base/event_loop.h"
#include "testing/driver/server.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

// Serves from construction to destruction; if the server cannot start, the test fails.
class RunningServer {
 public:
  // Uses the state that is already in `root`.
  explicit RunningServer(const std::string& root);
  RunningServer(const std::string& root, const SimState& state);
  ~RunningServer();
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  // Replaces the state by what `change` makes of it; clients know of it when this returns. Any
  // thread except the server's.
  void Change(const std::function<void(SimState&)>& change);
  // Calls `look` with the state as it is now, once the server has read what clients have sent and
  // that they are gone. Any thread except the server's.
  void Look(const std::function<void(const SimState&)>& look);

 private:
  std::unique_ptr<EpollLoop> loop_;
  std::unique_ptr<StateServer> server_;
  std::thread thread_;
};

}  // namespace kgpu::sim
