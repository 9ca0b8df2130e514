#include "src/diagnose/doctor/view.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/report/print.h"

namespace kgpu::doctor {

namespace json = boost::json;

namespace {

constexpr std::string_view kHostHidden =
    "Nothing of the host could be checked: this container sees only its own files. Mount the "
    "host's / at /host, then run: kgpu doctor --host-root /host\n";

std::string SkippedText(const Diagnosis& diagnosis) {
  if (diagnosis.skipped == 0) {
    return {};
  }
  return fmt::format("; {} skipped{}", diagnosis.skipped,
                     diagnosis.is_host_hidden ? "" : ": not for this kind of host");
}

}  // namespace

std::string DiagnosisText(const Diagnosis& diagnosis, bool has_color) {
  std::vector<Finding> findings = diagnosis.findings;
  report::SortWorstFirst(findings);
  std::string text = report::FindingsText(
      findings, {.has_color = has_color, .writer = "kgpu doctor --fix writes"});
  text += fmt::format("{}{} check{}: {}{}\n", findings.empty() ? "" : "\n", diagnosis.checks,
                      diagnosis.checks == 1 ? "" : "s", report::CountsText(findings),
                      SkippedText(diagnosis));
  if (diagnosis.is_host_hidden) {
    text += kHostHidden;
  }
  if (!diagnosis.unreadable.empty()) {
    text += fmt::format("Could not read ({}):\n", diagnosis.unreadable.size());
    for (const std::string& line : diagnosis.unreadable) {
      text += fmt::format("  {}\n", Printable(line, 400));
    }
  }
  return text;
}

json::value DiagnosisJson(const Diagnosis& diagnosis) {
  return json::object{{"healthy", report::WorstOf(diagnosis.findings) == Severity::kInfo &&
                                      !diagnosis.is_host_hidden},
                      {"checks", diagnosis.checks},
                      {"skipped", diagnosis.skipped},
                      {"hostHidden", diagnosis.is_host_hidden},
                      {"findings", report::FindingsJson(diagnosis.findings)},
                      {"unreadable", doc::Texts(diagnosis.unreadable)}};
}

std::string ExplainText(const Check& check) {
  return fmt::format("{} ({})\n{}.\n\n{}\n", check.id, ToString(check.severity), check.title,
                     check.explain);
}

std::vector<report::Kind> CheckKinds() {
  std::vector<report::Kind> kinds;
  for (const Check& check : AllChecks()) {
    kinds.push_back({check.id, check.severity, check.title});
  }
  return kinds;
}

std::string ChecksMarkdown() {
  return report::KindsMarkdown(CheckKinds());
}

}  // namespace kgpu::doctor
