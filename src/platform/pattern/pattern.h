// A Go regular expression, compiled once. Never recurses on its input; time is linear in the input
// and memory is bounded, whoever wrote expression and input.
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

namespace kgpu {

// Immutable; copies share one program. Thread: any.
class Pattern {
 public:
  // Size limit of an expression's text.
  static constexpr size_t kMaxBytes = 4096;

  // Errors: InvalidArgument (why it is invalid, or that it is too large).
  static StatusOr<Pattern> Compile(std::string_view text);

  const std::string& text() const { return text_; }
  // Whether it matches anywhere in `input`, as Go's MatchString.
  bool Matches(std::string_view input) const;
  // The first match, or "".
  std::string Find(std::string_view input) const;
  // `input` with every match replaced by `replacement`, literally.
  std::string Replace(std::string_view input, std::string_view replacement) const;
  // `text` with every match replaced by `rewrite`, in which \1 is the first group; returns how many
  // there were.
  size_t Rewrite(std::string& text, std::string_view rewrite) const;

  // Compares the text.
  bool operator==(const Pattern& other) const { return text_ == other.text_; }

 private:
  // Most expressions in rules are plain texts between anchors ("^03", "^AVX512F$"): these are
  // compared directly, which is ten times faster.
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

}  // namespace kgpu
