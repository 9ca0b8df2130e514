#include "src/cli/base/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "src/platform/commands/command_tree.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

bool IsListed(std::string_view word, std::string_view formats) {
  const std::vector<std::string> words = commands::WordsOfType(formats);
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

CLI::Option* AddValue(CLI::App& command, const std::string& flag, std::string& value,
                      const char* type, const std::string& help) {
  return command.add_option(flag, value, help)->type_name(type)->capture_default_str();
}

CLI::Option* AddValue(CLI::App& command, const std::string& flag, std::vector<std::string>& values,
                      const char* type, const std::string& help) {
  return command.add_option(flag, values, help)->type_name(type);
}

CLI::Option* AddOutputOption(CLI::App& command, std::string& output, const char* formats,
                             const char* help) {
  CLI::Option* option = AddValue(command, "-o,--output", output, formats, help);
  // The variable is for all commands: one without tables keeps its own default.
  const char* requested = std::getenv("KGPU_OUTPUT");
  const bool is_others = requested != nullptr && IsListed(requested, "table|json|yaml") &&
                         !IsListed(requested, formats);
  return is_others ? option : option->envname("KGPU_OUTPUT");
}

CLI::Option* AsPath(CLI::Option* option) {
  return option->transform([](const std::string& path) {
    std::error_code error;
    return path.empty() || path == "-"
               ? path
               : std::filesystem::absolute(path, error).lexically_normal().string();
  });
}

CLI::Option* AddRunDirOption(CLI::App& command, std::string& run_dir, const char* help) {
  return AsPath(AddValue(command, "--run-dir", run_dir, "DIR", help))->envname("KGPU_RUN_DIR");
}

CLI::Option* AddStateDirOption(CLI::App& command, std::string& state_dir, const char* help) {
  return AsPath(AddValue(command, "--state-dir", state_dir, "DIR", help))
      ->envname("KGPU_STATE_DIR");
}

void AddNodeNameOption(CLI::App& command, std::string& name) {
  AddValue(command, "--node", name, "NAME",
           "Name of this node in the cluster (default: the host's name)")
      ->envname("NODE_NAME");
}

void AddConfigOption(CLI::App& command, std::string& config, std::string_view when) {
  AsPath(AddValue(command, "--config", config, "FILE",
                  fmt::format("{}{}onfiguration file of the node (default: /etc/kgpu/config.yaml "
                              "if it exists)",
                              when, when.empty() ? "C" : "c")))
      ->envname("KGPU_CONFIG");
}

CLI::Option* AddHostRootOption(CLI::App& command, std::string& host_root, const char* help) {
  return AsPath(AddValue(command, "--host-root", host_root, "DIR", help))
      ->envname("KGPU_HOST_ROOT");
}

std::string BelowHostRoot(const std::string& folder, const std::string& usual,
                          const std::string& host_root) {
  if (folder != usual || host_root.empty() || host_root == "/") {
    return folder;
  }
  // A root that cannot be opened, or a link that leads nowhere: what uses the folder says so.
  const StatusOr<sys::Root> host = sys::Root::Open(host_root);
  return host.ok() ? host->FollowLinks(usual).value_or(host->At(usual)) : host_root + usual;
}

void AddSinceOption(CLI::App& command, std::string& since, std::string_view note) {
  AddValue(command, "--since", since, "DURATION",
           fmt::format("How far back to look: 90m, 24h, 7d{}", note));
}

}  // namespace kgpu::cli
