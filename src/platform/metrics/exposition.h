// Pages of series, written straight into one string: Prometheus text 0.0.4, or OpenMetrics 1.0.
// Sources: prometheus.io/docs/instrumenting/exposition_formats; the OpenMetrics specification.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace kgpu::metrics {

enum class Type : uint8_t {
  kGauge,
  kCounter,
  kInfo,     // always 1, its labels are the value; ends in _info
  kUnknown,  // a number, no more is known
  kHistogram,
};

// Samples by how large they are.
struct Histogram {
  std::span<const double> bounds;     // ascending; a sample that is one belongs below it
  std::span<const uint64_t> samples;  // of each, and one more: those above them all
  double sum = 0;
};

enum class Format : uint8_t { kText, kOpenMetrics };

// As the format calls it: "gauge".
std::string_view TypeWord(Type type, Format format);

using Label = std::pair<std::string_view, std::string_view>;

// `a="b",c="d"` with its values escaped: labels that many samples share are written once. Here as
// everywhere, a label without a value is left out, which to Prometheus is the same.
std::string LabelText(std::initializer_list<Label> labels);

// One family after the other, each with all its samples. Names are ours and legal; label values
// are anybody's and are escaped.
class Exposition {
 public:
  explicit Exposition(Format format = Format::kText) : format_(format) {}

  // Begins a family; one that gets no sample leaves no trace. `help` names the source of the
  // values. `unit` is "" where the name has none. The texts outlive the family.
  void Family(std::string_view name, Type type, std::string_view help, std::string_view unit = {});

  // A sample of the family begun last.
  void Sample(std::initializer_list<Label> labels, double value) { SampleOf({}, labels, value); }
  void Sample(double value) { SampleOf({}, {}, value); }
  // `labels` as LabelText makes it, and more behind them.
  void SampleOf(std::string_view labels, std::initializer_list<Label> more, double value);
  void SampleOf(std::string_view labels, double value) { SampleOf(labels, {}, value); }

  // The samples of a family of that type.
  void Sample(std::initializer_list<Label> labels, const Histogram& histogram);

  void Reserve(size_t bytes) { text_.reserve(bytes); }
  Format format() const { return format_; }
  // The page so far: every line ends with a newline. One of OpenMetrics ends with kEnd, which is
  // the caller's to add: a page may be made of parts.
  const std::string& text() const { return text_; }
  std::string Take() { return std::move(text_); }
  // Forgets the text so far, which somebody else has now; the family goes on.
  void Clear() { text_.clear(); }

  static constexpr std::string_view kEnd = "# EOF\n";

 private:
  void WriteHeader();
  void WriteSample(std::string_view suffix, std::string_view labels,
                   std::initializer_list<Label> more, double value);

  Format format_;
  std::string text_;
  std::string_view name_;
  std::string_view help_;
  std::string_view unit_;
  Type type_ = Type::kGauge;
  bool has_header_ = false;
};

}  // namespace kgpu::metrics
