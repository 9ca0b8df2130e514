// Targets of requests: paths and queries with everything escaped that must be.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kgpu::kube {

// Everything but letters, digits and "-._~" as %XX. Source: RFC 3986, section 2.3.
std::string Escape(std::string_view text);
// "/api/v1/nodes/n1" of "api", "v1", "nodes", "n1"; empty parts are left out.
std::string PathOf(std::initializer_list<std::string_view> parts);
// "/path?key=value&…"; `path` stays as it is.
std::string TargetOf(std::string_view path,
                     const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace kgpu::kube
