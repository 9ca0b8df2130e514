#include "src/host/inspect/companion_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "src/host/inspect/device_nodes.h"

namespace kgpu::host {
namespace {

using device::Companion;
using device::CompanionNode;

class Collector {
 public:
  explicit Collector(const sys::Root& host) : host_(host) {}

  bool Add(Companion companion, unsigned number, std::string path) {
    std::optional<DeviceFile> file = ReadDeviceFile(host_, std::move(path));
    if (!file) {
      return false;
    }
    nodes_.push_back({companion, number, std::move(file->path), file->major, file->minor});
    return true;
  }

  // Adds every "<prefix><number>" in `folder`. False if there is none.
  bool AddNumbered(Companion companion, std::string_view folder, std::string_view prefix) {
    bool has_some = false;
    for (const std::string& name : Names(folder)) {
      if (const std::optional<unsigned> number = NumberedNode(name, prefix)) {
        has_some |= Add(companion, *number, fmt::format("{}/{}", folder, name));
      }
    }
    return has_some;
  }

  std::vector<CompanionNode> Take() {
    std::ranges::sort(nodes_);
    return std::move(nodes_);
  }

 private:
  std::vector<std::string> Names(std::string_view folder) const {
    auto names = host_.ListDir(folder);
    return names.ok() ? *std::move(names) : std::vector<std::string>();
  }

  const sys::Root& host_;
  std::vector<CompanionNode> nodes_;
};

}  // namespace

std::vector<CompanionNode> ReadCompanionNodes(const sys::Root& host) {
  Collector nodes(host);
  nodes.AddNumbered(Companion::kImexChannel, kImexChannelFolder, "channel");
  nodes.AddNumbered(Companion::kGds, "/dev", kGdsPrefix);
  nodes.Add(Companion::kGdrcopy, 0, fmt::format("/dev/{}", kGdrcopyName));
  // The connection manager is there without any card, and of no use then.
  if (nodes.AddNumbered(Companion::kMofed, kInfinibandFolder, "uverbs")) {
    nodes.Add(Companion::kMofed, 0, fmt::format("{}/rdma_cm", kInfinibandFolder));
  }
  return nodes.Take();
}

}  // namespace kgpu::host
