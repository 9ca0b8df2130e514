#include "src/host/change/fingerprint.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace kgpu::change {

std::string Fingerprint(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return fmt::format("{:016x}-{}", hash, text.size());
}

bool IsAmong(const std::vector<std::string>& fingerprints, std::string_view text) {
  return std::ranges::find(fingerprints, Fingerprint(text)) != fingerprints.end();
}

}  // namespace kgpu::change
