#include "src/platform/pattern/pattern.h"

#include <re2/re2.h>

#include <algorithm>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu {
namespace {

// Limit for a compiled expression with its search tables: RE2 drops the tables when it is full.
constexpr int64_t kMemory = int64_t{128} << 10;

re2::StringPiece Piece(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

StatusOr<Pattern> Pattern::Compile(std::string_view text) {
  if (text.size() > kMaxBytes) {
    return InvalidArgument("the regular expression has {} bytes, limit {}", text.size(), kMaxBytes);
  }
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kMemory);
  auto program = std::make_shared<const re2::RE2>(Piece(text), options);
  if (!program->ok()) {
    return InvalidArgument("\"{}\" must be a regular expression: {}", Printable(text, 60),
                           Printable(program->error(), 120));
  }
  return Pattern(std::string(text), std::move(program));
}

Pattern::Plain Pattern::PlainOf(std::string_view text) {
  Plain plain;
  plain.at_begin = text.starts_with('^');
  text.remove_prefix(plain.at_begin ? 1 : 0);
  plain.at_end = text.ends_with('$');
  text.remove_suffix(plain.at_end ? 1 : 0);
  plain.is_plain = std::ranges::all_of(text, [](char c) {
    return IsAlphanumeric(c) || std::string_view("_- /:@").find(c) != std::string_view::npos;
  });
  plain.text = plain.is_plain ? text : std::string_view();
  return plain;
}

bool Pattern::Matches(std::string_view input) const {
  if (plain_.is_plain) {
    const std::string& text = plain_.text;
    if (plain_.at_begin && plain_.at_end) {
      return input == text;
    }
    return plain_.at_begin ? input.starts_with(text)
           : plain_.at_end ? input.ends_with(text)
                           : input.find(text) != std::string_view::npos;
  }
  return re2::RE2::PartialMatch(Piece(input), *program_);
}

std::string Pattern::Find(std::string_view input) const {
  re2::StringPiece found;
  if (!program_->Match(Piece(input), 0, input.size(), re2::RE2::UNANCHORED, &found, 1)) {
    return "";
  }
  return {found.data(), found.size()};
}

std::string Pattern::Replace(std::string_view input, std::string_view replacement) const {
  std::string rewrite;
  for (const char c : replacement) {
    if (c == '\\') {
      rewrite += c;
    }
    rewrite += c;
  }
  std::string text(input);
  re2::RE2::GlobalReplace(&text, *program_, rewrite);
  return text;
}

size_t Pattern::Rewrite(std::string& text, std::string_view rewrite) const {
  return static_cast<size_t>(re2::RE2::GlobalReplace(&text, *program_, rewrite));
}

}  // namespace kgpu
