#include "src/node/pods/pod_map.h"

#include <algorithm>

namespace kgpu::pods {

std::string_view DeviceOf(std::string_view device_id) {
  return device_id.substr(0, device_id.find("::"));
}

std::vector<Container> UsersOf(const PodMap& map, std::string_view device_uuid) {
  std::vector<Container> users;
  for (const DeviceUse& use : map.devices) {
    if (DeviceOf(use.device_id) == device_uuid) {
      users.push_back(use.user);
    }
  }
  std::ranges::sort(users);
  const auto again = std::ranges::unique(users);
  users.erase(again.begin(), again.end());
  return users;
}

}  // namespace kgpu::pods
