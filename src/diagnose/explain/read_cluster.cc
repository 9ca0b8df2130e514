// Nodes, events, rules of a namespace and DRA's objects as values; and all of a dump.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "src/diagnose/explain/dump.h"
#include "src/diagnose/explain/readers.h"
#include "src/kube/api/json.h"
#include "src/platform/base/strings.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;

ClaimRequest ReadRequest(const json::value& object) {
  ClaimRequest request{.name = Text(object, {"name"})};
  // Newer servers nest what one request wants; older ones do not.
  const json::value* exactly = kube::FindField(object, {"exactly"});
  const json::value& from = exactly == nullptr ? object : *exactly;
  if (std::string name = Text(from, {"deviceClassName"}); !name.empty()) {
    request.classes.push_back(std::move(name));
  }
  request.count = kube::IntField(from, {"count"}).value_or(1);
  request.wants_all = Text(from, {"allocationMode"}) == "All";
  request.is_admin = Flag(from, {"adminAccess"});
  request.tolerations = ReadTolerations(from, {"tolerations"});
  const json::value* selectors = kube::FindField(from, {"selectors"});
  request.has_selectors =
      selectors != nullptr && selectors->is_array() && !selectors->get_array().empty();
  const auto add = [&](const json::value& item) {
    request.classes.push_back(Text(item, {"deviceClassName"}));
  };
  ForEach(object, {"firstAvailable"}, add);
  return request;
}

// The driver that an expression of CEL compares device.driver with.
std::string DriverIn(std::string_view expression) {
  constexpr std::string_view kDriver = "device.driver";
  const size_t at = expression.find(kDriver);
  const size_t equal = at == std::string_view::npos ? at : expression.find("==", at);
  if (equal == std::string_view::npos ||
      !Trim(expression.substr(at + kDriver.size(), equal - at - kDriver.size())).empty()) {
    return "";
  }
  const size_t open = expression.find_first_of("\"'", equal);
  const size_t close =
      open == std::string_view::npos ? open : expression.find(expression[open], open + 1);
  return close == std::string_view::npos
             ? ""
             : std::string(expression.substr(open + 1, close - open - 1));
}

// Whether an expression compares the driver and nothing else.
bool IsOfDriver(std::string_view expression) {
  const size_t close = expression.find_last_of("\"'");
  return close != std::string_view::npos && Trim(expression.substr(close + 1)).empty() &&
         Trim(expression).starts_with("device.driver") &&
         expression.find("&&") == std::string_view::npos &&
         expression.find("||") == std::string_view::npos;
}

// Where a kind of object goes.
class FactsReader {
 public:
  explicit FactsReader(Facts& facts) : facts_(facts) {}

  void Take(const json::value& item) {
    const std::string_view kind = kube::TextField(item, {"kind"});
    if (kind == "Pod") {
      TakePod(item);
    } else if (kind == "Node") {
      facts_.nodes.push_back(ReadNode(item));
    } else if (kind == "Event") {
      facts_.events.push_back(ReadEvent(item));
    } else if (kind == "RuntimeClass") {
      facts_.runtime_classes.emplace(kube::NameOf(item));
    } else if (IsOfNamespace(item)) {
      TakeRule(kind, item);
    } else {
      TakeDevices(kind, item);
    }
  }

 private:
  bool IsOfNamespace(const json::value& item) const {
    return kube::NamespaceOf(item) == facts_.wanted_space;
  }

  void TakePod(const json::value& item) {
    const bool is_of_namespace = IsOfNamespace(item) || (kube::NamespaceOf(item).empty() &&
                                                         facts_.wanted_space == "default");
    if (is_of_namespace && kube::NameOf(item) == facts_.wanted_name) {
      facts_.pod = ReadPod(item);
      return;
    }
    if (is_of_namespace) {
      facts_.names.push_back(fmt::format("{}/{}", facts_.wanted_space, kube::NameOf(item)));
    }
    if (auto holder = ReadHolder(item)) {
      facts_.holders.push_back(*std::move(holder));
    }
  }

  void TakeRule(std::string_view kind, const json::value& item) {
    if (kind == "ResourceQuota") {
      facts_.quotas.push_back(ReadQuota(item));
    } else if (kind == "LimitRange") {
      std::ranges::move(ReadLimits(item), std::back_inserter(facts_.limits));
    } else if (kind == "ResourceClaimTemplate") {
      facts_.claim_templates.emplace(kube::NameOf(item));
    } else {
      TakeDevices(kind, item);
    }
  }

  void TakeDevices(std::string_view kind, const json::value& item) {
    if (kind == "ResourceClaim") {
      facts_.claims.push_back(ReadClaim(item));
    } else if (kind == "DeviceClass") {
      facts_.device_classes.push_back(ReadDeviceClass(item));
    } else if (kind == "ResourceSlice") {
      facts_.slices.push_back(ReadSlice(item));
    }
  }

  Facts& facts_;
};

}  // namespace

Node ReadNode(const json::value& object) {
  Node node{.name = std::string(kube::NameOf(object)),
            .labels = ReadTexts(object, {"metadata", "labels"}),
            .annotations = ReadTexts(object, {"metadata", "annotations"})};
  std::erase_if(node.annotations,
                [](const auto& entry) { return !entry.first.starts_with("kgpu.dev/"); });
  node.taints = ReadTaints(object, {"spec", "taints"});
  node.is_unschedulable = Flag(object, {"spec", "unschedulable"});
  node.conditions = ReadConditions(object);
  node.capacity = ReadAmounts(object, {"status", "capacity"});
  node.allocatable = ReadAmounts(object, {"status", "allocatable"});
  return node;
}

Event ReadEvent(const json::value& object) {
  // Two forms: that of the core group, and that of events.k8s.io.
  const bool is_core = kube::FindField(object, {"involvedObject"}) != nullptr;
  const std::string_view about = is_core ? "involvedObject" : "regarding";
  Event event{.kind = Text(object, {about, "kind"}),
              .space = Text(object, {about, "namespace"}),
              .name = Text(object, {about, "name"}),
              .uid = Text(object, {about, "uid"}),
              .reason = Text(object, {"reason"}),
              .message = Text(object, {is_core ? "message" : "note"})};
  event.time = Text(object, {"series", "lastObservedTime"});
  for (const std::string_view field : {"lastTimestamp", "deprecatedLastTimestamp", "eventTime"}) {
    event.time = event.time.empty() ? Text(object, {field}) : event.time;
  }
  if (event.time.empty()) {
    event.time = Text(object, {"metadata", "creationTimestamp"});
  }
  return event;
}

namespace {

std::vector<Requirement> ReadScopes(const json::value& object) {
  std::vector<Requirement> scopes;
  for (std::string& scope : TextList(object, {"spec", "scopes"})) {
    scopes.push_back({.key = std::move(scope), .op = "Exists"});
  }
  const auto take = [&](const json::value& item) {
    scopes.push_back({.key = Text(item, {"scopeName"}),
                      .op = Text(item, {"operator"}),
                      .values = TextList(item, {"values"})});
  };
  ForEach(object, {"spec", "scopeSelector", "matchExpressions"}, take);
  return scopes;
}

}  // namespace

Quota ReadQuota(const json::value& object) {
  return {.space = std::string(kube::NamespaceOf(object)),
          .name = std::string(kube::NameOf(object)),
          .scopes = ReadScopes(object),
          .hard = ReadAmounts(object, {"status", "hard"}),
          .used = ReadAmounts(object, {"status", "used"})};
}

std::vector<Limit> ReadLimits(const json::value& object) {
  std::vector<Limit> limits;
  const auto take = [&](const json::value& item) {
    limits.push_back({.space = std::string(kube::NamespaceOf(object)),
                      .range = std::string(kube::NameOf(object)),
                      .type = Text(item, {"type"}),
                      .least = ReadAmounts(item, {"min"}),
                      .most = ReadAmounts(item, {"max"})});
  };
  ForEach(object, {"spec", "limits"}, take);
  return limits;
}

Claim ReadClaim(const json::value& object) {
  Claim claim{.space = std::string(kube::NamespaceOf(object)),
              .name = std::string(kube::NameOf(object))};
  const auto add_request = [&](const json::value& item) {
    claim.requests.push_back(ReadRequest(item));
  };
  ForEach(object, {"spec", "devices", "requests"}, add_request);
  claim.is_allocated = kube::FindField(object, {"status", "allocation"}) != nullptr;
  const auto add_result = [&](const json::value& item) {
    claim.results.push_back({.driver = Text(item, {"driver"}),
                             .pool = Text(item, {"pool"}),
                             .device = Text(item, {"device"}),
                             .is_shared = Flag(item, {"adminAccess"}) ||
                                          !Text(item, {"shareID"}).empty() ||
                                          kube::FindField(item, {"consumedCapacity"}) != nullptr});
  };
  ForEach(object, {"status", "allocation", "devices", "results"}, add_result);
  if (kube::FindField(object, {"status", "allocation", "nodeSelector"}) != nullptr) {
    claim.nodes = ReadTerms(object, {"status", "allocation", "nodeSelector", "nodeSelectorTerms"});
  }
  return claim;
}

DeviceClass ReadDeviceClass(const json::value& object) {
  DeviceClass found{.name = std::string(kube::NameOf(object)),
                    .driver = "",
                    .resource = Text(object, {"spec", "extendedResourceName"})};
  size_t selectors = 0;
  const auto look = [&](const json::value& item) {
    const std::string_view expression = kube::TextField(item, {"cel", "expression"});
    if (found.driver.empty()) {
      found.driver = DriverIn(expression);
    }
    found.is_of_driver = ++selectors == 1 && IsOfDriver(expression);
  };
  ForEach(object, {"spec", "selectors"}, look);
  return found;
}

Slice ReadSlice(const json::value& object) {
  Slice slice{.driver = Text(object, {"spec", "driver"}),
              .pool = Text(object, {"spec", "pool", "name"}),
              .node = Text(object, {"spec", "nodeName"}),
              .generation = kube::IntField(object, {"spec", "pool", "generation"}).value_or(0)};
  const auto add = [&](const json::value& item) {
    const std::string name = Text(item, {"name"});
    slice.devices.push_back(name);
    // Before 1.34 what a device has stood one level deeper.
    const json::value* basic = kube::FindField(item, {"basic"});
    const json::value& body = basic == nullptr ? item : *basic;
    if (Flag(body, {"allowMultipleAllocations"})) {
      slice.shared.insert(name);
    }
    std::vector<Taint> taints = ReadDeviceTaints(body, {"taints"});
    if (!taints.empty()) {
      slice.taints[name] = std::move(taints);
    }
  };
  ForEach(object, {"spec", "devices"}, add);
  return slice;
}

Facts FactsOf(const Dump& dump, std::string_view space, std::string_view name) {
  Facts facts;
  facts.wanted_space = space;
  facts.wanted_name = name;
  facts.listed.insert(dump.listed.begin(), dump.listed.end());
  facts.unreadable = dump.unreadable;
  facts.held = dump.held;
  FactsReader reader(facts);
  for (const json::value& item : dump.items) {
    reader.Take(item);
  }
  std::ranges::stable_sort(facts.events, {}, &Event::time);
  std::ranges::sort(facts.nodes, {}, &Node::name);
  return facts;
}

}  // namespace kgpu::explain
