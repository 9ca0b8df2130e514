#include "src/metrics/exposition.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <iterator>

namespace kgpu::metrics {
namespace {

// Backslash and line end always, the quote in label values only.
void AppendEscaped(std::string_view raw, bool is_label, std::string& text) {
  for (const char c : raw) {
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '"' && is_label) {
      text += "\\\"";
    } else {
      text += c;
    }
  }
}

void AppendValue(double value, std::string& text) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::isnan(value)) {
    text += "NaN";
  } else if (std::isinf(value)) {
    text += value > 0 ? "+Inf" : "-Inf";
  } else if (value == std::trunc(value) && std::fabs(value) < kExact) {
    fmt::format_to(std::back_inserter(text), "{}", static_cast<int64_t>(value));
  } else {
    fmt::format_to(std::back_inserter(text), "{}", value);
  }
}

}  // namespace

void Exposition::Family(std::string_view name, Type type, std::string_view help) {
  name_ = std::string(name);
  fmt::format_to(std::back_inserter(text_), "# HELP {} ", name);
  AppendEscaped(help, false, text_);
  fmt::format_to(std::back_inserter(text_), "\n# TYPE {} {}\n", name,
                 type == Type::kGauge ? "gauge" : "counter");
}

void Exposition::Sample(std::initializer_list<Label> labels, double value) {
  text_ += name_;
  char before = '{';
  for (const auto& [name, label] : labels) {
    text_ += before;
    text_ += name;
    text_ += "=\"";
    AppendEscaped(label, true, text_);
    text_ += '"';
    before = ',';
  }
  text_ += labels.size() > 0 ? "} " : " ";
  AppendValue(value, text_);
  text_ += '\n';
}

}  // namespace kgpu::metrics
