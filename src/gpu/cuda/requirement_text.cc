#include "src/gpu/cuda/requirement_text.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "src/gpu/cuda/compatibility.h"
#include "src/platform/base/strings.h"

namespace kgpu::cuda {
namespace {

// More would not be read.
constexpr size_t kMostListed = 12;

bool IsOfDriver(const Condition& condition) {
  return condition.property == Property::kCuda || condition.property == Property::kDriver;
}

// Whether more of something can meet it.
bool IsLowerBound(const Condition& condition) {
  return condition.op == Operator::kGreater || condition.op == Operator::kGreaterOrEqual;
}

// The words of a list without repetitions, cut at a limit.
class WordList {
 public:
  void Add(std::string word) {
    if (std::ranges::find(words_, word) != words_.end()) {
      return;
    }
    if (words_.size() < kMostListed) {
      words_.push_back(std::move(word));
    } else {
      ++left_out_;
    }
  }
  bool empty() const { return words_.empty(); }
  // "a", "a or b", "a, b or c", "a, b or 3 more".
  std::string Or() const {
    std::vector<std::string> words = words_;
    if (left_out_ > 0) {
      words.push_back(fmt::format("{} more", left_out_));
    }
    if (words.size() < 2) {
      return Join(words, "");
    }
    const std::string last = std::move(words.back());
    words.pop_back();
    return fmt::format("{} or {}", Join(words, ", "), last);
  }

 private:
  std::vector<std::string> words_;
  size_t left_out_ = 0;
};

// N of "driver>=N,driver<N+1", by which NVIDIA's images name a branch of drivers.
std::optional<uint32_t> BranchOf(const std::vector<Condition>& conditions) {
  if (conditions.size() != 2) {
    return std::nullopt;
  }
  const Condition& low = conditions[0];
  const Condition& high = conditions[1];
  const bool is_branch = low.property == Property::kDriver && high.property == Property::kDriver &&
                         low.op == Operator::kGreaterOrEqual && high.op == Operator::kLess &&
                         low.version == VersionNumbers{low.version[0]} &&
                         high.version == VersionNumbers{low.version[0] + 1};
  return is_branch ? std::optional(low.version[0]) : std::nullopt;
}

std::string TextOf(const std::vector<Condition>& conditions) {
  std::vector<std::string> texts;
  for (const Condition& condition : conditions) {
    if (texts.size() == kMostListed) {
      texts.emplace_back("…");
      break;
    }
    texts.push_back(Printable(condition.text, 60));
  }
  return Join(texts, ",");
}

// The lowest version that a lower bound allows.
VersionNumbers LeastOf(const Condition& condition) {
  VersionNumbers least = condition.version;
  least.back() += condition.op == Operator::kGreater ? 1 : 0;
  return least;
}

// A driver that would do.
struct Upgrade {
  // As a lower bound.
  struct Bound {
    DriverVersion driver;
    bool is_exclusive = false;
    auto operator<=>(const Bound&) const = default;
  };
  Bound bound;
  bool is_beyond_us = false;  // newer than all we know: the bound means nothing
  CudaVersion cuda;           // that it is for; 0.0 where the image asks for none

  std::string str() const {
    if (is_beyond_us) {
      return fmt::format("a driver for CUDA {} or newer", cuda.str());
    }
    return bound.is_exclusive ? fmt::format("a driver newer than {}", bound.driver.str())
                              : fmt::format("driver {} or newer", bound.driver.str());
  }
  bool operator<(const Upgrade& other) const {
    return is_beyond_us == other.is_beyond_us ? bound < other.bound : other.is_beyond_us;
  }
};

// The alternatives that this GPU could meet with another driver.
class Options {
 public:
  Options(const Facts& facts, const GpuKind& gpu) : facts_(facts), gpu_(gpu) {}

  void Add(const Alternative& alternative) {
    std::vector<Condition> rest;
    for (const Condition& condition : alternative.conditions) {
      if (IsOfDriver(condition)) {
        rest.push_back(condition);
      }
    }
    if (const std::optional<uint32_t> branch = BranchOf(rest)) {
      branches_.Add(std::to_string(*branch));
    } else {
      demands_.Add(TextOf(rest));
    }
    for (const Condition& condition : rest) {
      if (!Meets(condition, facts_, gpu_)) {
        const bool is_cuda = condition.property == Property::kCuda;
        asks_cuda_ = asks_cuda_ || is_cuda;
        asks_newer_cuda_ = asks_newer_cuda_ || (is_cuda && IsLowerBound(condition));
      }
    }
    if (std::ranges::all_of(rest, IsLowerBound)) {
      AddUpgrade(rest);
    }
  }

  bool empty() const { return demands_.empty() && branches_.empty(); }

  std::string Demand() const {
    const std::string branches =
        branches_.empty() ? "" : fmt::format("driver branch {}", branches_.Or());
    if (demands_.empty() || branches_.empty()) {
      return demands_.Or() + branches;
    }
    return fmt::format("{}, or {}", demands_.Or(), branches);
  }

  std::string Present() const {
    const std::string driver =
        facts_.driver ? fmt::format("driver {}", facts_.driver->str()) : std::string("the driver");
    if (!asks_cuda_ || !facts_.cuda) {
      return fmt::format("the host has {}", driver);
    }
    return fmt::format("{} supports up to {}", driver, facts_.cuda->str());
  }

  std::string Fix() const {
    if (std::string dropped = DroppedGpu(); !dropped.empty()) {
      return dropped;
    }
    return fmt::format("use {}, or {}{}", upgrade_ ? upgrade_->str() : "a compatible driver",
                       asks_newer_cuda_ && facts_.cuda
                           ? fmt::format("an image for CUDA {} or older", facts_.cuda->str())
                           : std::string("another image"),
                       RunsAnyhow());
  }

 private:
  // Keeps the alternative with the lowest requirement.
  void AddUpgrade(const std::vector<Condition>& conditions) {
    Upgrade upgrade;
    for (const Condition& condition : conditions) {
      Upgrade::Bound bound{DriverVersion{condition.version}, condition.op == Operator::kGreater};
      if (condition.property == Property::kCuda) {
        upgrade.cuda =
            std::max(upgrade.cuda, CudaVersion{condition.version[0], condition.version[1]});
        const std::optional<Toolkit> toolkit = LeastToolkit(LeastOf(condition));
        upgrade.is_beyond_us = upgrade.is_beyond_us || !toolkit;
        bound = {toolkit ? toolkit->least_driver : DriverVersion()};
      }
      upgrade.bound = std::max(upgrade.bound, bound);
    }
    if (!upgrade_ || upgrade < *upgrade_) {
      upgrade_ = upgrade;
    }
  }

  // Where no driver can help, since the CUDA asked for has dropped this GPU; else empty.
  std::string DroppedGpu() const {
    if (!upgrade_ || !gpu_.compute) {
      return "";
    }
    const std::optional<uint32_t> last = LastCudaMajor(*gpu_.compute);
    if (!last || upgrade_->cuda.major <= *last) {
      return "";
    }
    return fmt::format(
        "CUDA {} does not support GPUs of compute capability {}: use an image for CUDA {} or older",
        upgrade_->cuda.major, gpu_.compute->str(),
        facts_.cuda && facts_.cuda->major <= *last ? facts_.cuda->str() : std::to_string(*last));
  }

  // NVIDIA's check knows nothing of minor-version compatibility, and so neither does this one; who
  // is refused for that may be reported.
  std::string RunsAnyhow() const {
    if (!upgrade_ || !facts_.driver || FitOf(upgrade_->cuda, *facts_.driver) != Fit::kMinor) {
      return "";
    }
    return fmt::format(
        "; most CUDA {} programs also run on this driver by minor-version compatibility (not those "
        "that compile PTX): start the image as it is with NVIDIA_DISABLE_REQUIRE=1",
        upgrade_->cuda.str());
  }

  const Facts& facts_;
  const GpuKind& gpu_;
  WordList demands_;
  WordList branches_;
  bool asks_cuda_ = false;
  bool asks_newer_cuda_ = false;
  std::optional<Upgrade> upgrade_;
};

// The facts that no driver changes.
std::string Present(const GpuKind& gpu) {
  std::vector<std::string> facts;
  if (gpu.compute) {
    facts.push_back(fmt::format("compute capability {}", gpu.compute->str()));
  }
  if (!gpu.brand.empty()) {
    facts.push_back(fmt::format("brand {}", Printable(gpu.brand, 40)));
  }
  return fmt::format("{} has {}", gpu.name.empty() ? "the GPU" : Printable(gpu.name, 60),
                     Join(facts, " and "));
}

}  // namespace

std::string Explain(std::string_view text, std::string_view source, const Facts& facts,
                    const GpuKind& gpu) {
  Options options(facts, gpu);
  WordList others;
  AlternativeReader reader(text);
  Alternative alternative;
  while (reader.Next(alternative)) {
    if (!alternative.problem.empty()) {
      continue;
    }
    const bool is_for_gpu =
        std::ranges::all_of(alternative.conditions, [&](const Condition& condition) {
          return IsOfDriver(condition) || Meets(condition, facts, gpu);
        });
    if (is_for_gpu) {
      options.Add(alternative);
    } else {
      others.Add(TextOf(alternative.conditions));
    }
  }
  std::string demand = options.empty() ? others.Or() : options.Demand();
  if (!source.empty() && source != "NVIDIA_REQUIRE_CUDA") {
    demand += fmt::format(" ({})", source);
  }
  if (options.empty()) {
    return fmt::format("image requires {}; {}; use another GPU, or another image", demand,
                       Present(gpu));
  }
  if (facts.gpus.size() > 1 && !gpu.name.empty()) {
    demand += fmt::format(" for {}", Printable(gpu.name, 60));
  }
  return fmt::format("image requires {}; {}; {}", demand, options.Present(), options.Fix());
}

}  // namespace kgpu::cuda
