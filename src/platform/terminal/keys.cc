#include "src/platform/terminal/keys.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/base/utf8.h"

namespace kgpu::terminal {
namespace {

constexpr char kEscapeByte = '\x1b';
// Longer ones are no key: the bytes are dropped.
constexpr size_t kMostSequence = 32;

struct Named {
  std::string_view sequence;  // behind the escape
  KeyKind kind;
};
constexpr std::array<Named, 20> kSequences = {{
    {"[A", KeyKind::kUp},        {"[B", KeyKind::kDown},       {"[C", KeyKind::kRight},
    {"[D", KeyKind::kLeft},      {"[H", KeyKind::kHome},       {"[F", KeyKind::kEnd},
    {"OA", KeyKind::kUp},        {"OB", KeyKind::kDown},       {"OC", KeyKind::kRight},
    {"OD", KeyKind::kLeft},      {"OH", KeyKind::kHome},       {"OF", KeyKind::kEnd},
    {"[1~", KeyKind::kHome},     {"[4~", KeyKind::kEnd},       {"[5~", KeyKind::kPageUp},
    {"[6~", KeyKind::kPageDown}, {"[7~", KeyKind::kHome},      {"[8~", KeyKind::kEnd},
    {"OM", KeyKind::kEnter},     {"[3~", KeyKind::kBackspace},
}};

bool IsWithinBytes(char byte, unsigned char low, unsigned char high) {
  const auto value = static_cast<unsigned char>(byte);
  return value >= low && value <= high;
}

// Bytes of the sequence at the beginning of `bytes`, behind its escape; nothing: it is incomplete.
std::optional<size_t> SequenceLength(std::string_view bytes) {
  if (bytes.empty()) {
    return std::nullopt;
  }
  if (bytes[0] == 'O') {
    return bytes.size() < 2 ? std::nullopt : std::optional<size_t>(2);
  }
  if (bytes[0] != '[') {
    return 0;  // an escape, and a key of its own
  }
  for (size_t at = 1; at < bytes.size(); ++at) {
    if (IsWithinBytes(bytes[at], 0x40, 0x7e)) {
      return at + 1;
    }
    if (!IsWithinBytes(bytes[at], 0x20, 0x3f)) {
      return at;  // broken off
    }
  }
  return bytes.size() > kMostSequence ? std::optional(bytes.size()) : std::nullopt;
}

std::optional<KeyKind> KindOfByte(char byte) {
  switch (byte) {
    case '\r':
    case '\n':
      return KeyKind::kEnter;
    case '\t':
      return KeyKind::kTab;
    case '\b':
    case '\x7f':
      return KeyKind::kBackspace;
    case '\x0c':
      return KeyKind::kRedraw;
    case '\x15':
      return KeyKind::kClear;
    default:
      return std::nullopt;
  }
}

// Bytes that a character needs which begins like this; 1 for what is none.
size_t BytesNeeded(char first) {
  return IsWithinBytes(first, 0xc2, 0xdf)   ? 2
         : IsWithinBytes(first, 0xe0, 0xef) ? 3
         : IsWithinBytes(first, 0xf0, 0xf4) ? 4
                                            : 1;
}

}  // namespace

std::vector<Key> KeyReader::Feed(std::string_view bytes) {
  rest_ += bytes;
  std::vector<Key> keys;
  size_t at = 0;
  while (at < rest_.size()) {
    const std::string_view left = std::string_view(rest_).substr(at);
    if (left[0] == kEscapeByte) {
      const auto length = SequenceLength(left.substr(1));
      if (!length) {
        break;
      }
      const auto* const known =
          std::ranges::find(kSequences, left.substr(1, *length), &Named::sequence);
      if (*length == 0) {
        keys.push_back({.kind = KeyKind::kEscape});
      } else if (known != kSequences.end()) {
        keys.push_back({.kind = known->kind});
      }
      at += 1 + *length;
      continue;
    }
    if (left.size() < BytesNeeded(left[0])) {
      break;
    }
    const size_t length = std::max<size_t>(Utf8Length(left), 1);
    if (const auto kind = KindOfByte(left[0]); kind) {
      keys.push_back({.kind = *kind});
    } else if (const std::string_view character = left.substr(0, length);
               Printable(character) == character) {
      keys.push_back({.text = std::string(character)});
    }
    at += length;
  }
  rest_.erase(0, at);
  return keys;
}

std::vector<Key> KeyReader::Flush() {
  const bool is_escape = rest_.starts_with(kEscapeByte);
  rest_.clear();
  return is_escape ? std::vector<Key>{{.kind = KeyKind::kEscape}} : std::vector<Key>();
}

}  // namespace kgpu::terminal
