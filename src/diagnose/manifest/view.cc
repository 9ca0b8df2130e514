#include "src/diagnose/manifest/view.h"

#include <boost/json.hpp>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "src/platform/doc/json_texts.h"
#include "src/platform/report/print.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

// Beside what every finding has.
json::object MatchJson(const std::string& file, const Match& match) {
  json::object entry = report::FindingJson(match.finding);
  entry["file"] = file;
  entry["document"] = match.document;
  entry["line"] = match.position.line;
  entry["column"] = match.position.column;
  entry["object"] = match.object;
  entry["path"] = match.path.str();
  entry["value"] = match.value;
  entry["goneBy"] = match.gone_by;
  return entry;
}

}  // namespace

std::vector<report::Finding> FindingsOf(std::span<const Match> matches) {
  std::vector<report::Finding> findings;
  for (const Match& match : matches) {
    findings.push_back(match.finding);
  }
  return findings;
}

std::string ReportsText(std::span<const Report> reports, bool has_color) {
  std::vector<report::Finding> all;
  size_t documents = 0;
  for (const Report& report : reports) {
    documents += report.documents;
    std::ranges::move(FindingsOf(report.findings), std::back_inserter(all));
  }
  const auto fixed = std::ranges::count_if(
      all, [](const report::Finding& finding) { return !finding.fix.edits.empty(); });
  return fmt::format("{}{} document{}: {}{}\n", report::FindingsText(all, {.has_color = has_color}),
                     documents, documents == 1 ? "" : "s", report::CountsText(all),
                     fixed == 0 ? "" : fmt::format("; --print fixes {}", fixed));
}

json::value ReportsJson(std::span<const Report> reports) {
  json::array findings;
  json::array files;
  Severity worst = Severity::kInfo;
  for (const Report& report : reports) {
    for (const Match& match : report.findings) {
      findings.push_back(MatchJson(report.file, match));
      worst = std::max(worst, match.finding.severity);
    }
    json::array reprinted;
    for (const size_t number : report.reprinted) {
      reprinted.push_back(number);
    }
    files.push_back(json::object{{"file", doc::View(report.file)},
                                 {"documents", report.documents},
                                 {"modern", doc::View(report.modern)},
                                 {"left", report.left.size()},
                                 {"reprinted", std::move(reprinted)}});
  }
  return json::object{{"good", worst == Severity::kInfo},
                      {"findings", std::move(findings)},
                      {"files", std::move(files)}};
}

std::string RulesMarkdown() {
  return report::KindsMarkdown(AllRules(), "Fixed by `--print`");
}

}  // namespace kgpu::manifest
