#include "src/container/inject/index.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "src/container/inject/edits.h"

namespace kgpu::inject {
namespace {

// Writable, since a client writes to a socket; never a way to bring programs or devices in.
constexpr std::array<std::string_view, 5> kSocketOptions = {"noexec", "nosuid", "nodev", "rbind",
                                                            "rprivate"};

bool IsWanted(CapabilitySet needed_by, CapabilitySet wanted) {
  return needed_by == CapabilitySet() || wanted.Meets(needed_by);
}

bool IsWanted(const IndexFile& file, CapabilitySet wanted) {
  return (!file.is_32bit || wanted.Has(Capability::kCompat32)) && IsWanted(file.needed_by, wanted);
}

// One mount, before its strings are copied.
struct Target {
  std::ptrdiff_t depth = 0;
  std::string_view path;
  const IndexFile* file = nullptr;
};

cdi::Mount ToMount(const Target& target) {
  const auto& options = target.file->is_socket ? kSocketOptions : kReadOnlyMount;
  cdi::Mount mount;
  mount.host_path = target.file->host_path;
  mount.container_path = target.path;
  mount.options.assign(options.begin(), options.end());
  return mount;
}

}  // namespace

std::vector<cdi::DeviceNode> NodesFor(const std::vector<IndexNode>& nodes, CapabilitySet wanted) {
  std::vector<cdi::DeviceNode> chosen;
  for (const IndexNode& node : nodes) {
    if (IsWanted(node.needed_by, wanted)) {
      chosen.push_back(node.node);
    }
  }
  return chosen;
}

std::vector<cdi::Mount> MountsFor(const InjectionIndex& index, CapabilitySet wanted) {
  std::vector<Target> targets;
  for (const IndexFile& file : index.files) {
    if (!IsWanted(file, wanted)) {
      continue;
    }
    for (const std::string& path : file.container_paths) {
      targets.push_back({std::ranges::count(path, '/'), path, &file});
    }
  }
  // Stable: the first of equal paths stays the first.
  std::ranges::stable_sort(targets, [](const Target& a, const Target& b) {
    return a.depth != b.depth ? a.depth < b.depth : a.path < b.path;
  });
  std::vector<cdi::Mount> mounts;
  mounts.reserve(targets.size());
  for (const Target& target : targets) {
    if (mounts.empty() || mounts.back().container_path != target.path) {
      mounts.push_back(ToMount(target));
    }
  }
  return mounts;
}

}  // namespace kgpu::inject
