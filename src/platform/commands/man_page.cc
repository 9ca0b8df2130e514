#include "src/platform/commands/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/commands/examples.h"

namespace kgpu::commands {
namespace {

std::string Upper(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return upper;
}

struct Point {
  char32_t value = U'?';
  size_t size = 1;  // bytes
};

// The first character of UTF-8; an invalid byte counts as a question mark.
Point FirstPoint(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (size == 1 || size > text.size()) {
    return {};
  }
  char32_t value = lead & (0x7fU >> size);
  for (const char c : text.substr(1, size - 1)) {
    value = (value << 6U) | (static_cast<unsigned char>(c) & 0x3fU);
  }
  return {value, size};
}

// Characters that roff would not print as they are; quotes must stay what a shell reads.
std::string_view EscapeOf(char c) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '\'':
      return "\\(aq";
    case '`':
      return "\\(ga";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    default:
      return "";
  }
}

// Text of a line as roff prints it: nothing in it is a macro or an escape.
std::string Escaped(std::string_view text) {
  std::string escaped = text.starts_with('.') ? "\\&" : "";
  while (!text.empty()) {
    const char c = text.front();
    Point point;
    if (static_cast<unsigned char>(c) >= 0x80) {
      point = FirstPoint(text);
      fmt::format_to(std::back_inserter(escaped), "\\[u{:04X}]",
                     static_cast<uint32_t>(point.value));
    } else if (const std::string_view escape = EscapeOf(c); !escape.empty()) {
      escaped += escape;
    } else {
      escaped += c;
    }
    text.remove_prefix(point.size);
  }
  return escaped;
}

// An argument of a macro.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : Escaped(text)) {
    quoted += c == '"' ? std::string("\\(dq") : std::string(1, c);
  }
  return quoted + "\"";
}

std::string Bold(std::string_view text) {
  return fmt::format("\\fB{}\\fR", Escaped(text));
}

std::string Italic(std::string_view text) {
  return fmt::format("\\fI{}\\fR", Escaped(text));
}

class PageWriter {
 public:
  PageWriter(const Command& command, std::string words, const std::string& source)
      : command_(command), words_(std::move(words)) {
    Line(".TH {} 1 \"\" {} \"User Commands\"", Quoted(Upper(PageName())), Quoted(source));
  }

  std::string PageName() const {
    std::string name = words_;
    std::ranges::replace(name, ' ', '-');
    return name;
  }

  std::string Text() {
    Line(".SH NAME\n{} \\- {}", Escaped(PageName()), Escaped(command_.description));
    Synopsis();
    Description();
    Arguments();
    Flags();
    Examples();
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  // A term, and below it what it means.
  void Item(const std::string& term, std::string_view meaning) {
    Line(".TP\n{}\n{}", term, meaning.empty() ? "\\&" : Escaped(meaning));
  }

  void Synopsis() {
    std::string line = Bold(words_);
    if (!command_.flags.empty()) {
      line += " [" + Italic("options") + "]";
    }
    for (const Argument& argument : command_.arguments) {
      const std::string name = Italic(argument.name) + (argument.is_many ? " ..." : "");
      line += argument.is_required ? " " + name : " [" + name + "]";
    }
    if (!command_.commands.empty()) {
      line += " [" + Italic("command") + "]";
    }
    Line(".SH SYNOPSIS\n{}", line);
  }

  void Description() {
    const std::string prose = ProseOf(command_.footer);
    if (prose.empty() && command_.commands.empty()) {
      return;
    }
    Line(".SH DESCRIPTION");
    for (const std::string_view line : Split(prose, '\n')) {
      Line("{}", line.empty() ? ".PP" : Escaped(line));
    }
    if (!command_.commands.empty()) {
      Line(".SS Commands");
    }
    for (const Command& child : command_.commands) {
      Item(Bold(child.name), child.description);
    }
  }

  void Arguments() {
    if (!command_.arguments.empty()) {
      Line(".SH ARGUMENTS");
    }
    for (const Argument& argument : command_.arguments) {
      Item(Italic(argument.name), argument.description);
    }
  }

  void Flags() {
    if (!command_.flags.empty()) {
      Line(".SH OPTIONS");
    }
    for (const Flag& flag : command_.flags) {
      std::string term = flag.letter.empty() ? "" : Bold(flag.letter) + ", ";
      term += Bold(flag.name);
      term += flag.value.empty() ? "" : " " + Italic(flag.value);
      std::string meaning = flag.description;
      if (!flag.environment.empty()) {
        meaning += fmt::format(" (environment: {})", flag.environment);
      }
      Item(term, meaning);
    }
  }

  void Examples() {
    const std::vector<Example> examples = ExamplesOf(command_.footer);
    if (!examples.empty()) {
      Line(".SH EXAMPLES");
    }
    for (const Example& example : examples) {
      Item(Bold(example.line), example.explanation);
    }
  }

  const Command& command_;
  std::string words_;
  std::string text_;
};

void AddPages(const Command& command, const std::string& words, const std::string& source,
              std::vector<ManPage>& pages) {
  PageWriter writer(command, words, source);
  pages.push_back({.name = writer.PageName(), .text = writer.Text()});
  for (const Command& child : command.commands) {
    AddPages(child, fmt::format("{} {}", words, child.name), source, pages);
  }
}

}  // namespace

std::vector<ManPage> ManPagesOf(const Command& root, const std::string& source) {
  std::vector<ManPage> pages;
  AddPages(root, root.name, source, pages);
  return pages;
}

}  // namespace kgpu::commands
