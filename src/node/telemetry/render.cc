#include "src/node/telemetry/render.h"

#include <algorithm>

#include "src/node/telemetry/series.h"

namespace kgpu::telemetry {
namespace {

constexpr size_t kPiece = size_t{64} << 10;

template <typename View>
void CollectAll(void (*collect)(const View&, Values&), const std::vector<View>& views, NameSet set,
                metrics::Exposition& page) {
  if (collect == nullptr) {
    return;
  }
  for (const View& view : views) {
    const std::string& labels = view.labels.Of(set);
    if (!labels.empty()) {
      Values values(page, labels);
      collect(view, values);
    }
  }
}

void RenderSeries(const PageViews& views, const Series& series, NameSet set,
                  metrics::Exposition& page) {
  page.Family(series.name, series.type, series.help, series.unit);
  if (series.collect.node != nullptr) {
    Values values(page, {});
    series.collect.node(views, values);
  }
  CollectAll(series.collect.gpu, views.gpus(), set, page);
  CollectAll(series.collect.mig, views.migs(), set, page);
  CollectAll(series.collect.container, views.containers(), set, page);
  CollectAll(series.collect.process, views.processes(), set, page);
}

}  // namespace

bool FitsPattern(std::string_view name, std::string_view pattern) {
  // Where the last "*" stood, and how many letters it has taken: the one place to go back to.
  size_t at = 0;
  size_t pattern_at = 0;
  size_t star = pattern.npos;
  size_t taken = 0;
  while (at < name.size()) {
    if (pattern_at < pattern.size() && pattern[pattern_at] == '*') {
      star = pattern_at++;
      taken = at;
    } else if (pattern_at < pattern.size() && pattern[pattern_at] == name[at]) {
      ++at;
      ++pattern_at;
    } else if (star != pattern.npos) {
      pattern_at = star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', pattern_at) == pattern.npos;
}

void RenderPage(const PageInput& input, const PageRequest& page,
                const std::function<void(std::string_view)>& take) {
  const PageViews views(input);
  metrics::Exposition text(page.format);
  for (const SeriesGroup& group : AllSeries()) {
    for (const Series& series : group.series) {
      const bool is_wanted = page.names.Has(group.set) &&
                             std::ranges::none_of(page.exclude, [&](const std::string& pattern) {
                               return FitsPattern(series.name, pattern);
                             });
      if (is_wanted) {
        RenderSeries(views, series, group.set, text);
      }
      if (text.text().size() >= kPiece) {
        take(text.text());
        text.Clear();
      }
    }
  }
  take(text.text());
}

std::string RenderPage(const PageInput& input, const PageRequest& page) {
  std::string whole;
  RenderPage(input, page, [&](std::string_view piece) { whole += piece; });
  return whole;
}

}  // namespace kgpu::telemetry
