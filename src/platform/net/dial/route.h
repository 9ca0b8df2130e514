// The way of an HTTP call to a server with a name: its addresses in turn, TLS, a proxy.
#pragma once

#include <memory>

#include "src/platform/net/dial/dialer.h"
#include "src/platform/net/dial/endpoint.h"
#include "src/platform/net/http/client.h"
#include "src/platform/net/tls/context.h"

namespace kgpu::net {

// `tls` is null for plain HTTP, whatever the kind of the endpoint.
http::Route RouteTo(const Endpoint& endpoint, std::shared_ptr<const tls::Context> tls = nullptr,
                    Proxy proxy = {}, const DialOptions& options = {});

}  // namespace kgpu::net
