// How much GPU time each namespace has used on each day, in a ConfigMap that all gateways read and
// the one that scales writes: what quotas are compared with.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "src/kube/api/client.h"
#include "src/kube/api/reflector.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"

namespace kgpu::functions {

using Day = std::chrono::sys_days;
using GpuSeconds = std::map<std::string, double>;  // by namespace
using DailyUse = std::map<Day, GpuSeconds>;

inline constexpr char kUsageConfigMap[] = "kgpu-function-usage";
inline constexpr std::chrono::days kUsageKept{35};

// The "data" of the ConfigMap: {"2026-01-31": "{\"team-a\":12.5}"}.
boost::json::object PrintUse(const DailyUse& use);
// Skips what PrintUse does not write: people can edit a ConfigMap. At most kUsageKept days.
DailyUse ParseUse(const boost::json::value& config_map);

// Lives on the loop's thread.
class GpuTimeRecord {
 public:
  // `space`: of the gateways. `changed`: what was used is known, or is different. All references
  // must outlive the record.
  GpuTimeRecord(EventLoop& loop, kube::Client& client, Random& random, std::string space,
                std::function<void()> changed);
  ~GpuTimeRecord();
  GpuTimeRecord(const GpuTimeRecord&) = delete;
  GpuTimeRecord& operator=(const GpuTimeRecord&) = delete;

  // Written within a minute; a gateway that is killed loses what was not.
  void Add(const std::string& space, double gpu_seconds);
  // On this day, by UTC.
  double Today(const std::string& space) const;

 private:
  void OnConfigMap(const kube::ObjectPtr& object);
  void ArmWrite();
  void Write();

  EventLoop& loop_;
  kube::Client& client_;
  const std::string space_;
  const std::function<void()> changed_;
  DailyUse read_;
  DailyUse added_;       // not yet written
  DailyUse writing_;     // part of the request in progress
  std::string version_;  // of the ConfigMap; empty: there is none
  Timer timer_;
  std::unique_ptr<kube::Call> call_;
  std::unique_ptr<kube::Reflector> reflector_;
};

}  // namespace kgpu::functions
