#include "testing/kubelet/uid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>

#include <array>
#include <cstdint>

namespace kgpu::kubelet {

std::string NewUid() {
  std::array<uint8_t, 16> bytes{};
  // So few bytes are never cut short, and never wait after the machine has booted.
  [[maybe_unused]] const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
  bytes[6] = static_cast<uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<uint8_t>((bytes[8] & 0x3f) | 0x80);
  std::string text = fmt::format("{:02x}", fmt::join(bytes, ""));
  for (const size_t at : {8, 13, 18, 23}) {
    text.insert(at, 1, '-');
  }
  return text;
}

}  // namespace kgpu::kubelet
