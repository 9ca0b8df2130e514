#include "src/cli/run/run_judge.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/diagnose/explain/explain.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;
using run::Prospect;

constexpr size_t kLinesToShow = 12;

bool FitsNow(const explain::Report& report) {
  return !report::HasError(report.reasons) &&
         std::ranges::any_of(report.nodes, &explain::NodeVerdict::fits);
}

// A line for each reason of the pod and of the nodes that come closest.
std::string ReasonsText(const explain::Report& report) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view subject, const explain::Reasons& reasons) {
    for (const report::Finding& reason : reasons) {
      // What the rules of nodes are is known to whoever asked for a model.
      const bool has_evidence = reason.id != "affinity-differs" && !reason.evidence.empty();
      if (explain::IsBlocking(reason)) {
        lines.push_back(fmt::format("  {}: {}: {}", subject, reason.id,
                                    has_evidence ? reason.evidence.front() : reason.message));
      }
    }
  };
  for (const explain::NodeVerdict& node : report.nodes) {
    if (lines.size() < kLinesToShow) {
      add(Printable(node.name), node.reasons);
    }
  }
  if (lines.empty()) {
    add("the pod", report.reasons);
  }
  return lines.empty() ? fmt::format("  {}", report.verdict) : Join(lines, "\n");
}

}  // namespace

run::Judgement JudgePod(const explain::Ask& ask, const json::value& pod) {
  const std::string space(kube::NamespaceOf(pod));
  const std::string name(kube::NameOf(pod));
  const std::string own_path = kube::kPods.Object(space, name);
  // No server has the pod: it is answered for.
  const auto with_pod = [&](kube::ApiRequest request) -> StatusOr<json::value> {
    if (request.path == own_path) {
      return pod;
    }
    return ask(std::move(request));
  };
  StatusOr<explain::Dump> dump = explain::Gather(with_pod, space, name);
  if (!dump.ok() || !dump->Has("Node")) {
    return {
        .prospect = Prospect::kUnknown,
        .text = std::string(dump.ok() ? "the nodes could not be read" : Message(dump.status()))};
  }
  const explain::Report now = explain::Explain(explain::FactsOf(*dump, space, name));
  const std::string text = ReasonsText(now);
  if (FitsNow(now)) {
    return {.prospect = Prospect::kFits, .text = text};
  }
  const auto own = std::ranges::find_if(now.reasons, explain::IsBlocking);
  const std::string own_text = own == now.reasons.end() ? ""
                               : own->evidence.empty()
                                   ? own->message
                                   : fmt::format("{}: {}", own->message, own->evidence.front());
  // The same cluster without anybody else's pods.
  std::erase_if(dump->items, [&](const json::value& item) {
    return kube::TextField(item, {"kind"}) == "Pod" &&
           (kube::NameOf(item) != name || kube::NamespaceOf(item) != space);
  });
  const explain::Report idle = explain::Explain(explain::FactsOf(*dump, space, name));
  return {.prospect = explain::MayFitLater(idle, explain::OtherPods::kLeftOut) ? Prospect::kBusy
                                                                               : Prospect::kNever,
          .own = own_text,
          .text = text};
}

std::string ExplainPod(const explain::Ask& ask, const std::string& space, const std::string& name) {
  const auto dump = explain::Gather(ask, space, name);
  if (!dump.ok()) {
    return "";
  }
  const explain::Report report = explain::Explain(explain::FactsOf(*dump, space, name));
  if (report.state != explain::State::kAbsent) {
    return report.verdict;
  }
  // The first reason is that it does not exist.
  return report.reasons.size() < 2
             ? ""
             : fmt::format("no pod is made: {}", Printable(report.reasons[1].evidence.front()));
}

}  // namespace kgpu::cli
