#include "src/functions/init/config_text.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "src/functions/spec/functions_file.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

constexpr std::string_view kFunctionsLine = "functions:";

// The entry below `functions:`, indented by `indent` blanks.
std::string EntryText(const Function& function, size_t indent) {
  const std::vector<std::string> lines = {fmt::format("{}:", function.name),
                                          fmt::format("  runtime: {}", function.runtime),
                                          "  handler:",
                                          fmt::format("    dir: {}", function.handler.dir),
                                          fmt::format("    file: {}", function.handler.file),
                                          fmt::format("    name: {}", function.handler.name),
                                          "  requests:",
                                          fmt::format("    gpu: {}", function.gpu.count)};
  std::string text;
  for (const std::string& line : lines) {
    text += std::string(indent, ' ') + line + "\n";
  }
  return text;
}

bool IsBlankOrComment(std::string_view line) {
  const std::string_view trimmed = Trim(line);
  return trimmed.empty() || trimmed.front() == '#';
}

size_t IndentOf(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// Where a block of functions ends, and how its names are indented.
struct Block {
  size_t end = 0;  // offset of the line after it
  size_t indent = 2;
};

// Nothing if `functions:` is missing or in flow style.
std::optional<Block> FindBlock(std::string_view text) {
  std::optional<Block> block;
  bool has_entry = false;
  size_t at = 0;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t next = std::min(at + line.size() + 1, text.size());
    if (!block) {
      if (line.starts_with(kFunctionsLine) &&
          IsBlankOrComment(line.substr(kFunctionsLine.size()))) {
        block = Block{.end = next};
      }
    } else if (!IsBlankOrComment(line)) {
      if (IndentOf(line) == 0) {
        break;
      }
      block->indent = has_entry ? block->indent : IndentOf(line);
      block->end = next;
      has_entry = true;
    }
    at = next;
  }
  return block;
}

Status SayHowByHand(std::string_view file, const Function& function) {
  return FailedPrecondition(
      "{}: cannot be extended as it is laid out: add this to its functions:\n{}", file,
      EntryText(function, 2));
}

}  // namespace

std::string NewConfigText(const Function& function, std::string_view gateway) {
  std::string text = fmt::format("{}\n{}", kFunctionsLine, EntryText(function, 2));
  if (!gateway.empty()) {
    text += fmt::format("openfx:\n  gateway: {}\n", gateway);
  }
  return text;
}

StatusOr<std::string> WithFunction(std::string_view text, std::string_view file,
                                   const Function& function, std::string_view gateway) {
  if (std::ranges::all_of(Split(text, '\n'), IsBlankOrComment)) {
    return std::string(text) + (text.empty() || text.ends_with('\n') ? "" : "\n") +
           NewConfigText(function, gateway);
  }
  ASSIGN_OR_RETURN(FunctionsFile expected, ParseFunctionsFile(text, file));
  if (FindFunction(expected, function.name) != nullptr) {
    return AlreadyExists("{}: it has a function {}: choose another name", file, function.name);
  }
  if (!gateway.empty() && gateway != expected.gateway) {
    return InvalidArgument("--gateway: {} has openfx.gateway \"{}\": change it there", file,
                           expected.gateway);
  }
  const std::optional<Block> block = FindBlock(text);
  if (!block) {
    return SayHowByHand(file, function);
  }
  std::string changed(text.substr(0, block->end));
  changed += changed.ends_with('\n') ? "" : "\n";
  changed += EntryText(function, block->indent);
  changed += text.substr(block->end);
  // The layout was only guessed: what counts is what a reader makes of it.
  expected.functions.push_back(function);
  std::ranges::sort(expected.functions, {}, &Function::name);
  const auto read = ParseFunctionsFile(changed, file);
  return read.ok() && *read == expected ? StatusOr<std::string>(std::move(changed))
                                        : StatusOr<std::string>(SayHowByHand(file, function));
}

}  // namespace kgpu::functions
