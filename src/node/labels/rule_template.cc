#include "src/node/labels/rule_template.h"

#include "src/platform/base/strings.h"

namespace kgpu::labels {

const gotemplate::Language& RuleLanguage() {
  static const gotemplate::Language kLanguage{.functions = gotemplate::AllFunctions(),
                                              .reference = "docs/reference/rules.md"};
  return kLanguage;
}

StatusOr<std::map<std::string, std::string>> ReadPairs(std::string_view output) {
  std::map<std::string, std::string> pairs;
  for (const std::string_view raw : Split(output, '\n')) {
    const std::string_view line = Trim(raw);
    if (line.empty()) {
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return InvalidArgument("the output line \"{}\" has no \"=\": write key=value",
                             Printable(line, 60));
    }
    pairs.insert_or_assign(std::string(line.substr(0, equals)),
                           std::string(line.substr(equals + 1)));
  }
  return pairs;
}

}  // namespace kgpu::labels
