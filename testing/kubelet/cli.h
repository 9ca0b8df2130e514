// The commands of `kgpu-sim kubelet`. Each cli_*.cc adds one group; a command parses, queries the
// running kubelet and prints.
#pragma once

#include <functional>
#include <string>

#include "testing/simhost/cli.h"

namespace kgpu::kubelet {

void AddKubeletVerbs(CLI::App& app, simhost::CliContext& context);

// The groups.
void AddServeVerbs(CLI::App& kubelet, simhost::CliContext& context);  // serve, start, stop, restart
void AddPodVerbs(CLI::App& kubelet, simhost::CliContext& context);    // pod, delete, logs, exit
void AddLookVerbs(CLI::App& kubelet, simhost::CliContext& context);   // status, calls, wait
void AddInjectVerbs(CLI::App& kubelet, simhost::CliContext& context);  // inject …

// A command with the argument DIR; `run` gets the absolute path. The caller adds the options, which
// live as long as `run`.
CLI::App* AddFolderVerb(CLI::App& parent, simhost::CliContext& context, const char* name,
                        const char* description,
                        std::function<Status(const std::string& folder)> run);

}  // namespace kgpu::kubelet
