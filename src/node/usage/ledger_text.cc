#include "src/node/usage/ledger_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"

// kgpu-usage 1 GENERATION
// hour N                            hours since 1970; what follows is of it
// use NAMESPACE POD GPU BUSY GIB [UNREPORTED]   seconds; "=" for the namespace or pod of the line
//                                           before; nothing unreported is left out
// end LINES

namespace kgpu::usage {
namespace {

constexpr std::string_view kMagic = "kgpu-usage";
constexpr double kMostAmount = 1e12;
constexpr uint64_t kLastHour = kLastCount<std::chrono::hours>;

std::string_view Shorter(const std::string& name, const std::string& before) {
  return name == before ? std::string_view("=") : std::string_view(name);
}

std::optional<double> ParseAmount(std::string_view text) {
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && amount >= 0 && amount <= kMostAmount ? std::optional(amount) : std::nullopt;
}

class Reader {
 public:
  StatusOr<LedgerFile> Read(std::string_view text) {
    while (!is_ended_) {
      const size_t end = text.find('\n');
      if (end == std::string_view::npos) {
        return Wrong("the end is missing: the file is truncated");
      }
      ++number_;
      RETURN_IF_ERROR(Take(Words(text.substr(0, end))));
      text.remove_prefix(end + 1);
    }
    if (!text.empty()) {
      return Wrong("unexpected data after \"end\"");
    }
    return std::move(file_);
  }

 private:
  using Line = std::vector<std::string_view>;

  Status Wrong(std::string_view what) const {
    return InvalidArgument("line {}: {}", number_, what);
  }

  Status Take(const Line& words) {
    if (number_ == 1) {
      return TakeHead(words);
    }
    if (words.size() == 2 && words[0] == "end" && ParseUint(words[1]) == number_) {
      is_ended_ = true;
      return OkStatus();
    }
    const bool is_hour = !words.empty() && words[0] == "hour";
    if (!(is_hour ? TakeHour(words) : TakeUse(words))) {
      ++file_.bad_lines;
    }
    return OkStatus();
  }

  Status TakeHead(const Line& words) {
    const bool is_ours = words.size() == 3 && words[0] == kMagic && words[1] == "1";
    const auto generation = is_ours ? ParseUint(words[2]) : std::optional<uint64_t>();
    if (!generation) {
      return Wrong("not a usage file");
    }
    file_.generation = *generation;
    return OkStatus();
  }

  // Lines after an hour that is not understood belong to no hour.
  bool TakeHour(const Line& words) {
    hour_.reset();
    const auto hour = words.size() == 2 ? ParseUint(words[1]) : std::nullopt;
    if (hour && *hour <= kLastHour) {
      hour_ = Hour(std::chrono::hours(static_cast<int64_t>(*hour)));
    }
    return hour_.has_value();
  }

  bool TakeUse(const Line& words) {
    if ((words.size() != 6 && words.size() != 7) || words[0] != "use") {
      // The names that the next line may leave out are not known.
      pod_ = {};
      return false;
    }
    const auto gpu = ParseAmount(words[3]);
    const auto busy = ParseAmount(words[4]);
    const auto gib = ParseAmount(words[5]);
    const auto unreported = words.size() == 7 ? ParseAmount(words[6]) : std::optional(0.0);
    if (words[1] != "=") {
      pod_.pod_namespace = words[1];
    }
    if (words[2] != "=") {
      pod_.pod = words[2];
    }
    const bool is_reported = gpu && busy && gib && unreported;
    if (!hour_ || !is_reported || !IsName(pod_.pod_namespace) || !IsName(pod_.pod)) {
      return false;
    }
    file_.ledger.Add(*hour_, pod_,
                     {.gpu_seconds = *gpu,
                      .busy_gpu_seconds = *busy,
                      .gib_seconds = *gib,
                      .unreported_gpu_seconds = *unreported});
    return true;
  }

  LedgerFile file_;
  uint64_t number_ = 0;
  bool is_ended_ = false;
  std::optional<Hour> hour_;
  PodName pod_;
};

}  // namespace

std::string PrintLedger(uint64_t generation, const Ledger& ledger) {
  std::string text = fmt::format("{} 1 {}\n", kMagic, generation);
  uint64_t lines = 1;
  std::optional<Hour> at;
  PodName before;
  ledger.ForEach([&](Hour hour, const PodName& pod, const Amounts& amounts) {
    if (at != hour) {
      fmt::format_to(std::back_inserter(text), "hour {}\n", hour.time_since_epoch().count());
      at = hour;
      ++lines;
    }
    fmt::format_to(std::back_inserter(text), "use {} {} {:.3f} {:.3f} {:.3f}",
                   Shorter(pod.pod_namespace, before.pod_namespace), Shorter(pod.pod, before.pod),
                   std::min(amounts.gpu_seconds, kMostAmount),
                   std::min(amounts.busy_gpu_seconds, kMostAmount),
                   std::min(amounts.gib_seconds, kMostAmount));
    if (amounts.unreported_gpu_seconds > 0) {
      fmt::format_to(std::back_inserter(text), " {:.3f}",
                     std::min(amounts.unreported_gpu_seconds, kMostAmount));
    }
    text += '\n';
    before = pod;
    ++lines;
  });
  fmt::format_to(std::back_inserter(text), "end {}\n", lines + 1);
  return text;
}

StatusOr<LedgerFile> ParseLedger(std::string_view text) {
  return Reader().Read(text);
}

}  // namespace kgpu::usage
