#include "src/gpu/cuda/requirement.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "src/gpu/cuda/requirement_facts.h"
#include "src/gpu/cuda/requirement_reader.h"
#include "src/gpu/cuda/requirement_text.h"
#include "src/platform/base/status.h"
#include "src/platform/base/strings.h"

namespace kgpu::cuda {
namespace {

constexpr std::string_view kPrefix = "NVIDIA_REQUIRE_";
constexpr std::string_view kRequireCuda = "NVIDIA_REQUIRE_CUDA";
// Not a requirement but a demand for files on other machines ("csv-mounts=all").
constexpr std::string_view kJetpack = "NVIDIA_REQUIRE_JETPACK";
constexpr std::string_view kDisable = "NVIDIA_DISABLE_REQUIRE";
constexpr std::string_view kCudaVersion = "CUDA_VERSION";

constexpr size_t kMostReasons = 3;

// By Property.
constexpr std::array<std::string_view, 4> kPropertyNames = {"CUDA version", "driver version",
                                                            "compute capability", "brand"};

// One variable's demand.
struct Demand {
  std::string source;  // as texts name it; empty: an expression of no variable
  std::string text;
};

// One pass over the alternatives of a demand.
struct Trial {
  std::vector<bool> is_met;                           // by GPU kind
  std::string problem;                                // of the first alternative that is invalid
  size_t position = 0;                                // of that problem
  std::array<bool, kPropertyNames.size()> unknown{};  // properties that could not be compared
};

bool MeetsAll(const Alternative& alternative, const Facts& facts, const GpuKind& gpu,
              Trial& trial) {
  return std::ranges::all_of(alternative.conditions, [&](const Condition& condition) {
    if (!IsKnown(condition, facts, gpu)) {
      trial.unknown.at(static_cast<size_t>(condition.property)) = true;
    }
    return Meets(condition, facts, gpu);
  });
}

Trial Try(const Demand& demand, const Facts& facts) {
  Trial trial;
  trial.is_met.resize(facts.gpus.size());
  bool is_empty = true;
  AlternativeReader reader(demand.text);
  Alternative alternative;
  while (reader.Next(alternative)) {
    is_empty = false;
    if (!alternative.problem.empty()) {
      if (trial.problem.empty()) {
        trial.problem = alternative.problem;
        trial.position = alternative.position;
      }
      continue;
    }
    for (size_t i = 0; i < facts.gpus.size(); ++i) {
      trial.is_met[i] = trial.is_met[i] || MeetsAll(alternative, facts, facts.gpus[i], trial);
    }
  }
  if (is_empty) {
    trial.is_met.assign(facts.gpus.size(), true);
  }
  return trial;
}

std::string Place(const Demand& demand, size_t position) {
  return demand.source.empty() ? fmt::format("byte {}", position)
                               : fmt::format("byte {} of {}", position, demand.source);
}

// An expression without a variable comes from a person, who can correct it.
std::string MalformedText(const Demand& demand, const Trial& trial) {
  const std::string what = fmt::format("{}: {}", Place(demand, trial.position), trial.problem);
  return demand.source.empty() ? fmt::format("{}: correct the expression", what)
                               : fmt::format(
                                     "malformed requirement: {}: fix the image, or start it with "
                                     "NVIDIA_DISABLE_REQUIRE=1",
                                     what);
}

class Judge {
 public:
  explicit Judge(const HostFacts& host) : facts_(FactsOf(host)) {}

  void Hear(const Demand& demand) {
    const Trial trial = Try(demand, facts_);
    for (size_t i = 0; i < trial.unknown.size(); ++i) {
      unknown_.at(i) = unknown_.at(i) || trial.unknown.at(i);
    }
    const auto unmet = std::ranges::find(trial.is_met, false);
    if (unmet == trial.is_met.end()) {
      if (!trial.problem.empty()) {
        verdict_.notes.push_back(fmt::format("malformed alternative ignored: {}: {}",
                                             Place(demand, trial.position), trial.problem));
      }
      return;
    }
    if (!trial.problem.empty()) {
      Add(Outcome::kMalformed, MalformedText(demand, trial));
      return;
    }
    const auto index = static_cast<size_t>(unmet - trial.is_met.begin());
    Add(Outcome::kUnsatisfied, Explain(demand.text, demand.source, facts_, facts_.gpus[index]));
  }

  void Note(std::string text) { verdict_.notes.push_back(std::move(text)); }

  void Add(Outcome outcome, std::string reason) {
    if (verdict_.outcome != Outcome::kUnsatisfied) {
      verdict_.outcome = outcome;
    }
    if (++reasons_ <= kMostReasons) {
      verdict_.reason += verdict_.reason.empty() ? "" : "; and ";
      verdict_.reason += reason;
    }
  }

  Verdict Speak() {
    if (facts_.is_cuda_from_driver && facts_.cuda) {
      Note(fmt::format("the CUDA version, {}, is derived from the driver's version",
                       facts_.cuda->str()));
    }
    for (size_t i = 0; i < kPropertyNames.size(); ++i) {
      if (unknown_.at(i)) {
        Note(fmt::format("the {} is unknown: conditions on it count as met", kPropertyNames.at(i)));
      }
    }
    return std::move(verdict_);
  }

 private:
  Facts facts_;
  Verdict verdict_;
  std::array<bool, kPropertyNames.size()> unknown_{};
  size_t reasons_ = 0;
};

using Variables = std::map<std::string_view, std::string_view>;

// Those that say anything of requirements; of equal names the last.
Variables Interesting(std::span<const std::string> environment) {
  Variables variables;
  for (const std::string_view entry : environment) {
    const size_t equals = entry.find('=');
    const std::string_view name = entry.substr(0, equals);
    const bool is_requirement = name.starts_with(kPrefix) && !name.starts_with(kJetpack);
    if (equals != std::string_view::npos &&
        (is_requirement || name == kDisable || name == kCudaVersion)) {
      variables[name] = entry.substr(equals + 1);
    }
  }
  return variables;
}

std::string_view ValueOf(const Variables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string_view() : found->second;
}

// As Go's strconv.ParseBool, by which NVIDIA's hook reads it, in any case.
bool IsTrue(std::string_view text) {
  const std::string word = ToLower(text.substr(0, 5));
  return text.size() < 5 && (word == "1" || word == "t" || word == "true");
}

// Images from before there were requirements say their CUDA version only. Any image may have such a
// variable, so one that is no version asks for nothing.
std::optional<Demand> LegacyDemand(const Variables& variables, Judge& judge) {
  std::string_view text = ValueOf(variables, kCudaVersion);
  if (text.empty() || !ValueOf(variables, kRequireCuda).empty()) {
    return std::nullopt;
  }
  text.remove_prefix(text.starts_with('v') ? 1 : 0);
  const auto version = CudaVersion::Parse(text);
  if (!version.ok()) {
    judge.Note(fmt::format("CUDA_VERSION requires nothing: {}", Message(version.status())));
    return std::nullopt;
  }
  return Demand{fmt::format("CUDA_VERSION={}", Printable(text, 40)),
                fmt::format("cuda>={}", version->str())};
}

size_t BytesOf(const Variables& variables) {
  size_t bytes = 0;
  for (const auto& [name, value] : variables) {
    bytes += name.size() + value.size();
  }
  return bytes;
}

std::string TooLong(size_t bytes) {
  return fmt::format("malformed requirement: {} bytes exceed the limit of {}", bytes,
                     kRequirementLimit);
}

}  // namespace

std::string_view ToString(Outcome outcome) {
  static constexpr std::array<std::string_view, 3> kWords = {"satisfied", "unsatisfied",
                                                             "malformed"};
  return kWords.at(static_cast<size_t>(outcome));
}

Verdict CheckRequirement(std::string_view expression, const HostFacts& host) {
  if (expression.size() > kRequirementLimit) {
    return {Outcome::kMalformed, TooLong(expression.size()), {}};
  }
  Judge judge(host);
  judge.Hear({"", std::string(expression)});
  return judge.Speak();
}

Verdict CheckEnvironment(std::span<const std::string> environment, const HostFacts& host) {
  const Variables variables = Interesting(environment);
  if (IsTrue(ValueOf(variables, kDisable))) {
    return {Outcome::kSatisfied, "", {"NVIDIA_DISABLE_REQUIRE is set: nothing was checked"}};
  }
  if (const size_t bytes = BytesOf(variables); bytes > kRequirementLimit) {
    return {Outcome::kMalformed, TooLong(bytes), {}};
  }
  Judge judge(host);
  for (const auto& [name, value] : variables) {
    if (name.starts_with(kPrefix)) {
      judge.Hear({Printable(name, 60), std::string(value)});
    }
  }
  if (const std::optional<Demand> legacy = LegacyDemand(variables, judge)) {
    judge.Hear(*legacy);
  }
  return judge.Speak();
}

}  // namespace kgpu::cuda
