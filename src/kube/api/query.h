// Request targets: paths and queries, escaped as needed.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kgpu::kube {

// Everything except letters, digits and "-._~" becomes %XX. Source: RFC 3986, section 2.3.
std::string Escape(std::string_view text);
// "/api/v1/nodes/n1" for "api", "v1", "nodes", "n1"; skips empty parts.
std::string PathOf(std::initializer_list<std::string_view> parts);
// "/path?key=value&…"; `path` stays as it is.
std::string TargetOf(std::string_view path,
                     const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace kgpu::kube
