#include "src/container/oci/splice.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_cursor.h"

namespace kgpu::oci {
namespace {

using Changes = std::vector<const Change*>;

// Those whose path has `key` at `depth`.
Changes ChangesBelow(const Changes& changes, size_t depth, std::string_view key) {
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
                          Nest(ChangesBelow(changes, depth, key), depth + 1));
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
  Splicer(std::string_view text, size_t expected_size) : text_(text), cursor_(text) {
    out_.reserve(expected_size);
  }

  StatusOr<std::string> Run(const Changes& changes) {
    cursor_.SkipBlanks();
    RETURN_IF_ERROR(Object(changes, 0));
    CopyTo(text_.size());
    return std::move(out_);
  }

 private:
  // Everything not yet copied before `end`.
  void CopyTo(size_t end) {
    out_ += text_.substr(copied_, end - copied_);
    copied_ = end;
  }

  // At an opening brace; afterwards behind the closing one.
  Status Object(const Changes& changes, size_t depth) {
    std::set<std::string_view> seen;
    bool has_fields = false;
    cursor_.Step();
    for (cursor_.SkipBlanks(); !cursor_.AtEnd() && cursor_.Here() != '}'; cursor_.SkipBlanks()) {
      (void)cursor_.Take(',');
      has_fields = true;
      RETURN_IF_ERROR(Member(changes, depth, seen));
    }
    Changes missing;
    std::ranges::copy_if(changes, std::back_inserter(missing),
                         [&](const Change* change) { return !seen.contains(change->path[depth]); });
    if (!missing.empty()) {
      CopyTo(cursor_.at());
      const std::string fields = Nest(missing, depth);
      out_ += has_fields ? "," : "";
      out_ += std::string_view(fields).substr(1, fields.size() - 2);
    }
    cursor_.Step();
    return OkStatus();
  }

  // At a key; afterwards behind its value.
  Status Member(const Changes& changes, size_t depth, std::set<std::string_view>& seen) {
    const std::string_view key = cursor_.SkipString();
    if (key.find('\\') != std::string_view::npos) {
      return InvalidArgument("the key \"{}\" contains escapes: write it without",
                             Printable(key, 60));
    }
    (void)cursor_.Take(':');
    const Changes inside = ChangesBelow(changes, depth, key);
    if (inside.empty()) {
      cursor_.SkipValue();
      return OkStatus();
    }
    if (!seen.insert(key).second) {
      return InvalidArgument("duplicate key \"{}\": remove one", key);
    }
    if (cursor_.Here() == '{' && !IsValueItself(inside, depth + 1)) {
      return Object(inside, depth + 1);
    }
    CopyTo(cursor_.at());
    std::string_view odd;
    cursor_.SkipValue([&odd](std::string_view number) {
      if (!IsPlainInteger(number)) {
        odd = number;
      }
    });
    if (!odd.empty()) {
      return InvalidArgument("{}: the number {} cannot be represented exactly",
                             fmt::join(inside.front()->path, "."), Printable(odd, 60));
    }
    out_ += Nest(inside, depth + 1);
    copied_ = cursor_.at();
    return OkStatus();
  }

  std::string_view text_;
  doc::JsonCursor cursor_;
  size_t copied_ = 0;
  std::string out_;
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
