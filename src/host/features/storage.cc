// Block devices and what their queues are like. Source: /sys/block/<name>/queue
// (Documentation/ABI/stable/sysfs-block).
#include <array>

#include "src/host/features/source.h"

namespace kgpu::features {
namespace {

constexpr const char* kBlockDevices = "sys/block";
constexpr std::array kQueueAttributes = {"queue/dax", "queue/rotational", "queue/nr_zones",
                                         "queue/zoned"};
constexpr size_t kFolderLength = std::string_view("queue/").size();

}  // namespace

void ReadStorage(const Source& source) {
  Instances& devices = source.instances("storage.block");
  const Folder block = Folder::Open(source.host, kBlockDevices);
  for (const std::string& name : source.List(kBlockDevices)) {
    Attributes device = {{"name", name}};
    const Folder folder = block.OpenEntry(source.host, name);
    for (const char* attribute : kQueueAttributes) {
      FileText file = folder.Read(attribute);
      if (file.ok()) {
        device.emplace(attribute + kFolderLength, std::move(file.text));
      } else {
        source.ComplainOf(fmt::format("{}/{}", folder.path(), attribute), file.error);
      }
    }
    devices.push_back(std::move(device));
  }
}

}  // namespace kgpu::features
