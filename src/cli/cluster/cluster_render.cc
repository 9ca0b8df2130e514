#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "src/cli/base/commands.h"
#include "src/cli/base/kinds_view.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/cluster/chart_values.h"
#include "src/cluster/chart/chart.h"
#include "src/cluster/chart/value_reference.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::cli {
namespace {

struct ClusterRenderOptions {
  ChartValuesOptions values;
  std::string output = "yaml";
  std::string chart;
  std::string kustomize;
};

Status WriteFolder(const std::vector<chart::OutputFile>& files, const std::string& folder) {
  for (const chart::OutputFile& file : files) {
    const std::filesystem::path path = std::filesystem::path(folder) / file.path;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) {
      return ErrnoStatus(error.value(), fmt::format("create {}", path.parent_path().string()));
    }
    RETURN_IF_ERROR(
        sys::WriteFileAtomically(path.string(), file.text, 0644, sys::Durability::kMemory));
  }
  return PrintOut(fmt::format("wrote {} files to {}\n", files.size(), folder));
}

StatusOr<ExitCode> RunClusterRender(const ClusterRenderOptions& options) {
  if (options.output != "yaml" && options.output != "json") {
    return InvalidArgument("--output: \"{}\" must be yaml or json", Printable(options.output, 40));
  }
  if (!options.chart.empty()) {
    return OkOr(WriteFolder(chart::ChartFolder(), options.chart));
  }
  ASSIGN_OR_RETURN(const chart::Values values, ReadChartValues(options.values));
  ASSIGN_OR_RETURN(const std::vector<chart::Manifest> manifests, chart::Render(values));
  if (!options.kustomize.empty()) {
    return OkOr(WriteFolder(chart::KustomizeFolder(manifests), options.kustomize));
  }
  return OkOr(PrintOut(options.output == "json" ? chart::PrintJson(manifests)
                                                : chart::PrintYaml(manifests)));
}

struct ClusterValuesOptions {
  std::string output = "table";
};

StatusOr<ExitCode> RunClusterValues(const ClusterValuesOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<chart::ValueEntry> entries, chart::ValueEntries());
  return PrintReference(options.output, chart::ValuesMarkdown(entries), chart::ValuesTable(entries),
                        chart::ValuesJson(entries));
}

}  // namespace

void AddClusterValuesCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ClusterValuesOptions>(
      group, "values", "List the values of the chart with their defaults", &RunClusterValues);
  command.footer(
      "  kgpu cluster values | less\n"
      "  kgpu cluster values --output json | jq -r '.values[].name'");
  AddOutputOption(command, options.output, kKindsFormats);
}

void AddClusterRenderCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ClusterRenderOptions>(
      group, "render", "Print the manifests that install kgpu, with their reasons",
      &RunClusterRender);
  command.footer(
      "Needs no cluster. The objects are in the order in which they are applied; helm makes the\n"
      "same of the chart.\n"
      "\n"
      "  kgpu cluster render | kubectl apply -f -\n"
      "  kgpu cluster render --for k3s --set agent.nodeSelector.gpu=true\n"
      "  kgpu cluster render --values site.yaml --output json | jq -r '.items[].kind'\n"
      "  kgpu cluster render --kustomize base       a base for kustomize\n"
      "  kgpu cluster render --chart kgpu           then: helm install kgpu ./kgpu");
  AddChartValuesOptions(command, options.values);
  AddOutputOption(command, options.output, "yaml|json");
  CLI::Option* kustomize = AddValue(command, "--kustomize", options.kustomize, "DIR",
                                    "Write a base for kustomize to DIR instead");
  AddValue(command, "--chart", options.chart, "DIR",
           "Write the Helm chart with its own values to DIR instead")
      ->excludes(kustomize);
  for (const char* name : {"--values", "--set", "--for", "--namespace"}) {
    command.get_option("--chart")->excludes(command.get_option(name));
  }
}

}  // namespace kgpu::cli
