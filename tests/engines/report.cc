#include "tests/engines/report.h"

#include <ostream>

#include "src/platform/base/strings.h"

namespace kgpu::engines {

Report ParseReport(const std::string& text) {
  Report report;
  report.text = text;
  for (const std::string_view line : Split(text, '\n')) {
    const size_t space = line.find(' ');
    const std::string_view word = line.substr(0, space);
    const std::string_view rest = space == std::string_view::npos ? "" : line.substr(space + 1);
    const size_t middle = std::min(rest.find(word == "env" ? '=' : ' '), rest.size());
    const std::string first(rest.substr(0, middle));
    const std::string second(rest.substr(std::min(middle + 1, rest.size())));
    if (word == "node") {
      report.nodes.emplace(rest);
    } else if (word == "open") {
      report.opens[static_cast<unsigned>(ParseUint(first).value_or(0))] =
          second == "No such device or address" ? kGranted : second;
    } else if (word == "library") {
      report.libraries[first] = second;
    } else if (word == "env") {
      report.env[first] = second;
    } else if (line == "complete") {
      report.is_complete = true;
    }
  }
  return report;
}

std::ostream& operator<<(std::ostream& out, const Report& report) {
  return out << report.text;
}

}  // namespace kgpu::engines
