#include "src/host/change/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/platform/base/stable_hash.h"

namespace kgpu::change {

std::string Fingerprint(std::string_view text) {
  return fmt::format("{:016x}-{}", StableHash(text), text.size());
}

bool IsAmong(const std::vector<std::string>& fingerprints, std::string_view text) {
  return std::ranges::find(fingerprints, Fingerprint(text)) != fingerprints.end();
}

}  // namespace kgpu::change
