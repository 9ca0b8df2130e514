#include "src/oci/splice.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <utility>

#include "src/base/status_macros.h"
#include "src/base/strings.h"

namespace kgpu::oci {
namespace {

using Changes = std::vector<const Change*>;

// Those whose path has `key` at `depth`.
Changes Below(const Changes& changes, size_t depth, std::string_view key) {
  Changes found;
  for (const Change* change : changes) {
    if (change->path[depth] == key) {
      found.push_back(change);
    }
  }
  return found;
}

bool IsValueItself(const Changes& changes, size_t depth) {
  return changes.size() == 1 && changes.front()->path.size() == depth;
}

// The text of a value that is not there yet: the new value, or objects around it.
std::string Nest(const Changes& changes, size_t depth) {
  if (IsValueItself(changes, depth)) {
    return changes.front()->value;
  }
  std::string text;
  std::set<std::string_view> done;
  for (const Change* change : changes) {
    const std::string_view key = change->path[depth];
    if (done.insert(key).second) {
      text += fmt::format("{}\"{}\":{}", text.empty() ? "{" : ",", key,
                          Nest(Below(changes, depth, key), depth + 1));
    }
  }
  return text + "}";
}

bool IsPlainInteger(std::string_view token) {
  const char* end = token.data() + token.size();
  int64_t number = 0;
  if (const auto [at, error] = std::from_chars(token.data(), end, number);
      at == end && error == std::errc()) {
    return number != 0 || token.front() != '-';
  }
  uint64_t large = 0;
  const auto [at, error] = std::from_chars(token.data(), end, large);
  return at == end && error == std::errc();
}

class Splicer {
 public:
  Splicer(std::string_view text, size_t expected_size) : text_(text) {
    out_.reserve(expected_size);
  }

  StatusOr<std::string> Run(const Changes& changes) {
    SkipBlanks();
    RETURN_IF_ERROR(Object(changes, 0));
    CopyTo(text_.size());
    return std::move(out_);
  }

 private:
  bool AtEnd() const { return at_ >= text_.size(); }
  char Here() const { return AtEnd() ? '\0' : text_[at_]; }

  void SkipBlanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  // Everything not yet copied before `end`.
  void CopyTo(size_t end) {
    out_ += text_.substr(copied_, end - copied_);
    copied_ = end;
  }

  void ReplaceTo(size_t end, std::string_view value) {
    out_ += value;
    copied_ = end;
  }

  // At an opening quote; afterwards behind the closing one. Returns what is between, escapes and
  // all.
  std::string_view SkipString() {
    const size_t begin = ++at_;
    at_ = text_.find('"', begin);
    while (at_ != std::string_view::npos && IsEscaped(at_)) {
      at_ = text_.find('"', at_ + 1);
    }
    const size_t end = std::min(at_, text_.size());
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  // Whether an odd number of backslashes stands before the quote at `quote`.
  bool IsEscaped(size_t quote) const {
    size_t first = quote;
    while (text_[first - 1] == '\\') {
      --first;
    }
    return (quote - first) % 2 == 1;
  }

  // A number, true, false or null.
  std::string_view SkipWord() {
    const size_t begin = at_;
    at_ = std::min(text_.find_first_of(" \t\r\n,]}", at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }

  // Any value; its numbers go to `number_` when they would not print as they are written.
  void SkipValue() {
    size_t depth = 0;
    do {
      SkipBlanks();
      const char c = Here();
      if (c == '"') {
        (void)SkipString();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at_;
      } else if (c == ',' || c == ':') {
        ++at_;
      } else if (const std::string_view word = SkipWord();
                 (c == '-' || (c >= '0' && c <= '9')) && !IsPlainInteger(word)) {
        number_ = word;
      }
    } while (depth > 0 && !AtEnd());
  }

  // At an opening brace; afterwards behind the closing one.
  Status Object(const Changes& changes, size_t depth) {
    std::set<std::string_view> seen;
    bool has_fields = false;
    ++at_;
    for (SkipBlanks(); !AtEnd() && Here() != '}'; SkipBlanks()) {
      if (Here() == ',') {
        ++at_;
        SkipBlanks();
      }
      has_fields = true;
      RETURN_IF_ERROR(Member(changes, depth, seen));
    }
    Changes missing;
    std::ranges::copy_if(changes, std::back_inserter(missing),
                         [&](const Change* change) { return !seen.contains(change->path[depth]); });
    if (!missing.empty()) {
      CopyTo(at_);
      const std::string fields = Nest(missing, depth);
      out_ += has_fields ? "," : "";
      out_ += std::string_view(fields).substr(1, fields.size() - 2);
    }
    ++at_;
    return OkStatus();
  }

  // At a key; afterwards behind its value.
  Status Member(const Changes& changes, size_t depth, std::set<std::string_view>& seen) {
    const std::string_view key = SkipString();
    if (key.find('\\') != std::string_view::npos) {
      return InvalidArgument("the key \"{}\" is written with escapes: write it without",
                             Printable(key, 60));
    }
    SkipBlanks();
    ++at_;  // ':'
    SkipBlanks();
    const Changes inside = Below(changes, depth, key);
    if (inside.empty()) {
      SkipValue();
      return OkStatus();
    }
    if (!seen.insert(key).second) {
      return InvalidArgument("\"{}\" is given twice: keep one", key);
    }
    if (Here() == '{' && !IsValueItself(inside, depth + 1)) {
      return Object(inside, depth + 1);
    }
    CopyTo(at_);
    number_ = {};
    SkipValue();
    if (!number_.empty()) {
      return InvalidArgument("{}: the number {} can not be kept as it is written",
                             fmt::join(inside.front()->path, "."), Printable(number_, 60));
    }
    ReplaceTo(at_, Nest(inside, depth + 1));
    return OkStatus();
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t copied_ = 0;
  std::string out_;
  std::string_view number_;
};

}  // namespace

StatusOr<std::string> Splice(std::string_view text, const std::vector<Change>& changes) {
  if (changes.empty()) {
    return std::string(text);
  }
  Changes pointers;
  size_t size = text.size();
  for (const Change& change : changes) {
    pointers.push_back(&change);
    size += change.value.size() + 64;  // and the names around it
  }
  return Splicer(text, size).Run(pointers);
}

}  // namespace kgpu::oci
