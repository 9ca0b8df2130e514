#include "src/platform/base/suggest.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "src/platform/base/strings.h"

namespace kgpu {
namespace {

// More are no help: a list of all says as much.
constexpr size_t kMaxSuggestions = 5;
// Fewer characters are shared by chance.
constexpr size_t kMinBeginning = 2;
constexpr size_t kMinShared = 4;

std::string WithoutDashes(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  return ToLower(name);
}

size_t SharedBeginning(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

std::vector<std::string_view> Suggest(std::string_view word,
                                      const std::vector<std::string_view>& candidates) {
  const std::string stem = WithoutDashes(word);
  std::vector<std::string_view> longer;
  std::vector<std::string_view> alike;
  size_t shared = std::max(stem.size() / 2, kMinShared);
  for (const std::string_view candidate : candidates) {
    const size_t here = SharedBeginning(stem, WithoutDashes(candidate));
    if (here == stem.size() && stem.size() >= kMinBeginning) {
      longer.push_back(candidate);
    }
    if (here > shared) {
      alike.clear();
      shared = here;
    }
    if (here == shared) {
      alike.push_back(candidate);
    }
  }
  if (longer.empty()) {
    if (const auto nearest = Nearest(word, candidates)) {
      return {*nearest};
    }
  }
  std::vector<std::string_view>& found = longer.empty() ? alike : longer;
  return found.size() > kMaxSuggestions ? std::vector<std::string_view>() : std::move(found);
}

std::string DidYouMean(const std::vector<std::string_view>& names, std::string_view quote) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view before = i == 0                  ? "did you mean "
                                    : i + 1 == names.size() ? " or "
                                                            : ", ";
    fmt::format_to(std::back_inserter(text), "{}{}{}{}", before, quote, names[i], quote);
  }
  return text.empty() ? text : text + "?";
}

}  // namespace kgpu
