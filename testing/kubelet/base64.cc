#include "testing/kubelet/base64.h"

#include <cstdint>

namespace kgpu::kubelet {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint32_t kLowSix = 0x3f;

}  // namespace

std::string ToBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<uint8_t>(bytes[at + i]) : 0);
    }
    for (size_t i = 0; i < 4; ++i) {
      text += i <= count ? kAlphabet[group >> (18 - 6 * i) & kLowSix] : '=';
    }
  }
  return text;
}

StatusOr<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return InvalidArgument("base64 text of {} characters: must be a multiple of 4", text.size());
  }
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_padding = i >= text.size() - padding;
    const size_t value = is_padding ? 0 : kAlphabet.find(text[i]);
    if (value == std::string_view::npos) {
      return InvalidArgument("base64 text: character {} is not of its alphabet", i + 1);
    }
    group = group << 6 | static_cast<uint32_t>(value);
    if (i % 4 == 3) {
      for (int shift = 16; shift >= 0; shift -= 8) {
        bytes += static_cast<char>(group >> shift & 0xff);
      }
      group = 0;
    }
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace kgpu::kubelet
