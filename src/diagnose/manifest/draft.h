// A document that is changed step by step. Its text keeps comments and order as far as the change
// can be made in it; else the document is printed again.
#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/manifest/path.h"
#include "src/platform/base/status.h"
#include "src/platform/doc/located.h"

namespace kgpu::manifest {

struct Change {
  enum class Kind : uint8_t {
    kSet,     // the value at `path`; a field that is not there comes after the others of its map
    kRename,  // the field at `path` to `key`
    kRemove,  // the field or the item at `path`; a list or map that is empty then goes, too
  };
  Kind kind = Kind::kSet;
  Path path{};
  boost::json::value value{};  // kSet
  std::string key{};           // kRename
};

class Draft {
 public:
  // One document of YAML (which JSON is). Errors: those of doc::ParseLocated.
  static StatusOr<Draft> Parse(std::string text, std::string_view file);

  const std::string& text() const { return text_; }
  const doc::Located& located() const { return located_; }
  // Whether a change could not be made in the text, so that comments are gone.
  bool is_reprinted() const { return is_reprinted_; }

  // False where `asked` changes nothing: its path leads nowhere, or the document would have to be
  // printed again and kubectl, which reads an older YAML, would then read other values.
  bool Apply(const Change& asked);

  // Changes of single words, each on a line of its own, at once: the text is read again only once.
  // False, and nothing is changed, where the result would not be right.
  bool ApplyWords(std::span<const Change> changes);

 private:
  Draft(std::string text, doc::Located located, bool is_json)
      : text_(std::move(text)), located_(std::move(located)), is_json_(is_json) {}

  bool ApplyInText(std::span<const Change> changes, const boost::json::value& wanted);
  bool PrintAgain(const boost::json::value& wanted);

  std::string text_;
  doc::Located located_;
  bool is_json_;
  bool is_reprinted_ = false;
};

}  // namespace kgpu::manifest
