// What pods have had of the GPUs, hour by hour: the ledger of the accounting, in memory.
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
  double gpu_seconds = 0;       // handed out; a slot of n replicas counts 1/n, MIG by its slices
  double busy_gpu_seconds = 0;  // utilisation × time
  double gib_seconds = 0;       // device memory in use × time
  // Of gpu_seconds: where the driver did not tell how busy the device was. It is not in
  // busy_gpu_seconds.
  double unreported_gpu_seconds = 0;

  Amounts& operator+=(const Amounts& other);
  bool operator==(const Amounts&) const = default;
};

// busy_gpu_seconds where it says something: nothing where more than a twentieth of the time was not
// reported. That much is accepted: at a pod's start the driver's rates are not there yet.
std::optional<double> ReportedBusy(const Amounts& amounts);

using Hour = std::chrono::sys_time<std::chrono::hours>;

// The pod that stands for those of a namespace, or of all, that are not kept one by one.
inline constexpr std::string_view kOther = "(other)";

// Whether `name` may be one of Kubernetes, and is kept as it is. Names come from labels of
// containers and from folders, which others write.
bool IsName(std::string_view name);

// Bounded: past the limits small pods become one of the name kOther in their namespace, so that
// the sums stay right; then the oldest hours go. What is no name becomes kOther.
class Ledger {
 public:
  static constexpr size_t kMostPodsOfAnHour = 256;
  static constexpr size_t kMostPods = 8'192;
  static constexpr size_t kMostHours = 10'000;
  // Of what the entries cost in a file, their names included; in memory they take less.
  static constexpr size_t kMostBytes = size_t{32} << 20;

  Ledger() = default;
  Ledger(Ledger&&) = default;
  Ledger& operator=(Ledger&&) = default;
  // Costs a millisecond for some 50,000 entries.
  Ledger Copy() const;

  void Add(Hour hour, const PodName& pod, const Amounts& amounts);
  void Add(const Ledger& other);
  // Forgets hours before `oldest`, and the pods that were only in those.
  void Trim(Hour oldest);

  // By hour, then in the order in which the pods came.
  using Visitor = std::function<void(Hour, const PodName&, const Amounts&)>;
  void ForEach(const Visitor& visit) const;
  // As ForEach, of the hours from `from` up to and with `to`.
  void ForEachBetween(Hour from, Hour to, const Visitor& visit) const;

  bool empty() const { return hours_.empty(); }
  size_t hours() const { return hours_.size(); }
  size_t pods() const { return names_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  // Names are kept once: a pod is in many hours.
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
