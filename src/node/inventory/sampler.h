// Measures the GPUs in rounds through kgpu-probe. A round queries one GPU after the other, so that
// other requests can run in between; events come from another thread of the probe and never wait.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/gpu/device/gpu.h"
#include "src/gpu/device/sample.h"
#include "src/gpu/probe/client.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"

namespace kgpu::inventory {

// Owned by the inventory, lives on the loop's thread.
class Sampler {
 public:
  using Listener = std::function<void(const device::SampleSetPtr&)>;

  // `loop` and `client` must outlive the sampler.
  Sampler(EventLoop& loop, probe::Client& client) : loop_(loop), client_(client) {}
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  void SetListener(Listener listener) { listener_ = std::move(listener); }
  // The time from the start of one round to the start of the next; 0 stops sampling. Rounds never
  // overlap: after one that took longer, the next starts immediately.
  void SetEvery(std::chrono::milliseconds every);
  // Starts a round now, or after the current one; does nothing while sampling is off.
  void Hurry();
  // The GPUs of the running probe, as just read. Starts a round now if there has been none.
  void SetGpus(const std::vector<device::Gpu>& gpus);
  // The probe is gone: ends the current round.
  void Stop();
  // Nothing is measured for now: publishes a set without GPUs unless the last one was empty.
  void Clear();

 private:
  struct Target {
    struct Mig {
      unsigned index = 0;  // NVML's, within the GPU
      device::MigUuid uuid;
      unsigned gpu_instance = 0;
      unsigned compute_instance = 0;
    };
    unsigned index = 0;  // NVML's
    device::GpuUuid uuid;
    bool has_nvlinks = false;
    std::vector<Mig> migs;
  };
  struct Round;

  void Arm();
  void Begin();
  void NextGpu(std::shared_ptr<Round> round);
  void AskGpu(const std::shared_ptr<Round>& round, const Target& target);
  void AskNvLinks(const std::shared_ptr<Round>& round, const Target& target);
  void AskProcesses(const std::shared_ptr<Round>& round, unsigned gpu, unsigned page);
  void AskMig(const std::shared_ptr<Round>& round, unsigned gpu, const Target::Mig& mig);
  void Close(const std::shared_ptr<Round>& round);
  void Publish(device::SampleSet set);

  EventLoop& loop_;
  probe::Client& client_;
  Listener listener_;
  std::chrono::milliseconds every_{0};
  bool is_ready_ = false;  // targets_ belong to the running probe
  std::vector<Target> targets_;
  std::shared_ptr<Round> round_;       // the current one
  std::vector<Target> round_targets_;  // its own copy: targets_ may change meanwhile
  std::optional<SteadyTime> begun_;    // start of the last round
  Timer timer_{loop_};
  uint64_t version_ = 0;
  device::SampleSetPtr newest_;
};

}  // namespace kgpu::inventory
