// A new function: its folder with a handler, and its entry in a config.yaml. Planned as a value, so
// that it can be shown before it is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::functions {

struct NewFunction {
  std::string name{};
  std::string runtime{};
  std::string dir = "./src";  // of the handler, below the function's folder
  int64_t gpus = 0;
  std::string gateway{};
  // The file that gets the entry; the folder is made beside it. Empty: <name>/config.yaml.
  std::string config{};
  // What that file contains; nothing: it is new.
  std::optional<std::string> config_text{};
};

struct NewFile {
  std::string path{};  // relative to the folder
  std::string text{};
};

struct InitPlan {
  std::string folder{};  // "hello", made as a whole or not at all
  std::vector<NewFile> files{};
  std::string handler{};  // path of the handler's file, for people
  std::string config{};   // path of the config.yaml, which is one of `files` unless it has a text
  std::optional<std::string> config_text{};
};

// Errors: InvalidArgument (naming the flag or the field), AlreadyExists (the file has a function of
// this name).
StatusOr<InitPlan> PlanNewFunction(const NewFunction& request);

// Makes the folder, then replaces the file that gets the entry. Nothing is left of a failure.
// Errors: AlreadyExists (something is at the folder's path); as errno.
Status MakeNewFunction(const InitPlan& plan);

}  // namespace kgpu::functions
