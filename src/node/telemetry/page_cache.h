// The pages of series, ready to be sent: rendered when their input changes, not when they are
// requested, and compressed once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/node/telemetry/name_sets.h"
#include "src/node/telemetry/page_input.h"
#include "src/platform/base/clock.h"
#include "src/platform/metrics/exposition.h"
#include "src/platform/net/http/message.h"

namespace kgpu::telemetry {

struct PageCacheOptions {
  // Older samples are not shown: a driver that hangs has no values. Three sampling periods are
  // right.
  std::chrono::milliseconds stale{45'000};
  // Series to leave out: names, in which "*" matches any letters.
  std::vector<std::string> exclude{};
  // Writes the agent's series about itself: they end every page that has NameSet::kKgpu, and are
  // all of a page without names. Called for a scrape, at most once a second; may be empty.
  std::function<void(metrics::Exposition&)> own{};
};

// Lives on the loop's thread. Does not render pages that nobody has requested lately; their number
// is bounded by the sets, two formats and two codings.
class PageCache {
 public:
  // `clock` must outlive the cache.
  PageCache(const Clock& clock, PageCacheOptions options);
  ~PageCache();
  PageCache(const PageCache&) = delete;
  PageCache& operator=(const PageCache&) = delete;

  void SetStale(std::chrono::milliseconds stale);
  void SetExclude(std::vector<std::string> exclude);
  // Call after every round of samples, and when other input has changed. Renders the pages
  // requested lately.
  void Set(PageInput input);
  // The input as it is shown now: without samples that are too old.
  PageInput Current() const;

  // GET or HEAD of a page with the series of `names`; the caller checks the path. Prometheus text
  // or OpenMetrics by Accept, gzip by Accept-Encoding.
  http::Response Answer(const http::Request& request, NameSets names);
  // The same with a choice: the sets in the query ("?names=kgpu,dcgm"), or else `usual`.
  http::Response AnswerAsked(const http::Request& request, NameSets usual);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::telemetry
