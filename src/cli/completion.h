// Shell completion scripts, written from the tree of verbs and flags itself: they can not go stale.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::cli {

// What may stand behind a flag, one of it or several with commas between.
struct FlagWords {
  std::string flag;  // "--only"
  std::vector<std::string> words;
};

// A verb as completion sees it.
struct Verb {
  std::string name;
  std::string description;
  std::vector<std::string> flags;  // "--output", with their dashes
  std::vector<Verb> verbs;
  std::vector<FlagWords> values{};
};

// The script for `shell`: "bash", "zsh" or "fish". Errors: InvalidArgument (another shell).
StatusOr<std::string> CompletionScript(const Verb& root, std::string_view shell);

}  // namespace kgpu::cli
