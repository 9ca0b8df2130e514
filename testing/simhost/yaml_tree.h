// YAML as a tree of values with positions, for readers that report errors by line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::simhost {

struct YamlPosition {
  int line = 1;    // from 1
  int column = 1;  // from 1
};

struct YamlField;

struct YamlValue {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  YamlPosition at;
  std::string scalar;
  std::vector<YamlValue> items;   // of a list
  std::vector<YamlField> fields;  // of a map, in the file's order
};

struct YamlField {
  YamlValue key;  // a scalar
  YamlValue value;
};

// As doc::Parse; more than 64 KiB, 16 levels or 20,000 values are errors, too.
StatusOr<YamlValue> ParseYaml(std::string_view text, std::string_view file);

// Reads the fields of one map. Keeps the first error and ignores all later calls, so that a reader
// is a plain list of fields; Finish reports the error, or an unknown key.
class YamlMapReader {
 public:
  // `map` must outlive this; `path` names it in errors ("gpus[3]"), empty for the top.
  YamlMapReader(const YamlValue& map, std::string_view file, std::string path);

  // A required field, unless the name says "Optional".
  void Text(std::string_view name, std::string& out);
  void OptionalText(std::string_view name, std::string& out);
  void OptionalFlag(std::string_view name, bool& out);
  // One of `words`; the index of the word is stored.
  void Choice(std::string_view name, const std::vector<std::string_view>& words, size_t& out);
  // Decimal, or hexadecimal with 0x.
  template <typename T>
  void Number(std::string_view name, std::type_identity_t<T> least, std::type_identity_t<T> most,
              T& out) {
    out = static_cast<T>(ReadNumber(name, least, most, true, out));
  }
  template <typename T>
  void OptionalNumber(std::string_view name, std::type_identity_t<T> least,
                      std::type_identity_t<T> most, T& out) {
    out = static_cast<T>(ReadNumber(name, least, most, false, out));
  }
  void OptionalTexts(std::string_view name, std::vector<std::string>& out);
  // The value of a field that the caller reads itself, or null if it is absent (or after an error).
  const YamlValue* Child(std::string_view name, YamlValue::Kind kind, bool is_required);

  // Reports "file:line:column: field: …" for `value` as the error of this reader.
  void Fail(const YamlValue& value, std::string_view name, std::string_view problem);
  // Takes over an error of a nested reader.
  void Adopt(const Status& status);
  bool ok() const { return status_.ok() && missing_.ok(); }
  Status Finish();

  std::string PathOf(std::string_view name) const;

 private:
  const YamlValue* Find(std::string_view name, bool is_required);
  const YamlValue* FindScalar(std::string_view name, bool is_required);
  uint64_t ReadNumber(std::string_view name, uint64_t least, uint64_t most, bool is_required,
                      uint64_t fallback);

  const YamlValue& map_;
  std::string_view file_;
  std::string path_;
  std::vector<std::string_view> known_;
  Status status_;
  Status missing_;  // reported last: a misspelt key explains a missing one
};

}  // namespace kgpu::simhost
