// How a verb joins the program: one function AddXVerb(VerbRegistrar&) per group, listed in main.cc.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "src/cli/completion.h"
#include "src/cli/exit_code.h"
#include "src/platform/base/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

class VerbRegistrar {
 public:
  // What a verb does once its flags are parsed. An error is printed by the caller, once.
  using Action = std::function<StatusOr<ExitCode>()>;

  explicit VerbRegistrar(CLI::App& app) : app_(app) {}

  CLI::App& app() { return app_; }
  // Remembers `action` as the one to run when `verb` was the verb given.
  void OnRun(CLI::App& verb, Action action);
  // What completion offers behind a flag of `verb`: ids of checks, say.
  void OfferWords(const CLI::App& verb, FlagWords words) {
    words_[&verb].push_back(std::move(words));
  }
  const std::map<const CLI::App*, std::vector<FlagWords>>& words() const { return words_; }
  // The action of the verb given, or an empty function when there was none.
  const Action& chosen() const { return chosen_; }

 private:
  CLI::App& app_;
  Action chosen_;
  std::map<const CLI::App*, std::vector<FlagWords>> words_;
};

}  // namespace kgpu::cli
