#include "testing/kubelet/node_json.h"

#include <boost/json.hpp>

#include <iterator>
#include <utility>

#include "testing/kubelet/pod_json.h"

namespace kgpu::kubelet {
namespace {

namespace json = boost::json;

const char* NameOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kError:
      return "error";
    case FaultKind::kHang:
      return "hang";
    case FaultKind::kDelay:
      return "delay";
    case FaultKind::kSkip:
      return "skip";
  }
  return "";
}

json::array EndpointsJson(const Kubelet& kubelet) {
  json::array array;
  for (const EndpointStatus& endpoint : kubelet.endpoints()) {
    array.push_back(
        json::object{{"resource", endpoint.resource},
                     {"connected", endpoint.is_connected},
                     {"healthy", endpoint.healthy},
                     {"unhealthy", endpoint.unhealthy},
                     {"preStartRequired", endpoint.options.pre_start_required},
                     {"preferredAllocation", endpoint.options.has_preferred_allocation}});
  }
  return array;
}

json::array PluginsJson(const Kubelet& kubelet) {
  json::array array;
  for (const WatchedPlugin& plugin : kubelet.watched_plugins()) {
    array.push_back(json::object{{"socket", plugin.socket_path},
                                 {"type", plugin.info.type},
                                 {"name", plugin.info.name},
                                 {"endpoint", plugin.info.endpoint}});
  }
  return array;
}

json::array FaultsJson(const Faults& faults) {
  json::array array;
  for (const auto& [point, fault] : faults.all()) {
    array.push_back(json::object{{"point", point},
                                 {"kind", NameOf(fault.kind)},
                                 {"text", fault.text},
                                 {"times", fault.times}});
  }
  return array;
}

}  // namespace

json::value NodeJson(Node& node) {
  World& world = node.world();
  const Kubelet* kubelet = node.kubelet();
  json::object resources;
  for (const auto& [name, amount] : world.resources) {
    resources.emplace(
        name, json::object{{"capacity", amount.capacity}, {"allocatable", amount.allocatable}});
  }
  json::array pods;
  for (const Pod* pod : world.pods.All()) {
    pods.push_back(ToJson(*pod));
  }
  return json::object{
      {"root", world.layout.root},
      {"running", kubelet != nullptr},
      {"resources", std::move(resources)},
      {"endpoints", kubelet == nullptr ? json::array() : EndpointsJson(*kubelet)},
      {"watchedPlugins", kubelet == nullptr ? json::array() : PluginsJson(*kubelet)},
      {"faults", FaultsJson(world.faults)},
      {"pods", std::move(pods)}};
}

json::value CallsJson(const CallLog& log) {
  json::array array;
  for (const CallRecord& call : log.records()) {
    const auto since = std::chrono::duration<double>(call.time.time_since_epoch());
    array.push_back(json::object{
        {"number", call.number},
        {"time", since.count()},
        {"method", call.method},
        {"peer", call.peer},
        {"arguments", call.arguments},
        {"reply", call.reply ? json::value(*call.reply) : json::value(nullptr)},
        {"milliseconds", std::chrono::duration<double, std::milli>(call.duration).count()}});
  }
  return array;
}

std::string WhyPending(Node& node, const Pod& pod) {
  std::string text = fmt::format("pod {}: is {}", PodKey(pod.spec.name_space, pod.spec.name),
                                 kubelet::NameOf(pod.status.phase));
  if (node.kubelet() == nullptr) {
    return text + ": the kubelet is stopped";
  }
  if (!pod.status.is_bound) {
    for (const auto& [resource, count] : RequestsOf(pod.spec)) {
      const auto amount = node.world().resources.find(resource);
      fmt::format_to(
          std::back_inserter(text), "; requests {} {}, allocatable {}", count, resource,
          amount == node.world().resources.end()
              ? "none: no plugin has registered it"
              : fmt::format("{} (minus those of other pods)", amount->second.allocatable));
    }
    return text;
  }
  if (!pod.status.is_admitted) {
    return text + ": its admission is not complete: check that the plugin answers Allocate";
  }
  return text + ": its containers have not started yet";
}

}  // namespace kgpu::kubelet
