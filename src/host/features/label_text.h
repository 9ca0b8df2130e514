// What Kubernetes accepts as the key and the value of a label.
#pragma once

#include <string_view>

namespace kgpu::features {

// "prefix/name": a DNS subdomain of at most 253 letters, and a name of at most 63 letters, digits,
// "-", "_", "." that begins and ends with a letter or digit. The prefix is optional.
bool IsLabelKey(std::string_view text);

// Empty, or the same as a key's name.
bool IsLabelValue(std::string_view text);

}  // namespace kgpu::features
