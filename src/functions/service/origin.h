// Pages of other sites, which a browser on this machine or in its network lets call addresses that
// nobody else reaches.
#pragma once

#include <string>

#include "src/platform/net/http/message.h"

namespace kgpu::functions {

// Why an address without tokens does not answer such a request; empty if it does.
// `allows_any_host`: whether the request may name the host by any name, instead of by an address or
// as "localhost": a page of any site can make its own name mean 127.0.0.1. Source: the Fetch
// standard (Origin); W3C, Fetch Metadata Request Headers (Sec-Fetch-Site, which a GET has, too).
std::string ForeignPageProblem(const http::Request& request, bool allows_any_host);

}  // namespace kgpu::functions
