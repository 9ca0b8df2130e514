// Keys from the bytes that a terminal sends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::terminal {

enum class KeyKind : uint8_t {
  kText,  // a character that was typed
  kEnter,
  kEscape,
  kBackspace,
  kTab,
  kUp,
  kDown,
  kLeft,
  kRight,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kRedraw,  // Ctrl-L
  kClear,   // Ctrl-U
};

struct Key {
  KeyKind kind = KeyKind::kText;
  std::string text{};  // of kText: one character in UTF-8
  bool operator==(const Key&) const = default;

  bool Is(char character) const {
    return kind == KeyKind::kText && text.size() == 1 && text[0] == character;
  }
};

// Sequences that it does not know are skipped. Source: ECMA-48, CSI and SS3; xterm's keys.
class KeyReader {
 public:
  // The keys that are complete with these bytes.
  std::vector<Key> Feed(std::string_view bytes);
  // Whether the bytes so far end within a sequence, or with an escape that may begin one.
  bool is_incomplete() const { return !rest_.empty(); }
  // No more bytes follow soon: an escape was the key.
  std::vector<Key> Flush();

 private:
  std::string rest_;
};

}  // namespace kgpu::terminal
