// A regular expression as Go has them, compiled once. Never recurses on its input, takes time
// linear in it and a bounded amount of memory, whoever wrote expression and input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace re2 {
class RE2;
}

namespace kgpu::labels {

// Immutable; copies share one program. Thread: any.
class Pattern {
 public:
  // Of an expression's text.
  static constexpr size_t kMaxBytes = 4096;

  // Errors: InvalidArgument (why it is no expression, or that it is too large).
  static StatusOr<Pattern> Compile(std::string_view text);

  const std::string& text() const { return text_; }
  // Somewhere in `input`, as Go's MatchString.
  bool Matches(std::string_view input) const;
  // The first piece that matches, or "".
  std::string Find(std::string_view input) const;
  // `input` with every piece that matches replaced by `replacement` as it is.
  std::string Replace(std::string_view input, std::string_view replacement) const;

  // By text.
  bool operator==(const Pattern& other) const { return text_ == other.text_; }

 private:
  // Most expressions of rules are plain texts between anchors ("^03", "^AVX512F$"): these are
  // compared as such, which is ten times as fast.
  struct Plain {
    bool is_plain = false;
    bool at_begin = false;
    bool at_end = false;
    std::string text;
  };
  static Plain PlainOf(std::string_view text);

  Pattern(std::string text, std::shared_ptr<const re2::RE2> program)
      : text_(std::move(text)), plain_(PlainOf(text_)), program_(std::move(program)) {}

  std::string text_;
  Plain plain_;
  std::shared_ptr<const re2::RE2> program_;
};

}  // namespace kgpu::labels
