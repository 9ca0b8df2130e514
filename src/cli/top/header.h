// The first lines of a screen: texts beside one another, as many as fit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "src/platform/terminal/line.h"

namespace kgpu::top {

class Header {
 public:
  Header(size_t columns, const terminal::Look& look) : columns_(columns), look_(look) {}

  // Left out if it is empty, or does not fit; the first one is cut.
  void Add(std::string_view text, terminal::Style style = {});
  const terminal::Line& line() const { return line_; }

 private:
  size_t columns_;
  const terminal::Look& look_;
  terminal::Line line_;
};

// "21:00:05Z" of "2026-11-29T21:00:05Z".
std::string ClockText(std::string_view time);

}  // namespace kgpu::top
