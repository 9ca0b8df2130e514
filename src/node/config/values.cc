#include "src/node/config/values.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "src/node/config/resource_name.h"
#include "src/platform/base/strings.h"

namespace kgpu::config {
namespace {

// src/container/inject knows what they mean; it stands beside this module, not below.
constexpr std::array<std::string_view, 8> kCapabilities = {
    "compute", "utility", "graphics", "video", "display", "ngx", "compat32", "all"};

bool IsIpAddress(const std::string& text, int family) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(family, text.c_str(), address.data()) == 1;
}

bool IsHost(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    return IsIpAddress(std::string(host.substr(1, host.size() - 2)), AF_INET6);
  }
  return host.empty() || IsIpAddress(std::string(host), AF_INET);
}

}  // namespace

Status CheckHttpAddress(std::string_view address) {
  if (address.empty()) {
    return OkStatus();
  }
  const size_t colon = address.rfind(':');
  const auto port =
      colon == std::string_view::npos ? std::nullopt : ParseUint(address.substr(colon + 1));
  if (!port || *port > 65'535 || !IsHost(address.substr(0, colon))) {
    return InvalidArgument(
        "\"{}\" must be an IP address and a port: 127.0.0.1:9401, [::1]:9401, or :9401 for all "
        "addresses; \"\" disables it",
        Printable(address, 80));
  }
  return OkStatus();
}

Status CheckCapabilities(std::string_view list) {
  for (const std::string_view word : Split(list, ',')) {
    if (std::ranges::find(kCapabilities, word) == kCapabilities.end()) {
      const auto nearest = Nearest(word, {kCapabilities.begin(), kCapabilities.end()});
      return InvalidArgument("\"{}\": \"{}\" must be one of {}{}", Printable(list, 80),
                             Printable(word, 40), fmt::join(kCapabilities, ", "),
                             nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : "");
    }
  }
  return OkStatus();
}

Status CheckAnnotationPrefix(std::string_view prefix) {
  // The domain has the rules of a resource's.
  const bool is_legal = prefix.ends_with('/') && CheckResourceName(fmt::format("{}x", prefix)).ok();
  return is_legal ? OkStatus()
                  : InvalidArgument("\"{}\" must be a lower-case domain and a slash: cdi.k8s.io/",
                                    Printable(prefix, 80));
}

}  // namespace kgpu::config
