// Fields of answers in JSON, which may be missing.
#pragma once

#include <boost/json.hpp>

#include <string>
#include <string_view>

namespace kgpu::soak {

inline constexpr char kClaimsPath[] = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
inline constexpr char kSlicesPath[] = "/apis/resource.k8s.io/v1/resourceslices";

inline boost::json::array ListAt(const boost::json::value& object, std::string_view key) {
  const boost::json::value* value =
      object.is_object() ? object.as_object().if_contains(key) : nullptr;
  return value != nullptr && value->is_array() ? value->as_array() : boost::json::array();
}

inline std::string FieldOf(const boost::json::value& object, std::string_view key) {
  const boost::json::value* value =
      object.is_object() ? object.as_object().if_contains(key) : nullptr;
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

inline bool FlagOf(const boost::json::value& object, std::string_view key) {
  const boost::json::value* value =
      object.is_object() ? object.as_object().if_contains(key) : nullptr;
  return value != nullptr && value->is_bool() && value->as_bool();
}

// Of /v1/health: "" or a fault that keeps a GPU from being used.
inline std::string FaultIn(const boost::json::value& health) {
  for (const boost::json::value& gpu : ListAt(health, "gpus")) {
    for (const boost::json::value& fault : ListAt(gpu, "faults")) {
      if (FlagOf(fault, "unhealthy")) {
        return FieldOf(gpu, "uuid") + " still has " + FieldOf(fault, "rule") + ": " +
               FieldOf(fault, "message");
      }
    }
  }
  return health.is_object() ? "" : "the health of GPUs is not reported";
}

}  // namespace kgpu::soak
