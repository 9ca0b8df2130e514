// Everything that goes into a function's image, as a value: `kgpu fn build --dry-run` prints it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/functions/build/containerfile.h"
#include "src/functions/build/sources.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// A file of the worker library.
struct WorkerFile {
  std::string path;  // relative: "include/kgpu/fn.h"
  std::string content;
};

struct BuildRequest {
  Function function;
  std::string config_folder;         // of config.yaml
  std::vector<WorkerFile> worker{};  // by path
  std::string watchdog;              // the program, a file of this host
};

struct BuildPlan {
  Function function;
  std::string image;  // its name with the tag of config.yaml
  ImageRecipe recipe;
  Sources sources;
  std::vector<WorkerFile> worker{};
  std::string watchdog;
  std::string script{};         // of the stage that compiles; empty: there is none
  std::string containerfile{};  // without the label of the content
};

// Reads the names of the sources, and the file that lists dependencies. Errors: as FindSources,
// InvalidArgument (a value that an image cannot hold).
StatusOr<BuildPlan> PlanBuild(BuildRequest request);

// The digest of all that the plan puts into the image, and of the packages in the base images.
// Reads every file. Errors: NotFound (the watchdog), as AddTo.
StatusOr<std::string> ContentOf(const BuildPlan& plan, const std::vector<std::string>& packages);

inline constexpr char kContentLabel[] = "kgpu.dev/content";
// The Containerfile with that label.
std::string LabelledContainerfile(const BuildPlan& plan, std::string_view content);

// For people: what would be done, and the Containerfile.
std::string PlanText(const BuildPlan& plan);

}  // namespace kgpu::functions
