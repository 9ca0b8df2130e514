// The tree behind a Spec, with a record of the changed fields. Private to this module.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::oci {

// What edits can change, each as a whole.
enum class Field : uint8_t {
  kEnv,
  kAdditionalGids,
  kMounts,
  kDevices,
  kDeviceRules,
  kNetDevices,
  kPrestart,
  kCreateRuntime,
  kCreateContainer,
  kStartContainer,
  kPoststart,
  kPoststop,
};
inline constexpr size_t kFieldCount = 12;
inline constexpr std::array<Field, 6> kHookFields = {
    Field::kPrestart,       Field::kCreateRuntime, Field::kCreateContainer,
    Field::kStartContainer, Field::kPoststart,     Field::kPoststop};

// The names from the top to a field: {"process", "env"}.
std::span<const std::string_view> PathOf(Field field);
// "process.env"
std::string NameOf(Field field);

// Only has the fields of Outline.
class Tree {
 public:
  static StatusOr<std::unique_ptr<Tree>> Parse(std::string text, std::string file);

  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const std::string& text() const { return text_; }
  const std::string& file() const { return file_; }

  // For reading. Null if the field, or its parent, is absent.
  StatusOr<const boost::json::array*> FindList(Field field) const;
  StatusOr<const boost::json::value*> Find(std::span<const std::string_view> path) const;

  // For changing: created if absent, and printed by Spec::Print.
  StatusOr<boost::json::array*> EditList(Field field);
  StatusOr<boost::json::object*> EditMap(Field field);

  bool IsChanged(Field field) const { return changed_[static_cast<size_t>(field)]; }
  // The value of a field that exists.
  const boost::json::value& Get(Field field) const;

  // "<file>: <what>: must be <kind>"
  Status TypeError(std::string_view what, std::string_view kind) const;
  // The text of a field of a map; empty if absent. `where` names the map.
  StatusOr<std::string_view> Text(const boost::json::object& map, std::string_view name,
                                  std::string_view where) const;
  // The same for a list entry. A spec has hundreds: builds names only for errors.
  StatusOr<std::string_view> TextOfEntry(const boost::json::array& list, size_t index,
                                         std::string_view name, std::string_view list_name) const;

 private:
  Tree(std::string text, std::string file, size_t outline_size);
  StatusOr<boost::json::value*> Edit(Field field);

  std::string text_;
  std::string file_;
  boost::json::monotonic_resource memory_;
  boost::json::value root_;
  std::bitset<kFieldCount> changed_;
};

}  // namespace kgpu::oci
