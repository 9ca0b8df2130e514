// The command line of kgpu-sim. Each cli_*.cc adds one group of commands; a command parses, calls
// the library and prints one line.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::simhost {

// What the commands get from outside, and what they return.
struct CliContext {
  std::string program;                            // path of this program, to start the server with
  std::function<void(const std::string&)> print;  // one or more whole lines
  // Set by the parsed command.
  std::function<Status()> action;
};

void AddHostVerbs(CLI::App& app, CliContext& context);    // create, serve, stop, delete, …
void AddStatusVerb(CLI::App& app, CliContext& context);   // status
void AddDriverVerbs(CLI::App& app, CliContext& context);  // load, unload, nouveau, add, remove, mig
void AddFaultVerbs(CLI::App& app, CliContext& context);   // xid, ecc, lose, hang, slow, heal, …

// The path from "/", without "." and "..". Errors: InvalidArgument.
StatusOr<std::string> AbsoluteFolder(const std::string& folder);

// Runs `commands` (testing/driver/command.h) on the server of `folder`, in order, until one fails;
// returns the last response. Errors: Unavailable (no server: says how to start it), the server's.
StatusOr<std::string> RunCommands(const std::string& folder,
                                  const std::vector<std::string>& commands);

// Adds a group of commands.
using AddVerbs = void (*)(CLI::App& app, CliContext& context);

// The whole program: the commands of simulated hosts and `more`. Exit codes: 0 done, 1 failed, 2
// usage error. `arguments` are those after the program's name. Prints errors on stderr.
int RunSim(const std::vector<std::string>& arguments, CliContext& context,
           const std::vector<AddVerbs>& more);

}  // namespace kgpu::simhost
