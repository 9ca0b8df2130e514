// The probe's second thread: waits for driver events and sends each one as a frame. It takes no
// part in requests, so that a request that hangs does not delay an XID.
#pragma once

#include <pthread.h>

#include "src/gpu/nvml/library.h"
#include "src/gpu/probe/child/channel.h"
#include "src/gpu/probe/child/driver.h"
#include "src/gpu/probe/protocol.h"

namespace kgpu::probe::child {

class Events {
 public:
  // Both must outlive the process: the thread is never joined, it dies with it.
  Events(const nvml::Library& library, const Channel& channel)
      : library_(library), channel_(channel) {}

  // Registers for the wanted events that GPU `gpu` supports. Main thread.
  nvml::Return Watch(Driver& driver, uint32_t gpu, WatchPayload* payload);
  // Starts the thread; a no-op if it is running or nothing is registered. Main thread.
  nvml::Return Start();

 private:
  struct Watched {
    nvml::Device device;
    uint32_t gpu;
    char uuid[nvml::kUuidV2Size];
  };

  static void* RunThread(void* self);
  [[noreturn]] void Run();
  void Forward(const nvml::EventData& event);

  const nvml::Library& library_;
  const Channel& channel_;
  nvml::EventSet set_ = nullptr;
  bool is_running_ = false;

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;  // guards the two below
  uint32_t watched_count_ = 0;
  Watched watched_[kMaxGpus] = {};
};

}  // namespace kgpu::probe::child
