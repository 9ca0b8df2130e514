#include "src/node/pods/obstacle.h"

#include <fmt/format.h>

#include <vector>

namespace kgpu::pods {

std::string PodObstacleTo(std::string_view device_uuid, SteadyTime since, const PodFacts& facts) {
  const std::vector<Container> users = UsersOf(facts.pods, device_uuid);
  if (!users.empty()) {
    return fmt::format("pod {}/{} holds it", users.front().pod_namespace, users.front().pod);
  }
  if (const auto busy = facts.pods.in_use.find(std::string(device_uuid));
      busy != facts.pods.in_use.end()) {
    return fmt::format("a process of pod {}/{} runs on it", busy->second.pod_namespace,
                       busy->second.pod);
  }
  if (facts.list.has_no_kubelet) {
    return "";
  }
  if (!facts.list.asked || *facts.list.asked < since + kInFlight) {
    return facts.pods.problem.empty()
               ? "it is not known yet which pods hold it"
               : fmt::format(
                     "it is not known yet which pods hold it: {}; if this host no longer runs a "
                     "kubelet, remove the folder of that socket",
                     facts.pods.problem);
  }
  return "";
}

}  // namespace kgpu::pods
