// GPUs for which a call of the driver did not return: each new probe leaves them out, so that the
// others are served, and tries them again later.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "src/gpu/probe/client.h"
#include "src/node/inventory/reading.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"

namespace kgpu::inventory {

// Owned by the inventory, on its loop's thread.
class HungGpus {
 public:
  // `loop` and `client` must outlive it. `look` is called when a GPU should be read again.
  HungGpus(EventLoop& loop, probe::Client& client, std::function<void()> look);

  // Call when a probe went down. True if a call about one GPU was the cause: the next probe leaves
  // that GPU out.
  bool Note(const probe::Down& down);
  // Call for each new probe, before any request about a GPU.
  void OnUp();
  // Sets GpuReading::hang. False if that leaves no GPU: the driver hangs as a whole, and the next
  // probe asks about all GPUs again.
  bool Mark(Reading& reading);

 private:
  struct Hung {
    std::string hang;  // see GpuReading
    Backoff backoff;
    SteadyTime due{};  // when it is read again
    bool is_left_out = true;
  };
  void Arm();
  void TryAgain();

  EventLoop& loop_;
  probe::Client& client_;
  std::function<void()> look_;
  std::map<unsigned, Hung> gpus_;  // by NVML index
  Timer timer_;
};

}  // namespace kgpu::inventory
