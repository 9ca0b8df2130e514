#include "src/cluster/chart/test_value_sets.h"

#include <fstream>
#include <iterator>

namespace kgpu::chart {
namespace {

ValuesFile ReadValueSet(const std::string& source, const std::string& name) {
  const std::string path =
      fmt::format("{}/src/cluster/chart/testdata/values/{}.yaml", source, name);
  std::ifstream in(path, std::ios::binary);
  return {.name = path,
          .text = {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()}};
}

}  // namespace

std::vector<ValueSet> TestValueSets(const std::string& source) {
  std::vector<ValueSet> sets = {{.name = "default", .request = {}}};
  for (const char* name : {"kubeadm", "k3s", "rke2", "minikube", "kind", "openshift"}) {
    sets.push_back({.name = name, .request = {.distribution = name}});
  }
  for (const char* name : {"controller", "functions", "monitoring", "redis", "site"}) {
    sets.push_back({.name = name, .request = {.files = {ReadValueSet(source, name)}}});
  }
  sets.back().request.name_space = "gpu-system";
  return sets;
}

}  // namespace kgpu::chart
