// Reads the fields of an object in a file that a program wrote: every field must exist and have its
// type. Keeps the first error; later reads return defaults, so readers check once, at the end.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::doc {

class Fields {
 public:
  // `value` must outlive this; `where` names it in errors: "driver.json: steps[3]".
  Fields(const boost::json::value& value, std::string where);

  // InvalidArgument: "<where>.<key>: must be a text".
  const Status& status() const { return status_; }
  const std::string& where() const { return where_; }

  // Whether the field exists: for fields that older files do not have.
  bool Has(std::string_view key) const;
  // Null if it is missing, which is an error.
  const boost::json::value& Get(std::string_view key);
  std::string Text(std::string_view key);
  bool Bool(std::string_view key);
  int64_t Number(std::string_view key);
  std::vector<std::string> Texts(std::string_view key);
  std::map<std::string, std::string> TextMap(std::string_view key);
  // The index in `words` of the field's value.
  size_t Word(std::string_view key, std::span<const std::string_view> words);
  // Reports an error in a field that the caller parses itself.
  void Fail(std::string_view key, std::string_view what);

 private:
  const boost::json::object* object_ = nullptr;
  std::string where_;
  Status status_;
};

}  // namespace kgpu::doc
