// Checks values against values.schema.json, the file that helm checks them against too. Private to
// this module.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/doc/located.h"

namespace kgpu::chart {

// The embedded schema. Errors: Internal.
StatusOr<boost::json::object> ReadValuesSchema();

// The part of JSON Schema (draft 7) that it uses: type, properties, additionalProperties, required,
// items, enum, pattern, minimum, maximum; description and title, which mean nothing here. Any other
// keyword is Internal.
class ValuesChecker {
 public:
  // `place`: the positions of the values in `file`; null: `file` names what the values are from.
  ValuesChecker(std::string file, const doc::Place* place) : file_(std::move(file)), root_(place) {}

  // Errors: InvalidArgument, a line for each problem: "values.yaml:3:7: agent.replicas: …".
  Status Check(const boost::json::value& value, const boost::json::object& schema);

 private:
  struct At {
    std::string path{};
    const doc::Place* place = nullptr;
    bool is_key = false;  // the problem is the key, not the value
  };
  void CheckValue(const boost::json::value& value, const boost::json::object& schema, const At& at);
  void CheckMap(const boost::json::object& map, const boost::json::object& schema, const At& at);
  void CheckNumber(const boost::json::value& value, const boost::json::object& schema,
                   const At& at);
  void CheckItems(const boost::json::array& items, const boost::json::object& schema, const At& at);
  void CheckRequired(const boost::json::object& map, const boost::json::object& schema,
                     const At& at);
  void CheckText(std::string_view text, const boost::json::object& schema, const At& at);
  // `key` is not one of `properties`.
  void AddUnknownKey(const At& at, std::string_view key, const boost::json::object& properties);
  void Add(const At& at, std::string_view text);

  std::string file_;
  const doc::Place* root_;
  std::vector<std::string> problems_;
};

// The schema of the value at `path`; null if it may be anything. `path` must be names of fields.
const boost::json::object* SchemaAt(const boost::json::object& schema,
                                    const std::vector<std::string>& path);
// Whether a schema accepts values of the JSON type `type`: "string".
bool AllowsType(const boost::json::object& schema, std::string_view type);

}  // namespace kgpu::chart
