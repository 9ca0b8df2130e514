// What a scraper wants a page to be, from the fields of its request.
#pragma once

#include "src/platform/http/message.h"
#include "src/platform/metrics/exposition.h"

namespace kgpu::telemetry {

struct Wanted {
  metrics::Format format = metrics::Format::kText;
  bool is_gzip = false;
  bool operator==(const Wanted&) const = default;
};

// OpenMetrics 1.0 only where Accept names it and likes nothing of ours better; gzip only where
// Accept-Encoding names it. What is not understood counts as not said. Source: RFC 9110, 12.5.
Wanted WantedBy(const http::Headers& headers);

}  // namespace kgpu::telemetry
