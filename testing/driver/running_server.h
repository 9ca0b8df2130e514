// Test only: the state server on a thread of its own, as `kgpu-sim serve` runs it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "src/platform/base/event_loop.h"
#include "testing/driver/server.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

// Serves from construction to destruction; a server that cannot start fails the test.
class RunningServer {
 public:
  // The state that lies in `root` already.
  explicit RunningServer(const std::string& root);
  RunningServer(const std::string& root, const SimState& state);
  ~RunningServer();
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  // Puts what `change` makes of the state in its place; clients know when this returns. Any thread
  // but the server's.
  void Change(const std::function<void(SimState&)>& change);

 private:
  std::unique_ptr<EpollLoop> loop_;
  std::unique_ptr<StateServer> server_;
  std::thread thread_;
};

}  // namespace kgpu::sim
