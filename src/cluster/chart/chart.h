// What an admin installs on a cluster, as objects: `kgpu cluster render` prints them, `kgpu cluster
// install` applies them, helm makes the same of deploy/chart.
#pragma once

#include <string>
#include <vector>

#include "src/cluster/chart/manifest.h"
#include "src/cluster/chart/values.h"
#include "src/platform/base/status.h"

namespace kgpu::chart {

// The field manager of what is installed, and its label app.kubernetes.io/managed-by.
inline constexpr std::string_view kManager = "kgpu-cluster";

// In the order in which they are applied; CustomResourceDefinitions only with the controller.
// Errors: Internal (a template of ours is wrong), InvalidArgument (a value breaks the YAML).
StatusOr<std::vector<Manifest>> Render(const Values& values);

// A file of a folder that people keep: the chart itself, or a kustomize base.
struct OutputFile {
  std::string path;  // below the folder
  std::string text;
};

// The chart as helm reads it.
std::vector<OutputFile> ChartFolder();
// A base for kustomize: a file for each object, and kustomization.yaml.
std::vector<OutputFile> KustomizeFolder(const std::vector<Manifest>& manifests);

}  // namespace kgpu::chart
