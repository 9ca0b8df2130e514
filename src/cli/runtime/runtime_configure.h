// `kgpu runtime configure` and `revert`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/base/exit_code.h"
#include "src/cli/runtime/runtime_host.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

struct ConfigureOptions {
  RuntimeOptions common;
  bool is_dry_run = false;
  bool restart = false;
  bool set_default = false;
  bool adopt = false;
  std::string cdi;         // "yes", "no"; empty: by the engine's version
  std::string runtime;     // like cdi
  std::string accept_env;  // "yes", "no"; empty: asked
  std::string print;       // a tool whose settings are printed instead
  std::string runtime_name = "nvidia";
  std::string runtime_path;  // empty: beside kgpu, else /usr/local/bin/kgpu-runtime
  std::vector<std::string> insecure_registries;
  std::vector<std::string> registry_mirrors;
  std::string http_proxy;
  std::string https_proxy;
  std::string no_proxy;
};

// A flag's value; empty or "auto": not given. Errors: InvalidArgument, naming `flag`.
StatusOr<std::optional<bool>> YesOrNo(std::string_view flag, const std::string& text);

StatusOr<ExitCode> RunConfigure(const ConfigureOptions& options);

struct RevertOptions {
  RuntimeOptions common;
  bool is_dry_run = false;
  bool restart = false;
};

StatusOr<ExitCode> RunRevert(const RevertOptions& options);

}  // namespace kgpu::cli
