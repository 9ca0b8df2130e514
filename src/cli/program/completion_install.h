// Where shells look for completion scripts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::cli {

struct CompletionFile {
  std::string path;
  std::string next;  // what a person must do before the shell reads it
};

// The shell that $SHELL names, "bash" for /bin/bash. Errors: InvalidArgument (a shell that has no
// script).
StatusOr<std::string> ShellOf(const std::vector<std::string>& environment);

// The file for `shell`: for all users if we are root, else for the user of `environment`. Errors:
// InvalidArgument (another shell, or no $HOME).
StatusOr<CompletionFile> CompletionFileOf(std::string_view shell,
                                          const std::vector<std::string>& environment,
                                          bool is_root);

// The file's name in its folder: "kgpu", "_kgpu", "kgpu.fish".
std::string_view CompletionFileName(std::string_view shell);

}  // namespace kgpu::cli
