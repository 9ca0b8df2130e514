#include <iterator>
#include <string>

#include "src/node/labels/evaluate.h"
#include "src/platform/base/strings.h"

namespace kgpu::labels {
namespace {

constexpr size_t kShown = 200;

void PrintPairs(std::string& text, std::string_view kind,
                const std::map<std::string, std::string>& pairs) {
  for (const auto& [key, value] : pairs) {
    fmt::format_to(std::back_inserter(text), "  {} {}={}\n", kind, Printable(key, kShown),
                   Printable(value, kShown));
  }
}

}  // namespace

std::string PrintVerdicts(std::span<const RuleVerdict> verdicts) {
  std::string text;
  for (const RuleVerdict& verdict : verdicts) {
    fmt::format_to(std::back_inserter(text), "{}: {}: {}\n", Printable(verdict.set, kShown),
                   Printable(verdict.rule, kShown),
                   verdict.is_matched ? "matches" : "does not match");
    if (!verdict.why.empty()) {
      fmt::format_to(std::back_inserter(text), "  {}\n", verdict.why);
    }
    PrintPairs(text, "label", verdict.claims.labels);
    PrintPairs(text, "annotation", verdict.claims.annotations);
    PrintPairs(text, "extended resource", verdict.claims.extended_resources);
    for (const Taint& taint : verdict.claims.taints) {
      fmt::format_to(std::back_inserter(text), "  taint {}\n", Printable(ToString(taint), kShown));
    }
    PrintPairs(text, "var", verdict.vars);
  }
  return text;
}

}  // namespace kgpu::labels
