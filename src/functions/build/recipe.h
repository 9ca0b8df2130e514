// How the image of each runtime is made: packages, the commands that compile, and the worker.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::functions {

// Packages of a language's own archive, which a file beside the sources lists.
struct Dependencies {
  std::string_view file{};                       // "requirements.txt"
  std::span<const std::string_view> packages{};  // Debian's, beside those of the runtime
  std::string_view script{};                     // installs them, in /function
  std::string_view folder{};                     // what the script fills
  std::string_view variable{};  // "NAME=value": how a worker finds them; may be empty
};

struct BuildRecipe {
  std::string_view runtime{};
  // Debian's packages of the image that runs; none: an empty image.
  std::span<const std::string_view> packages{};
  // Those of the image that compiles; none: nothing is compiled.
  std::span<const std::string_view> compiler_packages{};
  std::string_view compile{};  // a shell script, in /function; its result is in kProgramFolder
  std::span<const std::string_view> command{};  // of a worker
  Dependencies dependencies{};
};

inline constexpr std::string_view kWorkerFolder = "/opt/kgpu-fn";
inline constexpr std::string_view kProgramFolder = "/opt/kgpu-fn/bin";
inline constexpr std::string_view kFunctionFolder = "/function";
inline constexpr std::string_view kWatchdogPath = "/usr/local/bin/kgpu-fnwatch";

// Errors: InvalidArgument (no such runtime), with the nearest name.
StatusOr<const BuildRecipe*> FindRecipe(std::string_view runtime);

// Whether `text`, a file such as requirements.txt, lists a package at all: templates come with
// empty ones.
bool ListsPackages(std::string_view file, std::string_view text);

}  // namespace kgpu::functions
