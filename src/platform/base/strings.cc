#include "src/platform/base/strings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <numeric>
#include <system_error>
#include <utility>

#include "src/platform/base/utf8.h"

namespace kgpu {
namespace {

// Levenshtein distance with three rows of memory; two neighbours exchanged count as one edit, since
// that is what fingers do.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

// Whether a terminal or a log obeys this character instead of showing it: a control, a mark that
// turns the direction of text, a separator of lines, a byte order mark. `character` is one of
// UTF-8.
bool IsControl(std::string_view character) {
  if (character.size() == 1) {
    return character[0] < 0x20 || character[0] == 0x7f;
  }
  return (character >= "\u0080" && character <= "\u009f") || character == "\u061c" ||
         character == "\u200e" || character == "\u200f" ||
         (character >= "\u2028" && character <= "\u202e") ||
         (character >= "\u2066" && character <= "\u2069") || character == "\ufeff";
}

}  // namespace

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  size_t begin = 0;
  for (size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator, begin)) {
    pieces.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  pieces.push_back(text.substr(begin));
  return pieces;
}

std::vector<std::string_view> Words(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  std::vector<std::string_view> words;
  size_t begin = text.find_first_not_of(kBlank);
  while (begin != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(kBlank, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlank, end);
  }
  return words;
}

std::vector<std::string> Concat(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::optional<uint64_t> ParseUint(std::string_view text, int base) {
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) {
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return value;
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

std::optional<std::string_view> Nearest(std::string_view word,
                                        const std::vector<std::string_view>& candidates) {
  std::optional<std::string_view> best;
  size_t best_distance = std::max<size_t>(word.size() / 3, 1) + 1;
  if (word.size() > 100) {
    return best;
  }
  for (const std::string_view candidate : candidates) {
    const size_t distance = EditDistance(ToLower(word), ToLower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string Printable(std::string_view text, size_t limit) {
  std::string out;
  const std::string_view shown = CutUtf8(text, limit);
  for (size_t at = 0; at < shown.size();) {
    const size_t length = Utf8Length(shown.substr(at));
    const std::string_view character = shown.substr(at, std::max<size_t>(length, 1));
    if (length > 0 && !IsControl(character)) {
      out += character;
    } else {
      for (const char byte : character) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(byte));
      }
    }
    at += character.size();
  }
  if (text.size() > limit) {
    out += "…";
  }
  return out;
}

}  // namespace kgpu
