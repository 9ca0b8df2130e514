// The format and coding that a scraper wants for a page, from its request's header fields.
#pragma once

#include "src/platform/metrics/exposition.h"
#include "src/platform/net/http/message.h"

namespace kgpu::telemetry {

struct Wanted {
  metrics::Format format = metrics::Format::kText;
  bool is_gzip = false;
  bool operator==(const Wanted&) const = default;
};

// OpenMetrics 1.0 only if Accept names it and prefers none of our other formats; gzip only if
// Accept-Encoding names it. Ignores what it does not understand. Source: RFC 9110, 12.5.
Wanted WantedBy(const http::Headers& headers);

}  // namespace kgpu::telemetry
