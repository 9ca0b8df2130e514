// A document that is changed step by step. Keeps comments and order of its text if the change can
// be made in the text; else prints the document again.
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
    kSet,     // the value at `path`; a new field comes after the others of its map
    kRename,  // rename the field at `path` to `key`
    kRemove,  // the field or item at `path`; also a list or map that becomes empty
  };
  Kind kind = Kind::kSet;
  Path path{};
  boost::json::value value{};  // for kSet
  std::string key{};           // for kRename
};

class Draft {
 public:
  // One YAML document (JSON is YAML). Errors: those of doc::ParseLocated.
  static StatusOr<Draft> Parse(std::string text, std::string_view file);

  const std::string& text() const { return text_; }
  const doc::Located& located() const { return located_; }
  // Whether a change was not possible in the text, so that comments are lost.
  bool is_reprinted() const { return is_reprinted_; }

  // False if `asked` changes nothing: its path does not exist, or the document would have to be
  // printed again and kubectl, which reads an older YAML, would then read other values.
  bool Apply(const Change& asked);

  // Changes single words, each on its own line, all at once: parses the text only once. False, with
  // nothing changed, if the result would be wrong.
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
