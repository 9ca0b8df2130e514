#include "src/diagnose/collect/cluster.h"

#include <boost/json.hpp>

#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "src/diagnose/collect/bundle_builder.h"
#include "src/kube/api/json.h"
#include "src/kube/api/pod_proxy.h"
#include "src/platform/doc/doc.h"

namespace kgpu::collect {
namespace {

namespace json = boost::json;

constexpr std::string_view kChunk = "250";
constexpr size_t kMostOfList = size_t{8} << 20;
constexpr size_t kMostOfLog = size_t{256} << 10;
constexpr std::string_view kLogLines = "2000";

// A collection of the API; {0} is kgpu's namespace.
struct Collection {
  std::string_view file;
  std::string_view path;
  std::string_view fields{};  // a field selector
};
constexpr std::array kCollections = {
    Collection{"nodes.json", "/api/v1/nodes"},
    Collection{"pods.json", "/api/v1/namespaces/{0}/pods"},
    Collection{"configmaps.json", "/api/v1/namespaces/{0}/configmaps"},
    Collection{"events.json", "/api/v1/namespaces/{0}/events"},
    Collection{"node-events.json", "/api/v1/events", "involvedObject.kind=Node"},
    Collection{"daemonsets.json", "/apis/apps/v1/namespaces/{0}/daemonsets"},
    Collection{"deployments.json", "/apis/apps/v1/namespaces/{0}/deployments"},
    Collection{"gpupolicies.json", "/apis/kgpu.dev/v1alpha1/gpupolicies"},
    Collection{"runtimeclasses.json", "/apis/node.k8s.io/v1/runtimeclasses"},
    Collection{"resourceslices.json", "/apis/resource.k8s.io/v1/resourceslices"},
    Collection{"deviceclasses.json", "/apis/resource.k8s.io/v1/deviceclasses"},
    Collection{"resourceclaims.json", "/apis/resource.k8s.io/v1/resourceclaims"},
};

class ClusterCollector {
 public:
  explicit ClusterCollector(const ClusterDeps& deps) : deps_(deps), builder_(deps.begin) {}

  Bundle Run() {
    Read("version.json", {.path = "/version"});
    json::array pods;
    for (const Collection& collection : kCollections) {
      json::array items = List(collection);
      if (collection.file == "pods.json") {
        pods = std::move(items);
      }
    }
    size_t count = 0;
    for (const json::value& pod : pods) {
      if (++count > kMostPods) {
        builder_.Problem("logs",
                         fmt::format("{} pods: the first {} were asked", pods.size(), kMostPods));
        break;
      }
      ReadPod(pod);
    }
    return builder_.Take();
  }

 private:
  void Read(const std::string& file, kube::ApiRequest request) {
    builder_.Begin(file);
    const StatusOr<json::value> answer = deps_.ask(std::move(request));
    if (answer.ok()) {
      builder_.Add(file, doc::Print(*answer, doc::Format::kJson));
    } else {
      builder_.Problem(file, Message(answer.status()));
    }
  }

  json::array List(const Collection& collection) {
    const std::string file(collection.file);
    builder_.Begin(file);
    kube::ApiRequest request{.path = fmt::format(fmt::runtime(collection.path), deps_.space),
                             .query = {{"limit", std::string(kChunk)}}};
    if (!collection.fields.empty()) {
      request.query.emplace_back("fieldSelector", collection.fields);
    }
    json::array all;
    size_t size = 0;
    for (std::string next = "first"; !next.empty();) {
      StatusOr<json::value> answer = deps_.ask(request);
      if (!answer.ok()) {
        // Not every cluster has every kind.
        if (answer.status().code() != StatusCode::kNotFound) {
          builder_.Problem(file, Message(answer.status()));
        }
        break;
      }
      json::value* items =
          answer->is_object() ? answer->get_object().if_contains("items") : nullptr;
      for (json::value& item :
           items != nullptr && items->is_array() ? items->get_array() : json::array()) {
        Slim(item);
        size += kube::BodyOf(item).size();
        all.push_back(std::move(item));
      }
      if (size > kMostOfList) {
        builder_.Problem(file, fmt::format("the first {} objects were taken", all.size()));
        break;
      }
      next = kube::TextField(*answer, {"metadata", "continue"});
      std::erase_if(request.query, [](const auto& entry) { return entry.first == "continue"; });
      request.query.emplace_back("continue", next);
    }
    if (!all.empty()) {
      builder_.Add(file, doc::Print(json::value(all), doc::Format::kJson));
    }
    return all;
  }

  // Long, and of no help.
  static void Slim(json::value& object) {
    if (!object.is_object()) {
      return;
    }
    if (json::value* metadata = object.get_object().if_contains("metadata");
        metadata != nullptr && metadata->is_object()) {
      metadata->get_object().erase("managedFields");
    }
    if (json::value* status = object.get_object().if_contains("status");
        status != nullptr && status->is_object()) {
      status->get_object().erase("images");
    }
  }

  void ReadPod(const json::value& pod) {
    const std::string name(kube::NameOf(pod));
    const std::string path = fmt::format("/api/v1/namespaces/{}/pods/{}", deps_.space, name);
    const auto log = [&](const std::string& file, const char* previous) {
      ReadText(file, {.path = path + "/log",
                      .query = {{"tailLines", std::string(kLogLines)},
                                {"timestamps", "true"},
                                {"previous", previous}}});
    };
    log(fmt::format("logs/{}.log", name), "false");
    if (HasRestarted(pod)) {
      log(fmt::format("logs/{}.previous.log", name), "true");
    }
    // An agent's metrics and document.
    if (const std::string proxy = kube::ProxyPathOf(pod, "metrics"); !proxy.empty()) {
      ReadText(fmt::format("live/{}.json", name), {.path = proxy + "/live"});
      ReadText(fmt::format("live/{}.metrics", name), {.path = proxy + "/metrics"});
    }
  }

  void ReadText(const std::string& file, const kube::ApiRequest& request) {
    builder_.Begin(file);
    StatusOr<std::string> text = deps_.read_text(request, kMostOfLog);
    if (text.ok()) {
      builder_.Add(file, *std::move(text));
    } else {
      builder_.Problem(file, Message(text.status()));
    }
  }

  static bool HasRestarted(const json::value& pod) {
    for (const json::value& status : kube::ArrayField(pod, {"status", "containerStatuses"})) {
      if (kube::IntField(status, {"restartCount"}).value_or(0) > 0) {
        return true;
      }
    }
    return false;
  }

  const ClusterDeps& deps_;
  BundleBuilder builder_;
};

}  // namespace

Bundle CollectCluster(const ClusterDeps& deps) {
  return ClusterCollector(deps).Run();
}

}  // namespace kgpu::collect
