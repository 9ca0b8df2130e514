// metadata.managedFields: who set which fields. Server-side apply is based on it, and every write
// updates it.
#pragma once

#include <boost/json/fwd.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/apiserver/field_set.h"
#include "testing/apiserver/resource.h"

namespace kgpu::apiserver {

struct ManagerKey {
  std::string manager{};
  std::string operation{};  // "Apply", "Update"
  std::string api_version{};
  std::string subresource{};
  auto operator<=>(const ManagerKey&) const = default;
};

struct ManagerEntry {
  FieldSet fields;
  std::string time{};
};

using Managers = std::map<ManagerKey, ManagerEntry>;

Managers ReadManagers(const boost::json::object& object);
void WriteManagers(const Managers& managers, boost::json::object& object);

struct Writer {
  std::string manager{};
  std::string subresource{};
  std::string now{};  // RFC 3339
};

// After a write other than an apply: updates the managers of `after` by what changed.
void TrackUpdate(const boost::json::object& before, boost::json::object& after,
                 const Resource& resource, const Writer& writer);

// Server-side apply of `applied` onto `live` (empty: a new object); the result with its managers.
// Errors: a Failure of code 409 with a cause for each field that another manager holds with another
// value, unless `force`; 400.
StatusOr<boost::json::object> ApplyConfiguration(const boost::json::object& live,
                                                 const boost::json::object& applied,
                                                 const Resource& resource, const Writer& writer,
                                                 bool force);

}  // namespace kgpu::apiserver
