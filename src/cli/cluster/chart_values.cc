#include "src/cli/cluster/chart_values.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "src/cli/base/config_file.h"
#include "src/cli/base/options.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {

void AddChartValuesOptions(CLI::App& command, ChartValuesOptions& options) {
  AddValue(command, "-f,--values", options.files, "FILE",
           "Values in YAML, - for standard input; may be repeated, later files win")
      ->allow_extra_args(false);
  AddValue(command, "--set", options.settings, "NAME=VALUE",
           "One value, such as image.tag=1.2; may be repeated, wins over files")
      ->allow_extra_args(false);
  // chart::Distributions(); a test compares.
  AddValue(command, "--for", options.distribution, "kubeadm|k3s|rke2|minikube|kind|openshift",
           "Values that suit this distribution of Kubernetes");
  AddValue(command, "-n,--namespace", options.name_space, "NAME", "Namespace to install into");
}

StatusOr<chart::ValuesRequest> ValuesRequestOf(const ChartValuesOptions& options) {
  chart::ValuesRequest request{.name_space = options.name_space,
                               .distribution = options.distribution,
                               .settings = options.settings};
  for (const std::string& name : options.files) {
    ASSIGN_OR_RETURN(TextFile file, ReadTextFile(name));
    request.files.push_back({.name = std::move(file.name), .text = std::move(file.text)});
  }
  return request;
}

StatusOr<chart::Values> ReadChartValues(const ChartValuesOptions& options) {
  ASSIGN_OR_RETURN(const chart::ValuesRequest request, ValuesRequestOf(options));
  return chart::ReadValues(request);
}

}  // namespace kgpu::cli
