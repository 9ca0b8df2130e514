#include "src/node/telemetry/accept.h"

#include <algorithm>
#include <string_view>

#include "src/platform/base/strings.h"

namespace kgpu::telemetry {
namespace {

// Takes the part of `list` before the next `mark`, without blanks around it.
std::string_view TakePart(std::string_view& list, char mark) {
  const size_t end = list.find(mark);
  const std::string_view part = list.substr(0, end);
  list = end == list.npos ? std::string_view() : list.substr(end + 1);
  return Trim(part);
}

// "0.75" in thousandths; an invalid weight counts as 0.
int ParseWeight(std::string_view text) {
  constexpr int kWhole = 1000;
  if (text.empty() || (text[0] != '0' && text[0] != '1') || text.size() > 5 ||
      (text.size() > 1 && text[1] != '.')) {
    return 0;
  }
  if (text[0] == '1') {
    return kWhole;
  }
  int weight = 0;
  int place = kWhole / 10;
  for (const char c : text.substr(text.size() > 1 ? 2 : 1)) {
    if (c < '0' || c > '9') {
      return 0;
    }
    weight += (c - '0') * place;
    place /= 10;
  }
  return weight;
}

// One member of an Accept or Accept-Encoding field.
struct Member {
  std::string_view name;
  std::string_view version;  // "": not said
  int weight = 1000;
};

Member ParseMember(std::string_view text) {
  Member member{.name = TakePart(text, ';'), .version = {}};
  while (!text.empty()) {
    std::string_view parameter = TakePart(text, ';');
    const std::string_view name = TakePart(parameter, '=');
    const std::string_view value = Trim(parameter);
    if (http::EqualsIgnoringCase(name, "q")) {
      member.weight = ParseWeight(value);
    } else if (http::EqualsIgnoringCase(name, "version")) {
      member.version = value;
    }
  }
  return member;
}

metrics::Format FormatOf(std::string_view accept) {
  int text = 0;
  int open_metrics = 0;
  while (!accept.empty()) {
    const Member member = ParseMember(TakePart(accept, ','));
    if (http::EqualsIgnoringCase(member.name, "application/openmetrics-text") &&
        (member.version.empty() || member.version == "1.0.0")) {
      open_metrics = std::max(open_metrics, member.weight);
    } else if (http::EqualsIgnoringCase(member.name, "text/plain") || member.name == "text/*" ||
               member.name == "*/*") {
      text = std::max(text, member.weight);
    }
  }
  return open_metrics > 0 && open_metrics >= text ? metrics::Format::kOpenMetrics
                                                  : metrics::Format::kText;
}

bool TakesGzip(std::string_view codings) {
  while (!codings.empty()) {
    const Member member = ParseMember(TakePart(codings, ','));
    if (http::EqualsIgnoringCase(member.name, "gzip")) {
      return member.weight > 0;
    }
  }
  return false;
}

}  // namespace

Wanted WantedBy(const http::Headers& headers) {
  return {.format = FormatOf(headers.Find("Accept").value_or("")),
          .is_gzip = TakesGzip(headers.Find("Accept-Encoding").value_or(""))};
}

}  // namespace kgpu::telemetry
