#include "src/platform/metrics/exposition.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace kgpu::metrics {
namespace {

// Backslash and line end always, the quote where it would end the text.
void AppendEscaped(std::string_view raw, bool escapes_quote, std::string& text) {
  if (raw.find_first_of("\\\n\"") == raw.npos) {
    text += raw;
    return;
  }
  for (const char c : raw) {
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '"' && escapes_quote) {
      text += "\\\"";
    } else {
      text += c;
    }
  }
}

void AppendLabel(const Label& label, std::string& text) {
  text += label.first;
  text += "=\"";
  AppendEscaped(label.second, true, text);
  text += '"';
}

template <typename Number>
void AppendNumber(Number number, std::string& text) {
  std::array<char, 32> digits{};  // the longest double has 24
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

void AppendValue(double value, std::string& text) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::isnan(value)) {
    text += "NaN";
  } else if (std::isinf(value)) {
    text += value > 0 ? "+Inf" : "-Inf";
  } else if (value == std::trunc(value) && std::fabs(value) < kExact) {
    AppendNumber(static_cast<int64_t>(value), text);
  } else {
    AppendNumber(value, text);
  }
}

// As both formats have it; to OpenMetrics 1 is no number of a label `le`, 1.0 is.
std::string BoundText(double bound, Format format) {
  std::string text;
  AppendValue(bound, text);
  if (format == Format::kOpenMetrics && text.find_first_of(".eI") == std::string::npos) {
    text += ".0";
  }
  return text;
}

}  // namespace

std::string_view TypeWord(Type type, Format format) {
  switch (type) {
    case Type::kGauge:
      return "gauge";
    case Type::kCounter:
      return "counter";
    case Type::kInfo:
      return format == Format::kText ? "gauge" : "info";
    case Type::kUnknown:
      return format == Format::kText ? "untyped" : "unknown";
    case Type::kHistogram:
      return "histogram";
  }
  return "untyped";
}

std::string LabelText(std::initializer_list<Label> labels) {
  std::string text;
  for (const Label& label : labels) {
    if (label.second.empty()) {
      continue;
    }
    if (!text.empty()) {
      text += ',';
    }
    AppendLabel(label, text);
  }
  return text;
}

void Exposition::Family(std::string_view name, Type type, std::string_view help,
                        std::string_view unit) {
  name_ = name;
  help_ = help;
  unit_ = unit;
  type_ = type;
  has_header_ = false;
}

void Exposition::WriteHeader() {
  has_header_ = true;
  Type type = type_;
  std::string_view family = name_;
  if (format_ == Format::kOpenMetrics) {
    // A family's name is that of its samples without the suffix of its type. A counter whose name
    // has no suffix (others named it) is not a counter in that format.
    const std::string_view ending = type == Type::kCounter ? "_total" : "_info";
    if (type == Type::kCounter || type == Type::kInfo) {
      if (family.ends_with(ending)) {
        family.remove_suffix(ending.size());
      } else {
        type = Type::kUnknown;
      }
    }
  }
  const auto line = [&](std::string_view what) {
    text_.append("# ").append(what).append(" ").append(family).append(" ");
  };
  line("HELP");
  AppendEscaped(help_, format_ == Format::kOpenMetrics, text_);
  text_ += '\n';
  line("TYPE");
  text_.append(TypeWord(type, format_)).append("\n");
  if (format_ == Format::kOpenMetrics && !unit_.empty() && family.ends_with(unit_) &&
      family.size() > unit_.size() && family[family.size() - unit_.size() - 1] == '_') {
    line("UNIT");
    text_.append(unit_).append("\n");
  }
}

void Exposition::SampleOf(std::string_view labels, std::initializer_list<Label> more,
                          double value) {
  if (!has_header_) {
    WriteHeader();
  }
  WriteSample({}, labels, more, value);
}

void Exposition::Sample(std::initializer_list<Label> labels, const Histogram& histogram) {
  if (!has_header_) {
    WriteHeader();
  }
  const std::string text = LabelText(labels);
  uint64_t count = 0;
  for (size_t i = 0; i < histogram.samples.size(); ++i) {
    count += histogram.samples[i];
    const double bound =
        i < histogram.bounds.size() ? histogram.bounds[i] : std::numeric_limits<double>::infinity();
    WriteSample("_bucket", text, {{"le", BoundText(bound, format_)}}, static_cast<double>(count));
  }
  WriteSample("_sum", text, {}, histogram.sum);
  WriteSample("_count", text, {}, static_cast<double>(count));
}

void Exposition::WriteSample(std::string_view suffix, std::string_view labels,
                             std::initializer_list<Label> more, double value) {
  text_.append(name_).append(suffix);
  char before = '{';
  if (!labels.empty()) {
    text_ += before;
    text_ += labels;
    before = ',';
  }
  for (const Label& label : more) {
    if (!label.second.empty()) {
      text_ += before;
      AppendLabel(label, text_);
      before = ',';
    }
  }
  text_ += before == ',' ? "} " : " ";
  AppendValue(value, text_);
  text_ += '\n';
}

}  // namespace kgpu::metrics
