// Flags, including those that several commands share. The variables they write to hold the
// defaults, which --help shows, and must outlive the parse.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
class Option;
}  // namespace CLI

namespace kgpu::cli {

inline constexpr char kRunDir[] = "/run/kgpu";
inline constexpr char kStateDir[] = "/var/lib/kgpu";
inline constexpr char kKubeletDir[] = "/var/lib/kubelet";

// A flag with a value of the kind `type`: "FILE". Completion offers the words of "yes|no", files
// for FILE, folders for DIR, and the GPUs of this host for GPU.
CLI::Option* AddValue(CLI::App& command, const std::string& flag, std::string& value,
                      const char* type, const std::string& help);
CLI::Option* AddValue(CLI::App& command, const std::string& flag, std::vector<std::string>& values,
                      const char* type, const std::string& help);

inline constexpr char kOutputFormats[] = "table|json|yaml";

// --output, or $KGPU_OUTPUT: one of `formats`, which completion offers, too.
CLI::Option* AddOutputOption(CLI::App& command, std::string& output,
                             const char* formats = kOutputFormats,
                             const char* help = "Output format");
// Makes the option's value absolute, relative to the current folder. "-" stays.
CLI::Option* AsPath(CLI::Option* option);

// --run-dir, or $KGPU_RUN_DIR.
CLI::Option* AddRunDirOption(CLI::App& command, std::string& run_dir,
                             const char* help = "Folder of the agent's socket");
// --state-dir, or $KGPU_STATE_DIR.
CLI::Option* AddStateDirOption(CLI::App& command, std::string& state_dir,
                               const char* help = "Folder for the agent's persistent state");
// --node, or $NODE_NAME.
void AddNodeNameOption(CLI::App& command, std::string& name);
// --config, or $KGPU_CONFIG: of the node.
void AddConfigOption(CLI::App& command, std::string& config, std::string_view when = "");
// --host-root, or $KGPU_HOST_ROOT.
CLI::Option* AddHostRootOption(CLI::App& command, std::string& host_root,
                               const char* help = "Folder with the host's files");
// `folder`; if it equals `usual` because nobody named one, the folder below `host_root`: an agent
// keeps its files below its host root.
std::string BelowHostRoot(const std::string& folder, const std::string& usual,
                          const std::string& host_root);
// --since. `note` follows the help's text.
void AddSinceOption(CLI::App& command, std::string& since, std::string_view note = "");

}  // namespace kgpu::cli
