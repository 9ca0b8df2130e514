#include "testing/apiserver/services.h"

#include <boost/json.hpp>

#include <set>

#include "src/platform/base/status_macros.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

constexpr int64_t kFirstNodePort = 30'000;
constexpr int64_t kLastNodePort = 32'767;

std::set<int64_t> NodePortsOf(const json::object& service) {
  std::set<int64_t> ports;
  for (const json::value& port : ItemsAt(service, {"spec", "ports"})) {
    if (port.is_object()) {
      ports.insert(NumberAt(port.get_object(), {"nodePort"}, 0));
    }
  }
  ports.erase(0);
  return ports;
}

// Those of all other Services.
std::set<int64_t> UsedPorts(const Store& store, const ObjectKey& own) {
  std::set<int64_t> used;
  for (const auto& [key, service] : store.All("services")) {
    if (key != own) {
      used.merge(NodePortsOf(service->object()));
    }
  }
  return used;
}

Status PlacePort(json::object& port, const std::string& path, std::set<int64_t>& used,
                 std::string_view name) {
  const auto refuse = [&](int64_t number, const char* why) {
    return InvalidObject(
        "", "Service", name,
        {InvalidValue(fmt::format("{}.nodePort", path), std::to_string(number), why)});
  };
  int64_t number = NumberAt(port, {"nodePort"}, 0);
  if (number != 0 && (number < kFirstNodePort || number > kLastNodePort)) {
    return refuse(number,
                  "provided port is not in the valid range. The range of valid ports is "
                  "30000-32767");
  }
  if (number != 0 && used.contains(number)) {
    return refuse(number, "provided port is already allocated");
  }
  if (number == 0) {
    number = kFirstNodePort;
    while (used.contains(number) && number < kLastNodePort) {
      ++number;
    }
    port["nodePort"] = number;
  }
  used.insert(number);
  return OkStatus();
}

}  // namespace

Status PlaceService(const Store& store, json::object& service) {
  const std::string name(TextAt(service, {"metadata", "name"}));
  const ObjectKey own{std::string(TextAt(service, {"metadata", "namespace"})), name};
  json::object& spec = MakeObject(service, "spec");
  std::set<int64_t> used = UsedPorts(store, own);
  if (!spec.contains("clusterIP")) {
    const size_t number = store.revision();
    spec["clusterIP"] = fmt::format("10.96.{}.{}", number / 250 % 250, number % 250 + 1);
  }
  if (!spec.contains("clusterIPs")) {
    spec["clusterIPs"] = json::array{spec["clusterIP"]};
  }
  const bool has_node_ports =
      TextAt(spec, {"type"}) == "NodePort" || TextAt(spec, {"type"}) == "LoadBalancer";
  if (has_node_ports && !spec.contains("externalTrafficPolicy")) {
    spec["externalTrafficPolicy"] = "Cluster";
  }
  json::value* ports = spec.if_contains("ports");
  if (ports == nullptr || !ports->is_array()) {
    return OkStatus();
  }
  for (size_t i = 0; i < ports->get_array().size(); ++i) {
    json::object* port = ports->get_array()[i].if_object();
    if (port == nullptr) {
      continue;
    }
    if (has_node_ports) {
      RETURN_IF_ERROR(PlacePort(*port, fmt::format("spec.ports[{}]", i), used, name));
    }
  }
  return OkStatus();
}

}  // namespace kgpu::apiserver
