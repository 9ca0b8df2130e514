#include "src/platform/report/print.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::report {
namespace {

namespace json = boost::json;

constexpr size_t kMaxShown = 1000;

// A finding may quote a file or a cluster: it must not control the terminal. Text that was made
// printable and cut before does not change.
std::string Shown(std::string_view text, size_t limit = kMaxShown) {
  constexpr std::string_view kCut = "…";
  std::string shown;
  for (size_t at = text.find(kCut); at != std::string_view::npos; at = text.find(kCut)) {
    shown += fmt::format("{}{}", Printable(text.substr(0, at), limit), kCut);
    text.remove_prefix(at + kCut.size());
  }
  return shown + Printable(text, limit);
}

std::string SeverityText(Severity severity, bool has_color) {
  constexpr std::array<std::string_view, 3> kColors = {"\x1b[36m", "\x1b[33m", "\x1b[1;31m"};
  std::string word = fmt::format("{:<8}", ToString(severity));
  return has_color ? fmt::format("{}{}\x1b[0m", kColors[static_cast<size_t>(severity)], word)
                   : word;
}

void PutFinding(const Finding& finding, const TextOptions& options, std::string& text) {
  const auto put = std::back_inserter(text);
  const bool names_subject = !finding.subject.empty() && finding.subject != options.subject;
  fmt::format_to(put, "{} {}: {}{}{}\n", SeverityText(finding.severity, options.has_color),
                 finding.id, names_subject ? Shown(finding.subject) : "", names_subject ? ": " : "",
                 Shown(finding.message));
  for (const std::string& line : finding.evidence) {
    fmt::format_to(put, "         {}\n", Shown(line));
  }
  for (const std::string& command : finding.fix.commands) {
    fmt::format_to(put, "           {}\n", Shown(command, command.size()));
  }
  for (const FileEdit& edit : finding.fix.edits) {
    if (!options.writer.empty()) {
      fmt::format_to(put, "           # {} {}\n", options.writer, Shown(edit.path));
    }
  }
}

}  // namespace

std::string FindingsText(std::span<const Finding> findings, const TextOptions& options) {
  std::string text;
  for (const Finding& finding : findings) {
    PutFinding(finding, options, text);
  }
  return text;
}

std::string CountsText(std::span<const Finding> findings) {
  const auto count = [&](Severity severity) {
    return std::ranges::count(findings, severity, &Finding::severity);
  };
  const auto errors = count(Severity::kError);
  const auto warnings = count(Severity::kWarning);
  return fmt::format("{} error{}, {} warning{}, {} info", errors, errors == 1 ? "" : "s", warnings,
                     warnings == 1 ? "" : "s", count(Severity::kInfo));
}

std::string LineOf(const Finding& finding) {
  std::vector<std::string> parts = finding.evidence;
  parts.insert(parts.begin(), finding.message);
  for (const std::string_view command : finding.fix.commands) {
    parts.emplace_back(command.substr(command.starts_with("# ") ? 2 : 0));
  }
  return fmt::format("{}{}{}", finding.subject, finding.subject.empty() ? "" : ": ",
                     Join(parts, "; "));
}

json::object FindingJson(const Finding& finding) {
  json::array edits;
  for (const FileEdit& edit : finding.fix.edits) {
    edits.push_back(json::object{
        {"path", doc::View(edit.path)},
        {"changes", doc::Texts(ChangesOf(edit))},
        {"text", edit.changes.empty() ? json::value(doc::View(edit.text)) : json::value()}});
  }
  return {{"id", doc::View(finding.id)},
          {"severity", doc::View(ToString(finding.severity))},
          {"subject", doc::View(finding.subject)},
          {"message", doc::View(finding.message)},
          {"evidence", doc::Texts(finding.evidence)},
          {"fix", json::object{{"commands", doc::Texts(finding.fix.commands)},
                               {"edits", std::move(edits)}}}};
}

json::array FindingsJson(std::span<const Finding> findings) {
  json::array list;
  for (const Finding& finding : findings) {
    list.push_back(FindingJson(finding));
  }
  return list;
}

std::string KindsMarkdown(std::span<const Kind> kinds, std::string_view extra_title) {
  const bool has_extra = !extra_title.empty();
  std::string text =
      fmt::format("| Finding | Severity | Found when |{}\n|---|---|---|{}\n",
                  has_extra ? fmt::format(" {} |", extra_title) : "", has_extra ? "---|" : "");
  for (const Kind& kind : kinds) {
    fmt::format_to(std::back_inserter(text), "| `{}` | {} | {} |{}\n", kind.id,
                   ToString(kind.severity), kind.title,
                   has_extra ? fmt::format(" {} |", kind.extra) : "");
  }
  return text;
}

}  // namespace kgpu::report
