#include "src/diagnose/manifest/view.h"

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>

#include "src/platform/base/strings.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

json::string_view AsJson(std::string_view text) {
  return {text.data(), text.size()};
}

void PutFinding(const std::string& file, const FoundFinding& found, std::string& text) {
  const Finding& finding = found.finding;
  fmt::format_to(std::back_inserter(text), "{:<8} {}:{}:{}: {}: {}: {}\n",
                 ToString(finding.severity), Printable(file, 200), found.position.line,
                 found.position.column, found.object, finding.path.str(), finding.value);
  fmt::format_to(
      std::back_inserter(text), "         {}{}: {}\n",
      finding.gone_by.empty() ? std::string() : fmt::format("gone by {}: ", finding.gone_by),
      finding.id, finding.message);
  fmt::format_to(std::back_inserter(text), "           {}{}\n", finding.mend,
                 finding.fix.empty() ? "   # by hand" : "");
}

json::value FindingJson(const std::string& file, const FoundFinding& found) {
  const Finding& finding = found.finding;
  return json::object{{"id", AsJson(finding.id)},
                      {"severity", AsJson(ToString(finding.severity))},
                      {"file", AsJson(file)},
                      {"document", found.document},
                      {"line", found.position.line},
                      {"column", found.position.column},
                      {"object", AsJson(found.object)},
                      {"path", finding.path.str()},
                      {"value", AsJson(finding.value)},
                      {"goneBy", AsJson(finding.gone_by)},
                      {"message", AsJson(finding.message)},
                      {"mend", AsJson(finding.mend)},
                      {"mended", !finding.fix.empty()}};
}

size_t Count(std::span<const Report> reports, Severity severity) {
  size_t count = 0;
  for (const Report& report : reports) {
    count += static_cast<size_t>(std::ranges::count_if(
        report.findings,
        [severity](const FoundFinding& found) { return found.finding.severity == severity; }));
  }
  return count;
}

}  // namespace

std::string ReportsText(std::span<const Report> reports) {
  std::string text;
  size_t documents = 0;
  size_t mended = 0;
  for (const Report& report : reports) {
    documents += report.documents;
    for (const FoundFinding& found : report.findings) {
      PutFinding(report.file, found, text);
      mended += found.finding.fix.empty() ? 0 : 1;
    }
  }
  fmt::format_to(std::back_inserter(text), "{} documents: {} errors, {} warnings", documents,
                 Count(reports, Severity::kError), Count(reports, Severity::kWarning));
  fmt::format_to(std::back_inserter(text), "{}\n",
                 mended == 0 ? std::string() : fmt::format("; --print mends {}", mended));
  return text;
}

json::value ReportsJson(std::span<const Report> reports) {
  json::array findings;
  json::array files;
  for (const Report& report : reports) {
    for (const FoundFinding& found : report.findings) {
      findings.push_back(FindingJson(report.file, found));
    }
    json::array reprinted;
    for (const size_t number : report.reprinted) {
      reprinted.push_back(number);
    }
    files.push_back(json::object{{"file", AsJson(report.file)},
                                 {"documents", report.documents},
                                 {"modern", AsJson(report.modern)},
                                 {"left", report.left.size()},
                                 {"reprinted", std::move(reprinted)}});
  }
  return json::object{
      {"good", IsGood(reports)}, {"findings", std::move(findings)}, {"files", std::move(files)}};
}

std::string RulesMarkdown() {
  std::string text = "| Finding | What it is | Mended by `--print` |\n|---|---|---|\n";
  for (const RuleEntry& rule : AllRules()) {
    fmt::format_to(std::back_inserter(text), "| `{}` | {} | {} |\n", rule.id, rule.title,
                   rule.is_mended ? "yes" : "no");
  }
  return text;
}

bool IsGood(std::span<const Report> reports) {
  return Count(reports, Severity::kError) == 0 && Count(reports, Severity::kWarning) == 0;
}

}  // namespace kgpu::manifest
