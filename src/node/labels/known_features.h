// The names of the features that this program reads, to find misspelt ones in rules. Feature files,
// NodeFeature objects and other rules may bring more: an unknown name is a hint, not an error.
#pragma once

#include <string>
#include <string_view>

namespace kgpu::labels {

// A remark about an unusual feature name, with the nearest known one; empty if it is known. Not
// case-sensitive, as in rules.
std::string HintOnFeature(std::string_view feature);

// The same for an element of it: an attribute, or a flag. Empty also if the feature is unknown, or
// its elements depend on the host.
std::string HintOnElement(std::string_view feature, std::string_view element);

}  // namespace kgpu::labels
