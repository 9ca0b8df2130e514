// What rules cost a node each time its features changed: 50 rules, a tenth of them with templates
// and a fifth with regular expressions, on a node of 300 PCI devices and 10,000 kernel options.
// Beside it the floor of the same run: finding the element that each rule asks for.
//   rules-bench [RUNS]      default 500
#include <fmt/format.h>
#include <boost/json.hpp>

#include <chrono>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.h"
#include "src/node/labels/assemble.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::bench {
namespace {

using Microseconds = std::chrono::duration<double, std::micro>;
using std::chrono::steady_clock;

constexpr int kRules = 50;

features::FeatureSet LargeNode() {
  features::FeatureSet node;
  for (int i = 0; i < 300; ++i) {
    node.instances["pci.device"].push_back({{"class", i % 40 == 0 ? "0302" : "0604"},
                                            {"vendor", i % 40 == 0 ? "10de" : "8086"},
                                            {"device", fmt::format("{:04x}", 0x2000 + i)},
                                            {"subsystem_vendor", "10de"},
                                            {"subsystem_device", "1463"}});
  }
  for (int i = 0; i < 10'000; ++i) {
    node.attributes["kernel.config"].emplace(fmt::format("OPTION_{}", i), i % 3 == 0 ? "y" : "m");
  }
  for (int i = 0; i < 150; ++i) {
    node.flags["kernel.loadedmodule"].insert(fmt::format("module_{}", i));
    node.flags["cpu.cpuid"].insert(fmt::format("FLAG{}", i));
  }
  node.attributes["kernel.version"] = {{"full", "6.8.0-45-generic"}, {"major", "6"}};
  return node;
}

std::string RuleText(int number) {
  const std::string head =
      fmt::format("- name: rule {0}\n  labels: {{example.com/r{0}: \"true\"}}\n", number);
  switch (number % 10) {
    case 0:
      return fmt::format(
          "- name: rule {0}\n  labelsTemplate: |\n    {{{{range .pci.device}}}}example.com/"
          "r{0}.{{{{.device}}}}=true\n    {{{{end}}}}\n  matchFeatures:\n  - feature: pci.device\n"
          "    matchExpressions: {{vendor: {{op: In, value: [\"10de\"]}}, class: {{op: In, value: "
          "[\"0302\"]}}}}\n",
          number);
    case 1:
    case 2:
      return fmt::format(
          "{}  matchFeatures:\n  - feature: pci.device\n    matchExpressions: {{class: {{op: "
          "InRegexp, value: [\"^03\", \"^12\"]}}, device: {{op: In, value: [\"{:04x}\"]}}}}\n",
          head, 0x2000 + number);
    case 3:
      return fmt::format(
          "{}  matchAny:\n  - matchFeatures: [{{feature: cpu.cpuid, matchExpressions: [NONE]}}]\n"
          "  - matchFeatures: [{{feature: cpu.cpuid, matchExpressions: [FLAG{}]}}]\n",
          head, number);
    case 4:
      return fmt::format(
          "{}  matchFeatures: [{{feature: kernel.version, matchExpressions: {{full: {{op: Ge, "
          "value: "
          "[\"5.10\"], type: version}}}}}}]\n",
          head);
    default:
      return fmt::format(
          "{0}  matchFeatures:\n  - feature: kernel.config\n    matchExpressions: {{OPTION_{1}: "
          "{{op: "
          "In, value: [y]}}}}\n  - feature: kernel.loadedmodule\n    matchExpressions: "
          "{{module_{2}: {{op: Exists}}}}\n",
          head, number * 3, number);
  }
}

template <typename Work>
double TimeOf(const Work& work) {
  const auto start = steady_clock::now();
  const size_t answer = work();
  const double took = Microseconds(steady_clock::now() - start).count();
  if (answer == 0) {
    (void)std::fputs("no answer\n", stderr);
  }
  return took;
}

// One look-up of each kind for each rule.
size_t LookUp(const features::FeatureSet& node) {
  size_t found = 0;
  for (int i = 0; i < kRules; ++i) {
    found += node.attributes.at("kernel.config").count(fmt::format("OPTION_{}", i * 3));
    found += node.flags.at("kernel.loadedmodule").count(fmt::format("module_{}", i));
  }
  return found;
}

class Bench {
 public:
  Bench() : node_(LargeNode()) {
    for (int i = 0; i < kRules; ++i) {
      text_ += RuleText(i);
    }
    auto rules = labels::ParseRules(text_, "rules.yaml");
    if (!rules.ok()) {
      (void)std::fputs(std::string(Message(rules.status())).c_str(), stderr);
      return;
    }
    sets_ = {*std::move(rules)};
    for (int i = 0; i < 60; ++i) {
      own_.labels.emplace(fmt::format("feature.node.kubernetes.io/own-{}", i), "true");
    }
  }

  std::vector<Row> Run(int runs) const {
    Row rules = Empty("50 rules on 300 devices", "200");
    Row assembled = Empty("all labels of a node, with them", "-");
    Row loaded = Empty("reading 50 rules", "-");
    Row printed = Empty("NodeFeature object as JSON", "-");
    for (int i = 0; i < runs; ++i) {
      Add(rules, [&] { return labels::Evaluate(sets_, node_).claims.labels.size(); });
      Add(assembled, [&] { return Assembled().claims.labels.size(); });
      Add(loaded, [&] { return labels::ParseRules(text_, "rules.yaml")->rules.size(); });
      Add(printed, [&] { return ObjectText().size(); });
    }
    return {rules, assembled, loaded, printed};
  }

  std::string ObjectText() const {
    const labels::NodeFeature object{.name = "node-1",
                                     .name_space = "kgpu",
                                     .node = "node-1",
                                     .features = node_,
                                     .labels = own_.labels};
    return doc::PrintLine(labels::PrintNodeFeature(object));
  }

 private:
  static Row Empty(std::string what, std::string budget) {
    return {.what = std::move(what),
            .unit = "us",
            .samples = {},
            .floor_name = "100 look-ups",
            .floor = {},
            .budget = std::move(budget)};
  }

  template <typename Work>
  void Add(Row& row, const Work& work) const {
    row.samples.Add(TimeOf(work));
    row.floor.Add(TimeOf([&] { return LookUp(node_); }));
  }

  labels::Assembled Assembled() const {
    const std::vector<labels::NodeClaims> own = {own_};
    return labels::Assemble({.features = node_,
                             .own = own,
                             .file_rules = {},
                             .files = files_,
                             .foreign = {},
                             .object_rules = sets_,
                             .own_allow = {},
                             .filters = filters_});
  }

  features::FeatureSet node_;
  std::string text_;
  std::vector<labels::RuleSet> sets_;
  labels::NodeClaims own_;
  labels::FileFeatures files_;
  labels::Filters filters_;
};

int Run(int runs) {
  const Bench bench;
  (void)std::fputs(RenderRows(bench.Run(runs)).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto runs = kgpu::ParseUint(argc > 1 ? argv[1] : "500");
  if (!runs || *runs == 0 || *runs > 100'000) {
    (void)std::fputs("usage: rules-bench [RUNS], 1 to 100000\n", stderr);
    return 2;
  }
  return kgpu::bench::Run(static_cast<int>(*runs));
}
