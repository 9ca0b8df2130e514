#include "src/cluster/install/uninstaller.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "src/cluster/install/host_traces.h"
#include "src/cluster/install/installer.h"
#include "src/cluster/install/leftovers.h"
#include "src/cluster/install/node_traces.h"
#include "src/cluster/install/record.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/objects/remove_set.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;
using kube::ObjectRef;
using kube::RemoveTarget;

constexpr std::chrono::milliseconds kUninstallReach{30'000};
constexpr std::string_view kAgentName = "kgpu-agent";

// An agent's node has some ninety labels: "92 labels, taint - kgpu.dev/not-ready:NoSchedule".
std::string ChangesOf(const ClearedNode& node) {
  constexpr size_t kShown = 3;
  std::map<std::string_view, std::vector<std::string>> by_title;  // "label", "annotation", …
  for (const std::string& change : node.changes) {
    by_title[std::string_view(change).substr(0, change.find(" - "))].push_back(change);
  }
  std::vector<std::string> parts;
  for (const auto& [title, changes] : by_title) {
    if (changes.size() > kShown) {
      parts.push_back(
          fmt::format("{} {}{}", changes.size(), title, title.ends_with('s') ? "" : "s"));
    } else {
      parts.insert(parts.end(), changes.begin(), changes.end());
    }
  }
  return Join(parts, ", ");
}

class Uninstaller {
 public:
  Uninstaller(kube::BlockingClient& client, kube::Kinds& kinds, const UninstallRequest& request,
              UninstallReport& report)
      : client_(client), kinds_(kinds), request_(request), report_(report) {}

  Status Run() {
    RETURN_IF_ERROR(FindObjects());
    RETURN_IF_ERROR(CheckTaken());
    RETURN_IF_ERROR(CheckPolicies());
    RETURN_IF_ERROR(CheckFunctions());
    RETURN_IF_ERROR(CheckPods());
    RETURN_IF_ERROR(RecordHosts());
    RETURN_IF_ERROR(Remove(kube::kWorkloadOrder));
    RETURN_IF_ERROR(RemoveFunctions());
    RETURN_IF_ERROR(RemoveNodePods());
    RETURN_IF_ERROR(ClearNodes());
    Status hosts = ClearHostFiles();
    if (!hosts.ok() && hosts.code() != StatusCode::kFailedPrecondition) {
      return hosts;
    }
    RETURN_IF_ERROR(Remove(kRestOrder));
    RETURN_IF_ERROR(Release());
    RETURN_IF_ERROR(RemoveFunctionSpaces());
    RETURN_IF_ERROR(RemoveSpace());
    return hosts;
  }

 private:
  // Above definitions and the namespace.
  static constexpr int kRestOrder = 2;

  // Everything that the record or our label names, as it is now.
  Status FindObjects() {
    ASSIGN_OR_RETURN(record_, ReadRecord(client_, request_.space));
    std::set<ObjectRef> existed;
    std::set<ObjectRef> refs;
    for (const InstalledObject& object :
         record_ ? record_->objects : std::vector<InstalledObject>()) {
      refs.insert(object.ref);
      if (object.existed) {
        existed.insert(object.ref);
      }
    }
    ASSIGN_OR_RETURN(const std::vector<ObjectRef> labelled, FindLabelled(client_, kinds_));
    for (const ObjectRef& ref : labelled) {
      if (ref.space.empty() || ref.space == request_.space || IsOfFunctions(ref)) {
        refs.insert(ref);
      } else if (!record_ && ref.kind == "DaemonSet" && ref.name == kAgentName) {
        return NotFound("kgpu is not installed in namespace {}, but in {}: set --namespace {}",
                        request_.space, ref.space, ref.space);
      }
    }
    if (!record_ && refs.empty()) {
      return NotFound("kgpu is not installed in namespace {}: set --namespace if it is in another",
                      request_.space);
    }
    for (const ObjectRef& ref : refs) {
      RETURN_IF_ERROR(LookAt(ref, existed.contains(ref)));
      if (!ref.space.empty() && ref.space != request_.space) {
        function_spaces_.insert(ref.space);
      }
    }
    return FindAgents();
  }

  // Of an installation without a record: what the chart puts into the namespaces of functions.
  static bool IsOfFunctions(const ObjectRef& ref) {
    return ref.name == kGatewayManager || ref.name == "kgpu-functions";
  }

  Status LookAt(const ObjectRef& ref, bool existed) {
    const StatusOr<std::string> path = kinds_.PathOf(ref);
    if (path.status().code() == StatusCode::kNotFound) {
      return OkStatus();
    }
    RETURN_IF_ERROR(path.status());
    StatusOr<json::value> live = kube::SendUntilReached(client_, {.path = *path}, kUninstallReach);
    if (live.status().code() == StatusCode::kNotFound) {
      return OkStatus();
    }
    RETURN_IF_ERROR(live.status());
    const bool is_record = ref.kind == "ConfigMap" && ref.name == kRecordName;
    if (existed) {
      to_release_.push_back(ref);
    } else if (!IsOurs(*live)) {
      report_.stays.push_back(
          fmt::format("{}: is managed by {} now", kube::TextOf(ref), OtherManagerOf(*live)));
    } else if (!is_record) {
      targets_.push_back({ref, std::string(kube::TextField(*live, {"metadata", "uid"}))});
    }
    if (ref.kind == "DaemonSet" && ref.name == kAgentName) {
      agent_ = *std::move(live);
    }
    return OkStatus();
  }

  // Where agents run or have run.
  Status FindAgents() {
    if (agent_.is_null()) {
      ContinueClearing();
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<json::value> pods,
                     kube::ListAll(client_, kube::kPods.Collection(request_.space),
                                   fmt::format("app.kubernetes.io/name={}", kAgentName)));
    std::set<std::string> nodes;
    for (const json::value& pod : pods) {
      if (const std::string_view node = kube::TextField(pod, {"spec", "nodeName"}); !node.empty()) {
        nodes.emplace(node);
      }
    }
    // Where they ran when an interrupted run began.
    if (record_) {
      for (std::string& host : doc::TextsOf(record_->clearing.if_contains("hosts"))) {
        nodes.insert(std::move(host));
      }
    }
    hosts_.assign(nodes.begin(), nodes.end());
    return OkStatus();
  }

  // An interrupted run has removed the agents, and recorded where they ran.
  void ContinueClearing() {
    if (!record_ || !record_->clearing.contains("daemonSet")) {
      return;
    }
    agent_ = record_->clearing.at("daemonSet");
    hosts_ = doc::TextsOf(record_->clearing.if_contains("hosts"));
  }

  // Before the agents go: nothing else knows afterwards which hosts have files of theirs.
  Status RecordHosts() {
    if (request_.is_dry_run || hosts_.empty() || request_.keeps_hosts) {
      return OkStatus();
    }
    Record record = record_.value_or(Record{});
    json::value daemon_set = agent_;
    daemon_set.as_object().erase("status");
    daemon_set.as_object().at("metadata").as_object().erase("managedFields");
    record.clearing = {{"daemonSet", std::move(daemon_set)}, {"hosts", doc::Texts(hosts_)}};
    return WriteRecord(client_, request_.space, record);
  }

  Status CheckTaken() {
    if (request_.hands_back) {
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<json::value> nodes,
                     kube::ListAll(client_, kube::kNodes.Collection(), "kgpu.dev/taken-over=true"));
    std::vector<std::string> names;
    names.reserve(nodes.size());
    for (const json::value& node : nodes) {
      names.emplace_back(kube::NameOf(node));
    }
    return names.empty()
               ? OkStatus()
               : FailedPrecondition(
                     "nodes were taken over from other software ({}), which would stay away from "
                     "them: first run kgpu cluster adopt --hand-back, or --finish; nothing was "
                     "changed",
                     SomeOf(names));
  }

  Status CheckPolicies() {
    if (request_.keeps_policies) {
      std::erase_if(targets_, [](const RemoveTarget& target) {
        return target.ref.kind == "CustomResourceDefinition";
      });
      report_.stays.emplace_back("GpuPolicies and their definition: --keep-policies");
      return OkStatus();
    }
    if (request_.deletes_policies) {
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> policies, FindPolicies(client_));
    return policies.empty()
               ? OkStatus()
               : FailedPrecondition(
                     "GpuPolicies exist ({}): remove them too with --delete-policies, or keep "
                     "them and their definition with --keep-policies; nothing was changed",
                     SomeOf(policies));
  }

  Status CheckFunctions() {
    ASSIGN_OR_RETURN(functions_, FindFunctions(client_));
    if (functions_.empty() || request_.deletes_functions) {
      return OkStatus();
    }
    std::vector<std::string> names;
    names.reserve(functions_.size());
    for (const ObjectRef& function : functions_) {
      names.push_back(fmt::format("{}/{}", function.space, function.name));
    }
    return FailedPrecondition(
        "functions are deployed ({}): remove them too with --delete-functions, or delete them "
        "with kgpu fn delete; nothing was changed",
        SomeOf(names));
  }

  // The gateway is gone, and makes no new ones.
  Status RemoveFunctions() {
    std::vector<RemoveTarget> targets;
    for (const ObjectRef& function : functions_) {
      function_spaces_.insert(function.space);
      targets.push_back({function, ""});
    }
    return RemoveNow(std::move(targets));
  }

  Status CheckPods() {
    if (request_.forces || hosts_.empty()) {
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> pods,
                     FindGpuPods(client_, std::set(hosts_.begin(), hosts_.end())));
    return pods.empty()
               ? OkStatus()
               : FailedPrecondition(
                     "{} pods use GPUs ({}): they would keep running, but their containers could "
                     "not be started again: stop them first, or use --force; nothing was changed",
                     pods.size(), SomeOf(pods));
  }

  // The targets of this order and above.
  Status Remove(int order) {
    std::vector<RemoveTarget> now;
    std::erase_if(targets_, [&](const RemoveTarget& target) {
      const bool is_now = kube::OrderOf(target.ref) >= order;
      if (is_now) {
        now.push_back(target);
      }
      return is_now;
    });
    return RemoveNow(std::move(now));
  }

  Status RemoveNow(std::vector<RemoveTarget> targets) {
    const std::vector<kube::RemoveResult> results = kube::RemoveObjects(
        client_, kinds_, std::move(targets),
        {.is_dry_run = request_.is_dry_run,
         .gone_time = request_.time,
         .on_result = [this](const kube::RemoveResult& result) { Note(result); }});
    return kube::StatusOfResults(results);
  }

  // Those that the controller has started on nodes since they were looked for: now it is gone.
  Status RemoveNodePods() {
    if (request_.is_dry_run) {
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<ObjectRef> pods, FindNodePods(client_, request_.space));
    for (const ObjectRef& ref : pods) {
      targets_.push_back({ref, ""});
    }
    return Remove(kube::kWorkloadOrder);
  }

  void Note(const kube::RemoveResult& result) {
    if (result.outcome == kube::RemoveOutcome::kRemoved) {
      Removed(kube::TextOf(result.ref));
    } else if (result.outcome == kube::RemoveOutcome::kReplaced) {
      report_.stays.push_back(
          fmt::format("{}: was created again meanwhile", kube::TextOf(result.ref)));
    }
  }

  Status ClearNodes() {
    ASSIGN_OR_RETURN(
        const std::vector<ClearedNode> nodes,
        ClearTraces(client_,
                    {.is_dry_run = request_.is_dry_run, .on_node = [this](const ClearedNode& node) {
                       Removed(fmt::format("node {}: {}", node.name, ChangesOf(node)));
                     }}));
    for (const ClearedNode& node : nodes) {
      RETURN_IF_ERROR(Annotate(node.status, "node {}", node.name));
    }
    return OkStatus();
  }

  // Errors: FailedPrecondition if files may be left: the rest can go on.
  Status ClearHostFiles() {
    if (hosts_.empty() || request_.keeps_hosts) {
      return OkStatus();
    }
    if (request_.is_dry_run) {
      Removed(fmt::format("files of the agents on {} {} ({})", hosts_.size(),
                          hosts_.size() == 1 ? "host" : "hosts", SomeOf(hosts_)));
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<ClearedHost> hosts,
                     ClearHosts(client_, agent_, hosts_,
                                {.time = request_.time, .on_progress = request_.on_progress}));
    std::vector<std::string> problems;
    std::vector<std::string> failed;
    for (const ClearedHost& host : hosts) {
      if (host.status.ok()) {
        Removed(fmt::format("host {}: files of the agent", host.node));
      } else {
        failed.push_back(host.node);
        problems.push_back(fmt::format("{} ({})", host.node, Message(host.status)));
      }
    }
    return failed.empty()
               ? OkStatus()
               : FailedPrecondition(
                     "files of the agent may be left on {}: everything else is removed; there, "
                     "run: kgpu node clear --host-files",
                     SomeOf(problems));
  }

  Status Release() {
    for (const ObjectRef& ref : to_release_) {
      report_.stays.push_back(
          fmt::format("{}: existed before; our fields were taken from it", kube::TextOf(ref)));
      if (!request_.is_dry_run) {
        RETURN_IF_ERROR(ReleaseFields(client_, kinds_, ref));
      }
    }
    return OkStatus();
  }

  // What the gateway kept beside functions, and the namespaces that were made for them: not those
  // that hold something else, such as a secret.
  Status RemoveFunctionSpaces() {
    for (const std::string& space : function_spaces_) {
      ASSIGN_OR_RETURN(const SpaceContents contents, LookIntoSpace(client_, kinds_, space));
      std::vector<RemoveTarget> targets;
      // In a dry run, what was to be removed before is still there.
      for (const ObjectRef& ref : request_.is_dry_run ? std::vector<ObjectRef>() : contents.own) {
        targets.push_back({ref, ""});
      }
      const auto made = FindSpace(space);
      const bool is_ours = made != targets_.end();
      if (is_ours) {
        if (contents.foreign.empty()) {
          targets.push_back(*made);
        }
        targets_.erase(made);
      }
      RETURN_IF_ERROR(RemoveNow(std::move(targets)));
      if (is_ours && !contents.foreign.empty()) {
        RETURN_IF_ERROR(KeepSpace(space, contents.foreign));
      }
    }
    return OkStatus();
  }

  std::vector<RemoveTarget>::iterator FindSpace(const std::string& space) {
    return std::ranges::find_if(targets_, [&](const RemoveTarget& target) {
      return target.ref.kind == "Namespace" && target.ref.name == space;
    });
  }

  // Definitions and the namespace, with the record in it, come last: until then an interrupted run
  // can be continued.
  Status RemoveSpace() {
    ASSIGN_OR_RETURN(const SpaceContents contents, LookIntoSpace(client_, kinds_, request_.space));
    const auto space = FindSpace(request_.space);
    const bool is_ours = space != targets_.end();
    if (is_ours && contents.foreign.empty()) {
      return Remove(0);
    }
    if (is_ours) {
      targets_.erase(space);
    }
    // In a dry run, what was to be removed before is still there.
    for (const ObjectRef& ref : request_.is_dry_run ? std::vector<ObjectRef>() : contents.own) {
      targets_.push_back({ref, ""});
    }
    RETURN_IF_ERROR(Remove(0));
    RETURN_IF_ERROR(RemoveRecord());
    return is_ours ? KeepSpace(request_.space, contents.foreign) : OkStatus();
  }

  Status KeepSpace(const std::string& space, const std::vector<ObjectRef>& foreign) {
    std::vector<std::string> names;
    names.reserve(foreign.size());
    for (const ObjectRef& ref : foreign) {
      names.push_back(kube::TextOf(ref));
    }
    report_.stays.push_back(fmt::format("Namespace {}: holds {}", space, SomeOf(names)));
    return request_.is_dry_run ? OkStatus()
                               : ReleaseFields(client_, kinds_, {"v1", "Namespace", "", space});
  }

  Status RemoveRecord() {
    const std::vector<kube::RemoveResult> results = kube::RemoveObjects(
        client_, kinds_, {{.ref = {"v1", "ConfigMap", request_.space, std::string(kRecordName)}}},
        {.is_dry_run = request_.is_dry_run,
         .gone_time = request_.time,
         .on_result = [this](const kube::RemoveResult& result) { Note(result); }});
    return kube::StatusOfResults(results);
  }

  void Removed(std::string text) {
    if (request_.on_progress) {
      request_.on_progress(fmt::format("{} removed", text));
    }
    report_.removed.push_back(std::move(text));
  }

  kube::BlockingClient& client_;
  kube::Kinds& kinds_;
  const UninstallRequest& request_;
  UninstallReport& report_;
  std::optional<Record> record_;
  std::vector<RemoveTarget> targets_;
  std::vector<ObjectRef> to_release_;
  std::vector<ObjectRef> functions_;
  std::set<std::string> function_spaces_;
  json::value agent_;               // the DaemonSet; null if it is gone
  std::vector<std::string> hosts_;  // where its pods run
};

}  // namespace

Status Uninstall(kube::BlockingClient& client, kube::Kinds& kinds, const UninstallRequest& request,
                 UninstallReport& report) {
  return Uninstaller(client, kinds, request, report).Run();
}

}  // namespace kgpu::install
