// Tells the file contents that kgpu wrote, or was about to write, from those of others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kgpu::change {

// Does not resist deliberate collisions: whoever writes these files is root
// already.
std::string Fingerprint(std::string_view text);

// Whether the text's fingerprint is in the list.
bool IsAmong(const std::vector<std::string>& fingerprints, std::string_view text);

}  // namespace kgpu::change
