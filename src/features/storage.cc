// Block devices and what their queues are like. Source: /sys/block/<name>/queue
// (Documentation/ABI/stable/sysfs-block).
#include <array>

#include "src/features/source.h"

namespace kgpu::features {
namespace {

constexpr std::array kQueueAttributes = {"dax", "rotational", "nr_zones", "zoned"};

}  // namespace

void ReadStorage(const Source& source) {
  Instances& devices = source.instances("storage.block");
  for (const std::string& name : source.List("sys/block")) {
    Attributes device = {{"name", name}};
    const Folder queue = Folder::Open(source.host, fmt::format("sys/block/{}/queue", name));
    for (const char* attribute : kQueueAttributes) {
      FileText file = queue.Read(attribute);
      if (file.ok()) {
        device.emplace(attribute, std::move(file.text));
      } else {
        source.ComplainOf(fmt::format("{}/{}", queue.path(), attribute), file.error);
      }
    }
    devices.push_back(std::move(device));
  }
}

}  // namespace kgpu::features
