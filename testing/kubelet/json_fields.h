// Reads fields of JSON objects and names them in errors. Only for the files that use JSON.
#pragma once

#include <boost/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::kubelet {

// A position in a tree, which must outlive this. Errors: InvalidArgument, with the field's path.
class JsonFields {
 public:
  JsonFields(const boost::json::value& value, std::string where)
      : value_(value), where_(std::move(where)) {}

  const boost::json::value& value() const { return value_; }
  const std::string& where() const { return where_; }

  // A required field.
  StatusOr<JsonFields> Field(std::string_view name) const;
  // Calls `read(key, fields)` for each field of an object.
  template <typename Read>
  Status ForEachField(Read read) const {
    const boost::json::object* object = value_.if_object();
    if (object == nullptr) {
      return InvalidArgument("{}: must be an object", where_);
    }
    for (const auto& [key, value] : *object) {
      const std::string name(key.data(), key.size());
      RETURN_IF_ERROR(read(name, JsonFields(value, fmt::format("{}.{}", where_, name))));
    }
    return OkStatus();
  }
  // Calls `read(fields)` for each item of a list; null is an empty list.
  template <typename Read>
  Status ForEachItem(Read read) const {
    const boost::json::array* array = value_.if_array();
    if (array == nullptr && !value_.is_null()) {
      return InvalidArgument("{}: must be a list", where_);
    }
    for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
      RETURN_IF_ERROR(read(JsonFields((*array)[i], fmt::format("{}[{}]", where_, i))));
    }
    return OkStatus();
  }

  Status Get(std::string& out) const;
  Status Get(bool& out) const;
  Status Get(int64_t& out) const;
  Status Get(double& out) const;
  Status Get(int& out) const;
  template <typename T>
  Status Get(std::optional<T>& out) const {
    return value_.is_null() ? OkStatus() : Get(out.emplace());
  }
  template <typename T>
  Status Get(std::vector<T>& out) const {
    return ForEachItem([&out](const JsonFields& item) { return item.Get(out.emplace_back()); });
  }
  template <typename T>
  Status Get(std::map<std::string, T>& out) const {
    return ForEachField(
        [&out](const std::string& key, const JsonFields& field) { return field.Get(out[key]); });
  }

  // Reads a field; an absent one leaves `out` as it is.
  template <typename T>
  Status Read(std::string_view name, T& out) const {
    const boost::json::value* field = Find(name);
    return field == nullptr ? OkStatus() : JsonFields(*field, PathOf(name)).Get(out);
  }
  // Reads a required field.
  template <typename T>
  Status Require(std::string_view name, T& out) const {
    ASSIGN_OR_RETURN(const JsonFields field, Field(name));
    return field.Get(out);
  }
  // Null if there is none.
  const boost::json::value* Find(std::string_view name) const;
  std::string PathOf(std::string_view name) const { return fmt::format("{}.{}", where_, name); }

 private:
  const boost::json::value& value_;
  std::string where_;
};

}  // namespace kgpu::kubelet
