// PlanText and PlanJson of plan.h.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/cluster/adopt/plan.h"
#include "src/node/report/table.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::adopt {
namespace {

namespace json = boost::json;

std::string_view InstallerText(InstalledBy by) {
  static constexpr std::array<std::string_view, 4> kWords = {"manifest", "Helm", "OLM",
                                                             "GPU operator"};
  return kWords.at(static_cast<size_t>(by));
}

std::string InstalledText(const Workload& workload) {
  return workload.release.empty()
             ? std::string(InstallerText(workload.by))
             : fmt::format("{} {}", InstallerText(workload.by), workload.release);
}

std::string CountsText(const std::map<std::string, int64_t>& gpus) {
  std::vector<std::string> texts;
  for (const auto& [name, count] : gpus) {
    texts.push_back(fmt::format("{} {}", count, name));
  }
  return Join(texts, ", ");
}

std::string WorkloadsText(const Plan& plan) {
  report::Table table({"FOUND", "VERSION", "WHERE", "BY", "NODES", "BECOMES", "REASON"});
  for (const PlannedWorkload& one : plan.workloads) {
    table.AddRow({std::string(FactsOf(one.workload.component).title), one.workload.version,
                  fmt::format("{}/{}", one.workload.space, one.workload.name),
                  InstalledText(one.workload), std::to_string(one.nodes),
                  std::string(ToString(one.fate)), one.by});
  }
  return table.Render();
}

std::string NodesText(const Plan& plan) {
  report::Table table({"NODE", "GPUS", "GPU PODS", "ACTION"});
  for (const NodePlan& node : plan.nodes) {
    std::set<std::string> titles;
    for (const Part& part : node.parts) {
      titles.emplace(FactsOf(part.component).id);
    }
    const std::string takes = Join({titles.begin(), titles.end()}, ", ");
    const std::string action = !node.skipped.empty() ? fmt::format("left alone: {}", node.skipped)
                               : node.is_taken       ? fmt::format("has kgpu instead of {}", takes)
                                                     : fmt::format("replace {}", takes);
    table.AddRow(
        {node.name, CountsText(node.gpus), fmt::format("{} keep running", node.gpu_pods), action});
  }
  return table.Render();
}

json::value WorkloadJson(const PlannedWorkload& one) {
  return json::object{{"component", doc::View(FactsOf(one.workload.component).id)},
                      {"kind", one.workload.kind},
                      {"namespace", one.workload.space},
                      {"name", one.workload.name},
                      {"version", one.workload.version},
                      {"installedBy", doc::View(InstallerText(one.workload.by))},
                      {"release", one.workload.release},
                      {"nodes", one.nodes},
                      {"becomes", doc::View(ToString(one.fate))},
                      {"reason", one.by},
                      {"removal", one.removal}};
}

json::value NodeJson(const NodePlan& node) {
  json::array parts;
  for (const Part& part : node.parts) {
    parts.push_back(json::object{
        {"component", doc::View(FactsOf(part.component).id)},
        {"daemonSet", fmt::format("{}/{}", part.space, part.daemon_set)},
        {"by", part.deploy_label.empty() ? "affinity of the DaemonSet"
                                         : fmt::format("label {}=false", part.deploy_label)}});
  }
  json::object gpus;
  for (const auto& [name, count] : node.gpus) {
    gpus[name] = count;
  }
  return json::object{{"name", node.name},         {"gpus", std::move(gpus)},
                      {"gpuPods", node.gpu_pods},  {"taken", node.is_taken},
                      {"leftAlone", node.skipped}, {"replaces", std::move(parts)}};
}

json::value ConfigJson(const config::NodeConfig& config) {
  auto tree = doc::Parse(config::PrintNodeConfig(config), doc::Format::kYaml, "config");
  return tree.ok() ? *std::move(tree) : json::value();
}

json::value CarriedJson(const Carried& carried) {
  json::object named;
  for (const auto& [key, config] : carried.named) {
    named[key] = ConfigJson(config);
  }
  json::array notes;
  for (const config::Note& note : carried.notes) {
    notes.push_back(
        json::object{{"fate", doc::View(config::ToString(note.fate))}, {"text", note.text}});
  }
  return json::object{{"driverRoot", carried.driver_root},
                      {"config", ConfigJson(carried.config)},
                      {"configs", std::move(named)},
                      {"refused", doc::TextMap(carried.refused)},
                      {"notes", std::move(notes)}};
}

std::string ListText(std::string_view title, const std::vector<std::string>& lines) {
  std::string text = lines.empty() ? "" : fmt::format("\n{}:\n", title);
  for (const std::string& line : lines) {
    text += fmt::format("  {}\n", line);
  }
  return text;
}

}  // namespace

std::string PlanText(const Plan& plan) {
  if (plan.workloads.empty()) {
    return "nothing to take over: no software of NVIDIA's or NFD's was found\n";
  }
  std::string text = WorkloadsText(plan);
  if (!plan.nodes.empty()) {
    text += "\n" + NodesText(plan);
  }
  std::vector<std::string> notes;
  for (const config::Note& note : plan.carried.notes) {
    notes.push_back(note.text);
  }
  if (!plan.carried.driver_root.empty()) {
    notes.push_back(fmt::format("the agent reads the driver in {}", plan.carried.driver_root));
  }
  text += ListText("settings", notes);
  std::vector<std::string> refused;
  for (const auto& [key, reason] : plan.carried.refused) {
    refused.push_back(fmt::format(
        "{}: {}", key.empty() ? "nodes without a label nvidia.com/device-plugin.config" : key,
        reason));
  }
  text += ListText("configurations that kgpu cannot express", refused);
  text += ListText("warnings", plan.warnings);
  text += ListText("problems", plan.problems);
  return text;
}

json::value PlanJson(const Plan& plan) {
  json::array workloads;
  for (const PlannedWorkload& one : plan.workloads) {
    workloads.push_back(WorkloadJson(one));
  }
  json::array nodes;
  for (const NodePlan& node : plan.nodes) {
    nodes.push_back(NodeJson(node));
  }
  return json::object{{"found", std::move(workloads)},
                      {"nodes", std::move(nodes)},
                      {"settings", CarriedJson(plan.carried)},
                      {"warnings", doc::Texts(plan.warnings)},
                      {"problems", doc::Texts(plan.problems)}};
}

}  // namespace kgpu::adopt
