#include "src/node/mig/host.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "src/gpu/device/model.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::mig {
namespace {

// Pages of a GPU's list of processes; a page has some 60.
constexpr unsigned kMostPages = 8;

template <typename T>
using Ask = std::function<void(probe::Client& client, probe::AnswerTask<T> done)>;

// Processes of a GPU. A driver that cannot list them is no obstacle: it refuses to destroy what is
// in use.
void ReadProcesses(DriverSession& session, HostGpu& gpu) {
  const auto sample = session.Await<probe::SampleReport>(Ask<probe::SampleReport>(
      [&](probe::Client& client, auto done) { client.SampleGpu(gpu.index, std::move(done)); }));
  for (unsigned number = 0; sample.ok() && number < kMostPages; ++number) {
    const auto page = session.Await<probe::ProcessPage>(
        Ask<probe::ProcessPage>([&](probe::Client& client, auto done) {
          client.SampleProcesses(gpu.index, number, std::move(done));
        }));
    if (!page.ok()) {
      return;
    }
    for (const device::ProcessSample& process : page->processes) {
      gpu.users.push_back({.text = fmt::format("process {}", process.pid),
                           .gpu_instance = process.gpu_instance,
                           .pid = process.pid});
    }
    if (!page->has_more) {
      return;
    }
  }
}

Status ReadLayout(DriverSession& session, HostGpu& gpu) {
  auto profiles = session.Await<std::vector<device::MigProfile>>(
      Ask<std::vector<device::MigProfile>>([&](probe::Client& client, auto done) {
        probe::ReadMigProfiles(client, gpu.index, std::move(done));
      }));
  auto geometry = GeometryOf(
      profiles.ok() ? *std::move(profiles) : std::vector<device::MigProfile>(), gpu.pci_device_id);
  RETURN_IF_ERROR(geometry.status());
  gpu.geometry = std::make_shared<const Geometry>(*std::move(geometry));
  ASSIGN_OR_RETURN(auto layout, session.Await<probe::MigLayoutReport>(Ask<probe::MigLayoutReport>(
                                    [&](probe::Client& client, auto done) {
                                      probe::ReadMigLayout(client, gpu.index, std::move(done));
                                    })));
  gpu.mode = layout.mode;
  gpu.instances = std::move(layout.instances);
  return OkStatus();
}

// The UUIDs of MIG devices, which pods know them by. Ones that we may not see have none.
void ReadMigDevices(DriverSession& session, unsigned most, HostGpu& gpu) {
  for (unsigned index = 0; index < most; ++index) {
    const auto mig = session.Await<probe::MigReport>(
        Ask<probe::MigReport>([&](probe::Client& client, auto done) {
          client.ReadMigDevice(gpu.index, index, std::move(done));
        }));
    if (!mig.ok()) {
      continue;
    }
    const probe::MigReport& report = *mig;
    if (report.uuid && report.gpu_instance && report.compute_instance) {
      gpu.devices.push_back({.uuid = report.uuid->str(), .gpu_instance = *report.gpu_instance});
    }
  }
}

}  // namespace

StatusOr<HostGpu> ReadHostGpu(DriverSession& session, unsigned index) {
  ASSIGN_OR_RETURN(
      const auto report,
      session.Await<probe::GpuReport>(Ask<probe::GpuReport>(
          [&](probe::Client& client, auto done) { client.ReadGpu(index, std::move(done)); })));
  if (!report.uuid) {
    return Unavailable("GPU {}: the driver reports no UUID", index);
  }
  HostGpu gpu{.index = index, .uuid = *report.uuid};
  gpu.name = report.name;
  gpu.pci_device_id = report.pci_device_id;
  gpu.model = device::ModelId(report.name, report.pci_device_id);
  gpu.mode = report.mig_mode;
  if (report.mig_mode) {
    RETURN_IF_ERROR(ReadLayout(session, gpu));
    ReadMigDevices(session, report.mig_mode->is_enabled ? report.max_mig_devices : 0, gpu);
  }
  ReadProcesses(session, gpu);
  return gpu;
}

StatusOr<std::vector<HostGpu>> ReadHostGpus(DriverSession& session,
                                            std::vector<std::string>& problems) {
  ASSIGN_OR_RETURN(
      const auto driver,
      session.Await<probe::DriverReport>(Ask<probe::DriverReport>(
          [](probe::Client& client, auto done) { client.ReadDriver(std::move(done)); })));
  std::vector<HostGpu> gpus;
  for (unsigned index = 0; index < driver.gpu_count; ++index) {
    auto gpu = ReadHostGpu(session, index);
    if (gpu.ok()) {
      gpus.push_back(*std::move(gpu));
    } else if (session.is_down()) {
      return gpu.status();
    } else {
      problems.push_back(fmt::format("GPU {} is left out: {}", index, Message(gpu.status())));
    }
  }
  return gpus;
}

StatusOr<Geometry> GeometryOf(std::vector<device::MigProfile> reported, uint16_t pci_device_id) {
  const std::vector<device::MigProfile> known = device::MigProfiles(pci_device_id);
  std::erase_if(reported, [&](device::MigProfile& profile) {
    const auto same = std::ranges::find(known, profile.profile_id, &device::MigProfile::profile_id);
    if (profile.name.empty() && same != known.end()) {
      profile.name = same->name;
    }
    return profile.name.empty();
  });
  if (auto geometry = Geometry::Create(std::move(reported)); geometry.ok()) {
    return geometry;
  }
  if (known.empty()) {
    return NotFound(
        "the driver reports no MIG profiles for PCI device {:#06x}, and none are known: update "
        "the driver",
        pci_device_id);
  }
  return Geometry::Create(known);
}

StatusOr<Instance> InstanceOf(const Geometry& geometry, const probe::GpuInstanceReport& report) {
  const auto index = geometry.FindById(report.profile_id);
  if (!index) {
    return NotFound("GPU instance {}: unknown profile {}", report.id, report.profile_id);
  }
  const device::MigProfile& profile = geometry.profiles()[*index];
  Instance instance{
      .kind = {.profile = profile.name}, .start = report.start, .use = Use::kIdle, .id = report.id};
  const bool is_whole = report.compute.size() == 1 && report.compute[0].slices == profile.slices;
  if (!is_whole) {
    for (const probe::ComputeInstanceReport& part : report.compute) {
      instance.kind.compute.push_back(part.slices);
    }
    std::ranges::sort(instance.kind.compute, std::greater<>());
    if (report.compute.empty()) {
      instance.kind.compute = {0};  // nobody can use it: like no kind that is requested
    }
  }
  return instance;
}

std::vector<const User*> UsersOf(const HostGpu& gpu, std::optional<unsigned> gpu_instance) {
  std::vector<const User*> users;
  for (const User& user : gpu.users) {
    if (!gpu_instance || !gpu.is_mig_enabled() || user.gpu_instance == gpu_instance) {
      users.push_back(&user);
    }
  }
  return users;
}

StatusOr<GpuState> StateOf(const HostGpu& gpu, InUse in_use) {
  if (gpu.geometry == nullptr) {
    return FailedPrecondition("GPU {} ({}) has no MIG", gpu.index, gpu.name);
  }
  GpuState state{.id = fmt::format("{}", gpu.index), .geometry = gpu.geometry};
  state.is_mig_enabled = gpu.is_mig_enabled();
  state.is_mode_pending = gpu.is_mode_pending();
  for (const probe::GpuInstanceReport& report : gpu.instances) {
    ASSIGN_OR_RETURN(Instance instance, InstanceOf(*gpu.geometry, report));
    if (!UsersOf(gpu, report.id).empty()) {
      instance.use = in_use == InUse::kMayMove ? Use::kMovable : Use::kFixed;
    }
    state.instances.push_back(std::move(instance));
  }
  state.may_change =
      state.is_mig_enabled || UsersOf(gpu, std::nullopt).empty() || in_use == InUse::kMayMove;
  return state;
}

void AddDeviceUser(std::vector<HostGpu>& gpus, std::string_view device, const std::string& user) {
  for (HostGpu& gpu : gpus) {
    if (gpu.uuid.str() == device) {
      gpu.users.push_back({.text = user, .gpu_instance = {}});
    }
    for (const MigDeviceId& mig : gpu.devices) {
      if (mig.uuid == device) {
        gpu.users.push_back({.text = user, .gpu_instance = mig.gpu_instance});
      }
    }
  }
}

bool IsNamed(const HostGpu& gpu, std::string_view text) {
  const auto index = ParseUint(text);
  constexpr size_t kShortest = 8;  // "GPU-" and some digits
  return index ? *index == gpu.index : text.size() >= kShortest && gpu.uuid.str().starts_with(text);
}

}  // namespace kgpu::mig
