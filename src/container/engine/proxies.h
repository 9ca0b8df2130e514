// Proxies of an engine, by which it pulls images: variables of its systemd unit.
#pragma once

#include <string>
#include <string_view>

#include "src/container/engine/registries.h"
#include "src/platform/base/status.h"

namespace kgpu::engine {

struct Proxies {
  std::string http;   // "http://proxy.example:3128"
  std::string https;  // as http
  std::string none;   // "localhost,10.0.0.0/8,.example"

  bool IsEmpty() const { return http.empty() && https.empty() && none.empty(); }
  // Whether a URL has a name or password in it: the file is then for root's eyes only.
  bool HasSecret() const;
};

// Errors: InvalidArgument: a proxy that is no http, https or socks5 URL; a character that has no
// place in any of them.
Status CheckProxies(const Proxies& proxies);

// The drop-in of `unit` ("docker.service"). Source: systemd.unit(5), systemd.exec(5), Environment=.
TextFile ProxyDropIn(std::string_view unit, const Proxies& proxies);

}  // namespace kgpu::engine
