#include "src/setup/doctor/view.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::doctor {
namespace {

namespace json = boost::json;

using doc::Texts;
using doc::View;

std::string_view TitleOf(std::string_view id) {
  for (const Check& check : AllChecks()) {
    if (check.id == id) {
      return check.title;
    }
  }
  return id;
}

size_t Count(const Diagnosis& diagnosis, Severity severity) {
  return static_cast<size_t>(std::ranges::count(diagnosis.findings, severity, &Finding::severity));
}

// "1 error", "2 errors".
std::string Counted(size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string FindingText(const Finding& finding) {
  std::string text = fmt::format("{:<8} {}: {}\n         {}\n", ToString(finding.severity),
                                 finding.id, TitleOf(finding.id), Printable(finding.evidence, 400));
  for (const std::string& line : finding.mend) {
    text += fmt::format("           {}\n", line);
  }
  if (finding.fix) {
    text += fmt::format("           # kgpu doctor --fix writes {}\n", finding.fix->path);
  }
  return text;
}

}  // namespace

std::string DiagnosisText(const Diagnosis& diagnosis) {
  std::string text;
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kInfo}) {
    for (const Finding& finding : diagnosis.findings) {
      if (finding.severity == severity) {
        text += FindingText(finding) + "\n";
      }
    }
  }
  text += fmt::format("{}: {}, {}, {}\n", Counted(diagnosis.checks, "check"),
                      Counted(Count(diagnosis, Severity::kError), "error"),
                      Counted(Count(diagnosis, Severity::kWarning), "warning"),
                      Counted(Count(diagnosis, Severity::kInfo), "remark"));
  if (!diagnosis.unseen.empty()) {
    text += fmt::format("Not seen ({}):\n", diagnosis.unseen.size());
    for (const std::string& line : diagnosis.unseen) {
      text += fmt::format("  {}\n", Printable(line, 400));
    }
  }
  return text;
}

json::value DiagnosisJson(const Diagnosis& diagnosis) {
  json::array findings;
  for (const Finding& finding : diagnosis.findings) {
    json::object entry{{"id", View(finding.id)},
                       {"severity", View(ToString(finding.severity))},
                       {"title", View(TitleOf(finding.id))},
                       {"evidence", View(finding.evidence)},
                       {"mend", Texts(finding.mend)}};
    if (finding.fix) {
      entry["fix"] =
          json::object{{"path", View(finding.fix->path)}, {"text", View(finding.fix->text)}};
    }
    findings.push_back(std::move(entry));
  }
  return json::object{{"well", IsWell(diagnosis)},
                      {"checks", diagnosis.checks},
                      {"findings", std::move(findings)},
                      {"unseen", Texts(diagnosis.unseen)}};
}

std::string ExplainText(const Check& check) {
  return fmt::format("{} ({})\n{}.\n\n{}\n", check.id, ToString(check.severity), check.title,
                     check.explain);
}

std::string ChecksMarkdown() {
  std::string text = "| Check | Severity | Found when |\n|---|---|---|\n";
  for (const Check& check : AllChecks()) {
    text += fmt::format("| `{}` | {} | {} |\n", check.id, ToString(check.severity), check.title);
  }
  return text;
}

}  // namespace kgpu::doctor
