// What a request means: resource, object, verb, parameters.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"
#include "testing/apiserver/resource.h"
#include "testing/apiserver/store.h"

namespace kgpu::apiserver {

struct Route {
  std::string method{};
  std::string path{};
  std::vector<std::string> parts{};  // of the path, without empty ones
  std::map<std::string, std::string, std::less<>> query{};
  // Null for requests other than for resources: discovery, health.
  const Resource* resource = nullptr;
  bool names_group_version = false;  // below /api/V or /apis/G/V, but not an existing resource
  std::string name_space{};          // "": all, or the resource has none
  std::string name{};
  std::string subresource{};
  std::string verb{};  // as in counters

  std::string_view Query(std::string_view name) const;
  bool IsSet(std::string_view name) const;  // to "1" or "true"
  // "nodes/status"; "" if it is no resource.
  std::string ResourceName() const;
  ObjectKey Key() const { return {name_space, name}; }
};

// Errors: a Failure of code 400.
StatusOr<Route> ParseRoute(const ResourceTable& resources, const http::Request& request);

}  // namespace kgpu::apiserver
