// HealthJson and HistoryJson of health_view.h.
#include <boost/json.hpp>

#include <optional>
#include <string_view>

#include "src/gpu/health/xid_counts.h"
#include "src/node/report/format.h"
#include "src/node/report/health_view.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::report {
namespace {

namespace json = boost::json;

template <typename Number>
json::value NumberOrNull(const std::optional<Number>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

json::object DeviceHealthJson(const device::Health& health) {
  return {{"healthy", health.is_healthy}, {"reason", health.reason}, {"message", health.message}};
}

json::object FaultJson(const health::OpenFault& fault) {
  return {{"gpuInstance", NumberOrNull(fault.scope.gpu_instance)},
          {"computeInstance", NumberOrNull(fault.scope.compute_instance)},
          {"rule", fault.rule},
          {"xid", NumberOrNull(fault.xid)},
          {"class", doc::View(health::ToString(fault.fault_class))},
          {"action", doc::View(health::ToString(fault.action))},
          {"source", doc::View(health::ToString(fault.source))},
          {"unhealthy", fault.is_unhealthy},
          {"held", fault.is_held},
          {"message", fault.message},
          {"detail", fault.detail},
          {"first", FormatTime(fault.first)},
          {"last", FormatTime(fault.last)},
          {"count", fault.count},
          {"pid", NumberOrNull(fault.pid)}};
}

json::array MigJson(const device::Gpu& gpu) {
  json::array devices;
  for (const device::MigDevice& mig : gpu.mig_devices) {
    devices.push_back(json::object{{"uuid", mig.uuid.str()},
                                   {"index", mig.index},
                                   {"profile", mig.profile},
                                   {"gpuInstance", mig.gpu_instance},
                                   {"computeInstance", mig.compute_instance},
                                   {"health", DeviceHealthJson(mig.health)}});
  }
  return devices;
}

// Since the agent started, by code.
json::array XidsJson(const device::Gpu& gpu, const health::Counters& counters) {
  json::array xids;
  for (const health::Counters::Xid& xid : counters.xids) {
    if (xid.gpu == gpu.uuid) {
      // Codes beyond those that are counted one by one have no number.
      const json::value code =
          xid.xid == health::XidCounts::kOther ? json::value("other") : json::value(xid.xid);
      xids.push_back(json::object{{"xid", code}, {"count", xid.count}});
    }
  }
  return xids;
}

json::object GpuJson(const device::Gpu& gpu, const health::Overview& overview) {
  json::array faults;
  for (const health::OpenFault& fault : overview.open) {
    if (fault.scope.gpu == gpu.uuid) {
      faults.push_back(FaultJson(fault));
    }
  }
  return {{"index", gpu.index},
          {"uuid", gpu.uuid.str()},
          {"model", gpu.model},
          {"pci", gpu.pci.str()},
          {"health", DeviceHealthJson(gpu.health)},
          {"faults", std::move(faults)},
          {"migDevices", MigJson(gpu)},
          {"xids", XidsJson(gpu, overview.counters)}};
}

json::object HealthEventJson(const health::HealthEvent& event) {
  return {{"gpu", event.gpu ? json::value(event.gpu->str()) : json::value(nullptr)},
          {"gpuInstance", NumberOrNull(event.gpu_instance)},
          {"computeInstance", NumberOrNull(event.compute_instance)},
          {"rule", event.rule},
          {"xid", NumberOrNull(event.xid)},
          {"class", doc::View(health::ToString(event.fault_class))},
          {"action", doc::View(health::ToString(event.action))},
          {"source", doc::View(health::ToString(event.source))},
          {"unhealthy", event.is_unhealthy},
          {"message", event.message},
          {"detail", event.detail},
          {"count", event.count},
          {"pid", NumberOrNull(event.pid)}};
}

}  // namespace

json::value HealthJson(const HealthReport& report) {
  const device::Snapshot& snapshot = *report.snapshot;
  json::array gpus;
  for (const device::Gpu& gpu : snapshot.gpus) {
    gpus.push_back(GpuJson(gpu, report.overview));
  }
  json::array unmanaged;
  for (const device::UnmanagedGpu& gpu : snapshot.unmanaged) {
    unmanaged.push_back(json::object{{"pci", gpu.pci.str()}, {"reason", gpu.reason}});
  }
  return {{"healthy", IsHealthy(report)},
          {"driver",
           {{"state", doc::View(device::ToString(snapshot.driver.state))},
            {"reason", snapshot.driver.reason},
            {"version", snapshot.driver.version}}},
          {"gpus", std::move(gpus)},
          {"unmanaged", std::move(unmanaged)},
          {"xidsOfUnknownGpu", report.overview.counters.xids_of_unknown_gpu},
          {"kernelLogProblem", report.overview.kernel_log_problem},
          {"journalProblem", report.journal_problem}};
}

json::value HistoryJson(const health::JournalText& journal) {
  json::array entries;
  for (const health::JournalEntry& entry : journal.entries) {
    json::object shown = {
        {"time", FormatTime(entry.when)},
        {"kind", entry.event ? doc::View(health::ToString(entry.event->kind)) : "boot"}};
    for (auto& [key, value] :
         entry.event ? HealthEventJson(*entry.event)
                     : json::object{{"bootId", entry.boot_id}, {"first", entry.is_first}}) {
      shown[key] = std::move(value);
    }
    entries.push_back(std::move(shown));
  }
  return {{"entries", std::move(entries)}, {"unreadableLines", journal.bad_lines}};
}

json::value ClearingJson(const Clearing& clearing) {
  json::array gpus;
  for (const ClearedGpu& gpu : clearing.gpus) {
    gpus.push_back(json::object{{"uuid", gpu.uuid}, {"faults", doc::Texts(gpu.faults)}});
  }
  return json::object{{"dryRun", clearing.is_dry_run}, {"gpus", std::move(gpus)}};
}

}  // namespace kgpu::report
