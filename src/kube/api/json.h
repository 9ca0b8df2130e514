// Fields of API objects by their paths. An object of a server may lack anything.
#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::kube {

// One JSON object of a server. Errors: InvalidArgument naming `what`.
StatusOr<boost::json::value> ParseObject(std::string_view text, std::string_view what);
// JSON on one line, as bodies are sent.
std::string BodyOf(const boost::json::value& value);

// The value at keys within keys; null when there is none.
const boost::json::value* FindField(const boost::json::value& object,
                                    std::initializer_list<std::string_view> path);
// The same as text; empty when there is none or it is no string.
std::string_view TextField(const boost::json::value& object,
                           std::initializer_list<std::string_view> path);
std::optional<int64_t> IntField(const boost::json::value& object,
                                std::initializer_list<std::string_view> path);

// metadata.name, .namespace, .resourceVersion.
std::string_view NameOf(const boost::json::value& object);
std::string_view NamespaceOf(const boost::json::value& object);
std::string_view VersionOf(const boost::json::value& object);

}  // namespace kgpu::kube
