// Cuts a template into texts and actions, and actions into words. Private to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::chart {

struct Word {
  // kField: .Values.a, $.Values.a, $name.a; kSign: | ( ) , :=
  enum class Kind : uint8_t { kName, kField, kString, kNumber, kSign };
  Kind kind = Kind::kName;
  size_t at = 0;            // offset in the template
  std::string_view text{};  // as written
};

struct Piece {
  bool is_action = false;
  size_t at = 0;
  std::string_view text{};    // of a text, without the blanks that actions take along
  std::vector<Word> words{};  // of an action; a comment has none
};

// Borrows `text`. Errors: InvalidArgument.
StatusOr<std::vector<Piece>> CutTemplate(std::string_view text, std::string_view name);

}  // namespace kgpu::chart
