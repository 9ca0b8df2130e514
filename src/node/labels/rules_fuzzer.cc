// A file of rules: reading it and running what it says on a node must end, and say the same twice.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "src/node/labels/assemble.h"

namespace {

namespace labels = kgpu::labels;
namespace features = kgpu::features;

features::FeatureSet Node() {
  features::FeatureSet set;
  set.flags["kernel.loadedmodule"] = {"nvidia", "ib_uverbs"};
  set.flags["cpu.cpuid"] = {"AVX2"};
  set.attributes["cpu.cpuid"] = {{"AVX10_VERSION", "2"}};
  set.attributes["kernel.version"] = {{"full", "6.1.0-21-amd64"}, {"major", "6"}};
  set.instances["pci.device"] = {{{"class", "0302"}, {"vendor", "10de"}, {"device", "20b5"}},
                                 {{"class", "0200"}, {"vendor", "15b3"}}};
  return set;
}

void Require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const labels::RuleFile read = labels::ReadRuleFile(text, "rules.yaml");
  Require(labels::ParseRuleFile(text, "rules.yaml").ok() == read.problems.empty());
  const features::FeatureSet node = Node();
  const std::vector<labels::RuleSet>& sets = read.sets;
  size_t rules = 0;
  for (const labels::RuleSet& set : sets) {
    rules += set.rules.size();
  }
  const labels::FileFeatures files;
  labels::Filters filters;
  filters.taints = true;
  const labels::RuleInput input{.features = node,
                                .own = {},
                                .file_rules = sets,
                                .files = files,
                                .foreign = {},
                                .object_rules = sets,
                                .own_allow = {},
                                .filters = filters};
  std::vector<labels::RuleVerdict> verdicts;
  const labels::Assembled first = labels::Assemble(input, &verdicts);
  Require(first.claims == labels::Assemble(input).claims);
  Require(verdicts.size() == 2 * rules);
  (void)labels::PrintVerdicts(verdicts);
  for (const auto& [key, value] : first.claims.labels) {
    Require(labels::CheckLabel(filters, key, value).ok());
  }
  return 0;
}
