// Tells the texts of a file apart that kgpu wrote, or was about to write, from those of others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kgpu::change {

// Not made against somebody who wants two texts to look alike: whoever writes these files is root
// already.
std::string Fingerprint(std::string_view text);

// Whether the text's fingerprint is one of these.
bool IsAmong(const std::vector<std::string>& fingerprints, std::string_view text);

}  // namespace kgpu::change
