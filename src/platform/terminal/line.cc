#include "src/platform/terminal/line.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/platform/base/utf8.h"
#include "src/platform/terminal/width.h"

namespace kgpu::terminal {
namespace {

constexpr size_t kMostText = 4096;  // of one name from outside

// The value of a variable; empty if it is unset.
std::string_view VariableIn(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string_view entry : environment) {
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
      return entry.substr(name.size() + 1);
    }
  }
  return "";
}

std::string SequenceOf(const Style& style) {
  std::string codes = "0";
  if (style.is_bold) {
    codes += ";1";
  }
  if (style.is_dim) {
    codes += ";2";
  }
  if (style.is_reversed) {
    codes += ";7";
  }
  static constexpr std::array<std::string_view, 6> kColors = {"",    ";31", ";32",
                                                              ";33", ";34", ";36"};
  codes += kColors.at(static_cast<size_t>(style.color));
  return "\x1b[" + codes + "m";
}

}  // namespace

Look LookOf(const std::vector<std::string>& environment, bool has_color) {
  std::string_view locale;
  for (const std::string_view name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    locale = locale.empty() ? VariableIn(environment, name) : locale;
  }
  const std::string lower = ToLower(locale);
  return {.is_utf8 =
              lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos,
          .has_color = has_color};
}

std::string Safe(std::string_view text, const Look& look) {
  std::string safe = Printable(text, kMostText);
  if (look.is_utf8) {
    return safe;
  }
  std::string ascii;
  for (size_t at = 0; at < safe.size();) {
    const size_t length = std::max<size_t>(Utf8Length(std::string_view(safe).substr(at)), 1);
    ascii += length == 1 ? safe[at] : '?';
    at += length;
  }
  return ascii;
}

std::string Fit(std::string_view text, size_t width, const Look& look, Align align) {
  size_t taken = TextWidth(text);
  std::string fitted(text);
  if (taken > width) {
    fitted = CutToWidth(text, width == 0 ? 0 : width - 1);
    fitted += width == 0 ? "" : look.is_utf8 ? "…" : "~";
    taken = TextWidth(fitted);
  }
  // A wide character that was cut leaves a column.
  const std::string blanks(width - std::min(taken, width), ' ');
  return align == Align::kLeft ? fitted + blanks : blanks + fitted;
}

std::string FitName(std::string_view name, size_t width, const Look& look) {
  constexpr size_t kLeast = 8;  // less has no room for both ends
  if (TextWidth(name) <= width || width < kLeast) {
    return Fit(name, width, look);
  }
  const size_t tail_width = width / 3;
  std::string_view tail = name;
  while (TextWidth(tail) > tail_width) {
    tail.remove_prefix(std::max<size_t>(Utf8Length(tail), 1));
  }
  // Marks that belong to a character that was cut.
  while (!tail.empty() && TextWidth(tail.substr(0, std::max<size_t>(Utf8Length(tail), 1))) == 0) {
    tail.remove_prefix(std::max<size_t>(Utf8Length(tail), 1));
  }
  const std::string_view head = CutToWidth(name, width - 1 - TextWidth(tail));
  return Fit(fmt::format("{}{}{}", head, look.is_utf8 ? "…" : "~", tail), width, look);
}

void Line::Add(std::string text, Style style) {
  if (text.empty()) {
    return;
  }
  if (!spans_.empty() && spans_.back().style == style) {
    spans_.back().text += text;
  } else {
    spans_.push_back({.text = std::move(text), .style = style});
  }
}

void Line::AddCell(std::string_view text, size_t width, const Look& look, Style style,
                   Align align) {
  Add(Fit(text, width, look, align), style);
}

void Line::AddBlanks(size_t count) {
  Add(std::string(count, ' '));
}

void Line::Append(const Line& other) {
  for (const Span& span : other.spans_) {
    Add(span.text, span.style);
  }
}

size_t Line::width() const {
  size_t sum = 0;
  for (const Span& span : spans_) {
    sum += TextWidth(span.text);
  }
  return sum;
}

std::string Line::text() const {
  std::string all;
  for (const Span& span : spans_) {
    all += span.text;
  }
  return all;
}

Line Line::FitTo(size_t width, const Look& look) const {
  Line fitted;
  const size_t taken = this->width();
  if (taken <= width) {
    fitted = *this;
    fitted.AddBlanks(width - taken);
    return fitted;
  }
  size_t left = width;
  for (const Span& span : spans_) {
    const size_t columns = TextWidth(span.text);
    if (columns >= left) {
      // The blank makes it too long, so that the mark of a cut ends it.
      fitted.Add(Fit(span.text + " ", left, look), span.style);
      break;
    }
    fitted.Add(span.text, span.style);
    left -= columns;
  }
  return fitted;
}

Line Line::Reversed() const {
  Line reversed;
  for (const Span& span : spans_) {
    Style style = span.style;
    style.is_reversed = true;
    reversed.Add(span.text, style);
  }
  return reversed;
}

std::string Render(const Line& line, const Look& look) {
  std::string text;
  if (!look.has_color) {
    text = line.text();
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }
  size_t end = line.spans().size();
  while (end > 0 && !line.spans()[end - 1].style.is_reversed &&
         line.spans()[end - 1].text.find_first_not_of(' ') == std::string::npos) {
    --end;
  }
  bool is_plain = true;
  for (size_t i = 0; i < end; ++i) {
    const Span& span = line.spans()[i];
    const bool becomes_plain = span.style == Style{};
    if (!becomes_plain) {
      text += SequenceOf(span.style);
    } else if (!is_plain) {
      text += "\x1b[0m";
    }
    is_plain = becomes_plain;
    text += span.text;
  }
  if (!is_plain) {
    return text + "\x1b[0m";
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace kgpu::terminal
