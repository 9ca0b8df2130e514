#include "src/cli/cluster/cluster_view.h"

#include <boost/json.hpp>

#include <algorithm>
#include <utility>

#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

// A dry run fails as the real one would.
std::string OutcomeLine(const kube::ObjectRef& ref, std::string_view outcome, bool is_dry_run) {
  const bool is_planned = is_dry_run && outcome != kube::ToString(kube::ApplyOutcome::kFailed);
  return fmt::format("{}: {}{}\n", kube::TextOf(ref), is_planned ? "would be " : "", outcome);
}

json::object ObjectJson(const kube::ObjectRef& ref, std::string_view outcome) {
  return {{"apiVersion", ref.api_version},
          {"kind", ref.kind},
          {"namespace", ref.space},
          {"name", ref.name},
          {"outcome", doc::View(outcome)}};
}

}  // namespace

std::string InstallText(const install::InstallReport& report, bool is_dry_run) {
  std::string text;
  for (const kube::ApplyResult& result : report.applied) {
    if (result.outcome == kube::ApplyOutcome::kUnchanged) {
      continue;
    }
    text += OutcomeLine(result.ref, kube::ToString(result.outcome), is_dry_run);
    for (const kube::FieldChange& change : result.changes) {
      text += fmt::format("  {}\n", kube::TextOf(change));
    }
  }
  for (const kube::RemoveResult& result : report.removed) {
    text += OutcomeLine(result.ref, kube::ToString(result.outcome), is_dry_run);
  }
  return text.empty() ? "no changes\n" : text;
}

json::object InstallJson(const install::InstallReport& report, bool is_dry_run) {
  json::array objects;
  for (const kube::ApplyResult& result : report.applied) {
    json::object object = ObjectJson(result.ref, kube::ToString(result.outcome));
    json::array changes;
    for (const kube::FieldChange& change : result.changes) {
      changes.push_back(
          {{"path", change.path}, {"before", change.before}, {"after", change.after}});
    }
    object["changes"] = std::move(changes);
    object["error"] = doc::View(Message(result.status));
    objects.push_back(std::move(object));
  }
  for (const kube::RemoveResult& result : report.removed) {
    objects.push_back(ObjectJson(result.ref, kube::ToString(result.outcome)));
  }
  return {{"dryRun", is_dry_run},
          {"versionBefore", report.version_before},
          {"objects", std::move(objects)}};
}

std::string UninstallText(const install::UninstallReport& report, bool is_dry_run) {
  std::string text;
  for (const std::string& line : report.removed) {
    text += fmt::format("{}: {}\n", line, is_dry_run ? "would be removed" : "removed");
  }
  for (const std::string& line : report.stays) {
    text += fmt::format("stays: {}\n", line);
  }
  return text;
}

json::object UninstallJson(const install::UninstallReport& report, bool is_dry_run) {
  return {{"dryRun", is_dry_run},
          {"removed", doc::Texts(report.removed)},
          {"stays", doc::Texts(report.stays)}};
}

}  // namespace kgpu::cli
