#include "src/inject/plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "src/host/library_folders.h"

namespace kgpu::inject {
namespace {

using NodeMap = std::vector<std::pair<unsigned, NodePart>>;

const std::vector<std::string> kFileOptions = {"ro", "nosuid", "nodev", "rbind", "rprivate"};
// Writable, since a client writes to a socket; never a way to bring programs or devices in.
const std::vector<std::string> kSocketOptions = {"noexec", "nosuid", "nodev", "rbind", "rprivate"};

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

cdi::DeviceNode ToNode(const NodePart& part) {
  cdi::DeviceNode node;
  node.path = part.file.path;
  if (part.engine_path != part.file.path) {
    node.host_path = part.engine_path;
  }
  node.type = "c";
  node.major = part.file.major;
  node.minor = part.file.minor;
  node.permissions = "rw";
  return node;
}

const NodePart* Find(const NodeMap& nodes, std::optional<unsigned> minor) {
  const auto found = std::ranges::find(nodes, minor, &NodeMap::value_type::first);
  return minor && found != nodes.end() ? &found->second : nullptr;
}

// Collects the mounts; the first of equal container paths wins.
class MountList {
 public:
  void Add(const std::string& container_path, const std::string& host_path,
           const std::vector<std::string>& options) {
    mounts_.try_emplace({std::ranges::count(container_path, '/'), container_path},
                        cdi::Mount{host_path, container_path, options, ""});
  }

  std::vector<cdi::Mount> Take() {
    std::vector<cdi::Mount> list;
    list.reserve(mounts_.size());
    for (auto& [key, mount] : mounts_) {
      list.push_back(std::move(mount));
    }
    mounts_.clear();
    return list;
  }

 private:
  std::map<std::pair<std::ptrdiff_t, std::string>, cdi::Mount> mounts_;  // by depth, then path
};

class Planner {
 public:
  Planner(const device::Snapshot& snapshot, const HostParts& parts, CapabilitySet capabilities)
      : snapshot_(snapshot), parts_(parts), capabilities_(capabilities) {}

  InjectionPlan Plan() {
    plan_.notes = parts_.notes;
    for (const device::Gpu& gpu : snapshot_.gpus) {
      PlanGpu(gpu);
    }
    PlanAll();
    PlanCommonNodes();
    PlanLibraries();
    PlanFiles();
    plan_.mounts = mounts_.Take();
    // NVIDIA's own runtime would add the devices of this variable a second time.
    plan_.env = {"NVIDIA_VISIBLE_DEVICES=void"};
    return std::move(plan_);
  }

 private:
  bool WantsGraphics() const {
    return capabilities_.Meets(Capability::kGraphics | Capability::kDisplay);
  }

  void PlanGpu(const device::Gpu& gpu) {
    const NodePart* node = Find(parts_.gpus, gpu.minor);
    if (node == nullptr) {
      plan_.notes.push_back(fmt::format(
          "GPU {} ({}) is left out: /dev/nvidia{} is not there, run nvidia-modprobe -c {}",
          gpu.index, gpu.uuid.str(), gpu.minor, gpu.minor));
      return;
    }
    std::vector<cdi::DeviceNode> nodes = {ToNode(*node)};
    if (WantsGraphics()) {
      for (const auto& [pci, dri] : parts_.dri) {
        if (pci == gpu.pci) {
          nodes.push_back(ToNode(dri));
        }
      }
    }
    // A GPU in MIG mode can not be used as a whole: a container gets its MIG devices.
    if (gpu.mig_mode && gpu.mig_mode->is_enabled) {
      for (const device::MigDevice& mig : gpu.mig_devices) {
        PlanMig(gpu, mig, nodes);
      }
      return;
    }
    plan_.devices.push_back({{std::to_string(gpu.index), gpu.uuid.str()}, std::move(nodes)});
  }

  void PlanMig(const device::Gpu& gpu, const device::MigDevice& mig,
               std::vector<cdi::DeviceNode> nodes) {
    for (const auto& minor : {mig.gpu_instance_cap_minor, mig.compute_instance_cap_minor}) {
      const NodePart* cap = Find(parts_.caps, minor);
      if (cap == nullptr) {
        plan_.notes.push_back(fmt::format(
            "MIG device {}:{} ({}) is left out: its node {} is not there, run nvidia-modprobe -f "
            "/proc/driver/nvidia/capabilities/gpu{}/mig/gi{}/access and …/ci{}/access",
            gpu.index, mig.index, mig.uuid.str(),
            minor ? fmt::format("/dev/nvidia-caps/nvidia-cap{}", *minor)
                  : std::string("below /dev/nvidia-caps"),
            gpu.minor, mig.gpu_instance, mig.compute_instance));
        return;
      }
      nodes.push_back(ToNode(*cap));
    }
    plan_.devices.push_back(
        {{fmt::format("{}:{}", gpu.index, mig.index), mig.uuid.str()}, std::move(nodes)});
  }

  void PlanAll() {
    PlannedDevice all{{"all"}, {}};
    for (const PlannedDevice& device : plan_.devices) {
      for (const cdi::DeviceNode& node : device.nodes) {
        if (std::ranges::find(all.nodes, node) == all.nodes.end()) {
          all.nodes.push_back(node);
        }
      }
    }
    if (!all.nodes.empty()) {
      plan_.devices.push_back(std::move(all));
    }
  }

  void PlanCommonNodes() {
    for (const NodePart& node : parts_.control) {
      plan_.nodes.push_back(ToNode(node));
    }
    if (WantsGraphics()) {
      for (const NodePart& node : parts_.graphics) {
        plan_.nodes.push_back(ToNode(node));
      }
    }
  }

  bool Wants(const LibraryPart& library) const {
    if (library.machine != parts_.machine && !capabilities_.Has(Capability::kCompat32)) {
      return false;
    }
    return capabilities_.Meets(CapabilitiesOfLibrary(library.name));
  }

  void PlanLibraries() {
    for (const LibraryPart& library : parts_.libraries) {
      const host::MachineFolders* folders = host::FoldersOf(library.machine);
      if (folders == nullptr) {
        plan_.notes.push_back(
            fmt::format("{} is left out: no library folder is known for its "
                        "machine",
                        library.engine_path));
        continue;
      }
      if (!Wants(library)) {
        continue;
      }
      for (const std::string_view folder : {folders->multiarch, folders->plain}) {
        PlanLibrary(library, fmt::format("/{}", folder));
      }
    }
  }

  void PlanLibrary(const LibraryPart& library, const std::string& folder) {
    const std::string_view stem =
        std::string_view(library.name).substr(0, library.name.find(".so"));
    const std::string_view subfolder = stem == "libvdpau_nvidia" ? "/vdpau" : "";
    const auto add = [&](std::string_view name) {
      mounts_.Add(fmt::format("{}{}/{}", folder, subfolder, name), library.engine_path,
                  kFileOptions);
    };
    add(library.name);
    if (!library.soname.empty()) {
      add(library.soname);
    }
    for (const ExtraName& extra : kExtraNames) {
      if (extra.stem == stem && capabilities_.Meets(extra.needed_by)) {
        add(extra.name);
      }
    }
  }

  void PlanFiles() {
    for (const FilePart& file : parts_.files) {
      if (capabilities_.Meets(file.needed_by)) {
        mounts_.Add(file.container_path, file.engine_path,
                    file.is_socket ? kSocketOptions : kFileOptions);
      }
    }
  }

  const device::Snapshot& snapshot_;
  const HostParts& parts_;
  CapabilitySet capabilities_;
  InjectionPlan plan_;
  MountList mounts_;
};

}  // namespace

InjectionPlan PlanInjection(const device::Snapshot& snapshot, const HostParts& parts,
                            CapabilitySet capabilities) {
  return Planner(snapshot, parts, capabilities).Plan();
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
