// The proxies through which an engine pulls images: variables of its systemd unit.
#pragma once

#include <string>
#include <string_view>

#include "src/container/engine/registries.h"
#include "src/platform/base/status.h"

namespace kgpu::engine {

struct Proxies {
  std::string http;   // "http://proxy.example:3128"
  std::string https;  // like http
  std::string none;   // "localhost,10.0.0.0/8,.example"

  bool IsEmpty() const { return http.empty() && https.empty() && none.empty(); }
  // Whether a URL contains a name or password: only root may then read the file.
  bool HasSecret() const;
};

// Errors: InvalidArgument: a proxy that is no http, https or socks5 URL, or an invalid character in
// any of them.
Status CheckProxies(const Proxies& proxies);

// The drop-in of `unit` ("docker.service"). Source: systemd.unit(5), systemd.exec(5), Environment=.
TextFile ProxyDropIn(std::string_view unit, const Proxies& proxies);

}  // namespace kgpu::engine
