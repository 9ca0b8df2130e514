// How a command joins the program: one function AddXCommand(CommandRegistrar&) per group, listed in
// program.cc. Each command's footer has an example of its own (src/platform/commands/examples.h).
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "src/cli/base/exit_code.h"
#include "src/platform/base/status.h"
#include "src/platform/commands/command_tree.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

class CommandRegistrar {
 public:
  // What a command does after its flags are parsed. The caller prints an error, once.
  using Action = std::function<StatusOr<ExitCode>()>;

  explicit CommandRegistrar(CLI::App& app) : app_(app) {}

  CLI::App& app() { return app_; }
  // Sets the action to run if `command` is the command given.
  void OnRun(CLI::App& command, Action action);

  // Adds a command that only contains others.
  CLI::App& AddGroup(const char* name, const char* help);

  template <typename Options>
  struct Added {
    CLI::App& command;
    Options& options;  // live as long as this object
  };
  // Adds a command below `parent` that calls `run` with its options after parsing.
  template <typename Options>
  Added<Options> Add(CLI::App& parent, const char* name, const char* help,
                     StatusOr<ExitCode> (*run)(const Options& options)) {
    auto options = std::make_shared<Options>();
    CLI::App& command = AddBelow(parent, name, help);
    OnRun(command, [options, run] { return run(*options); });
    return {command, *options};
  }
  // What completion offers for a flag of `command`: ids of checks, say.
  void OfferWords(const CLI::App& command, commands::FlagWords words) {
    offers_[&command].push_back(std::move(words));
  }
  const commands::Offers& offers() const { return offers_; }
  // The action of the command given, or an empty function if there was none.
  const Action& chosen() const { return chosen_; }

 private:
  static CLI::App& AddBelow(CLI::App& parent, const char* name, const char* help);

  CLI::App& app_;
  Action chosen_;
  commands::Offers offers_;
};

}  // namespace kgpu::cli
