#include "testing/simhost/host_status.h"

#include <boost/json.hpp>

#include <algorithm>

#include "src/platform/base/strings.h"
#include "testing/driver/faults.h"
#include "testing/simhost/columns.h"

namespace kgpu::simhost {
namespace {

namespace json = boost::json;

json::string Text(std::string_view text) {
  return json::string(text.data(), text.size());
}

std::string KnobText(const sim::SimKnob& knob) {
  const std::string call = knob.function[0] == '\0' ? "every call" : knob.function;
  return knob.hang != 0 ? call + " hangs"
                        : fmt::format("{} takes {} ms longer", call, knob.slow_ns / 1'000'000);
}

template <size_t N>
void AddKnobs(const sim::SimKnob (&knobs)[N], std::vector<std::string>& out) {
  for (const sim::SimKnob& knob : knobs) {
    if (knob.is_set != 0) {
      out.push_back(KnobText(knob));
    }
  }
}

uint64_t Sum(const uint64_t (&counters)[sim::kEccLocations]) {
  uint64_t sum = 0;
  for (const uint64_t counter : counters) {
    sum += counter;
  }
  return sum;
}

std::string MigText(const sim::SimMig& mig) {
  if (mig.is_capable == 0) {
    return "-";
  }
  if (mig.mode == 0) {
    return mig.pending_mode != 0 ? "pending" : "off";
  }
  const auto exists = [](const sim::SimGpuInstance& instance) { return instance.exists != 0; };
  return fmt::format("{} instances", std::ranges::count_if(mig.instances, exists));
}

std::string PciText(const sim::SimPci& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.device, pci.function);
}

std::string DriverText(const HostStatus& status, const sim::SimState& state) {
  if (status.settings.is_nouveau) {
    return "nouveau";
  }
  if (state.driver.is_loaded == 0) {
    return "not loaded";
  }
  return state.driver.version;
}

std::string JoinOr(const std::vector<std::string>& words, std::string_view none) {
  return words.empty() ? std::string(none) : Join(words, ", ");
}

// "-", or the GPU instance that the process uses.
std::string InstanceText(const sim::SimProcess& process) {
  return process.gpu_instance == sim::kUnsupported ? "-" : std::to_string(process.gpu_instance);
}

json::array ProcessesJson(const sim::SimGpu& gpu) {
  json::array processes;
  for (const sim::SimProcess& process : gpu.processes) {
    if (process.pid != 0) {
      json::object object;
      object["pid"] = process.pid;
      object["memory_bytes"] = process.used_bytes;
      if (process.gpu_instance != sim::kUnsupported) {
        object["gpu_instance"] = process.gpu_instance;
      }
      object["program"] = Text(process.name);
      processes.emplace_back(std::move(object));
    }
  }
  return processes;
}

// "" if no process uses a GPU.
std::string ProcessTable(const sim::SimState& state) {
  std::vector<std::vector<std::string>> rows = {{"GPU", "PID", "MEMORY", "INSTANCE", "PROGRAM"}};
  const std::vector<uint32_t> slots = sim::PresentGpus(state);
  for (size_t i = 0; i < slots.size(); ++i) {
    for (const sim::SimProcess& process : state.gpus[slots[i]].processes) {
      if (process.pid != 0) {
        rows.push_back({std::to_string(i), std::to_string(process.pid),
                        fmt::format("{} MiB", process.used_bytes >> 20), InstanceText(process),
                        process.name[0] == '\0' ? "-" : process.name});
      }
    }
  }
  return rows.size() == 1 ? std::string() : "\n" + Columns(rows);
}

json::object GpuJson(const sim::SimGpu& gpu, size_t index) {
  json::object object;
  object["index"] = index;
  object["minor"] = gpu.minor;
  object["uuid"] = Text(gpu.uuid);
  object["name"] = Text(gpu.name);
  object["pci"] = Text(PciText(gpu.pci));
  object["mig"] = Text(MigText(gpu.mig));
  json::array faults;
  for (const std::string& fault : FaultsOf(gpu)) {
    faults.emplace_back(Text(fault));
  }
  object["faults"] = std::move(faults);
  object["processes"] = ProcessesJson(gpu);
  return object;
}

}  // namespace

std::vector<std::string> FaultsOf(const sim::SimGpu& gpu) {
  std::vector<std::string> faults;
  if (gpu.is_lost != 0) {
    faults.emplace_back("lost");
  }
  if (gpu.last_xid != 0) {
    faults.push_back(fmt::format("XID {}", gpu.last_xid));
  }
  if (gpu.ecc.is_capable != 0) {
    if (const uint64_t count = Sum(gpu.ecc.volatile_corrected); count > 0) {
      faults.push_back(fmt::format("{} corrected ECC errors", count));
    }
    if (const uint64_t count = Sum(gpu.ecc.volatile_uncorrected); count > 0) {
      faults.push_back(fmt::format("{} uncorrected ECC errors", count));
    }
  }
  for (uint32_t i = 0; i < std::min(gpu.nvlink_count, sim::kMaxNvLinks); ++i) {
    const sim::SimNvLink& link = gpu.nvlinks[i];
    // Links without a peer have never been up.
    if (link.exists != 0 && link.is_active == 0 && link.remote_type != sim::kRemoteUnknown) {
      faults.push_back(fmt::format("NVLink {} down", i));
    }
  }
  constexpr uint64_t kHarmless = 0x3;  // idle, clocks set by the user
  if (gpu.throttle_reasons != sim::kUnsupported64 && (gpu.throttle_reasons & ~kHarmless) != 0) {
    faults.push_back(fmt::format("throttled ({:#x})", gpu.throttle_reasons));
  }
  AddKnobs(gpu.knobs, faults);
  return faults;
}

std::vector<std::string> DriverFaults(const HostStatus& status, const sim::SimState& state) {
  std::vector<std::string> faults;
  if (status.settings.is_nouveau) {
    faults.emplace_back("nouveau uses the GPUs");
  } else if (state.driver.is_loaded == 0) {
    faults.emplace_back("the kernel module is not loaded");
  } else if (std::string_view(state.driver.version) != state.driver.library_version) {
    faults.push_back(fmt::format("module {} and libraries {} differ", state.driver.version,
                                 state.driver.library_version));
  }
  AddKnobs(state.knobs, faults);
  return faults;
}

std::string StatusTable(const HostStatus& status, const sim::SimState& state) {
  std::string text = Columns({
      {"host", status.folder},
      {"profile", status.settings.profile},
      {"driver", DriverText(status, state)},
      {"server", status.server ? fmt::format("process {}", *status.server)
                               : "not running: kgpu sim start " + status.folder},
      {"faults", JoinOr(DriverFaults(status, state), "none")},
      {"clients", JoinOr(status.clients, "none")},
  });
  std::vector<std::vector<std::string>> rows = {
      {"GPU", "NODE", "PCI", "UUID", "NAME", "MIG", "FAULTS"}};
  const std::vector<uint32_t> slots = sim::PresentGpus(state);
  for (size_t i = 0; i < slots.size(); ++i) {
    const sim::SimGpu& gpu = state.gpus[slots[i]];
    rows.push_back({std::to_string(i), fmt::format("nvidia{}", gpu.minor), PciText(gpu.pci),
                    gpu.uuid, gpu.name, MigText(gpu.mig), JoinOr(FaultsOf(gpu), "none")});
  }
  return text + "\n" + Columns(rows) + ProcessTable(state);
}

json::value StatusJson(const HostStatus& status, const sim::SimState& state) {
  json::object object;
  object["host"] = Text(status.folder);
  object["profile"] = Text(status.settings.profile);
  object["driver"] = Text(DriverText(status, state));
  object["server"] = status.server ? json::value(*status.server) : json::value(nullptr);
  json::array faults;
  for (const std::string& fault : DriverFaults(status, state)) {
    faults.emplace_back(Text(fault));
  }
  object["faults"] = std::move(faults);
  json::array clients;
  for (const std::string& client : status.clients) {
    clients.emplace_back(Text(client));
  }
  object["clients"] = std::move(clients);
  json::array gpus;
  const std::vector<uint32_t> slots = sim::PresentGpus(state);
  for (size_t i = 0; i < slots.size(); ++i) {
    gpus.push_back(GpuJson(state.gpus[slots[i]], i));
  }
  object["gpus"] = std::move(gpus);
  return object;
}

}  // namespace kgpu::simhost
