// Warnings in an API server's responses: each is logged once.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/net/http/message.h"

namespace kgpu::kube {

// The texts of `Warning: 299 - "text"` fields, with backslashes before quotes removed. Source: RFC
// 7234, section 5.5.
std::vector<std::string> WarningsOf(const http::Headers& headers);

class WarningLog {
 public:
  void Note(const http::Headers& headers, std::string_view what);

 private:
  std::set<std::string> seen_;  // bounded
};

}  // namespace kgpu::kube
