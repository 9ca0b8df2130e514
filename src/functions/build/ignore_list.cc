#include "src/functions/build/ignore_list.h"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

constexpr size_t kMaxLines = 1000;
// fnmatch(3) backtracks at each star.
constexpr size_t kMaxPattern = 256;
constexpr size_t kMaxStars = 4;

// `path` and the folders above it: "a/b/c", "a/b", "a".
bool AnyLevelMatches(const std::string& pattern, std::string path) {
  while (!path.empty()) {
    if (fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0) {
      return true;
    }
    const size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
  return false;
}

std::string_view WithoutPrefix(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

std::string_view WithoutSuffix(std::string_view text, std::string_view suffix) {
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

Status CheckPattern(std::string_view pattern, size_t number) {
  if (pattern.size() > kMaxPattern ||
      static_cast<size_t>(std::ranges::count(pattern, '*')) > kMaxStars) {
    return InvalidArgument("line {}: the pattern has more than {} characters or {} stars", number,
                           kMaxPattern, kMaxStars);
  }
  if (pattern.find("**") != std::string_view::npos) {
    return InvalidArgument(
        "line {}: \"**\" is possible at the beginning (**/NAME) or at the end (NAME/**) only",
        number);
  }
  return OkStatus();
}

}  // namespace

StatusOr<IgnoreList> IgnoreList::Parse(std::string_view text) {
  IgnoreList list;
  size_t number = 0;
  for (std::string_view line : Split(text, '\n')) {
    ++number;
    line = Trim(line);
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    if (list.lines_.size() == kMaxLines) {
      return InvalidArgument("line {}: more than {} patterns", number, kMaxLines);
    }
    const bool takes_in = line.starts_with('!');
    line = WithoutPrefix(WithoutPrefix(WithoutPrefix(line, "!"), "./"), "/");
    const bool is_anywhere = line.starts_with("**/");
    line = WithoutSuffix(WithoutSuffix(WithoutPrefix(line, "**/"), "/**"), "/");
    if (Status status = CheckPattern(line, number); !status.ok()) {
      return status;
    }
    list.has_exceptions_ |= takes_in;
    list.lines_.push_back(
        {.pattern = std::string(line), .is_anywhere = is_anywhere, .takes_in = takes_in});
  }
  return list;
}

bool IgnoreList::Matches(std::string_view path) const {
  bool is_ignored = false;
  for (const Line& line : lines_) {
    if (line.takes_in != is_ignored) {
      continue;  // it would change nothing
    }
    bool is_match = AnyLevelMatches(line.pattern, std::string(path));
    for (size_t slash = path.find('/');
         line.is_anywhere && !is_match && slash != std::string_view::npos;
         slash = path.find('/', slash + 1)) {
      is_match = AnyLevelMatches(line.pattern, std::string(path.substr(slash + 1)));
    }
    is_ignored = is_match ? !line.takes_in : is_ignored;
  }
  return is_ignored;
}

}  // namespace kgpu::functions
