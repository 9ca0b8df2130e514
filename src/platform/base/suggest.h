// "did you mean …?" for a name that a person typed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kgpu {

// Which of `candidates` was probably meant by `word`, in their order: those that begin with it,
// else the nearest (strings.h), else those that share the longest beginning with it, if that is at
// least half of `word`. Empty where nothing is like it, or more than a few are. Dashes in front do
// not count, nor does case. Pure.
std::vector<std::string_view> Suggest(std::string_view word,
                                      const std::vector<std::string_view>& candidates);

// "did you mean a?", "did you mean a, b or c?", with `quote` around each name. Empty without names.
std::string DidYouMean(const std::vector<std::string_view>& names, std::string_view quote = "");

}  // namespace kgpu
