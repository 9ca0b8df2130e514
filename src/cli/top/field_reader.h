// Fields of a JSON object from a program of another version: strict about kinds, lenient about
// fields that are unknown, missing or null.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/platform/base/status.h"

namespace kgpu::top {

// The first error of a document wins and is in `status`, which outlives the reader.
class FieldReader {
 public:
  FieldReader(const boost::json::object& object, std::string where, Status& status)
      : object_(object), where_(std::move(where)), status_(status) {}

  void Need(std::string_view key) const;
  void Text(std::string_view key, std::string& out) const;
  void Texts(std::string_view key, std::vector<std::string>& out) const;
  void Flag(std::string_view key, bool& out) const;
  void Number(std::string_view key, std::optional<double>& out) const;
  void Number(std::string_view key, double& out) const;
  void Numbers(std::string_view key, std::vector<std::optional<double>>& out) const;
  // A whole number that is not negative.
  void Count(std::string_view key, std::optional<uint64_t>& out) const;
  void Count(std::string_view key, uint64_t& out) const;
  void Whole(std::string_view key, std::optional<int64_t>& out) const;

  // Calls `read` with the object at `key`, if there is one.
  template <typename Read>
  void Object(std::string_view key, Read read) const {
    const boost::json::value* value = Find(key);
    if (value == nullptr) {
      return;
    }
    if (!value->is_object()) {
      Refuse(key, "must be an object");
      return;
    }
    read(FieldReader(value->get_object(), Path(key), status_));
  }

  // Calls `read(reader, item)` with each object of a list and a new item of `out`.
  template <typename T, typename Read>
  void List(std::string_view key, std::vector<T>& out, Read read) const {
    const boost::json::value* value = Find(key);
    if (value == nullptr) {
      return;
    }
    if (!value->is_array()) {
      Refuse(key, "must be a list");
      return;
    }
    size_t index = 0;
    for (const boost::json::value& item : value->get_array()) {
      const std::string where = fmt::format("{}[{}]", Path(key), index++);
      if (!item.is_object()) {
        RefuseAt(where, "must be an object");
        return;
      }
      read(FieldReader(item.get_object(), where, status_), out.emplace_back());
      if (!status_.ok()) {
        return;
      }
    }
  }

 private:
  // Null if it is missing or null.
  const boost::json::value* Find(std::string_view key) const;
  std::string Path(std::string_view key) const;
  void Refuse(std::string_view key, std::string_view what) const;
  void RefuseAt(std::string_view where, std::string_view what) const;

  const boost::json::object& object_;
  std::string where_;
  Status& status_;
};

}  // namespace kgpu::top
