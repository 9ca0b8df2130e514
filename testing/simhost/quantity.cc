#include "testing/simhost/quantity.h"

#include <array>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::simhost {
namespace {

// Source: nvml.h, nvmlClocksEventReason*.
constexpr std::array<std::pair<std::string_view, uint64_t>, 10> kReasons = {{
    {"off", 0},
    {"idle", 0x1},
    {"clocks", 0x2},
    {"power-cap", 0x4},
    {"hw-slowdown", 0x8},
    {"sync-boost", 0x10},
    {"sw-thermal", 0x20},
    {"hw-thermal", 0x40},
    {"power-brake", 0x80},
    {"display", 0x100},
}};

StatusOr<uint64_t> BitsOf(std::string_view reason) {
  std::vector<std::string_view> words;
  words.reserve(kReasons.size());
  for (const auto& [word, bits] : kReasons) {
    if (word == reason) {
      return bits;
    }
    words.push_back(word);
  }
  const bool is_hex = reason.starts_with("0x");
  if (const auto bits = ParseUint(reason, is_hex ? 16 : 10); bits) {
    return *bits;
  }
  const auto nearest = Nearest(reason, words);
  return InvalidArgument("REASON: \"{}\" must be one of {}{}", Printable(reason, 60),
                         fmt::join(words, ", "),
                         nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : "");
}

}  // namespace

StatusOr<uint64_t> ParseMebi(std::string_view text, std::string_view flag) {
  std::string_view digits = text;
  uint64_t factor = 1;
  if (digits.ends_with("Gi")) {
    factor = 1024;
    digits.remove_suffix(2);
  } else if (digits.ends_with("Mi")) {
    digits.remove_suffix(2);
  }
  const auto number = ParseUint(digits);
  constexpr uint64_t kMost = uint64_t{1} << 24;  // 16 TiB
  if (!number || *number > kMost) {
    return InvalidArgument("{}: \"{}\" must be an amount, e.g. 512Mi or 20Gi", flag,
                           Printable(text, 60));
  }
  return *number * factor;
}

StatusOr<uint64_t> ThrottleBits(const std::vector<std::string>& reasons) {
  uint64_t all = 0;
  for (const std::string& reason : reasons) {
    const StatusOr<uint64_t> bits = BitsOf(reason);
    if (!bits.ok()) {
      return bits.status();
    }
    all |= *bits;
  }
  return all;
}

}  // namespace kgpu::simhost
