#include "src/cli/program/kubectl_plugin.h"

#include <algorithm>
#include <array>
#include <utility>

#include "src/cli/base/output.h"
#include "src/cli/program/completion.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

// What a person at kubectl means by these words is the cluster. A test compares.
constexpr std::array<std::string_view, 9> kClusterWords = {
    "adopt", "controller", "gpus", "install", "render", "status", "uninstall", "upgrade", "values"};

bool IsHelp(std::string_view word) {
  return word == "help" || word == "-h" || word == "--help";
}

bool IsNamed(std::string_view flag, const std::vector<std::string>& words) {
  return std::ranges::find(words, flag) != words.end();
}

}  // namespace

CalledAs CalledAsOf(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  if (name == "kubectl-kgpu") {
    return CalledAs::kPlugin;
  }
  return name == "kubectl_complete-kgpu" ? CalledAs::kCompletion : CalledAs::kProgram;
}

std::vector<std::string> PluginWords(std::vector<std::string> words) {
  if (words.empty() || (words.size() == 1 && IsHelp(words.front()))) {
    return {"cluster", "--help"};
  }
  const size_t first = words.front() == "help" ? 1 : 0;
  if (std::ranges::find(kClusterWords, words[first]) != kClusterWords.end()) {
    words.insert(words.begin() + static_cast<ptrdiff_t>(first), "cluster");
  } else if (words[first] == "top" && first == 0 && !IsNamed("--cluster", words)) {
    words.insert(words.begin() + 1, "--cluster");
  }
  return words;
}

StatusOr<ExitCode> CompleteForKubectl(std::vector<std::string> words) {
  if (words.size() <= 1) {
    const std::string current = words.empty() ? "" : words.front();
    RETURN_IF_ERROR(PrintCandidates({"cluster", current}).status());
    RETURN_IF_ERROR(PrintCandidates({current}).status());
  } else {
    RETURN_IF_ERROR(PrintCandidates(PluginWords(std::move(words))).status());
  }
  // The rest of cobra's protocol: no files where nothing is offered.
  return OkOr(PrintOut(":4\n"));
}

}  // namespace kgpu::cli
