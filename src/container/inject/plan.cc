#include "src/container/inject/plan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/container/inject/edits.h"
#include "src/host/inspect/library_folders.h"
#include "src/platform/base/strings.h"

namespace kgpu::inject {
namespace {

// The capabilities that need the nodes for graphics.
constexpr CapabilitySet kScreens = Capability::kGraphics | Capability::kDisplay;

using NodeMap = std::vector<std::pair<unsigned, NodePart>>;

// Names that programs load besides the SONAME. Source: the links NVIDIA's installer makes.
struct ExtraName {
  std::string_view stem;  // library file name up to ".so"
  std::string_view name;  // relative to the library folder
  CapabilitySet needed_by;
};
constexpr std::array<ExtraName, 4> kExtraNames = {{
    {"libcuda", "libcuda.so", Capability::kCompute},
    {"libnvidia-opticalflow", "libnvidia-opticalflow.so", Capability::kVideo},
    {"libGLX_nvidia", "libGLX_indirect.so.0", Capability::kGraphics},
    {"libnvidia-allocator", "gbm/nvidia-drm_gbm.so", Capability::kGraphics},
}};

const NodePart* Find(const NodeMap& nodes, std::optional<unsigned> minor) {
  const auto found = std::ranges::find(nodes, minor, &NodeMap::value_type::first);
  return minor && found != nodes.end() ? &found->second : nullptr;
}

// Whether the brand is known or not, an image can ask for it: NVIDIA's CUDA images name "unknown".
std::string BrandWord(const device::Gpu& gpu) {
  return gpu.brand.empty() ? "unknown" : ToLower(gpu.brand);
}

IndexDevice DeviceOf(const device::Gpu& gpu, std::vector<IndexNode> nodes) {
  IndexDevice device;
  device.names = {std::to_string(gpu.index), gpu.uuid.str()};
  if (gpu.compute) {
    device.compute_capability = fmt::format("{}.{}", gpu.compute->major, gpu.compute->minor);
  }
  device.brand = BrandWord(gpu);
  device.nodes = std::move(nodes);
  return device;
}

class Planner {
 public:
  Planner(const device::Snapshot& snapshot, const HostParts& parts)
      : snapshot_(snapshot), parts_(parts) {}

  HostPlan Plan() {
    plan_.notes = parts_.notes;
    PlanDriver();
    for (const device::Gpu& gpu : snapshot_.gpus) {
      PlanGpu(gpu);
    }
    PlanCommonNodes();
    for (const LibraryPart& library : parts_.libraries) {
      PlanLibrary(library);
    }
    PlanFiles();
    // NVIDIA's own runtime would add the devices of this variable a second time.
    index().env = {"NVIDIA_VISIBLE_DEVICES=void"};
    return std::move(plan_);
  }

 private:
  InjectionIndex& index() { return plan_.index; }

  void PlanDriver() {
    const device::Driver& driver = snapshot_.driver;
    index().driver_version = parts_.driver_version;
    if (driver.cuda_major && driver.cuda_minor) {
      index().cuda_version = fmt::format("{}.{}", *driver.cuda_major, *driver.cuda_minor);
    }
  }

  void PlanGpu(const device::Gpu& gpu) {
    const NodePart* node = Find(parts_.gpus, gpu.minor);
    if (node == nullptr) {
      plan_.notes.push_back(
          fmt::format("GPU {} ({}) is skipped: /dev/nvidia{} not found: run nvidia-modprobe -c {}",
                      gpu.index, gpu.uuid.str(), gpu.minor, gpu.minor));
      return;
    }
    std::vector<IndexNode> nodes = {{{}, ToNode(*node)}};
    for (const auto& [pci, dri] : parts_.dri) {
      if (pci == gpu.pci) {
        nodes.push_back({kScreens, ToNode(dri)});
      }
    }
    // A GPU in MIG mode cannot be used as a whole: a container gets its MIG devices.
    if (gpu.mig_mode && gpu.mig_mode->is_enabled) {
      for (const device::MigDevice& mig : gpu.mig_devices) {
        PlanMig(gpu, mig, nodes);
      }
      return;
    }
    index().devices.push_back(DeviceOf(gpu, std::move(nodes)));
  }

  void PlanMig(const device::Gpu& gpu, const device::MigDevice& mig, std::vector<IndexNode> nodes) {
    for (const auto& minor : {mig.gpu_instance_cap_minor, mig.compute_instance_cap_minor}) {
      const NodePart* cap = Find(parts_.caps, minor);
      if (cap == nullptr) {
        plan_.notes.push_back(fmt::format(
            "MIG device {}:{} ({}) is skipped: its node {} not found: run nvidia-modprobe -f "
            "/proc/driver/nvidia/capabilities/gpu{}/mig/gi{}/access and …/ci{}/access",
            gpu.index, mig.index, mig.uuid.str(),
            minor ? fmt::format("/dev/nvidia-caps/nvidia-cap{}", *minor)
                  : std::string("below /dev/nvidia-caps"),
            gpu.minor, mig.gpu_instance, mig.compute_instance));
        return;
      }
      nodes.push_back({{}, ToNode(*cap)});
    }
    IndexDevice device = DeviceOf(gpu, std::move(nodes));
    device.names = {fmt::format("{}:{}", gpu.index, mig.index), mig.uuid.str()};
    device.is_mig = true;
    index().devices.push_back(std::move(device));
  }

  void PlanCommonNodes() {
    for (const NodePart& node : parts_.control) {
      index().nodes.push_back({{}, ToNode(node)});
    }
    for (const NodePart& node : parts_.graphics) {
      index().nodes.push_back({kScreens, ToNode(node)});
    }
  }

  void PlanLibrary(const LibraryPart& library) {
    const host::MachineFolders* folders = host::FoldersOf(library.machine);
    if (folders == nullptr) {
      plan_.notes.push_back(fmt::format(
          "{} is skipped: no library folder is known for its architecture", library.engine_path));
      return;
    }
    const std::string_view stem =
        std::string_view(library.name).substr(0, library.name.find(".so"));
    std::vector<std::string_view> names = {library.name};
    if (!library.soname.empty() && library.soname != library.name) {
      names.push_back(library.soname);
    }
    const CapabilitySet needed_by = CapabilitiesOfLibrary(library.name);
    AddLibrary(library, *folders, names, needed_by);
    for (const ExtraName& extra : kExtraNames) {
      if (extra.stem == stem) {
        AddLibrary(library, *folders, {extra.name}, extra.needed_by);
      }
    }
  }

  // Under each of `names` in both folders where loaders look.
  void AddLibrary(const LibraryPart& library, const host::MachineFolders& folders,
                  const std::vector<std::string_view>& names, CapabilitySet needed_by) {
    const std::string_view subfolder =
        library.name.starts_with("libvdpau_nvidia.so") ? "vdpau/" : "";
    IndexFile file;
    file.needed_by = needed_by;
    file.is_32bit = library.machine != parts_.machine;
    file.host_path = library.engine_path;
    for (const std::string_view folder : {folders.multiarch, folders.plain}) {
      for (const std::string_view name : names) {
        file.container_paths.push_back(fmt::format("/{}/{}{}", folder, subfolder, name));
      }
    }
    index().files.push_back(std::move(file));
  }

  void PlanFiles() {
    for (const FilePart& part : parts_.files) {
      IndexFile file;
      file.needed_by = part.needed_by;
      file.is_socket = part.is_socket;
      file.host_path = part.engine_path;
      file.container_paths = {part.container_path};
      index().files.push_back(std::move(file));
    }
  }

  const device::Snapshot& snapshot_;
  const HostParts& parts_;
  HostPlan plan_;
};

// Every node of any device, once.
PlannedDevice EveryDevice(const std::vector<PlannedDevice>& devices) {
  PlannedDevice all{{"all"}, {}};
  for (const PlannedDevice& device : devices) {
    for (const cdi::DeviceNode& node : device.nodes) {
      if (std::ranges::find(all.nodes, node) == all.nodes.end()) {
        all.nodes.push_back(node);
      }
    }
  }
  return all;
}

}  // namespace

HostPlan PlanHost(const device::Snapshot& snapshot, const HostParts& parts) {
  return Planner(snapshot, parts).Plan();
}

InjectionPlan PlanFor(const HostPlan& host, CapabilitySet capabilities) {
  InjectionPlan plan;
  for (const IndexDevice& device : host.index.devices) {
    plan.devices.push_back({device.names, NodesFor(device.nodes, capabilities)});
  }
  if (!plan.devices.empty()) {
    plan.devices.push_back(EveryDevice(plan.devices));
  }
  plan.nodes = NodesFor(host.index.nodes, capabilities);
  plan.mounts = MountsFor(host.index, capabilities);
  plan.env = host.index.env;
  plan.notes = host.notes;
  return plan;
}

cdi::Spec ToSpec(const InjectionPlan& plan, std::string_view kind) {
  cdi::Spec spec;
  spec.kind = kind;
  for (const PlannedDevice& device : plan.devices) {
    for (const std::string& name : device.names) {
      cdi::Device& entry = spec.devices.emplace_back();
      entry.name = name;
      entry.edits.device_nodes = device.nodes;
    }
  }
  spec.edits.env = plan.env;
  spec.edits.device_nodes = plan.nodes;
  spec.edits.mounts = plan.mounts;
  spec.version = cdi::MinimumVersion(spec);
  return spec;
}

}  // namespace kgpu::inject
