// Reads the fields of an object in a file that an earlier run of this program may have written: a
// field that is missing, or has another type, reads as none. doc::Fields is for files in which that
// is an error.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kgpu::doc {

// Cheap to copy. The object must outlive it and its texts.
class SavedFields {
 public:
  explicit SavedFields(const boost::json::object& object) : object_(&object) {}

  std::string_view Text(std::string_view key) const;
  // Whether the field is true.
  bool Flag(std::string_view key) const;
  // Nothing also for a number beyond `max`.
  std::optional<uint64_t> Number(std::string_view key, uint64_t max = UINT64_MAX) const;
  std::optional<uint32_t> Small(std::string_view key) const;
  // The objects in a list; other items are left out.
  std::vector<SavedFields> List(std::string_view key) const;

 private:
  const boost::json::object* object_;
};

}  // namespace kgpu::doc
