#include "src/node/live/view.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "src/gpu/nvml/throttle.h"
#include "src/node/telemetry/attribution.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::live {
namespace {

namespace json = boost::json;
using telemetry::ContainerUse;
using telemetry::ProcessUse;

// Of one user or GPU: those with the most memory.
constexpr size_t kMostProcesses = 16;

// Why the clocks are lower than they could be; an idle GPU's are, too, which nobody has to know.
constexpr std::array<std::pair<uint64_t, std::string_view>, 6> kReasons = {{
    {nvml::kThrottlePowerCap, "power cap"},
    {nvml::kThrottleHwSlowdown, "hardware slowdown"},
    {nvml::kThrottleSwThermal, "thermal"},
    {nvml::kThrottleHwThermal, "hardware thermal"},
    {nvml::kThrottlePowerBrake, "power brake"},
    {nvml::kThrottleSyncBoost, "sync boost"},
}};

template <typename T>
json::value Number(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

json::value Number(const std::optional<Bytes>& bytes) {
  return bytes ? json::value(bytes->count) : json::value(nullptr);
}

json::value Memory(const std::optional<device::MemoryUse>& memory) {
  return memory ? json::value{{"total", memory->total.count}, {"used", memory->used.count}}
                : json::value(nullptr);
}

json::array Throttled(const std::optional<uint64_t>& bits) {
  json::array reasons;
  for (const auto& [bit, name] : kReasons) {
    if ((bits.value_or(0) & bit) != 0) {
      reasons.emplace_back(doc::View(name));
    }
  }
  return reasons;
}

void AddHealth(const device::Health& health, json::object& object) {
  object["healthy"] = health.is_healthy;
  object["reason"] = health.reason;
  object["message"] = health.message;
}

class LiveView {
 public:
  explicit LiveView(const LiveInput& input) : input_(input) {
    if (input_.measured.snapshot) {
      use_ = telemetry::Attribute(*input_.measured.snapshot, input_.measured.samples.get(),
                                  input_.measured.pods ? *input_.measured.pods : no_pods_);
    }
  }

  json::object Take() {
    json::object page = {
        {"kind", "Node"},
        {"node", input_.measured.hostname},
        {"time", FormatTime(input_.now)},
        {"agent", input_.version},
        {"everySeconds", static_cast<double>(input_.every.count()) / 1000},
        {"measured", input_.measured.measured ? json::value(FormatTime(*input_.measured.measured))
                                              : json::value(nullptr)},
        {"ready", input_.problem.empty()},
        {"problem", input_.problem}};
    json::array gpus;
    if (const device::SnapshotPtr& snapshot = input_.measured.snapshot; snapshot) {
      const device::Driver& driver = snapshot->driver;
      page["driver"] = {{"state", doc::View(device::ToString(driver.state))},
                        {"version", driver.version},
                        {"cudaVersion", driver.cuda_major && driver.cuda_minor
                                            ? json::value(fmt::format("{}.{}", *driver.cuda_major,
                                                                      *driver.cuda_minor))
                                            : json::value(nullptr)},
                        {"reason", driver.reason}};
      for (size_t i = 0; i < snapshot->gpus.size(); ++i) {
        gpus.push_back(GpuJson(i));
      }
    }
    page["gpus"] = std::move(gpus);
    page["pools"] = Pools();
    page["events"] = Events();
    page["functions"] = input_.functions;
    return page;
  }

 private:
  json::object GpuJson(size_t place) const {
    const device::Gpu& gpu = input_.measured.snapshot->gpus[place];
    const device::GpuSample* found =
        input_.measured.samples ? input_.measured.samples->Find(gpu.uuid) : nullptr;
    const device::GpuSample unsampled;
    const device::GpuSample& sample = found == nullptr ? unsampled : *found;
    json::object object = {
        {"index", gpu.index},
        {"uuid", gpu.uuid.str()},
        {"model", gpu.model},
        {"pci", gpu.pci.str()},
        {"numaNode", Number(gpu.numa_node)},
        {"warnings", Warnings(gpu.uuid)},
        {"utilization",
         {{"gpu", Number(sample.utilization.gpu)},
          {"memory", Number(sample.utilization.memory)},
          {"encoder", Number(sample.utilization.encoder)},
          {"decoder", Number(sample.utilization.decoder)}}},
        {"memory", Memory(sample.memory)},
        {"temperature",
         {{"gpu", Number(sample.temperatures.gpu)},
          {"memory", Number(sample.temperatures.memory)},
          {"slowdown", Number(sample.temperatures.slowdown)}}},
        {"power",
         {{"watts", Number(sample.power.watts)}, {"limit", Number(sample.power.limit_watts)}}},
        {"clocks",
         {{"sm", Number(sample.clocks.sm)},
          {"memory", Number(sample.clocks.memory)},
          {"maxSm", Number(sample.clocks.max_sm)}}},
        {"throttled", Throttled(sample.throttle_reasons)},
        {"nvlinks", Links(gpu)},
        {"mig", Migs(place, sample)},
        {"migEnabled", gpu.mig_mode && gpu.mig_mode->is_enabled},
        {"users", Users(place, nullptr)},
        {"processes", ProcessesOf([place](const ProcessUse& use) {
           return use.gpu == place && use.user == nullptr;
         })},
        {"history", input_.history.Of(gpu.uuid)}};
    AddHealth(gpu.health, object);
    AddPlace(gpu.uuid.str(), object);
    return object;
  }

  // The pool of a device, and who has borrowed it.
  void AddPlace(const std::string& uuid, json::object& object) const {
    for (const auto* resources : {&input_.assignment.resources, &input_.assignment.local}) {
      for (const pools::Resource& resource : *resources) {
        if (std::ranges::find(resource.slots, uuid, &pools::Slot::device_uuid) !=
            resource.slots.end()) {
          object["pool"] = resource.name;
        }
      }
    }
    if (const auto holder = input_.holders.find(uuid); holder != input_.holders.end()) {
      object["lentTo"] = holder->second;
    }
  }

  // Open faults that leave the GPU healthy.
  json::array Warnings(const device::GpuUuid& gpu) const {
    json::array warnings;
    if (input_.measured.health) {
      for (const health::OpenFault& fault : input_.measured.health->open) {
        if (fault.scope.gpu == gpu && !fault.is_unhealthy) {
          warnings.emplace_back(fault.message);
        }
      }
    }
    return warnings;
  }

  static json::array Links(const device::Gpu& gpu) {
    json::array links;
    for (const device::PeerPath& peer : gpu.peers) {
      if (peer.nvlinks > 0) {
        links.push_back({{"peer", peer.peer_index}, {"links", peer.nvlinks}});
      }
    }
    return links;
  }

  json::array Migs(size_t place, const device::GpuSample& sample) const {
    json::array migs;
    for (const device::MigDevice& mig : input_.measured.snapshot->gpus[place].mig_devices) {
      const auto measured = std::ranges::find_if(sample.migs, [&](const device::MigSample& each) {
        return each.gpu_instance == mig.gpu_instance &&
               each.compute_instance == mig.compute_instance;
      });
      json::object object = {{"uuid", mig.uuid.str()},
                             {"index", mig.index},
                             {"profile", mig.profile},
                             {"gpuInstance", mig.gpu_instance},
                             {"start", Number(mig.placement_start)},
                             {"slices", mig.gpu_instance_slices},
                             {"memory", measured == sample.migs.end() ? json::value(nullptr)
                                                                      : Memory(measured->memory)},
                             {"users", Users(place, &mig)}};
      AddHealth(mig.health, object);
      AddPlace(mig.uuid.str(), object);
      migs.push_back(std::move(object));
    }
    return migs;
  }

  json::array Users(size_t place, const device::MigDevice* mig) const {
    json::array users;
    for (const ContainerUse& use : use_.containers) {
      if (use.gpu == place && use.mig == mig) {
        users.push_back(User(use));
      }
    }
    return users;
  }

  json::object User(const ContainerUse& use) const {
    const device::Gpu& gpu = input_.measured.snapshot->gpus[use.gpu];
    const std::string& uuid = use.mig == nullptr ? gpu.uuid.str() : use.mig->uuid.str();
    json::object memory = {{"used", Number(use.memory)}};
    json::object user = {{"namespace", use.user.pod_namespace},
                         {"pod", use.user.pod},
                         {"container", use.user.container},
                         {"slots", use.slots},
                         {"sm", Number(use.sm)}};
    if (use.claim != nullptr) {
      user["claim"] = use.claim->claim;
    }
    if (input_.measured.slices) {
      for (const telemetry::SliceFigures& slice : *input_.measured.slices) {
        if (slice.device_uuid == uuid && IsSame(slice.user, use.user)) {
          memory["limit"] = slice.memory_limit.count;
          memory["peak"] = slice.memory_peak.count;
        }
      }
    }
    user["memory"] = std::move(memory);
    user["processes"] = ProcessesOf([&](const ProcessUse& process) {
      return process.gpu == use.gpu && process.mig == use.mig && process.user != nullptr &&
             IsSame(*process.user, use.user);
    });
    return user;
  }

  static bool IsSame(const pods::Container& a, const pods::Container& b) {
    return a.pod_namespace == b.pod_namespace && a.pod == b.pod && a.container == b.container;
  }

  template <typename Predicate>
  json::array ProcessesOf(Predicate is_one) const {
    std::vector<const device::ProcessSample*> found;
    for (const ProcessUse& use : use_.processes) {
      if (is_one(use)) {
        found.push_back(use.process);
      }
    }
    std::ranges::stable_sort(found, std::ranges::greater(), [](const auto* process) {
      return process->memory.value_or(Bytes{}).count;
    });
    json::array processes;
    for (const device::ProcessSample* process : found) {
      if (processes.size() == kMostProcesses) {
        break;
      }
      processes.push_back({{"pid", process->pid},
                           {"name", input_.name_of ? input_.name_of(process->pid) : ""},
                           {"memory", Number(process->memory)},
                           {"sm", Number(process->sm)}});
    }
    return processes;
  }

  json::array Pools() const {
    std::set<std::string_view> held;
    if (input_.measured.pods) {
      for (const pods::DeviceUse& use : input_.measured.pods->devices) {
        held.insert(use.device_id);
      }
    }
    json::array pools;
    for (const auto* resources : {&input_.assignment.resources, &input_.assignment.local}) {
      for (const pools::Resource& resource : *resources) {
        const auto count = [&](auto is_counted) {
          return static_cast<size_t>(std::ranges::count_if(resource.slots, is_counted));
        };
        pools.push_back({{"name", resource.name},
                         {"total", resource.slots.size()},
                         {"used", count([&](const pools::Slot& slot) {
                            return held.contains(slot.id) || input_.holders.contains(slot.id);
                          })},
                         {"unhealthy",
                          count([](const pools::Slot& slot) { return !slot.health.is_healthy; })}});
      }
    }
    return pools;
  }

  json::array Events() const {
    json::array events;
    for (auto event = input_.events.rbegin(); event != input_.events.rend(); ++event) {
      events.push_back({{"time", FormatTime(event->when)},
                        {"kind", doc::View(health::ToString(event->kind))},
                        {"gpu", event->gpu ? json::value(event->gpu->str()) : json::value(nullptr)},
                        {"rule", event->rule},
                        {"unhealthy", event->is_unhealthy},
                        {"count", event->count},
                        {"message", event->message}});
    }
    return events;
  }

  const LiveInput& input_;
  const pods::PodMap no_pods_{};
  telemetry::Attribution use_{};
};

}  // namespace

json::object LiveJson(const LiveInput& input) {
  return LiveView(input).Take();
}

}  // namespace kgpu::live
