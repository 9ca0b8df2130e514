#include "src/cluster/install/host_traces.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/kube/objects/readiness.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr milliseconds kHostReach{30'000};
constexpr milliseconds kHostPause{1'000};

// What a container takes over from the agent's.
constexpr std::array kContainerKeys = {"image", "imagePullPolicy", "securityContext"};
// The host's processes, since daemons of MPS outlive agents and keep their files.
constexpr std::array kPodKeys = {"imagePullSecrets", "serviceAccountName", "priorityClassName",
                                 "hostPID"};

// Where agents leave files. Not /var/lib/kgpu itself: a mount point cannot be removed.
constexpr std::array<std::pair<const char*, const char*>, 4> kFolders = {
    {{"run", "/run"}, {"etc", "/etc"}, {"var-lib", "/var/lib"}, {"dev-shm", "/dev/shm"}}};

json::object Taken(const json::value& from, std::span<const char* const> keys) {
  json::object taken;
  for (const char* key : keys) {
    if (const json::value* value = kube::FindField(from, {key})) {
      taken[key] = *value;
    }
  }
  return taken;
}

// The kubelet's folder on the hosts, by the agent's volume; empty: the usual one.
std::string KubeletFolder(const json::value& pod_spec) {
  const json::value* volumes = kube::FindField(pod_spec, {"volumes"});
  for (const json::value& volume :
       volumes != nullptr && volumes->is_array() ? volumes->get_array() : json::array()) {
    const std::string_view path = kube::TextField(volume, {"hostPath", "path"});
    if (kube::TextField(volume, {"name"}) == "kubelet" && path != "/var/lib/kubelet") {
      return std::string(path);
    }
  }
  return "";
}

const json::value* AgentContainer(const json::value& daemon_set) {
  const json::value* containers =
      kube::FindField(daemon_set, {"spec", "template", "spec", "containers"});
  if (containers == nullptr || !containers->is_array() || containers->get_array().empty()) {
    return nullptr;
  }
  return &containers->get_array().front();
}

// The pods of one batch of nodes, from their creation to their removal.
class Batch {
 public:
  Batch(kube::BlockingClient& client, const json::value& daemon_set,
        const ClearHostsOptions& options)
      : client_(client), daemon_set_(daemon_set), options_(options) {}

  Status Start(const std::string& node) {
    ASSIGN_OR_RETURN(const json::object pod, ClearingPod(daemon_set_, node));
    const std::string space(kube::NamespaceOf(daemon_set_));
    const std::string path = kube::kPods.Object(space, kube::NameOf(pod));
    // One of an interrupted run has done its work or will.
    ASSIGN_OR_RETURN(const kube::ApiRequest request,
                     kube::ApplyRequest(path, pod, true, {.field_manager = "kgpu-cluster"}));
    const Status status = kube::SendUntilReached(client_, request, kHostReach).status();
    paths_[node] = path;
    results_[node] = status;
    return OkStatus();
  }

  std::vector<ClearedHost> Finish() {
    const SteadyTime until = client_.clock().Now() + options_.time;
    while (LookAtAll() && client_.clock().Now() + kHostPause <= until) {
      client_.Wait(kHostPause);
    }
    std::vector<ClearedHost> cleared;
    for (const auto& [node, path] : paths_) {
      Status status = results_[node];
      if (status.ok() && !done_[node]) {
        status = DeadlineExceeded("the clearing pod did not finish{}{}",
                                  texts_[node].empty() ? "" : ": ", texts_[node]);
      }
      (void)kube::SendUntilReached(
          client_, kube::DeleteRequest(path, {.grace = std::chrono::seconds(0)}), kHostReach);
      cleared.push_back({.node = node, .status = std::move(status)});
    }
    return cleared;
  }

 private:
  // True while one has not ended.
  bool LookAtAll() {
    bool waits = false;
    for (const auto& [node, path] : paths_) {
      if (!done_[node] && results_[node].ok()) {
        Look(node, path);
        waits = waits || (!done_[node] && results_[node].ok());
      }
    }
    return waits;
  }

  void Look(const std::string& node, const std::string& path) {
    const StatusOr<json::value> pod = kube::SendUntilReached(client_, {.path = path}, kHostReach);
    if (!pod.ok()) {
      results_[node] = pod.status();
      return;
    }
    const std::string_view phase = kube::TextField(*pod, {"status", "phase"});
    texts_[node] = kube::ReadinessOf(*pod).text;
    done_[node] = phase == "Succeeded";
    if (phase == "Failed") {
      results_[node] = FailedPrecondition("{}", texts_[node]);
    }
  }

  kube::BlockingClient& client_;
  const json::value& daemon_set_;
  const ClearHostsOptions& options_;
  std::map<std::string, std::string> paths_;  // by node
  std::map<std::string, Status> results_;
  std::map<std::string, bool> done_;
  std::map<std::string, std::string> texts_;
};

}  // namespace

StatusOr<json::object> ClearingPod(const json::value& daemon_set, const std::string& node) {
  const json::value* container = AgentContainer(daemon_set);
  const json::value* pod_spec = kube::FindField(daemon_set, {"spec", "template", "spec"});
  if (container == nullptr || pod_spec == nullptr) {
    return InvalidArgument("the agent's DaemonSet has no container");
  }
  json::object own = Taken(*container, kContainerKeys);
  own["name"] = "clear";
  json::array args = {"node", "clear", "--host-files", "--host-root=/host"};
  own["terminationMessagePolicy"] = "FallbackToLogsOnError";
  json::object spec = Taken(*pod_spec, kPodKeys);
  json::array mounts;
  json::array volumes;
  const auto mount = [&](std::string_view name, std::string_view path) {
    mounts.push_back({{"name", name}, {"mountPath", fmt::format("/host{}", path)}});
    volumes.push_back({{"name", name}, {"hostPath", {{"path", path}}}});
  };
  for (const auto& [name, path] : kFolders) {
    mount(name, path);
  }
  if (const std::string kubelet = KubeletFolder(*pod_spec); !kubelet.empty()) {
    mount("kubelet", kubelet);
    args.emplace_back(fmt::format("--kubelet-dir=/host{}", kubelet));
  }
  own["args"] = std::move(args);
  own["volumeMounts"] = std::move(mounts);
  spec["volumes"] = std::move(volumes);
  spec["containers"] = json::array{std::move(own)};
  spec["nodeName"] = node;
  spec["restartPolicy"] = "Never";
  spec["automountServiceAccountToken"] = false;
  spec["tolerations"] = json::array{{{"operator", "Exists"}}};
  constexpr std::string_view kPrefix = "kgpu-clear-";
  constexpr size_t kMaxName = 253;
  return json::object{{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"metadata",
                       {{"name", fmt::format("{}{}", kPrefix, node).substr(0, kMaxName)},
                        {"namespace", json::string(kube::NamespaceOf(daemon_set))},
                        {"labels",
                         {{"app.kubernetes.io/name", "kgpu-clear"},
                          {"app.kubernetes.io/part-of", "kgpu"},
                          {"app.kubernetes.io/managed-by", "kgpu-cluster"}}}}},
                      {"spec", std::move(spec)}};
}

StatusOr<std::vector<ClearedHost>> ClearHosts(kube::BlockingClient& client,
                                              const json::value& daemon_set,
                                              const std::vector<std::string>& nodes,
                                              const ClearHostsOptions& options) {
  std::vector<ClearedHost> cleared;
  for (size_t begin = 0; begin < nodes.size(); begin += options.at_once) {
    Batch batch(client, daemon_set, options);
    const size_t end = std::min(begin + options.at_once, nodes.size());
    for (size_t i = begin; i < end; ++i) {
      RETURN_IF_ERROR(batch.Start(nodes[i]));
    }
    for (ClearedHost& host : batch.Finish()) {
      cleared.push_back(std::move(host));
    }
    if (options.on_progress) {
      options.on_progress(fmt::format("{} of {} hosts cleared", end, nodes.size()));
    }
  }
  return cleared;
}

}  // namespace kgpu::install
