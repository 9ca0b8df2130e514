#include "src/platform/edit/toml_scan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/utf8.h"
#include "src/platform/edit/names.h"
#include "src/platform/edit/toml_scalar.h"

namespace kgpu::edit {
namespace {

void AppendUtf8(std::string& out, uint32_t code) {
  const auto tail = [code](int shift) {
    return static_cast<char>(0x80U | ((code >> shift) & 0x3FU));
  };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += {static_cast<char>(0xC0U | (code >> 6U)), tail(0)};
  } else if (code < 0x10000) {
    out += {static_cast<char>(0xE0U | (code >> 12U)), tail(6), tail(0)};
  } else {
    out += {static_cast<char>(0xF0U | ((code >> 18U) & 7U)), tail(12), tail(6), tail(0)};
  }
}

// The meaning of a "basic" key; its escapes are those of TOML 1.0. An invalid one stays as it is:
// the parser rejects the text.
std::string Unescape(std::string_view raw) {
  constexpr std::string_view kLetters = "btnfr\"\\";
  constexpr std::string_view kMeanings = "\b\t\n\f\r\"\\";
  std::string out;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 >= raw.size()) {
      out += raw[i];
      continue;
    }
    const char letter = raw[++i];
    if (const size_t known = kLetters.find(letter); known != std::string_view::npos) {
      out += kMeanings[known];
      continue;
    }
    const size_t digits = letter == 'u' ? 4 : 8;
    uint32_t code = 0;
    for (const char c : raw.substr(i + 1, digits)) {
      const auto digit = std::string_view("0123456789abcdef").find(static_cast<char>(c | 0x20));
      code = code * 16 + static_cast<uint32_t>(std::min<size_t>(digit, 15));
    }
    AppendUtf8(out, code);
    i += digits;
  }
  return out;
}

class Scanner {
 public:
  Scanner(std::string_view text, std::string_view file, const TomlLimits& limits)
      : text_(text), file_(file), limits_(limits), at_(TextStart(text)) {}

  StatusOr<std::vector<TomlSection>> Run() {
    RETURN_IF_ERROR(CheckBytes());
    std::vector<TomlSection> sections(1);
    for (SkipLines(); at_ < text_.size(); SkipLines()) {
      if (Peek() == '[') {
        ASSIGN_OR_RETURN(TomlSection section, Header());
        sections.push_back(std::move(section));
      } else {
        ASSIGN_OR_RETURN(TomlEntry entry, Entry(sections.back().name.size()));
        sections.back().entries.push_back(std::move(entry));
      }
      RETURN_IF_ERROR(EndOfLine());
    }
    return sections;
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("{}: not TOML: {}", PlaceText(file_, text_, at_),
                           fmt::format(format, std::forward<Args>(args)...));
  }

  // toml++ relies on what these are not.
  Status CheckBytes() {
    if (const std::optional<size_t> invalid = FindInvalidUtf8(text_)) {
      at_ = *invalid;
      return Error("not UTF-8 text");
    }
    const auto is_control = [](char c) {
      return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') ||
             c == 0x7F;
    };
    if (const auto control = std::ranges::find_if(text_, is_control); control != text_.end()) {
      at_ = static_cast<size_t>(control - text_.begin());
      return Error("a control character");
    }
    return OkStatus();
  }

  void SkipBlanks() {
    while (Peek() == ' ' || Peek() == '\t') {
      ++at_;
    }
  }

  void SkipComment() {
    if (Peek() == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
  }

  // Blanks, comments and line ends.
  void SkipLines() {
    for (;;) {
      SkipBlanks();
      SkipComment();
      if (Peek() == '\n') {
        ++at_;
      } else if (Peek() == '\r' && Peek(1) == '\n') {
        at_ += 2;
      } else {
        return;
      }
    }
  }

  Status EndOfLine() {
    SkipBlanks();
    SkipComment();
    const bool ends = at_ >= text_.size() || Peek() == '\n' || (Peek() == '\r' && Peek(1) == '\n');
    return ends ? OkStatus() : Error("expected the end of the line");
  }

  // Counts what takes memory.
  Status Count(size_t depth) {
    if (depth > limits_.depth) {
      return Error("nested deeper than {} levels", limits_.depth);
    }
    if (++values_ > limits_.values) {
      return Error("more than {} values", limits_.values);
    }
    return OkStatus();
  }

  StatusOr<TomlSection> Header() {
    TomlSection section;
    section.header.begin = at_;
    section.is_item = Peek(1) == '[';
    at_ += section.is_item ? 2 : 1;
    ASSIGN_OR_RETURN(section.name, KeyNames(0));
    if (Peek() != ']' || (section.is_item && Peek(1) != ']')) {
      return Error("expected {}", section.is_item ? "]]" : "]");
    }
    at_ += section.is_item ? 2 : 1;
    section.header.end = at_;
    return section;
  }

  StatusOr<std::vector<TomlName>> KeyNames(size_t depth) {
    std::vector<TomlName> names;
    for (;;) {
      SkipBlanks();
      RETURN_IF_ERROR(Count(depth + names.size() + 1));
      ASSIGN_OR_RETURN(TomlName name, Name());
      names.push_back(std::move(name));
      SkipBlanks();
      if (Peek() != '.') {
        return names;
      }
      ++at_;
    }
  }

  StatusOr<TomlName> Name() {
    TomlName name;
    name.raw.begin = at_;
    if (Peek() == '"' || Peek() == '\'') {
      const bool is_basic = Peek() == '"';
      RETURN_IF_ERROR(String(false));
      const std::string_view inner = text_.substr(name.raw.begin + 1, at_ - name.raw.begin - 2);
      name.name = is_basic ? Unescape(inner) : std::string(inner);
    } else {
      while (IsBareByte(Peek())) {
        ++at_;
      }
      if (at_ == name.raw.begin) {
        return Error("expected a key");
      }
      name.name = text_.substr(name.raw.begin, at_ - name.raw.begin);
    }
    name.raw.end = at_;
    return name;
  }

  // All four kinds; at_ is at the first quote.
  Status String(bool may_have_lines) {
    const char quote = Peek();
    const bool has_lines = may_have_lines && Peek(1) == quote && Peek(2) == quote;
    const std::string closing(has_lines ? 3 : 1, quote);
    const size_t start = at_;
    for (at_ += closing.size(); at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\' && quote == '"') {
        ++at_;
      } else if (text_[at_] == '\n' && !has_lines) {
        break;
      } else if (text_.compare(at_, closing.size(), closing) == 0) {
        at_ += closing.size();
        // Up to two quotes before the closing three are part of the string.
        for (int i = 0; has_lines && i < 2 && Peek() == quote; ++i) {
          ++at_;
        }
        return OkStatus();
      }
    }
    at_ = start;
    return Error("unclosed string");
  }

  StatusOr<TomlEntry> Entry(size_t depth) {
    TomlEntry entry;
    ASSIGN_OR_RETURN(entry.key, KeyNames(depth));
    if (Peek() != '=') {
      return Error("expected = after the key");
    }
    ++at_;
    SkipBlanks();
    ASSIGN_OR_RETURN(entry.value, Value(depth + entry.key.size()));
    return entry;
  }

  StatusOr<TomlValue> Value(size_t depth) {
    RETURN_IF_ERROR(Count(depth));
    TomlValue value;
    value.raw.begin = at_;
    switch (Peek()) {
      case '"':
      case '\'':
        RETURN_IF_ERROR(String(true));
        break;
      case '[':
        RETURN_IF_ERROR(List(value, depth));
        break;
      case '{':
        RETURN_IF_ERROR(InlineTable(value, depth));
        break;
      default:
        RETURN_IF_ERROR(Bare());
    }
    value.raw.end = at_;
    return value;
  }

  // Numbers, booleans, dates; the blank in "1979-05-27 07:32:00" is one of theirs.
  Status Bare() {
    const size_t start = at_;
    while (at_ < text_.size() && (IsBareByte(Peek()) || kOfNumbers.find(Peek()) != kNpos)) {
      ++at_;
    }
    const size_t last = text_.substr(start, at_ - start).find_last_not_of(' ');
    if (last == kNpos) {
      return Error("expected a value");
    }
    if (!IsTomlScalar(text_.substr(start, last + 1))) {
      at_ = start;
      return Error("{} is not a value: quote strings",
                   Printable(text_.substr(start, last + 1), 40));
    }
    at_ = start + last + 1;
    return OkStatus();
  }

  Status List(TomlValue& list, size_t depth) {
    list.kind = TomlValue::Kind::kList;
    ++at_;
    for (SkipLines(); Peek() != ']'; SkipLines()) {
      ASSIGN_OR_RETURN(TomlValue item, Value(depth + 1));
      list.items.push_back(std::move(item));
      SkipLines();
      if (Peek() == ',') {
        ++at_;
      } else if (Peek() != ']') {
        return Error("expected , or ] in the list");
      }
    }
    ++at_;
    return OkStatus();
  }

  Status InlineTable(TomlValue& table, size_t depth) {
    table.kind = TomlValue::Kind::kInlineTable;
    ++at_;
    SkipBlanks();
    if (Peek() == '}') {
      ++at_;
      return OkStatus();
    }
    for (;;) {
      ASSIGN_OR_RETURN(TomlEntry entry, Entry(depth));
      table.entries.push_back(std::move(entry));
      SkipBlanks();
      if (Peek() == '}') {
        ++at_;
        return OkStatus();
      }
      if (Peek() != ',') {
        return Error("expected , or }} in the table");
      }
      ++at_;
    }
  }

  static constexpr size_t kNpos = std::string_view::npos;
  static constexpr std::string_view kOfNumbers = "+.: ";

  std::string_view text_;
  std::string_view file_;
  TomlLimits limits_;
  size_t at_ = 0;
  size_t values_ = 0;
};

}  // namespace

StatusOr<std::vector<TomlSection>> ScanToml(std::string_view text, std::string_view file,
                                            const TomlLimits& limits) {
  return Scanner(text, file, limits).Run();
}

}  // namespace kgpu::edit
