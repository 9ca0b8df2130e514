// The surroundings of the agent's parts in simulated time: a loop whose wall clock jumps, GPUs, a
// kubelet, and a disk for the usage ledger. A kill of the agent leaves all of it as it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/pods/pod_map.h"
#include "src/node/pools/assignment.h"
#include "src/node/usage/recorder.h"
#include "testing/fake_loop.h"
#include "tests/soak/holders.h"

namespace kgpu::soak {

// Time passes when a test says so; the wall clock may jump besides.
class DayLoop final : public EventLoop {
 public:
  void Post(Task task) override { loop_.Post(std::move(task)); }
  TimerId After(std::chrono::nanoseconds delay, Task task) override {
    return loop_.After(delay, std::move(task));
  }
  void CancelTimer(TimerId timer) override { loop_.CancelTimer(timer); }
  StatusOr<WatchId> WatchReadable(int fd, Task task) override {
    return loop_.WatchReadable(fd, std::move(task));
  }
  StatusOr<WatchId> WatchWritable(int fd, Task task) override {
    return loop_.WatchWritable(fd, std::move(task));
  }
  void Unwatch(WatchId watch) override { loop_.Unwatch(watch); }
  const Clock& clock() const override { return clock_; }

  void Advance(std::chrono::nanoseconds by) { loop_.Advance(by); }
  // From the time that it should show.
  void JumpWall(std::chrono::seconds offset) { clock_.offset = offset; }
  size_t timers() const { return loop_.timers(); }
  size_t watches() const { return loop_.watches(); }

 private:
  struct JumpingClock final : Clock {
    explicit JumpingClock(const Clock& steady) : inner(steady) {}
    SteadyTime Now() const override { return inner.Now(); }
    WallTime WallNow() const override { return inner.WallNow() + offset; }
    const Clock& inner;
    std::chrono::seconds offset{0};
  };

  FakeLoop loop_;
  JumpingClock clock_{loop_.clock()};
};

// Four GPUs, the last one in MIG mode.
class DayGpus {
 public:
  static constexpr unsigned kCount = 4;
  struct Gpu {
    bool is_there = true;  // on the bus
    bool answers = true;   // calls of the driver succeed
    bool has_failed_rows = false;
    unsigned busy = 0;  // percent
  };

  DayGpus();
  Gpu& at(unsigned index) { return gpus_.at(index); }
  const Gpu& at(unsigned index) const { return gpus_.at(index); }
  bool is_driver_up = true;
  // New instances have new UUIDs.
  void Divide(size_t layout);

  static device::GpuUuid UuidOf(unsigned index);
  // As the driver lists them, before any verdict.
  device::Snapshot Read() const;
  device::SampleSet Measure(SteadyTime now, WallTime wall) const;

 private:
  std::vector<Gpu> gpus_;
  size_t layout_ = 0;
  unsigned generation_ = 0;
};

// The kubelet's device manager: gives pods what the plugin lists as healthy.
class DayKubelet {
 public:
  struct Pod {
    std::string resource;
    std::vector<std::string> slots;
  };

  void SetList(const std::vector<pools::Resource>& resources);
  // False: there are not enough.
  bool Start(const std::string& name, const std::string& resource, size_t count);
  void End(const std::string& name) { pods_.erase(name); }
  void End() { pods_.clear(); }
  const std::map<std::string, Pod>& pods() const { return pods_; }
  pods::PodMap List() const;
  std::map<std::string, Units> Held() const;
  // Of the list.
  size_t Count(bool is_healthy) const;

  bool is_up = true;

 private:
  std::vector<pools::Resource> list_;
  std::map<std::string, Pod> pods_;
};

// The usage ledger's disk, in memory.
class UsageDisk {
 public:
  usage::Recorder::Disk disk();
  bool is_full = false;

 private:
  Status Write(const usage::LedgerWrite& write);
  usage::Kept Load() const;

  uint64_t generation_ = 0;
  usage::Ledger all_;
  uint64_t recent_generation_ = 0;
  std::shared_ptr<const usage::Ledger> recent_;
};

}  // namespace kgpu::soak
