// Where shells look for completion scripts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::cli {

struct CompletionFile {
  std::string path;
  std::string next;  // what a person has to do before the shell reads it
};

// The shell that $SHELL names, "bash" of /bin/bash. Errors: InvalidArgument (it names no shell that
// has a script).
StatusOr<std::string> ShellOf(const std::vector<std::string>& environment);

// The file for `shell`: of all users for root, else of the user whose `environment` it is. Errors:
// InvalidArgument (another shell, or no $HOME).
StatusOr<CompletionFile> CompletionFileOf(std::string_view shell,
                                          const std::vector<std::string>& environment,
                                          bool is_root);

// What the file is called in its folder: "kgpu", "_kgpu", "kgpu.fish".
std::string_view CompletionFileName(std::string_view shell);

}  // namespace kgpu::cli
