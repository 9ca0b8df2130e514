#include "src/cli/node/node_carry.h"

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/cli/base/progress.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

// Steps of one plan, and tries when the node changes meanwhile: a node that changes all the time
// is not waited for.
constexpr int kMaxSteps = 30;

Status PrintChange(const NodeOptions& options, OutputFormat format, const NodeChange& change) {
  if (format != OutputFormat::kTable) {
    const json::object object{{"node", change.node},
                              {"dryRun", options.is_dry_run},
                              {"changes", doc::Texts(change.changes)},
                              {"notes", doc::Texts(change.notes)}};
    return PrintOut(Render(object, format));
  }
  std::string text;
  for (const std::string& line : change.changes) {
    text += fmt::format("{}: {}{}\n", change.node, line, options.is_dry_run ? " (dry run)" : "");
  }
  if (change.changes.empty()) {
    text += fmt::format("{}: no changes\n", change.node);
  }
  RETURN_IF_ERROR(PrintOut(text));
  PrintNotes(change.notes);
  return OkStatus();
}

// One plan on its way to the server.
class Carrier {
 public:
  Carrier(NodeApi& api, const NodeOptions& options, const PlanEdit& plan, NodeChange& change)
      : api_(api), options_(options), plan_(plan), change_(change) {}

  Status Run() {
    const Status status = Steps();
    if (status.ok()) {
      change_.changes = meant_;
    } else {
      // Changes that a plan no longer asks for are done.
      std::ranges::copy_if(meant_, std::back_inserter(change_.changes),
                           [this](const std::string& text) {
                             return std::ranges::find(step_.changes, text) == step_.changes.end();
                           });
    }
    return status;
  }

 private:
  Status Steps() {
    ASSIGN_OR_RETURN(const node::SeenNode seen, api_.ReadNode(change_.node));
    RETURN_IF_ERROR(PlanFirst(seen));
    for (int i = 0; step_.request && i < kMaxSteps; ++i) {
      RETURN_IF_ERROR(Step());
      if (options_.is_dry_run) {
        return OkStatus();
      }
    }
    if (step_.request) {
      return MakeStatus(StatusCode::kUnavailable,
                        fmt::format("node {}: changed concurrently: try again", change_.node));
    }
    return OkStatus();
  }

  // Where nothing has been written yet.
  Status PlanFirst(const node::SeenNode& seen) {
    ASSIGN_OR_RETURN(step_, plan_(seen));
    meant_ = step_.changes;
    change_.notes = step_.notes;
    return OkStatus();
  }

  Status Step() {
    kube::ApiRequest request = *step_.request;
    if (options_.is_dry_run) {
      request.query.emplace_back("dryRun", "All");
    }
    const StatusOr<json::value> answer = api_.Send(std::move(request));
    if (answer.status().code() == StatusCode::kAborted && !options_.is_dry_run) {
      return OnConflict();
    }
    RETURN_IF_ERROR(answer.status());
    if (!options_.is_dry_run) {
      has_written_ = true;
      ASSIGN_OR_RETURN(const node::SeenNode seen, node::ReadNode(*answer));
      StatusOr<node::EditPlan> next = plan_(seen);
      // A taint that was to go is gone now.
      step_ = next.ok() ? *std::move(next) : node::EditPlan{};
    }
    return OkStatus();
  }

  // Nothing was written: the new plan is for the node as it is now.
  Status OnConflict() {
    ASSIGN_OR_RETURN(const node::SeenNode seen, api_.ReadNode(change_.node));
    if (!has_written_) {
      return PlanFirst(seen);
    }
    ASSIGN_OR_RETURN(step_, plan_(seen));
    return OkStatus();
  }

  NodeApi& api_;
  const NodeOptions& options_;
  const PlanEdit& plan_;
  NodeChange& change_;
  std::vector<std::string> meant_;  // by the first plan
  node::EditPlan step_;             // with everything that is left to do
  bool has_written_ = false;
};

}  // namespace

Status Carry(NodeApi& api, const NodeOptions& options, const PlanEdit& plan, NodeChange& change) {
  const Progress progress("asking the API server");
  return Carrier(api, options, plan, change).Run();
}

StatusOr<ExitCode> Report(const NodeOptions& options, OutputFormat format, const NodeChange& change,
                          const Status& status) {
  if (status.ok() || !change.changes.empty()) {
    RETURN_IF_ERROR(PrintChange(options, format, change));
  }
  return OkOr(status);
}

}  // namespace kgpu::cli
