#include "src/inventory/sampler.h"

#include <utility>

namespace kgpu::inventory {

struct Sampler::Round {
  device::SampleSet set;
  size_t next = 0;  // target to ask
};

Sampler::~Sampler() {
  loop_.CancelTimer(timer_);
}

void Sampler::SetEvery(std::chrono::milliseconds every) {
  every_ = every;
  Arm();
}

void Sampler::SetGpus(const std::vector<device::Gpu>& gpus) {
  targets_.clear();
  for (const device::Gpu& gpu : gpus) {
    targets_.push_back(
        {.index = gpu.index, .uuid = gpu.uuid, .has_nvlinks = !gpu.nvlinks.empty(), .migs = {}});
  }
  is_ready_ = true;
  Arm();
}

void Sampler::Stop() {
  is_ready_ = false;
  loop_.CancelTimer(std::exchange(timer_, TimerId::kNone));
}

void Sampler::Clear() {
  if (newest_ != nullptr && !newest_->gpus.empty()) {
    Publish({});
  }
}

void Sampler::Arm() {
}

void Sampler::Publish(device::SampleSet set) {
  set.version = ++version_;
  newest_ = std::make_shared<const device::SampleSet>(std::move(set));
  if (listener_) {
    listener_(newest_);
  }
}

}  // namespace kgpu::inventory
