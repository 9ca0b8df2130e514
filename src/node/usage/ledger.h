// How much pods have used the GPUs, hour by hour: the ledger of the accounting, in memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/clock.h"

namespace kgpu::usage {

struct PodName {
  std::string pod_namespace{};
  std::string pod{};
  auto operator<=>(const PodName&) const = default;
};

struct Amounts {
  double gpu_seconds = 0;       // allocated; a slot of n replicas counts 1/n, MIG by its slices
  double busy_gpu_seconds = 0;  // utilisation × time
  double gib_seconds = 0;       // device memory in use × time
  // The part of gpu_seconds for which the driver reported no utilisation. Not in
  // busy_gpu_seconds.
  double unreported_gpu_seconds = 0;

  Amounts& operator+=(const Amounts& other);
  bool operator==(const Amounts&) const = default;
};

// busy_gpu_seconds if it is meaningful: nothing if more than a twentieth of the time is unreported.
// Less is accepted: when a pod starts, the driver's rates are not there yet.
std::optional<double> ReportedBusy(const Amounts& amounts);

using Hour = std::chrono::sys_time<std::chrono::hours>;

// Stands for the pods of a namespace, or of all, that are not kept individually.
inline constexpr std::string_view kOther = "(other)";

// Whether `name` is a possible Kubernetes name, and is kept as it is. Names come from container
// labels and from folders, which others write.
bool IsName(std::string_view name);

// Bounded: over the limits, small pods are merged into kOther of their namespace, so that sums stay
// right; then the oldest hours are dropped. Invalid names become kOther.
class Ledger {
 public:
  static constexpr size_t kMostPodsOfAnHour = 256;
  static constexpr size_t kMostPods = 8'192;
  static constexpr size_t kMostHours = 10'000;
  // Limit for the size of the entries in a file, including names; they take less in memory.
  static constexpr size_t kMostBytes = size_t{32} << 20;

  Ledger() = default;
  Ledger(Ledger&&) = default;
  Ledger& operator=(Ledger&&) = default;
  // Takes a millisecond for about 50,000 entries.
  Ledger Copy() const;

  void Add(Hour hour, const PodName& pod, const Amounts& amounts);
  void Add(const Ledger& other);
  // Drops hours before `oldest`, and pods that only occur in those.
  void Trim(Hour oldest);

  // By hour, then in the order in which pods first appeared.
  using Visitor = std::function<void(Hour, const PodName&, const Amounts&)>;
  void ForEach(const Visitor& visit) const;
  // Like ForEach, for the hours from `from` to `to`, both included.
  void ForEachBetween(Hour from, Hour to, const Visitor& visit) const;

  bool empty() const { return hours_.empty(); }
  size_t hours() const { return hours_.size(); }
  size_t pods() const { return names_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  // Names are stored once: a pod occurs in many hours.
  struct Entry {
    uint32_t name = 0;
    Amounts amounts;
  };
  using Entries = std::vector<Entry>;

  size_t BytesOf(uint32_t name) const;
  void ForgetOldest();
  uint32_t IndexOf(const PodName& pod);
  void AddTo(Entries& entries, const PodName& pod, const Amounts& amounts);
  void FoldPods();

  std::map<Hour, Entries> hours_;
  std::map<PodName, uint32_t> index_;
  std::vector<const PodName*> names_;  // keys of index_
  size_t bytes_ = 0;
};

}  // namespace kgpu::usage
