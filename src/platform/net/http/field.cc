#include "src/platform/net/http/field.h"

#include <algorithm>
#include <array>

namespace kgpu::http {
namespace {

constexpr std::string_view kAlphanumeric =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

constexpr std::array<bool, 256> TableOf(std::string_view others) {
  std::array<bool, 256> table{};
  for (const std::string_view part : {kAlphanumeric, others}) {
    for (const unsigned char c : part) {
      table.at(c) = true;
    }
  }
  return table;
}

constexpr std::array<bool, 256> kIsOfToken = TableOf("!#$%&'*+-.^_`|~");
// Unreserved characters, sub-delimiters and those of an escape.
constexpr std::array<bool, 256> kIsOfName = TableOf("-._~!$&'()*+,;=%");
constexpr std::array<bool, 256> kIsOfAddress = TableOf(":.-_~!$&'()*+,;=%");

bool IsAllOf(std::string_view text, const std::array<bool, 256>& table) {
  return std::ranges::all_of(text, [&](char c) { return table.at(static_cast<unsigned char>(c)); });
}

bool IsBlank(char c) {
  return c == ' ' || c == '\t';
}

}  // namespace

bool IsToken(std::string_view text) {
  return !text.empty() && IsAllOf(text, kIsOfToken);
}

bool IsFieldValue(std::string_view text) {
  if (!text.empty() && (IsBlank(text.front()) || IsBlank(text.back()))) {
    return false;
  }
  return std::ranges::all_of(text, [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  });
}

bool IsHost(std::string_view text) {
  std::string_view name = text;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos || end == 1 ||
        !IsAllOf(text.substr(1, end - 1), kIsOfAddress)) {
      return false;
    }
    name = "";
    rest = text.substr(end + 1);
  } else if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    name = text.substr(0, colon);
    rest = text.substr(colon);
  }
  const bool is_port = rest.empty() || (rest.front() == ':' && rest.find_first_not_of(kDigits, 1) ==
                                                                   std::string_view::npos);
  return is_port && IsAllOf(name, kIsOfName);
}

}  // namespace kgpu::http
