#include "src/gpu/probe/child/events.h"

#include <cstring>
#include <ctime>

namespace kgpu::probe::child {
namespace {

// How long one wait lasts. A GPU registered meanwhile may be seen only by the next wait.
constexpr uint32_t kWaitMs = 2000;
// Between two waits that fail, so that a broken driver does not make the thread spin.
constexpr uint32_t kFirstPauseMs = 20;
constexpr uint32_t kLastPauseMs = 2000;

void Pause(uint32_t ms) {
  const timespec time{.tv_sec = ms / 1000, .tv_nsec = static_cast<long>(ms % 1000) * 1000000};
  (void)nanosleep(&time, nullptr);
}

}  // namespace

nvml::Return Events::Watch(Driver& driver, uint32_t gpu, WatchPayload* payload) {
  nvml::Device device = nullptr;
  nvml::Return result = driver.Handle(gpu, &device);
  if (result == nvml::kSuccess && set_ == nullptr) {
    result = driver.Call(nvml::kEventSetCreate, &set_);
  }
  if (result != nvml::kSuccess) {
    return result;
  }
  uint64_t types = 0;
  if (driver.Call(nvml::kDeviceGetSupportedEventTypes, device, &types) != nvml::kSuccess) {
    types = nvml::kEventXidCritical;  // the one that every driver with events has
  }
  types &= kWantedEvents;
  if (types == 0) {
    return nvml::kErrorNotSupported;
  }
  Watched watched{.device = device, .gpu = gpu, .uuid = {}};
  if (driver.Call(nvml::kDeviceGetUuid, device, watched.uuid, nvml::kUuidV2Size) !=
      nvml::kSuccess) {
    watched.uuid[0] = '\0';
  }
  watched.uuid[nvml::kUuidV2Size - 1] = '\0';
  // Entered before registering: the first event may come at once.
  pthread_mutex_lock(&mutex_);
  uint32_t slot = 0;
  while (slot < watched_count_ && watched_[slot].device != device) {
    ++slot;
  }
  if (slot < kMaxGpus) {
    watched_[slot] = watched;
    watched_count_ = slot == watched_count_ ? slot + 1 : watched_count_;
  }
  pthread_mutex_unlock(&mutex_);
  result = driver.Call(nvml::kDeviceRegisterEvents, device, types, set_);
  payload->event_types = result == nvml::kSuccess ? types : 0;
  return result;
}

nvml::Return Events::Start() {
  if (set_ == nullptr) {
    return nvml::kErrorNotSupported;
  }
  if (is_running_) {
    return nvml::kSuccess;
  }
  pthread_t thread{};
  is_running_ = pthread_create(&thread, nullptr, &Events::RunThread, this) == 0;
  return is_running_ ? nvml::kSuccess : nvml::kErrorInsufficientResources;
}

void* Events::RunThread(void* self) {
  static_cast<Events*>(self)->Run();
}

void Events::Run() {
  uint32_t pause_ms = kFirstPauseMs;
  while (true) {
    nvml::EventData event{};
    event.gpu_instance_id = nvml::kNoInstance;
    event.compute_instance_id = nvml::kNoInstance;
    const nvml::Return result = library_.Call(nvml::kEventSetWait, set_, &event, kWaitMs);
    if (result == nvml::kSuccess) {
      Forward(event);
      pause_ms = kFirstPauseMs;
    } else if (result != nvml::kErrorTimeout) {
      EventFrame frame{};
      frame.result = result;
      frame.gpu = kUnknownGpu;
      channel_.Send(&frame, sizeof(frame), FrameKind::kEvent, 0);
      Pause(pause_ms);
      pause_ms = pause_ms * 2 > kLastPauseMs ? kLastPauseMs : pause_ms * 2;
    }
  }
}

void Events::Forward(const nvml::EventData& event) {
  EventFrame frame{};
  frame.result = nvml::kSuccess;
  frame.gpu = kUnknownGpu;
  frame.type = event.event_type;
  frame.data = event.event_data;
  frame.gpu_instance = event.gpu_instance_id;
  frame.compute_instance = event.compute_instance_id;
  pthread_mutex_lock(&mutex_);
  for (uint32_t i = 0; i < watched_count_; ++i) {
    if (watched_[i].device == event.device) {
      frame.gpu = watched_[i].gpu;
      memcpy(frame.uuid, watched_[i].uuid, sizeof(frame.uuid));
    }
  }
  pthread_mutex_unlock(&mutex_);
  channel_.Send(&frame, sizeof(frame), FrameKind::kEvent, 0);
}

}  // namespace kgpu::probe::child
