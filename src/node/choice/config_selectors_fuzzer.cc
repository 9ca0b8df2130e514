// The first line are labels, "key=value,…"; the rest is selectors.yaml. A label that one expression
// takes is refused by its opposite.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/node/choice/selectors.h"
#include "src/platform/base/strings.h"

namespace {

namespace choice = kgpu::choice;

choice::Labels LabelsIn(std::string_view line) {
  choice::Labels labels;
  for (const std::string_view word : kgpu::Split(line, ',')) {
    const size_t sign = std::min(word.find('='), word.size());
    labels[std::string(word.substr(0, sign))] =
        std::string(word.substr(std::min(sign + 1, word.size())));
  }
  return labels;
}

void Require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

void TryOpposite(choice::Expression expression, const choice::Labels& labels) {
  using enum choice::Operator;
  if (expression.op == kGt || expression.op == kLt) {
    return;
  }
  const bool matches = choice::Matches({.expressions = {expression}}, labels);
  expression.op = expression.op == kIn       ? kNotIn
                  : expression.op == kNotIn  ? kIn
                  : expression.op == kExists ? kDoesNotExist
                                             : kExists;
  Require(matches != choice::Matches({.expressions = {expression}}, labels));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1 << 16) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(text.find('\n'), text.size());
  const choice::Labels labels = LabelsIn(text.substr(0, line));
  const auto rules =
      choice::ParseSelectors(text.substr(std::min(line + 1, text.size())), "selectors.yaml");
  if (!rules.ok()) {
    return 0;
  }
  for (const choice::Rule& rule : *rules) {
    Require(!rule.config.empty());
    (void)choice::Matches(rule.nodes, labels);
    for (const choice::Expression& expression : rule.nodes.expressions) {
      TryOpposite(expression, labels);
    }
  }
  return 0;
}
