// The Containerfile of a function's image, as a value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/functions/build/base_image.h"
#include "src/functions/build/recipe.h"
#include "src/functions/build/sources.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// One stage: what it is built from.
struct StageBase {
  std::string image{};                // "FROM"
  std::optional<BaseImage> debian{};  // what `image` is made of; nothing: another's image, or none
};

struct ImageRecipe {
  const BuildRecipe* recipe = nullptr;
  StageBase run{};
  // The stage that compiles or fetches dependencies; nothing: there is no such stage.
  std::optional<StageBase> build{};
  bool has_dependencies = false;  // it fetches them
};

// The variable of build_args that names the image of the stage that compiles, where baseImage
// alone would not do: CUDA has an image with its compiler and one without.
inline constexpr char kBuildImageArg[] = "BUILD_IMAGE";

// `has_dependencies`: the sources list packages of the language's own archive. Errors:
// InvalidArgument (no such runtime).
StatusOr<ImageRecipe> ImageRecipeOf(const Function& function, bool has_dependencies);

// The folder that a build's Containerfile copies from: the function's files, the worker library,
// the watchdog, and the script of the stage that compiles.
inline constexpr char kContextFunction[] = "function";
inline constexpr char kContextWorker[] = "worker";
inline constexpr char kContextWatchdog[] = "kgpu-fnwatch";
inline constexpr char kContextScript[] = "build.sh";

// All of it but for the label of its content. `handler_dir` as Sources has it. Errors:
// InvalidArgument (a value that a Containerfile cannot hold).
StatusOr<std::string> ContainerfileOf(const Function& function, const ImageRecipe& image,
                                      const std::string& handler_dir);

}  // namespace kgpu::functions
