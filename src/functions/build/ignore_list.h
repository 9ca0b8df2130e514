// .dockerignore: which files stay out of an image.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::functions {

class IgnoreList {
 public:
  // Errors: InvalidArgument ("line 3: …").
  static StatusOr<IgnoreList> Parse(std::string_view text);

  // Whether a path relative to the folder of the list is left out. The last line that matches the
  // path or a folder above it decides, and "!" in front of one takes it in again. Source: Docker's
  // documentation of .dockerignore; "**" only at the beginning ("**/*.o") or the end ("data/**").
  bool Matches(std::string_view path) const;
  // Whether a line takes files in again: then a folder that matches must be looked into.
  bool HasExceptions() const { return has_exceptions_; }

 private:
  struct Line {
    std::string pattern;
    bool is_anywhere = false;  // it began with "**/"
    bool takes_in = false;     // it began with "!"
  };

  std::vector<Line> lines_;
  bool has_exceptions_ = false;
};

}  // namespace kgpu::functions
