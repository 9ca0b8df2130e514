#include "src/cli/node_change.h"

#include <boost/json.hpp>

#include <algorithm>
#include <utility>

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/cli/ask_agent.h"
#include "src/cli/output.h"
#include "src/http/client.h"
#include "src/kube/json.h"
#include "src/kube/resource.h"
#include "src/kube/writes.h"
#include "src/labels/feature_files.h"
#include "src/labels/node_feature.h"
#include "src/node/object_writer.h"
#include "src/sys/root.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

constexpr kube::Resource kNodeFeatures{"nfd.k8s-sigs.io", "v1alpha1", "nodefeatures"};
// Steps of one plan, and tries when the node changes meanwhile: a node that changes all the time
// is not waited for.
constexpr int kMaxSteps = 30;

json::array TextsJson(const std::vector<std::string>& texts) {
  json::array array;
  for (const std::string& text : texts) {
    array.emplace_back(text);
  }
  return array;
}

// What was done to which node.
struct Done {
  std::string node;
  std::vector<std::string> changes;
  std::vector<std::string> notes;
};

Status Print(const NodeOptions& options, OutputFormat format, const Done& done) {
  if (format != OutputFormat::kTable) {
    const json::object object{{"node", done.node},
                              {"dryRun", options.is_dry_run},
                              {"changes", TextsJson(done.changes)},
                              {"notes", TextsJson(done.notes)}};
    return PrintOut(Render(object, format));
  }
  std::string text;
  for (const std::string& change : done.changes) {
    text += fmt::format("{}: {}{}\n", done.node, change, options.is_dry_run ? " (dry run)" : "");
  }
  if (done.changes.empty()) {
    text += fmt::format("{}: nothing to do\n", done.node);
  }
  RETURN_IF_ERROR(PrintOut(text));
  for (const std::string& note : done.notes) {
    PrintNote(note);
  }
  return OkStatus();
}

// Sends what `plan` asks for until it asks for nothing more; gives what the first one meant to do.
StatusOr<Done> Carry(NodeApi& api, const NodeOptions& options, const std::string& name,
                     const PlanEdit& plan) {
  ASSIGN_OR_RETURN(node::SeenNode seen, api.ReadNode(name));
  ASSIGN_OR_RETURN(node::EditPlan step, plan(seen));
  Done done{name, step.changes, step.notes};
  for (int i = 0; step.request && i < kMaxSteps; ++i) {
    kube::ApiRequest request = *std::move(step.request);
    if (options.is_dry_run) {
      request.query.emplace_back("dryRun", "All");
    }
    const StatusOr<json::value> answer = api.Send(std::move(request));
    if (options.is_dry_run) {
      RETURN_IF_ERROR(answer.status());
      return done;
    }
    if (answer.status().code() == StatusCode::kAborted) {
      ASSIGN_OR_RETURN(seen, api.ReadNode(name));
    } else {
      RETURN_IF_ERROR(answer.status());
      ASSIGN_OR_RETURN(seen, node::ReadNode(*answer));
    }
    StatusOr<node::EditPlan> next = plan(seen);
    // A taint that is to go is gone now.
    step = next.ok() ? *std::move(next) : node::EditPlan{};
  }
  if (step.request) {
    return MakeStatus(
        StatusCode::kUnavailable,
        fmt::format("node {}: somebody else changes it all the time: try again", name));
  }
  return done;
}

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
  ASSIGN_OR_RETURN(const node::SeenNode seen, api.ReadNode(name));
  node::Evidence evidence{.node = &seen};
  StatusOr<std::vector<node::SeenPod>> pods = api.ReadPods(name);
  if (pods.ok()) {
    evidence.pods = *std::move(pods);
  } else {
    notes.push_back(fmt::format("pods are not known: {}", Message(pods.status())));
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
      notes.emplace_back("no other owner is known here; --from names one nevertheless");
    }
  }
  return subjects;
}

StatusOr<ExitCode> Decide(const DecideOptions& options, node::Decision decision,
                          const std::set<node::Owner>& subjects, NodeApi& api,
                          const std::string& name, std::vector<std::string> notes) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  ASSIGN_OR_RETURN(Done done, Carry(api, options.common, name, [&](const node::SeenNode& seen) {
                     return StatusOr<node::EditPlan>(node::PlanDecision(seen, decision, subjects));
                   }));
  done.notes = std::move(notes);
  RETURN_IF_ERROR(Print(options.common, format, done));
  return ExitCode::kOk;
}

Status CheckNoAgent(const ClearOptions& options) {
  if (options.force || options.common.is_dry_run || !options.common.node.empty()) {
    return OkStatus();
  }
  http::Request request;
  request.target = "/healthz";
  if (http::Fetch(options.run_dir + "/agent.sock", request).ok()) {
    return FailedPrecondition(
        "an agent runs here and would write it all again: stop it first, or say --force");
  }
  return OkStatus();
}

// NodeFeature objects of this node that are ours.
Status ClearObjects(NodeApi& api, const ClearOptions& options, const std::string& name,
                    Done& done) {
  kube::ApiRequest request;
  request.path = kNodeFeatures.Collection();
  request.query = {{"labelSelector", fmt::format("{}={}", labels::kNodeNameLabel, name)}};
  const StatusOr<json::value> list = api.Send(std::move(request));
  if (list.status().code() == StatusCode::kNotFound) {
    return OkStatus();  // the cluster does not know the kind
  }
  RETURN_IF_ERROR(list.status());
  const json::value* items = kube::FindField(*list, {"items"});
  if (items == nullptr || !items->is_array()) {
    return OkStatus();
  }
  for (const json::value& item : items->get_array()) {
    if (kube::TextField(item, {"metadata", "annotations", node::kDigestAnnotation}).empty()) {
      continue;
    }
    const std::string_view space = kube::NamespaceOf(item);
    const std::string_view object = kube::NameOf(item);
    done.changes.push_back(fmt::format("NodeFeature - {}/{}", space, object));
    const Status status =
        api.Send(
               kube::DeleteRequest(kNodeFeatures.Object(space, object),
                                   {.uid = std::string(kube::TextField(item, {"metadata", "uid"})),
                                    .is_dry_run = options.common.is_dry_run}))
            .status();
    if (!status.ok() && status.code() != StatusCode::kNotFound) {
      return status;
    }
  }
  return OkStatus();
}

Status ClearFile(const ClearOptions& options, Done& done) {
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
  done.changes.push_back(fmt::format("file - /{}", file));
  return options.common.is_dry_run ? OkStatus()
                                   : labels::RemoveFeatureFile(root, labels::kFeatureFilesFolder);
}

}  // namespace

StatusOr<ExitCode> ChangeNode(const NodeOptions& options, const PlanEdit& plan) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const std::string name, NodeNameOf(options));
  ASSIGN_OR_RETURN(const std::unique_ptr<NodeApi> api, NodeApi::Open(options));
  ASSIGN_OR_RETURN(const Done done, Carry(*api, options, name, plan));
  RETURN_IF_ERROR(Print(options, format, done));
  return ExitCode::kOk;
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
        "NFD sets labels again when it looks next; at once after: kubectl -n "
        "node-feature-discovery rollout restart deployment nfd-master");
  }
  return Decide(options, options.forget ? node::Decision::kForget : node::Decision::kRelease,
                *subjects, *api, name, std::move(notes));
}

StatusOr<ExitCode> RunClear(const ClearOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  RETURN_IF_ERROR(CheckNoAgent(options));
  ASSIGN_OR_RETURN(const std::string name, NodeNameOf(options.common));
  ASSIGN_OR_RETURN(const std::unique_ptr<NodeApi> api, NodeApi::Open(options.common));
  ASSIGN_OR_RETURN(Done done, Carry(*api, options.common, name, [](const node::SeenNode& seen) {
                     return StatusOr<node::EditPlan>(node::PlanClear(seen));
                   }));
  RETURN_IF_ERROR(ClearObjects(*api, options, name, done));
  RETURN_IF_ERROR(ClearFile(options, done));
  RETURN_IF_ERROR(Print(options.common, format, done));
  return ExitCode::kOk;
}

}  // namespace kgpu::cli
