#include "src/cli/node/node_change.h"

#include <boost/json.hpp>

#include <utility>

#include "src/cli/base/ask_agent.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/node/labels/feature_files.h"
#include "src/node/labels/node_feature.h"
#include "src/node/object/object_writer.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

constexpr kube::Resource kNodeFeatures{"nfd.k8s-sigs.io", "v1alpha1", "nodefeatures"};

StatusOr<std::set<node::Owner>> SubjectsOf(const std::string& from) {
  if (from == "all") {
    return std::set{node::Owner::kNfd, node::Owner::kGfd, node::Owner::kPlugin};
  }
  ASSIGN_OR_RETURN(const node::Owner owner, node::ParseOwner(from));
  return std::set{owner};
}

// Which of `subjects` are meant, with what is to be said of each.
StatusOr<std::set<node::Owner>> FoundOf(NodeApi& api, const std::string& name,
                                        const DecideOptions& options,
                                        std::vector<std::string>& notes) {
  StatusOr<std::set<node::Owner>> subjects = SubjectsOf(options.from);
  if (!subjects.ok()) {
    return Annotate(subjects.status(), "--from");
  }
  const Progress progress("asking the API server");
  ASSIGN_OR_RETURN(const node::SeenNode seen, api.ReadNode(name));
  node::Evidence evidence{.node = &seen};
  StatusOr<std::vector<node::SeenPod>> pods = api.ReadPods(name);
  if (pods.ok()) {
    evidence.pods = *std::move(pods);
  } else {
    notes.push_back(fmt::format("cannot list pods: {}", Message(pods.status())));
  }
  const node::Owners owners = node::FindOwners(evidence);
  for (const node::OwnerFound& found : owners.found) {
    if (subjects->contains(found.owner)) {
      notes.push_back(fmt::format("{} {} here ({})", node::TitleOf(found.owner),
                                  found.is_running ? "runs" : "was", Join(found.marks, ", ")));
      notes.push_back(fmt::format("  to remove it: {}", found.removal));
    }
  }
  if (options.from == "all") {
    std::erase_if(*subjects,
                  [&owners](node::Owner owner) { return owners.Find(owner) == nullptr; });
    if (subjects->empty()) {
      notes.emplace_back("no other owner found; set one with --from");
    }
  }
  return subjects;
}

StatusOr<ExitCode> Decide(const DecideOptions& options, node::Decision decision,
                          const std::set<node::Owner>& subjects, NodeApi& api,
                          const std::string& name, std::vector<std::string> notes) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  NodeChange change{.node = name};
  const Status status = Carry(
      api, options.common,
      [&](const node::SeenNode& seen) {
        return StatusOr<node::EditPlan>(node::PlanDecision(seen, decision, subjects));
      },
      change);
  change.notes = std::move(notes);
  return Report(options.common, format, change, status);
}

Status CheckNoAgent(const ClearOptions& options) {
  if (options.force || options.common.is_dry_run) {
    return OkStatus();
  }
  const std::string run_dir = BelowHostRoot(options.run_dir, kRunDir, options.host_root);
  ASSIGN_OR_RETURN(bool has_agent, IsAgentRunning(run_dir));
  if (has_agent && !options.common.node.empty()) {
    has_agent = NodeOfAgent(run_dir) == options.common.node;
  }
  if (has_agent) {
    return FailedPrecondition(
        "an agent is running here and would write it again: stop it first, or use --force");
  }
  return OkStatus();
}

Status ClearObject(NodeApi& api, const ClearOptions& options, const json::value& item,
                   NodeChange& change) {
  const std::string_view space = kube::NamespaceOf(item);
  const std::string_view object = kube::NameOf(item);
  const Status status =
      api.Send(kube::DeleteRequest(kNodeFeatures.Object(space, object),
                                   {.uid = std::string(kube::TextField(item, {"metadata", "uid"})),
                                    .is_dry_run = options.common.is_dry_run}))
          .status();
  if (status.ok()) {
    change.changes.push_back(fmt::format("NodeFeature - {}/{}", space, object));
  }
  return status.code() == StatusCode::kNotFound ? OkStatus() : status;
}

// NodeFeature objects of this node that are ours.
Status ClearObjects(NodeApi& api, const ClearOptions& options, NodeChange& change) {
  const Progress progress("asking the API server");
  kube::ApiRequest request;
  request.path = kNodeFeatures.Collection();
  request.query = {{"labelSelector", fmt::format("{}={}", labels::kNodeNameLabel, change.node)}};
  const StatusOr<json::value> list = api.Send(std::move(request));
  if (list.status().code() == StatusCode::kNotFound) {
    return OkStatus();  // the cluster does not know the kind
  }
  RETURN_IF_ERROR(list.status());
  const json::value* items = kube::FindField(*list, {"items"});
  if (items == nullptr || !items->is_array()) {
    return OkStatus();
  }
  Status first;
  for (const json::value& item : items->get_array()) {
    if (!kube::TextField(item, {"metadata", "annotations", node::kDigestAnnotation}).empty()) {
      first.Update(ClearObject(api, options, item, change));
    }
  }
  return first;
}

Status ClearFile(const ClearOptions& options, NodeChange& change) {
  if (!options.common.node.empty()) {
    return OkStatus();  // another host's
  }
  ASSIGN_OR_RETURN(const sys::Root root,
                   sys::Root::Open(options.host_root.empty() ? "/" : options.host_root));
  const std::string file =
      fmt::format("{}/{}", labels::kFeatureFilesFolder, labels::kOwnFeatureFile);
  if (!root.Exists(file)) {
    return OkStatus();
  }
  if (!options.common.is_dry_run) {
    RETURN_IF_ERROR(labels::RemoveFeatureFile(root, labels::kFeatureFilesFolder));
  }
  change.changes.push_back(fmt::format("file - /{}", file));
  return OkStatus();
}

bool IsSilent(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded;
}

}  // namespace

StatusOr<ExitCode> ChangeNode(const NodeOptions& options, const PlanEdit& plan) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::string name, NodeNameOf(options));
  ASSIGN_OR_RETURN(const std::unique_ptr<NodeApi> api, NodeApi::Open(options));
  NodeChange change{.node = name};
  const Status status = Carry(*api, options, plan, change);
  return Report(options, format, change, status);
}

StatusOr<ExitCode> RunAdopt(const DecideOptions& options) {
  ASSIGN_OR_RETURN(const std::string name, NodeNameOf(options.common));
  ASSIGN_OR_RETURN(const std::unique_ptr<NodeApi> api, NodeApi::Open(options.common));
  std::vector<std::string> notes;
  ASSIGN_OR_RETURN(const std::set<node::Owner> subjects, FoundOf(*api, name, options, notes));
  return Decide(options, node::Decision::kAdopt, subjects, *api, name, std::move(notes));
}

StatusOr<ExitCode> RunRelease(const DecideOptions& options) {
  StatusOr<std::set<node::Owner>> subjects = SubjectsOf(options.from);
  if (!subjects.ok()) {
    return Annotate(subjects.status(), "--from");
  }
  ASSIGN_OR_RETURN(const std::string name, NodeNameOf(options.common));
  ASSIGN_OR_RETURN(const std::unique_ptr<NodeApi> api, NodeApi::Open(options.common));
  std::vector<std::string> notes;
  if (!options.forget && subjects->contains(node::Owner::kNfd)) {
    notes.emplace_back(
        "NFD adds its labels again on its next run; to trigger it: kubectl -n "
        "node-feature-discovery rollout restart deployment nfd-master");
  }
  return Decide(options, options.forget ? node::Decision::kForget : node::Decision::kRelease,
                *subjects, *api, name, std::move(notes));
}

Status ClearNode(NodeApi& api, const ClearOptions& options, NodeChange& change) {
  Status first = Carry(
      api, options.common,
      [](const node::SeenNode& seen) { return StatusOr<node::EditPlan>(node::PlanClear(seen)); },
      change);
  // A server that does not answer is not asked again.
  if (!IsSilent(first)) {
    first.Update(ClearObjects(api, options, change));
  }
  first.Update(ClearFile(options, change));
  return first;
}

StatusOr<ExitCode> RunClear(const ClearOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  RETURN_IF_ERROR(CheckNoAgent(options));
  if (options.only_host_files) {
    return ClearOnlyHostFiles(options, format);
  }
  ASSIGN_OR_RETURN(const std::string name, NodeNameOf(options.common));
  ASSIGN_OR_RETURN(const std::unique_ptr<NodeApi> api, NodeApi::Open(options.common));
  NodeChange change{.node = name};
  const Status status = ClearNode(*api, options, change);
  return Report(options.common, format, change, status);
}

}  // namespace kgpu::cli
