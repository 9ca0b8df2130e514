// Writes pages of series straight into one string: Prometheus text 0.0.4, or OpenMetrics 1.0.
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
  kInfo,     // always 1, the labels carry the value; ends in _info
  kUnknown,  // a number of unknown type
  kHistogram,
};

// Samples counted by size.
struct Histogram {
  std::span<const double> bounds;     // upper bounds, ascending and inclusive
  std::span<const uint64_t> samples;  // one count per bound, and one more for larger samples
  double sum = 0;
};

enum class Format : uint8_t { kText, kOpenMetrics };

// The type's name in the format: "gauge".
std::string_view TypeWord(Type type, Format format);

using Label = std::pair<std::string_view, std::string_view>;

// `a="b",c="d"` with escaped values, for labels that many samples share. Here and everywhere, a
// label without a value is left out, which Prometheus treats as the same.
std::string LabelText(std::initializer_list<Label> labels);

// One family after the other, each with all its samples. Names are ours and valid; label values may
// be anything and are escaped.
class Exposition {
 public:
  explicit Exposition(Format format = Format::kText) : format_(format) {}

  // Starts a family; a family without samples is not written. `help` names the source of the
  // values. `unit` is "" if the name has none. The texts must outlive the family.
  void Family(std::string_view name, Type type, std::string_view help, std::string_view unit = {});

  // A sample of the current family.
  void Sample(std::initializer_list<Label> labels, double value) { SampleOf({}, labels, value); }
  void Sample(double value) { SampleOf({}, {}, value); }
  // `labels` as LabelText makes them, followed by more.
  void SampleOf(std::string_view labels, std::initializer_list<Label> more, double value);
  void SampleOf(std::string_view labels, double value) { SampleOf(labels, {}, value); }

  // The samples of a histogram family.
  void Sample(std::initializer_list<Label> labels, const Histogram& histogram);

  void Reserve(size_t bytes) { text_.reserve(bytes); }
  Format format() const { return format_; }
  // The page so far: every line ends with a newline. An OpenMetrics page ends with kEnd, which the
  // caller appends: a page may be made of several parts.
  const std::string& text() const { return text_; }
  std::string Take() { return std::move(text_); }
  // Clears the text, which the caller has taken; the current family continues.
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
