#include "src/functions/service/usage_hours.h"

#include <boost/json/value.hpp>

#include <limits>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::functions {
namespace {

constexpr char kUsageWhere[] = "usage of functions";
constexpr char kOthers[] = "(others)";
constexpr auto kLastHour = static_cast<int64_t>(kLastCount<std::chrono::hours>);

boost::json::object LineOf(UsageHours::Hour hour, const std::string& function,
                           const FunctionUse& use) {
  return {{"hour", hour.time_since_epoch().count()},
          {"function", function},
          {"calls", use.calls},
          {"errors", use.errors},
          {"coldStarts", use.cold_starts},
          {"callSeconds", use.call_seconds},
          {"gpuBusySeconds", use.gpu_busy_seconds},
          {"gpuHeldSeconds", use.gpu_held_seconds}};
}

// Counts that are missing, negative or no numbers make a line invalid.
class LineReader {
 public:
  explicit LineReader(const boost::json::object& object) : object_(object) {}

  uint64_t Count(std::string_view key) {
    const boost::json::value* value = Find(key);
    const int64_t* number = value == nullptr ? nullptr : value->if_int64();
    is_valid_ = is_valid_ && number != nullptr && *number >= 0;
    return is_valid_ ? static_cast<uint64_t>(*number) : 0;
  }
  double Seconds(std::string_view key) {
    const boost::json::value* value = Find(key);
    boost::system::error_code error;
    const double number = value == nullptr ? -1 : value->to_number<double>(error);
    is_valid_ = is_valid_ && !error && number >= 0;
    return is_valid_ ? number : 0;
  }
  std::string Text(std::string_view key) {
    const boost::json::value* value = Find(key);
    const boost::json::string* text = value == nullptr ? nullptr : value->if_string();
    is_valid_ = is_valid_ && text != nullptr;
    return is_valid_ ? std::string(text->data(), text->size()) : "";
  }
  bool is_valid() const { return is_valid_; }

 private:
  const boost::json::value* Find(std::string_view key) const {
    return object_.if_contains({key.data(), key.size()});
  }

  const boost::json::object& object_;
  bool is_valid_ = true;
};

}  // namespace

FunctionUse& FunctionUse::operator+=(const FunctionUse& more) {
  calls += more.calls;
  errors += more.errors;
  cold_starts += more.cold_starts;
  call_seconds += more.call_seconds;
  gpu_busy_seconds += more.gpu_busy_seconds;
  gpu_held_seconds += more.gpu_held_seconds;
  return *this;
}

StatusOr<UsageHours> UsageHours::Parse(std::string_view text) {
  UsageHours usage;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.empty()) {
      continue;
    }
    ASSIGN_OR_RETURN(const boost::json::value value, doc::ParseJson(line, kUsageWhere, {}));
    if (!value.is_object()) {
      return InvalidArgument("{}: every line must be a map", kUsageWhere);
    }
    LineReader reader(value.get_object());
    const uint64_t hour = reader.Count("hour");
    const std::string function = reader.Text("function");
    const FunctionUse use{.calls = reader.Count("calls"),
                          .errors = reader.Count("errors"),
                          .cold_starts = reader.Count("coldStarts"),
                          .call_seconds = reader.Seconds("callSeconds"),
                          .gpu_busy_seconds = reader.Seconds("gpuBusySeconds"),
                          .gpu_held_seconds = reader.Seconds("gpuHeldSeconds")};
    if (!reader.is_valid() || hour > static_cast<uint64_t>(kLastHour)) {
      return InvalidArgument("{}: invalid line: {}", kUsageWhere, Printable(line));
    }
    if (!usage.hours_[Hour(std::chrono::hours(hour))].emplace(function, use).second) {
      return InvalidArgument("{}: appears twice: {}", kUsageWhere, Printable(line));
    }
  }
  return usage;
}

void UsageHours::Add(const std::string& function, const FunctionUse& use, WallTime now) {
  const Hour hour = std::chrono::floor<std::chrono::hours>(now);
  if (!hours_.contains(hour)) {
    DropOld(hour);
  }
  std::map<std::string, FunctionUse>& functions = hours_[hour];
  const bool is_full = functions.size() >= kMaxFunctionsAnHour && !functions.contains(function);
  functions[is_full ? kOthers : function] += use;
  has_changed_ = true;
}

std::map<std::string, FunctionUse> UsageHours::Since(WallTime from) const {
  std::map<std::string, FunctionUse> sums;
  const Hour first = std::chrono::floor<std::chrono::hours>(from);
  for (auto hour = hours_.lower_bound(first); hour != hours_.end(); ++hour) {
    for (const auto& [function, use] : hour->second) {
      sums[function] += use;
    }
  }
  return sums;
}

std::string UsageHours::Text() const {
  std::string text;
  for (const auto& [hour, functions] : hours_) {
    for (const auto& [function, use] : functions) {
      text += doc::PrintLine(LineOf(hour, function, use));
      text += '\n';
    }
  }
  return text;
}

bool UsageHours::TakeChanged() {
  return std::exchange(has_changed_, false);
}

void UsageHours::DropOld(Hour now) {
  hours_.erase(hours_.begin(), hours_.lower_bound(now - std::chrono::hours(kKept)));
}

}  // namespace kgpu::functions
