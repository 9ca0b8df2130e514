// Fields of API objects by path. Any field may be missing from a server's object.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::kube {

// Parses a JSON object from a server. Errors: InvalidArgument naming `what`.
StatusOr<boost::json::value> ParseObject(std::string_view text, std::string_view what);
// JSON on one line, as sent in bodies.
std::string BodyOf(const boost::json::value& value);

// The value at a path of keys; null if there is none.
const boost::json::value* FindField(const boost::json::value& object,
                                    std::initializer_list<std::string_view> path);
// The same as text; empty if there is none or it is no string.
std::string_view TextField(const boost::json::value& object,
                           std::initializer_list<std::string_view> path);
// The same as an array; empty if there is none or it is no array.
const boost::json::array& ArrayField(const boost::json::value& object,
                                     std::initializer_list<std::string_view> path);
std::optional<int64_t> IntField(const boost::json::value& object,
                                std::initializer_list<std::string_view> path);

// metadata.name, .namespace, .resourceVersion.
std::string_view NameOf(const boost::json::value& object);
std::string_view NamespaceOf(const boost::json::value& object);
std::string_view VersionOf(const boost::json::value& object);

}  // namespace kgpu::kube
