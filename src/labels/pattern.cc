#include "src/labels/pattern.h"

#include <re2/re2.h>

#include "src/base/strings.h"

namespace kgpu::labels {
namespace {

// Of one compiled expression, its search tables included: RE2 forgets the tables when they fill it.
constexpr int64_t kMemory = int64_t{128} << 10;

re2::StringPiece Piece(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

StatusOr<Pattern> Pattern::Compile(std::string_view text) {
  if (text.size() > kMaxBytes) {
    return InvalidArgument("the regular expression has {} bytes: {} are allowed", text.size(),
                           kMaxBytes);
  }
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kMemory);
  auto program = std::make_shared<const re2::RE2>(Piece(text), options);
  if (!program->ok()) {
    return InvalidArgument("\"{}\" is no regular expression: {}", Printable(text, 60),
                           Printable(program->error(), 120));
  }
  return Pattern(std::string(text), std::move(program));
}

bool Pattern::Matches(std::string_view input) const {
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

}  // namespace kgpu::labels
