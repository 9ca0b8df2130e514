#include "src/node/object/node_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <utility>

#include "src/node/report/table.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::node {
namespace {

namespace json = boost::json;

using doc::Texts;

std::string Text(std::string_view text) {
  return std::string(text);
}

std::string_view RequestText(DesiredTaint desired) {
  static constexpr std::array<std::string_view, 3> kWords = {"leave", "set", "lift"};
  return kWords.at(static_cast<size_t>(desired));
}

const SeenTaint* GateTaintOf(const NodeReport& report) {
  if (!report.seen) {
    return nullptr;
  }
  const auto found = std::ranges::find_if(
      report.seen->taints, [](const SeenTaint& seen) { return seen.taint.key == kGateTaintKey; });
  return found == report.seen->taints.end() ? nullptr : &*found;
}

using SeenAs = std::optional<SeenCondition> SeenNode::*;

// Null where the node does not have it.
const SeenCondition* ConditionOn(const NodeReport& report, SeenAs field = &SeenNode::gpu_ready) {
  return report.seen && report.seen.value().*field ? &*(report.seen.value().*field) : nullptr;
}

json::array ChainJson(const NodeReport& report) {
  json::array links;
  if (report.chain) {
    for (const Link& link : report.chain->links) {
      links.push_back(json::object{{"name", link.name},
                                   {"state", Text(ToString(link.state))},
                                   {"reason", link.reason},
                                   {"message", link.message}});
    }
  }
  return links;
}

const SeenCondition* HealthOn(const NodeReport& report) {
  return ConditionOn(report, &SeenNode::gpu_healthy);
}

const SeenCondition* ConfigOn(const NodeReport& report) {
  return ConditionOn(report, &SeenNode::gpu_configured);
}

json::value ConditionJson(const SeenCondition* condition) {
  if (condition == nullptr) {
    return nullptr;
  }
  return json::object{{"status", condition->status},
                      {"reason", condition->reason},
                      {"message", condition->message},
                      {"since", FormatTime(condition->since)}};
}

json::object TaintJson(const NodeReport& report) {
  const SeenTaint* taint = GateTaintOf(report);
  return {{"key", Text(kGateTaintKey)},
          {"effect", taint == nullptr ? "" : taint->taint.effect},
          {"onNode", taint != nullptr},
          {"desired",
           Text(RequestText(report.desired ? report.desired->taint : DesiredTaint::kLeave))}};
}

json::array OwnersJson(const NodeReport& report) {
  json::array owners;
  for (const OwnerFound& found : report.owners.found) {
    owners.push_back(json::object{{"owner", Text(ToString(found.owner))},
                                  {"title", Text(TitleOf(found.owner))},
                                  {"running", found.is_running},
                                  {"cameLater", found.came_later},
                                  {"adopted", report.owners.adopted.contains(found.owner)},
                                  {"standsBack", report.owners.StandsBackFor(found.owner)},
                                  {"marks", Texts(found.marks)},
                                  {"removal", found.removal}});
  }
  return owners;
}

json::array SkippedJson(const NodeReport& report) {
  json::array skipped;
  for (const Skipped& key : report.writer.skipped) {
    skipped.push_back(json::object{{"kind", key.kind},
                                   {"key", key.key},
                                   {"wanted", key.wanted},
                                   {"present", key.present},
                                   {"owner", key.owner}});
  }
  return skipped;
}

// Remarks next to the links: neither makes the node less ready.
std::string Remarks(const NodeReport& report) {
  std::string text;
  for (const std::string& remark : report.remarks) {
    text += remark + "\n";
  }
  for (const std::string& problem : report.writer.problems) {
    text += fmt::format("not written: {}\n", problem);
  }
  for (const OwnerFound& found : report.owners.found) {
    const bool stands_back = report.owners.StandsBackFor(found.owner);
    text += fmt::format(
        "{} {} here ({}){}\n", TitleOf(found.owner), found.is_running ? "runs" : "was",
        Join(found.marks, ", "),
        !stands_back
            ? ""
            : fmt::format(": kgpu does not set it; to take over: `kgpu node adopt --from {}`",
                          ToString(found.owner)));
  }
  // One line is enough for a whole domain: these are single keys.
  for (const Skipped& key : report.writer.skipped) {
    const std::optional<Owner> domain = DomainOf(key.key);
    if (!domain || !report.owners.StandsBackFor(*domain)) {
      text += fmt::format("{} {} is left to {}: it is \"{}\", kgpu would set \"{}\"\n", key.kind,
                          key.key, key.owner, key.present, key.wanted);
    }
  }
  return text;
}

std::string ConditionLine(std::string_view type, const SeenCondition* condition, bool is_known) {
  if (condition == nullptr) {
    return is_known ? "none" : "unknown";
  }
  return fmt::format("{}={} {} since {}", type, condition->status, condition->reason,
                     FormatTime(condition->since));
}

std::string ApiLine(const NodeReport& report) {
  if (!report.api_problem.empty()) {
    return report.api_problem;
  }
  if (!report.seen) {
    return "the API server has not answered yet";
  }
  return fmt::format("{} writes, {}", report.writer.writes,
                     report.writer.is_settled
                         ? "the node is up to date"
                         : fmt::format("{} changes are pending", report.writer.changes.size()));
}

}  // namespace

std::string Obstacle(const NodeReport& report) {
  if (!report.chain) {
    const SeenCondition* condition = ConditionOn(report);
    if (condition != nullptr && condition->status == "True") {
      return "";
    }
    if (condition != nullptr) {
      return fmt::format("{}: {}", condition->reason, condition->message);
    }
    return report.seen ? fmt::format("the node has no {} condition: check that an agent runs on it",
                                     kConditionType)
                       : report.api_problem;
  }
  if (!report.chain->has_gpus) {
    const bool is_expected = ConditionOn(report) != nullptr || GateTaintOf(report) != nullptr;
    return is_expected ? ConditionOf(*report.chain).message : "";
  }
  const Link* wrong = FirstWrong(*report.chain);
  if (wrong != nullptr) {
    return ProblemOf(*wrong);
  }
  if (report.seen && !report.is_ready) {
    return "all checks pass again; the node is ready once they keep passing for a while";
  }
  return "";
}

bool IsHealthy(const NodeReport& report) {
  return Obstacle(report).empty();
}

json::value NodeJson(const NodeReport& report) {
  json::object object;
  object["node"] = report.node;
  object["ready"] = IsHealthy(report);
  object["obstacle"] = Obstacle(report);
  object["agentProblem"] = report.agent_problem;
  object["hasGpus"] = report.chain ? json::value(report.chain->has_gpus) : json::value(nullptr);
  object["chain"] = ChainJson(report);
  object["condition"] = ConditionJson(ConditionOn(report));
  object["healthCondition"] = ConditionJson(HealthOn(report));
  object["configCondition"] = ConditionJson(ConfigOn(report));
  object["taint"] = TaintJson(report);
  object["api"] = json::object{
      {"seen", report.seen.has_value()},        {"problem", report.api_problem},
      {"settled", report.writer.is_settled},    {"writes", report.writer.writes},
      {"failures", report.writer.failures},     {"problems", Texts(report.writer.problems)},
      {"pending", Texts(report.writer.changes)}};
  object["owners"] = OwnersJson(report);
  object["skipped"] = SkippedJson(report);
  object["remarks"] = Texts(report.remarks);
  return object;
}

std::string NodeTable(const NodeReport& report) {
  const std::string obstacle = Obstacle(report);
  std::string text = fmt::format("node {}: {}\n", report.node,
                                 !obstacle.empty() ? "not ready: " + obstacle
                                 : report.chain && !report.chain->has_gpus ? "has no GPU"
                                                                           : "ready");
  if (report.chain && report.chain->has_gpus) {
    report::Table links({"LINK", "STATE", "REASON", "MESSAGE"});
    for (const Link& link : report.chain->links) {
      links.AddRow({link.name, std::string(ToString(link.state)), link.reason, link.message});
    }
    text += "\n" + links.Render() + "\n";
  }
  if (!report.agent_problem.empty()) {
    text += fmt::format("agent      {}\n", report.agent_problem);
  }
  text += fmt::format("condition  {}\n",
                      ConditionLine(kConditionType, ConditionOn(report), report.seen.has_value()));
  text += fmt::format("health     {}\n", ConditionLine(kHealthConditionType, HealthOn(report),
                                                       report.seen.has_value()));
  // Most nodes need none.
  if (ConfigOn(report) != nullptr) {
    text +=
        fmt::format("config     {}\n", ConditionLine(kConfigConditionType, ConfigOn(report), true));
  }
  const SeenTaint* taint = GateTaintOf(report);
  text += fmt::format("taint      {}\n", taint != nullptr ? labels::ToString(taint->taint)
                                         : report.seen    ? "none"
                                                          : "unknown");
  const bool is_said = !report.api_problem.empty() && obstacle.ends_with(report.api_problem);
  text += fmt::format("API        {}\n", is_said ? "no answer, as said above" : ApiLine(report));
  const std::string remarks = Remarks(report);
  return remarks.empty() ? text : text + "\n" + remarks;
}

}  // namespace kgpu::node
