#include "src/diagnose/explain/gather.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/diagnose/explain/judge.h"
#include "src/diagnose/explain/readers.h"
#include "src/kube/api/json.h"
#include "src/kube/api/query.h"
#include "src/kube/api/resource.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;

// Nodes with many images and pods with long histories take some 60 KiB each, an answer 32 MiB.
constexpr std::string_view kChunk = "250";
// Limit of one list: more than any cluster has; it ends the list of a server that never stops.
constexpr size_t kMostObjects = 200'000;
// So many requests for the pods of one node each are cheaper than the pods of a large cluster.
constexpr size_t kFewNodes = 6;

constexpr kube::Resource kCoreEvents{"", "v1", "events"};
constexpr kube::Resource kQuotas{"", "v1", "resourcequotas"};
constexpr kube::Resource kLimits{"", "v1", "limitranges"};
constexpr kube::Resource kRuntimeClasses{"node.k8s.io", "v1", "runtimeclasses"};

using Take = std::function<void(json::value&&)>;

class Gatherer {
 public:
  Gatherer(const Ask& ask, std::string_view space, std::string_view name, Dump& dump)
      : ask_(ask), space_(space), name_(name), dump_(dump) {}

  Status Run() {
    RETURN_IF_ERROR(ReadPodItself());
    ReadEvents();
    ReadRules();
    ReadClaims();
    ReadNodes();
    return OkStatus();
  }

  Status RunForClaim() {
    RETURN_IF_ERROR(ReadClaimItself());
    ListOfDra("ResourceClaim", "resourceclaims", "");
    ListOfDra("ResourceSlice", "resourceslices", "");
    ListOfDra("DeviceClass", "deviceclasses", "");
    // Kubernetes 1.36 serves them only if an admin has turned them on.
    ListOfDra("DeviceTaintRule", "devicetaintrules", "", /*is_expected=*/false);
    List("Node", kube::kNodes.Collection(), "");
    return OkStatus();
  }

 private:
  Status ReadClaimItself() {
    own_kind_ = "ResourceClaim";
    for (const std::string_view version : kube::kDraVersions) {
      const kube::Resource resource{"resource.k8s.io", version, "resourceclaims"};
      StatusOr<json::value> answer = ask_({.path = resource.Object(space_, name_)});
      if (answer.ok()) {
        Keep(own_kind_, *std::move(answer));
        return OkStatus();
      }
      if (answer.status().code() != StatusCode::kNotFound) {
        return answer.status();
      }
    }
    return OkStatus();
  }

  Status ReadPodItself() {
    StatusOr<json::value> answer = ask_({.path = kube::kPods.Object(space_, name_)});
    if (answer.status().code() == StatusCode::kNotFound) {
      is_absent_ = true;
      return OkStatus();
    }
    RETURN_IF_ERROR(answer.status());
    pod_ = ReadPod(*answer);
    Keep("Pod", *std::move(answer));
    return OkStatus();
  }

  // One of the pod, or of those that could not make it.
  void ReadEvents() {
    const std::string selector =
        is_absent_ ? "reason=FailedCreate"
                   : fmt::format("involvedObject.kind=Pod,involvedObject.name={}", name_);
    List("Event", kCoreEvents.Collection(space_), selector);
    if (is_absent_) {
      List("Pod", kube::kPods.Collection(space_), "");
    }
  }

  void ReadRules() {
    if (is_absent_ || pod_.node.empty()) {
      List("ResourceQuota", kQuotas.Collection(space_), "");
      List("LimitRange", kLimits.Collection(space_), "");
    }
    if (!pod_.runtime_class.empty()) {
      List("RuntimeClass", kRuntimeClasses.Collection(), "");
    }
  }

  void ReadClaims() {
    if (!pod_.claims.empty()) {
      ListOfDra("ResourceClaim", "resourceclaims", "");
      ListOfDra("ResourceClaimTemplate", "resourceclaimtemplates", space_);
      ListOfDra("ResourceSlice", "resourceslices", "");
    }
    // From Kubernetes 1.36 on DRA may serve extended resources; older servers may lack the API.
    if (!is_absent_ && pod_.node.empty()) {
      ListOfDra("DeviceClass", "deviceclasses", "", !pod_.claims.empty());
    }
  }

  // In the newest version that the server has.
  void ListOfDra(std::string_view kind, std::string_view plural, const std::string& space,
                 bool is_expected = true) {
    for (const std::string_view version : kube::kDraVersions) {
      const kube::Resource resource{"resource.k8s.io", version, plural};
      const StatusCode code = List(kind, resource.Collection(space), "",
                                   is_expected && version == kube::kDraVersions.back());
      if (code != StatusCode::kNotFound) {
        return;
      }
    }
  }

  void ReadNodes() {
    if (is_absent_) {
      return;
    }
    if (!pod_.node.empty()) {
      StatusOr<json::value> node = ask_({.path = kube::kNodes.Object("", pod_.node)});
      if (node.ok()) {
        Keep("Node", *std::move(node));
        dump_.listed.insert("Node");
        ReadPods();
      } else {
        NotSeen(fmt::format("node {}", pod_.node), node.status());
      }
      return;
    }
    List("Node", kube::kNodes.Collection(), "");
    ReadPods();
  }

  // Pods that hold what the pod asks for.
  void ReadPods() {
    const std::vector<std::string> nodes = NodesOfInterest();
    constexpr std::string_view kActive = "status.phase!=Succeeded,status.phase!=Failed";
    if (nodes.size() > kFewNodes) {
      List("Pod", kube::kPods.Collection(), fmt::format("spec.nodeName!=,{}", kActive), true,
           std::set<std::string>(nodes.begin(), nodes.end()));
      return;
    }
    // For a pod with claims every node may matter.
    bool is_whole = !nodes.empty() || pod_.claims.empty();
    for (const std::string& node : nodes) {
      dump_.listed.erase("Pod");
      List("Pod", kube::kPods.Collection(), fmt::format("spec.nodeName={},{}", node, kActive));
      is_whole = is_whole && dump_.Has("Pod");
    }
    if (is_whole) {
      dump_.listed.insert("Pod");
    } else {
      dump_.listed.erase("Pod");
    }
  }

  // Nodes that are judged: with devices by their kubelets, by labels, or by DRA.
  std::vector<std::string> NodesOfInterest() const {
    std::vector<std::string> nodes;
    std::set<std::string> with_slices;
    for (const json::value& item : dump_.items) {
      if (kube::TextField(item, {"kind"}) == "ResourceSlice") {
        with_slices.insert(Text(item, {"spec", "nodeName"}));
      }
    }
    for (const json::value& item : dump_.items) {
      if (kube::TextField(item, {"kind"}) != "Node") {
        continue;
      }
      const Node node = ReadNode(item);
      const bool has_devices = std::ranges::any_of(
          node.allocatable, [](const auto& entry) { return IsExtended(entry.first); });
      if (has_devices || HasGpus(node) || with_slices.contains(node.name)) {
        nodes.push_back(node.name);
      }
    }
    return nodes;
  }

  // All of a collection, in chunks. `is_expected`: that it cannot be read is worth telling.
  // Returns how the last request went.
  StatusCode List(std::string_view kind, const std::string& path, const std::string& selector,
                  bool is_expected = true, const std::set<std::string>& nodes = {}) {
    std::string next;
    size_t count = 0;
    do {
      kube::ApiRequest request{.path = path, .query = {{"limit", std::string(kChunk)}}};
      if (!selector.empty()) {
        request.query.emplace_back("fieldSelector", selector);
      }
      if (!next.empty()) {
        request.query.emplace_back("continue", next);
      }
      StatusOr<json::value> answer = ask_(std::move(request));
      if (!answer.ok()) {
        if (is_expected || answer.status().code() != StatusCode::kNotFound) {
          NotSeen(kind, answer.status());
        }
        return answer.status().code();
      }
      count += KeepItems(kind, *answer, nodes);
      next = Text(*answer, {"metadata", "continue"});
    } while (!next.empty() && count < kMostObjects);
    if (next.empty()) {
      dump_.listed.insert(std::string(kind));
    } else {
      dump_.unreadable.push_back(fmt::format("{}: more than {} objects", kind, kMostObjects));
    }
    return StatusCode::kOk;
  }

  size_t KeepItems(std::string_view kind, json::value& list, const std::set<std::string>& nodes) {
    json::value* items = list.is_object() ? list.get_object().if_contains("items") : nullptr;
    if (items == nullptr || !items->is_array()) {
      return 0;
    }
    for (json::value& item : items->get_array()) {
      const bool is_itself =
          kind == own_kind_ && kube::NameOf(item) == name_ && kube::NamespaceOf(item) == space_;
      const bool is_wanted = nodes.empty() || nodes.contains(Text(item, {"spec", "nodeName"}));
      if (is_itself || !is_wanted) {
        continue;
      }
      if (kind == "Pod") {
        SlimHolder(item);
        dump_.items.push_back(std::move(item));
      } else {
        Keep(kind, std::move(item));
      }
    }
    return items->get_array().size();
  }

  void Keep(std::string_view kind, json::value object) {
    if (Slim(object, kind)) {
      dump_.items.push_back(std::move(object));
    }
  }

  void NotSeen(std::string_view what, const Status& status) {
    dump_.unreadable.push_back(fmt::format("{}: {}", what, Message(status)));
  }

  const Ask& ask_;
  std::string space_;
  std::string name_;
  Dump& dump_;
  std::string_view own_kind_ = "Pod";
  Pod pod_;
  bool is_absent_ = false;
};

}  // namespace

StatusOr<Dump> Gather(const Ask& ask, std::string_view space, std::string_view name) {
  Dump dump;
  dump.pod = fmt::format("{}/{}", space, name);
  RETURN_IF_ERROR(Gatherer(ask, space, name, dump).Run());
  return dump;
}

StatusOr<Dump> GatherClaim(const Ask& ask, std::string_view space, std::string_view name) {
  Dump dump;
  dump.claim = fmt::format("{}/{}", space, name);
  RETURN_IF_ERROR(Gatherer(ask, space, name, dump).RunForClaim());
  return dump;
}

}  // namespace kgpu::explain
