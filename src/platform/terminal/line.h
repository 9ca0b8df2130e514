// Text in colors for a terminal: a line is a list of spans, with text that is safe to print. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::terminal {

enum class Color : uint8_t { kNone, kRed, kGreen, kYellow, kBlue, kCyan };

struct Style {
  Color color = Color::kNone;
  bool is_bold = false;
  bool is_dim = false;
  bool is_reversed = false;
  bool operator==(const Style&) const = default;
};

// The abilities of a terminal.
struct Look {
  bool is_utf8 = true;
  bool has_color = true;
};

// From the environment ("NAME=value" each): the character set of LC_ALL, LC_CTYPE or LANG, the
// first that is set. `has_color` is the caller's.
Look LookOf(const std::vector<std::string>& environment, bool has_color);

// Text from outside as it is safe to show: controls become \xNN; without UTF-8, other characters
// become "?".
std::string Safe(std::string_view text, const Look& look);

enum class Align : uint8_t { kLeft, kRight };

// A safe text, in exactly `width` columns: cut with a mark, or filled with blanks.
std::string Fit(std::string_view text, size_t width, const Look& look, Align align = Align::kLeft);

// The same for a name, of which both ends tell it from others: "team-a/tra…x2x4z".
std::string FitName(std::string_view name, size_t width, const Look& look);

struct Span {
  std::string text{};
  Style style{};
  bool operator==(const Span&) const = default;
};

class Line {
 public:
  Line() = default;
  explicit Line(std::string text, Style style = {}) { Add(std::move(text), style); }

  // `text` must be safe.
  void Add(std::string text, Style style = {});
  // Adds `text` in `width` columns, and no blank behind it.
  void AddCell(std::string_view text, size_t width, const Look& look, Style style = {},
               Align align = Align::kLeft);
  void AddBlanks(size_t count);
  void Append(const Line& other);

  size_t width() const;
  const std::vector<Span>& spans() const { return spans_; }
  std::string text() const;  // without styles
  // Cut, or filled with blanks.
  Line FitTo(size_t width, const Look& look) const;
  // With `style.is_reversed` for all of it.
  Line Reversed() const;
  bool operator==(const Line&) const = default;

 private:
  std::vector<Span> spans_;
};

// The line for a terminal, without a line end; trailing blanks are left out unless they are
// reversed. Without color there are no escape sequences at all. Source: ECMA-48, SGR.
std::string Render(const Line& line, const Look& look);

}  // namespace kgpu::terminal
