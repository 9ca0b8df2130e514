#include "src/node/inventory/sampler.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kgpu::inventory {
namespace {

// Pages of a process list, in case a probe says that there are ever more.
constexpr unsigned kMaxPages = 8;

}  // namespace

// Lives as long as one of its requests is under way: each holds a reference.
struct Sampler::Round {
  device::SampleSet set;
  size_t next = 0;    // target to ask
  unsigned open = 0;  // requests under way of the target before it
  device::GpuSample sample;
  bool has_answered = false;  // the GPU said something
};

Sampler::~Sampler() {
  Stop();
}

void Sampler::SetEvery(std::chrono::milliseconds every) {
  every_ = every;
  if (every <= std::chrono::milliseconds(0)) {
    round_.reset();  // nobody waits for its end
  }
  Arm();
}

void Sampler::Hurry() {
  begun_.reset();
  Arm();
}

void Sampler::SetGpus(const std::vector<device::Gpu>& gpus) {
  targets_.clear();
  for (const device::Gpu& gpu : gpus) {
    Target target{
        .index = gpu.index, .uuid = gpu.uuid, .has_nvlinks = !gpu.nvlinks.empty(), .migs = {}};
    for (const device::MigDevice& mig : gpu.mig_devices) {
      target.migs.push_back({.index = mig.index,
                             .uuid = mig.uuid,
                             .gpu_instance = mig.gpu_instance,
                             .compute_instance = mig.compute_instance});
    }
    targets_.push_back(std::move(target));
  }
  is_ready_ = true;
  Arm();
}

void Sampler::Stop() {
  is_ready_ = false;
  round_.reset();
  timer_.Cancel();
}

void Sampler::Clear() {
  if (newest_ != nullptr && !newest_->gpus.empty()) {
    device::SampleSet set;
    set.begun = loop_.clock().Now();
    set.taken = loop_.clock().WallNow();
    Publish(std::move(set));
  }
}

// The next round, unless one is under way: that one arms the timer when it ends.
void Sampler::Arm() {
  timer_.Cancel();
  if (!is_ready_ || every_ <= std::chrono::milliseconds(0) || round_ != nullptr) {
    return;
  }
  auto delay = std::chrono::nanoseconds(0);
  if (begun_) {
    delay = std::max<std::chrono::nanoseconds>(*begun_ + every_ - loop_.clock().Now(), delay);
  }
  timer_.Arm(delay, [this] { Begin(); });
}

void Sampler::Begin() {
  round_ = std::make_shared<Round>();
  begun_ = loop_.clock().Now();
  round_->set.begun = *begun_;
  round_->set.gpus.reserve(targets_.size());
  // A round keeps its targets: they may be replaced while it is under way.
  round_targets_ = targets_;
  NextGpu(round_);
}

// By value: the last GPU lets go of round_, which the caller may have named.
void Sampler::NextGpu(std::shared_ptr<Round> round) {
  if (round->next == round_targets_.size()) {
    round_.reset();
    round->set.taken = loop_.clock().WallNow();
    Publish(std::move(round->set));
    return Arm();
  }
  const Target& target = round_targets_[round->next++];
  round->sample = {};
  round->has_answered = false;
  round->open = 1;  // ours, until all is asked
  AskGpu(round, target);
  AskNvLinks(round, target);
  AskProcesses(round, target.index, 0);
  for (const Target::Mig& mig : target.migs) {
    AskMig(round, target.index, mig);
  }
  Close(round);
}

// Asked first, so that its answer comes before those that add to it.
void Sampler::AskGpu(const std::shared_ptr<Round>& round, const Target& target) {
  ++round->open;
  client_.SampleGpu(target.index, [this, round, uuid = target.uuid](const auto& answer) {
    if (answer.value.ok()) {
      round->sample = answer.value->sample;
      round->sample.uuid = uuid;
      round->has_answered = true;
      round->set.is_complete = round->set.is_complete && !answer.value->wants_second;
    }
    Close(round);
  });
}

void Sampler::AskNvLinks(const std::shared_ptr<Round>& round, const Target& target) {
  if (!target.has_nvlinks) {
    return;
  }
  ++round->open;
  client_.SampleNvLinks(target.index, [this, round](const auto& answer) {
    if (answer.value.ok()) {
      round->sample.nvlinks = *answer.value;
    }
    Close(round);
  });
}

void Sampler::AskProcesses(const std::shared_ptr<Round>& round, unsigned gpu, unsigned page) {
  ++round->open;
  client_.SampleProcesses(gpu, page, [this, round, gpu, page](const auto& answer) {
    if (answer.value.ok()) {
      std::ranges::copy(answer.value->processes, std::back_inserter(round->sample.processes));
      if (answer.value->has_more && page + 1 < kMaxPages) {
        AskProcesses(round, gpu, page + 1);
      }
    }
    Close(round);
  });
}

void Sampler::AskMig(const std::shared_ptr<Round>& round, unsigned gpu, const Target::Mig& mig) {
  ++round->open;
  client_.SampleMigDevice(gpu, mig.index, [this, round, mig](const auto& answer) {
    // Another instance may have taken the index since the device was read.
    if (answer.value.ok() && answer.value->gpu_instance == mig.gpu_instance &&
        answer.value->compute_instance == mig.compute_instance) {
      round->sample.migs.push_back(*answer.value);
      round->sample.migs.back().uuid = mig.uuid;
    }
    Close(round);
  });
}

// The last answer of a GPU leads to the next one.
void Sampler::Close(const std::shared_ptr<Round>& round) {
  if (--round->open > 0 || round != round_) {
    return;
  }
  if (round->has_answered) {
    std::ranges::sort(round->sample.processes, {}, &device::ProcessSample::pid);
    round->set.gpus.push_back(std::move(round->sample));
  }
  NextGpu(round);
}

void Sampler::Publish(device::SampleSet set) {
  set.version = ++version_;
  newest_ = std::make_shared<const device::SampleSet>(std::move(set));
  if (listener_) {
    listener_(newest_);
  }
}

}  // namespace kgpu::inventory
