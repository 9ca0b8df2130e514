#include "src/node/telemetry/page_cache.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "src/node/telemetry/accept.h"
#include "src/node/telemetry/render.h"
#include "src/platform/compress/gzip.h"

namespace kgpu::telemetry {
namespace {

using metrics::Exposition;
using metrics::Format;

// A page that was asked for since is made again with its input: longer than people let pass between
// two scrapes.
constexpr std::chrono::seconds kLately{150};
// A second scrape within this time gets the same series of the agent about itself.
constexpr std::chrono::seconds kOwnAge{1};

constexpr char kTextType[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kOpenMetricsType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

struct Page {
  NameSets names;
  Wanted wanted;
  SteadyTime asked{};
  uint64_t version = 0;      // of the input that `front` is made of
  bool has_samples = false;  // that were not too old
  std::shared_ptr<const std::string> front;
  compress::GzipFront packed;  // of a page in gzip: what its end needs to know; no bytes
  std::string rest;            // of a page in gzip: the end that goes with own_version
  uint64_t own_version = 0;
};

// The agent's own series, and the end of the page.
struct OwnText {
  std::string text;
  SteadyTime made{};
  uint64_t version = 0;  // 0: none yet
};

}  // namespace

class PageCache::Impl {
 public:
  Impl(const Clock& clock, PageCacheOptions options)
      : clock_(clock), options_(std::move(options)) {}

  void SetStale(std::chrono::milliseconds stale) { options_.stale = stale; }

  void SetExclude(std::vector<std::string> exclude) {
    options_.exclude = std::move(exclude);
    ++version_;
  }

  void Set(PageInput input) {
    const bool is_new_round = input.samples != input_.samples;
    if (!input.previous) {
      input.previous = is_new_round ? std::move(input_.samples) : std::move(input_.previous);
    }
    // A set without GPUs says only that they do not answer.
    if (input.samples && !input.samples->gpus.empty()) {
      measured_ = input.samples->taken;
    }
    input.measured = measured_;
    input_ = std::move(input);
    ++version_;
    std::erase_if(pages_, [this](const Page& page) { return clock_.Now() - page.asked > kLately; });
    // Rounds come at their own pace. Other changes may come in a storm: they wait for a scrape.
    if (is_new_round) {
      for (Page& page : pages_) {
        Refresh(page);
      }
    }
  }

  PageInput Current() const {
    PageInput current = input_;
    if (!HasSamples()) {
      current.samples.reset();
      current.previous.reset();
    }
    return current;
  }

  http::Response Answer(const http::Request& request, NameSets names) {
    Page& page = Find(names, WantedBy(request.headers));
    page.asked = clock_.Now();
    if (page.version != version_ || page.has_samples != HasSamples()) {
      Refresh(page);
    }
    http::Response response;
    response.headers.Add("Content-Type",
                         page.wanted.format == Format::kText ? kTextType : kOpenMetricsType);
    response.headers.Add("Vary", "Accept, Accept-Encoding");
    response.shared_front = page.front;
    const OwnText& own = Own(page);
    if (page.wanted.is_gzip) {
      response.headers.Add("Content-Encoding", "gzip");
      if (page.own_version != own.version) {
        page.rest = compress::CompressRest(page.packed, own.text);
        page.own_version = own.version;
      }
      response.body = page.rest;
    } else {
      response.body = own.text;
    }
    return response;
  }

 private:
  bool HasSamples() const {
    return input_.samples && clock_.Now() - input_.samples->begun <= options_.stale;
  }

  Page& Find(NameSets names, const Wanted& wanted) {
    for (Page& page : pages_) {
      if (page.names == names && page.wanted == wanted) {
        return page;
      }
    }
    pages_.push_back(
        {.names = names, .wanted = wanted, .front = nullptr, .packed = {}, .rest = {}});
    return pages_.back();
  }

  void Refresh(Page& page) {
    page.version = version_;
    page.has_samples = HasSamples();
    const PageInput input = Current();
    const PageRequest wanted{
        .names = page.names, .format = page.wanted.format, .exclude = options_.exclude};
    // The old one goes first: two of them are a megabyte more.
    const size_t size = page.front ? page.front->size() : 0;
    page.front.reset();
    std::string bytes;
    if (page.wanted.is_gzip) {
      compress::GzipWriter writer;
      RenderPage(input, wanted, [&](std::string_view piece) { writer.Add(piece); });
      page.packed = writer.Finish();
      bytes = std::exchange(page.packed.bytes, {});
      page.own_version = 0;
    } else {
      bytes.reserve(size);
      RenderPage(input, wanted, [&](std::string_view piece) { bytes += piece; });
    }
    page.front = std::make_shared<const std::string>(std::move(bytes));
  }

  // The text that ends this page.
  const OwnText& Own(const Page& page) {
    const bool has_own = (page.names.Has(NameSet::kKgpu) || page.names.empty()) && options_.own;
    OwnText& own = own_.at((has_own ? 2U : 0U) + static_cast<unsigned>(page.wanted.format));
    if (own.version != 0 && (!has_own || clock_.Now() - own.made < kOwnAge)) {
      return own;
    }
    Exposition text(page.wanted.format);
    if (has_own) {
      options_.own(text);
    }
    own.text = text.Take();
    if (page.wanted.format == Format::kOpenMetrics) {
      own.text += Exposition::kEnd;
    }
    own.made = clock_.Now();
    own.version = ++own_versions_;
    return own;
  }

  const Clock& clock_;
  PageCacheOptions options_;
  PageInput input_;
  std::optional<WallTime> measured_;
  uint64_t version_ = 1;  // of the input and of what is left out of it
  std::vector<Page> pages_;
  std::array<OwnText, 4> own_;  // with the agent's own or without, by format
  uint64_t own_versions_ = 0;
};

PageCache::PageCache(const Clock& clock, PageCacheOptions options)
    : impl_(std::make_unique<Impl>(clock, std::move(options))) {
}

PageCache::~PageCache() = default;

void PageCache::SetStale(std::chrono::milliseconds stale) {
  impl_->SetStale(stale);
}

void PageCache::SetExclude(std::vector<std::string> exclude) {
  impl_->SetExclude(std::move(exclude));
}

void PageCache::Set(PageInput input) {
  impl_->Set(std::move(input));
}

PageInput PageCache::Current() const {
  return impl_->Current();
}

http::Response PageCache::Answer(const http::Request& request, NameSets names) {
  return impl_->Answer(request, names);
}

http::Response PageCache::AnswerAsked(const http::Request& request, NameSets usual) {
  const auto asked = request.QueryValue("names");
  if (!asked) {
    return Answer(request, usual);
  }
  const auto names = ParseNames("names", *asked);
  return names.ok() ? Answer(request, *names) : http::TextResponse(400, Message(names.status()));
}

}  // namespace kgpu::telemetry
