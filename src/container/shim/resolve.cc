#include "src/container/shim/resolve.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "src/container/cdi/folder.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::shim {
namespace {

// Kinds whose devices are those of the index: ours, NVIDIA's, and the one that NVIDIA's runtime
// makes up.
constexpr std::array<std::string_view, 3> kGpuKinds = {"kgpu.dev/gpu", "nvidia.com/gpu",
                                                       "runtime.nvidia.com/gpu"};
// Where the devices of a class may be declared, ours first.
constexpr std::array<std::string_view, 2> kVendors = {"kgpu.dev", "nvidia.com"};

constexpr size_t kMostShown = 40;
// "GPU-5d5ba0d6": what NVIDIA's own examples call short for a UUID.
constexpr size_t kShortestPrefix = 12;

bool IsGpuKind(std::string_view kind) {
  return std::ranges::find(kGpuKinds, kind) != kGpuKinds.end();
}

void Append(cdi::ContainerEdits& to, const cdi::ContainerEdits& from) {
  const auto append = [](auto& a, const auto& b) { a.insert(a.end(), b.begin(), b.end()); };
  append(to.env, from.env);
  append(to.device_nodes, from.device_nodes);
  append(to.net_devices, from.net_devices);
  append(to.mounts, from.mounts);
  append(to.hooks, from.hooks);
  append(to.additional_gids, from.additional_gids);
  to.has_intel_rdt = to.has_intel_rdt || from.has_intel_rdt;
}

std::string ShownList(const std::vector<std::string>& names) {
  if (names.empty()) {
    return "none";
  }
  const size_t shown = std::min(names.size(), kMostShown);
  return fmt::format("{}{}",
                     fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", "),
                     shown < names.size() ? ", …" : "");
}

bool HasPrefixInAnyCase(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && ToLower(text.substr(0, prefix.size())) == ToLower(prefix);
}

class Resolver {
 public:
  Resolver(inject::CapabilitySet wanted, IndexReader& reader, const sys::Root& root)
      : wanted_(wanted), reader_(reader), root_(root) {}

  StatusOr<Grant> Run(const Request& request) {
    if (request.devices.kind == DeviceList::Kind::kDriverOnly) {
      RETURN_IF_ERROR(reader_.Get().status());
      grant_.has_driver = true;
    }
    if (request.devices.all) {
      RETURN_IF_ERROR(AddAll());
    }
    for (const std::string& name : request.devices.names) {
      RETURN_IF_ERROR(AddNamed(name));
    }
    for (const CdiName& name : request.devices.cdi) {
      RETURN_IF_ERROR(AddCdi(name));
    }
    for (const std::string& channel : request.imex_channels) {
      RETURN_IF_ERROR(AddOfClass("imex-channel", channel));
    }
    for (const std::string& device_class : request.classes) {
      if (Status status = AddOfClass(device_class, "all"); !status.ok()) {
        // An image may require this on every host that it is made for.
        grant_.notes.emplace_back(Message(status));
      }
    }
    return Finish();
  }

 private:
  void Add(const inject::IndexDevice& device) {
    grant_.has_driver = true;
    if (std::ranges::find(grant_.gpus, &device) == grant_.gpus.end()) {
      grant_.gpus.push_back(&device);
      grant_.devices.push_back(device.names.back());
    }
  }

  Status AddAll() {
    ASSIGN_OR_RETURN(const inject::InjectionIndex* index, reader_.Get());
    if (index->devices.empty()) {
      return NotFound("all GPUs requested, but this host has none: run kgpu devices to see why");
    }
    for (const inject::IndexDevice& device : index->devices) {
      Add(device);
    }
    return OkStatus();
  }

  // By any of its names, or by the front of its UUID where that is of one device only.
  static StatusOr<const inject::IndexDevice*> Find(const inject::InjectionIndex& index,
                                                   std::string_view name) {
    const inject::IndexDevice* by_prefix = nullptr;
    for (const inject::IndexDevice& device : index.devices) {
      for (const std::string& known : device.names) {
        if (known.size() == name.size() && HasPrefixInAnyCase(known, name)) {
          return &device;
        }
        if (name.size() < kShortestPrefix || !HasPrefixInAnyCase(known, name)) {
          continue;
        }
        if (by_prefix != nullptr && by_prefix != &device) {
          return InvalidArgument("\"{}\": prefix matches several UUIDs: use the full UUID",
                                 Printable(name, 80));
        }
        by_prefix = &device;
      }
    }
    return by_prefix;
  }

  Status AddNamed(const std::string& name) {
    ASSIGN_OR_RETURN(const inject::InjectionIndex* index, reader_.Get());
    ASSIGN_OR_RETURN(const inject::IndexDevice* device, Find(*index, name));
    if (device == nullptr) {
      return Missing(*index, name);
    }
    Add(*device);
    return OkStatus();
  }

  static Status Missing(const inject::InjectionIndex& index, std::string_view name) {
    std::vector<std::string> parts;  // MIG devices of the GPU asked for
    std::vector<std::string> all;
    for (const inject::IndexDevice& device : index.devices) {
      all.push_back(fmt::format("{}", fmt::join(device.names, " = ")));
      if (device.names.front().starts_with(fmt::format("{}:", name))) {
        parts.push_back(device.names.front());
      }
    }
    if (!parts.empty()) {
      return FailedPrecondition(
          "GPU {} is in MIG mode and cannot be used as a whole: request its MIG devices {}", name,
          ShownList(parts));
    }
    return NotFound("no GPU \"{}\" on this host; available: {}", Printable(name, 80),
                    ShownList(all));
  }

  Status AddCdi(const CdiName& name) {
    if (IsGpuKind(name.kind)) {
      const StatusOr<const inject::InjectionIndex*> index = reader_.Get();
      if (index.ok() && name.device == "all") {
        return AddAll();
      }
      const inject::IndexDevice* device = nullptr;
      if (index.ok()) {
        ASSIGN_OR_RETURN(device, Find(**index, name.device));
      }
      if (device != nullptr) {
        Add(*device);
        return OkStatus();
      }
      if (AddDeclared(name).ok()) {
        return OkStatus();
      }
      return index.ok() ? Missing(**index, name.device) : index.status();
    }
    return AddDeclared(name);
  }

  Status AddOfClass(std::string_view device_class, const std::string& device) {
    Status first;
    for (const std::string_view vendor : kVendors) {
      Status status = AddDeclared({fmt::format("{}/{}", vendor, device_class), device});
      if (status.ok() || status.code() != StatusCode::kNotFound) {
        return status;
      }
      first = first.ok() ? status : first;
    }
    return first;
  }

  const cdi::FolderContents& Folders() {
    if (!folders_) {
      folders_ = cdi::ReadFolders(
          root_, {std::string(cdi::kStaticFolder), std::string(cdi::kDynamicFolder)});
    }
    return *folders_;
  }

  // A device of the files in CDI folders.
  Status AddDeclared(const CdiName& name) {
    const cdi::FolderContents& folders = Folders();
    const std::string whole = name.str();
    if (const auto conflict = std::ranges::find(folders.conflicts, whole, &cdi::Conflict::name);
        conflict != folders.conflicts.end()) {
      return FailedPrecondition("{} is declared by {}: keep one", whole,
                                fmt::join(conflict->paths, " and "));
    }
    const auto found = std::ranges::find(folders.devices, whole, &cdi::Resolved::name);
    if (found == folders.devices.end()) {
      return NoSuchDevice(name);
    }
    const auto file = std::ranges::find(folders.files, found->path, &cdi::SpecFile::path);
    const auto device = std::ranges::find(file->spec.devices, name.device, &cdi::Device::name);
    if (files_used_.insert(found->path).second) {
      Append(grant_.cdi_edits, file->spec.edits);
    }
    if (names_used_.insert(whole).second) {
      Append(grant_.cdi_edits, device->edits);
      grant_.devices.push_back(whole);
    }
    return OkStatus();
  }

  Status NoSuchDevice(const CdiName& name) {
    std::vector<std::string> same_kind;
    std::set<std::string> kinds;
    for (const cdi::Resolved& device : Folders().devices) {
      const std::string kind = device.name.substr(0, device.name.find('='));
      kinds.insert(kind);
      if (kind == name.kind) {
        same_kind.push_back(device.name);
      }
    }
    if (!same_kind.empty()) {
      return NotFound("no {} on this host; available: {}", name.str(), ShownList(same_kind));
    }
    return NotFound("no CDI file in {} or {} declares the kind of {}; declared: {}",
                    cdi::kStaticFolder, cdi::kDynamicFolder, name.str(),
                    ShownList({kinds.begin(), kinds.end()}));
  }

  StatusOr<Grant> Finish() {
    if (!grant_.has_driver) {
      return std::move(grant_);
    }
    ASSIGN_OR_RETURN(const inject::InjectionIndex* index, reader_.Get());
    cdi::ContainerEdits& edits = grant_.index_edits;
    edits.env = index->env;
    edits.device_nodes = inject::NodesFor(index->nodes, wanted_);
    for (const inject::IndexDevice* gpu : grant_.gpus) {
      for (cdi::DeviceNode& node : inject::NodesFor(gpu->nodes, wanted_)) {
        // MIG devices of one GPU share its node.
        if (std::ranges::find(edits.device_nodes, node) == edits.device_nodes.end()) {
          edits.device_nodes.push_back(std::move(node));
        }
      }
    }
    edits.mounts = inject::MountsFor(*index, wanted_);
    return std::move(grant_);
  }

  inject::CapabilitySet wanted_;
  IndexReader& reader_;
  const sys::Root& root_;
  Grant grant_;
  std::optional<cdi::FolderContents> folders_;
  std::set<std::string> files_used_;
  std::set<std::string> names_used_;
};

}  // namespace

StatusOr<const inject::InjectionIndex*> IndexReader::Get() {
  if (index_) {
    return &*index_;
  }
  const StatusOr<std::string> text =
      root_.ReadFile(inject::kInjectionIndexPath, inject::kIndexLimit);
  if (text.status().code() == StatusCode::kNotFound) {
    return FailedPrecondition(
        "{}: not found, so the GPUs of this host are unknown: start kgpu agent, or run kgpu cdi "
        "generate",
        root_.At(inject::kInjectionIndexPath));
  }
  if (!text.ok()) {
    return text.status();
  }
  ASSIGN_OR_RETURN(index_, inject::ParseIndex(*text, root_.At(inject::kInjectionIndexPath)));
  return &*index_;
}

StatusOr<Grant> Resolve(const Request& request, inject::CapabilitySet wanted, IndexReader& reader,
                        const sys::Root& root) {
  return Resolver(wanted, reader, root).Run(request);
}

}  // namespace kgpu::shim
