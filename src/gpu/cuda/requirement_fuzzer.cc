// An environment, a variable a line: any verdict, but the same each time, with a reason that is
// short and one line, and none that depends on the order of alternatives.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/cuda/requirement.h"
#include "src/platform/base/strings.h"

namespace {

using kgpu::cuda::Outcome;
using kgpu::cuda::Verdict;

void Require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

void CheckText(const Verdict& verdict) {
  Require((verdict.outcome == Outcome::kSatisfied) == verdict.reason.empty());
  Require(verdict.reason.size() < 10'000);
  Require(std::ranges::none_of(verdict.reason, [](char c) { return c >= 0 && c < ' '; }));
}

std::string InReverse(std::string_view expression) {
  std::vector<std::string_view> words = kgpu::Words(expression);
  std::string text;
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    text.append(*word).append(" ");
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> environment;
  for (const std::string_view line : kgpu::Split(text, '\n')) {
    environment.emplace_back(line);
  }
  const kgpu::cuda::HostFacts host{
      "535.104.05", "12.2", {{"GPU 0", "8.0", "nvidia"}, {"GPU 1", "7.0", "tesla"}}};
  CheckText(kgpu::cuda::CheckEnvironment(environment, host));
  CheckText(kgpu::cuda::CheckEnvironment(environment, {}));
  const Verdict verdict = kgpu::cuda::CheckRequirement(environment[0], host);
  CheckText(verdict);
  if (environment[0].find('\r') == std::string::npos && size < 1000) {
    Require(kgpu::cuda::CheckRequirement(InReverse(environment[0]), host).outcome ==
            verdict.outcome);
  }
  return 0;
}
